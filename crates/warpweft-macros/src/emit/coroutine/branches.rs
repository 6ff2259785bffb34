//! Branches and loops with calls in them, which stops are inside of: no variable may be declared where a jump enters.

use super::{Around, Coroutine, Pending, spawns_in};
use crate::emit::cuda::{Cuda, Sink};
use crate::emit::mark;
use crate::emit::spill::hoists;
use crate::ir::{Block, Expr, Range};

impl Coroutine<'_> {
    /// A branch or loop with calls in it.
    pub(super) fn open(&mut self, expr: &Expr) {
        match expr {
            Expr::Block(block) => {
                self.glue("{");
                self.block(block, &Sink::Discard);
                self.glue("}");
            }
            Expr::If { condition, then, otherwise, .. } => {
                self.branch(condition, then, otherwise.as_deref());
            }
            Expr::While { id, condition, body } => self.repeat(*id, Some(condition), body),
            Expr::Loop { id, body, .. } => self.repeat(*id, None, body),
            Expr::For { id, variable, number, range, body } => {
                self.count(*id, variable.as_deref(), &mark(*number), range, body);
            }
            _ => {}
        }
    }

    /// A condition as text that has no statements before it.
    fn condition(&mut self, condition: &Expr) -> String {
        if !hoists(condition) {
            let mut value = String::new();
            let text = self.text(|cuda| value = cuda.value(condition));
            debug_assert!(text.is_empty());
            return value;
        }
        let name = format!("go_{}", self.cuda.temporary());
        self.own.insert(name.clone(), "bool".into());
        let text = self.text(|cuda| {
            cuda.line("{");
            let value = cuda.value(condition);
            cuda.line(format!("{name} = {value};"));
            cuda.line("}");
        });
        self.flow.0[self.now].declares.push(name.clone());
        self.push(text);
        name
    }

    fn branch(&mut self, condition: &Expr, then: &Block, otherwise: Option<&Expr>) {
        let condition = self.condition(condition);
        self.glue(&format!("if ({condition}) {{"));
        let decided = self.now;
        self.next();
        self.cuda.depth += 1;
        self.block(then, &Sink::Discard);
        self.cuda.depth -= 1;
        let mut ends = vec![self.now];
        match otherwise {
            Some(otherwise) => {
                self.now = self.flow.chunk([decided]);
                self.glue("} else {");
                self.cuda.depth += 1;
                match otherwise {
                    Expr::Block(block) => self.block(block, &Sink::Discard),
                    other if spawns_in(other) => self.open(other),
                    other => {
                        let text = self.text(|cuda| cuda.effect(other));
                        self.run(Pending { text, declares: vec![] });
                    }
                }
                self.cuda.depth -= 1;
                ends.push(self.now);
            }
            None => ends.push(decided),
        }
        self.now = self.flow.chunk(ends);
        self.glue("}");
    }

    fn repeat(&mut self, id: usize, condition: Option<&Expr>, body: &Block) {
        self.next();
        let head = self.now;
        let end = self.flow.chunk([]);
        match condition {
            Some(condition) if !hoists(condition) => {
                let condition = self.condition(condition);
                self.glue(&format!("while ({condition}) {{"));
                self.flow.edge(head, end);
            }
            Some(condition) => {
                self.glue("while (true) {");
                let condition = self.condition(condition);
                self.glue(&format!("if (!{condition}) break;"));
                self.flow.edge(head, end);
            }
            None => self.glue("while (true) {"),
        }
        self.body(id, head, end, body);
        self.now = end;
        self.glue("}");
        self.label("break", id);
    }

    /// The body of a loop, after its head.
    fn body(&mut self, id: usize, again: usize, end: usize, body: &Block) {
        self.loops.push(Around { again, end });
        self.cuda.loops.push((id, Sink::Discard));
        self.cuda.depth += 1;
        let watch = self.text(Cuda::watch);
        self.push(watch);
        self.next();
        self.block(body, &Sink::Discard);
        let now = self.now;
        self.flow.edge(now, again);
        self.cuda.depth -= 1;
        self.cuda.loops.pop();
        self.loops.pop();
        self.label("continue", id);
    }

    fn label(&mut self, keyword: &str, id: usize) {
        if self.cuda.labels.contains(&(id, keyword.into())) {
            self.glue(&format!("{keyword}_{id}:;"));
        }
    }

    fn count(
        &mut self,
        id: usize,
        variable: Option<&str>,
        number: &str,
        range: &Range,
        body: &Block,
    ) {
        let plain = !range.inclusive && range.step.is_none();
        let Counter { counter, last, high } = self.counter(variable, number, range);
        self.next();
        let (head, end) = (self.now, self.flow.chunk([self.now]));
        self.glue(&match (plain, range.reversed) {
            (true, false) => format!("for (; {counter} < {high}; ++{counter}) {{"),
            (true, true) => format!("for (; {counter} > {last};) {{"),
            _ => format!("for (; {counter}.more; {counter}.advance()) {{"),
        });
        if !plain || range.reversed {
            self.next();
            if plain {
                self.glue(&format!("--{counter};"));
            }
            let value = if plain { counter } else { format!("{counter}.at") };
            if let Some(variable) = variable {
                self.own.insert(variable.into(), number.into());
                self.flow.0[self.now].declares.push(variable.into());
                self.glue(&format!("{variable} = {value};"));
            }
        }
        self.body(id, head, end, body);
        self.now = end;
        self.glue("}");
        self.label("break", id);
    }

    /// Sets what counts the iterations of a `for`, and where it ends.
    fn counter(&mut self, variable: Option<&str>, number: &str, range: &Range) -> Counter {
        let (plain, reversed) = (!range.inclusive && range.step.is_none(), range.reversed);
        let counter = match variable {
            Some(variable) if plain && !reversed => variable.to_string(),
            _ => format!("at_{}", self.cuda.temporary()),
        };
        let last = format!("end_{}", self.cuda.temporary());
        // A bound that nothing changes needs no copy.
        let unchanged = match &range.high {
            Expr::Value(_) => true,
            Expr::Local(name) => self.fixed.contains(name),
            _ => false,
        };
        let fixed = unchanged && plain && !reversed;
        let (mut parts, mut high) = (vec![&range.low, &range.high], last.clone());
        parts.extend(range.step.as_ref().map(|(step, _)| step));
        let stepped = format!("ww::steps<{number}, {}, {reversed}>", range.inclusive);
        let text = self.text(|cuda| {
            cuda.line("{");
            let values = cuda.values(&parts);
            let (low, end) = (&values[0], &values[1]);
            match (plain, reversed) {
                (true, false) => {
                    cuda.line(format!("{counter} = {low};"));
                    match fixed {
                        true => high = end.clone(),
                        false => cuda.line(format!("{last} = {end};")),
                    }
                }
                (true, true) => cuda.line(format!("{counter} = {end}; {last} = {low};")),
                _ => {
                    let (step, site) = match &range.step {
                        Some((_, site)) => (values[2].clone(), mark(*site)),
                        None => ("1".into(), "0u".into()),
                    };
                    cuda.line(format!("{counter} = {stepped}({low}, {end}, {step}, {site});"));
                }
            }
            cuda.line("}");
        });
        self.own.insert(counter.clone(), if plain { number.into() } else { stepped });
        self.flow.0[self.now].declares.push(counter.clone());
        if plain && !fixed {
            self.own.insert(last.clone(), number.into());
            self.flow.0[self.now].declares.push(last.clone());
        }
        self.push(text);
        Counter { counter, last, high }
    }
}

/// What counts the iterations of a `for`: the variable, the name of its bound, and the bound.
struct Counter {
    counter: String,
    last: String,
    high: String,
}
