//! The workers of one process on their threads.

use std::sync::{Arc, OnceLock};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Instant;

use super::table::WorkerTable;
use crate::drive::Run;
use crate::drive::clocks::{Clocks, checked};
use crate::drive::context::{WorkerContext, no_form};
use crate::drive::endpoint::Endpoint;
use crate::drive::settings::Lanes;
use crate::kernels::{KernelTable, Searches};
use crate::policy::Policy;
use crate::spec::lane::{KernelTuning, Site};
use crate::spec::worker::Worker;
use warpweft_core::cpu::{self, Pool, WorkerPanic, panic_text};
use warpweft_core::error::{Error, Result, no_thread};
use warpweft_core::machine::{Gpu, Machine};
use warpweft_core::run::Devices;
use warpweft_core::trace::Trace;

/// Cores and lanes of this process, compiled once for all tasks.
pub struct LocalWorkers {
    /// On the cores, whose workers come first.
    pool: Option<Pool>,
    /// After them.
    lanes: Vec<Site>,
    /// Of all lanes.
    tuning: Option<Arc<KernelTuning>>,
    /// When they began their tasks.
    pub clocks: Arc<Clocks>,
    /// What they are.
    pub table: WorkerTable,
}

impl LocalWorkers {
    /// Cores and lanes of `machine`, as `run` says.
    ///
    /// # Errors
    /// GPUs for a task that has no form `on_gpu`, or where there are none on the only rank; no threads to be had.
    pub fn new(on_gpu: bool, tasks: u64, machine: &Machine, run: &Run<'_>) -> Result<Self> {
        if !on_gpu && run.target.names_gpus() {
            return Err(no_form());
        }
        let Devices { threads, mut gpus, .. } = run.devices(machine)?;
        if !on_gpu {
            gpus.clear();
        }
        let node = run.others().map_or(0, |net| net.rank());
        let (lanes, tuning) = match gpus.is_empty() {
            true => (Vec::new(), None),
            false => {
                let tuning = Arc::new(KernelTuning {
                    table: KernelTable::of_user()?,
                    searches: Searches::default(),
                });
                (sites(&gpus, run, &tuning)?, Some(tuning))
            }
        };
        let threads = threads.map(|threads| run.threads.unwrap_or(left(threads, lanes.len())));
        // More would get no task.
        let most = usize::try_from(tasks).unwrap_or(usize::MAX).max(1);
        let threads = threads.map(|threads| threads.min(most));
        let pool = threads.map(|threads| Pool::over(&machine.cpu.cores, threads)).transpose()?;
        let threads = threads.unwrap_or(0);
        let workers: Vec<_> =
            Worker::cores(node, threads).chain(lanes.iter().map(|site| site.unit(node))).collect();
        let clocks = Clocks::new(workers.len(), checked(&run.settings)?);
        let cores = pool.iter().map(|_| machine.cpu.label(threads));
        let devices = cores.chain(gpus.iter().map(|gpu| gpu.label())).collect();
        Ok(Self { pool, lanes, tuning, clocks, table: WorkerTable::own(workers, devices) })
    }

    /// Keeps what lanes have found of the blocks of their kernels; a cache that can't be written costs later runs a search.
    pub fn keep_blocks(&self) -> Option<String> {
        let kept = self.tuning.as_ref()?.searches.keep();
        kept.err().map(|error| format!("the block sizes found are not kept: {error}"))
    }

    /// Starts the `work` of every worker, each with its own `endpoint`.
    ///
    /// # Errors
    /// No threads to be had; threads that have started go on until their endpoints return no more chunks.
    pub fn spawn<'scope, 'a: 'scope>(
        &'a self,
        scope: &'scope Scope<'scope, '_>,
        endpoint: &dyn Fn() -> Box<dyn Endpoint + 'a>,
        trace: Option<&Arc<Trace>>,
        begun: &'a OnceLock<Instant>,
        work: &'a (dyn Fn(&WorkerContext<'_>) + Sync),
    ) -> Result<Threads<'scope>> {
        let workers = &self.table.workers;
        let cores = workers.len() - self.lanes.len();
        let sites = std::iter::repeat_n(None, cores).chain(self.lanes.iter().cloned().map(Some));
        let mut contexts: Vec<_> = (workers.iter().zip(sites).enumerate())
            .map(|(number, (&worker, site))| WorkerContext {
                number,
                worker,
                endpoint: endpoint(),
                trace: trace.cloned(),
                site,
                clocks: &self.clocks,
                begun,
            })
            .collect();
        let lanes = contexts.split_off(cores);
        let mut threads = Vec::new();
        if let Some(pool) = &self.pool {
            // The closure owns the contexts, so all of their endpoints are dropped once it ends.
            let each = move |thread: &cpu::Worker<'_>| {
                contexts[thread.index].guard(work);
                Ok(())
            };
            threads.push(spawn(scope, "farm".into(), move || pool.run(each))?);
        }
        for context in lanes {
            let name = context.worker.to_string();
            let guarded = move || {
                context.guard(work);
                Ok(())
            };
            threads.push(spawn(scope, name, guarded)?);
        }
        Ok(Threads(threads))
    }
}

