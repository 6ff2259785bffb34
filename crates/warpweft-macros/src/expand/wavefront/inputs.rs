//! The cells before, in a body: reads, which are the dependence vectors.

use std::collections::HashMap;

use proc_macro2::Ident;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr as E, Macro, PatIdent, parse_quote_spanned};

use super::shape::Shape;
use crate::check::{Inputs, Lower, Lowered};
use crate::diag::{collect, reject};
use crate::ir::{Expr, Input};
use crate::parse::reads::{in_macro, is_name, untagged};

/// The names of vectors, of earlier cells and of old ones.
const EARLIER: [(&str, [i32; 2]); 4] =
    [("nw", [-1, -1]), ("n", [-1, 0]), ("ne", [-1, 1]), ("w", [0, -1])];
const OLD: [(&str, [i32; 2]); 5] =
    [("c", [0, 0]), ("e", [0, 1]), ("sw", [1, -1]), ("s", [1, 0]), ("se", [1, 1])];

/// The most vectors of either kind: the library fills arrays of up to as many cells.
const MOST: usize = 16;
/// The farthest that one may reach.
const FARTHEST: i128 = 4096;

/// `body` with `h.n` written as `h[[-1, 0]]`, and so on.
pub fn spelled_out(body: &Block, shape: &Shape) -> syn::Result<Block> {
    let mut body = body.clone();
    let mut names = Names { shape, errors: None };
    names.visit_block_mut(&mut body);
    names.errors.map_or(Ok(body), Err)
}

struct Names<'a> {
    shape: &'a Shape,
    errors: Option<syn::Error>,
}

impl VisitMut for Names<'_> {
    fn visit_expr_mut(&mut self, expr: &mut E) {
        syn::visit_mut::visit_expr_mut(self, expr);
        let E::Field(field) = &*expr else { return };
        let (cells, names, kind) = if is_name(&field.base, &self.shape.earlier) {
            (&self.shape.earlier, &EARLIER[..], "earlier")
        } else {
            match &self.shape.old {
                Some(old) if is_name(&field.base, old) => (old, &OLD[..], "old"),
                _ => return,
            }
        };
        let member = match &field.member {
            syn::Member::Named(name) => name.to_string(),
            syn::Member::Unnamed(index) => index.index.to_string(),
        };
        match names.iter().find(|(name, _)| *name == member) {
            Some((_, vector)) => {
                let span = expr.span();
                let [di, dj] = vector.map(|d| {
                    let size = proc_macro2::Literal::i32_unsuffixed(d.abs());
                    let sign = (d < 0).then(|| quote_spanned!(span=> -));
                    quote_spanned!(span=> #sign #size)
                });
                *expr = parse_quote_spanned!(span=> #cells[[#di, #dj]]);
            }
            None => {
                let known: Vec<_> = names.iter().map(|(n, _)| format!("`{cells}.{n}`")).collect();
                let error = reject(
                    &field.member,
                    format_args!("`{cells}.{member}` is none of the {kind} cells"),
                    format_args!("write {} or `{cells}[[rows, columns]]`", known.join(", ")),
                );
                collect(&mut self.errors, error);
            }
        }
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        if pat.ident == self.shape.earlier || self.shape.old.as_ref() == Some(&pat.ident) {
            let error = reject(
                &pat.ident,
                format_args!("`{}` hides the cells of that name", pat.ident),
                "choose another name",
            );
            collect(&mut self.errors, error);
        }
        syn::visit_mut::visit_pat_ident_mut(self, pat);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        in_macro(call, self, false);
    }
}

/// The cells before, as the body uses them.
pub struct WavefrontInputs<'a> {
    shape: &'a Shape,
    /// The vectors of earlier and of old cells, in order of appearance.
    pub vectors: [Vec<[i128; 2]>; 2],
    /// Of each numbered read, which kind, and which of its vectors.
    pub reads: HashMap<usize, (usize, usize)>,
}

