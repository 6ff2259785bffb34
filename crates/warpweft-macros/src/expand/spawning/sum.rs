//! Functions whose value is proved to be one sum over all that they spawn, or a product, minimum, maximum, `&`, `|` or `^`.
//!
//! All of these are associative and commutative on integers, so the values of calls may be combined in any order, wherever
//! the calls run: no call waits for another, and a wait is no stop. The proof is by form. Each spawned value goes to a
//! variable that is mentioned nowhere but in the value at the end, once, as an operand of the one operation; and nothing
//! is returned once a call is spawned but that value.

use std::collections::BTreeMap;

use crate::check::Lower;
use crate::emit::spawns;
use crate::ir::{BinOp, Block, Expr, Hole, How, Input, Name, Pattern, Statement};

/// The operation, by its number in `tasks.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add = 1,
    Mul = 2,
    Min = 3,
    Max = 4,
    And = 5,
    Or = 6,
    Xor = 7,
    /// Whichever the callers have: the value of one call at most is passed on.
    Any = 15,
}

/// What a body becomes when all values are combined where they arise.
pub struct Sum {
    pub operation: Operation,
    pub parts: Vec<Block>,
}

/// Types of which sums in any order are equal.
const INTEGERS: [&str; 6] = ["u32", "i32", "u64", "i64", "usize", "isize"];

impl Sum {
    /// Of a body in pieces, if it is one: the value of the function is of the type `output`.
    pub fn of(lower: &mut Lower<'_>, blocks: &[Block], output: &syn::ReturnType) -> Option<Self> {
        let syn::ReturnType::Type(_, ty) = output else { return None };
        let syn::Type::Path(path) = &**ty else { return None };
        let ident = path.path.get_ident()?;
        if !INTEGERS.iter().any(|known| ident == known) || returns_after_spawn(blocks) {
            return None;
        }
        let mut targets = BTreeMap::new();
        let all = blocks.iter().all(|block| block.statements.iter().all(|s| aims(s, &mut targets)));
        // The value of a call that nobody takes must not be added.
        if !all {
            return None;
        }
        let (last, before) = blocks.split_last()?;
        if targets.is_empty() {
            return Some(Self { operation: Operation::Any, parts: blocks.to_vec() });
        }
        let tail = last.tail.as_deref()?;
        let (operation, terms) = operation(tail, &targets)?;
        let statements = before.iter().chain([last]).flat_map(|block| &block.statements);
        let shown: String = statements.map(|statement| format!("{statement:?};")).collect();
        for (name, how) in &targets {
            let local = format!("Local({name:?})");
            let among = terms.iter().filter(|term| is_local(term, name)).count();
            let others = terms.iter().any(|term| !is_local(term, name) && shows(term, &local));
            // Stored values are those of variables that their spawn declares.
            let declared = shown.contains(&format!("Bind {{ name: {name:?}"));
            let right = match how_operation(*how) {
                Some(combined) => declared && combined == operation,
                None => !declared,
            };
            if among != 1 || others || shown.contains(&local) || !right {
                return None;
            }
        }
        let give = lower.hole(quote::quote!("lane.give".to_string()));
        let (mut parts, mut found) = (vec![], 0);
        for block in before {
            parts.push(given(block, &targets, give, &mut found));
        }
        let mut end = given(last, &targets, give, &mut found);
        end.tail = None;
        let rest =
            terms.into_iter().filter(|term| !targets.keys().any(|name| is_local(term, name)));
        end.statements.extend(rest.map(|term| Statement::Expr(give_of(give, term.clone()))));
        parts.push(end);
        let accumulated = targets.values().filter(|how| **how != How::Store).count();
        (found == accumulated).then_some(Self { operation, parts })
    }
}

fn is_local(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Local(local) if local == name)
}

/// Whether `text` is in how `expr` is shown.
fn shows(expr: &Expr, text: &str) -> bool {
    format!("{expr:?}").contains(text)
}

fn give_of(give: Hole, value: Expr) -> Expr {
    Expr::Call { function: give, arguments: vec![value], effects: false }
}

