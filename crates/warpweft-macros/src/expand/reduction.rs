//! `#[reduction]`: a function of two cells that makes one of them, as `warpweft::stencil::CellReduction`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::Visit;
use syn::{ItemFn, Signature, Type};

use super::translation::{Translation, declared};
use crate::check::attributes;
use crate::diag::reject;
use crate::parse::parameters::{Named, element};
use crate::parse::signature::{no_lifetimes, parameters, returned};

/// The signature taken apart.
struct Shape {
    pair: [Named; 2],
    /// The parameters given at construction.
    rest: Vec<Named>,
    state: Type,
}

fn shape(signature: &Signature) -> syn::Result<Shape> {
    let why = [
        "a reduction makes one cell of two",
        "write `fn larger(a: f64, b: f64) -> f64`: two cells by value, and the same type returned",
    ];
    let state = returned(signature, why)?;
    let named = |parameter| {
        let why = "a reduction takes cells and parameters by value";
        Named::by_value(parameter, "reduction", [why, "take the value"])
    };
    let mut all = parameters(signature)?.into_iter().map(named);
    let (Some(first), Some(second)) = (all.next(), all.next()) else {
        return Err(reject(&signature.inputs, why[0], why[1]));
    };
    let pair = [first?, second?];
    let text = quote!(#state).to_string();
    for Named { ty, .. } in &pair {
        if quote!(#ty).to_string() != text {
            return Err(reject(ty, why[0], why[1]));
        }
    }
    Ok(Shape { pair, rest: all.collect::<syn::Result<_>>()?, state })
}

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = shape(signature)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let [first, second] = &shape.pair;
    let pair = [first, second];
    let translation = Translation::of_pair(&function, pair, &shape.rest, &shape.state)?;
    let element = element(&function, signature, &shape.rest, "cell", quote!());
    let implementation = implementation(signature, &shape, &translation);
    Ok(quote!(#element #implementation))
}

/// The reduction's trait.
fn implementation(signature: &Signature, shape: &Shape, translation: &Translation) -> TokenStream {
    let Shape { pair, rest, state } = shape;
    let name = &signature.ident;
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let shadowed = declared(pair.iter().chain(rest));
    let cuda = translation.cuda(quote!(), name, &shadowed, &quote!(-> #state));
    let idents: Vec<_> = rest.iter().map(|named| &named.ident).collect();
    quote! {
        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        unsafe impl #generics ::warpweft::stencil::CellReduction<#state> for #name #arguments #clause {
            const NAME: &'static str = #name_text;
            fn combine(&self, __first: #state, __second: #state) -> #state {
                Self::cell(__first, __second, #(self.#idents),*)
            }
            #cuda
        }
    }
}
