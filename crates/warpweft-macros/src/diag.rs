//! Errors: what is not part of the subset, on the span, with what to write instead.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;

/// An error on the whole of `tokens`.
pub fn reject(tokens: &impl ToTokens, what: impl Display, instead: impl Display) -> syn::Error {
    syn::Error::new_spanned(tokens, format!("{what}\n\nhelp: {instead}"))
}

/// An error on `span`.
pub fn reject_at(span: Span, what: impl Display, instead: impl Display) -> syn::Error {
    syn::Error::new(span, format!("{what}\n\nhelp: {instead}"))
}

/// Adds `new` to the errors collected so far.
pub fn collect(errors: &mut Option<syn::Error>, new: syn::Error) {
    match errors {
        Some(known) => known.combine(new),
        None => *errors = Some(new),
    }
}
