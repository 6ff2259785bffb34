//! `spawn!` and `sync!` as they stand in a body: which statements they are, and what those mean.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{BinOp, Expr, ExprCall, Macro, Pat, Stmt};

use crate::diag::reject;
use crate::ir::How;

/// A statement that spawns.
pub struct Spawn {
    pub call: ExprCall,
    pub target: Target,
}

/// Where the value goes.
pub enum Target {
    /// To a variable that is declared here.
    New(Ident, Option<Box<syn::Type>>),
    /// To a variable that there is.
    Known(Ident, How),
    Nothing,
}

/// The statement as one that spawns, if it is one.
pub fn spawn(statement: &Stmt) -> syn::Result<Option<Spawn>> {
    let (found, target) = match statement {
        Stmt::Macro(found) => (&found.mac, Target::Nothing),
        Stmt::Local(local) => {
            let Some(init) = &local.init else { return Ok(None) };
            let Expr::Macro(found) = &*init.expr else { return Ok(None) };
            if !is(&found.mac, "spawn") {
                return Ok(None);
            }
            let Some((name, ty)) = plain(&local.pat) else {
                return Err(reject(
                    &local.pat,
                    "the value of a call that is spawned goes to one variable",
                    "name it, and take it apart after `sync!()`",
                ));
            };
            (&found.mac, Target::New(name, ty))
        }
        Stmt::Expr(Expr::Assign(assign), Some(_)) => {
            let Expr::Macro(found) = &*assign.right else { return Ok(None) };
            (&found.mac, Target::Known(variable(&assign.left, found)?, How::Store))
        }
        Stmt::Expr(Expr::Binary(binary), Some(_)) => {
            let Expr::Macro(found) = &*binary.right else { return Ok(None) };
            let how = match binary.op {
                BinOp::AddAssign(_) => How::Add,
                BinOp::BitOrAssign(_) => How::Or,
                BinOp::BitXorAssign(_) => How::Xor,
                // Where it is a `spawn!` it stands in the wrong place.
                _ => return Ok(None),
            };
            (&found.mac, Target::Known(variable(&binary.left, found)?, how))
        }
        _ => return Ok(None),
    };
    if !is(found, "spawn") {
        return Ok(None);
    }
    Ok(Some(Spawn { call: callee(found)?, target }))
}

/// The variable that `place` is, which `found` is assigned to.
fn variable(place: &Expr, found: &syn::ExprMacro) -> syn::Result<Ident> {
    match place {
        Expr::Path(path) if path.path.get_ident().is_some() => {
            Ok(path.path.require_ident()?.clone())
        }
        // Another macro: later checks report what is wrong with it.
        _ if !is(&found.mac, "spawn") => Ok(Ident::new("_other", proc_macro2::Span::call_site())),
        other => Err(reject(
            other,
            "the value of a call that is spawned goes to a variable",
            "spawn into a variable, and assign after `sync!()`",
        )),
    }
}

fn plain(pat: &Pat) -> Option<(Ident, Option<Box<syn::Type>>)> {
    match pat {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => {
            Some((ident.ident.clone(), None))
        }
        Pat::Type(typed) => Some((plain(&typed.pat)?.0, Some(typed.ty.clone()))),
        _ => None,
    }
}

/// The call in a `spawn!`.
pub fn callee(found: &Macro) -> syn::Result<ExprCall> {
    let refused = || {
        let instead = "call a function with `#[spawning]` by its path: `spawn!(fib(n - 1))`";
        reject(found, "only a call can be spawned", instead)
    };
    let call: ExprCall = found.parse_body().map_err(|_| refused())?;
    match &*call.func {
        Expr::Path(_) => Ok(call),
        _ => Err(refused()),
    }
}

/// Whether the statement is `sync!();`.
pub fn sync(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Macro(found) if is(&found.mac, "sync"))
}

/// Whether this is the macro of that name.
pub fn is(found: &Macro, name: &str) -> bool {
    found.path.segments.last().is_some_and(|last| last.ident == name)
}

/// The first invocation of the macro `name` in `tokens`, as its name.
pub fn invoked(tokens: TokenStream, name: &str) -> Option<Ident> {
    let mut before: Option<Ident> = None;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                if let Some(found) = invoked(group.stream(), name) {
                    return Some(found);
                }
                before = None;
            }
            TokenTree::Ident(ident) => before = (ident == name).then_some(ident),
            TokenTree::Punct(punct) if punct.as_char() == '!' && before.is_some() => return before,
            _ => before = None,
        }
    }
    None
}
