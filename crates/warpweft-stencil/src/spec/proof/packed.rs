//! Whether cells of one byte can be computed four in a word: the values of an element function are proved to stay in a range,
//! by evaluating its text with ranges as values. Not: the kernel that does so.

use std::collections::HashMap;

use super::syntax::{Expr, Functor, Statement};
use crate::spec::stage::Stage;
use crate::{Boundary, Spec};
use warpweft_core::element::ScalarKind;

/// The largest value of a byte that comparisons of packed cells allow.
const COMPARED: u32 = 127;

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// A number that is no cell's.
    Number(u32),
    /// Bytes from the first to the second.
    Bytes(u32, u32),
    /// A condition on bytes.
    Truth,
}

impl Value {
    fn range(self) -> Option<(u32, u32)> {
        match self {
            Self::Number(value) => Some((value, value)),
            Self::Bytes(low, high) => Some((low, high)),
            Self::Truth => None,
        }
    }
}

impl Spec {
    /// The largest cell over which all steps can be computed four cells in a word, if the cells' largest is `largest` at
    /// first: none if that is not proved. Cells are then at most that in every step.
    pub(crate) fn packs(&self, largest: u8) -> Option<u8> {
        let [field] = self.cell.fields() else { return None };
        if field.kind != ScalarKind::U8 || !self.points.sources.is_empty() {
            return None;
        }
        let held = self.boundaries.0.iter().flatten().map(|face| match face {
            Boundary::Dirichlet(value) => *value as u8,
            _ => 0,
        });
        let mut most = held.fold(largest, u8::max);
        let functors = self.stages.iter().map(|stage| functor(&**stage));
        let functors = functors.collect::<Option<Vec<_>>>()?;
        // What a step makes of cells up to some value may be larger than that, but not for ever.
        for _ in 0..8 {
            let step = |now: Option<u32>, functor: &Functor| largest_of(functor, now?);
            let after = functors.iter().try_fold(u32::from(most), |now, functor| {
                step(Some(now), functor).map(|after| after.max(now))
            })?;
            let after = u8::try_from(after).ok()?;
            if after == most {
                return Some(most);
            }
            most = after;
        }
        None
    }
}

fn functor(stage: &dyn Stage) -> Option<Functor> {
    if stage.knows().anything() || !stage.tables().is_empty() {
        return None;
    }
    Functor::of(stage).ok()
}

/// The largest new cell where all cells are at most `most`; none if a value leaves a byte, or an operation has no form for
/// packed cells.
fn largest_of(functor: &Functor, most: u32) -> Option<u32> {
    let mut function = Function { most, variables: HashMap::new(), next: None };
    for (member, value) in &functor.members {
        if let Some(value) = function.value(value) {
            function.variables.insert(member.clone(), value);
        }
    }
    function.run(&functor.body)?;
    function.next?.range().map(|(_, high)| high)
}

struct Function {
    most: u32,
    variables: HashMap<String, Value>,
    next: Option<Value>,
}

impl Function {
    fn run(&mut self, statements: &[Statement]) -> Option<()> {
        for statement in statements {
            match statement {
                // The variable of an unrolled loop.
                Statement::Let(_, Some(Expr::Call(name, _, arguments)))
                    if name != "ww::u8" && matches!(arguments[..], [Expr::Number(_)]) => {}
                Statement::Let(name, Some(value)) | Statement::Assign(Expr::Name(name), value) => {
                    let value = self.value(value)?;
                    // A variable keeps its type: packed cells are no number, and a number no packed cells.
                    let before = self.variables.insert(name.clone(), value);
                    let number = |value: &Value| matches!(value, Value::Number(_));
                    let assigned = matches!(statement, Statement::Assign(..));
                    if assigned && before.is_none_or(|before| number(&before) != number(&value)) {
                        return None;
                    }
                }
                Statement::Assign(Expr::Next(0), value) => self.next = Some(self.value(value)?),
                Statement::Block(inner) => self.run(inner)?,
                // The last: what is behind it is not run.
                Statement::Return(None) => return Some(()),
                _ => return None,
            }
        }
        Some(())
    }

