//! The body of the unchecked copy: every neighbour at the offset that the translator evaluated.
//!
//! The neighbourhood gets a name that no user code can spell, so that whatever was not replaced here
//! has no access to it: an offset that is not one of the footprint can't reach an unchecked read.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::{Block, Expr, parse_quote};

use crate::parse::reads::replace;

/// The numbered `body` with the evaluated `offsets`, read from `hidden`.
pub fn specialise(
    body: Block,
    near: &Ident,
    hidden: &Ident,
    offsets: &HashMap<usize, Vec<i128>>,
) -> Block {
    replace(body, &[near], &|number, of| {
        let sizes: Option<Vec<_>> =
            offsets.get(&number)?.iter().map(|&value| literal(value)).collect();
        let sizes = sizes?;
        Some(match of {
            Expr::Field(field) => {
                let member = &field.member;
                parse_quote!(#hidden.#member[[#(#sizes),*]])
            }
            _ => parse_quote!(#hidden[[#(#sizes),*]]),
        })
    })
}

fn literal(value: i128) -> Option<TokenStream> {
    let size = Literal::isize_suffixed(isize::try_from(value.abs()).ok()?);
    Some(if value < 0 { quote!(-#size) } else { quote!(#size) })
}
