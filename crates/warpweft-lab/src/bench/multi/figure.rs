//! What a volume on a number of GPUs came to: the best of each number, and with each kernel.

use serde::Serialize;
use warpweft::machine::Probe;
use warpweft::stencil::{CudaKernel, CudaPolicy, Policy, Trial};

/// One volume on one number of GPUs.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// "strong": the volume is shared; "weak": each GPU has as many cells; "share": one GPU has no more
    /// than its share, and what that takes bounds what all can gain; "alone": one GPU after another has
    /// the whole; "untuned": as "weak", by runs that nobody has tuned.
    pub scaling: &'static str,
    /// The stencil, if it is not heat conduction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<&'static str>,
    pub dims: usize,
    /// Cells along each axis: of all GPUs' volume, in weak scaling of one GPU's.
    pub size: usize,
    pub gpus: usize,
    /// Of the best policy.
    pub microseconds_a_step: f64,
    pub cells_per_second: f64,
    /// Speedup (strong) or efficiency (weak) over the best policy of one GPU.
    pub over_best: f64,
    /// The same over one GPU's best policy with the same kernel.
    pub over_same_kernel: Option<f64>,
    /// Weak scaling over the best policy of one GPU on the slowest of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_slowest: Option<f64>,
    /// Microseconds a step that more GPUs can't go below however fast they compute: what a launch
    /// costs in a graph, and one way of a flag between GPUs for every exchange.
    pub floor: Option<f64>,
    pub policy: Policy,
}

/// The skeleton of a policy for GPUs.
pub fn kernel(policy: &Policy) -> Option<CudaKernel> {
    match policy {
        Policy::Cuda(cuda) => Some(cuda.kernel),
        Policy::Cpu(_) => None,
    }
}

/// What `trial` came to, over nothing yet.
pub fn figure(
    trial: &Trial,
    scaling: &'static str,
    dims: usize,
    size: usize,
    cells: usize,
    probe: &Probe,
) -> Figure {
    let steps = match &trial.policy {
        Policy::Cuda(policy) if trial.devices > 1 => f64::from(policy.temporal_depth),
        _ => 1.0,
    };
    let hops = probe.pairs.iter().filter_map(|pair| pair.hop);
    let hop = hops.reduce(f64::max).filter(|_| trial.devices > 1);
    let launch = probe.gpus.first().and_then(|gpu| gpu.graph_launch);
    // Launches per step: one for each pass of fused steps, few for a persistent kernel, else one.
    let launches = match kernel(&trial.policy) {
        Some(CudaKernel::Temporal) => 1.0 / steps,
        Some(CudaKernel::Resident) => 1.0 / CudaPolicy::RESIDENT_STEPS as f64,
        _ => 1.0,
    };
    Figure {
        scaling,
        case: None,
        dims,
        size,
        gpus: trial.devices,
        microseconds_a_step: 1e6 * trial.seconds,
        cells_per_second: cells as f64 / trial.seconds,
        over_best: 1.0,
        over_same_kernel: None,
        over_slowest: None,
        floor: launch.map(|launch| 1e6 * (launch * launches + hop.unwrap_or(0.0) / steps)),
        policy: trial.policy,
    }
}

/// The best of each number of GPUs and, where that is another, the best with each kernel.
pub fn figures_of(
    trials: &[Trial],
    scaling: &'static str,
    dims: usize,
    size: usize,
    ideal: f64,
    probe: &Probe,
) -> Vec<Figure> {
    let cells = size.pow(dims as u32);
    let best = |devices: usize, of: Option<CudaKernel>| {
        let fit = trials.iter().filter(|trial| trial.devices == devices);
        let fit = fit.filter(|trial| of.is_none() || kernel(&trial.policy) == of);
        fit.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    };
    let mut counts: Vec<_> = trials.iter().map(|trial| trial.devices).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut figures = Vec::new();
    for devices in counts {
        let mut kernels = vec![best(devices, None).and_then(|trial| kernel(&trial.policy))];
        for of in [CudaKernel::Direct, CudaKernel::Temporal, CudaKernel::Resident] {
            if !kernels.contains(&Some(of)) {
                kernels.push(Some(of));
            }
        }
        for of in kernels {
            let Some(trial) = best(devices, of) else { continue };
            let mut figure = figure(trial, scaling, dims, size, cells, probe);
            let over = |one: Option<&Trial>| one.map(|one| ideal * one.seconds / trial.seconds);
            figure.over_best = over(best(1, None)).unwrap_or(f64::NAN);
            figure.over_same_kernel = over(best(1, of));
            figures.push(figure);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::stencil::CudaPolicy;

    fn trial(devices: usize, kernel: CudaKernel, seconds: f64) -> Trial {
        let cuda = CudaPolicy {
            kernel,
            cells: [4, 1, 1],
            warps: 4,
            min_blocks: 1,
            chunk: 8,
            prefetch: 1,
            temporal_depth: 3,
            phases: 0,
            contraction: true,
        };
        Trial { policy: Policy::Cuda(cuda), devices, seconds, ran: (1, seconds) }
    }

    #[test]
    fn speedups_are_over_the_best_and_over_the_same_kernel() {
        use CudaKernel::{Direct, Temporal};
        let trials = [
            trial(1, Direct, 8e-6),
            trial(1, Temporal, 4e-6),
            trial(4, Direct, 2e-6),
            trial(4, Direct, 3e-6),
            trial(4, Temporal, 1.6e-6),
        ];
        let probe = Probe {
            cpu: Default::default(),
            gpus: Vec::new(),
            pairs: Vec::new(),
            notes: Vec::new(),
            seconds: 0.0,
            when: 0,
        };
        let found = figures_of(&trials, "strong", 2, 10, 1.0, &probe);
        let seen: Vec<_> = found
            .iter()
            .map(|it| (it.gpus, kernel(&it.policy).unwrap(), it.over_best, it.over_same_kernel))
            .collect();
        assert_eq!(
            seen,
            [
                (1, Temporal, 1.0, Some(1.0)),
                (1, Direct, 0.5, Some(1.0)),
                (4, Temporal, 4e-6 / 1.6e-6, Some(4e-6 / 1.6e-6)),
                (4, Direct, 2.0, Some(4.0)),
            ]
        );
        let mut found = found;
        let share = Figure { scaling: "share", microseconds_a_step: 1.25, ..found[0].clone() };
        found.push(Figure { over_best: 3.2, ..share });
        let shown = super::super::table::table(&found, &[]);
        assert!(shown.contains("alone takes 1.25 us a step: at most 3.20 of"), "{shown}");
        assert!(shown.contains("strong 10 x 10") && shown.contains("2.50 of the best"), "{shown}");
    }
}
