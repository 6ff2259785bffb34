//! What an element function may be told about its cell besides the neighbourhood: where it is, and in which step.

/// The cell that an element function computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<const D: usize> {
    /// Its index in the whole volume, slowest axis first.
    pub at: [usize; D],
    /// Steps done before the present one.
    pub step: u64,
}

impl<const D: usize> Place<D> {
    /// The first cell in the first step: what functions are given that ask for neither.
    pub const FIRST: Self = Self { at: [0; D], step: 0 };
}

/// What of a [`Place`] an element function asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knows {
    /// The index: a parameter marked `#[at]`.
    pub at: bool,
    /// The step: a parameter marked `#[step]`.
    pub step: bool,
}

impl Knows {
    /// Neither.
    pub const NOTHING: Self = Self { at: false, step: false };

    /// Whether it asks for any of them.
    pub const fn anything(self) -> bool {
        self.at || self.step
    }
}
