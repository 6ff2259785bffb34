//! The same body over cells of 16 bits: distances from a base, in types that allow nothing else.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, ExprIndex, Local, Pat, Path, Stmt, Type};

use super::paired::Paired;
use super::shape::{Role, Shape};
use crate::diag::reject;
use crate::parse::parameters::Named;

/// The vectors of such a form, in the order of its cells.
const VECTORS: [[i128; 2]; 3] = [[-1, -1], [-1, 0], [0, -1]];

/// That there is such a form.
pub struct Relative {
    step: Path,
    /// Which of [`VECTORS`] the function's cells are.
    order: Vec<usize>,
}

impl Relative {
    /// The form of a function with `vectors`, `step` of which is given.
    pub fn of(step: Path, shape: &Shape, vectors: &[[i128; 2]]) -> syn::Result<Self> {
        let known = |vector| VECTORS.iter().position(|known| known == vector);
        let order: Option<Vec<_>> = vectors.iter().map(known).collect();
        let cell = &shape.cell;
        if let Some(named) = shape.rest.iter().find(|named| named.items.is_some()) {
            return Err(reject(
                &step,
                format_args!(
                    "cells of 16 bits, which `step` is for, of a function that reads the slice `{}`",
                    named.ident
                ),
                "leave `step` out",
            ));
        }
        match order {
            Some(order) if shape.old.is_none() && (is_i32(cell) || !is_number(cell)) => {
                Ok(Self { step, order })
            }
            _ => Err(reject(
                &step,
                "cells of 16 bits, which `step` is for, are those of `i32`, or of structs of it, that read `h.n`, `h.w` and `h.nw`",
                "leave `step` out",
            )),
        }
    }

