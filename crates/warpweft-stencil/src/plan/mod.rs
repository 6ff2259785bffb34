//! A spec cut into sweeps: pure functions, testable with no hardware.

pub(crate) mod cone;
pub mod halo;
pub mod partition;
pub mod transfer;

use std::ops::Range;

use crate::spec::residual::Until;
use warpweft_core::grid::Axes;

/// A box of cells: `[low, high)` per axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// First index, per axis.
    pub low: Axes<usize>,
    /// One past the last index, per axis.
    pub high: Axes<usize>,
}

impl Region {
    /// All cells of a volume of `extents`.
    pub fn whole(extents: Axes<usize>) -> Self {
        Self { low: extents.map(|_| 0), high: extents }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.low.rank()
    }

    /// Whether both corners have `dims` axes.
    pub(crate) fn has_rank(&self, dims: usize) -> bool {
        self.low.rank() == dims && self.high.rank() == dims
    }
}

/// One unit of work: a region advanced by one or several steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Steps done before this sweep.
    pub first_step: u64,
    /// Steps this sweep advances, at least 1.
    pub steps: u64,
    /// The cells that are advanced. Before the sweep, all cells within `radius × (steps + following)` of them must be valid.
    /// If the region is not the whole volume, cells outside it have arbitrary values afterwards, and no
    /// function that can fault or loop forever is called for a cell that `region` does not depend on.
    pub region: Region,
    /// Steps that further sweeps advance the same region by before cells around it are written: what
    /// those read is advanced too.
    pub following: u64,
    /// Whether the state before the last step must be kept for a residual.
    pub keep_change: bool,
}

/// The sweeps of a run of `steps` steps over the whole of `extents`, each at most `depth` steps;
/// steps after which a residual is checked end a sweep and stand alone in one.
pub fn sweeps(
    extents: Axes<usize>,
    steps: u64,
    depth: u64,
    until: Option<Until>,
) -> impl Iterator<Item = Sweep> {
    sweeps_of(extents, 0..steps, move || depth, until, None)
}

/// As [`sweeps`] for the steps from `steps.start` on up to `steps.end`, each of up to `depth()` steps,
/// asked for every sweep; steps after which the state is saved, every so many, end a sweep too.
pub(super) fn sweeps_of(
    extents: Axes<usize>,
    steps: Range<u64>,
    depth: impl Fn() -> u64,
    until: Option<Until>,
    saves: Option<u64>,
) -> impl Iterator<Item = Sweep> {
    let region = Region::whole(extents);
    let mut done = steps.start;
    std::iter::from_fn(move || {
        if done >= steps.end {
            return None;
        }
        // Steps until the next checked one, which is swept alone.
        let to_check = until.map_or(u64::MAX, |until| until.every - done % until.every);
        let keep_change = to_check == 1;
        let to_save = saves.map_or(u64::MAX, |every| every - done % every);
        let most = depth().min(steps.end - done).min(to_save);
        let length = if keep_change { 1 } else { most.min(to_check - 1) };
        let sweep = Sweep { first_step: done, steps: length, region, following: 0, keep_change };
        done += length;
        Some(sweep)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Residual;

    #[test]
    fn checked_steps_stand_alone() {
        let until = Until { residual: Residual::Max, tolerance: 0.0, every: 5 };
        let lengths: Vec<_> =
            sweeps([4].into(), 12, 3, Some(until)).map(|s| (s.steps, s.keep_change)).collect();
        assert_eq!(
            lengths,
            [(3, false), (1, false), (1, true), (3, false), (1, false), (1, true), (2, false)]
        );
        let lengths = |steps, saves| -> Vec<u64> {
            sweeps_of([4].into(), steps, || 4, None, saves).map(|sweep| sweep.steps).collect()
        };
        assert_eq!(lengths(0..10, None), [4, 4, 2]);
        assert_eq!(lengths(5..20, Some(5)), [4, 1, 4, 1, 4, 1]);
    }
}
