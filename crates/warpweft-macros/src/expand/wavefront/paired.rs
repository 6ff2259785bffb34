//! The function in two: what row and column inputs give, and how that is joined with earlier cells.
//!
//! A GPU computes the first once for each symbol of the columns and each row, and the second for two cells at once. There
//! is such a form where one variable alone depends on the inputs, and everything else is sums and greatest numbers. What is
//! far below all cells then stays below them, however far it is.

use crate::emit::{Cuda, Returns, has_word};
use crate::ir::{BinOp, Block, Expr, Input, Pattern, Statement};

/// The two parts of a function.
pub struct Paired {
    /// The members `pair` and `joined` of its C++ struct.
    pub text: String,
    /// Which of the body's statements says what inputs give, and how many there are.
    pub at: usize,
    pub count: usize,
}

/// The parts of the function with this body, in which row and column are called `inputs`; `cell` is the name of a cell's
/// struct, if it is one.
pub fn paired(block: &Block, inputs: [&str; 2], cell: Option<&str>) -> Option<Paired> {
    let text = |statements: &[Statement], tail: Option<&Expr>| {
        let block = Block {
            statements: statements.to_vec(),
            tail: tail.map(|tail| Box::new(tail.clone())),
        };
        Cuda::body(&block, Returns::Value, 2)
    };
    let uses = |statement: &&Statement| {
        let text = text(std::slice::from_ref(*statement), None);
        inputs.iter().any(|input| has_word(&text, input))
    };
    let at = block.statements.iter().position(|statement| uses(&statement))?;
    let (before, rest) = block.statements.split_at(at);
    let ([pair], after) = rest.split_at(1) else { return None };
    let Statement::Let(Pattern::Bind { name, mutable: false, inner: None }, value) = pair else {
        return None;
    };
    let joined: Vec<_> = before.iter().chain(after).cloned().collect();
    let tail = block.tail.as_deref()?;
    let alone = text(std::slice::from_ref(pair), Some(&Expr::Local(name.clone())));
    let free = |statement: &Statement| match statement {
        Statement::Let(pattern, value) => {
            let mut names = Vec::new();
            named(pattern, &mut names)
                && !names.iter().any(|it| has_word(&alone, it))
                && joins(value)
        }
        Statement::Expr(_) => false,
    };
    if inputs.contains(&"")
        || reads(value)
        || after.iter().any(|statement| uses(&statement))
        || uses(&&Statement::Expr(tail.clone()))
        || !joined.iter().all(free)
        || !joins(tail)
    {
        return None;
    }
    let alias = cell.map_or(String::new(), |cell| format!("    using {cell} = Near;\n"));
    let [row, column] = inputs;
    let members = format!(
        "  WW_FN auto pair(Row {row}, Column {column}) const {{
{alone}  }}
  template<class Near, class Earlier, class Pair> WW_FN Near joined(const Earlier& h, Pair {name}) const {{
{alias}{}  }}
",
        text(&joined, Some(tail))
    );
    Some(Paired { text: members, at, count: block.statements.len() })
}

/// Whether `pattern` only names variables, which are added to `names`.
fn named<'p>(pattern: &'p Pattern, names: &mut Vec<&'p str>) -> bool {
    match pattern {
        Pattern::Any => true,
        Pattern::Bind { name, mutable: false, inner: None } => {
            names.push(name);
            true
        }
        Pattern::Members(members) => members.iter().all(|(_, inner)| named(inner, names)),
        _ => false,
    }
}

/// Whether `expr` means the same of two cells at once.
fn joins(expr: &Expr) -> bool {
    match expr {
        Expr::Local(_) | Expr::Value(_) | Expr::Input(Input::Earlier { .. }) => true,
        Expr::Binary { op: BinOp::Add, left, right, sites } => {
            sites.is_empty() && joins(left) && joins(right)
        }
        Expr::Method { name, arguments, sites } => {
            name == "max" && sites.is_empty() && arguments.iter().all(joins)
        }
        Expr::Tuple(values) => values.iter().all(joins),
        Expr::Struct { members, base: None, .. } => members.iter().all(|(_, value)| joins(value)),
        Expr::Field(of, _) => joins(of),
        _ => false,
    }
}

/// Whether `expr` may read a cell: what is not known not to.
fn reads(expr: &Expr) -> bool {
    match expr {
        Expr::Local(_) | Expr::Value(_) | Expr::Bool(_) => false,
        Expr::Unary(_, value) | Expr::Cast { value, .. } | Expr::Field(value, _) => reads(value),
        Expr::Binary { left, right, .. } | Expr::And(left, right) | Expr::Or(left, right) => {
            reads(left) || reads(right)
        }
        Expr::Method { arguments, .. } => arguments.iter().any(reads),
        Expr::Index { array, index, .. } => reads(array) || reads(index),
        Expr::If { condition, then, otherwise: Some(otherwise), .. } => {
            reads(condition) || block_reads(then) || reads(otherwise)
        }
        Expr::Block(block) => block_reads(block),
        _ => true,
    }
}

fn block_reads(block: &Block) -> bool {
    !block.statements.is_empty() || block.tail.as_deref().is_none_or(reads)
}
