//! `#[derive(Packed)]`: a struct as its members' bytes, one after another.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput};

use super::{implementation, or_stub};
use crate::diag::reject;

/// `#[derive(Packed)]`.
pub fn packed(input: DeriveInput) -> TokenStream {
    or_stub(derived(&input), || {
        let body = quote! {
            fn form() -> ::std::string::String {
                loop {}
            }
            fn pack(&self, _: &mut ::std::vec::Vec<u8>) {}
            fn unpack(_: &mut &[u8]) -> ::std::option::Option<Self> {
                ::std::option::Option::None
            }
        };
        implementation(&input, &quote!(::warpweft::element::Packed), &body)
    })
}

/// The implementation for a struct; members of generic types are packed where their types are.
fn derived(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(reject(
            &input.ident,
            "only structs are packed member by member",
            "pack an enum as a number, or implement `Packed` by hand",
        ));
    };
    let name = &input.ident;
    let (members, types): (Vec<_>, Vec<_>) =
        data.fields.members().zip(data.fields.iter().map(|field| &field.ty)).unzip();
    let names = members.iter().map(|member| match member {
        syn::Member::Named(name) => name.to_string(),
        syn::Member::Unnamed(index) => index.index.to_string(),
    });
    let mut generics = input.generics.clone();
    for parameter in input.generics.type_params() {
        let name = &parameter.ident;
        generics
            .make_where_clause()
            .predicates
            .push(syn::parse_quote!(#name: ::warpweft::element::Packed));
    }
    let (generics, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        impl #generics ::warpweft::element::Packed for #name #arguments #clause {
            fn form() -> ::std::string::String {
                ::warpweft::element::struct_form::<Self>(|| {
                    ::std::vec![#((#names, <#types as ::warpweft::element::Packed>::form())),*]
                })
            }
            #[inline]
            fn pack(&self, to: &mut ::std::vec::Vec<u8>) {
                #(::warpweft::element::Packed::pack(&self.#members, to);)*
                let _ = to;
            }
            #[inline]
            fn unpack(from: &mut &[u8]) -> ::std::option::Option<Self> {
                let _ = &from;
                ::std::option::Option::Some(Self {
                    #(#members: ::warpweft::element::Packed::unpack(from)?,)*
                })
            }
        }
    })
}