/// Cores that work of `threads`, next to so many lanes: each lane has a core to itself for its thread, as long as three of
/// four work. A lane whose thread waits for a core leaves its GPU idle.
fn left(threads: usize, lanes: usize) -> usize {
    threads - lanes.min(threads / 4)
}

/// The lanes of `gpus`, as many and with such blocks as suit each.
///
/// # Errors
/// As [`Policy::check`].
fn sites(gpus: &[&Gpu], run: &Run<'_>, tuning: &Arc<KernelTuning>) -> Result<Vec<Site>> {
    let policy = run.policy.unwrap_or_default();
    let mut sites = Vec::new();
    for gpu in gpus {
        let own = run.settings.by_gpu.and_then(|by_gpu| by_gpu(gpu));
        let Lanes { lanes, block } = own.unwrap_or(Lanes::of(&policy));
        Policy { lanes, block, ..policy }.check()?;
        sites.extend(Site::of(gpu, lanes, block, tuning));
    }
    Ok(sites)
}

/// What a thread of workers ends with.
type Worked = Result<(), WorkerPanic>;

/// The workers at work.
pub struct Threads<'scope>(Vec<ScopedJoinHandle<'scope, Worked>>);

impl Threads<'_> {
    /// Whether all workers have ended.
    pub fn are_through(&self) -> bool {
        self.0.iter().all(ScopedJoinHandle::is_finished)
    }

    /// Waits until all have.
    ///
    /// # Errors
    /// A panic that no worker caught.
    pub fn join(self) -> Result<()> {
        for thread in self.0 {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(WorkerPanic { message, .. })) => return Err(bug(&message)),
                Err(panic) => return Err(bug(panic_text(panic.as_ref()))),
            }
        }
        Ok(())
    }
}

/// Begins a thread of a farm.
///
/// # Errors
/// None to be had.
pub fn spawn<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> R + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, R>> {
    let spawned = Builder::new().name(name).spawn_scoped(scope, work);
    spawned.map_err(|error| no_thread("starting a farm", &error))
}

/// Workers catch what tasks and executors do; what is left is ours.
pub fn bug(message: &str) -> Error {
    Error::Device {
        stage: "running a farm".into(),
        device: "the cores".into(),
        what: format!("a worker panicked: {message}"),
        hint: "please report this".into(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::drive::settings::Settings;
    use crate::kernels::Family;
    use crate::kernels::occupancy::tests::{ampere, hopper};

    #[test]
    fn lanes_have_cores_to_themselves_where_there_are_many() {
        assert_eq!([(32, 2), (32, 0), (8, 16), (2, 2)].map(|(t, l)| left(t, l)), [30, 32, 6, 2]);
    }

    /// Two families in one process: each with its own lanes and blocks, by one line.
    #[test]
    fn gpus_of_two_families_each_get_their_own_lanes_and_blocks() {
        let table = KernelTable::shipped().unwrap();
        let tuning = Arc::new(KernelTuning { table, searches: Searches::default() });
        let by_gpu = |gpu: &Gpu| match Family::of(gpu.capability) {
            Family::Hopper => Some(Lanes { lanes: 4, block: 128 }),
            _ => None,
        };
        let settings = Settings { by_gpu: Some(&by_gpu), ..Settings::default() };
        let run = Run { settings, ..Run::default() };
        let (a100, h200) = (ampere(0), hopper(1));
        let sites = sites(&[&a100, &h200], &run, &tuning).unwrap();
        let found: Vec<_> =
            sites.iter().map(|site| (site.gpu.ordinal, site.lanes, site.block)).collect();
        assert_eq!(found, [vec![(0, 2, 0); 2], vec![(1, 4, 128); 4]].concat());
        let none = |_: &Gpu| Some(Lanes { lanes: 4, block: 100 });
        let settings = Settings { by_gpu: Some(&none), ..Settings::default() };
        let refused = super::sites(&[&a100], &Run { settings, ..Run::default() }, &tuning);
        assert!(refused.unwrap_err().to_string().contains("blocks of 100 threads"));
    }
}
