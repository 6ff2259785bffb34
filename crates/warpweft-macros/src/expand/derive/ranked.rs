//! `#[derive(Ranked)]`: which member of a wavefront's cell is compared.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields};

use super::{implementation, or_stub};
use crate::diag::reject;
use crate::emit::member_name;

/// `#[derive(Ranked)]`.
pub fn ranked(input: DeriveInput) -> TokenStream {
    or_stub(derived(&input), || {
        let body = quote! {
            type Score = i32;
            const MEMBER: &'static str = "";
            fn score(&self) -> i32 {
                0
            }
        };
        let ranked = implementation(&input, &quote!(::warpweft::wavefront::Ranked), &body);
        quote! {
            // SAFETY: no program has it: it stands beside an error.
            unsafe #ranked
        }
    })
}

fn derived(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => &fields.named,
            _ => return Err(refused(input)),
        },
        _ => return Err(refused(input)),
    };
    let mut marked =
        fields.iter().filter(|field| field.attrs.iter().any(|a| a.path().is_ident("score")));
    let score = match (marked.next(), marked.next()) {
        (Some(_), Some(second)) => {
            return Err(reject(second, "a cell has one score", "mark one member with `#[score]`"));
        }
        (Some(score), None) => score,
        (None, _) => &fields[0],
    };
    let (name, member, ty) = (&input.ident, &score.ident, &score.ty);
    let text = member.as_ref().map(|member| format!(".{}", member_name(&member.to_string())));
    let (generics, arguments, clause) = input.generics.split_for_impl();
    Ok(quote! {
        // SAFETY: `MEMBER` is what `#[derive(Device)]` calls the member that `score` reads.
        unsafe impl #generics ::warpweft::wavefront::Ranked for #name #arguments #clause {
            type Score = #ty;
            const MEMBER: &'static str = #text;
            #[inline(always)]
            fn score(&self) -> #ty {
                self.#member
            }
        }
    })
}

fn refused(input: &DeriveInput) -> syn::Error {
    reject(
        &input.ident,
        "only a struct with named members has a score",
        "write `struct Cell { #[score] h: i32, .. }`; a scalar is its own score",
    )
}
