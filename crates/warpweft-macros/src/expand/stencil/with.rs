//! `advance::with(alpha)`: the element whose parameters a session may compute.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Signature;

use crate::emit::member_name;
use crate::parse::parameters::Named;

/// The function that makes it, where there is a parameter that can be a number.
pub fn with(signature: &Signature, parameters: &[Named]) -> TokenStream {
    if parameters.iter().all(|named| named.items.is_some()) {
        return quote!();
    }
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let name = &signature.ident;
    let given = parameters.iter().map(|named| match (&named.items, &named.ident, &named.ty) {
        (Some(_), ..) => named.given(),
        (None, ident, ty) => quote!(#ident: impl ::warpweft::stencil::Parameter<#ty>),
    });
    let made = parameters.iter().map(|named| match named.items {
        Some(_) => named.made(),
        None => taken(&named.ident),
    });
    let types = signature.generics.type_params().next();
    let phantom = types.map(|_| quote!(__types: ::core::marker::PhantomData,));
    quote! {
        #[allow(dead_code, clippy::too_many_arguments)]
        impl #generics #name #arguments #clause {
            /// The element with parameters that may be numbers of a session, `warpweft::stencil::SessionScalar`.
            pub fn with(#(#given),*) -> ::warpweft::stencil::With<Self> {
                let mut __taken = ::std::vec::Vec::new();
                let __element = Self { #(#made,)* #phantom };
                ::warpweft::stencil::With::new(__element, __taken)
            }
        }
    }
}

/// The member of a parameter that may be a number.
fn taken(ident: &Ident) -> TokenStream {
    let member = member_name(&ident.to_string());
    quote! {
        #ident: ::warpweft::stencil::Parameter::take(
            #ident,
            #member,
            |__element: &mut Self, __value| __element.#ident = __value,
            &mut __taken,
        )
    }
}
