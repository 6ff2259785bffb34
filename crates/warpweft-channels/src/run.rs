//! Channels on whatever the machine has. Not here: how calls run there (`cpu`, `cuda`).

use std::convert::Infallible;

use super::borrowing::Borrowing;
use super::cpu::CpuExecutor;
use super::cuda::{CudaExecutor, LevelsExecutor};
use super::kept::{tuned_on_cores, tuned_on_gpu};
use super::policy::{CpuPolicy, Policy, StacksPolicy};
use super::spawning::{Call, Spawning};
use super::spec::Channels;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;
use warpweft_core::run::{Auto, Devices, Pattern, Suits, Target, Watch};

/// How to run channels, where the defaults will not do: [`warpweft_core::run::Run`] of channels. They run on one
/// device and in one process; there is no checkpoint.
pub type Run<'a> = warpweft_core::run::Run<'a, ChannelsPattern>;

/// Channels, to [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum ChannelsPattern {}

impl Pattern for ChannelsPattern {
    type Policy = Policy;
    type Checkpoint = Infallible;
    type Settings<'a> = ();
    const AUTO: Auto = Auto::FirstGpu;
    fn suits(policy: &Policy) -> Suits {
        match policy {
            Policy::Cpu(_) => Suits::Cores,
            Policy::Stacks(_) | Policy::Levels(_) => Suits::Gpus,
        }
    }
}

/// Fork-join tasks run in one process.
pub(crate) fn in_one_process(run: &Run<'_>) -> Result<()> {
    if run.others().is_some() {
        let help = "run them in one process: fork-join tasks run on one device so far";
        return Err(Error::spec("channels over ranks", help));
    }
    Ok(())
}

/// They run on one device.
pub(crate) fn several_devices(run: &Run<'_>) -> Error {
    let help = "name the cores or one GPU: fork-join tasks run on one device so far";
    Error::spec(format!("channels on {}", run.target), help)
}

/// The policy that a run on cores names, else the usual one.
pub(crate) fn on_cores(run: &Run<'_>) -> CpuPolicy {
    match run.policy {
        Some(Policy::Cpu(policy)) => policy,
        _ => CpuPolicy::default(),
    }
}

impl<C: Spawning> Channels<C> {
    /// Runs the first call with everything it spawns, on the first GPU, or on all cores if there is none, and returns its
    /// value.
    ///
    /// # Errors
    /// As [`Channels::run_all_with`].
    pub fn run(&self, machine: &Machine) -> Result<(C::Output, Report)> {
        self.run_with(machine, &Run::default())
    }

    /// The value of the first call, run as `run` says.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use warpweft::channels::Run;
    /// use warpweft::prelude::*;
    /// use warpweft::run::Target;
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
    /// let machine = Machine::detect()?;
    /// let run = Run { target: Target::Cpu, threads: Some(2), ..Run::default() };
    /// assert_eq!(Channels::of(fib::call(20)).run_with(&machine, &run)?.0, 6765);
    /// let deadline = Some(Instant::now() + Duration::from_millis(50));
    /// let run = Run { deadline, ..run };
    /// let error = Channels::of(fib::call(60)).run_with(&machine, &run).unwrap_err();
    /// assert_eq!(error.to_string(), "interrupted after 0 of 1 calls");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Channels::run_all_with`].
    pub fn run_with(&self, machine: &Machine, run: &Run<'_>) -> Result<(C::Output, Report)> {
        let (outputs, report) = self.run_all_with(machine, run)?;
        // Checked: there is at least one call.
        Ok((outputs.first().copied().unwrap_or_default(), report))
    }

    /// The value of each call, in order, as [`Channels::run`].
    ///
    /// # Errors
    /// As [`Channels::run_all_with`].
    pub fn run_all(&self, machine: &Machine) -> Result<(Vec<C::Output>, Report)> {
        self.run_all_with(machine, &Run::default())
    }

