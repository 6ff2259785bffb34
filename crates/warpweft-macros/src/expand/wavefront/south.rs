//! Which members of the row above a body reads: no others are handed from row to row.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, Lit, Macro, Member, Type};

use crate::parse::reads::{in_macro, is_name};

/// The expression of `WavefrontElement::SOUTH` for `body`, in which every read of the earlier cells
/// `cells` is spelled out and loops are unrolled.
pub fn south(body: &Block, cells: &Ident, cell: &Type) -> TokenStream {
    let mut reads = Reads { cells, members: vec![], whole: false };
    reads.visit_block_mut(&mut body.clone());
    let members = reads.members;
    if reads.whole {
        return quote!(!0);
    }
    quote! {
        0 #(| ::warpweft::wavefront::words_of(
            ::core::mem::offset_of!(#cell, #members),
            |cell: &#cell| &cell.#members,
        ))*
    }
}

struct Reads<'a> {
    cells: &'a Ident,
    members: Vec<Member>,
    whole: bool,
}

impl Reads<'_> {
    /// Whether `expr` reads a cell of a row above; what is not plainly of this row is.
    fn is_above(&self, expr: &Expr) -> bool {
        let Expr::Index(index) = expr else { return false };
        let zero = |expr: &Expr| matches!(expr, Expr::Lit(lit) if matches!(&lit.lit, Lit::Int(n) if n.base10_digits() == "0"));
        let same_row =
            matches!(&*index.index, Expr::Array(at) if at.elems.first().is_some_and(zero));
        is_name(&index.expr, self.cells) && !same_row
    }
}

impl VisitMut for Reads<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Field(field) if self.is_above(&field.base) => {
                if !self.members.contains(&field.member) {
                    self.members.push(field.member.clone());
                }
            }
            expr if self.is_above(expr) => self.whole = true,
            expr => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_macro(call, self, false);
    }
}
