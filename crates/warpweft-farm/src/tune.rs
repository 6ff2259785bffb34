//! The number of lanes and the threads of a block, found by a short search and kept for later runs.
//!
//! TuCCompi (sections 3.1 and 4.4) looks both up from characteristics that a kernel's author states (how it reads memory,
//! how much it computes). Here this is only the start of a search, together with the executor's own block size; a few runs
//! of the real tasks decide. A candidate whose outputs differ from those of other candidates, or of the cores (some tasks
//! are compared), is rejected.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use crate::drive::{Lanes, Run};
use crate::policy::Policy;
use crate::spec::Farm;
use crate::spec::inputs::Inputs;
use crate::spec::task::Task;
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::{Gpu, Machine};
use warpweft_core::run::Target;
use warpweft_core::tune::{
    Axis, Budget, Entry, Measured, Repeats, Space, TuningCache, climb, measure,
};

/// Lanes that are tried; the paper has up to 4.
const LANES: [usize; 6] = [1, 2, 3, 4, 6, 8];
/// Threads of a block that are tried, the paper's among them; 0 is what the executor takes by itself.
const BLOCKS: [usize; 9] = [0, 64, 96, 128, 192, 256, 384, 512, 1024];
/// Tasks that are compared with the cores'.
const COMPARED: u64 = 3;

/// A search.
#[derive(Clone, Debug)]
pub struct Tuning<'a> {
    /// What is tuned: words that distinguish tasks with unlike costs, such as task, form and size class.
    pub of: &'a str,
    /// Where the search begins.
    pub start: Policy,
    /// About how long the search may take: a measurement that has begun is completed.
    pub budget: Duration,
    /// The folder for the result; `None` for the user's tuning cache.
    pub folder: Option<PathBuf>,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The fastest policy.
    pub policy: Policy,
    /// Tasks a second of it.
    pub rate: f64,
    /// Tasks a second of the policy that the search began with.
    pub untuned: f64,
    /// What the measurements of it took.
    pub measured: Measured,
    /// Each candidate: lanes, threads per block, and its tasks per second, or why it was rejected.
    pub trials: Vec<(usize, u32, Result<f64, String>)>,
    /// Whether the search came to its end before the budget did.
    pub complete: bool,
    /// Whether later runs find it.
    pub kept: bool,
    /// Why they don't, if that is a failure.
    pub failure: Option<String>,
    /// What the user may want to know.
    pub notes: Vec<String>,
}

/// Where results of `of` on GPUs of this name are kept.
fn key_of(of: &str, gpu: &str) -> String {
    format!("farm {of} on {gpu}")
}

/// The same of the GPUs of `machine`.
fn key(of: &str, machine: &Machine) -> String {
    key_of(of, machine.gpus.first().map_or("no GPU", |gpu| gpu.name.as_str()))
}

/// The number of lanes and the block size that an earlier search named `of` found for this model of GPU, from the user's
/// tuning cache. Use it in [`Settings::by_gpu`](crate::Settings::by_gpu), so that GPUs of different models each get their
/// own values.
pub fn tuned_on(of: &str, gpu: &Gpu) -> Option<Lanes> {
    let known = TuningCache::user().policy(&key_of(of, &gpu.name));
    known.filter(|policy: &Policy| policy.check().is_ok()).map(|policy| Lanes::of(&policy))
}

/// The policy that a search for `of` on such GPUs found, of the user's tuning cache.
pub fn tuned(of: &str, machine: &Machine) -> Option<Policy> {
    TuningCache::user().policy(&key(of, machine)).filter(|policy: &Policy| policy.check().is_ok())
}

