//! Many problems: a worker takes the next one and computes it alone, the largest first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::form::Cells16;
use super::output::Filled;
use super::strips::{self, Strips};
use super::sweeps::Sweeps;
use super::{CpuExecutor, panicked};
use crate::executor::{WavefrontExecutor, by_size, in_turn};
use crate::policy::{CpuPolicy, Policy};
use crate::recurrence::WavefrontElement;
use crate::report::report;
use crate::spec::{Kept, Wavefront};
use warpweft_core::cpu::{Simd, Worker};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Rows of a tile-row of a problem that one worker computes, and columns of a tile: the one with the
/// best cell is computed twice.
const ALONE: [usize; 2] = [1024, 256];
/// Cells of a problem that several workers are not worth calling for: some 50 µs of one.
const SMALL: u64 = 1 << 20;

impl CpuExecutor<'_> {
    /// As [`WavefrontExecutor::run_batch`].
    pub(super) fn batch<E: WavefrontElement>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        wavefronts.iter().try_for_each(Wavefront::check)?;
        let erased: Vec<_> = wavefronts.iter().map(Wavefront::erased).collect();
        let (large, rest) = by_size(&erased, self.pool.len(), SMALL);
        if !E::OLD.is_empty() || rest.is_empty() {
            return in_turn(wavefronts, |wavefront| self.run(wavefront));
        }
        let begin = Instant::now();
        let results: Vec<_> = wavefronts.iter().map(|_| Mutex::new(None)).collect();
        let put = |k: usize, result: Result<Kept<E::Cell>>| {
            *results[k].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        for k in large {
            put(k, Ok(self.run(&wavefronts[k])?.0));
        }
        let next = AtomicUsize::new(0);
        let (policy, simd) = (self.policy, self.simd);
        self.watch
            .run(self.pool, |worker| {
                while let Some(&k) = rest.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(result) = alone(policy, simd, &wavefronts[k], worker).transpose() {
                        put(k, result);
                    }
                }
                Ok(())
            })
            .map_err(|panic| panicked(E::NAME, Some(panic)))?;
        self.watch.completed()?;
        let stopped = || Error::spec("a problem left undone", "report this as a bug");
        let all = results
            .into_iter()
            .map(|result| {
                let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
                result.unwrap_or_else(|| Err(stopped()))
            })
            .collect::<Result<_>>()?;
        let devices = vec![self.threads()];
        let seconds = begin.elapsed().as_secs_f64();
        let narrow = |wavefront| Cells16::fits(wavefront, self.policy).is_some();
        let cells_16_bit = wavefronts.iter().any(narrow);
        let policy = Policy::Cpu(CpuPolicy { cells_16_bit, ..self.policy }).to_json();
        Ok((all, report(&erased, devices, seconds, 0.0, policy)))
    }
}

/// One problem on one worker; none if another worker's panic or an interrupt ended it.
fn alone<E: WavefrontElement>(
    policy: CpuPolicy,
    simd: Simd,
    wavefront: &Wavefront<'_, E>,
    worker: &Worker<'_>,
) -> Result<Option<Kept<E::Cell>>> {
    let [tile_rows, tile_columns] = ALONE;
    let policy = CpuPolicy { tile_rows, tile_columns, ..policy };
    let mut filled = Filled::new(wavefront)?;
    let outcome = if const { strips::can::<E>() } {
        Strips::new(wavefront, policy, simd, &mut filled)?.run(worker)
    } else {
        let sweeps = Sweeps::new(wavefront, policy, simd, &mut filled)?;
        sweeps.run(worker).map(|()| sweeps.outcome())
    };
    Ok(outcome.ok().map(|outcome| outcome.kept(wavefront.keep, filled)))
}
