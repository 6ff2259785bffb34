//! Stencils over ranks, on cores and on GPUs.

mod cones;
mod distributed;
mod gpus;
mod subdomains;
mod time_blocks;

use std::time::Duration;

use warpweft::prelude::*;
use warpweft::stencil::CpuPolicy;
use warpweft::stencil::drive::{Distribution, RankReport, run_on_cores};

/// As [`run_on_cores`], with one thread a subdomain and the policy that it has by default.
pub fn run_in_process<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &mut Volume<S, D>,
    steps: u64,
    distribution: &Distribution,
    deadline: Duration,
) -> Result<Vec<RankReport>> {
    let cores: Vec<_> = Machine::detect()?.cpu.cores.into_iter().map(|core| vec![core]).collect();
    let policy = CpuPolicy::default();
    run_on_cores(stencil, volume, steps, distribution, policy, &cores, deadline)
}
