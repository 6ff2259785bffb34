//! What is proved of element functions from the text that devices get. Not: what follows from it.

mod packed;
pub(crate) mod syntax;
