//! What a profile has of lanes in their own order, a block of fronts at a time.

use super::{BLOCK, Begins, Profile};
use crate::cpu::parts::GROUP;

/// What inputs give on some fronts of a tile-row.
pub(in crate::cpu) struct OnFronts<'a> {
    profile: &'a Profile,
    lanes: Begins,
    /// Nothing for each row.
    rows: Vec<()>,
    /// The fronts from `front` on, of some vectors.
    block: Vec<[i8; GROUP]>,
    front: usize,
    vectors: std::ops::Range<usize>,
}

impl<'a> OnFronts<'a> {
    /// For lanes of these rows, which are whole vectors.
    pub fn of<R: Copy>(rows: &[R], profile: &'a Profile) -> Self {
        let lanes = profile.begins(rows, |lane| lane);
        let block = vec![[0; GROUP]; lanes.vectors() * BLOCK];
        Self { profile, lanes, rows: vec![(); rows.len()], block, front: 0, vectors: 0..0 }
    }

    /// What lanes `from..to` are given on front `front` and on the next one; nothing on all fronts.
    pub fn two(&mut self, front: usize, from: usize, to: usize) -> ([&[i8]; 2], &[()]) {
        let all = self.lanes.vectors();
        let vectors = from / GROUP..to.div_ceil(GROUP);
        let inside = self.vectors.start <= vectors.start && vectors.end <= self.vectors.end;
        if !inside || front < self.front || front + 2 > self.front + BLOCK {
            // With each front a lane may begin.
            let end = (to + BLOCK).div_ceil(GROUP).min(all);
            (self.front, self.vectors) = (front, vectors.start..end);
            self.profile.block(&self.lanes, self.vectors.clone(), front, &mut self.block);
        }
        let of = |front: usize| {
            let vectors = &self.block[(front - self.front) * all..][..all];
            &vectors.as_flattened()[from..to]
        };
        ([of(front), of(front + 1)], &self.rows[from..to])
    }
}
