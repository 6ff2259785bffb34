//! From a choice of devices to the executor that runs a wavefront there: the one place where a wavefront
//! meets that choice. Not here: the choice (`warpweft_core::run`).

use std::cell::OnceCell;

use super::Run;
use super::fastest::Runs;
use super::key::key;
use crate::cpu::{CpuExecutor, WHOLE};
use crate::cuda::CudaExecutor;
use crate::cuda::scan::ScanExecutor;
use crate::cuda::tiles::TileExecutor;
use crate::executor::{
    Edges, Ends, Need, Scores, TakePaths, Walk, WavefrontExecutor, edges_by_runs, ends_by_batches,
    in_turn, unrecorded,
};
use crate::policy::{CpuPolicy, Policy};
use crate::recurrence::{Traced, WavefrontElement};
use crate::spec::{Kept, Pairs, Wavefront};
use crate::traceback::End;
use warpweft_core::cpu::Pool;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::{Cpu, Gpu, Machine};
use warpweft_core::report::Report;
use warpweft_core::run::Watch;
use warpweft_core::tune::TuningCache;

/// Runs wavefronts of any element on the devices that a [`Run`] chooses of a machine, for what takes an executor:
/// [`traceback`](crate::traceback), [`RankExecutor`](crate::RankExecutor), many wavefronts one after another. A
/// single one is run by [`Wavefront::run_with`].
///
/// An interrupt or a deadline ends it before and, on the cores, within each wavefront; progress is told for
/// [`WavefrontExecutor::run`] alone.
///
/// ```
/// use warpweft::prelude::*;
/// use warpweft::wavefront::{Run, RunExecutor, WavefrontExecutor};
///
/// #[wavefront]
/// fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
///     if a == b { h.nw + 1 } else { h.n.max(h.w) }
/// }
///
/// # fn main() -> warpweft::Result<()> {
/// let run = Run { threads: Some(1), ..Run::default() };
/// let mut executor = RunExecutor::new(&Machine::detect()?, &run)?;
/// let pairs: [[&[u8]; 2]; 2] = [[b"GATT", b"ATT"], [b"ACA", b"CAT"]];
/// let all = pairs.map(|[a, b]| Wavefront::of(common()).rows(a).columns(b));
/// let (kept, report) = executor.run_batch(&all)?;
/// assert_eq!((kept.len(), report.done), (2, 12 + 9));
/// # Ok(())
/// # }
/// ```
pub struct RunExecutor<'a> {
    run: Run<'a>,
    on: On,
    notes: Vec<String>,
    /// The tuning results, read when a run first needs them; none if runs do not use them.
    tuned: Option<OnceCell<TuningCache>>,
}

/// The devices.
enum On {
    Cores {
        cpu: Cpu,
        threads: usize,
        /// Begun when it is known how many can be busy.
        pool: OnceCell<Pool>,
    },
    Gpus {
        first: Gpu,
        /// Of all those that can work together.
        strips: Box<CudaExecutor>,
        /// Made by the first run that needs it, and kept for further ones: making it takes longer than a small run.
        tiles: Option<Box<TileExecutor>>,
    },
}

impl<'a> RunExecutor<'a> {
    /// One on what `run` chooses of `machine`.
    ///
    /// # Errors
    /// As [`Run::devices`](warpweft_core::run::Run::devices); cores and GPUs together; the driver's.
    pub fn new(machine: &Machine, run: &Run<'a>) -> Result<Self> {
        let devices = run.devices(machine)?;
        let on = match (devices.threads, devices.gpus.first()) {
            (Some(threads), None) => {
                On::Cores { cpu: machine.cpu.clone(), threads, pool: OnceCell::new() }
            }
            (None, Some(&first)) => {
                let gpus = devices.gpus.iter().map(|&gpu| gpu.clone()).collect();
                let together = Machine { gpus, ..machine.clone() }.together()?;
                let policy = match run.policy {
                    Some(Policy::Cuda(policy)) => Some(policy),
                    _ => None,
                };
                let strips = Box::new(CudaExecutor::over(&together, policy)?);
                On::Gpus { first: first.clone(), strips, tiles: None }
            }
            _ => {
                let help =
                    "name the cores or GPUs: a wavefront is only as fast as its slowest device";
                return Err(Error::spec(format!("a wavefront on {}", run.target), help));
            }
        };
        let tuned = run.policy.is_none().then(OnceCell::new);
        Ok(Self { run: run.clone(), on, notes: devices.notes, tuned })
    }

