//! From the IR to text in an output language. One language so far.

mod choice;
mod coroutine;
mod cuda;
mod flow;
mod liveness;
mod spill;
mod value;

use proc_macro2::TokenStream;
use quote::quote;

pub use coroutine::{Coroutine, Held, Routine, States, Target, Typed, Values, spawns};
pub use cuda::{Cuda, Returns};
pub use liveness::has_word;
pub use value::how_number;

/// An identifier with nothing in it that C++ would mind.
pub fn clean(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let mut text = String::new();
    for c in name.chars() {
        match c.is_ascii_alphanumeric() || c == '_' {
            true => text.push(c),
            false => text.push_str(&format!("u{:x}", c as u32)),
        }
    }
    text
}

/// How a data member is called: no keyword or macro ends in an underscore.
pub fn member_name(name: &str) -> String {
    format!("{}_", clean(name))
}

const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// Begins what is left of a line only in units in which something can fault; the same character is
/// `warpweft::element::unit`'s.
pub const IF_FAULTS: char = '\u{3}';

/// The mark of a hole in emitted text.
pub fn mark(hole: usize) -> String {
    format!("{OPEN}{hole}{CLOSE}")
}

/// As [`weave`], of those holes alone that `text` marks: others may name what isn't there yet.
pub fn weave_used(text: &str, holes: &[TokenStream]) -> TokenStream {
    let used = |hole: usize| text.contains(&mark(hole));
    let used: Vec<_> = (0..holes.len()).filter(|&hole| used(hole)).collect();
    let mut text = text.to_string();
    // Numbers only fall: no mark becomes one that is still to be replaced.
    for (new, old) in used.iter().enumerate() {
        text = text.replace(&mark(*old), &mark(new));
    }
    let holes: Vec<_> = used.into_iter().map(|hole| holes[hole].clone()).collect();
    weave(&text, &holes)
}

/// A Rust expression of type `String`: `text` with its marks replaced by the values of `holes`.
pub fn weave(text: &str, holes: &[TokenStream]) -> TokenStream {
    let mut pieces = vec![];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((number, after)) = after.split_once(CLOSE) else { break };
        let number: usize = number.parse().unwrap_or(usize::MAX);
        pieces.push(quote!((#before, #number)));
        rest = after;
    }
    let count = holes.len();
    quote! {{
        let mut __holes = ::warpweft::element::Holes::room(#count);
        #(__holes.put(#holes);)*
        __holes.weave(&[#(#pieces),*], #rest)
    }}
}