    /// The value of each call, in order, run as `run` says.
    ///
    /// An interrupt or a deadline ends a run with [`Error::Interrupted`], without partial results. It is
    /// checked 50 times per second; then a core continues to the next call that it spawns, and a warp of a GPU for
    /// some dozen scheduler steps. Progress is reported in root calls, which all end together, so it jumps from none to all.
    ///
    /// # Errors
    /// As [`Channels::check`]; on cores, a recursion deeper than the levels; a panic of the function; too little memory; as
    /// [`Run::devices`](warpweft_core::run::Run::devices); several devices or ranks; [`Error::Interrupted`].
    pub fn run_all_with(
        &self,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let devices = run.devices(machine)?;
        in_one_process(run)?;
        let watch = run.watch(self.roots.len() as u64, "calls");
        watch.check()?;
        let (outputs, mut report, notes) = match self.on(machine, &devices, run, &watch) {
            Ok((outputs, report)) => (outputs, report, devices.notes),
            Err(error) => {
                let devices = devices.instead(error, machine, run)?;
                let (outputs, report) = self.on(machine, &devices, run, &watch)?;
                (outputs, report, devices.notes)
            }
        };
        watch.ended()?;
        report.notes.extend(notes);
        Ok((outputs, report))
    }

    fn on(
        &self,
        machine: &Machine,
        devices: &Devices<'_>,
        run: &Run<'_>,
        watch: &Watch<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let trace = run.trace.as_deref();
        match (devices.threads, &devices.gpus[..], run.policy) {
            (Some(threads), [], _) => {
                let tuned = run.policy.is_none().then(|| tuned_on_cores::<C>(threads)).flatten();
                let policy = tuned.unwrap_or_else(|| on_cores(run));
                CpuExecutor::new(machine, threads, policy)?.run_watched(self, watch, trace)
            }
            (None, [gpu], Some(Policy::Levels(policy))) => {
                LevelsExecutor::new(&gpu.device()?, policy)?.run_watched(self, watch, trace)
            }
            (None, [gpu], policy) => {
                let policy = match policy {
                    Some(Policy::Stacks(policy)) => policy,
                    _ => tuned_on_gpu::<C>(&gpu.name).unwrap_or_default(),
                };
                CudaExecutor::new(&gpu.device()?, policy)?.run_watched(self, watch, trace)
            }
            _ => Err(several_devices(run)),
        }
    }
}

impl<C: Call> Channels<C> {
    /// The value of each call, in order, on the cores: for functions with `#[spawning(cores)]`, whose calls may borrow.
    ///
    /// ```
    /// use warpweft::channels::Run;
    /// use warpweft::prelude::*;
    ///
    /// #[spawning(cores)]
    /// fn largest(numbers: &[u32]) -> u32 {
    ///     if numbers.len() < 1000 {
    ///         return numbers.iter().copied().max().unwrap_or(0);
    ///     }
    ///     let (low, high) = numbers.split_at(numbers.len() / 2);
    ///     let a = spawn!(largest(low));
    ///     let b = spawn!(largest(high));
    ///     sync!();
    ///     a.max(b)
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let numbers: Vec<u32> = (0..10_000).map(|k| k * 7919 % 10_007).collect();
    /// let calls = Channels::of(largest::call(&numbers));
    /// let (values, _) = calls.run_on_cores(&Machine::detect()?, &Run::default())?;
    /// assert_eq!(values, [10_006]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Channels::run_all_with`]; a target that is no cores.
    pub fn run_on_cores(
        self,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let target = match run.target {
            Target::Auto => Target::Cpu,
            target => target,
        };
        if target != Target::Cpu {
            let what = format!("`{}` on {}", C::NAME, run.target);
            return Err(Error::spec(
                what,
                "the function is for cores only: use `Target::Cpu` (--device cpu)",
            ));
        }
        in_one_process(run)?;
        let run = Run { target, ..run.clone() };
        let devices = run.devices(machine)?;
        let threads = devices.threads.unwrap_or_else(|| machine.cpu.threads());
        let watch = run.watch(self.roots.len() as u64, "calls");
        watch.check()?;
        let mut executor = CpuExecutor::new(machine, threads, on_cores(&run))?;
        let (outputs, mut report) = executor.run_once(self, &watch, run.trace.as_deref())?;
        watch.ended()?;
        report.notes.extend(devices.notes);
        Ok((outputs, report))
    }
}

