//! Fronts that not all lanes have a cell in, two at once: a lane begins with every front, or one is done with it.
//!
//! Vectors hold lanes in their own order here. Those of lanes that have not begun are computed for nothing. The lane that
//! has a cell in one of the two fronts only is computed on its own.

use crate::cpu::form::Form;
use crate::cpu::front::{Cells, Inputs};
use crate::cpu::simd::Loops;
use crate::cpu::strip::Strip;
use crate::recurrence::WavefrontElement;

impl<E: WavefrontElement, F: Form<E>> Strip<'_, E, F> {
    /// The next two of `left` fronts, if lanes begin or end with them; `top` has the row above while there is one.
    pub(in crate::cpu) fn two_of_some(
        &mut self,
        loops: Loops<E, F>,
        top: &[E::Cell],
        left: usize,
        bottom: &mut Vec<E::Cell>,
    ) -> bool {
        let (front, lanes, columns) = (self.state.front, self.lanes, self.columns);
        if const { F::GROUP == 1 || size_of::<E::Input>() > 0 } || self.band.is_some() || left < 2 {
            return false;
        }
        if front + 1 < lanes && front + 2 <= columns && top.len() >= 2 {
            let [first, second] = [top[0], top[1]].map(|cell| self.state.form.hold(cell));
            self.two_begin(loops, [first, second], bottom);
        } else if front + 1 > columns && front >= lanes && front + 2 - columns < lanes {
            self.two_end(loops, bottom);
        } else {
            return false;
        }
        self.state.front += 2;
        true
    }

    /// Lanes `front` and `front + 1` begin; lane 0's norths are `first` and `second`.
    fn two_begin(
        &mut self,
        loops: Loops<E, F>,
        [first, second]: [F::Held; 2],
        bottom: &mut Vec<E::Cell>,
    ) {
        let begins = self.state.front;
        let left = self.state.form.hold(self.left);
        self.state.last.set(begins, left);
        self.winning[begins] = self.worst();
        let norths = [self.state.above, first, second];
        self.two_from(loops, 0, begins + 1, norths);
        self.state.above = second;
        // The next lane has its first cell in the second front.
        let (lane, form) = (begins + 1, self.state.form);
        let north = self.state.before.at(begins);
        let cell = self.next([left, north, left], lane, self.columns - 1);
        self.state.before.set(lane, left);
        self.state.last.set(lane, cell);
        self.winning[lane] = self.worst();
        self.note(lane, cell);
        if lane + 1 == self.lanes {
            bottom.push(form.cell(cell));
        }
    }

    /// Two lanes are done: one has its last cell in the first front, the next one in the second.
    fn two_end(&mut self, loops: Loops<E, F>, bottom: &mut Vec<E::Cell>) {
        let done = self.state.front + 1 - self.columns;
        let (before, last) = (&self.state.before, &self.state.last);
        let near = [before.at(done - 1), last.at(done - 1), last.at(done)];
        let [oldest, older] = [before.at(done), last.at(done)];
        let cell = self.next(near, done, 0);
        self.note(done, cell);
        self.two_from(loops, done + 1, self.lanes, [oldest, older, cell]);
        self.state.before.set(done, older);
        self.state.last.set(done, cell);
        let end = self.lanes - 1;
        let form = self.state.form;
        bottom.extend([&self.state.before, &self.state.last].map(|cells| form.cell(cells.at(end))));
    }

    /// The cell of `lane` after these, at column `at` of the reversed ones.
    fn next(&self, near: [F::Held; 3], lane: usize, at: usize) -> F::Held {
        let (a, b) = (self.rows[lane], self.reversed[at]);
        self.state.form.next(near, a, b, E::Input::default())
    }

    /// Keeps the score of `cell` if it is the best of `lane`.
    fn note(&mut self, lane: usize, cell: F::Held) {
        let (score, winning) = (F::score(cell), &mut self.winning[lane]);
        if self.extreme.is_some_and(|extreme| extreme.better(score, *winning)) {
            *winning = score;
        }
    }

    /// The cells of lanes `from..to`, and some more, of the next two fronts; `norths` are those of the first lane.
    pub(in crate::cpu) fn two_from(
        &mut self,
        loops: Loops<E, F>,
        from: usize,
        to: usize,
        norths: [F::Held; 3],
    ) {
        let front = self.state.front;
        let to = from + (to - from).next_multiple_of(F::GROUP);
        let cells = Cells {
            form: self.state.form,
            last: self.state.last.arrays(from..to),
            before: self.state.before.arrays(from..to),
            winning: &mut self.winning[from..to],
        };
        if let Some(looked_up) = &mut self.looked_up {
            let (columns, rows) = looked_up.two(front, from, to);
            let inputs = columns.map(|columns| Inputs { rows, columns, cells: rows });
            return loops.double_looked_up(cells, inputs, norths);
        }
        let first = self.columns - 1 + from - front;
        let inputs = [(first, 0), (first - 1, 1)].map(|(at, which)| Inputs {
            rows: &self.rows[from..to],
            columns: &self.reversed[at..at + to - from],
            cells: &self.given[which][from..to],
        });
        loops.double(cells, inputs, norths);
    }
}
