//! What is proved of element functions from the text that devices get. Not: what follows from it.

pub(crate) mod graph;
pub(crate) mod guard;
mod packed;
pub(crate) mod syntax;
