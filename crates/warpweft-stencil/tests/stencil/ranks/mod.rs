//! Stencils over ranks, on cores and on GPUs.

mod cones;
mod distributed;
mod gpus;
mod subdomains;
mod time_blocks;

use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Runs at the same time on a GPU: most of their time goes to compiling and to the driver.
pub const AT_ONCE: usize = 4;

/// Does `run` for all of `cases`, a few at a time.
pub fn each_of<T: Sync>(cases: &[T], run: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(case);
                }
            });
        }
    });
}
