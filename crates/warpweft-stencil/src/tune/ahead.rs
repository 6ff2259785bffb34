//! Before candidates on several GPUs are tried: which come first, and all of them compiled.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::policy::{CudaPolicy, Policy};
use super::Trial;
use warpweft_core::tune::Budget;

/// Threads that compile at most.
const COMPILERS: usize = 16;

/// `candidates` with those first whose shape one of the two fastest trials on one GPU had: a subdomain
/// is a volume too, and the budget may not reach the last.
pub(super) fn fastest_alone_first(
    mut candidates: Vec<CudaPolicy>,
    trials: &[Trial],
) -> Vec<CudaPolicy> {
    // Chunks are fitted to a subdomain.
    let shape = |cuda: &CudaPolicy| CudaPolicy { chunk: 0, ..*cuda };
    let alone = |trial: &Trial| match trial.policy {
        Policy::Cuda(cuda) => Some((trial.seconds, shape(&cuda))),
        _ => None,
    };
    let mut alone: Vec<_> = trials.iter().filter_map(alone).collect();
    alone.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut shapes: Vec<CudaPolicy> = Vec::new();
    for (_, shape) in alone {
        if !shapes.contains(&shape) && shapes.len() < 2 {
            shapes.push(shape);
        }
    }
    let rank = |policy: &CudaPolicy| {
        shapes.iter().position(|known| *known == shape(policy)).unwrap_or(shapes.len())
    };
    candidates.sort_by_key(rank);
    candidates
}

/// Compiles `count` candidates into the cache, several at once, each as it runs and as it is checked; the `first` ones
/// whatever the budget. One that fails will do so again when tried, one that the budget did not reach is compiled then.
pub(super) fn compile_ahead(
    (count, first): (usize, usize),
    threads: usize,
    budget: Budget,
    compile: impl Fn(usize, bool) + Sync,
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, COMPILERS) {
            // A thread that is refused leaves its share to the others, or to the trials.
            let _ = std::thread::Builder::new().name("compiler".into()).spawn_scoped(scope, || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= 2 * count || (n >= 2 * first && budget.spent()) {
                        break;
                    }
                    compile(n / 2, n % 2 == 1);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stencil;
    use crate::prelude::{Near, stencil};

    #[stencil]
    fn smooth(u: Near<f32, 2>) -> f32 {
        0.5 * u[[0, 0]] + 0.25 * (u[[0, -1]] + u[[0, 1]])
    }

    #[test]
    fn what_was_fast_on_one_gpu_is_tried_early_on_several() {
        let stencil = Stencil::of(smooth());
        let shapes = CudaPolicy::candidates(&stencil, [4096, 4096].into(), ((9, 0), 132));
        let candidates = shapes.clone();
        let all = candidates.len();
        let trial = |n: usize, seconds: f64| {
            let cuda = CudaPolicy { chunk: shapes[n].chunk + 1, ..shapes[n] };
            Trial { policy: Policy::Cuda(cuda), devices: 1, seconds, ran: (1, 1.0) }
        };
        let alike = |n: usize, m: usize| {
            CudaPolicy { chunk: 0, ..shapes[n] } == CudaPolicy { chunk: 0, ..shapes[m] }
        };
        assert!(all > 3 && !alike(all - 1, 1) && !alike(all - 1, 2), "{shapes:?}");
        let trials = [trial(0, 3.0), trial(all - 1, 1.0), trial(1, 2.0)];
        let found = fastest_alone_first(candidates.clone(), &trials);
        assert_eq!(found[0], candidates[all - 1]);
        assert!(CudaPolicy { chunk: 0, ..found[1] } == CudaPolicy { chunk: 0, ..shapes[1] });
        assert_eq!(found.len(), all);
        assert!(candidates.iter().all(|policy| found.contains(policy)));
        assert_eq!(fastest_alone_first(candidates.clone(), &[]), candidates);
    }
}
