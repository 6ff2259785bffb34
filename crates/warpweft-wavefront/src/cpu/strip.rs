//! One tile-row in flight: its cells, anti-diagonal by anti-diagonal.
//!
//! Lane `l` owns row `l` of the tile-row and is `l` columns behind lane 0, so that all lanes of one
//! front are independent and lie side by side in memory: the loop over lanes vectorises. It goes over
//! two fronts at once, in place: what a lane takes from its neighbour's last turn passes from vector
//! to vector in registers, and a pair of fronts is three loads and two stores. The skew runs on from
//! tile to tile (hyper-tiles, PeerWave section 3.3): only the first and last fronts of a tile-row are
//! short. Of 16-bit cells four fronts go at once, in another order of lanes (`striped`).

use super::form::Form;
use super::front::{Cells, Inputs, most};
use super::parts::{GROUP, HINT, Lanes, View};
use super::profile::OnFronts;
use super::simd::Loops;
use super::striped::{self, Columns, FRONTS, InStripes, Stripes};
use crate::recurrence::{Extreme, Parts, Ranked, WavefrontElement, is_nan};
use crate::spec::{Band, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::memory::room;

/// Cells that leave a tile-row.
pub(super) trait Sink<E: WavefrontElement, F: Form<E>> {
    /// Called once a front with the lanes computed, the first of them, and its column; `north` is the
    /// cell above lane 0.
    fn front(
        &mut self,
        form: &F,
        first_lane: usize,
        first_column: usize,
        north: F::Held,
        cells: View<'_, F::Held>,
    );
}

/// Where a tile-row is between two fronts.
#[derive(Clone)]
pub(super) struct State<F, H: Parts> {
    pub form: F,
    /// A cell a lane of the front computed last, and of the one before. Lanes that have not started
    /// hold their cell of column −1, lanes that are done their last.
    pub last: Lanes<H>,
    pub before: Lanes<H>,
    /// The row above's cell that lane 0 read last.
    pub above: H,
    /// Front to be computed next, from 0; lane 0 is then at that column.
    pub front: usize,
    /// Whether the lanes are in striped order, winning scores included.
    pub striped: bool,
}

impl<F: Copy, H: Parts> State<F, H> {
    /// Becomes `from`, a state of the same tile-row, in the memory that it has.
    pub fn copy(&mut self, from: &Self) {
        let Self { last, before, .. } = self;
        last.copy(0..from.last.len(), &from.last);
        before.copy(0..from.before.len(), &from.before);
        let State { form, above, front, striped, .. } = *from;
        (self.form, self.above, self.front, self.striped) = (form, above, front, striped);
    }
}

type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;

/// A tile-row.
pub(super) struct Strip<'a, E: WavefrontElement, F: Form<E>> {
    pub state: State<F, F::Held>,
    /// The first row of the tile-row, and how many there are.
    pub first_row: usize,
    pub lanes: usize,
    /// What every cell of column −1 holds, where lanes without a row are computed.
    pub left: E::Cell,
    /// The inputs of the rows, and some more of the last one.
    pub rows: Vec<E::Row>,
    /// Number of columns and their inputs, see [`reversed`].
    pub columns: usize,
    pub reversed: &'a [E::Column],
    /// The inputs of all the tile-row's cells, and those of two fronts in order.
    pub inputs: &'a [E::Input],
    pub given: [Vec<E::Input>; 2],
    pub band: Option<Band<E::Cell>>,
    /// Fronts in a row up to the present one that had no cell in the band.
    outside: usize,
    /// Which scores win, and per lane the winning score since it was last asked for, and the first front since.
    pub extreme: Option<Extreme>,
    pub winning: Vec<F::Score>,
    pub since: usize,
    pub stripes: Option<Stripes<'a, E, F::Held>>,
    /// What inputs give, if there is a profile.
    pub looked_up: Option<OnFronts<'a>>,
}

/// The inputs of all columns, last column first: a front reads ascending addresses. Lanes that have
/// not started find some more of the first column.
///
/// # Errors
/// Too little memory.
pub(super) fn reversed<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
) -> Result<Vec<E::Column>> {
    let columns = wavefront.columns;
    let mut reversed = room(columns.len() + 2 * MOST, HINT)?;
    reversed.extend(columns.iter().rev().chain(std::iter::repeat_n(&columns[0], 2 * MOST)));
    Ok(reversed)
}

