//! CUDA C++: statements, branches, loops and jumps.

use super::cuda::{Cuda, Returns, Sink};
use super::spill::{diverges, hoists};
use super::value::binary;
use super::{IF_FAULTS, mark};
use crate::ir::{Block, Expr, Pattern, Range, Statement};

impl Cuda {
    pub(super) fn braced(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(format!("{head} {{").trim_start());
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
    }

    pub(super) fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Expr(expr) => self.effect(expr),
            Statement::Let(Pattern::Any, expr) => self.effect(expr),
            Statement::Let(Pattern::Bind { name, mutable, inner: None }, expr) => {
                match (expr, hoists(expr)) {
                    (
                        Expr::If { value: Some(ty), .. }
                        | Expr::Match { value: Some(ty), .. }
                        | Expr::Loop { value: Some(ty), .. },
                        true,
                    ) => {
                        self.line(format!("{} {name};", mark(*ty)));
                        self.into(expr, &Sink::Assign(name.clone()));
                    }
                    _ => {
                        let value = self.value(expr);
                        let auto = if *mutable { "auto" } else { "const auto" };
                        self.line(format!("{auto} {name} = {value};"));
                    }
                }
            }
            Statement::Let(pattern, expr) => {
                let value = self.value(expr);
                let whole = self.temporary();
                self.line(format!("const auto {whole} = {value};"));
                self.bind(pattern, &whole);
            }
        }
    }

    pub(super) fn effect(&mut self, expr: &Expr) {
        self.into(expr, &Sink::Discard);
    }

    pub(super) fn block_into(&mut self, block: &Block, sink: &Sink) {
        for statement in &block.statements {
            self.statement(statement);
        }
        if let Some(tail) = &block.tail {
            self.into(tail, sink);
        }
    }

    /// Emits `expr` with its value going into `sink`.
    pub(super) fn into(&mut self, expr: &Expr, sink: &Sink) {
        match expr {
            Expr::Block(block) => self.braced("", |cuda| cuda.block_into(block, sink)),
            Expr::If { condition, then, otherwise, .. } => {
                let condition = self.value(condition);
                self.braced(&format!("if ({condition})"), |cuda| cuda.block_into(then, sink));
                if let Some(otherwise) = otherwise {
                    self.braced("else", |cuda| match &**otherwise {
                        Expr::Block(block) => cuda.block_into(block, sink),
                        other => cuda.into(other, sink),
                    });
                }
            }
            Expr::Match { scrutinee, arms, .. } => self.match_(scrutinee, arms, sink),
            Expr::Loop { id, body, .. } => self.loop_(*id, body, sink),
            Expr::While { id, condition, body } => self.while_(*id, condition, body),
            Expr::For { id, variable, number, range, body } => {
                self.for_(*id, variable.as_deref(), *number, range, body);
            }
            Expr::Assign { place, value } => {
                let value_text = self.value(value);
                let value = match hoists(place) {
                    true => self.spill(value, value_text),
                    false => value_text,
                };
                let place = self.value(place);
                self.line(format!("{place} = {value};"));
            }
            Expr::AssignOp { op, place, value, sites } => self.assign_op(*op, place, value, sites),
            Expr::Assert { condition, site } => {
                let condition = self.value(condition);
                self.line(format!("if (!({condition})) ww::fail({});", mark(*site)));
            }
            Expr::Return(value) => self.return_(value.as_deref()),
            Expr::Break { id, value } => self.break_(*id, value.as_deref()),
            Expr::Continue { id } => self.jump(*id, "continue"),
            Expr::Unit if matches!(sink, Sink::Discard) => {}
            plain => match sink {
                Sink::Return => self.return_(Some(plain)),
                Sink::Assign(target) => {
                    let value = self.value(plain);
                    self.line(format!("{target} = {value};"));
                }
                Sink::Discard => {
                    let value = self.value(plain);
                    self.line(format!("(void)({value});"));
                }
            },
        }
    }

    fn loop_(&mut self, id: usize, body: &Block, sink: &Sink) {
        self.loops.push((id, sink.clone()));
        self.braced("while (true)", |cuda| {
            cuda.watch();
            cuda.loop_body(id, body);
        });
        self.loops.pop();
        self.label(id);
    }

    fn while_(&mut self, id: usize, condition: &Expr, body: &Block) {
        self.loops.push((id, Sink::Discard));
        if hoists(condition) {
            self.braced("while (true)", |cuda| {
                cuda.watch();
                let condition = cuda.value(condition);
                cuda.line(format!("if (!({condition})) break;"));
                cuda.loop_body(id, body);
            });
        } else {
            let condition = self.value(condition);
            self.braced(&format!("while ({condition})"), |cuda| {
                cuda.watch();
                cuda.loop_body(id, body);
            });
        }
        self.loops.pop();
        self.label(id);
    }

    /// Leaves the loop `id`, whose value goes where that of the loop does.
    fn break_(&mut self, id: usize, value: Option<&Expr>) {
        let sink = self.loops.iter().rev().find(|(known, _)| *known == id);
        let sink = sink.map(|(_, sink)| sink.clone());
        if let (Some(value), Some(sink)) = (value, sink) {
            self.into(value, &sink);
        }
        self.jump(id, "break");
    }

    fn assign_op(&mut self, op: crate::ir::BinOp, place: &Expr, value: &Expr, sites: &[usize]) {
        // Of primitive operands Rust evaluates the right one first.
        let mut text = self.value(value);
        if hoists(place) || !matches!(place, Expr::Local(_)) {
            text = self.spill(value, text);
        }
        let mut target = self.value(place);
        if !matches!(place, Expr::Local(_) | Expr::Input(_)) {
            let name = self.temporary();
            self.line(format!("auto& {name} = {target};"));
            target = name;
        }
        self.line(format!("{target} = {};", binary(op, &target, &text, sites)));
    }

    fn return_(&mut self, value: Option<&Expr>) {
        if let Some(expr) = value
            && diverges(expr)
        {
            return self.effect(expr);
        }
        let value = value.map(|value| self.value(value));
        match (self.returns.clone(), value) {
            (Returns::Value, Some(value)) => self.line(format!("return {value};")),
            (Returns::Store([before, after]), Some(value)) => {
                self.line(format!("{before}{value}{after}"));
                self.line("return;");
            }
            (Returns::Give(call), value) => {
                let value = value.unwrap_or_else(|| "ww::unit{}".into());
                self.line(format!("{call}{value});"));
                self.line("return;");
            }
            (Returns::Nothing, value) => {
                if let Some(value) = value {
                    self.line(format!("(void)({value});"));
                }
                self.line("return;");
            }
            _ => self.line("return ww::unit{};"),
        }
    }

    /// A jump by keyword out of the innermost loop, by `goto` out of another.
    fn jump(&mut self, id: usize, keyword: &str) {
        if self.loops.last().is_some_and(|(innermost, _)| *innermost == id) {
            return self.line(format!("{keyword};"));
        }
        self.labels.push((id, keyword.into()));
        self.line(format!("goto {keyword}_{id};"));
    }

    /// Leaves the function where a loop goes on after a fault, as Rust did: with what stands in for the
    /// value that Rust never had, the loop may not end, whether that value came out of it or not.
    pub(super) fn watch(&mut self) {
        self.watches = true;
        let back = match self.returns {
            Returns::Value => "return {}",
            Returns::Unit => "return ww::unit{}",
            Returns::Store(_) | Returns::Nothing | Returns::Give(_) => "return",
        };
        self.line(format!("{IF_FAULTS}if (watch.over()) {back};"));
    }

    fn loop_body(&mut self, id: usize, body: &Block) {
        let before = self.text.len();
        self.block_into(body, &Sink::Discard);
        if self.labels.contains(&(id, "continue".into())) {
            // Jumping over a declaration is an error, so declarations get a scope of their own.
            let inner = self.text.split_off(before);
            self.line("{");
            self.text.push_str(&inner);
            self.line("}");
            self.line(format!("continue_{id}:;"));
        }
    }

    fn label(&mut self, id: usize) {
        if self.labels.contains(&(id, "break".into())) {
            self.line(format!("break_{id}:;"));
        }
    }

    fn for_(
        &mut self,
        id: usize,
        variable: Option<&str>,
        number: usize,
        range: &Range,
        body: &Block,
    ) {
        let number = mark(number);
        let mut parts = vec![&range.low, &range.high];
        parts.extend(range.step.as_ref().map(|(step, _)| step));
        let values = self.values(&parts);
        let (low, high) = (&values[0], &values[1]);
        let counter = self.temporary();
        let plain = !range.inclusive && range.step.is_none();
        let end = self.temporary();
        let (head, at) = if plain && range.reversed {
            let head =
                format!("for ({number} {counter} = {high}, {end} = {low}; {counter} > {end};)");
            (head, format!("--{counter}"))
        } else if plain {
            let head = format!(
                "for ({number} {counter} = {low}, {end} = {high}; {counter} < {end}; ++{counter})"
            );
            (head, counter.clone())
        } else {
            let (step, site) = match &range.step {
                Some((_, site)) => (values[2].clone(), mark(*site)),
                None => ("1".into(), "0u".into()),
            };
            let head = format!(
                "for (ww::steps<{number}, {}, {}> {counter}({low}, {high}, {step}, {site}); {counter}.more; {counter}.advance())",
                range.inclusive, range.reversed,
            );
            (head, format!("{counter}.at"))
        };
        self.loops.push((id, Sink::Discard));
        self.braced(&head, |cuda| {
            match variable {
                Some(variable) => cuda.line(format!("const {number} {variable} = {at};")),
                // Counting down is done where the value is taken.
                None if plain && range.reversed => cuda.line(format!("{at};")),
                None => {}
            }
            if !range.few {
                cuda.watch();
            }
            cuda.loop_body(id, body);
        });
        self.loops.pop();
        self.label(id);
    }
}
