//! A short search for the policy by which lanes or threads share calls fastest. It runs the calls
//! themselves, and keeps its result for later runs.
//!
//! A candidate can win only if its values are those of the untuned policy. Not here: what the
//! numbers mean (`policy`).

use serde::Serialize;

use super::kept::{cores, key};
use super::policy::{CpuPolicy, Policy, StacksPolicy};
use super::run::Run;
use super::spawning::Spawning;
use super::spec::Channels;
use warpweft_core::element::{DeviceType, Unit};
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::run::Tuning;
use warpweft_core::tune::{
    Axis, Budget, Entry, Found, Measured, Repeats, Space, TuningCache, climb, measure,
};

/// A candidate that ran, or why it did not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// How it ran.
    pub policy: Policy,
    /// Seconds: the median of its runs.
    pub seconds: Option<f64>,
    /// Why it did not run.
    pub refused: Option<String>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The fastest policy.
    pub policy: Policy,
    /// The times of its runs, in seconds.
    pub measured: Measured,
    /// Calls per second with this policy.
    pub rate: f64,
    /// Calls per second with the policy that is used without a search.
    pub untuned: f64,
    /// All candidates, as they were tried.
    pub trials: Vec<Trial>,
    /// Whether the search ended before the budget was used up.
    pub complete: bool,
    /// Whether the result was stored for later runs.
    pub kept: bool,
    /// Why it was not stored, if storing failed.
    pub failure: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The policy at a place of the axes.
type PolicyAt = Box<dyn Fn(&[usize]) -> Policy>;

/// The policies of a search: the axes, where it begins, and the policy at a place.
struct Candidates {
    axes: Vec<Axis>,
    start: Vec<usize>,
    policy: PolicyAt,
}

impl Candidates {
    /// 0 is what the plan takes by itself.
    fn on_gpu() -> Self {
        let axes = vec![
            Axis { name: "warps", values: vec![0, 4, 8, 12, 16, 20, 24, 28, 32] },
            Axis { name: "depth", values: vec![0, 8, 16, 32, 64] },
            Axis { name: "every", values: vec![0, 4, 8, 16, 32] },
            Axis { name: "idle", values: vec![0, 2, 4, 8, 12, 16, 24] },
            Axis { name: "shared", values: vec![0, 1] },
        ];
        let policy = |values: &[usize]| {
            let [warps, depth, every, idle] = [0, 1, 2, 3].map(|at| values[at] as u32);
            let shared = values[4] == 1;
            Policy::Stacks(StacksPolicy { warps, depth, every, idle, shared, ..Default::default() })
        };
        Self { axes, start: vec![0, 0, 0, 0, 1], policy: Box::new(policy) }
    }

    fn on_cores() -> Self {
        let usual = CpuPolicy::default();
        let values = vec![64, 256, 1024, 4096, 16_384, 65_536];
        let axes = vec![Axis { name: "deque_capacity", values }];
        let policy =
            move |values: &[usize]| Policy::Cpu(CpuPolicy { deque_capacity: values[0], ..usual });
        Self { axes, start: vec![usual.deque_capacity], policy: Box::new(policy) }
    }
}