/// The most lanes of a [`Form::GROUP`].
const MOST: usize = GROUP;

impl<'a, E: WavefrontElement, F: Form<E>> Strip<'a, E, F> {
    /// The tile-row of `rows`, of which scores are compared for `extreme`; `reversed` as the function
    /// of this name gives it.
    pub fn new(
        form: F,
        extreme: Option<Extreme>,
        wavefront: &'a Wavefront<'_, E>,
        rows: std::ops::Range<usize>,
        reversed: &'a [E::Column],
        in_stripes: &'a InStripes<E::Column>,
    ) -> Self {
        let border = |i: usize| wavefront.border.at(i as isize, -1);
        let above = wavefront.border.at(rows.start as isize - 1, -1);
        let form = form.around(above);
        let (columns, lanes) = (wavefront.columns.len(), rows.len());
        // Whole groups from any lane on.
        let padding = if F::GROUP > 1 { F::GROUP } else { 0 };
        let count = lanes.next_multiple_of(F::GROUP) + padding;
        let padded = |row| (0..count).map(move |l| row + l.min(lanes - 1));
        let last = Lanes::of(padded(rows.start).map(|row| form.hold(border(row))));
        let worst = extreme.map_or_else(Default::default, Extreme::worst);
        let inputs = match wavefront.inputs {
            [] => &[],
            inputs => &inputs[rows.start * columns..rows.end * columns],
        };
        let above = form.hold(above);
        let state = State { form, before: last.clone(), last, above, front: 0, striped: false };
        let in_rows: Vec<_> = padded(rows.start).map(|row| wavefront.rows[row]).collect();
        let can = striped::can::<E, F>(lanes) && lanes < columns;
        let (stripes, looked_up) = match in_stripes {
            InStripes::Profile(profile, allowed) => {
                let stripes = || Stripes::looked_up(&in_rows[..lanes], profile);
                ((*allowed && can).then(stripes), Some(OnFronts::of(&in_rows, profile)))
            }
            InStripes::Columns(all) => {
                let of = |columns| Stripes::new(&in_rows[..lanes], columns);
                (Columns::among(all, lanes).map(of), None)
            }
        };
        Self {
            state,
            first_row: rows.start,
            lanes,
            left: border(rows.start),
            rows: in_rows,
            columns,
            reversed,
            inputs,
            given: [(); 2].map(|()| vec![E::Input::default(); count]),
            band: wavefront.band,
            outside: 0,
            extreme,
            winning: vec![worst; count],
            since: 0,
            stripes,
            looked_up,
        }
    }

    /// Computes one front a cell of `top` (the row above, from the present front's column on), and
    /// past the last column `more` fronts. The bottom row's cells go to `bottom`, the others' to
    /// `sink`, if there is one.
    pub fn advance(
        &mut self,
        loops: Loops<E, F>,
        top: &[E::Cell],
        more: usize,
        bottom: &mut Vec<E::Cell>,
        mut sink: Option<&mut dyn Sink<E, F>>,
    ) {
        if F::MOVES {
            self.rebase();
        }
        let mut step = 0;
        while step < top.len() + more {
            let whole = self.state.front >= self.lanes && self.band.is_none();
            let rest = top.get(step..).unwrap_or_default();
            let quads = rest.len() / FRONTS * FRONTS;
            if whole && quads > 0 && sink.is_none() && self.stripes.is_some() {
                self.striped_fronts(loops, &rest[..quads], bottom);
                step += quads;
                continue;
            }
            if sink.is_none()
                && let skipped @ 1.. = self.skip(rest, bottom)
            {
                step += skipped;
                continue;
            }
            self.in_lanes();
            if sink.is_none() && self.two_of_some(loops, rest, top.len() + more - step, bottom) {
                step += 2;
                continue;
            }
            let sink = sink.as_mut().map(|sink| &mut **sink as &mut dyn Sink<E, F>);
            if whole && rest.len() > 1 {
                let even = rest.len() & !1;
                self.two_fronts(loops, &rest[..even], bottom, sink);
                step += even;
            } else {
                let above = rest.first().map(|&cell| self.state.form.hold(cell));
                self.one(loops, above, bottom, sink);
                step += 1;
            }
        }
    }

