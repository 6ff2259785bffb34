//! Indexes that stay below a bound whatever the values: their form says so.
//!
//! A symbol of a sequence is masked (`a & 31`), reduced (`a as usize % 24`) or capped (`a.min(23)`) before
//! it indexes a table, and then no index can leave the table: the translation has no check and no fault.

use syn::{BinOp, Expr as E, Type};

use super::Lower;

impl Lower<'_> {
    /// The greatest value that `expr` can have, if its form gives one; it is then not negative either.
    pub fn most(&self, expr: &E) -> Option<usize> {
        if let Some(known) = self.known(expr) {
            return usize::try_from(known).ok();
        }
        match expr {
            E::Paren(inner) => self.most(&inner.expr),
            E::Group(inner) => self.most(&inner.expr),
            E::Path(path) => self.scopes.get(&path.path.get_ident()?.to_string())?.most,
            // A narrower type without a sign keeps a number or makes it less.
            E::Cast(cast) if is_unsigned(&cast.ty) => self.most(&cast.expr),
            E::Call(call) => self.most(converted(call)?),
            E::MethodCall(call) if call.method == "min" && call.args.len() == 1 => {
                let cap = self.most(&call.args[0])?;
                match self.most(&call.receiver) {
                    Some(most) => Some(most.min(cap)),
                    None => has_no_sign(&call.receiver).then_some(cap),
                }
            }
            E::Binary(binary) => match binary.op {
                BinOp::BitAnd(_) => match (self.most(&binary.left), self.most(&binary.right)) {
                    (Some(left), Some(right)) => Some(left.min(right)),
                    (left, right) => left.or(right),
                },
                BinOp::Rem(_) => {
                    let last = usize::try_from(self.known(&binary.right)?).ok()?.checked_sub(1)?;
                    let positive = has_no_sign(&binary.left) || self.most(&binary.left).is_some();
                    positive.then_some(last)
                }
                BinOp::Shr(_) => self.most(&binary.left),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether `ty` names an integer without a sign.
fn is_unsigned(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.get_ident().is_some_and(names_unsigned),
        Type::Group(group) => is_unsigned(&group.elem),
        Type::Paren(paren) => is_unsigned(&paren.elem),
        _ => false,
    }
}

fn names_unsigned(name: &proc_macro2::Ident) -> bool {
    ["u8", "u16", "u32", "u64", "usize"].iter().any(|known| name == known)
}

/// `x` of `usize::from(x)` and the like.
fn converted(call: &syn::ExprCall) -> Option<&E> {
    let E::Path(path) = &*call.func else { return None };
    let segments = &path.path.segments;
    let known = segments.len() == 2 && names_unsigned(&segments[0].ident);
    (known && segments[1].ident == "from").then(|| call.args.first()).flatten()
}

/// Whether `expr` says itself that its type has no sign.
fn has_no_sign(expr: &E) -> bool {
    match expr {
        E::Paren(inner) => has_no_sign(&inner.expr),
        E::Group(inner) => has_no_sign(&inner.expr),
        E::Cast(cast) => is_unsigned(&cast.ty),
        E::Call(call) => converted(call).is_some(),
        _ => false,
    }
}
