//! The words of a kernel among an attribute's arguments: `memory = scatter, arithmetic = low`, and CUDA C++ of its own.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, MetaNameValue, Token, parenthesized};

use crate::diag::{reject, reject_at};

/// The places, each with its type and its words.
const PLACES: [(&str, &str, &[&str]); 4] = [
    ("memory", "Memory", &["scatter", "medium", "coalesced", "default"]),
    ("arithmetic", "Arithmetic", &["high", "low", "none", "default"]),
    ("eviction", "Level", &["high", "medium", "low", "default"]),
    ("reuse", "Level", &["high", "medium", "low", "default"]),
];

/// An argument: `memory = scatter`, or `unsafe(cuda = "..")`.
struct Argument {
    pair: MetaNameValue,
    is_unsafe: bool,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(Token![unsafe]) {
            return Ok(Self { pair: input.parse()?, is_unsafe: false });
        }
        input.parse::<Token![unsafe]>()?;
        let inside;
        parenthesized!(inside in input);
        Ok(Self { pair: inside.parse()?, is_unsafe: true })
    }
}

/// The constant that the arguments of `#[attribute(..)]` say.
pub fn characterisation(arguments: TokenStream, attribute: &str) -> syn::Result<TokenStream> {
    let (words, text) = with_text(arguments, attribute)?;
    text.map_or(Ok(words), |text| {
        Err(reject(
            &text,
            format_args!("`#[{attribute}]` takes no CUDA C++"),
            "write it for a function with `#[kernel]`, or in `Task::on_gpu`",
        ))
    })
}

/// The same, and the CUDA C++ that the body is on a device, if it is given.
pub fn with_text(
    arguments: TokenStream,
    attribute: &str,
) -> syn::Result<(TokenStream, Option<Expr>)> {
    let span = arguments.span();
    let said = Punctuated::<Argument, Token![,]>::parse_terminated.parse2(arguments);
    let said = said.map_err(|_| {
        reject_at(
            span,
            format_args!(
                "`#[{attribute}]` takes words that characterise the kernel, and nothing else"
            ),
            "write `memory = scatter, arithmetic = low, eviction = high, reuse = low`, any of them",
        )
    })?;
    let mut words: [Option<Ident>; 4] = [const { None }; 4];
    let mut text = None;
    for Argument { pair, is_unsafe } in said {
        if pair.path.is_ident("cuda") {
            if !is_unsafe {
                return Err(reject(
                    &pair.path,
                    "nothing checks that CUDA C++ code stays inside its buffers",
                    "promise it: `unsafe(cuda = \"..\")`",
                ));
            }
            text = Some(pair.value);
            continue;
        }
        let name = pair.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let Some(place) = PLACES.iter().position(|(known, ..)| *known == name) else {
            let hint = "the words are those of `memory`, `arithmetic`, `eviction` and `reuse`";
            return Err(reject(&pair.path, format_args!("a kernel has no `{name}`"), hint));
        };
        let (_, _, known) = PLACES[place];
        let word = match &pair.value {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let Some(word) = word.filter(|word| known.contains(&word.as_str())) else {
            let what = format!("this is not a value of `{name}`");
            return Err(reject(&pair.value, what, format!("write one of: {}", known.join(", "))));
        };
        if words[place].is_some() {
            return Err(reject(&pair.path, format_args!("`{name}` is said twice"), "say it once"));
        }
        let capital = word[..1].to_uppercase() + &word[1..];
        words[place] = Some(format_ident!("{capital}"));
    }
    let words = words.into_iter().zip(PLACES).map(|(word, (_, ty, _))| {
        let (ty, word) = (format_ident!("{ty}"), word.unwrap_or(format_ident!("Default")));
        quote!(::warpweft::farm::#ty::#word)
    });
    Ok((quote!(::warpweft::farm::Characterisation::new(#(#words),*)), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_there_are_not_are_refused_with_those_that_there_are() {
        for (arguments, expect) in [
            (quote!(memory = scattered), "write one of: scatter, medium, coalesced, default"),
            (quote!(speed = high), "a kernel has no `speed`"),
            (quote!(reuse = low, reuse = low), "`reuse` is said twice"),
            (quote!(arithmetic), "takes words that characterise the kernel"),
            (quote!(cuda = "x;"), "promise it: `unsafe(cuda = \"..\")`"),
        ] {
            let error = with_text(arguments, "kernel").unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
        let error = characterisation(quote!(unsafe(cuda = "x;")), "task").unwrap_err().to_string();
        assert!(error.contains("`#[task]` takes no CUDA C++"), "{error}");
        let (words, text) =
            with_text(quote!(memory = scatter, unsafe(cuda = "x;")), "kernel").unwrap();
        assert!(words.to_string().contains("Scatter") && text.is_some());
    }
}
