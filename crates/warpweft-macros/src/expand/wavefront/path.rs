//! `path = max` or `path = min`: what tells from which cell a cell was computed, made of the function itself.
//!
//! The function is the greatest (or least) of terms with one earlier cell each. A finished cell was computed from those
//! cells whose terms equal it.

mod equal;
mod terms;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit::Visit;
use syn::{Block, Expr, ItemFn, Lit, UnOp, parse_quote};

use self::equal::{Given, equal};
use self::terms::Terms;
use super::shape::Shape;
use crate::diag::reject;
use crate::parse::reads::is_name;

/// The vectors that a path takes; of several that a cell may come from the first.
const NEAR: [[i128; 2]; 3] = [[-1, -1], [0, -1], [-1, 0]];

/// `max` or `min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Max,
    Min,
}

impl Extreme {
    fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// The function of choices of `function`, whose `body` has every read spelled out, and the implementation of `Traced`.
pub fn path(
    function: &ItemFn,
    shape: &Shape,
    body: &Block,
    vectors: &[[i128; 2]],
    extreme: Extreme,
) -> syn::Result<TokenStream> {
    possible(function, shape)?;
    let near: Vec<_> = NEAR.into_iter().filter(|near| vectors.contains(near)).collect();
    if near.len() < vectors.len() {
        let what = "a path takes steps to the cells `nw`, `n` and `w` only";
        return Err(reject(&shape.signature.ident, what, BY_HAND));
    }
    Leaving::refused(body)?;
    Terms { cells: &shape.earlier, extreme, known: vec![] }.block(body)?;
    let name = format_ident!("{}_path", function.sig.ident);
    let choices = super::expand(quote!(choice), choices(function, shape, body, (&name, &near))?)?;
    let traced = traced(shape, &name, &near);
    Ok(quote!(#choices #traced))
}

const BY_HAND: &str = "implement `Traced` by hand";

/// Why the function can't have paths made, if so.
fn possible(function: &ItemFn, shape: &Shape) -> syn::Result<()> {
    let by_hand = |tokens: TokenStream, what: &str| Err(reject(&tokens, what, BY_HAND));
    let name = shape.signature.ident.to_token_stream();
    let cell = shape.cell.to_token_stream();
    if !["i32", "i64"].contains(&cell.to_string().as_str()) {
        return by_hand(cell, "`path` is for cells that are `i32` or `i64`");
    }
    if shape.old.is_some() || shape.inputs[2].is_some() || shape.reads_slices() {
        let what = "`path` is for functions without old cells, inputs of cells and slices";
        return by_hand(name, what);
    }
    if !function.sig.generics.params.is_empty() {
        let generics = function.sig.generics.to_token_stream();
        return by_hand(generics, "`path` is for functions without generic parameters");
    }
    Ok(())
}

/// Where a function ends early.
#[derive(Default)]
struct Leaving(Option<TokenStream>);

impl Leaving {
    /// Refuses a body that has such.
    fn refused(body: &Block) -> syn::Result<()> {
        let mut found = Self::default();
        found.visit_block(body);
        let what = "`path` is for functions whose value is that of their last expression";
        found.0.map_or(Ok(()), |tokens| Err(reject(&tokens, what, "choose it by `if` or `match`")))
    }
}

impl<'a> Visit<'a> for Leaving {
    fn visit_expr(&mut self, expr: &'a Expr) {
        let leaves = match expr {
            Expr::Return(_) | Expr::Try(_) => true,
            Expr::Break(inner) => inner.expr.is_some(),
            _ => false,
        };
        if leaves {
            self.0.get_or_insert_with(|| expr.to_token_stream());
        }
        syn::visit::visit_expr(self, expr);
    }
}

/// The function of choices: the first of `near` that a cell comes from, or their number where it comes from none.
fn choices(
    function: &ItemFn,
    shape: &Shape,
    body: &Block,
    (name, near): (&Ident, &[[i128; 2]]),
) -> syn::Result<ItemFn> {
    let (begins, cells) = (near.len() as u8, (&shape.earlier, &shape.cell));
    let given = Given::within(function, body);
    let last = begins - 1;
    let mut choice = quote!(#last);
    for (at, &vector) in near.iter().enumerate().rev().skip(1) {
        let at = at as u8;
        let comes = equal(body, cells, &given, Some(vector))?;
        choice = quote!(if #comes { #at } else { #choice });
    }
    let free = equal(body, cells, &given, None)?;
    let inputs = function.sig.inputs.iter();
    let (visibility, cell) = (&function.vis, &shape.cell);
    Ok(parse_quote! {
        #[doc(hidden)]
        #[allow(unused, clippy::all)]
        #visibility fn #name(#(#inputs,)* #[cell] finished: #cell) -> u8 {
            if #free { #begins } else { #choice }
        }
    })
}

/// The implementation of `Traced` by the function `chosen` of choices.
fn traced(shape: &Shape, chosen: &Ident, near: &[[i128; 2]]) -> TokenStream {
    let name = &shape.signature.ident;
    let passed = shape.rest.iter().map(|named| &named.ident);
    let moves = near.iter().map(|vector| {
        let vector = vector.map(proc_macro2::Literal::i128_unsuffixed);
        quote!([#(#vector),*])
    });
    quote! {
        impl ::warpweft::wavefront::traceback::Traced for #name {
            type State = ();
            type Choice = #chosen;
            type Plain = Self;
            const BITS: u32 = 2;
            fn plain(&self) -> Self {
                *self
            }
            fn choice(&self) -> #chosen {
                #chosen(#(self.#passed),*)
            }
            fn back(
                choice: u8,
                (): (),
            ) -> ::core::option::Option<(::warpweft::wavefront::Dependence, ())> {
                let moves: &[::warpweft::wavefront::Dependence] = &[#(#moves),*];
                ::core::option::Option::Some((*moves.get(choice as usize)?, ()))
            }
        }
    }
}

/// The vector of a read of `cells`, if it is one whose vector is written as numbers.
fn read(expr: &Expr, cells: &Ident) -> Option<Option<[i128; 2]>> {
    let Expr::Index(index) = expr else { return None };
    if !is_name(&index.expr, cells) {
        return None;
    }
    let Expr::Array(vector) = &*index.index else { return Some(None) };
    let mut numbers = vector.elems.iter().map(number);
    Some(match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Some(i)), Some(Some(j)), None) => Some([i, j]),
        _ => None,
    })
}

fn number(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse().ok(),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => Some(-number(&unary.expr)?),
        Expr::Group(group) => number(&group.expr),
        Expr::Paren(paren) => number(&paren.expr),
        _ => None,
    }
}

/// All identifiers.
fn names(tokens: TokenStream) -> Vec<Ident> {
    let each = tokens.into_iter().flat_map(|token| match token {
        proc_macro2::TokenTree::Group(group) => names(group.stream()),
        proc_macro2::TokenTree::Ident(name) => vec![name],
        _ => vec![],
    });
    each.collect()
}
