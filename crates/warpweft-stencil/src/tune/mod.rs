//! Tuning a stencil: the model's shape first, a search around it, conformance before victory, and
//! the result kept in the tuning cache.

mod ahead;
mod search;
pub(crate) mod tuning_cache;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use self::search::{CHECKED, Search};
use self::tuning_cache::{key, label};
use super::drive::devices::gpus::Chosen;
use super::policy::Policy;
use super::run::Run;
use super::spec::Spec;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;
use warpweft_core::machine::Machine;
use warpweft_core::run::{GpuList, Target};
use warpweft_core::tune::{Budget, Entry, Found, Measured, TuningCache};

/// Planes of a subdomain on which a candidate is checked: one more than the deepest ghost zone.
const DEEPEST: usize = 17;

/// A candidate that ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// How it ran.
    pub policy: Policy,
    /// Devices it ran on.
    pub devices: usize,
    /// Seconds a step: the median of the runs.
    pub seconds: f64,
    /// Steps that its runs did, the first of all included, and seconds that these took.
    pub ran: (u64, f64),
}

/// A candidate that can't run here, or must not: it did not agree with the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// How it was to run.
    pub policy: Policy,
    /// Devices it was to run on.
    pub devices: usize,
    /// Why it didn't.
    pub reason: String,
}

/// The winner of a search, and what it won against.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The winner.
    pub policy: Policy,
    /// What the winner took, in seconds a step.
    pub measured: Measured,
    /// Cells a second of the winner.
    pub rate: f64,
    /// Cells a second of the untuned policy.
    pub untuned: f64,
    /// Candidates measured.
    pub tried: usize,
    /// Candidates that could not run, for example because of too little shared memory or too few planes, or that were
    /// faster than all earlier ones but did not agree with the reference (which would be a bug).
    pub refused: Vec<Refused>,
    /// Whether the search came to its own end before the budget did.
    pub complete: bool,
    /// The GPUs that the winner runs on, in the order of their subdomains; none on the cores.
    pub gpus: Vec<usize>,
    /// All candidates that ran on GPUs, as they were tried.
    pub trials: Vec<Trial>,
    /// Whether it is kept for later runs; if not, a note or `failure` says why.
    pub kept: bool,
    /// What hindered keeping it.
    pub failure: Option<String>,
    /// Notes for the user: e.g. that an earlier search found a faster policy, or that the tuning cache was damaged.
    pub notes: Vec<String>,
}

/// What to tune for.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The device; [`Target::Auto`] is the first GPU if there is one, else the cores.
    pub target: Target,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// Time the search may take, about.
    pub budget: Duration,
    /// Where the result is kept; the user's cache folder, where runs look, if `None`.
    pub folder: Option<PathBuf>,
}

impl Default for Tuning {
    /// Ten seconds for the best device.
    fn default() -> Self {
        let budget = Duration::from_secs(10);
        Self { target: Target::Auto, threads: None, budget, folder: None }
    }
}

/// What a search came to: the device's name in the tuning cache, the GPUs of the winner, and the winner.
struct Searched<'a> {
    search: Search<'a>,
    device: String,
    gpus: Vec<usize>,
    /// Whether several GPUs were to be used, of which the winner may have chosen fewer.
    several: bool,
    winner: Option<(Policy, Found)>,
}

impl Spec {
    /// Searches for the fastest policy on volumes like `volume`, which is not changed, and keeps it for later runs:
    /// [`Stencil::tune`](crate::Stencil::tune) without the type of the cells.
    ///
    /// # Errors
    /// As [`Spec::run_with`]; a target of cores and a GPU together. A folder that can't be written is a note.
    pub fn tune(&self, volume: &RawVolume, machine: &Machine, tuning: &Tuning) -> Result<Tuned> {
        self.check(volume.extents())?;
        if self.regrouped {
            let help = "run it as it is, or leave `regroup_sums` (`--linear` of the command) out";
            return Err(Error::spec("regrouped sums, which have no policy to tune", help));
        }
        let Searched { search, device, gpus, several, winner } =
            self.search(volume, machine, tuning)?;
        let Some((policy, found)) = winner else {
            return Err(Error::spec(
                "no policy of this stencil ran and agreed with the reference",
                "run `warpweft verify` and report what fails",
            ));
        };
        let per_second = |seconds: f64| volume.len() as f64 / seconds;
        let rate = per_second(found.measured.median);
        let mut tuned = Tuned {
            policy,
            measured: found.measured,
            rate,
            untuned: search.untuned.map_or(rate, per_second),
            tried: found.tried,
            refused: search.refused,
            complete: found.complete,
            kept: false,
            failure: None,
            trials: search.trials,
            gpus,
            notes: Vec::new(),
        };
        let cache = tuning.folder.as_deref().map_or_else(TuningCache::user, TuningCache::open);
        let key = key(self, volume.extents(), machine, &device);
        tuned.keep(cache, &key, several)?;
        Ok(tuned)
    }

