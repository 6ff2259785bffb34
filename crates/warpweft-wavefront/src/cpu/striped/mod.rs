//! Fronts in striped order: element `k` of vector `v` is lane `k * vectors + v` (Farrar 2007, there along a query).
//!
//! A lane needs cells of the lane before it. In the order of lanes these are shifted by one element, and each vector
//! of them takes two shuffles; in this order they are the vector before, as it is. Only the first vector of a front needs
//! a shuffle. Four fronts pass through the lanes at once, so that cells are loaded and stored once in four. Not here:
//! fronts that not all lanes have a cell in, which go in the order of lanes (`front`).

mod fronts;
mod ramps;
mod strip;
mod stripes;

use super::form::{AllNear, Cells16, Form};
use super::parts::{GROUP, HINT};
use super::profile::Profile;
use crate::recurrence::{Parts, WavefrontElement};
use crate::spec::{Keep, Wavefront};
use warpweft_core::cpu::Simd;
use warpweft_core::memory::filled;

pub(super) use fronts::{Lines, Striped, quads};
pub(super) use stripes::Stripes;

/// Fronts that pass through the lanes at once.
pub(super) const FRONTS: usize = 4;

/// The fewest vectors: of the last ones some cells are computed ahead.
const LEAST: usize = FRONTS;

/// Bytes that columns in striped order take at most: a copy for each element of a vector.
const ROOM: usize = 64 << 20;

/// Vectors that are put together at once.
const BLOCK: usize = 256;

/// Whether fronts of so many lanes can be in striped order.
pub(super) fn can<E: WavefrontElement, F: Form<E>>(lanes: usize) -> bool {
    F::GROUP == GROUP
        && size_of::<E::Input>() == 0
        && lanes.is_multiple_of(GROUP)
        && lanes >= LEAST * GROUP
}

/// The place of `lane` among so many.
pub(super) fn place(lane: usize, lanes: usize) -> usize {
    let vectors = lanes / GROUP;
    lane % vectors * GROUP + lane / vectors
}

/// An array in the order of lanes, put into striped order.
pub(super) fn striped<T: Copy>(lanes: &[T]) -> Vec<T> {
    let vectors = lanes.len() / GROUP;
    (0..lanes.len()).map(|at| lanes[at % GROUP * vectors + at / GROUP]).collect()
}

/// The same back.
pub(super) fn in_lanes<T: Copy>(striped: &[T]) -> Vec<T> {
    let vectors = striped.len() / GROUP;
    let of = |k| (0..vectors).map(move |v| striped[v * GROUP + k]);
    (0..GROUP).flat_map(of).collect()
}

/// The lane at a place among so many.
pub(super) fn lane_at(at: usize, lanes: usize) -> usize {
    at % GROUP * (lanes / GROUP) + at / GROUP
}

/// The inputs of the columns for strips of so many lanes: vector `i` is what the first vector of lanes reads at column
/// `columns - 1 - i`.
pub(super) struct Columns<C> {
    lanes: usize,
    vectors: Vec<[C; GROUP]>,
}

impl<C: Copy> Columns<C> {
    /// Of all columns in reverse, and some more of the first one. `None` where that takes too much memory.
    pub fn of(reversed: &[C], lanes: usize) -> Option<Self> {
        let vectors = lanes / GROUP;
        let count = reversed.len().checked_sub(vectors * (GROUP - 1))?;
        if count.saturating_mul(size_of::<[C; GROUP]>()) > ROOM {
            return None;
        }
        let mut all = filled(std::iter::repeat_n([*reversed.first()?; GROUP], count), HINT).ok()?;
        // A few pages at a time, which stay in cache while their elements are set.
        for (block, some) in all.chunks_mut(BLOCK).enumerate() {
            for k in 0..GROUP {
                let from = &reversed[block * BLOCK + k * vectors..];
                some.iter_mut().zip(from).for_each(|(vector, &column)| vector[k] = column);
            }
        }
        Some(Self { lanes, vectors: all })
    }

    /// Those of strips of so many lanes.
    pub fn among(all: &[Self], lanes: usize) -> Option<&[[C; GROUP]]> {
        let found = all.iter().find(|columns| columns.lanes == lanes)?;
        Some(&found.vectors)
    }
}

/// What tile-rows in striped order share.
pub(super) enum InStripes<C> {
    /// The inputs of the columns, for tile-rows of all numbers of rows that can have this order.
    Columns(Vec<Columns<C>>),
    /// What rows and columns give, and whether any tile-row can have this order.
    Profile(Profile, bool),
}

impl<C: Copy> InStripes<C> {
    /// For a wavefront of 16-bit cells in tile-rows of so many rows.
    pub fn of<E: WavefrontElement<Column = C>>(
        reversed: &[C],
        wavefront: &Wavefront<'_, E>,
        tile_rows: usize,
        simd: Simd,
    ) -> Self {
        let inputs = (wavefront.rows, wavefront.columns);
        match Profile::of(&wavefront.element, inputs, tile_rows, simd) {
            Some(profile) => Self::Profile(profile, allowed(wavefront)),
            None if allowed(wavefront) => Self::Columns(columns(reversed, wavefront, tile_rows)),
            None => Self::none(),
        }
    }

    /// No tile-row has this order.
    pub fn none() -> Self {
        Self::Columns(Vec::new())
    }
}

/// Whether what is kept of `wavefront` lets lanes be in striped order: it does not take the cells of each front in theirs.
fn allowed<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> bool {
    !matches!(wavefront.keep, Keep::Matrix | Keep::LastColumn | Keep::Sum)
}

/// Those of a wavefront of 16-bit cells in tile-rows of so many rows.
fn columns<E: WavefrontElement>(
    reversed: &[E::Column],
    wavefront: &Wavefront<'_, E>,
    tile_rows: usize,
) -> Vec<Columns<E::Column>> {
    let [rows, columns] = wavefront.extents();
    let mut lanes = vec![tile_rows, rows % tile_rows];
    lanes.retain(|&lanes| can::<E, Cells16<E, AllNear>>(lanes) && lanes < columns);
    lanes.iter().filter_map(|&lanes| Columns::of(reversed, lanes)).collect()
}

/// The type of a part of what is held.
type PartOf<E, F> = <<F as Form<E>>::Held as Parts>::Part;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_come_back_from_striped_order_and_neighbours_are_a_vector_apart() {
        let lanes: Vec<_> = (0..5 * GROUP).collect();
        let order = striped(&lanes);
        assert_eq!(in_lanes(&order), lanes);
        for lane in 0..lanes.len() {
            assert_eq!(order[place(lane, lanes.len())], lane);
            assert_eq!(lane_at(place(lane, lanes.len()), lanes.len()), lane);
            if lane % 5 > 0 {
                assert_eq!(order[place(lane, lanes.len()) - GROUP], lane - 1);
            }
        }
    }

    #[test]
    fn columns_are_those_of_the_lanes() {
        // 300 columns in reverse, with some more of the first.
        let reversed: Vec<_> = (0..300u32).rev().chain([0; 64]).collect();
        let lanes = 4 * GROUP;
        let columns = Columns::of(&reversed, lanes).unwrap();
        for front in lanes..300 {
            let at = 299 - front;
            for lane in 0..lanes {
                let (v, k) = (place(lane, lanes) / GROUP, place(lane, lanes) % GROUP);
                assert_eq!(columns.vectors[at + v][k] as usize, front - lane);
            }
        }
        assert!(Columns::of(&reversed[..100], 4096).is_none());
    }
}
