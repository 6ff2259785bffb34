//! A tile-row whose lanes are in striped order while all of them have a cell in every front.

use super::stripes::Source;
use super::{Stripes, in_lanes, striped};
use crate::cpu::form::Form;
use crate::cpu::profile::BLOCK;
use crate::cpu::simd::Loops;
use crate::cpu::strip::{State, Strip};
use crate::cpu::striped::{Lines, Striped};
use crate::recurrence::WavefrontElement;

/// Puts an array into another order.
type Order<T> = fn(&[T]) -> Vec<T>;

impl<E: WavefrontElement, F: Form<E>> Strip<'_, E, F> {
    /// A front for every cell of `top`, a multiple of four, where every lane has a cell in all of them.
    pub(in crate::cpu) fn striped_fronts(
        &mut self,
        loops: Loops<E, F>,
        top: &[E::Cell],
        to: &mut Vec<E::Cell>,
    ) {
        if !self.state.striped {
            self.reorder(striped, striped);
        }
        let Some(Stripes { source, above, bottom }) = &mut self.stripes else { return };
        let State { form, last, before, above: first, front, .. } = &mut self.state;
        above.resize(top.len() + 1, F::Held::default());
        above[0] = *first;
        loops.hold(form, top, &mut above[1..]);
        bottom.resize(top.len(), F::Held::default());
        let winning = self.winning[..self.lanes].as_chunks_mut().0;
        match source {
            Source::Symbols { rows, columns } => {
                // The last of these fronts reads the columns that come first in the reversed order.
                let columns = &columns[self.columns - *front - top.len()..];
                let (last, before) = (last.vectors(self.lanes), before.vectors(self.lanes));
                let of = Striped { form: *form, last, before, winning, rows, columns };
                loops.quads(of, Lines { above, bottom });
            }
            Source::Profile { profile, lanes, rows, block } => {
                for (at, bottom) in (0..).step_by(BLOCK).zip(bottom.chunks_mut(BLOCK)) {
                    profile.block(lanes, 0..rows.len(), *front + at, block);
                    let columns = &block[..bottom.len() * rows.len()];
                    let (last, before) = (last.vectors(self.lanes), before.vectors(self.lanes));
                    let winning = &mut *winning;
                    let of = Striped { form: *form, last, before, winning, rows, columns };
                    loops.looked_up(of, Lines { above: &above[at..], bottom });
                }
            }
        }
        *first = above[top.len()];
        *front += top.len();
        let known = to.len();
        to.resize(known + top.len(), E::Cell::default());
        loops.cells(form, bottom, &mut to[known..]);
    }

    /// Puts lanes back into their own order.
    pub(in crate::cpu) fn in_lanes(&mut self) {
        if self.state.striped {
            self.reorder(in_lanes, in_lanes);
        }
    }

    /// Puts parts of cells and scores into the other order.
    fn reorder(&mut self, parts: Order<super::PartOf<E, F>>, scores: Order<F::Score>) {
        let State { last, before, striped, .. } = &mut self.state;
        last.reorder(self.lanes, parts);
        before.reorder(self.lanes, parts);
        let ordered = scores(&self.winning[..self.lanes]);
        self.winning[..self.lanes].copy_from_slice(&ordered);
        *striped = !*striped;
    }
}