    /// The function's second copy, and what of `WavefrontElement` calls it.
    pub fn items(
        &self,
        shape: &Shape,
        [earlier, old]: [&Ident; 2],
        old_count: usize,
        body: &TokenStream,
    ) -> [TokenStream; 2] {
        let Self { step, order } = self;
        let cell = &shape.cell;
        let inputs = ["__a", "__b", "__x"].map(|name| Ident::new(name, Span::mixed_site()));
        let (declared, passed) = parameters(shape, &inputs);
        let count = order.len();
        let relative = match is_i32(cell) {
            true => quote!(::warpweft::wavefront::Relative),
            false => quote!(<#cell as ::warpweft::wavefront::Ranked>::Near),
        };
        let body = with_near(cell, body);
        let copy = quote_spanned! {step.span()=>
            #[doc(hidden)]
            #[inline(always)]
            #[allow(unused, clippy::all)]
            fn __relative(
                #earlier: [#relative; #count],
                #old: [#relative; #old_count],
                #(#declared),*
            ) -> #relative #body
        };
        let [a, b, x] = &inputs;
        let [row, column, input] = [0, 1, 2].map(|which| shape.input(which));
        let method = quote! {
            const RELATIVE: bool = true;

            fn step(&self, __border: #cell) -> ::core::option::Option<u32> {
                #step(self, __border)
            }

            #[inline(always)]
            fn relative(
                &self,
                #earlier: [#relative; 3],
                #a: #row,
                #b: #column,
                #x: #input,
            ) -> #relative {
                Self::__relative([#(#earlier[#order]),*], [], #(#passed),*)
            }
        };
        [copy, method]
    }

    /// The two parts of the function, and what of `WavefrontElement` calls them, if what inputs give is looked up in a table.
    /// `plain` are the parameters after the cells as declared, and as the trait's functions pass them on.
    pub fn parts(
        &self,
        shape: &Shape,
        earlier: &Ident,
        paired: &Paired,
        body: &TokenStream,
        plain: (TokenStream, TokenStream),
    ) -> Option<[TokenStream; 2]> {
        let Self { step, order } = self;
        let mut block: Block = syn::parse2(body.clone()).ok()?;
        let tail = usize::from(matches!(block.stmts.last(), Some(Stmt::Expr(_, None))));
        if block.stmts.len() != paired.count + tail {
            return None;
        }
        let pair = block.stmts.remove(paired.at);
        let Stmt::Local(Local { pat, .. }) = &pair else { return None };
        let name = match pat {
            Pat::Type(typed) => &typed.pat,
            pat => pat,
        };
        let Pat::Ident(name) = name else { return None };
        let mut looks_up = LooksUp(false);
        looks_up.visit_stmt(&pair);
        let cell = &shape.cell;
        if !looks_up.0 || shape.inputs[2].is_some() {
            return None;
        }
        let name = &name.ident;
        let inputs = ["__a", "__b", "__x"].map(|name| Ident::new(name, Span::mixed_site()));
        let (declared, passed) = parameters(shape, &inputs);
        let relative = match is_i32(cell) {
            true => quote!(::warpweft::wavefront::Relative),
            false => quote!(<#cell as ::warpweft::wavefront::Ranked>::Near),
        };
        let (declared_plain, passed_plain) = plain;
        let joined = with_near(cell, &quote!(#block));
        let count = order.len();
        let copies = quote_spanned! {step.span()=>
            #[doc(hidden)]
            #[inline(always)]
            #[allow(unused, clippy::all)]
            fn __pair(#declared_plain) -> i32 {
                #pair
                #name
            }
            #[doc(hidden)]
            #[inline(always)]
            #[allow(unused, clippy::all)]
            fn __joined(
                #earlier: [#relative; #count],
                #name: ::warpweft::wavefront::Difference,
                #(#declared),*
            ) -> #relative #joined
        };
        let [a, b, _] = &inputs;
        let [row, column] = [0, 1].map(|which| shape.input(which));
        let methods = quote! {
            const LOOKS_UP: bool = true;

            #[inline(always)]
            fn pair(&self, #a: #row, #b: #column) -> i32 {
                Self::__pair(#passed_plain)
            }

            #[inline(always)]
            fn joined(
                &self,
                #earlier: [#relative; 3],
                #name: ::warpweft::wavefront::Difference,
            ) -> #relative {
                let (#a, #b) = (<#row>::default(), <#column>::default());
                Self::__joined([#(#earlier[#order]),*], #name, #(#passed),*)
            }
        };
        Some([copies, methods])
    }
}

/// Whether there is an index.
struct LooksUp(bool);

impl Visit<'_> for LooksUp {
    fn visit_expr_index(&mut self, _: &ExprIndex) {
        self.0 = true;
    }
}

/// `body`, in which the name of a cell's struct means the one whose members are relative.
fn with_near(cell: &Type, body: &TokenStream) -> TokenStream {
    match cell {
        Type::Path(path) if !is_i32(cell) => {
            let name = path.path.segments.last().map(|last| &last.ident);
            quote! {{
                type __Cell = #cell;
                {
                    type #name = <__Cell as ::warpweft::wavefront::Ranked>::Near;
                    #body
                }
            }}
        }
        _ => body.clone(),
    }
}

fn is_i32(ty: &Type) -> bool {
    quote!(#ty).to_string() == "i32"
}

pub fn is_number(ty: &Type) -> bool {
    let name = quote!(#ty).to_string();
    let digits = name.trim_start_matches(['i', 'u', 'f']);
    name == "bool" || digits.len() + 1 == name.len() && digits.parse::<u8>().is_ok()
}

/// The parameters after the cells as the copy declares them, and as they are passed to it: numbers of the cells' type,
/// which is `i32`, are differences there.
fn parameters(shape: &Shape, inputs: &[Ident; 3]) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let parameter = |named: &Named, number: bool| {
        let Named { ident, mutable, ty, .. } = named;
        let mutable = mutable.then(|| quote!(mut));
        match number {
            true => quote!(#mutable #ident: ::warpweft::wavefront::Difference),
            false => quote!(#mutable #ident: #ty),
        }
    };
    let (mut declared, mut passed) = (vec![], vec![]);
    for role in &shape.order {
        match role {
            Role::Old => {}
            Role::Input(which) => {
                let Some(named) = &shape.inputs[*which] else { continue };
                declared.push(parameter(named, false));
                let name = &inputs[*which];
                passed.push(quote!(#name));
            }
            Role::Rest(at) => {
                let named = &shape.rest[*at];
                let (ident, number) = (&named.ident, is_i32(&named.ty));
                declared.push(parameter(named, number));
                passed.push(match number {
                    true => quote!(::warpweft::wavefront::Difference::parameter(self.#ident)),
                    false => quote!(self.#ident),
                });
            }
        }
    }
    (declared, passed)
}
