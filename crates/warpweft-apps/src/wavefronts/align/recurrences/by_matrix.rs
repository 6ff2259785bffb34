//! The recurrence whose pairs a matrix scores, for every scope, and its choices.

use warpweft::wavefront::traceback::Traced;
use warpweft::wavefront::{Dependence, Earlier, wavefront};

use super::back::{Through, first_of, gapped, opened};
use super::gapped::Gapped;
use crate::align::{SYMBOLS, Scope, Scoring, Weights};

/// Gotoh's recurrence over letters by their numbers. No score is below `floor`: 0 for local alignments, so
/// low that it has no effect for others.
#[wavefront(bounds = scored_bounds, step = scored_step)]
pub fn scored(
    before: Earlier<Gapped>,
    #[row] a: u8,
    #[column] b: u8,
    scores: [[i8; SYMBOLS]; SYMBOLS],
    open: i32,
    extend: i32,
    floor: i32,
) -> Gapped {
    let pair = scores[(a & 31) as usize][(b & 31) as usize] as i32;
    let (e, f) = (before.w.e, before.n.f);
    let h = f.max((before.nw.h + pair).max(e).max(floor));
    let opened = h + open;
    Gapped { h, e: opened.max(e + extend), f: opened.max(f + extend) }
}

fn scored_bounds(of: &scored, rows: u64, columns: u64) -> [f64; 2] {
    let all = || of.scores.iter().flatten().copied();
    let [mismatch, matching] = [all().min(), all().max()].map(|score| score.unwrap_or(0).into());
    let weights = Weights { matching, mismatch, open: of.open, extend: of.extend };
    match of.floor {
        0 => weights.local_bounds(rows, columns),
        _ => weights.gapped_global_bounds(rows, columns),
    }
}

/// As that of `affine`: two neighbours' scores differ by the greatest pair and the first letter of a gap at most.
fn scored_step(of: &scored, border: Gapped) -> Option<u32> {
    let scored { open, extend, .. } = *of;
    let scores = of.scores.iter().flatten().map(|&score| i64::from(score));
    let (least, most) =
        scores.fold((0, 0), |(least, most), score| (score.min(least), score.max(most)));
    let known =
        border == Gapped { h: 0, e: open, f: open } && of.floor == 0 && open.max(extend) <= 0;
    u32::try_from(most - least.min(open.into()).min(extend.into())).ok().filter(|_| known)
}

impl scored {
    /// For `scope`; none unless a matrix scores.
    pub fn with(scoring: &Scoring, scope: Scope) -> Option<Self> {
        let Weights { open, extend, .. } = scoring.weights();
        let floor = if scope == Scope::Local { 0 } else { i32::MIN };
        scoring.matrix().map(|matrix| scored(*matrix.scores(), open, extend, floor))
    }
}

/// The choices of [`scored`].
#[wavefront(choice)]
pub fn scored_choice(
    before: Earlier<Gapped>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: Gapped,
    scores: [[i8; SYMBOLS]; SYMBOLS],
    open: i32,
    floor: i32,
) -> u8 {
    let pair = scores[(a & 31) as usize][(b & 31) as usize] as i32;
    let (e, f) = (before.w.e, before.n.f);
    let best = (cell.h != floor) as i32 * first_of(cell.h, before.nw.h + pair, e);
    (best + opened(e == before.w.h + open, f == before.n.h + open)) as u8
}

impl Traced for scored {
    type State = Through;
    type Choice = scored_choice;
    type Plain = Self;
    const BITS: u32 = 4;

    fn plain(&self) -> Self {
        *self
    }

    fn choice(&self) -> scored_choice {
        scored_choice(self.scores, self.open, self.floor)
    }

    fn back(choice: u8, through: Through) -> Option<(Dependence, Through)> {
        gapped(choice, through)
    }
}
