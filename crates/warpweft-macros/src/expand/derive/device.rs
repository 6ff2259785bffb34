//! `#[derive(Device)]`: one source of layout for Rust and C++.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Data, DeriveInput};

use super::{implementation, members, or_stub};
use crate::diag::{reject, reject_at};
use crate::emit::{clean, member_name};

const INTEGERS: [&str; 10] =
    ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];

/// `#[derive(Device)]`.
pub fn device(input: DeriveInput) -> TokenStream {
    let derived = match &input.data {
        Data::Struct(data) => struct_type(&input, data),
        Data::Enum(data) => enum_type(&input, data),
        Data::Union(data) => Err(reject_at(
            data.union_token.span,
            "device code has no unions",
            "use a struct, and `to_bits` and `from_bits`",
        )),
    };
    or_stub(derived, || {
        let comparable = matches!(input.data, Data::Enum(_)).then(|| comparable(&input));
        let device = without_meaning(&input);
        quote!(#device #comparable)
    })
}

/// `DeviceType` of a type that was refused.
pub fn without_meaning(input: &DeriveInput) -> TokenStream {
    let body = quote! {
        fn cuda(_: &mut ::warpweft::element::Unit) -> ::std::string::String {
            loop {}
        }
        fn cuda_value(&self, _: &mut ::warpweft::element::Unit) -> ::std::string::String {
            loop {}
        }
    };
    implementation(input, &quote!(::warpweft::element::DeviceType), &body)
}

fn comparable(input: &DeriveInput) -> TokenStream {
    implementation(input, &quote!(::warpweft::element::Comparable), &quote!())
}

/// `DeviceType` of a struct: its members in the order in which Rust has laid them out.
pub fn struct_type(input: &DeriveInput, data: &syn::DataStruct) -> syn::Result<TokenStream> {
    let members = members(data);
    if members.is_empty() {
        return Err(reject(
            &input.ident,
            "a struct without members has no layout in C++",
            "give it a member, or pass nothing",
        ));
    }
    let clean = clean(&input.ident.to_string());
    let rust: Vec<_> = members.iter().map(|m| &m.rust).collect();
    let cuda: Vec<_> = members.iter().map(|m| &m.cuda).collect();
    let tys: Vec<_> = members.iter().map(|m| m.ty).collect();
    let body = quote! {
        const ALIKE: bool = true #(&& <#tys as ::warpweft::element::DeviceType>::ALIKE)*;
        fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            ::warpweft::element::define_struct::<Self>(__unit, #clean, &[
                #((#cuda, ::core::mem::offset_of!(Self, #rust), <#tys as ::warpweft::element::DeviceType>::cuda)),*
            ])
        }
        fn cuda_value(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            ::warpweft::element::struct_value::<Self>(__unit, &[
                #((::core::mem::offset_of!(Self, #rust), &self.#rust)),*
            ])
        }
    };
    Ok(implementation(input, &quote!(::warpweft::element::DeviceType), &body))
}

/// The integer of `#[repr(..)]`, if there is one.
fn integer(input: &DeriveInput) -> Option<String> {
    let mut found = vec![];
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // Another form than a list of names is rustc's to refuse.
        let _ = attribute.parse_nested_meta(|meta| {
            found.extend(meta.path.get_ident().map(Ident::to_string));
            Ok(())
        });
    }
    found.into_iter().find(|repr| INTEGERS.contains(&repr.as_str()))
}

fn enum_type(input: &DeriveInput, data: &syn::DataEnum) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let repr = integer(input).ok_or_else(|| {
        reject(
            name,
            format_args!("`{name}` has no fixed layout"),
            "put `#[repr(u8)]`, or another integer type, on it",
        )
    })?;
    if let Some(variant) = data.variants.iter().find(|variant| !variant.fields.is_empty()) {
        return Err(reject(
            variant,
            "device code has no enums with data",
            "put the data next to the enum, in a struct with `#[derive(Device)]`",
        ));
    }
    if data.variants.is_empty() {
        return Err(reject(name, "an enum without variants has no values", "give it one"));
    }
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let cuda: Vec<_> = variants.iter().map(|v| member_name(&v.to_string())).collect();
    let clean = clean(&name.to_string());
    let body = quote! {
        fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            __unit.define(&::warpweft::element::key::<Self>(), #clean, |_, __name| {
                ::warpweft::element::enum_text(
                    __name,
                    #repr,
                    &[#((#cuda, Self::#variants as i128)),*],
                )
            })
        }
        fn cuda_value(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            let __variant = match self {
                #(Self::#variants => #cuda,)*
            };
            ::std::format!("{}::{__variant}", <Self as ::warpweft::element::DeviceType>::cuda(__unit))
        }
    };
    let device = implementation(input, &quote!(::warpweft::element::DeviceType), &body);
    let comparable = comparable(input);
    Ok(quote!(#device #comparable))
}