    /// Without what searches found ([`Wavefront::tune`]).
    pub(crate) fn untuned(self) -> Self {
        Self { tuned: None, ..self }
    }

    /// The cores or the GPU, as kept policies are of one.
    pub(crate) fn device(&self) -> String {
        match &self.on {
            On::Cores { cpu, threads, .. } => cpu.label(*threads),
            On::Gpus { first, .. } => first.name.clone(),
        }
    }

    /// The policy that a search found for `wavefront`, on the cores or one GPU.
    fn kept_policy<E: WavefrontElement>(&self, wavefront: &Wavefront<'_, E>) -> Option<Policy> {
        let cache = self.tuned.as_ref()?.get_or_init(TuningCache::user);
        let several = matches!(&self.on, On::Gpus { strips, .. } if strips.count() > 1);
        cache.policy(&key(&wavefront.erased(), &self.device())).filter(|_| !several)
    }

    fn set_policy(&mut self, policy: Option<Policy>) {
        self.run.policy = policy;
        if let On::Gpus { strips, .. } = &mut self.on {
            strips.set_policy(match policy {
                Some(Policy::Cuda(policy)) => Some(policy),
                _ => None,
            });
        }
    }

    /// Runs `wavefront` by a policy that a search found; none if it does not fit, as one of a problem a little smaller
    /// may not.
    fn by_kept<E: WavefrontElement>(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        policy: Policy,
    ) -> Result<Option<(Kept<E::Cell>, Report)>> {
        self.set_policy(Some(policy));
        let done = self.run(wavefront);
        self.set_policy(None);
        match done {
            Ok((kept, mut report)) => {
                report.notes.push("the policy is that of an earlier search (`tune`)".into());
                Ok(Some((kept, report)))
            }
            Err(Error::Spec { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What looks after `cells` cells; progress is told if it is `heard`.
    fn watch(&self, cells: u64, heard: bool) -> Result<Watch<'a>> {
        let progress = self.run.progress.filter(|_| heard);
        let watch = Run { progress, ..self.run.clone() }.watch(cells, "cells");
        watch.check().map(|()| watch)
    }

    /// The executor on the cores, for `rows` rows, if they work.
    ///
    /// # Errors
    /// As [`Pool::over`] and [`CpuExecutor::new`].
    fn cores<'e>(&'e self, rows: usize, watch: Watch<'e>) -> Result<Option<CpuExecutor<'e>>>
    where
        'a: 'e,
    {
        let On::Cores { cpu, threads, pool } = &self.on else { return Ok(None) };
        let pool = match pool.get() {
            Some(pool) => pool,
            None => {
                let tiles = rows.div_ceil(CpuPolicy::for_domain(rows, *threads).tile_rows);
                // None that neither has a core nor rows to compute.
                let threads = (*threads).min(tiles.max(cpu.threads()));
                let begun = Pool::over(&cpu.cores, threads)?;
                pool.get_or_init(|| begun)
            }
        };
        let policy = match self.run.policy {
            Some(Policy::Cpu(policy)) => policy,
            _ => CpuPolicy::for_domain(rows, pool.len()),
        };
        Ok(Some(CpuExecutor::new(pool, policy)?.watched(watch)))
    }

    /// `report` with the label of the cores and the notes of the run.
    fn with_devices(&self, mut report: Report) -> Report {
        if let On::Cores { cpu, pool, .. } = &self.on
            && let Some(pool) = pool.get()
        {
            report.devices = vec![cpu.label(pool.len())];
        }
        report.notes.extend(self.notes.iter().cloned());
        report
    }

    /// What runs `wavefront` on the GPUs; none on the cores.
    fn fastest<E: WavefrontElement>(&self, wavefront: &Wavefront<'_, E>) -> Option<Runs> {
        let On::Gpus { first, .. } = &self.on else { return None };
        Some(match self.run.policy {
            Some(Policy::Scan(_)) => Runs::Scan,
            Some(Policy::Cuda(_)) => Runs::Strips,
            Some(Policy::Tiles(_)) => Runs::Tiles(None),
            Some(Policy::Cpu(_)) | None => Runs::of(wavefront, first.sms, first.shared_memory()),
        })
    }

    /// Whether the register strips run `wavefront`, which alone give edges, record choices and run batches.
    fn by_strips<E: WavefrontElement>(&self, wavefront: &Wavefront<'_, E>) -> bool {
        let On::Gpus { strips, .. } = &self.on else { return false };
        strips.misses(wavefront).is_none() && self.fastest(wavefront) != Some(Runs::Scan)
    }
}

/// The cells that are computed for `wavefront`, bands aside.
fn cells<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> u64 {
    let [rows, columns] = wavefront.extents();
    rows as u64 * columns as u64 * wavefront.sweeps as u64
}

impl<E: WavefrontElement> WavefrontExecutor<E> for RunExecutor<'_> {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        if self.run.policy.is_none()
            && let Some(policy) = self.kept_policy(wavefront)
            && let Some(done) = self.by_kept(wavefront, policy)?
        {
            return Ok(done);
        }
        let [rows, _] = wavefront.extents();
        let watch = self.watch(cells(wavefront), true)?;
        let runs = self.fastest(wavefront);
        let policy = self.run.policy;
        let (kept, report) = match (&mut self.on, runs) {
            (On::Gpus { strips, .. }, Some(Runs::Strips)) => strips.run(wavefront)?,
            (On::Gpus { first, strips, .. }, Some(Runs::Scan)) => {
                strips.release();
                let policy = match policy {
                    Some(Policy::Scan(policy)) => Some(policy),
                    _ => None,
                };
                ScanExecutor::new(&first.device()?, policy)?.run(wavefront)?
            }
            (On::Gpus { first, strips, tiles }, Some(Runs::Tiles(missing))) => {
                strips.release();
                let policy = match policy {
                    Some(Policy::Tiles(policy)) => Some(policy),
                    _ => None,
                };
                let executor = match tiles {
                    Some(executor) => executor,
                    None => tiles.insert(Box::new(TileExecutor::new(&first.device()?, policy)?)),
                };
                // It may be that of an earlier run.
                executor.set_policy(policy);
                let (kept, mut report) = executor.run(wavefront)?;
                let name = E::NAME;
                let why = missing.map(|what| {
                    format!("computed by tiles, because {name} has {what}, which the register-strip kernel does not support")
                });
                report.notes.extend(why);
                (kept, report)
            }
            (On::Cores { .. }, _) | (On::Gpus { .. }, None) => {
                let done = self.cores(rows, watch)?.map(|mut cores| cores.run(wavefront));
                let (kept, report) = done.unwrap_or_else(|| Err(neither()))?;
                return Ok((kept, self.with_devices(report)));
            }
        };
        watch.ended()?;
        Ok((kept, self.with_devices(report)))
    }

    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        let all = wavefronts.iter().map(cells).sum();
        let watch = self.watch(all, false)?;
        let strips = wavefronts.iter().all(|wavefront| self.by_strips(wavefront));
        let (kept, report) = match &mut self.on {
            On::Gpus { strips: executor, .. } if strips => executor.run_batch(wavefronts)?,
            On::Gpus { .. } => return in_turn(wavefronts, |wavefront| self.run(wavefront)),
            On::Cores { .. } => {
                let rows = wavefronts.iter().map(|wavefront| wavefront.extents()[0]).max();
                let cores = self.cores(rows.unwrap_or(0), watch)?;
                cores.map_or_else(|| Err(neither()), |mut cores| cores.run_batch(wavefronts))?
            }
        };
        Ok((kept, self.with_devices(report)))
    }