    /// Searches on the devices of `tuning`.
    fn search<'a>(
        &'a self,
        volume: &'a RawVolume,
        machine: &Machine,
        tuning: &Tuning,
    ) -> Result<Searched<'a>> {
        let &Tuning { target, threads, budget, .. } = tuning;
        if let Target::CpuAndGpu(_) = target {
            return Err(Error::spec(
                "tuning for the cores and a GPU together is not supported",
                "tune each separately: a run on both uses both tuned policies",
            ));
        }
        let run = Run { target, threads, ..Run::default() };
        let list = run.devices(machine)?.gpus;
        match (&list[..], target) {
            ([], _) => {
                let mut search = Search::new(self, volume, (CHECKED, &[]))?;
                let most = threads.unwrap_or_else(|| machine.cpu.threads());
                let winner = search.on_cores(machine, most, Budget::of(budget))?;
                let device = format!("{most} threads");
                Ok(Searched { search, device, gpus: Vec::new(), several: false, winner })
            }
            ([gpu], Target::Auto | Target::AnyGpu | Target::Gpu(_)) => {
                let mut search = Search::new(self, volume, (CHECKED, &[]))?;
                // Half of the time goes to compiling candidates side by side.
                let compilers = machine.cpu.threads();
                let share = if compilers > 1 { budget / 2 } else { budget };
                let winner = search.on_gpu(gpu, share, compilers)?;
                let (device, gpus) = (gpu.name.clone(), vec![gpu.ordinal]);
                Ok(Searched { search, device, gpus, several: false, winner })
            }
            (all, Target::Gpus(_) | Target::AllGpus) => {
                let numbers: Vec<_> = all.iter().map(|gpu| gpu.ordinal).collect();
                // Subdomains of so many planes hold the ghost zones of any candidate.
                let planes = CHECKED.max(all.len() * DEEPEST);
                let longest = (0..self.rank()).max_by_key(|&d| volume.extents()[d]).unwrap_or(0);
                let mut search = Search::new(self, volume, (planes, &[longest]))?;
                let found = search.on_gpus(machine, GpuList::new(&numbers)?, budget)?;
                let gpus = found.iter().flat_map(|(chosen, _)| chosen.gpus.numbers()).collect();
                let winner = found.map(|(chosen, found)| (chosen.policy, found));
                Ok(Searched { search, device: label(all), gpus, several: true, winner })
            }
            (all, target) => {
                let what = format!("{} GPUs for a search on {target}", all.len());
                Err(Error::spec(what, "report this as a defect"))
            }
        }
    }
}

impl Tuned {
    /// Keeps the winner in `cache`, unless a faster one is known there.
    fn keep(&mut self, mut cache: TuningCache, key: &str, several: bool) -> Result<()> {
        let policy = match self.policy {
            policy if several => {
                serde_json::to_value(Chosen { gpus: GpuList::new(&self.gpus)?, policy })
            }
            Policy::Cpu(policy) => serde_json::to_value(policy),
            Policy::Cuda(policy) => serde_json::to_value(policy),
        };
        let &mut Self { measured, rate, tried, .. } = self;
        let entry = Entry { policy: policy.unwrap_or_default(), measured, rate, tried };
        self.notes.extend(cache.note().map(str::to_owned));
        if let Some(known) = cache.get(key).filter(|known| known.outdoes(&entry)) {
            self.notes.push(format!(
                "an earlier search that tried {} policies found a faster one ({:.3e} cells/s): that is kept",
                known.tried, known.rate
            ));
            return Ok(());
        }
        match cache.keep(key, entry) {
            Ok(true) => self.kept = true,
            Ok(false) => {
                self.failure = Some("there is no cache folder; set WARPWEFT_CACHE to one".into());
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
        Ok(())
    }
}