impl<C: Spawning> Channels<C> {
    /// Searches for the fastest policy by running the calls, and keeps it for later runs. They use
    /// it if they call the same function, with whatever arguments, and name no policy.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use warpweft::channels::Tuning;
    /// use warpweft::prelude::*;
    ///
    /// #[spawning]
    /// fn fib(n: u32) -> u64 {
    ///     if n < 2 {
    ///         return n as u64;
    ///     }
    ///     let a = spawn!(fib(n - 1));
    ///     let b = spawn!(fib(n - 2));
    ///     sync!();
    ///     a + b
    /// }
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let tuning = Tuning { budget: Duration::from_secs(5), ..Tuning::default() };
    /// let tuned = Channels::of(fib::call(40)).tune(&Machine::detect()?, &tuning)?;
    /// println!("{:.2} times as fast: {:?}", tuned.rate / tuned.untuned, tuned.policy);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Channels::run_all_with`] with the untuned policy. If the folder can't be written, this
    /// is no error; see
    /// [`Tuned::failure`].
    pub fn tune(&self, machine: &Machine, tuning: &Tuning) -> Result<Tuned> {
        self.check()?;
        let &Tuning { target, threads, budget, .. } = tuning;
        let devices = Run { target, threads, ..Run::default() }.devices(machine)?;
        let (candidates, device) = match (devices.threads, &devices.gpus[..]) {
            (Some(threads), []) => (Candidates::on_cores(), cores(threads)),
            (None, [gpu]) => (Candidates::on_gpu(), gpu.name.clone()),
            _ => {
                let help = "name the cores or one GPU: fork-join tasks run on one device so far";
                return Err(Error::spec(format!("tuning channels on {target}"), help));
            }
        };
        let mut search = Search { channels: self, machine, tuning, calls: 0, expect: None };
        // What is slow at first, such as compiling, is done then.
        let first = (candidates.policy)(&candidates.start);
        search.seconds(first)?;
        let budget = Budget::of(budget);
        let mut trials = Vec::new();
        let mut trial = |values: &[usize], best: f64| {
            let policy = (candidates.policy)(values);
            let measured = measure(Repeats::default(), best, budget, || search.seconds(policy));
            if let Err(error @ Error::Interrupted { .. }) = measured {
                return Err(error);
            }
            let seconds = measured.as_ref().ok().map(|measured| measured.median);
            let refused = measured.as_ref().err().map(ToString::to_string);
            trials.push(Trial { policy, seconds, refused });
            // One that does not run is none, and no more.
            Ok(measured.ok())
        };
        let space = Space::new(candidates.axes, |_| true);
        let found = climb(&space, &candidates.start, budget, &mut trial)?;
        let found = found.ok_or_else(|| {
            let why = trials.iter().find_map(|trial| trial.refused.clone()).unwrap_or_default();
            Error::spec(format!("no policy ran: {why}"), "run the calls without tuning first")
        })?;
        let policy = (candidates.policy)(&found.values);
        Ok(search.tuned(policy, found, trials, &key::<C>(&device)))
    }
}

/// A search that is going on.
struct Search<'s, C> {
    channels: &'s Channels<C>,
    machine: &'s Machine,
    tuning: &'s Tuning,
    /// Calls of a run.
    calls: u64,
    /// The values of the first run, exact to the bit.
    expect: Option<Vec<String>>,
}

impl<C: Spawning> Search<'_, C> {
    /// Seconds of a run by `policy`, whose values are those of the first.
    fn seconds(&mut self, policy: Policy) -> Result<f64> {
        let &Tuning { target, threads, .. } = self.tuning;
        let run = Run { target, threads, policy: Some(policy), ..Run::default() };
        let (values, report) = self.channels.run_all_with(self.machine, &run)?;
        let mut unit = Unit::new();
        let values: Vec<_> = values.iter().map(|value| value.cuda_value(&mut unit)).collect();
        self.calls = report.done;
        if *self.expect.get_or_insert_with(|| values.clone()) == values {
            return Ok(report.seconds);
        }
        let hint = "report this with the function: values must not depend on the policy";
        Err(Error::spec("a policy gave other values than the untuned one", hint))
    }

    fn tuned(&self, policy: Policy, found: Found, trials: Vec<Trial>, key: &str) -> Tuned {
        let per_second = |seconds: f64| self.calls as f64 / seconds.max(1e-9);
        let rate = per_second(found.measured.median);
        let untuned = trials.first().and_then(|trial| trial.seconds).map_or(rate, per_second);
        let mut tuned = Tuned {
            policy,
            measured: found.measured,
            rate,
            untuned,
            trials,
            complete: found.complete,
            kept: false,
            failure: None,
            notes: Vec::new(),
        };
        let entry =
            Entry { policy: policy.to_json(), measured: found.measured, rate, tried: found.tried };
        let mut cache =
            self.tuning.folder.as_deref().map_or_else(TuningCache::user, TuningCache::open);
        tuned.notes.extend(cache.note().map(str::to_owned));
        if let Some(known) = cache.get(key).filter(|known| known.outdoes(&entry)) {
            tuned.notes.push(format!(
                "an earlier search that tried {} policies found a faster one ({:.3e} calls/s): that is kept",
                known.tried, known.rate
            ));
            return tuned;
        }
        match cache.keep(key, entry) {
            Ok(kept) => tuned.kept = kept,
            Err(error) => tuned.failure = Some(error.to_string()),
        }
        if !tuned.kept && tuned.failure.is_none() {
            tuned.failure = Some("there is no cache folder; set WARPWEFT_CACHE to one".into());
        }
        tuned
    }
}
