//! Which expressions become statements, so that Rust's order of evaluation is kept.

use crate::ir::{Block, Expr};

/// Whether emitting `expr` puts statements before the expression it is part of.
pub fn hoists(expr: &Expr) -> bool {
    match expr {
        Expr::Local(_) | Expr::Input(_) | Expr::Value(_) | Expr::Bool(_) | Expr::Unit => false,
        Expr::Unary(_, a) | Expr::Cast { value: a, .. } | Expr::Repeat { value: a, .. } => {
            hoists(a)
        }
        Expr::Field(a, _) | Expr::Reference(a) => hoists(a),
        Expr::Binary { left: a, right: b, .. }
        | Expr::And(a, b)
        | Expr::Or(a, b)
        | Expr::Index { array: a, index: b, .. } => hoists(a) || hoists(b),
        Expr::Method { arguments, .. } | Expr::Tuple(arguments) | Expr::Array(arguments) => {
            arguments.iter().any(hoists)
        }
        Expr::Call { arguments, effects, .. } => *effects || arguments.iter().any(hoists),
        Expr::Matches { scrutinee, guard, pattern } => {
            guard.is_some()
                || hoists(scrutinee)
                || pattern.binds()
                || !matches!(**scrutinee, Expr::Local(_))
        }
        Expr::If { .. } => conditional(expr).is_none(),
        _ => true,
    }
}

/// Whether control never comes back from `expr`.
pub fn diverges(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break { .. } | Expr::Continue { .. } => true,
        Expr::Block(block) => block.tail.as_deref().is_some_and(diverges),
        _ => false,
    }
}

/// The parts of an `if` that is a plain conditional expression.
pub fn conditional(expr: &Expr) -> Option<(&Expr, &Expr, &Expr)> {
    let Expr::If { condition, then, otherwise: Some(otherwise), .. } = expr else { return None };
    let then = only(then)?;
    let otherwise = match &**otherwise {
        Expr::Block(block) => only(block)?,
        other => other,
    };
    let plain = |e: &Expr| !hoists(e) && !diverges(e);
    (plain(condition) && plain(then) && plain(otherwise)).then_some((condition, then, otherwise))
}

fn only(block: &Block) -> Option<&Expr> {
    if block.statements.is_empty() { block.tail.as_deref() } else { None }
}