    fn ends(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Ends<E>> {
        pairs.check()?;
        // Ends before it begins, if it is to.
        self.watch(0, false)?;
        let strips = self.by_strips(&pairs.problem(0));
        let (found, report) = match &mut self.on {
            On::Gpus { strips: executor, .. } if strips => executor.ends(pairs, end)?,
            _ => return ends_by_batches(self, pairs, end),
        };
        Ok((found, self.with_devices(report)))
    }

    fn scores(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Scores<E>> {
        pairs.check()?;
        self.watch(0, false)?;
        let strips = self.by_strips(&pairs.problem(0));
        if let On::Gpus { strips: executor, .. } = &mut self.on
            && strips
        {
            let (found, report) = executor.scores(pairs, end)?;
            return Ok((found, self.with_devices(report)));
        }
        let (ends, report) = self.ends(pairs, end)?;
        Ok((ends.into_iter().map(|end| end.map(|best| best.score)).collect(), report))
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        let watch = self.watch(cells(wavefront), false)?;
        let by_strips = self.by_strips(wavefront);
        match &mut self.on {
            On::Gpus { strips, .. } if by_strips => strips.edges(wavefront),
            On::Gpus { .. } => edges_by_runs(self, wavefront),
            On::Cores { .. } => {
                let cores = self.cores(wavefront.extents()[0], watch)?;
                cores.map_or_else(|| Err(neither()), |mut cores| cores.edges(wavefront))
            }
        }
        .map(|(edges, report)| (edges, self.with_devices(report)))
    }

    fn whole_cells(&self) -> usize {
        match &self.on {
            On::Gpus { .. } => usize::MAX,
            On::Cores { .. } => WHOLE,
        }
    }

    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        match &self.on {
            On::Gpus { strips, .. } => strips.directions(wavefront),
            On::Cores { .. } => {
                let cores = self.cores(wavefront.extents()[0], Watch::default())?;
                cores.map_or(Ok(None), |cores| cores.directions(wavefront))
            }
        }
    }

    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        let watch = self.watch(cells(wavefront), false)?;
        let report = match &mut self.on {
            On::Gpus { strips, .. } => strips.record(wavefront, walk),
            On::Cores { .. } => match self.cores(wavefront.extents()[0], watch)? {
                Some(mut cores) => cores.record(wavefront, walk),
                None => Err(unrecorded::<E>()),
            },
        };
        report.map(|report| self.with_devices(report))
    }

    fn paths(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        end: End,
        take: &TakePaths<'_, E>,
    ) -> Result<Option<Report>>
    where
        E: Traced,
    {
        let watch = self.watch(wavefronts.iter().map(cells).sum(), false)?;
        let rows = wavefronts.iter().map(|wavefront| wavefront.extents()[0]).max();
        let strips = wavefronts.iter().all(|wavefront| self.by_strips(wavefront));
        let found = match &mut self.on {
            On::Gpus { strips: executor, .. } if strips => executor.paths(wavefronts, end, take)?,
            On::Gpus { .. } => None,
            On::Cores { .. } => match self.cores(rows.unwrap_or(0), watch)? {
                Some(mut cores) => cores.paths(wavefronts, end, take)?,
                None => None,
            },
        };
        Ok(found.map(|report| self.with_devices(report)))
    }
}

/// Neither cores nor GPUs, which no choice of devices is.
fn neither() -> Error {
    Error::spec("a wavefront on no device", "please report this")
}
