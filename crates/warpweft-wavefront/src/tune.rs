//! The fastest policy of a wavefront, found by running it, and kept for later runs of problems like it.
//!
//! The search climbs from the policy that a run would take. A candidate wins only if what it keeps is what the untuned
//! policy kept; small problems are compared with the reference too. Not here: how a run finds its policy (`run`).

use serde::Serialize;

use crate::executor::WavefrontExecutor;
use crate::policy::{CpuPolicy, CudaPolicy, Method, Policy, ScanPolicy, TilePolicy};
use crate::recurrence::WavefrontElement;
use crate::reference::reference;
use crate::run::key::key;
use crate::run::{Run, RunExecutor};
use crate::spec::{Kept, Wavefront};
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::run::{Target, Tuning};
use warpweft_core::tune::{
    Axis, Budget, Entry, Found, Measured, Repeats, Space, TuningCache, climb, measure,
};

/// Cells of problems that are compared with the reference, too: a tenth of a second.
const COMPARED: u64 = 2_000_000;

/// A candidate that can't run here, or must not: it did not agree with the untuned policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// How it was to run.
    pub policy: Policy,
    /// Why it didn't.
    pub reason: String,
}

/// The winner of a search, and what it won against.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The winner.
    pub policy: Policy,
    /// Seconds of it.
    pub measured: Measured,
    /// Cells a second of it.
    pub rate: f64,
    /// Cells a second of the policy that the search began with.
    pub untuned: f64,
    /// Candidates measured.
    pub tried: usize,
    /// Candidates that could not run, or did not agree.
    pub refused: Vec<Refused>,
    /// Whether the search came to its own end before the budget did.
    pub complete: bool,
    /// Whether it is kept for later runs; if not, a note or `failure` says why.
    pub kept: bool,
    /// What hindered keeping it.
    pub failure: Option<String>,
    /// What the user may want to know.
    pub notes: Vec<String>,
}

/// The policy of the values on all axes.
type PolicyOf = dyn Fn(&[usize]) -> Policy;

/// The candidates of one kind of policy.
struct Candidates {
    axes: Vec<Axis>,
    start: Vec<usize>,
    policy: Box<PolicyOf>,
}

fn axis(name: &'static str, values: &[usize]) -> Axis {
    Axis { name, values: values.to_vec() }
}

impl Candidates {
    /// Around the policy that a run took.
    fn around(policy: Policy) -> Self {
        match policy {
            Policy::Cpu(start) => Self::of_cores(start),
            Policy::Cuda(start) => Self::of_strips(start),
            Policy::Tiles(start) => Self {
                axes: vec![
                    axis("height", &[64, 96, 128, 192, 256, 384, 512, 768]),
                    axis("width", &[16, 32, 48, 64, 96, 128, 192, 256, 512]),
                ],
                start: vec![start.height as usize, start.width as usize],
                policy: Box::new(move |at| {
                    let [height, width] = [at[0], at[1]].map(|n| n as u32);
                    let method = Method::FlagsFlexible;
                    Policy::Tiles(TilePolicy { method, height, width, ..start })
                }),
            },
            Policy::Scan(start) => Self {
                axes: vec![axis("rows", &[1, 2, 4, 8, 16]), axis("warps", &[2, 4, 8, 16, 24])],
                start: vec![start.rows as usize, start.warps as usize],
                policy: Box::new(|at| {
                    Policy::Scan(ScanPolicy { rows: at[0] as u32, warps: at[1] as u32 })
                }),
            },
        }
    }

    fn of_cores(start: CpuPolicy) -> Self {
        Self {
            axes: vec![
                axis("tile_rows", &[16, 32, 64, 128, 256, 512, 1024, 2048]),
                axis("tile_columns", &[128, 256, 512, 1024, 2048, 4096]),
                axis("cells_16_bit", &[0, 1]),
            ],
            start: vec![start.tile_rows, start.tile_columns, usize::from(start.cells_16_bit)],
            policy: Box::new(move |at| {
                let (tile_rows, tile_columns, cells_16_bit) = (at[0], at[1], at[2] == 1);
                Policy::Cpu(CpuPolicy { tile_rows, tile_columns, cells_16_bit })
            }),
        }
    }

    fn of_strips(start: CudaPolicy) -> Self {
        Self {
            axes: vec![
                axis("rows", &[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20]),
                axis("columns", &[1, 2, 4]),
                axis("chunk", &[8, 16, 32, 64]),
                axis("warps", &[1, 2, 4, 8, 16]),
                axis("packed_16x2", &[0, 1]),
            ],
            start: vec![
                start.rows as usize,
                start.columns as usize,
                start.chunk as usize,
                start.warps as usize,
                usize::from(start.packed_16x2),
            ],
            policy: Box::new(move |at| {
                let [rows, columns, chunk, warps] = [0, 1, 2, 3].map(|k| at[k] as u32);
                let packed_16x2 = at[4] == 1;
                Policy::Cuda(CudaPolicy { rows, columns, chunk, warps, packed_16x2, ..start })
            }),
        }
    }
}

