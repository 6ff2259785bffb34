//! Reads of neighbours in a body: numbered before translation, replaced after.
//!
//! The translator evaluates the offset of each read and notes it under the read's number. The
//! specialised copy of the body then gets what stands for that very read; what was written as an
//! offset is not compiled again.

use proc_macro2::{Ident, Literal};
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ExprArray, Lit, Macro, parse_quote};

use crate::check::matches_parts;

/// The suffix of the number that a read carries as a last element of its offset.
const TAG: &str = "tap";

/// Numbers every read `name[[..]]`, `name.field[[..]]` or `name.field[i][[..]]` in `body`, for each of `names`.
pub fn number(body: &mut Block, names: &[&Ident]) {
    Numbers { names, next: 0 }.visit_block_mut(body);
}

/// `offsets` without the number, and the number.
pub fn untagged(offsets: &ExprArray) -> (ExprArray, Option<usize>) {
    let mut plain = offsets.clone();
    let number = match plain.elems.last() {
        Some(Expr::Lit(lit)) => match &lit.lit {
            Lit::Int(int) if int.suffix() == TAG => int.base10_parse().ok(),
            _ => None,
        },
        _ => None,
    };
    if number.is_some() {
        plain.elems.pop();
        plain.elems.pop_punct();
    }
    (plain, number)
}

/// The numbered `body` with every read replaced by what `with` makes of its number and of what is
/// indexed; a read that it makes nothing of stays, without its number.
pub fn replace(
    mut body: Block,
    names: &[&Ident],
    with: &dyn Fn(usize, &Expr) -> Option<Expr>,
) -> Block {
    Replace { names, with }.visit_block_mut(&mut body);
    body
}

/// Whether `expr` is the bare `name`.
pub fn is_name(expr: &Expr, name: &Ident) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident(name))
}

/// The offset of a read of one of `names`, and what is indexed.
fn read<'e>(expr: &'e mut Expr, names: &[&Ident]) -> Option<(&'e mut ExprArray, &'e Expr)> {
    let Expr::Index(index) = expr else { return None };
    let Expr::Array(offset) = &mut *index.index else { return None };
    let member = match &*index.expr {
        Expr::Index(member) => &*member.expr,
        other => other,
    };
    let base = match member {
        Expr::Field(field) => &*field.base,
        base => base,
    };
    names.iter().any(|name| is_name(base, name)).then_some((offset, &*index.expr))
}

struct Numbers<'a> {
    names: &'a [&'a Ident],
    next: usize,
}

impl VisitMut for Numbers<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        syn::visit_mut::visit_expr_mut(self, expr);
        if let Some((offset, _)) = read(expr, self.names) {
            let mut number = Literal::usize_unsuffixed(self.next).to_string();
            number.push_str(TAG);
            self.next += 1;
            offset.elems.push(Expr::Lit(syn::ExprLit {
                attrs: vec![],
                lit: Lit::Int(syn::LitInt::new(&number, proc_macro2::Span::call_site())),
            }));
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_macro(call, self, false);
    }
}

struct Replace<'a> {
    names: &'a [&'a Ident],
    with: &'a dyn Fn(usize, &Expr) -> Option<Expr>,
}

impl VisitMut for Replace<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        syn::visit_mut::visit_expr_mut(self, expr);
        let Some((offset, of)) = read(expr, self.names) else { return };
        let (plain, number) = untagged(offset);
        match number.and_then(|number| (self.with)(number, of)) {
            Some(replaced) => *expr = replaced,
            None => *offset = plain,
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_macro(call, self, true);
    }
}

/// Visits the operands of the macros that the subset has. `ours`: spells what the translator took
/// them for, whatever their names mean here, and nothing that it did not read.
pub fn in_macro(call: &mut Macro, visitor: &mut impl VisitMut, ours: bool) {
    let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    match name.as_str() {
        "assert" => {
            let arguments = syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated;
            let Ok(mut parsed) = call.parse_body_with(arguments) else { return };
            let Some(condition) = parsed.first_mut() else { return };
            visitor.visit_expr_mut(condition);
            call.tokens = quote!(#parsed);
            if ours {
                call.path = parse_quote!(::core::assert);
            }
        }
        "matches" => {
            let Ok((mut value, mut pattern, mut guard)) = matches_parts(call) else { return };
            visitor.visit_expr_mut(&mut value);
            visitor.visit_pat_mut(&mut pattern);
            if let Some(guard) = &mut guard {
                visitor.visit_expr_mut(guard);
            }
            let guard = guard.map(|guard| quote!(if #guard));
            call.tokens = quote!(#value, #pattern #guard);
            if ours {
                call.path = parse_quote!(::core::matches);
            }
        }
        _ => {}
    }
}