    /// Counts all cells from the one in the middle, or as far down as lanes have begun, if that is far from the base.
    fn rebase(&mut self) {
        let State { form, last, before, above, front, striped } = &mut self.state;
        let middle = (self.lanes / 2).min(front.saturating_sub(1));
        let middle = if *striped { striped::place(middle, self.lanes) } else { middle };
        let cell = form.cell(last.at(middle));
        if form.is_near(cell) {
            return;
        }
        let to = form.around(cell);
        let from = *form;
        let moved = |held| to.hold(from.cell(held));
        last.replace(moved);
        before.replace(moved);
        *above = moved(*above);
        *form = to;
    }

    /// The next front, with lane 0's cell of the row above while there is one.
    fn one(
        &mut self,
        loops: Loops<E, F>,
        top: Option<F::Held>,
        bottom: &mut Vec<E::Cell>,
        sink: Option<&mut dyn Sink<E, F>>,
    ) {
        let (lanes, columns, front) = (self.lanes, self.columns, self.state.front);
        if F::GROUP > 1 && front < lanes {
            // This lane begins: until now it may have been computed for nothing.
            self.state.last.set(front, self.state.form.hold(self.left));
            self.winning[front] = self.worst();
        }
        let low = (front + 1).saturating_sub(columns);
        let high = (front + 1).min(lanes);
        let (from, to) = match self.band {
            None => (low, high),
            Some(band) => self.banded(&band, low, high),
        };
        let top = top.unwrap_or(self.state.above);
        self.outside = if from < to { 0 } else { self.outside + 1 };
        if from < to {
            self.lanes(loops, from, to, top);
        }
        let State { form, last, before, above, .. } = &mut self.state;
        if let Some(band) = self.band {
            for outside in [low..from, to..high] {
                before.copy(outside.clone(), last);
                last.fill(outside, form.hold(band.outside));
            }
        }
        *above = top;
        if let Some(sink) = sink {
            sink.front(form, low, front - low, top, last.view(low..high));
        }
        if high == lanes && front + 1 >= lanes {
            bottom.push(form.cell(last.at(lanes - 1)));
        }
        self.state.front += 1;
    }

    /// How many fronts of the cells of `top` have no cell in the band, where all lanes have begun and hold what is outside: only the
    /// bottom row's cells are told. A run within a band thus takes time by the band's cells, not by all.
    fn skip(&mut self, top: &[E::Cell], bottom: &mut Vec<E::Cell>) -> usize {
        let Some(band) = &self.band else { return 0 };
        if self.outside < 2 || self.state.front <= self.lanes {
            return 0;
        }
        let [front, row, lanes] = [self.state.front, self.first_row, self.lanes].map(|n| n as i128);
        let (enters, left) = (row + band.lower as i128, row + band.upper as i128 - 1 + 2 * lanes);
        let count = match front {
            _ if front >= left => top.len(),
            _ => usize::try_from(enters - front).map_or(0, |count| count.min(top.len())),
        };
        if let Some(&cell) = top[..count].last() {
            self.state.above = self.state.form.hold(cell);
            bottom.extend(std::iter::repeat_n(band.outside, count));
            self.state.front += count;
        }
        count
    }

    /// Where a lane's winning score starts.
    pub fn worst(&self) -> F::Score {
        self.extreme.map_or_else(Default::default, Extreme::worst)
    }

    /// Those of the lanes `low..high` whose cells of this front are in the band.
    fn banded(&self, band: &Band<E::Cell>, low: usize, high: usize) -> (usize, usize) {
        // Lane l is at row `first_row + l` and column `front - l`.
        let diagonal = self.state.front as i128 - self.first_row as i128;
        let within = |lane: i128| lane.clamp(low as i128, high as i128) as usize;
        let from = (diagonal - band.upper as i128 + 1).div_euclid(2);
        let to = (diagonal - band.lower as i128).div_euclid(2) + 1;
        (within(from), within(to).max(within(from)))
    }

    /// What lanes `from..to` read of front `front`, the `which`th of a pair.
    fn given(&mut self, which: usize, front: usize, from: usize, to: usize) {
        if size_of::<E::Input>() > 0 {
            let columns = self.columns;
            for (lane, given) in self.given[which].iter_mut().enumerate().take(to).skip(from) {
                *given = self.inputs[lane * columns + front - lane];
            }
        }
    }

