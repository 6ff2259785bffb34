//! One tile-row in flight: its cells, anti-diagonal by anti-diagonal.
//!
//! Lane `l` owns row `l` of the tile-row and is `l` columns behind lane 0, so that all lanes of one
//! front are independent and lie side by side in memory: the loop over lanes vectorises. The skew
//! runs on from tile to tile (hyper-tiles, PeerWave section 3.3): only the first and last fronts of
//! a tile-row are short.

use crate::wavefront::rank::{Best, Extreme, Ranked, is_nan};
use crate::wavefront::{Band, Cells, Wavefront, WavefrontElement};

/// What a strip tracks beside the cells, as constants of the loop.
pub(super) trait Track {
    /// Whether scores are compared, and which win.
    const EXTREME: Option<Extreme>;
    /// Whether it matters where the winner is.
    const PLACE: bool;
}

/// Cells only.
pub(super) struct Nothing;
/// The greatest score and its place.
pub(super) struct Greatest;
/// The least score and its place.
pub(super) struct Least;
/// The greatest score.
pub(super) struct Score;

impl Track for Nothing {
    const EXTREME: Option<Extreme> = None;
    const PLACE: bool = false;
}
impl Track for Greatest {
    const EXTREME: Option<Extreme> = Some(Extreme::Greatest);
    const PLACE: bool = true;
}
impl Track for Least {
    const EXTREME: Option<Extreme> = Some(Extreme::Least);
    const PLACE: bool = true;
}
impl Track for Score {
    const EXTREME: Option<Extreme> = Some(Extreme::Greatest);
    const PLACE: bool = false;
}

/// The state of a tile-row between two fronts.
pub(super) struct Strip<'a, E: WavefrontElement> {
    element: E,
    /// The first row of the tile-row.
    first_row: usize,
    rows: &'a [E::Row],
    /// The inputs of all columns, last column first: a front reads ascending addresses.
    reversed: &'a [E::Column],
    /// The inputs of all the tile-row's cells, and those of one front in order.
    inputs: &'a [E::Input],
    given: Vec<E::Input>,
    band: Option<Band<E::Cell>>,
    /// The fronts before last, last and next. Entry `l + 1` is lane `l`; entry 0 is the row above.
    fronts: [Vec<E::Cell>; 3],
    /// Front to be computed next, from 0; lane 0 is then at that column.
    front: usize,
    /// Per lane the winning score so far and the first front that had it.
    winning: Vec<<E::Cell as Ranked>::Score>,
    reached: Vec<u32>,
    /// Per lane whether it had a cell in the band.
    first_front: Vec<u32>,
}

/// Cells that leave a tile-row: lane, column, cell.
pub(super) trait Sink<C> {
    /// Called once a front with the lanes computed, the first of them, and its column.
    fn front(&mut self, first_lane: usize, first_column: usize, cells: &[C]);
}

/// Before the first front.
const NEVER: u32 = u32::MAX;

impl<'a, E: WavefrontElement> Strip<'a, E> {
    /// The tile-row of `rows`; `reversed` are the inputs of the columns, last first.
    pub fn new<T: Track>(
        wavefront: &'a Wavefront<'_, E>,
        rows: std::ops::Range<usize>,
        reversed: &'a [E::Column],
    ) -> Self {
        // Lanes that have not started hold their cell of column −1 in every front.
        let lanes = rows.start as isize - 1..rows.end as isize;
        let front: Vec<_> = lanes.map(|i| wavefront.border.at(i, -1)).collect();
        let count = rows.len();
        let worst = T::EXTREME.map_or_else(Default::default, Extreme::worst);
        let inputs = match wavefront.inputs {
            [] => &[],
            inputs => &inputs[rows.start * reversed.len()..rows.end * reversed.len()],
        };
        Self {
            element: wavefront.element,
            first_row: rows.start,
            rows: &wavefront.rows[rows],
            reversed,
            inputs,
            given: vec![E::Input::default(); count],
            band: wavefront.band,
            fronts: [front.clone(), front.clone(), front],
            front: 0,
            winning: vec![worst; count],
            reached: vec![NEVER; count],
            first_front: vec![NEVER; count],
        }
    }

