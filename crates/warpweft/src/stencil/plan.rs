//! A spec cut into sweeps: pure functions, testable with no hardware.

use super::spec::Until;

/// A box of cells: `[low, high)` per axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region<const D: usize> {
    /// First index, per axis.
    pub low: [usize; D],
    /// One past the last index, per axis.
    pub high: [usize; D],
}

/// One unit of work: a region advanced by one or several steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep<const D: usize> {
    /// Steps done before this sweep.
    pub first_step: u64,
    /// Steps this sweep advances, at least 1.
    pub steps: u64,
    /// The cells that are advanced. Cells around it within `radius × steps` must be valid before.
    pub region: Region<D>,
    /// Whether the state before the last step must be kept for a residual.
    pub keep_change: bool,
}

/// The sweeps of a run of `steps` steps over the whole of `extents`, each at most `depth` steps;
/// steps after which a residual is checked end a sweep and stand alone in one.
pub fn sweeps<const D: usize>(
    extents: [usize; D],
    steps: u64,
    depth: u64,
    until: Option<Until>,
) -> impl Iterator<Item = Sweep<D>> {
    let region = Region { low: [0; D], high: extents };
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == steps {
            return None;
        }
        // Steps until the next checked one, which is swept alone.
        let to_check = until.map_or(u64::MAX, |until| until.every - done % until.every);
        let keep_change = to_check == 1;
        let length = if keep_change { 1 } else { depth.min(steps - done).min(to_check - 1) };
        let sweep = Sweep { first_step: done, steps: length, region, keep_change };
        done += length;
        Some(sweep)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stencil::Residual;

    #[test]
    fn checked_steps_stand_alone() {
        let until = Until { residual: Residual::Max, tolerance: 0.0, every: 5 };
        let lengths: Vec<_> =
            sweeps([4], 12, 3, Some(until)).map(|s| (s.steps, s.keep_change)).collect();
        assert_eq!(
            lengths,
            [(3, false), (1, false), (1, true), (3, false), (1, false), (1, true), (2, false)]
        );
        assert_eq!(sweeps([4], 10, 4, None).map(|s| s.steps).collect::<Vec<_>>(), [4, 4, 2]);
    }
}