    /// The cells of lanes `from..to` of the next front, one at least; lane 0's north is `top`.
    fn lanes(&mut self, loops: Loops<E, F>, from: usize, to: usize, top: F::Held) {
        let front = self.state.front;
        self.given(0, front, from, to);
        let count = (to - from).next_multiple_of(F::GROUP).min(self.rows.len() - from);
        let to = from + count;
        let State { form, last, before, above, .. } = &mut self.state;
        let (nw, n) = match from {
            0 => (*above, top),
            _ => (before.at(from - 1), last.at(from - 1)),
        };
        let first = self.columns - 1 + from - front;
        let inputs = Inputs {
            rows: &self.rows[from..to],
            columns: &self.reversed[first..first + count],
            cells: &self.given[0][from..to],
        };
        let cells = Cells {
            form: *form,
            last: last.arrays(from..to),
            before: before.arrays(from..to),
            winning: &mut self.winning[from..to],
        };
        loops.single(cells, inputs, [nw, n]);
    }

    /// Two fronts for every two cells of `top`, of which there are an even number: [`Strip::advance`]
    /// where every lane has a cell in all of them.
    fn two_fronts(
        &mut self,
        loops: Loops<E, F>,
        top: &[E::Cell],
        bottom: &mut Vec<E::Cell>,
        mut sink: Option<&mut dyn Sink<E, F>>,
    ) {
        let (lanes, form) = (self.lanes, self.state.form);
        for &[first, second] in top.as_chunks().0 {
            let [first, second] = [first, second].map(|cell| form.hold(cell));
            self.two(loops, first, second);
            let State { last, before, front, .. } = &self.state;
            if let Some(sink) = &mut sink {
                sink.front(&form, 0, front - 2, first, before.view(0..lanes));
                sink.front(&form, 0, front - 1, second, last.view(0..lanes));
            }
            bottom.extend([before, last].map(|cells| form.cell(cells.at(lanes - 1))));
        }
    }

    /// The cells of all lanes of the next two fronts; lane 0's norths are `first` and `second`.
    fn two(&mut self, loops: Loops<E, F>, first: F::Held, second: F::Held) {
        let front = self.state.front;
        self.given(0, front, 0, self.lanes);
        self.given(1, front + 1, 0, self.lanes);
        self.two_from(loops, 0, self.lanes, [self.state.above, first, second]);
        self.state.above = second;
        self.state.front += 2;
    }

    /// The winner since this was last asked for: its score and its lane, the first of those that have
    /// it. `against` is one that it must beat: by score, or with the same by a lesser lane.
    pub fn winner(&mut self, against: Option<(Score<E>, usize)>) -> Option<(Score<E>, usize)> {
        let extreme = self.extreme?;
        let worst = self.worst();
        // Lanes that have computed a cell since; in a band some may not have.
        let begun = self.state.front.min(self.lanes);
        let lanes = (self.since + 1).saturating_sub(self.columns).min(begun)..begun;
        let winning = &self.winning[lanes.clone()];
        // A constant each, so that the loop becomes one of vectors.
        let most = match extreme {
            Extreme::Greatest => most(winning, worst, Extreme::Greatest),
            Extreme::Least => most(winning, worst, Extreme::Least),
        };
        let score = self.state.form.whole(most);
        let wins = |lane: usize| {
            against.is_none_or(|(known, at)| match score == known {
                true => lane < at,
                false => extreme.better(score, known),
            })
        };
        // Few tiles have a winner at all.
        let lane = (!is_nan(score) && wins(0)).then(|| match self.state.striped {
            true => {
                let places = (0..self.lanes).filter(|&at| self.winning[at] == most);
                let lanes = places.map(|at| striped::lane_at(at, self.lanes));
                lanes.filter(|&lane| self.had(lane)).min()
            }
            false => lanes.clone().find(|&lane| self.winning[lane] == most && self.had(lane)),
        });
        self.winning.fill(worst);
        self.since = self.state.front;
        lane.flatten().filter(|&lane| wins(lane)).map(|lane| (score, lane))
    }

    /// Whether `lane` has computed a cell since the winner was last asked for.
    fn had(&self, lane: usize) -> bool {
        let columns = self.columns as i128;
        let (first, end) = match self.band {
            None => (0, columns),
            Some(Band { lower, upper, .. }) => {
                let row = (self.first_row + lane) as i128;
                ((row + lower as i128).max(0), (row + upper as i128 + 1).min(columns))
            }
        };
        let [lane, since, front] = [lane, self.since, self.state.front].map(|n| n as i128);
        (first + lane).max(since) < (end + lane).min(front)
    }
}
