//! CUDA C++: the body of a function, written line by line.
//!
//! Arithmetic goes through the overloads of the device prelude (`ww::add`), which know the type
//! that the macro does not; locals are `auto`, so only what [`crate::ir::Hole`]s name is spelled.

use super::IF_FAULTS;
use crate::ir::Block;

/// Where a value goes.
#[derive(Clone, Debug)]
pub enum Sink {
    /// To this place.
    Assign(String),
    /// Out of the function.
    Return,
    /// Nowhere: the expression stands for its effect.
    Discard,
}

/// What `return` does.
#[derive(Clone, Debug)]
pub enum Returns {
    /// Returns the value.
    Value,
    /// Returns the empty tuple.
    Unit,
    /// Puts the value between these two, as a statement, and returns nothing.
    Store([String; 2]),
    /// Returns nothing.
    Nothing,
    /// Passes the value to what this begins the call of, and returns nothing.
    Give(&'static str),
}

/// Emits one function's body.
pub struct Cuda {
    pub(super) text: String,
    pub(super) depth: usize,
    counter: usize,
    pub(super) returns: Returns,
    /// The loops around, and where their values go.
    pub(super) loops: Vec<(usize, Sink)>,
    /// The loops and keywords that jumped by `goto`.
    pub(super) labels: Vec<(usize, String)>,
    /// Whether a loop is watched for faults.
    pub(super) watches: bool,
}

impl Cuda {
    /// The text of `body`, indented by `depth`.
    pub fn body(body: &Block, returns: Returns, depth: usize) -> String {
        let mut cuda = Self::new(returns, depth);
        cuda.block_into(body, &Sink::Return);
        if cuda.watches {
            let body = std::mem::take(&mut cuda.text);
            cuda.line(format!("{IF_FAULTS}ww::watch watch;"));
            cuda.text.push_str(&body);
        }
        cuda.text
    }

    /// Nothing yet, indented by `depth`.
    pub(super) fn new(returns: Returns, depth: usize) -> Self {
        let (text, loops, labels) = Default::default();
        Self { text, depth, counter: 0, returns, loops, labels, watches: false }
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    pub(super) fn temporary(&mut self) -> String {
        self.counter += 1;
        format!("t{}", self.counter)
    }
}