impl<C: Borrowing> Channels<C> {
    /// Runs the calls and returns the value of each, in order: on the first GPU, or on all cores
    /// if there is none, or on the target that `run` names.
    ///
    /// A GPU gets copies of all slices. The slices that calls may have written are copied back
    /// when all calls have ended. After an error of a GPU the slices are unchanged.
    ///
    /// ```
    /// use warpweft::channels::{Run, Team};
    /// use warpweft::prelude::*;
    ///
    /// /// Doubles words, by all lanes of a team.
    /// #[spawning(team)]
    /// fn double(team: &Team, words: &mut [u32]) {
    ///     let mut i = team.lane();
    ///     while i < words.len() {
    ///         words[i] *= 2;
    ///         i += team.lanes();
    ///     }
    /// }
    ///
    /// /// Doubles any number of words, half by half.
    /// #[spawning]
    /// fn all(words: &mut [u32]) {
    ///     if words.len() <= 1000 {
    ///         spawn!(double(words));
    ///     } else {
    ///         let (low, high) = words.split_at_mut(words.len() / 2);
    ///         spawn!(all(low));
    ///         spawn!(all(high));
    ///     }
    ///     sync!();
    /// }
    ///
    /// # fn main() -> Result<()> {
    /// let mut words: Vec<u32> = (0..10_000).collect();
    /// Channels::of(all::call(&mut words)).run_borrowing(&Machine::detect()?, &Run::default())?;
    /// assert!(words.iter().enumerate().all(|(k, &word)| word == 2 * k as u32));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Channels::run_all_with`].
    pub fn run_borrowing(
        mut self,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let devices = run.devices(machine)?;
        in_one_process(run)?;
        let watch = run.watch(self.roots.len() as u64, "calls");
        watch.check()?;
        let trace = run.trace.as_deref();
        let (threads, gpu, policy) = match (devices.threads, &devices.gpus[..], run.policy) {
            (Some(threads), [], _) => (threads, None, StacksPolicy::default()),
            (None, [_], Some(Policy::Levels(_))) => {
                let what = format!("`{}` level by level, which borrows", C::NAME);
                return Err(Error::spec(what, "calls that borrow run without levels"));
            }
            (None, [gpu], Some(Policy::Stacks(policy))) => (0, Some(*gpu), policy),
            (None, [gpu], _) => (0, Some(*gpu), StacksPolicy::default()),
            _ => return Err(several_devices(run)),
        };
        let on_gpu = gpu.map(|gpu| {
            CudaExecutor::new(&gpu.device()?, policy)?.run_borrowing(&mut self, &watch, trace)
        });
        let (threads, notes) = match on_gpu {
            Some(Ok(done)) => {
                let (outputs, mut report) = done?;
                watch.ended()?;
                report.notes.extend(devices.notes);
                return Ok((outputs, report));
            }
            // The slices are as they were.
            Some(Err(error)) => {
                let devices = devices.instead(error, machine, run)?;
                (devices.threads.unwrap_or_else(|| machine.cpu.threads()), devices.notes)
            }
            None => (threads, devices.notes),
        };
        let mut executor = CpuExecutor::new(machine, threads, on_cores(run))?;
        let (outputs, mut report) = executor.run_once(self, &watch, trace)?;
        watch.ended()?;
        report.notes.extend(notes);
        Ok((outputs, report))
    }
}