    /// Computes one front a cell of `top` (the row above, from the present front's column on), and
    /// past the last column `more` fronts. The bottom row's cells go to `bottom`, the others' to
    /// `sink`.
    #[inline(always)]
    pub fn advance<T: Track>(
        &mut self,
        top: &[E::Cell],
        more: usize,
        bottom: &mut Vec<E::Cell>,
        sink: &mut impl Sink<E::Cell>,
    ) {
        let (lanes, columns) = (self.rows.len(), self.reversed.len());
        for step in 0..top.len() + more {
            if let Some(cell) = top.get(step) {
                self.fronts[1][0] = *cell;
            }
            let front = self.front;
            let low = (front + 1).saturating_sub(columns);
            let high = (front + 1).min(lanes);
            match self.band {
                None => self.lanes::<T>(low, high),
                Some(band) => {
                    let (from, to) = self.banded(&band, low, high);
                    self.fronts[2][low + 1..from + 1].fill(band.outside);
                    self.fronts[2][to + 1..high + 1].fill(band.outside);
                    self.lanes::<T>(from, to);
                    for first in &mut self.first_front[from..to] {
                        *first = (*first).min(front as u32);
                    }
                }
            }
            self.front += 1;
            let next = &self.fronts[2];
            sink.front(low, front - low, &next[low + 1..high + 1]);
            if high == lanes && front + 1 >= lanes {
                bottom.push(next[lanes]);
            }
            self.fronts.rotate_left(1);
        }
    }

    /// Those of the lanes `low..high` whose cells of this front are in the band.
    fn banded(&self, band: &Band<E::Cell>, low: usize, high: usize) -> (usize, usize) {
        // Lane l is at row `first_row + l` and column `front - l`.
        let diagonal = self.front as i128 - self.first_row as i128;
        let within = |lane: i128| lane.clamp(low as i128, high as i128) as usize;
        let from = (diagonal - band.upper as i128 + 1).div_euclid(2);
        let to = (diagonal - band.lower as i128).div_euclid(2) + 1;
        (within(from), within(to).max(within(from)))
    }

    /// The cells of lanes `low..high` of the next front.
    #[inline(always)]
    fn lanes<T: Track>(&mut self, low: usize, high: usize) {
        let (front, columns, count) = (self.front, self.reversed.len(), high - low);
        if count == 0 {
            return;
        }
        if size_of::<E::Input>() > 0 {
            for (lane, given) in self.given[low..high].iter_mut().enumerate() {
                let lane = lane + low;
                *given = self.inputs[lane * columns + front - lane];
            }
        }
        let first = columns - 1 + low - front;
        let lane = low..high;
        let [before, last, next] = &mut self.fronts;
        let nw = &before[lane.clone()];
        let (n, w) = (&last[lane.clone()], &last[low + 1..high + 1]);
        let (a, b) = (&self.rows[lane.clone()], &self.reversed[first..first + count]);
        let x = &self.given[lane.clone()];
        let out = &mut next[low + 1..high + 1];
        let (winning, reached) = (&mut self.winning[lane.clone()], &mut self.reached[lane]);
        let none = E::Old::gather(|_| E::Cell::default());
        for l in 0..count {
            let earlier = E::Earlier::gather(|k| match E::DEPENDENCES[k] {
                [-1, -1] => nw[l],
                [-1, 0] => n[l],
                _ => w[l],
            });
            let cell = self.element.cell(earlier, none, a[l], b[l], x[l]);
            out[l] = cell;
            if let Some(extreme) = T::EXTREME {
                let score = cell.score();
                let better = extreme.better(score, winning[l]);
                winning[l] = if better { score } else { winning[l] };
                if T::PLACE {
                    reached[l] = if better { front as u32 } else { reached[l] };
                }
            }
        }
    }

    /// The winner of the tile-row.
    pub fn best<T: Track>(&self) -> Option<Best<<E::Cell as Ranked>::Score>> {
        let extreme = T::EXTREME?;
        let mut best = None;
        for (lane, (&score, &reached)) in self.winning.iter().zip(&self.reached).enumerate() {
            // An integer row that was never better than the worst value has it from the start.
            let start = if self.band.is_some() { self.first_front[lane] } else { lane as u32 };
            let front = if reached == NEVER { start } else { reached };
            if is_nan(score) || front == NEVER {
                continue;
            }
            let (row, column) = (self.first_row + lane, front as usize - lane);
            best = Best::of(best, Some(Best { score, row, column }), extreme);
        }
        best
    }
}
