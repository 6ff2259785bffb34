//! What the recurrences chose: from a cell to the one it was made from.
//!
//! Of equal choices the order is: a pair of letters, a letter of the target against nothing, a letter
//! of the query against nothing; and a gap is opened rather than extended, so that it is short.

use warpweft::wavefront::traceback::{Stored, Traced};
use warpweft::wavefront::{Dependence, Earlier};

use super::gapped::{Gapped, affine, global_affine};
use super::{Dna, global_letters, letters};

const PAIR: Dependence = [-1, -1];
const ACROSS: Dependence = [0, -1];
const DOWN: Dependence = [-1, 0];

fn linear(h: &Earlier<'_, i32>, cell: i32, pair: i32, right: i32) -> Option<(Dependence, ())> {
    let vector = match cell {
        _ if cell == h.nw + pair => PAIR,
        _ if cell == h.w + right => ACROSS,
        _ => DOWN,
    };
    Some((vector, ()))
}

impl Traced for letters {
    type State = ();

    fn back(
        &self,
        (): (),
        h: Earlier<'_, i32>,
        cell: i32,
        a: u8,
        b: u8,
    ) -> Option<(Dependence, ())> {
        let pair = if a == b { self.matching } else { self.mismatch };
        if cell == 0 { None } else { linear(&h, cell, pair, self.right) }
    }
}

impl Traced for Dna {
    type State = ();

    fn back(
        &self,
        (): (),
        h: Earlier<'_, i32>,
        cell: i32,
        a: u8,
        b: u8,
    ) -> Option<(Dependence, ())> {
        self.plain().back((), h, cell, a, b)
    }
}

impl Traced for global_letters {
    type State = ();

    fn back(
        &self,
        (): (),
        h: Earlier<'_, i32>,
        cell: i32,
        a: u8,
        b: u8,
    ) -> Option<(Dependence, ())> {
        let pair = if a == b { self.matching } else { self.mismatch };
        linear(&h, cell, pair, self.right)
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

fn gapped(
    through: Through,
    before: &Earlier<'_, Gapped>,
    cell: Gapped,
    pair: i32,
    open: i32,
) -> (Dependence, Through) {
    let opened = |h: i32, of: i32, further| if of == h + open { Through::Best } else { further };
    match through {
        Through::Best if cell.h == before.nw.h + pair => (PAIR, Through::Best),
        Through::Across => (ACROSS, opened(before.w.h, cell.e, Through::Across)),
        Through::Best if cell.h == cell.e => (ACROSS, opened(before.w.h, cell.e, Through::Across)),
        _ => (DOWN, opened(before.n.h, cell.f, Through::Down)),
    }
}

impl Traced for affine {
    type State = Through;

    fn back(
        &self,
        through: Through,
        before: Earlier<'_, Gapped>,
        cell: Gapped,
        a: u8,
        b: u8,
    ) -> Option<(Dependence, Through)> {
        let pair = if a == b { self.matching } else { self.mismatch };
        let begins = through == Through::Best && cell.h == 0;
        (!begins).then(|| gapped(through, &before, cell, pair, self.open))
    }
}

impl Traced for global_affine {
    type State = Through;

    fn back(
        &self,
        through: Through,
        before: Earlier<'_, Gapped>,
        cell: Gapped,
        a: u8,
        b: u8,
    ) -> Option<(Dependence, Through)> {
        let pair = if a == b { self.matching } else { self.mismatch };
        Some(gapped(through, &before, cell, pair, self.open))
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
