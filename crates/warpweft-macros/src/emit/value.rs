//! CUDA C++: expressions.

use super::cuda::{Cuda, Sink};
use super::spill::{conditional, hoists};
use super::{mark, member_name};
use crate::ir::{BinOp, Block, Expr, Hole, How, Input, Member, UnOp};

/// What `expr` is the absolute value of, if it is one.
fn magnitude(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Method { name, arguments, sites } if name == "abs" && sites.is_empty() => {
            arguments.first()
        }
        _ => None,
    }
}

impl Cuda {
    /// Several operands, evaluated from left to right.
    pub(super) fn values(&mut self, exprs: &[&Expr]) -> Vec<String> {
        let last = exprs.iter().rposition(|expr| hoists(expr)).unwrap_or(0);
        let mut values = vec![];
        for (i, expr) in exprs.iter().enumerate() {
            let value = self.value(expr);
            values.push(if i < last { self.spill(expr, value) } else { value });
        }
        values
    }

    /// `value` in a temporary, unless nothing can change it.
    pub(super) fn spill(&mut self, expr: &Expr, value: String) -> String {
        if matches!(expr, Expr::Value(_) | Expr::Bool(_) | Expr::Unit) {
            return value;
        }
        let name = self.temporary();
        // What is passed by reference stays the place that it is.
        let auto = if matches!(expr, Expr::Reference(_)) { "auto&&" } else { "const auto" };
        self.line(format!("{auto} {name} = {value};"));
        name
    }

    /// A C++ expression for `expr`; what must come before it is emitted.
    pub(super) fn value(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Local(name) => name.clone(),
            Expr::Reference(place) => self.value(place),
            Expr::Input(input) => self.input(input),
            Expr::Value(hole) => mark(*hole),
            Expr::Bool(value) => value.to_string(),
            Expr::Unit => "ww::unit{}".into(),
            Expr::Unary(UnOp::Neg, value) => format!("ww::neg({})", self.value(value)),
            Expr::Unary(UnOp::Not, value) => format!("ww::bit_not({})", self.value(value)),
            Expr::Binary { op: BinOp::Add, left, right, sites }
                if sites.is_empty() && (magnitude(left).or(magnitude(right))).is_some() =>
            {
                let ends = [magnitude(left).unwrap_or(left), magnitude(right).unwrap_or(right)];
                let values = self.values(&ends);
                match (magnitude(left), magnitude(right)) {
                    (Some(_), Some(_)) => {
                        format!("ww::add_abs(ww::abs({}), {})", values[0], values[1])
                    }
                    (Some(_), _) => format!("ww::add_abs({}, {})", values[1], values[0]),
                    _ => format!("ww::add_abs({}, {})", values[0], values[1]),
                }
            }
            Expr::Binary { op, left, right, sites } => {
                let values = self.values(&[left, right]);
                binary(*op, &values[0], &values[1], sites)
            }
            Expr::And(left, right) => self.lazy(left, right, true),
            Expr::Or(left, right) => self.lazy(left, right, false),
            Expr::Cast { to, value } => format!("ww::cast<{}>({})", mark(*to), self.value(value)),
            Expr::Method { name, arguments, sites } => {
                let mut values = self.each(arguments);
                values.extend(sites.iter().map(|site| mark(*site)));
                format!("ww::{name}({})", values.join(", "))
            }
            Expr::Call { function, arguments, effects } => {
                self.call(*function, arguments, *effects)
            }
            Expr::Tuple(members) => format!("ww::tuple({})", self.each(members).join(", ")),
            Expr::Array(items) => format!("ww::list({})", self.each(items).join(", ")),
            Expr::Repeat { array, value } => {
                format!("ww::repeat<{}>({})", mark(*array), self.value(value))
            }
            Expr::Struct { name, members, base } => self.literal(*name, members, base.as_deref()),
            Expr::Field(of, member) => format!("{}.{}", self.value(of), spelled(member)),
            Expr::Index { array, index, site } => self.element(array, index, *site),
            Expr::Matches { scrutinee, pattern, guard } => {
                self.matches(scrutinee, pattern, guard.as_deref())
            }
            other => self.branching(other),
        }
    }

    /// The value of an expression with statements in it.
    fn branching(&mut self, expr: &Expr) -> String {
        if let Some((condition, then, otherwise)) = conditional(expr) {
            let c = self.value(condition);
            let (a, b) = (self.value(then), self.value(otherwise));
            return format!("({c} ? {a} : {b})");
        }
        match expr {
            Expr::Block(block) => self.open_block(block),
            Expr::If { value: Some(ty), .. }
            | Expr::Match { value: Some(ty), .. }
            | Expr::Loop { value: Some(ty), .. } => {
                let name = self.temporary();
                self.line(format!("{} {name};", mark(*ty)));
                self.into(expr, &Sink::Assign(name.clone()));
                name
            }
            _ => {
                self.effect(expr);
                "ww::unit{}".into()
            }
        }
    }

    /// The values of all of `exprs`.
    fn each(&mut self, exprs: &[Expr]) -> Vec<String> {
        self.values(&exprs.iter().collect::<Vec<_>>())
    }

    /// A call of a `#[device]` function; one with effects happens here.
    fn call(&mut self, function: Hole, arguments: &[Expr], effects: bool) -> String {
        let values = self.each(arguments);
        let call = format!("{}({})", mark(function), values.join(", "));
        if !effects {
            return call;
        }
        let name = self.temporary();
        self.line(format!("const auto {name} = {call};"));
        name
    }

    /// A literal of the struct `name`, put together in a temporary.
    fn literal(&mut self, name: Hole, members: &[(Member, Expr)], base: Option<&Expr>) -> String {
        let mut parts: Vec<_> = members.iter().map(|(_, value)| value).collect();
        parts.extend(base);
        let values = self.values(&parts);
        let whole = self.temporary();
        let start = match base {
            Some(_) => format!(" = {}", values[members.len()]),
            None => String::new(),
        };
        self.line(format!("{} {whole}{start};", mark(name)));
        for ((member, _), value) in members.iter().zip(&values) {
            self.line(format!("{whole}.{} = {value};", spelled(member)));
        }
        whole
    }

    /// `array[index]`.
    fn element(&mut self, array: &Expr, index: &Expr, site: Hole) -> String {
        let values = match hoists(index) {
            // A place is not copied: Rust, too, evaluates the index and then looks.
            true if is_place(array) => {
                let array = self.place(array);
                vec![array, self.value(index)]
            }
            _ => self.values(&[array, index]),
        };
        format!("ww::at({}, {}, {})", values[0], values[1], mark(site))
    }

    /// A place, its own indices evaluated and checked by what is emitted before it.
    fn place(&mut self, place: &Expr) -> String {
        let text = self.value(place);
        if matches!(place, Expr::Local(_)) {
            return text;
        }
        let name = self.temporary();
        self.line(format!("auto& {name} = {text};"));
        name
    }

    fn input(&mut self, input: &Input) -> String {
        let list =
            |offset: &[i128]| offset.iter().map(i128::to_string).collect::<Vec<_>>().join(", ");
        match input {
            Input::Tap { field, offset } => {
                format!("now.template at<{}, {}>()", mark(*field), list(offset))
            }
            Input::Earlier { vector } => format!("h.template at<{}>()", list(vector)),
            Input::Old { vector } => format!("h.template old<{}>()", list(vector)),
            // Routines write it: where one stands, its function is no `#[spawning]`.
            Input::Spawn { callee, arguments, .. } => {
                format!("{}{{{}}}", mark(*callee), self.each(arguments).join(", "))
            }
            Input::Next { field } => format!("next.template ref<{}>()", mark(*field)),
        }
    }

    fn lazy(&mut self, left: &Expr, right: &Expr, and: bool) -> String {
        let l = self.value(left);
        if !hoists(right) {
            let r = self.value(right);
            return format!("({l} {} {r})", if and { "&&" } else { "||" });
        }
        let name = self.temporary();
        self.line(format!("bool {name} = {l};"));
        self.line(format!("if ({}{name}) {{", if and { "" } else { "!" }));
        self.depth += 1;
        let r = self.value(right);
        self.line(format!("{name} = {r};"));
        self.depth -= 1;
        self.line("}");
        name
    }

    /// The statements of a block without braces (names are unique), and its value.
    fn open_block(&mut self, block: &Block) -> String {
        for statement in &block.statements {
            self.statement(statement);
        }
        match &block.tail {
            Some(tail) => self.value(tail),
            None => "ww::unit{}".into(),
        }
    }
}

