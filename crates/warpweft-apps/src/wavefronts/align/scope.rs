//! Which alignments compete: of parts, of both sequences whole, or with ends that cost nothing.

use warpweft::wavefront::Keep;

/// Which alignments compete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of any part of the query with any part of the target.
    Local,
    /// Of both, whole.
    Global,
    /// Of both, whole but for the ends that are free.
    Free(Ends),
}

/// Which ends of the sequences may be left out at no cost: letters there stand against nothing and score
/// nothing. An alignment ends at a letter of each sequence, as in parasail: leaving one out altogether is not considered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Letters of the query before and after the alignment.
    pub query: [bool; 2],
    /// Letters of the target before and after it.
    pub target: [bool; 2],
}

impl Scope {
    /// The query whole, within the target.
    pub const SEMI_GLOBAL: Self = Self::Free(Ends { query: [false; 2], target: [true; 2] });
    /// Either may reach over either end of the other.
    pub const OVERLAP: Self = Self::Free(Ends { query: [true; 2], target: [true; 2] });

    /// Which ends are free; of a local alignment none, as its places are found otherwise.
    pub(super) fn ends(self) -> Ends {
        match self {
            Self::Local | Self::Global => Ends::default(),
            Self::Free(ends) => ends,
        }
    }

    /// What tells the score and the end, run by run.
    pub(super) fn keeps(self) -> &'static [Keep] {
        match (self, self.ends()) {
            (Self::Local, _) => &[Keep::Best],
            (_, Ends { query: [_, true], target: [_, true] }) => &[Keep::LastRow, Keep::LastColumn],
            (_, Ends { query: [_, true], .. }) => &[Keep::LastColumn],
            _ => &[Keep::LastRow],
        }
    }
}
