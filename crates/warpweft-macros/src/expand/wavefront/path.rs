//! `path = max` or `path = min`: what tells from which cell a cell was computed, made of the function itself.
//!
//! The function is the greatest (or least) of terms with one earlier cell each. With all of these but one out of the way it gives the
//! terms of that one: where they make up the finished cell, it was computed from there.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ItemFn, Lit, Pat, Stmt, UnOp, parse_quote};

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

    /// What no cell is computed from, and what stays so with any weight added.
    fn away(self, cell: &syn::Type) -> Option<TokenStream> {
        Some(match (quote!(#cell).to_string().as_str(), self) {
            ("i32", Self::Max) => quote!((-1073741824i32)),
            ("i32", Self::Min) => quote!((1073741824i32)),
            ("i64", Self::Max) => quote!((-4611686018427387904i64)),
            ("i64", Self::Min) => quote!((4611686018427387904i64)),
            _ => return None,
        })
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
    let away = possible(function, shape, extreme)?;
    let near: Vec<_> = NEAR.into_iter().filter(|near| vectors.contains(near)).collect();
    if near.len() < vectors.len() {
        let what = "a path takes steps to the cells `nw`, `n` and `w` only";
        return Err(reject(&shape.signature.ident, what, BY_HAND));
    }
    Terms { cells: &shape.earlier, extreme, known: vec![] }.block(body)?;
    let name = format_ident!("{}_path", function.sig.ident);
    let choices =
        super::expand(quote!(choice), choices(function, shape, body, (&name, &near, &away)))?;
    let traced = traced(shape, &name, &near);
    Ok(quote!(#choices #traced))
}

const BY_HAND: &str = "implement `Traced` by hand";

/// What cells are replaced by, or why the function can't have paths made.
fn possible(function: &ItemFn, shape: &Shape, extreme: Extreme) -> syn::Result<TokenStream> {
    let by_hand = |tokens: TokenStream, what: &str| Err(reject(&tokens, what, BY_HAND));
    let name = shape.signature.ident.to_token_stream();
    let Some(away) = extreme.away(&shape.cell) else {
        let cell = shape.cell.to_token_stream();
        return by_hand(cell, "`path` is for cells that are `i32` or `i64`");
    };
    if shape.old.is_some() || shape.inputs[2].is_some() || shape.reads_slices() {
        let what = "`path` is for functions without old cells, inputs of cells and slices";
        return by_hand(name, what);
    }
    if !function.sig.generics.params.is_empty() {
        let generics = function.sig.generics.to_token_stream();
        return by_hand(generics, "`path` is for functions without generic parameters");
    }
    Ok(away)
}

/// The function of choices: which of `near` a cell comes from, or their number where it comes from none.
fn choices(
    function: &ItemFn,
    shape: &Shape,
    body: &Block,
    (name, near, away): (&Ident, &[[i128; 2]], &TokenStream),
) -> ItemFn {
    let only = |kept: Option<[i128; 2]>| {
        let mut body = body.clone();
        Away { cells: &shape.earlier, kept, away }.visit_block_mut(&mut body);
        body
    };
    let (none, begins) = (only(None), near.len() as u8);
    let last = begins - 1;
    let mut choice = quote!(#last);
    for (at, &vector) in near.iter().enumerate().rev().skip(1) {
        let (at, one) = (at as u8, only(Some(vector)));
        choice = quote!(if finished == #one { #at } else { #choice });
    }
    let inputs = function.sig.inputs.iter();
    let (visibility, cell) = (&function.vis, &shape.cell);
    parse_quote! {
        #[doc(hidden)]
        #visibility fn #name(#(#inputs,)* #[cell] finished: #cell) -> u8 {
            if finished == #none { #begins } else { #choice }
        }
    }
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

/// Puts all cells but one out of the way.
struct Away<'a> {
    cells: &'a Ident,
    kept: Option<[i128; 2]>,
    away: &'a TokenStream,
}

impl VisitMut for Away<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match read(expr, self.cells) {
            Some(vector) if vector.is_none() || vector != self.kept => {
                let away = self.away;
                *expr = parse_quote!(#away);
            }
            Some(_) => {}
            None => syn::visit_mut::visit_expr_mut(self, expr),
        }
    }
}

/// Whether expressions are terms with at most one earlier cell, and the greatest or the least of such.
struct Terms<'a> {
    cells: &'a Ident,
    extreme: Extreme,
    /// Variables that depend on earlier cells, innermost last; the others too, which may hide them.
    known: Vec<(Ident, bool)>,
}

impl Terms<'_> {
    /// Whether the value of `block` depends on earlier cells.
    fn block(&mut self, block: &Block) -> syn::Result<bool> {
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

/// All identifiers.
fn names(tokens: TokenStream) -> Vec<Ident> {
    let each = tokens.into_iter().flat_map(|token| match token {
        proc_macro2::TokenTree::Group(group) => names(group.stream()),
        proc_macro2::TokenTree::Ident(name) => vec![name],
        _ => vec![],
    });
    each.collect()
}