/// As the scheduler of the device has it.
pub fn how_number(how: How) -> u32 {
    match how {
        How::Store => 0,
        How::Add => 1,
        How::Or => 2,
        How::Xor => 3,
        How::Nothing => 4,
    }
}

pub(super) fn spelled(member: &Member) -> String {
    match member {
        Member::Named(name) => member_name(name),
        Member::Index(index) => format!("_{index}"),
    }
}

fn is_place(expr: &Expr) -> bool {
    match expr {
        Expr::Local(_) => true,
        Expr::Field(of, _) | Expr::Index { array: of, .. } => is_place(of),
        _ => false,
    }
}

/// `left op right`.
pub(super) fn binary(op: BinOp, left: &str, right: &str, sites: &[usize]) -> String {
    let (name, infix) = match op {
        BinOp::Add => ("add", ""),
        BinOp::Sub => ("sub", ""),
        BinOp::Mul => ("mul", ""),
        BinOp::Div => ("div", ""),
        BinOp::Rem => ("rem", ""),
        BinOp::BitAnd => ("bit_and", ""),
        BinOp::BitOr => ("bit_or", ""),
        BinOp::BitXor => ("bit_xor", ""),
        BinOp::Shl => ("shl", ""),
        BinOp::Shr => ("shr", ""),
        BinOp::Eq => ("", "=="),
        BinOp::Ne => ("", "!="),
        BinOp::Lt => ("", "<"),
        BinOp::Le => ("", "<="),
        BinOp::Gt => ("", ">"),
        BinOp::Ge => ("", ">="),
    };
    if name.is_empty() {
        return format!("({left} {infix} {right})");
    }
    let sites: String = sites.iter().map(|site| format!(", {}", mark(*site))).collect();
    format!("ww::{name}({left}, {right}{sites})")
}
