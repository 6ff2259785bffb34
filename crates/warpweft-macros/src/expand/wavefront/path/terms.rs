//! Which functions have paths made: the greatest or the least of sums with one earlier cell each.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Block, Expr, Pat, Stmt};

use super::{Extreme, names, read};
use crate::diag::reject;

/// Whether expressions are terms with at most one earlier cell, and the greatest or the least of such.
pub struct Terms<'a> {
    pub cells: &'a Ident,
    pub extreme: Extreme,
    /// Variables that depend on earlier cells, innermost last; the others too, which may hide them.
    pub known: Vec<(Ident, bool)>,
}

impl Terms<'_> {
    /// Whether the value of `block` depends on earlier cells.
    pub fn block(&mut self, block: &Block) -> syn::Result<bool> {
        let outside = self.known.len();
        let mut value = false;
        for (at, statement) in block.stmts.iter().enumerate() {
            match statement {
                Stmt::Local(local) => {
                    let pattern = match &local.pat {
                        Pat::Type(typed) => &*typed.pat,
                        pattern => pattern,
                    };
                    let of = match &local.init {
                        Some(init) if init.diverge.is_none() => self.expr(&init.expr)?,
                        _ => false,
                    };
                    match pattern {
                        Pat::Ident(name) if name.mutability.is_none() => {
                            self.known.push((name.ident.clone(), of));
                        }
                        pattern if of => return self.other(pattern),
                        _ => {}
                    }
                }
                Stmt::Expr(expr, None) if at + 1 == block.stmts.len() => value = self.expr(expr)?,
                statement => self.free(statement)?,
            }
        }
        self.known.truncate(outside);
        Ok(value)
    }

    fn expr(&mut self, expr: &Expr) -> syn::Result<bool> {
        if let Some(vector) = read(expr, self.cells) {
            return if vector.is_some() { Ok(true) } else { self.other(expr) };
        }
        match expr {
            Expr::Paren(inner) => self.expr(&inner.expr),
            Expr::Group(inner) => self.expr(&inner.expr),
            Expr::Block(inner) => self.block(&inner.block),
            Expr::If(choice) => {
                self.free(&choice.cond)?;
                let then = self.block(&choice.then_branch)?;
                let Some((_, otherwise)) = &choice.else_branch else { return Ok(then) };
                Ok(self.expr(otherwise)? | then)
            }
            Expr::Match(choice) => {
                self.free(&choice.expr)?;
                choice.arms.iter().try_fold(false, |any, arm| {
                    if let Some((_, guard)) = &arm.guard {
                        self.free(&**guard)?;
                    }
                    Ok(self.expr(&arm.body)? | any)
                })
            }
            Expr::Binary(sum) => {
                let (left, right) = (self.expr(&sum.left)?, self.expr(&sum.right)?);
                match sum.op {
                    syn::BinOp::Add(_) if left & right => self.other(expr),
                    syn::BinOp::Add(_) => Ok(left | right),
                    syn::BinOp::Sub(_) if !right => Ok(left),
                    _ if !left & !right => Ok(false),
                    _ => self.other(expr),
                }
            }
            Expr::MethodCall(call) if call.args.len() == 1 => {
                let any = self.expr(&call.receiver)? | self.expr(&call.args[0])?;
                match any && call.method != self.extreme.name() {
                    true => self.other(expr),
                    false => Ok(any),
                }
            }
            Expr::Path(path) => {
                let known = path
                    .path
                    .get_ident()
                    .and_then(|name| self.known.iter().rev().find(|(known, _)| known == name));
                Ok(known.is_some_and(|&(_, of)| of))
            }
            expr => self.free(expr).map(|()| false),
        }
    }

    /// Nothing in `tokens` may depend on earlier cells.
    fn free(&mut self, tokens: &(impl ToTokens + ?Sized)) -> syn::Result<()> {
        let depends = |name: &Ident| {
            let known = self.known.iter().rev().find(|(known, _)| known == name);
            name == self.cells || known.is_some_and(|&(_, of)| of)
        };
        match names(tokens.to_token_stream()).iter().any(depends) {
            true => self.other(tokens).map(drop),
            false => Ok(()),
        }
    }

    fn other(&self, tokens: &(impl ToTokens + ?Sized)) -> syn::Result<bool> {
        let name = self.extreme.name();
        Err(reject(
            &tokens.to_token_stream(),
            format_args!(
                "`path = {name}` does not see from which cell this comes: it knows the `{name}` of sums with one earlier cell each, \
                 and `if` and `match` that do not ask for cells"
            ),
            "write it so, or implement `Traced` by hand",
        ))
    }
}
