//! The derives: what is read off a struct or an enum, and what each derive makes of it.
//!
//! A derive that refuses its type leaves an implementation without meaning next to its error, so that the
//! uses of the type elsewhere add no errors of their own.

mod device;
mod fields;
mod packed;
mod ranked;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{DeriveInput, TypeParam};

pub use device::device;
pub use fields::{elements_constant, field_constant, fields};
pub use packed::packed;
pub use ranked::ranked;

use crate::emit::member_name;

/// A name and a type for each member; tuple structs have `_0`, `_1` in C++.
struct Member<'a> {
    rust: syn::Member,
    cuda: String,
    ty: &'a syn::Type,
}

fn members(data: &syn::DataStruct) -> Vec<Member<'_>> {
    let each = data.fields.members().zip(&data.fields);
    each.map(|(rust, field)| {
        let cuda = match &rust {
            syn::Member::Named(name) => member_name(&name.to_string()),
            syn::Member::Unnamed(index) => format!("_{}", index.index),
        };
        Member { rust, cuda, ty: &field.ty }
    })
    .collect()
}

/// `impl #path for` the type, with `body`.
fn implementation(input: &DeriveInput, path: &TokenStream, body: &TokenStream) -> TokenStream {
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let name = &input.ident;
    quote!(impl #generics #path for #name #arguments #clause { #body })
}

/// The derived code, or the error followed by `stub`.
fn or_stub(derived: syn::Result<TokenStream>, stub: impl FnOnce() -> TokenStream) -> TokenStream {
    derived.unwrap_or_else(|error| {
        let (error, stub) = (error.into_compile_error(), stub());
        quote!(#error #stub)
    })
}

/// The type parameters' names.
fn type_names(parameters: &[&TypeParam]) -> Vec<Ident> {
    parameters.iter().map(|parameter| parameter.ident.clone()).collect()
}
