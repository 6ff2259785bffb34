//! The two costs of the model, from measured runs on a fraction of the data.

use serde::{Deserialize, Serialize};

use super::schedule::{Schedule, Timeline};
use crate::cuda::tiles::Plan;
use warpweft_core::error::{Error, Result};

/// Seconds a front and a tile: d and τ_s of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// d: a front, of all blocks at once.
    pub front: f64,
    /// τ_s: what a tile takes besides its fronts.
    pub sync: f64,
}

/// A measured run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was run.
    pub plan: Plan,
    /// Blocks of the launch.
    pub blocks: usize,
    /// How long it took.
    pub seconds: f64,
}

impl Costs {
    /// Those of recurrences on an H200, of which the ratio decides the width: measured for the six applications of the
    /// paper, a tile costs 7.6 to 8.8 times a front.
    pub const USUAL: Self = Self { front: 4.6e-8, sync: 3.8e-7 };

    /// The costs that explain `runs` best: least squares on relative errors, neither negative. A
    /// run's time is its critical path of tiles times (w_t·d + τ_s).
    ///
    /// # Errors
    /// Fewer than two runs, or two of the same width only.
    pub fn fit(runs: &[Measured]) -> Result<Self> {
        let rows: Vec<[f64; 2]> = runs
            .iter()
            .map(|run| {
                let tiles = schedule(&run.plan, run.blocks).play(1.0, 1.0).seconds;
                [tiles * fronts(&run.plan) / run.seconds, tiles / run.seconds]
            })
            .collect();
        let sum = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
        let (xx, xy, yy) = (sum(0, 0), sum(0, 1), sum(1, 1));
        let (x, y) =
            (rows.iter().map(|r| r[0]).sum::<f64>(), rows.iter().map(|r| r[1]).sum::<f64>());
        let determinant = xx * yy - xy * xy;
        if rows.len() < 2 || determinant <= 1e-9 * xx * yy {
            return Err(Error::spec(
                format!("{} measured runs to find two costs", runs.len()),
                "measure two widths that differ",
            ));
        }
        let front = (x * yy - y * xy) / determinant;
        let sync = (y * xx - x * xy) / determinant;
        Ok(match (front > 0.0, sync > 0.0) {
            (true, true) => Self { front, sync },
            (true, false) => Self { front: x / xx, sync: 0.0 },
            (false, _) => Self { front: 0.0, sync: y / yy },
        })
    }

    /// What `plan` takes on `blocks` blocks, and how long they idle.
    pub fn predict(&self, plan: &Plan, blocks: usize) -> Timeline {
        let (tile, meeting) = match plan.policy.method.flags() {
            true => (fronts(plan) * self.front + self.sync, 0.0),
            false => (fronts(plan) * self.front, self.sync),
        };
        schedule(plan, blocks).play(tile, meeting)
    }

    /// The plan that takes least time.
    pub fn best<'a>(
        &self,
        plans: impl IntoIterator<Item = &'a Plan>,
        blocks: usize,
    ) -> Option<(&'a Plan, Timeline)> {
        let timed = plans.into_iter().map(|plan| (plan, self.predict(plan, blocks)));
        timed.min_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds))
    }
}

/// Fronts that a tile goes through: of square tiles, the corners too.
fn fronts(plan: &Plan) -> f64 {
    let width = plan.policy.width as usize;
    let corners = plan.shape.skew * (plan.layout.height - 1);
    (width + if plan.policy.method.square() { corners } else { 0 }) as f64
}

/// The plan's tiles and waits.
fn schedule(plan: &Plan, blocks: usize) -> Schedule {
    Schedule {
        tile_rows: plan.tile_rows,
        sweeps: plan.sweeps,
        blocks: blocks.min(plan.units()).max(1),
        tiles: plan.tiles,
        lag: plan.lag,
        sweep_lead: plan.sweep_ahead.div_ceil(plan.policy.width as usize),
        sweep_lag: plan.sweep_lag,
        flags: plan.policy.method.flags(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Method, TilePolicy};
    use proptest::prelude::*;

    fn plan(method: Method, side: usize, height: u32, width: u32) -> Plan {
        let policy = TilePolicy { method, height, width, blocks: 1 };
        Plan::new([side; 2], 1, &[[-1, -1], [-1, 0], [0, -1]], &[], policy).unwrap()
    }

    proptest! {
        #[test]
        fn costs_that_made_the_times_are_found_again(
            front in 1e-8..1e-6, sync in 1e-7..1e-5, blocks in 2usize..40,
        ) {
            let truth = Costs { front, sync };
            let runs: Vec<_> = [16, 128]
                .map(|width| plan(Method::FlagsFlexible, 4000, 128, width))
                .map(|plan| Measured { seconds: truth.predict(&plan, blocks).seconds, plan, blocks })
                .to_vec();
            let found = Costs::fit(&runs).unwrap();
            prop_assert!((found.front / front - 1.0).abs() < 1e-6, "{:?}", found);
            prop_assert!((found.sync / sync - 1.0).abs() < 1e-5, "{:?}", found);
        }
    }

    #[test]
    fn the_best_width_grows_with_the_cost_of_waiting() {
        let widths = [8, 16, 32, 64, 128, 256, 512];
        let plans = widths.map(|width| plan(Method::FlagsFlexible, 8192, 128, width));
        let best = |sync| {
            let costs = Costs { front: 1e-7, sync };
            costs.best(&plans, 64).unwrap().0.policy.width
        };
        assert!(best(1e-7) < best(1e-6) && best(1e-6) < best(1e-5));
    }

    /// Milliseconds of widths of 8 to 256 on an H200, 8192 squared, tiles of 128 rows: Smith-Waterman and a table of sums.
    #[test]
    fn the_width_for_usual_costs_is_within_a_twentieth_of_the_best_measured() {
        let widths = [8, 16, 32, 64, 128, 256];
        let plans = widths.map(|width| plan(Method::FlagsFlexible, 8192, 128, width));
        for measured in
            [[1.844, 1.239, 1.019, 1.019, 1.139, 1.786], [1.932, 1.233, 1.064, 1.071, 1.194, 1.871]]
        {
            let (best, _) = Costs::USUAL.best(&plans, 132 * 4).unwrap();
            let at = widths.iter().position(|&width| width == best.policy.width).unwrap();
            let least = measured.into_iter().fold(f64::INFINITY, f64::min);
            assert!(measured[at] <= 1.05 * least, "{}", best.policy.width);
        }
    }

    #[test]
    fn flexible_tiles_beat_equal_ones_with_barriers() {
        let costs = Costs { front: 1e-7, sync: 2e-7 };
        let barriers = costs.predict(&plan(Method::BarriersHyper, 8192, 128, 128), 64);
        let flexible = costs.predict(&plan(Method::FlagsFlexible, 8192, 128, 32), 64);
        assert!(flexible.seconds < barriers.seconds / 1.2, "{flexible:?} {barriers:?}");
        assert!(flexible.corner < barriers.corner);
    }
}
