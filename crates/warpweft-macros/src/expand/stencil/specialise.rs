//! The body of the unchecked copy: every neighbour at the offset that the translator evaluated.
//!
//! The neighbourhood gets a name that no user code can spell, so that whatever was not replaced here
//! has no access to it: an offset that is not one of the footprint can't reach an unchecked read.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::{Block, Expr, parse_quote};

use super::inputs::StencilInputs;
use super::shape::Shape;
use crate::parse::cells::whole;
use crate::parse::reads::replace;

/// The numbered `body` with the evaluated offsets of `inputs`, read from `hidden`.
pub fn specialise(body: Block, shape: &Shape, hidden: &Ident, inputs: &StencilInputs) -> Block {
    let offsets = &inputs.offsets;
    replace(body, &[&shape.near], &|number, of| {
        let sizes: Option<Vec<_>> =
            offsets.get(&number)?.iter().map(|&value| literal(value)).collect();
        let sizes = sizes?;
        Some(match of {
            Expr::Field(field) => {
                let member = &field.member;
                parse_quote!(#hidden.#member[[#(#sizes),*]])
            }
            Expr::Index(index) => {
                let Expr::Field(field) = &*index.expr else { return None };
                let member = &field.member;
                let at =
                    Literal::usize_unsuffixed(usize::try_from(*inputs.members.get(&number)?).ok()?);
                parse_quote!(#hidden.#member[#at][[#(#sizes),*]])
            }
            _ if shape.scalar => parse_quote!(#hidden[[#(#sizes),*]]),
            _ => whole(hidden, &shape.state, &parse_quote!([#(#sizes),*])),
        })
    })
}

fn literal(value: i128) -> Option<TokenStream> {
    let size = Literal::isize_suffixed(isize::try_from(value.abs()).ok()?);
    Some(if value < 0 { quote!(-#size) } else { quote!(#size) })
}