impl<E: WavefrontElement> Wavefront<'_, E> {
    /// Searches for the fastest policy by running it, and keeps the winner: later runs without a policy, of the same
    /// recurrence over extents between the same powers of 2 on the same device, take it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use warpweft::prelude::*;
    /// use warpweft::run::Target;
    /// use warpweft::wavefront::Tuning;
    ///
    /// #[wavefront]
    /// fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    ///     if a == b { h.nw + 1 } else { h.n.max(h.w) }
    /// }
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// # let folder = std::env::temp_dir().join("warpweft-tune-example");
    /// let wavefront = Wavefront::of(common()).rows(&[1; 300]).columns(&[1; 200]).keep(Keep::Score);
    /// let tuning = Tuning {
    ///     target: Target::Cpu,
    ///     threads: Some(1),
    ///     budget: Duration::from_millis(50),
    ///     folder: Some(folder),
    /// };
    /// let tuned = wavefront.tune(&Machine::detect()?, &tuning)?;
    /// assert!(tuned.rate >= tuned.untuned && tuned.tried > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Wavefront::run_with`]; several GPUs; an untuned policy that does not agree with the reference. A folder that
    /// can't be written is [`Tuned::failure`].
    pub fn tune(&self, machine: &Machine, tuning: &Tuning) -> Result<Tuned> {
        let budget = Budget::of(tuning.budget);
        let run = Run { target: tuning.target, threads: tuning.threads, ..Run::default() };
        let one = one_of(machine, &run)?;
        let machine = &one;
        let (device, start, expected) = self.untuned(machine, &run)?;
        let (mut refused, mut untuned) = (Vec::new(), None);
        let Candidates { axes, start: first, policy } = Candidates::around(start);
        let mut trial = |values: &[usize], best: f64| {
            let policy = policy(values);
            let run = Run { policy: Some(policy), ..run.clone() };
            let once = || {
                let (kept, report) = RunExecutor::new(machine, &run)?.run(self)?;
                match differs(&kept, &expected) {
                    true => {
                        Err(Error::spec("another result than the untuned policy's", "report this"))
                    }
                    false => Ok(report.seconds),
                }
            };
            let measured = measure(Repeats { most: 3, ..Repeats::default() }, best, budget, once);
            untuned = untuned.or(measured.as_ref().ok().map(|measured| measured.median));
            if let Err(error) = &measured {
                refused.push(Refused { policy, reason: error.to_string() });
            }
            Ok(measured.ok())
        };
        let found = climb(&Space::new(axes, |_| true), &first, budget, &mut trial)?;
        let Some(Found { values, measured, tried, complete }) = found else {
            let why = refused.into_iter().next().map_or(String::new(), |refused| refused.reason);
            return Err(Error::spec(format!("no policy ran: {why}"), "run it without tuning"));
        };
        let rate = |seconds: f64| self.updates() as f64 / seconds;
        let mut tuned = Tuned {
            policy: policy(&values),
            measured,
            rate: rate(measured.median),
            untuned: rate(untuned.unwrap_or(measured.median)),
            tried,
            refused,
            complete,
            kept: false,
            failure: None,
            notes: Vec::new(),
        };
        let cache = tuning.folder.as_deref().map_or_else(TuningCache::user, TuningCache::open);
        tuned.keep(cache, &key(&self.erased(), &device));
        Ok(tuned)
    }

    /// The device, the policy that a run takes there, and what it keeps.
    fn untuned(&self, machine: &Machine, run: &Run<'_>) -> Result<(String, Policy, Kept<E::Cell>)> {
        let mut executor = RunExecutor::new(machine, run)?.untuned();
        let device = executor.device();
        let (kept, report) = executor.run(self)?;
        let start: Policy = serde_json::from_value(report.policy).map_err(|error| {
            Error::spec(format!("a policy that can't be read: {error}"), "report this as a bug")
        })?;
        if self.updates() <= COMPARED && differs(&reference(self)?, &kept) {
            return Err(Error::spec(
                "the untuned policy does not agree with the reference",
                "run `warpweft verify` and report what fails",
            ));
        }
        Ok((device, start, kept))
    }
}

/// `machine` with at most one GPU: what a run takes on several is the model's.
///
/// # Errors
/// Several were named.
fn one_of(machine: &Machine, run: &Run<'_>) -> Result<Machine> {
    let mut one = machine.clone();
    if run.target == Target::Auto {
        one.gpus.truncate(1);
    } else if run.devices(machine)?.gpus.len() > 1 {
        let what = format!("tuning a wavefront on {}", run.target);
        return Err(Error::spec(what, "name one GPU or the cores"));
    }
    Ok(one)
}

/// Whether two results differ; of floats bit by bit, so that NaN is NaN.
fn differs<C: crate::recurrence::Ranked>(a: &Kept<C>, b: &Kept<C>) -> bool {
    a != b && format!("{a:?}") != format!("{b:?}")
}

impl Tuned {
    /// Keeps the winner in `cache`, unless a longer search found a faster one.
    fn keep(&mut self, mut cache: TuningCache, key: &str) {
        let policy = serde_json::to_value(self.policy).unwrap_or_default();
        let &mut Self { measured, rate, tried, .. } = self;
        let entry = Entry { policy, measured, rate, tried };
        self.notes.extend(cache.note().map(str::to_owned));
        if let Some(known) = cache.get(key).filter(|known| known.outdoes(&entry)) {
            self.notes.push(format!(
                "an earlier search that tried {} policies found a faster one ({:.3e} cells/s): that is kept",
                known.tried, known.rate
            ));
            return;
        }
        match cache.keep(key, entry) {
            Ok(true) => self.kept = true,
            Ok(false) => {
                self.failure = Some("there is no cache folder; set WARPWEFT_CACHE to one".into());
            }
            Err(error) => self.failure = Some(error.to_string()),
        }
    }
}
