//! `#[boundary]`: a function of position and time, as `warpweft::stencil::BoundaryFunction`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::Visit;
use syn::{ItemFn, Signature, Type};

use super::translation::{Translation, declared, parameters_text};
use crate::check::attributes;
use crate::diag::reject;
use crate::parse::parameters::{Named, element};
use crate::parse::signature::{no_lifetimes, parameters, returned};

/// The signature taken apart.
struct Shape {
    at: Named,
    dimensions: TokenStream,
    step: Named,
    /// The parameters given at construction.
    rest: Vec<Named>,
    state: Type,
}

fn shape(function: &ItemFn) -> syn::Result<Shape> {
    let signature = &function.sig;
    let first = || {
        reject(
            &signature.inputs,
            "a boundary function takes a position and a number of steps",
            "begin with `at: [i64; 2], step: u64`, as many indices as the volume has axes",
        )
    };
    let mut all = parameters(signature)?.into_iter();
    let (Some(at), Some(step)) = (all.next(), all.next()) else { return Err(first()) };
    let is = |ty: &Type, name: &str| matches!(ty, Type::Path(path) if path.path.is_ident(name));
    let dimensions = match (&at.ty, at.reference) {
        (Type::Array(array), None) if is(&array.elem, "i64") => {
            let length = &array.len;
            quote!(#length)
        }
        _ => return Err(first()),
    };
    if step.reference.is_some() || !is(&step.ty, "u64") {
        return Err(first());
    }
    let named = |parameter| {
        let why = "a parameter of a boundary function is the same for every cell";
        Named::by_value(parameter, "boundary", [why, "take the value"])
    };
    let why = "a boundary function returns what a cell holds";
    let state = returned(signature, [why, "return the state, as in `-> f32`"])?;
    let (at, step) = (named(at)?, named(step)?);
    let rest = all.map(named).collect::<syn::Result<_>>()?;
    Ok(Shape { at, dimensions, step, rest, state })
}

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = shape(&function)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let pair = [&shape.at, &shape.step];
    let translation = Translation::of_pair(&function, pair, &shape.rest, &shape.state)?;
    let element = element(&function, signature, &shape.rest, "cell", quote!());
    let implementation = implementation(signature, &shape, &translation);
    Ok(quote!(#element #implementation))
}

/// The boundary's trait.
fn implementation(signature: &Signature, shape: &Shape, translation: &Translation) -> TokenStream {
    let Shape { at, dimensions, step, rest, state } = shape;
    let name = &signature.ident;
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let shadowed = declared([at, step].into_iter().chain(rest));
    let cuda = translation.cuda(quote!(&self,), name, &shadowed, &quote!(-> #state));
    let parameters_text = parameters_text(rest);
    let idents: Vec<_> = rest.iter().map(|named| &named.ident).collect();
    quote! {
        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout,
        // and the parameters are the bytes of it.
        unsafe impl #generics ::warpweft::stencil::BoundaryFunction<#state, { #dimensions }>
            for #name #arguments #clause
        {
            fn name(&self) -> &'static str {
                #name_text
            }
            fn value(&self, __at: [i64; { #dimensions }], __step: u64) -> #state {
                Self::cell(__at, __step, #(self.#idents),*)
            }
            #cuda
            #parameters_text
            fn parameters(&self) -> *const ::core::ffi::c_void {
                (&raw const *self).cast()
            }
            fn parameters_size(&self) -> usize {
                ::core::mem::size_of::<Self>()
            }
        }
    }
}
