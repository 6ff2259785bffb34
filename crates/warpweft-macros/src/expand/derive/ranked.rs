//! `#[derive(Ranked)]`: which member of a wavefront's cell is compared.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Field, Fields, Token};

use super::{implementation, or_stub};
use crate::diag::reject;
use crate::emit::member_name;

/// The most members that are held apart, as `MOST_PARTS` of the pattern.
const MOST_PARTS: usize = 4;

/// `#[derive(Ranked)]`.
pub fn ranked(input: DeriveInput) -> TokenStream {
    or_stub(derived(&input), || {
        let body = quote! {
            type Score = i32;
            const MEMBER: &'static str = "";
            type Near = ::warpweft::wavefront::Relative;
            fn score(&self) -> i32 {
                0
            }
        };
        let ranked = implementation(&input, &quote!(::warpweft::wavefront::Ranked), &body);
        let whole = whole(&input);
        quote! {
            // SAFETY: no program has it: it stands next to an error.
            unsafe #ranked
            #whole
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
    let at = fields.iter().position(|field| field == score).unwrap_or_default();
    let members = fields.iter().filter_map(|field| field.ident.as_ref());
    let members: Vec<_> = members.map(|name| member_name(&name.to_string())).collect();
    let (parts, near, at, members) = match apart(input, fields) {
        Some(parts) => (parts, quote!(__Near), at, members),
        None => (whole(input), quote!(::warpweft::wavefront::Relative), 0, vec![]),
    };
    Ok(quote! {
        const _: () = {
            #parts
            // SAFETY: `MEMBER` is what `#[derive(Device)]` calls the member that `score` reads.
            unsafe impl #generics ::warpweft::wavefront::Ranked for #name #arguments #clause {
                type Score = #ty;
                const MEMBER: &'static str = #text;
                const SCORE: usize = #at;
                type Near = #near;
                const NEAR_MEMBERS: &'static [&'static str] = &[#(#members),*];
                #[inline(always)]
                fn score(&self) -> #ty {
                    self.#member
                }
            }
        };
    })
}

/// The cell as a single part.
fn whole(input: &DeriveInput) -> TokenStream {
    let body = quote! {
        type Part = Self;
        const PARTS: usize = 1;
        #[inline(always)]
        fn part(&self, _: usize) -> Self {
            *self
        }
        #[inline(always)]
        fn of(mut part: impl FnMut(usize) -> Self) -> Self {
            part(0)
        }
    };
    implementation(input, &quote!(::warpweft::wavefront::Parts), &body)
}

/// The cell as its members, if these are a few of one type, and the struct `__Near` with the same members.
fn apart(input: &DeriveInput, fields: &Punctuated<Field, Token![,]>) -> Option<TokenStream> {
    let ty = &fields[0].ty;
    let alike = fields.iter().all(|field| field.ty == *ty);
    if !alike || fields.len() > MOST_PARTS || !input.generics.params.is_empty() {
        return None;
    }
    let names: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let body = |ty: TokenStream| {
        let (count, at) = (names.len(), 0..names.len());
        let (numbers, last) = (0..names.len() - 1, &names[names.len() - 1]);
        let others = &names[..names.len() - 1];
        quote! {
            type Part = #ty;
            const PARTS: usize = #count;
            #[inline(always)]
            fn part(&self, which: usize) -> #ty {
                match which {
                    #(#numbers => self.#others,)*
                    _ => self.#last,
                }
            }
            #[inline(always)]
            fn of(mut part: impl FnMut(usize) -> #ty) -> Self {
                Self { #(#names: part(#at)),* }
            }
        }
    };
    let relative = quote!(::warpweft::wavefront::Relative);
    let (cell, near) = (body(quote!(#ty)), body(relative.clone()));
    let parts = implementation(input, &quote!(::warpweft::wavefront::Parts), &cell);
    Some(quote! {
        #parts

        #[derive(Clone, Copy)]
        #[allow(unreachable_pub, missing_docs, missing_debug_implementations, non_camel_case_types)]
        pub struct __Near {
            #(pub #names: #relative),*
        }
        impl ::warpweft::wavefront::Parts for __Near { #near }
    })
}

fn refused(input: &DeriveInput) -> syn::Error {
    reject(
        &input.ident,
        "only a struct with named members has a score",
        "write `struct Cell { #[score] h: i32, .. }`; a scalar is its own score",
    )
}
