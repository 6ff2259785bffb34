//! CPU and GPU on one subdomain: equation (8) with equations (2) and (3) in it.

use super::{GhostModel, Linear, Prediction, Subdomain};

/// The two devices that share a subdomain along its slowest axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balanced {
    /// The cores.
    pub cpu: GhostModel,
    /// The GPU.
    pub gpu: GhostModel,
    /// δ below and above across the cut between the two, whether or not nodes are cut there.
    pub delta: [usize; 2],
}

/// Who gets how many planes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Planes of the CPU (x_C); 0 when it does not pay.
    pub cpu: usize,
    /// Planes of the GPU (x_G).
    pub gpu: usize,
    /// Seconds a step of the slower of the two.
    pub seconds: f64,
}

impl Balanced {
    /// The split of least time for `depth` steps between swaps: equation (8) asks for equal times,
    /// which is where the slower of the two is fastest (the paper writes F_c = min(F^C, F^G); the
    /// step ends when *both* have ended, so the time is the greater). A device's share is at
    /// least its ghost zone deep or nothing; the CPU gets nothing when the GPU alone is as fast.
    /// The network is the node's, so its time counts once, by the GPU's rates, and does not weigh
    /// in the balance.
    pub fn split(&self, part: &Subdomain, depth: usize) -> Split {
        let planes = part.extents[0];
        let together = self.gpu.predict(part, depth).seconds;
        let alone = Split { cpu: 0, gpu: planes, seconds: together };
        let [cpu_model, gpu_model] =
            [self.cpu, self.gpu].map(|model| GhostModel { network: Linear::default(), ..model });
        let network = together - gpu_model.predict(part, depth).seconds;
        let zone = (depth * self.delta[0].max(self.delta[1])).max(1);
        let seconds = |cpu: usize| {
            let share = |planes: usize| {
                let mut share = *part;
                share.extents[0] = planes;
                share.delta[0] = self.delta;
                share
            };
            let cpu_time = cpu_model.predict(&share(cpu), depth).seconds;
            (cpu_time, gpu_model.predict(&share(planes - cpu), depth).seconds)
        };
        if planes < 2 * zone {
            return alone;
        }
        // The CPU's time grows with its planes and the GPU's falls: find where they cross.
        let (mut low, mut high) = (zone, planes - zone);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let (cpu, gpu) = seconds(middle);
            if cpu < gpu { low = middle } else { high = middle }
        }
        let split = |cpu: usize| {
            let (cpu_time, gpu_time) = seconds(cpu);
            Split { cpu, gpu: planes - cpu, seconds: cpu_time.max(gpu_time) + network }
        };
        let candidates = [alone, split(low), split(high)];
        candidates.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds)).unwrap_or(alone)
    }

    /// The depth of least time in `1..=deepest` with its split, and the GPU's part of the
    /// prediction.
    pub fn best_depth(&self, part: &Subdomain, deepest: usize) -> (usize, Split, Prediction) {
        let mut best = (1, self.split(part, 1));
        for depth in 2..=deepest {
            let split = self.split(part, depth);
            if split.seconds < best.1.seconds {
                best = (depth, split);
            }
        }
        let mut share = *part;
        share.extents[0] = best.1.gpu;
        (best.0, best.1, self.gpu.predict(&share, best.0))
    }
}
