//! The inputs of a tile-row in striped order, and room for its fronts.

use super::striped;
use crate::cpu::parts::GROUP;
use crate::recurrence::WavefrontElement;

/// What a tile-row in striped order needs.
pub(in crate::cpu) struct Stripes<'a, E: WavefrontElement, H> {
    /// The inputs of rows and columns.
    pub rows: Vec<[E::Row; GROUP]>,
    pub columns: &'a [[E::Column; GROUP]],
    /// The cells above lane 0 and those of the last lane, of the fronts that are computed at once.
    pub above: Vec<H>,
    pub bottom: Vec<H>,
}

impl<'a, E: WavefrontElement, H> Stripes<'a, E, H> {
    /// For lanes of these rows.
    pub fn new(rows: &[E::Row], columns: &'a [[E::Column; GROUP]]) -> Self {
        let rows = striped(rows).as_chunks().0.to_vec();
        Self { rows, columns, above: Vec::new(), bottom: Vec::new() }
    }
}