    fn value(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Name(name) => self.variables.get(name).copied(),
            Expr::Tap(0, _) => Some(Value::Bytes(0, self.most)),
            Expr::Next(0) => self.next,
            Expr::Compare(_, sides) => {
                let [left, right] = [self.value(&sides[0])?, self.value(&sides[1])?];
                let numbers = matches!((left, right), (Value::Number(_), Value::Number(_)));
                let small = |value: Value| value.range().is_some_and(|(_, high)| high <= COMPARED);
                (!numbers && small(left) && small(right)).then_some(Value::Truth)
            }
            Expr::Call(name, of, arguments) => {
                if let ("ww::u8", [Expr::Number(digits)]) = (name.as_str(), &arguments[..]) {
                    return digits.parse::<u8>().ok().map(|value| Value::Number(value.into()));
                }
                let values: Option<Vec<_>> = arguments.iter().map(|it| self.value(it)).collect();
                call(name, of, &values?)
            }
            _ => None,
        }
    }
}

/// An operation that packed cells have (packed.cuh).
fn call(name: &str, of: &str, values: &[Value]) -> Option<Value> {
    use Value::{Bytes, Number, Truth};
    let in_byte = |low: u32, high: u32| (high <= 255).then_some(Bytes(low, high));
    match (name, values) {
        ("ww::cast", [Truth]) => (of == "ww::u8").then_some(Bytes(0, 1)),
        ("ww::cast", [Bytes(low, high)]) => (of == "ww::u8").then_some(Bytes(*low, *high)),
        ("ww::bit_not", [Truth]) => Some(Truth),
        ("&&" | "||" | "ww::bit_and" | "ww::bit_or" | "ww::bit_xor", [Truth, Truth]) => Some(Truth),
        (_, [Number(_), Number(_)]) => None,
        ("ww::mul", [Bytes(low, high), Number(by)] | [Number(by), Bytes(low, high)]) => {
            in_byte(low * by, high * by)
        }
        (name, [a, b]) => {
            let ((a_low, a_high), (b_low, b_high)) = (a.range()?, b.range()?);
            match name {
                "ww::add" => in_byte(a_low + b_low, a_high + b_high),
                "ww::sub" => in_byte(a_low.checked_sub(b_high)?, a_high - b_low),
                "ww::bit_and" => in_byte(0, a_high.min(b_high)),
                "ww::bit_or" | "ww::bit_xor" => {
                    in_byte(0, (a_high.max(b_high) + 1).next_power_of_two() - 1)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[stencil]
    fn life(u: Near<u8, 2>) -> u8 {
        let around = u[[-1, -1]] + u[[-1, 0]] + u[[-1, 1]] + u[[0, -1]] + u[[0, 1]] + u[[1, 0]];
        ((around == 3) | ((around == 2) & (u[[0, 0]] == 1))) as u8
    }

    #[stencil]
    fn grows(u: Near<u8, 2>) -> u8 {
        u[[0, 0]] + u[[0, 1]]
    }

    #[stencil]
    fn votes(u: Near<u8, 2>, least: u8) -> u8 {
        let mut sum = u[[0, 0]];
        for k in 1..3 {
            sum += 2 * u[[0, k]];
        }
        (sum >= least && u[[1, 0]] != 3) as u8 + (u[[0, 0]] & 2)
    }

    #[stencil]
    fn wide(u: Near<u8, 2>) -> u8 {
        (u[[0, 0]] as u32 + u[[0, 1]] as u32 > 1) as u8
    }

    #[stencil]
    fn branches(u: Near<u8, 2>) -> u8 {
        if u[[0, 0]] > 1 { 1 } else { u[[0, 1]] }
    }

    #[test]
    fn cells_are_packed_where_their_values_are_proved_to_stay_small() {
        let life = Stencil::of(life());
        assert_eq!([0, 1, 21, 22].map(|most| life.packs(most)), [Some(1), Some(1), Some(21), None]);
        assert_eq!(life.boundary(Boundary::Dirichlet(9.0)).packs(1), Some(9));
        assert_eq!(Stencil::of(grows()).packs(1), None);
        // Sums of 5 cells up to 3 are below 128, and the result is at most 1 + 2.
        assert_eq!(Stencil::of(votes(4)).packs(1), Some(3));
        assert_eq!(Stencil::of(votes(200)).packs(1), None);
        assert_eq!(Stencil::of(wide()).packs(1), None);
        assert_eq!(Stencil::of(branches()).packs(1), None);
    }
}
