//! How much the macros write: the programs of the README, in tokens.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, DeriveInput, Item, ItemFn};

use crate::expand;

/// The most tokens that a function of the README may leave for each that was written.
const MOST_EACH: usize = 25;
/// The same of a spawning function, which is there four times: for the cores as plain calls and as spawns, for GPUs as
/// routines that wait and as a sum.
const MOST_SPAWNING: usize = 35;

/// Tokens, groups as their two ends and what is in them.
fn count(tokens: TokenStream) -> usize {
    let each = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => 2 + count(group.stream()),
        _ => 1,
    });
    each.sum()
}

/// The Rust programs of the README.
fn programs() -> Vec<syn::File> {
    let readme = include_str!("../../../README.md");
    let blocks = readme.split("```rust\n").skip(1);
    let texts = blocks.filter_map(|block| block.split("```").next());
    texts.map(|text| syn::parse_file(text).expect("the README's programs are Rust")).collect()
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// What an attribute leaves of `function`, if it has one of ours.
fn expanded(function: &ItemFn) -> Option<TokenStream> {
    let mut plain = function.clone();
    plain.attrs.retain(|attribute| attribute.path().is_ident("doc"));
    let is = |name| has(&function.attrs, name);
    let result = if is("stencil") {
        expand::stencil::expand(plain)
    } else if is("wavefront") {
        expand::wavefront::expand(TokenStream::new(), plain)
    } else if is("task") {
        expand::task::expand(TokenStream::new(), plain)
    } else if is("spawning") {
        expand::spawning::expand(plain)
    } else if is("device") {
        expand::device::expand(plain)
    } else {
        return None;
    };
    Some(result.expect("the README's programs compile"))
}

#[test]
fn the_programs_of_the_readme_stay_small() {
    let mut functions = 0;
    for item in programs().into_iter().flat_map(|program| program.items) {
        match &item {
            Item::Fn(function) => {
                let Some(tokens) = expanded(function) else { continue };
                let (written, left) = (count(function.to_token_stream()), count(tokens));
                println!("{}: {written} tokens become {left}", function.sig.ident);
                let spawning = has(&function.attrs, "spawning");
                let most = if spawning { MOST_SPAWNING } else { MOST_EACH };
                assert!(left <= most * written, "{}", function.sig.ident);
                functions += 1;
            }
            Item::Struct(cell) if has(&cell.attrs, "derive") => {
                let input: DeriveInput = syn::parse2(cell.to_token_stream()).expect("a struct");
                let left = count(expand::derive::fields(input));
                println!("{}: Fields leaves {left} tokens", cell.ident);
            }
            _ => {}
        }
    }
    assert!(functions >= 3, "the README has a program for each pattern");
}