impl<T: Task> Farm<T> {
    /// Searches for the best number of lanes and of threads per block on the GPUs of `machine`, starting from
    /// [`Tuning::start`]. Each candidate runs the tasks of `inputs`; choose a number of tasks that takes some tenths of a
    /// second there. The winner is stored.
    ///
    /// # Errors
    /// No GPUs, or a task without GPU code; tasks that fail on the cores; no candidate that runs with correct outputs.
    pub fn tune<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        tuning: &Tuning<'_>,
    ) -> Result<Tuned> {
        let (inputs, start) = (&inputs.into(), tuning.start);
        let count = inputs.count();
        let sample: Vec<_> =
            (0..count.min(COMPARED)).map(|k| k * count / COMPARED.min(count)).collect();
        let expect = sample.iter().map(|&k| self.on_core(k, inputs)).collect::<Result<Vec<_>>>()?;
        let budget = Budget::of(tuning.budget);
        let axes = vec![
            Axis { name: "lanes", values: LANES.to_vec() },
            Axis { name: "block", values: BLOCKS.to_vec() },
        ];
        let policy =
            |values: &[usize]| Policy { lanes: values[0], block: values[1] as u32, ..start };
        let (mut trials, mut outputs, mut untuned) = (Vec::new(), None, None);
        let mut trial = |values: &[usize], best: f64| {
            let policy = policy(values);
            let repeats = Repeats { most: 3, ..Repeats::default() };
            let run = || self.timed(inputs, machine, policy, (&sample, &expect), &mut outputs);
            let measured = measure(repeats, best, budget, run);
            let rate = |measured: &Measured| count as f64 / measured.median;
            let rated = measured.as_ref().map(rate).map_err(ToString::to_string);
            untuned = untuned.or(rated.as_ref().ok().copied());
            trials.push((policy.lanes, policy.block, rated));
            // One that does not fit or does not compile is none, and no more.
            Ok(measured.ok())
        };
        let space = Space::new(axes, |_| true);
        let found = climb(&space, &[start.lanes, start.block as usize], budget, &mut trial)?;
        let Some(found) = found else {
            let why = trials.into_iter().find_map(|(.., rated)| rated.err()).unwrap_or_default();
            let what = format!("no candidate could run this farm on a GPU: {why}");
            return Err(Error::spec(
                what,
                "run the farm on GPUs untuned, and read the notes of its report",
            ));
        };
        let rate = count as f64 / found.measured.median;
        let mut tuned = Tuned {
            policy: policy(&found.values),
            rate,
            untuned: untuned.unwrap_or(rate),
            measured: found.measured,
            trials,
            complete: found.complete,
            kept: false,
            failure: None,
            notes: Vec::new(),
        };
        self.keep(&mut tuned, found.tried, machine, tuning);
        Ok(tuned)
    }

    fn keep(&self, tuned: &mut Tuned, tried: usize, machine: &Machine, tuning: &Tuning<'_>) {
        let entry = Entry {
            policy: serde_json::to_value(tuned.policy).unwrap_or_default(),
            measured: tuned.measured,
            rate: tuned.rate,
            tried,
        };
        let mut cache = tuning.folder.as_deref().map_or_else(TuningCache::user, TuningCache::open);
        tuned.notes.extend(cache.note().map(str::to_owned));
        let key = key(tuning.of, machine);
        if let Some(known) = cache.get(&key).filter(|known| known.outdoes(&entry)) {
            tuned.notes.push(format!(
                "an earlier search that tried {} policies found a faster one ({:.3e} tasks/s): that is kept",
                known.tried, known.rate
            ));
            return;
        }
        match cache.keep(&key, entry) {
            Ok(kept) => tuned.kept = kept,
            Err(error) => tuned.failure = Some(error.to_string()),
        }
        if !tuned.kept && tuned.failure.is_none() {
            tuned.failure = Some("there is no cache folder; set WARPWEFT_CACHE to one".into());
        }
    }

    /// The output of task `k` by a core, as bytes.
    fn on_core(&self, k: u64, inputs: &Inputs<'_, T::Input>) -> Result<Vec<u8>> {
        let output = self.task.on_core(inputs.at(k)).map_err(|why| {
            let worker = "a core".to_string();
            Error::Task { task: k, worker, what: why.to_string() }
        })?;
        let mut bytes = Vec::new();
        output.pack(&mut bytes);
        Ok(bytes)
    }

    /// Seconds of all tasks on GPUs, without set-up; their outputs are those of the runs before, and of the cores where
    /// these were computed.
    fn timed(
        &self,
        inputs: &Inputs<'_, T::Input>,
        machine: &Machine,
        policy: Policy,
        (sample, expect): (&[u64], &[Vec<u8>]),
        outputs: &mut Option<u64>,
    ) -> Result<f64> {
        let run = Run { target: Target::AllGpus, policy: Some(policy), ..Run::default() };
        let (mut sum, mut wrong) = (0u64, None);
        let mut bytes = Vec::new();
        let mut sink = |k: u64, output: T::Output| {
            bytes.clear();
            output.pack(&mut bytes);
            let mut hasher = DefaultHasher::new();
            (k, &bytes).hash(&mut hasher);
            sum = sum.wrapping_add(hasher.finish());
            if sample.iter().position(|&at| at == k).is_some_and(|at| expect[at] != bytes) {
                wrong = Some(k);
            }
            Ok(())
        };
        let again = Inputs::by(inputs.count(), |k| inputs.at(k));
        let outcome = self.run_into(again, machine, &run, &mut sink)?;
        if let Some(lost) = outcome.shares.iter().find_map(|share| share.lost.clone()) {
            return Err(Error::spec(format!("a lane was lost: {lost}"), "take fewer lanes"));
        }
        match wrong {
            None if *outputs.get_or_insert(sum) == sum => Ok(outcome.report.seconds),
            wrong => {
                let which = wrong.map_or("some task".into(), |k| format!("task {k}"));
                let what =
                    format!("the output of {which} differs from that on a core or of another run");
                let hint = "make the outputs bit-identical on cores and GPUs (`exp`, `sin` and similar functions are not), or report this";
                Err(Error::spec(what, hint))
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::on_cores;

    #[test]
    fn without_gpus_there_is_nothing_to_tune_and_that_is_said() {
        let mut machine = Machine::detect().unwrap();
        machine.gpus.clear();
        let tuning = Tuning {
            of: "numbers",
            start: Policy::default(),
            budget: Duration::ZERO,
            folder: None,
        };
        let farm = Farm::of(on_cores(|k: u64| Ok(k)));
        let refused = farm.tune(0..100u64, &machine, &tuning);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("its task runs on cores only"), "{refused}");
    }
}
