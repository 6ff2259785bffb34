//! The arguments of `#[wavefront(..)]`.

use proc_macro2::{Ident, TokenStream};
use syn::{Path, Token};

use super::path::Extreme;
use crate::diag::reject;

/// What stands in the attribute.
#[derive(Default)]
pub struct Arguments {
    pub bounds: Option<Path>,
    pub step: Option<Path>,
    pub sums: bool,
    pub choice: bool,
    pub path: Option<Extreme>,
}

/// `bounds = path`, `step = path`, `sums` and `path = max` or `path = min`, each at most once; or `choice` alone.
pub fn arguments(tokens: TokenStream) -> syn::Result<Arguments> {
    let refused = reject(
        &tokens,
        "`#[wavefront]` takes no such arguments",
        "drop them, or write `bounds = path` with a function of the element, rows and columns, \
         `step = path` with one of the element and a border cell, `sums`, `path = max` or `path = min`, or `choice` alone",
    );
    let mut found = Arguments::default();
    let parse = |input: syn::parse::ParseStream| {
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if name == "bounds" && found.bounds.is_none() {
                input.parse::<Token![=]>()?;
                found.bounds = Some(input.parse()?);
            } else if name == "step" && found.step.is_none() {
                input.parse::<Token![=]>()?;
                found.step = Some(input.parse()?);
            } else if name == "sums" && !found.sums {
                found.sums = true;
            } else if name == "path" && found.path.is_none() {
                input.parse::<Token![=]>()?;
                let extreme: Ident = input.parse()?;
                found.path = Some(match extreme.to_string().as_str() {
                    "max" => Extreme::Max,
                    "min" => Extreme::Min,
                    _ => return Err(input.error("neither `max` nor `min`")),
                });
            } else if name == "choice" && !found.choice {
                found.choice = true;
            } else {
                return Err(input.error("no such argument"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        match found {
            Arguments { bounds: None, step: None, sums: false, choice: true, path: None }
            | Arguments { choice: false, .. } => Ok(()),
            _ => Err(input.error("`choice` stands alone")),
        }
    };
    syn::parse::Parser::parse2(parse, tokens).map_err(|_| refused)?;
    Ok(found)
}
