//! One tile-row in flight: its cells, anti-diagonal by anti-diagonal.
//!
//! Lane `l` owns row `l` of the tile-row and is `l` columns behind lane 0, so that all lanes of one
//! front are independent and lie side by side in memory: the loop over lanes vectorises. The skew
//! runs on from tile to tile (hyper-tiles, PeerWave section 3.3): only the first and last fronts of
//! a tile-row are short.

use crate::wavefront::rank::{Best, Ranked, lowest};
use crate::wavefront::{Earlier, WavefrontElement};

/// The state of a tile-row between two fronts.
pub(super) struct Strip<'a, E: WavefrontElement> {
    element: E,
    rows: &'a [E::Row],
    /// The inputs of all columns, last column first: a front reads ascending addresses.
    reversed: &'a [E::Column],
    /// The fronts before last, last and next. Entry `l + 1` is lane `l`; entry 0 is the row above.
    fronts: [Vec<E::Cell>; 3],
    /// Front to be computed next, from 0; lane 0 is then at that column.
    front: usize,
    /// Per lane the greatest score so far and the first front that had it.
    greatest: Vec<<E::Cell as Ranked>::Score>,
    reached: Vec<u32>,
}

/// Cells that leave a tile-row: lane, column, cell.
pub(super) trait Sink<C> {
    /// Called once a front with the lanes computed, the first of them, and its column.
    fn front(&mut self, first_lane: usize, first_column: usize, cells: &[C]);
}

impl<'a, E: WavefrontElement> Strip<'a, E> {
    /// A tile-row whose cells in column −1 are `left`; `corner` is the one above the first.
    pub fn new(
        element: E,
        rows: &'a [E::Row],
        reversed: &'a [E::Column],
        corner: E::Cell,
        left: impl Iterator<Item = E::Cell>,
    ) -> Self {
        // Lanes that have not started hold their cell of column −1 in every front.
        let front: Vec<_> = std::iter::once(corner).chain(left).collect();
        let fronts = [front.clone(), front.clone(), front];
        let (greatest, reached) = (vec![lowest(); rows.len()], vec![u32::MAX; rows.len()]);
        Self { element, rows, reversed, fronts, front: 0, greatest, reached }
    }

    /// Computes one front a cell of `top` (the row above, from the present front's column on), and
    /// past the last column `more` fronts. The bottom row's cells go to `bottom`, the others' to
    /// `sink`.
    #[inline(always)]
    pub fn advance<const BEST: bool>(
        &mut self,
        top: &[E::Cell],
        more: usize,
        bottom: &mut Vec<E::Cell>,
        sink: &mut impl Sink<E::Cell>,
    ) {
        let (lanes, columns) = (self.rows.len(), self.reversed.len());
        for step in 0..top.len() + more {
            let front = self.front;
            self.front += 1;
            let [before, last, next] = &mut self.fronts;
            if let Some(cell) = top.get(step) {
                last[0] = *cell;
            }
            let low = (front + 1).saturating_sub(columns);
            let high = (front + 1).min(lanes);
            let lane = low..high;
            let count = high - low;
            let first = columns - 1 + low - front;
            let nw = &before[lane.clone()];
            let (n, w) = (&last[lane.clone()], &last[low + 1..high + 1]);
            let (a, b) = (&self.rows[lane.clone()], &self.reversed[first..first + count]);
            let out = &mut next[low + 1..high + 1];
            let (greatest, reached) =
                (&mut self.greatest[lane.clone()], &mut self.reached[lane.clone()]);
            for l in 0..count {
                let cell = self.element.cell(Earlier { nw: nw[l], n: n[l], w: w[l] }, a[l], b[l]);
                out[l] = cell;
                if BEST {
                    let score = cell.score();
                    #[expect(clippy::eq_op, reason = "only a NaN differs from itself")]
                    let better = (score > greatest[l]) | (greatest[l] != greatest[l]);
                    greatest[l] = if better { score } else { greatest[l] };
                    reached[l] = if better { front as u32 } else { reached[l] };
                }
            }
            sink.front(low, front - low, out);
            if high == lanes && front + 1 >= lanes {
                bottom.push(next[lanes]);
            }
            self.fronts.rotate_left(1);
        }
    }

    /// The best cell, its row counted from the tile-row's first.
    pub fn best(&self) -> Option<Best<<E::Cell as Ranked>::Score>> {
        let mut best = None;
        for (row, (&score, &reached)) in self.greatest.iter().zip(&self.reached).enumerate() {
            #[expect(clippy::eq_op, reason = "only a NaN differs from itself")]
            if score == score {
                // An integer row that never rose above the lowest value has it from column 0 on.
                let column = if reached == u32::MAX { 0 } else { reached as usize - row };
                best = Best::of(best, Some(Best { score, row, column }));
            }
        }
        best
    }
}
