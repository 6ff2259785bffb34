//! Wavefronts on the cores: tile-rows round robin to pinned workers, one-way flags between them.
//!
//! PeerWave (section 3.1 and 3.2) on cores: a worker waits until the tile-row above has published
//! the columns it needs, computes them, and publishes its own. Recurrences of north, west and
//! north-west go by anti-diagonals in vectors, and one row of cells is all that passes through memory
//! unless the matrix is kept (`strips`); any other dependences, and several sweeps, go cell by cell
//! through the whole matrix (`sweeps`).

mod row;
mod simd;
mod strip;
mod strips;
mod sweeps;

use std::time::Instant;

use self::strips::{Filled, Strips};
use self::sweeps::Sweeps;
use super::element::WavefrontElement;
use super::executor::WavefrontExecutor;
use super::policy::{CpuPolicy, Policy};
use super::report::report;
use super::spec::{Kept, Wavefront};
use crate::cpu::{Pool, Simd, WorkerPanic};
use crate::error::{Error, Result};
use crate::report::Report;

/// Runs wavefronts on the workers of a pool.
pub struct CpuExecutor<'a> {
    pool: &'a Pool,
    policy: CpuPolicy,
    simd: Simd,
}

impl<'a> CpuExecutor<'a> {
    /// An executor on `pool`, whose length overrides the policy's number of threads.
    ///
    /// # Errors
    /// A tile of no rows or columns.
    pub fn new(pool: &'a Pool, policy: CpuPolicy) -> Result<Self> {
        if policy.tile_rows == 0 || policy.tile_columns == 0 {
            return Err(Error::spec(
                format!("a tile of {} × {} cells", policy.tile_rows, policy.tile_columns),
                "give it at least one row and one column",
            ));
        }
        let policy = CpuPolicy { threads: pool.len(), ..policy };
        Ok(Self { pool, policy, simd: Simd::detect() })
    }

    /// Limits the instruction set, for tests and comparisons.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for CpuExecutor<'_> {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        wavefront.check()?;
        let panicked = |panic: WorkerPanic| Error::Element {
            place: format!("{} on worker {}", E::NAME, panic.worker),
            what: panic.message,
        };
        let (begin, policy) = (Instant::now(), self.policy);
        let (kept, setup_seconds, seconds);
        if strips::can::<E>() {
            let mut filled = Filled::new(wavefront)?;
            let strips = Strips::new(wavefront, policy, self.simd, &mut filled);
            setup_seconds = begin.elapsed().as_secs_f64();
            let begin = Instant::now();
            strips.run(self.pool).map_err(panicked)?;
            seconds = begin.elapsed().as_secs_f64();
            kept = strips.outcome().kept(wavefront.keep, filled);
        } else {
            let sweeps = Sweeps::new(wavefront, policy)?;
            setup_seconds = begin.elapsed().as_secs_f64();
            let begin = Instant::now();
            sweeps.run(self.pool).map_err(panicked)?;
            seconds = begin.elapsed().as_secs_f64();
            kept = sweeps.kept()?;
        }
        let devices = vec![format!("{} cores", self.pool.len())];
        Ok((kept, report(wavefront, devices, seconds, setup_seconds, Policy::Cpu(policy))))
    }
}
