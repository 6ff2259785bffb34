//! The inputs of a tile-row in striped order, or what these give, and room for its fronts.

use super::{lane_at, striped};
use crate::cpu::parts::GROUP;
use crate::cpu::profile::{BLOCK, Begins, Profile};
use crate::recurrence::WavefrontElement;

/// What a tile-row in striped order needs.
pub(in crate::cpu) struct Stripes<'a, E: WavefrontElement, H> {
    pub source: Source<'a, E>,
    /// The cells above lane 0 and those of the last lane, of the fronts that are computed at once.
    pub above: Vec<H>,
    pub bottom: Vec<H>,
}

/// Where vectors of lanes have from what they are given.
pub(in crate::cpu) enum Source<'a, E: WavefrontElement> {
    /// The inputs of rows and columns.
    Symbols { rows: Vec<[E::Row; GROUP]>, columns: &'a [[E::Column; GROUP]] },
    /// The lines of a profile, where they begin for each lane, nothing for each row, and room for a block of fronts.
    Profile { profile: &'a Profile, lanes: Begins, rows: Vec<[(); GROUP]>, block: Vec<[i8; GROUP]> },
}

impl<'a, E: WavefrontElement, H> Stripes<'a, E, H> {
    /// For lanes of these rows.
    pub fn new(rows: &[E::Row], columns: &'a [[E::Column; GROUP]]) -> Self {
        let rows = striped(rows).as_chunks().0.to_vec();
        Self::of(Source::Symbols { rows, columns })
    }

    /// The same by a profile.
    pub fn looked_up(rows: &[E::Row], profile: &'a Profile) -> Self {
        let vectors = rows.len() / GROUP;
        Self::of(Source::Profile {
            profile,
            lanes: profile.begins(rows, |at| lane_at(at, rows.len())),
            rows: vec![[(); GROUP]; vectors],
            block: vec![[0; GROUP]; vectors * BLOCK],
        })
    }

    fn of(source: Source<'a, E>) -> Self {
        Self { source, above: Vec::new(), bottom: Vec::new() }
    }
}