impl<'a> WavefrontInputs<'a> {
    pub fn new(shape: &'a Shape) -> Self {
        Self { shape, vectors: [vec![], vec![]], reads: HashMap::new() }
    }

    /// Which kind of cells `expr` stands for.
    fn kind(&self, expr: &E) -> Option<usize> {
        if is_name(expr, &self.shape.earlier) {
            return Some(0);
        }
        self.shape.old.as_ref().filter(|old| is_name(expr, old)).map(|_| 1)
    }
}

impl Inputs for WavefrontInputs<'_> {
    fn input(&mut self, expr: &E, lower: &mut Lower) -> syn::Result<Option<Lowered>> {
        let E::Index(index) = expr else { return Ok(None) };
        let Some(kind) = self.kind(&index.expr) else { return Ok(None) };
        let of = &index.expr;
        let E::Array(offsets) = &*index.index else {
            return Err(reject(
                &index.index,
                "a cell is named by a constant vector to it",
                "write an array of two constants, as in `h[[-1, 2]]`",
            ));
        };
        let (plain, number) = untagged(offsets);
        let mut vector = vec![];
        for expr in &plain.elems {
            vector.push(lower.known_offset(expr).ok_or_else(|| not_constant(expr))?);
        }
        let &[di, dj] = &vector[..] else {
            return Err(reject(
                &plain,
                format_args!("a vector of {} numbers", vector.len()),
                "write two: rows down, then columns to the right; a table of three dimensions is computed plane by plane \
                 (docs/guide/wavefront.md)",
            ));
        };
        legal(expr, kind, di, dj)?;
        let vectors = &mut self.vectors[kind];
        let position = vectors.iter().position(|known| *known == [di, dj]);
        let at = position.unwrap_or(vectors.len());
        if position.is_none() {
            vectors.push([di, dj]);
        }
        if at >= MOST {
            return Err(reject(
                expr,
                format_args!("a function that reads more than {MOST} cells"),
                "read fewer cells",
            ));
        }
        if let Some(number) = number {
            self.reads.insert(number, (kind, at));
        }
        let input = match kind {
            0 => Input::Earlier { vector },
            _ => Input::Old { vector },
        };
        let rust = quote_spanned!(expr.span()=> #of[#plain]);
        Ok(Some(Lowered::new(rust, Expr::Input(input))))
    }

    fn bare(&self, name: &Ident) -> Option<syn::Error> {
        let ours = *name == self.shape.earlier || self.shape.old.as_ref() == Some(name);
        ours.then(|| {
            reject(
                name,
                "the cells before are not one value of device code",
                format_args!("read them here, as in `{name}[[..]]`, and pass the values on"),
            )
        })
    }
}

/// Whether some order of cells computes what is read in time.
fn legal(expr: &E, kind: usize, di: i128, dj: i128) -> syn::Result<()> {
    if di.abs() > FARTHEST || dj.abs() > FARTHEST {
        return Err(reject(
            expr,
            format_args!("vector [{di}, {dj}] reaches too far"),
            format_args!("stay within {FARTHEST} rows and columns"),
        ));
    }
    let earlier = di < 0 || di == 0 && dj < 0;
    match (kind, earlier) {
        (0, false) => Err(reject(
            expr,
            format_args!("dependence [{di}, {dj}] reads a cell that is not computed earlier"),
            "read rows above (a negative first number) or the same row to the west; what a later \
             cell held before this sweep is read through a second parameter, `old: Old<..>`",
        )),
        (1, true) => Err(reject(
            expr,
            format_args!("old value [{di}, {dj}] of a cell that is computed earlier"),
            "read its new value, or the old one of the cell itself or of a later one",
        )),
        _ => Ok(()),
    }
}

fn not_constant(expr: &E) -> syn::Error {
    reject(
        expr,
        "the vector to a cell must be constant",
        "write a literal, a `const` of this function, or the variable of a `for` whose bounds are \
         literals and whose body has no `break` or `continue`",
    )
}
