//! A body cut where it waits, in pieces that say where the values of calls go.
//!
//! "A sub-kernel is created whenever sync is encountered" (Orr et al., section 5.2).

use proc_macro2::TokenStream;
use syn::{Block, Stmt};

use super::spawns::sync;
use crate::check::Lower;
use crate::diag::reject;
use crate::ir::{self, Expr, How, Input, Name, Pattern, Statement};

/// A body in pieces.
pub struct Pieces {
    /// Rust that types it.
    pub shadow: TokenStream,
    /// The statements of each piece, spawns with their targets.
    pub blocks: Vec<ir::Block>,
}

/// More are not told apart.
const MOST: usize = 31;

impl Pieces {
    /// Of `body`, whose parameters are in scope, of some as `copies`.
    pub fn of(
        lower: &mut Lower<'_>,
        body: &Block,
        wanted: bool,
        copies: Vec<Statement>,
    ) -> syn::Result<Self> {
        let parts: Vec<_> = body.stmts.split(sync).collect();
        let count = parts.len();
        if count > MOST {
            let what = format!("{} times `sync!()`", count - 1);
            let syncs = body.stmts.iter().find(|statement| sync(statement));
            return Err(reject(&syncs, what, "cut the function in two"));
        }
        let (mut shadow, mut blocks) = (TokenStream::new(), vec![]);
        for (number, part) in parts.into_iter().enumerate() {
            let end = (number + 1 == count).then_some(wanted);
            let mut block = piece(lower, part, end, &mut shadow)?;
            if number == 0 {
                block.statements.splice(0..0, copies.iter().cloned());
            }
            blocks.push(block);
        }
        Ok(Self { shadow, blocks })
    }
}

/// The statements between two waits; `end`, of the last: whether the function's value is wanted.
fn piece(
    lower: &mut Lower<'_>,
    statements: &[Stmt],
    end: Option<bool>,
    shadow: &mut TokenStream,
) -> syn::Result<ir::Block> {
    let (tokens, mut block) = lower.statements(statements, end == Some(true))?;
    shadow.extend(tokens);
    if end == Some(false) {
        block.statements.push(Statement::Expr(Expr::Return(None)));
    }
    aim(&mut block);
    Ok(block)
}

/// Tells every spawn below `block` where its value goes.
fn aim(block: &mut ir::Block) {
    for statement in &mut block.statements {
        match statement {
            Statement::Let(Pattern::Bind { name, .. }, Expr::Input(Input::Spawn { .. })) => {
                let name = name.clone();
                let Statement::Let(_, Expr::Input(input)) = statement else { continue };
                *statement = Statement::Expr(aimed(input, How::Store, &name));
            }
            Statement::Expr(expr) => match expr {
                Expr::Assign { place, value } => {
                    if let (Expr::Local(name), Expr::Input(input @ Input::Spawn { .. })) =
                        (&**place, &mut **value)
                    {
                        *expr = aimed(input, How::Store, name);
                    }
                }
                Expr::AssignOp { op, place, value, .. } => {
                    if let (Expr::Local(name), Expr::Input(input @ Input::Spawn { .. })) =
                        (&**place, &mut **value)
                    {
                        let how = match op {
                            ir::BinOp::Add => How::Add,
                            ir::BinOp::BitOr => How::Or,
                            _ => How::Xor,
                        };
                        *expr = aimed(input, how, name);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    let nested = block.statements.iter_mut().filter_map(|statement| match statement {
        Statement::Expr(expr) => Some(expr),
        Statement::Let(..) => None,
    });
    for expr in nested.chain(block.tail.as_deref_mut()) {
        aim_in(expr);
    }
}

fn aim_in(expr: &mut Expr) {
    match expr {
        Expr::Block(block) => aim(block),
        Expr::If { then, otherwise, .. } => {
            aim(then);
            if let Some(otherwise) = otherwise {
                aim_in(otherwise);
            }
        }
        Expr::Loop { body, .. } | Expr::While { body, .. } | Expr::For { body, .. } => {
            aim(body);
        }
        _ => {}
    }
}

fn aimed(input: &mut Input, how: How, name: &Name) -> Expr {
    let mut input = input.clone();
    if let Input::Spawn { how: known, target, .. } = &mut input {
        (*known, *target) = (how, Some(name.clone()));
    }
    Expr::Input(input)
}