/// The block with what accumulators begin with given away where they are declared; `found` counts them.
fn given(block: &Block, targets: &BTreeMap<Name, How>, give: Hole, found: &mut usize) -> Block {
    let mut block = block.clone();
    for statement in &mut block.statements {
        if let Statement::Let(Pattern::Bind { name, inner: None, .. }, value) = statement
            && targets.contains_key(name)
        {
            *statement = Statement::Expr(give_of(give, value.clone()));
            *found += 1;
        }
    }
    block
}

/// Whether a `return` stands after or next to a spawn.
fn returns_after_spawn(blocks: &[Block]) -> bool {
    let mut spawned = false;
    for statement in blocks.iter().flat_map(|block| &block.statements) {
        spawned |= spawns(statement);
        if spawned && format!("{statement:?}").contains("Return(") {
            return true;
        }
    }
    let tail = blocks.last().and_then(|block| block.tail.as_deref());
    spawned && tail.is_some_and(|tail| shows(tail, "Return("))
}

/// Notes where the values of the calls in `statement` go; false if that of one goes nowhere.
fn aims(statement: &Statement, targets: &mut BTreeMap<Name, How>) -> bool {
    match statement {
        Statement::Expr(expr) => aims_in(expr, targets),
        Statement::Let(..) => true,
    }
}

fn aims_in(expr: &Expr, targets: &mut BTreeMap<Name, How>) -> bool {
    let mut block = |block: &Block| {
        let mut right = true;
        for statement in &block.statements {
            right &= aims(statement, targets);
        }
        right && block.tail.as_deref().is_none_or(|tail| aims_in(tail, targets))
    };
    match expr {
        Expr::Input(Input::Spawn { how, target, .. }) => match target {
            Some(name) => targets.insert(name.clone(), *how).is_none_or(|before| before == *how),
            None => false,
        },
        Expr::Block(inner) => block(inner),
        Expr::If { then, otherwise, .. } => {
            block(then) && otherwise.as_deref().is_none_or(|inner| aims_in(inner, targets))
        }
        Expr::Loop { body, .. } | Expr::While { body, .. } | Expr::For { body, .. } => block(body),
        _ => true,
    }
}

fn how_operation(how: How) -> Option<Operation> {
    match how {
        How::Add => Some(Operation::Add),
        How::Or => Some(Operation::Or),
        How::Xor => Some(Operation::Xor),
        How::Store | How::Nothing => None,
    }
}

/// The operation of the value at the end, and its operands.
fn operation<'e>(
    tail: &'e Expr,
    targets: &BTreeMap<Name, How>,
) -> Option<(Operation, Vec<&'e Expr>)> {
    match operands(tail) {
        Some((operation, _)) => {
            let mut terms = vec![];
            flatten(tail, operation, &mut terms);
            Some((operation, terms))
        }
        None => {
            let Expr::Local(name) = tail else { return None };
            let operation = how_operation(*targets.get(name)?).unwrap_or(Operation::Any);
            Some((operation, vec![tail]))
        }
    }
}

fn flatten<'e>(expr: &'e Expr, operation: Operation, terms: &mut Vec<&'e Expr>) {
    match operands(expr) {
        Some((same, [left, right])) if same == operation => {
            flatten(left, operation, terms);
            flatten(right, operation, terms);
        }
        _ => terms.push(expr),
    }
}

fn operands(expr: &Expr) -> Option<(Operation, [&Expr; 2])> {
    match expr {
        Expr::Binary { op, left, right, .. } => {
            let operation = match op {
                BinOp::Add => Operation::Add,
                BinOp::Mul => Operation::Mul,
                BinOp::BitAnd => Operation::And,
                BinOp::BitOr => Operation::Or,
                BinOp::BitXor => Operation::Xor,
                _ => return None,
            };
            Some((operation, [left, right]))
        }
        Expr::Method { name, arguments, .. } => {
            let operation = match name.as_str() {
                "wrapping_add" => Operation::Add,
                "wrapping_mul" => Operation::Mul,
                "min" => Operation::Min,
                "max" => Operation::Max,
                _ => return None,
            };
            let [left, right] = &arguments[..] else { return None };
            Some((operation, [left, right]))
        }
        _ => None,
    }
}
