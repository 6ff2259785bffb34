//! What the recurrences chose: from a cell to the one it was made from.
//!
//! Of equal choices the order is: a pair of letters, a letter of the target against nothing, a letter
//! of the query against nothing; and a gap is opened rather than extended, so that it is short.

use warpweft::element::device;
use warpweft::wavefront::traceback::{Stored, Traced};
use warpweft::wavefront::{Dependence, Earlier, wavefront};

use super::elements::{Dna, global_letters, letters};
use super::gapped::{Gapped, affine, global_affine};

/// What a score was made from, in two bits.
const BEGINS: u8 = 0;
pub(in crate::wavefronts::align) const PAIR: u8 = 1;
pub(in crate::wavefronts::align) const ACROSS: u8 = 2;
pub(in crate::wavefronts::align) const DOWN: u8 = 3;
/// In further bits, whether the gap along the row, along the column, is opened here.
pub(in crate::wavefronts::align) const OPENED_ACROSS: u8 = 4;
pub(in crate::wavefronts::align) const OPENED_DOWN: u8 = 8;

/// Of a score that goes on: what it is equal to first. By sums: branches kept loops over lanes from being vectors.
#[device]
pub(super) fn first_of(cell: i32, pair: i32, across: i32) -> i32 {
    let unpaired = cell != pair;
    1 + unpaired as i32 + (unpaired & (cell != across)) as i32
}

/// Which of the gaps that end in a cell are opened there.
#[device]
pub(super) fn opened(across: bool, down: bool) -> i32 {
    4 * across as i32 + 8 * down as i32
}

/// The choice of [`letters`].
#[wavefront(choice)]
pub fn letters_choice(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: i32,
    matching: i32,
    mismatch: i32,
    right: i32,
) -> u8 {
    let pair = if a == b { matching } else { mismatch };
    ((cell != 0) as i32 * first_of(cell, h.nw + pair, h.w + right)) as u8
}

/// The choice of [`global_letters`].
#[wavefront(choice)]
pub fn global_choice(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: i32,
    matching: i32,
    mismatch: i32,
    right: i32,
) -> u8 {
    let pair = if a == b { matching } else { mismatch };
    first_of(cell, h.nw + pair, h.w + right) as u8
}

/// From a cell of a linear recurrence.
fn linear(choice: u8) -> Option<(Dependence, ())> {
    match choice {
        BEGINS => None,
        PAIR => Some(([-1, -1], ())),
        ACROSS => Some(([0, -1], ())),
        _ => Some(([-1, 0], ())),
    }
}

impl Traced for letters {
    type State = ();
    type Choice = letters_choice;
    type Plain = Self;
    const BITS: u32 = 2;

    fn plain(&self) -> Self {
        *self
    }

    fn choice(&self) -> letters_choice {
        letters_choice(self.matching, self.mismatch, self.right)
    }

    fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
        linear(choice)
    }
}

impl Traced for Dna {
    type State = ();
    type Choice = letters_choice;
    type Plain = letters;
    const BITS: u32 = 2;

    fn plain(&self) -> letters {
        *self.letters()
    }

    fn choice(&self) -> letters_choice {
        self.letters().choice()
    }

    fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
        linear(choice)
    }
}

impl Traced for global_letters {
    type State = ();
    type Choice = global_choice;
    type Plain = Self;
    const BITS: u32 = 2;

    fn plain(&self) -> Self {
        *self
    }

    fn choice(&self) -> global_choice {
        global_choice(self.matching, self.mismatch, self.right)
    }

    fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
        linear(choice)
    }
}

/// Which of a cell's three scores the path goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Through {
    /// The best.
    #[default]
    Best,
    /// That with a letter of the target against nothing.
    Across,
    /// That with a letter of the query against nothing.
    Down,
}

/// The choices of [`affine`].
#[wavefront(choice)]
pub fn affine_choice(
    before: Earlier<Gapped>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: Gapped,
    matching: i32,
    mismatch: i32,
    open: i32,
) -> u8 {
    let pair = if a == b { matching } else { mismatch };
    let (e, f) = (before.w.e, before.n.f);
    let best = (cell.h != 0) as i32 * first_of(cell.h, before.nw.h + pair, e);
    (best + opened(e == before.w.h + open, f == before.n.h + open)) as u8
}

/// The choices of [`global_affine`].
#[wavefront(choice)]
pub fn global_affine_choice(
    before: Earlier<Gapped>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: Gapped,
    matching: i32,
    mismatch: i32,
    open: i32,
) -> u8 {
    let pair = if a == b { matching } else { mismatch };
    let (e, f) = (before.w.e, before.n.f);
    let best = first_of(cell.h, before.nw.h + pair, e);
    (best + opened(e == before.w.h + open, f == before.n.h + open)) as u8
}

/// From a cell of an affine recurrence, of which the path goes through one score.
pub(in crate::wavefronts::align) fn gapped(
    choice: u8,
    through: Through,
) -> Option<(Dependence, Through)> {
    let opened = |bit: u8, further| if choice & bit != 0 { Through::Best } else { further };
    Some(match (through, choice & 3) {
        (Through::Best, BEGINS) => return None,
        (Through::Best, PAIR) => ([-1, -1], Through::Best),
        (Through::Best, ACROSS) | (Through::Across, _) => {
            ([0, -1], opened(OPENED_ACROSS, Through::Across))
        }
        _ => ([-1, 0], opened(OPENED_DOWN, Through::Down)),
    })
}

impl Traced for affine {
    type State = Through;
    type Choice = affine_choice;
    type Plain = Self;
    const BITS: u32 = 4;

    fn plain(&self) -> Self {
        *self
    }

    fn choice(&self) -> affine_choice {
        affine_choice(self.matching, self.mismatch, self.open)
    }

    fn back(choice: u8, through: Through) -> Option<(Dependence, Through)> {
        gapped(choice, through)
    }
}

impl Traced for global_affine {
    type State = Through;
    type Choice = global_affine_choice;
    type Plain = Self;
    const BITS: u32 = 4;

    fn plain(&self) -> Self {
        *self
    }

    fn choice(&self) -> global_affine_choice {
        global_affine_choice(self.matching, self.mismatch, self.open)
    }

    fn back(choice: u8, through: Through) -> Option<(Dependence, Through)> {
        gapped(choice, through)
    }
}

impl Stored for Gapped {
    const BYTES: usize = 12;

    fn store(self, to: &mut Vec<u8>) {
        [self.h, self.e, self.f].into_iter().for_each(|score| score.store(to));
    }

    fn load(from: &[u8]) -> Self {
        let [h, e, f] = [0, 4, 8].map(|at| i32::load(&from[at..at + 4]));
        Self { h, e, f }
    }
}
