//! The body of the unchecked copy: every neighbour at the offset that the translator evaluated.
//!
//! What was written as an offset is not compiled again. The neighbourhood gets a name that no user
//! code can spell, so that whatever was not replaced here has no access to it: an offset that is
//! not one of the footprint can't reach an unchecked read.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ExprArray, Lit, Macro, parse_quote};

use super::inputs::is_name;
use crate::lower::matches_parts;

/// The suffix of the number that a read carries as a last element of its offset.
const TAG: &str = "tap";

/// Numbers every read of `near` in `body`.
pub fn number(body: &mut Block, near: &Ident) {
    Numbers { near, next: 0 }.visit_block_mut(body);
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

/// The numbered `body` with the evaluated `offsets`, read from `hidden`.
pub fn specialise(
    mut body: Block,
    near: &Ident,
    hidden: &Ident,
    offsets: &HashMap<usize, Vec<i128>>,
) -> Block {
    Replace { near, hidden, offsets }.visit_block_mut(&mut body);
    body
}

/// The offset and the accessor of a read of `near`.
fn read<'e>(expr: &'e mut Expr, near: &Ident) -> Option<(&'e mut ExprArray, &'e mut Expr)> {
    let Expr::Index(index) = expr else { return None };
    let Expr::Array(offset) = &mut *index.index else { return None };
    let base = match &mut *index.expr {
        Expr::Field(field) => &mut *field.base,
        base => base,
    };
    is_name(base, near).then_some((offset, base))
}

struct Numbers<'a> {
    near: &'a Ident,
    next: usize,
}

impl VisitMut for Numbers<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        syn::visit_mut::visit_expr_mut(self, expr);
        if let Some((offset, _)) = read(expr, self.near) {
            let mut number = Literal::usize_unsuffixed(self.next).to_string();
            number.push_str(TAG);
            self.next += 1;
            offset.elems.push(Expr::Lit(syn::ExprLit {
                attrs: vec![],
                lit: Lit::Int(syn::LitInt::new(&number, self.near.span())),
            }));
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_macro(call, self, false);
    }
}

fn literal(value: i128) -> Option<TokenStream> {
    let size = Literal::isize_suffixed(isize::try_from(value.abs()).ok()?);
    Some(if value < 0 { quote!(-#size) } else { quote!(#size) })
}

struct Replace<'a> {
    near: &'a Ident,
    hidden: &'a Ident,
    offsets: &'a HashMap<usize, Vec<i128>>,
}

impl VisitMut for Replace<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        syn::visit_mut::visit_expr_mut(self, expr);
        let Some((offset, base)) = read(expr, self.near) else { return };
        let (plain, number) = untagged(offset);
        *offset = plain;
        if let Some(values) = number.and_then(|number| self.offsets.get(&number)) {
            let sizes: Option<Vec<_>> = values.iter().map(|&value| literal(value)).collect();
            let Some(sizes) = sizes else { return };
            *offset = parse_quote!([#(#sizes),*]);
            let hidden = self.hidden;
            *base = parse_quote!(#hidden);
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_macro(call, self, true);
    }
}

/// Visits the operands of the macros that the subset has. `ours`: spells what the translator took
/// them for, whatever their names mean here, and nothing that it did not read.
fn in_macro(call: &mut Macro, visitor: &mut impl VisitMut, ours: bool) {
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
            let Ok((mut value, pattern, mut guard)) = matches_parts(call) else { return };
            visitor.visit_expr_mut(&mut value);
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
