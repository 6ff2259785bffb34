//! Time of a step as a function of the ghost zone's depth: B2R's analytical model, §3.4.
//!
//! Equations (2)–(7) for subdomains of any extents in 1 to 4 dimensions, cut along any axes, with
//! asymmetric reach; the paper writes them for cubes. `docs/models.md` maps equation to function.
//! Nothing here measures: rates come from [`fit`] or [`refine`], samples from runs.

mod balanced;
mod fit;
mod geometry;
mod refine;
mod subdomain;
mod traced;

use serde::{Deserialize, Serialize};

pub use balanced::{Balanced, Split};
pub use fit::{Fitted, Sample, fit};
pub use geometry::Geometry;
pub use refine::refine;
pub use subdomain::Subdomain;
pub use traced::Traced;
pub(crate) use traced::core;

/// Equations (1) and (4): `seconds = per_unit · x + fixed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// Seconds a unit: a cell (a_c) or a byte (a_m, the inverse of bandwidth).
    pub per_unit: f64,
    /// Seconds a time: a launch (b_c) or a transfer (b_m, the latency).
    pub fixed: f64,
}

impl Linear {
    /// Equation (1) at size `x`, done `times` times.
    pub fn seconds(&self, x: f64, times: f64) -> f64 {
        self.per_unit * x + self.fixed * times
    }
}

/// Which cells are computed between two swaps, and how often the fixed cost is paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// The region shrinks by δ a step; one fixed cost a swap: equation (2), the paper's CPU.
    Shrinking,
    /// The whole zone every step; one launch a step: equation (3), the paper's GPU.
    Whole,
    /// The region shrinks and each step is a launch: what Warpweft's GPUs and ranks do.
    #[default]
    ShrinkingLaunches,
}

/// What crosses the link between host and device in a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Staging {
    /// Nothing: devices reach one another, or the host computes.
    None,
    /// The halos, out and in.
    Halos,
    /// The whole subdomain: equation (6).
    Whole,
}

/// What is computed while halos are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// Nothing.
    None,
    /// The core, in all steps up to the swap: what neighbours wait for is computed first, apart.
    Core,
    /// One step: tiles send in the last launch before the swap, the first ones of it, and those of the
    /// next launch that read no ghosts do not wait. Measured on GPUs that exchange in words.
    LastStep,
}

/// Rates of one device and its links, and how a swap is done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GhostModel {
    /// a_c and b_c: seconds a cell and a launch.
    pub compute: Linear,
    /// a_m^M and b_m^M: seconds a byte and a swap, between parts.
    pub network: Linear,
    /// a_m^G and b_m^G: seconds a byte and a swap, between host and device.
    pub host_link: Linear,
    /// Which cells are computed.
    pub kernel: Kernel,
    /// What is staged through the host.
    pub staging: Staging,
    /// What is computed while halos fly.
    pub overlap: Overlap,
}

/// Seconds a step, with its parts; without overlap they add up to `seconds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Seconds a step.
    pub seconds: f64,
    /// Computing the part's own cells.
    pub compute: f64,
    /// Computing ghost cells again that a neighbour computes too.
    pub redundant: f64,
    /// Fixed costs: launches and the latency of transfers.
    pub latency: f64,
    /// Bytes over bandwidth.
    pub bandwidth: f64,
    /// Communication that the core's computation hides.
    pub hidden: f64,
}

impl GhostModel {
    /// Equation (7) for `depth` steps between swaps (R ≥ 1): seconds a step.
    ///
    /// With [`Overlap::Core`] rim and core are launched apart, and the swap costs what of it outlasts
    /// the core; a part that is all rim overlaps nothing. With [`Overlap::LastStep`] it costs what of it
    /// outlasts one step of the part's own cells: a deep zone, sent all at once, hides no better than
    /// one for a single step.
    pub fn predict(&self, part: &impl Geometry, depth: usize) -> Prediction {
        let steps = depth.max(1) as f64;
        let (cells, launches) = self.work(part, depth);
        let own = self.compute.per_unit * part.cells() * steps;
        let all = self.compute.per_unit * cells;
        let bytes = part.halo_bytes(depth);
        let staged = self.staged_bytes(part, depth);
        let bandwidth = self.network.per_unit * bytes + self.host_link.per_unit * staged;
        let swap = if bytes > 0.0 { self.network.fixed } else { 0.0 }
            + if staged > 0.0 { self.host_link.fixed } else { 0.0 };
        let mut launching = self.compute.fixed * launches;
        let mut hidden = 0.0;
        let core = part.core_cells(depth);
        match self.overlap {
            Overlap::Core if bytes > 0.0 && core > 0.0 => {
                hidden = (self.compute.per_unit * core + launching).min(bandwidth + swap);
                launching *= 2.0;
            }
            Overlap::LastStep => {
                let step = self.compute.seconds(part.cells(), 1.0);
                hidden = step.min(bandwidth + swap);
            }
            _ => {}
        }
        Prediction {
            seconds: (all + launching + bandwidth + swap - hidden) / steps,
            compute: own / steps,
            redundant: (all - own) / steps,
            latency: (launching + swap) / steps,
            bandwidth: bandwidth / steps,
            hidden: hidden / steps,
        }
    }

    /// The depth of least predicted time in `1..=deepest`, and its prediction. Complexity:
    /// O(deepest²).
    pub fn best_depth(&self, part: &impl Geometry, deepest: usize) -> (usize, Prediction) {
        let all = (1..=deepest.max(1)).map(|depth| (depth, self.predict(part, depth)));
        all.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds)).unwrap_or((1, Prediction::default()))
    }

    /// Cells computed and launches in one swap's steps.
    fn work(&self, part: &impl Geometry, depth: usize) -> (f64, f64) {
        match self.kernel {
            Kernel::Shrinking => (part.shrinking_cells(depth), 1.0),
            Kernel::Whole => (part.whole_cells(depth), depth as f64),
            Kernel::ShrinkingLaunches => (part.shrinking_cells(depth), depth as f64),
        }
    }

    fn staged_bytes(&self, part: &impl Geometry, depth: usize) -> f64 {
        match self.staging {
            Staging::None => 0.0,
            Staging::Halos => 2.0 * part.halo_bytes(depth),
            Staging::Whole => part.staged_bytes(depth),
        }
    }
}

#[cfg(test)]
mod tests;
