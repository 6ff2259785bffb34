//! `warpweft run laplace`: Laplace's equation on a plate, relaxed in place.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use warpweft::prelude::*;
use warpweft::report::{Report, counted};
use warpweft::wavefront::{Ranked, WavefrontElement, WavefrontExecutor};
use warpweft_apps::relaxation::{gauss_seidel, over_relaxation, plain, relax};

use super::{Files, Options};
use crate::arguments::{Precision, Size, as_size, at_least_one};
use crate::interrupt;
use crate::progress::Progress;
use crate::run::check::{Check, difference, no_room, worse};
use crate::run::job::cells_of;
use crate::run::outcome::Outcome;

/// Cell updates that the plain loop may compute for a check: about a second.
const CHECKED_UPDATES: u64 = 100_000_000;
/// Seconds between two checks for an interrupt, and cell updates a second before any are measured.
const TICK: f64 = 0.5;
const UPDATES_A_SECOND: f64 = 1e6;

/// Laplace's equation by Gauss-Seidel or over-relaxation.
#[derive(clap::Args)]
#[command(
    after_help = "The plate is cold; the edge above it is held at 1, the others at 0. Each sweep goes row by row \
and uses what it has just computed to the north and west.

Examples:
  warpweft run laplace --plot plate.png
  warpweft run laplace --size 512x2048 --sweeps 500 --omega 1.9 --dtype f64"
)]
pub struct Laplace {
    /// Rows and columns.
    #[arg(long, value_name = "N|HxW", default_value = "256x256")]
    size: Size,
    /// Sweeps to make.
    #[arg(long, value_name = "N", default_value = "100", value_parser = at_least_one::<NonZero<usize>>)]
    sweeps: NonZero<usize>,
    /// Over-relaxation factor, above 0 and below 2 [default: none, Gauss-Seidel].
    #[arg(long, value_name = "X")]
    omega: Option<f64>,
    /// What a cell holds.
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    dtype: Precision,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    options: Options,
}

impl Laplace {
    /// Relaxes, checks and saves.
    pub fn run(&self) -> Result<Outcome> {
        if let Some(omega) = self.omega
            && !(omega > 0.0 && omega < 2.0)
        {
            let hint = "choose a factor above 0 and below 2: others don't converge";
            return Err(Error::spec(format!("relaxation factor {omega}"), hint));
        }
        match self.dtype {
            Precision::F32 => self.relaxed::<f32>(),
            Precision::F64 => self.relaxed::<f64>(),
        }
    }

    fn relaxed<T: Real + Ranked<Score = T>>(&self) -> Result<Outcome> {
        let formats = self.files.prepare("laplace")?;
        let extents = self.size.extents(2)?.array();
        let mut executor = self.options.executor()?;
        let mut plate = Volume::<T, 2>::zeroed(extents)?;
        let (top, sweeps) = (T::lit(1.0), self.sweeps.get());
        let omega = self.omega.map(T::lit);
        interrupt::listen();
        let stop = interrupt::flag();
        let progress = Progress::new("laplace", sweeps as u64, plate.len());
        let report_progress = |done: usize| progress.at(done as u64);
        let (report, done) = match omega {
            None => some(
                gauss_seidel::<T>(),
                (&mut plate, top),
                sweeps,
                &mut executor,
                (stop, &report_progress),
            )?,
            Some(omega) => some(
                over_relaxation(omega),
                (&mut plate, top),
                sweeps,
                &mut executor,
                (stop, &report_progress),
            )?,
        };
        progress.clear();
        let check = match done < sweeps {
            true => Check::none("interrupted"),
            false => self.checked(&plate, (top, omega), report.done)?,
        };
        let mean = plate.as_slice().iter().map(|&cell| Scalar::to_f64(cell)).sum::<f64>()
            / plate.len() as f64;
        let sweeps_done = counted(done as u64, "sweep");
        let (how, kind) = (self.how(), T::KIND.name());
        let title = format!("{} of {kind}, {how}, {sweeps_done}", cells_of(&extents));
        let mut answer = vec![("mean", json!(mean)), ("sweeps", json!(done))];
        if done < sweeps {
            answer.push(("interrupted_before", json!(sweeps)));
        }
        let saved = self.files.save(&formats, &format!("laplace {title}"), &plate);
        Ok(Outcome {
            app: "laplace",
            title,
            settings: vec![
                ("size", json!(as_size(&extents))),
                ("dtype", json!(T::KIND.name())),
                ("sweeps", json!(sweeps)),
                ("omega", json!(self.omega)),
            ],
            report,
            answer,
            check,
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: (done < sweeps).then_some(sweeps_done),
        })
    }
}

impl Laplace {
    fn how(&self) -> String {
        match self.omega {
            None => "Gauss-Seidel".into(),
            Some(omega) => format!("over-relaxed by {omega}"),
        }
    }

    /// What the straightforward loop says of `plate`, after so many updates.
    fn checked<T: Real>(
        &self,
        plate: &Volume<T, 2>,
        (top, omega): (T, Option<T>),
        updates: u64,
    ) -> Result<Check> {
        let extents = plate.extents();
        let padded = extents.iter().map(|&extent| extent as u64 + 2).product::<u64>();
        if let Some(none) = self.options.checking.unchecked() {
            return Ok(none);
        }
        if updates > self.options.checking.most(CHECKED_UPDATES) {
            return Ok(Check::none(format!(
                "the straightforward loop is run for up to {CHECKED_UPDATES} updates"
            )));
        }
        if let Some(none) = no_room(3 * padded * size_of::<T>() as u64) {
            return Ok(none);
        }
        let mut expect = Volume::<T, 2>::zeroed(extents)?;
        plain(&mut expect, top, self.sweeps.get(), omega);
        let pairs = plate.as_slice().iter().zip(expect.as_slice());
        let error =
            pairs.map(|(&a, &b)| difference(Scalar::to_f64(a), Scalar::to_f64(b))).fold(0.0, worse);
        Ok(Check::made("straightforward loop", error, 0.0))
    }
}

/// Relaxes by `sweeps` sweeps (at least 1), or fewer if `stop` is set meanwhile. Returns the report and the
/// number of sweeps done, at least 1. `progress` is called with that number from time to time.
fn some<T, E>(
    element: E,
    (plate, top): (&mut Volume<T, 2>, T),
    sweeps: usize,
    executor: &mut impl WavefrontExecutor<E>,
    (stop, progress): (&AtomicBool, &dyn Fn(usize)),
) -> Result<(Report, usize)>
where
    T: Real,
    E: WavefrontElement<Cell = T, Row = (), Column = (), Input = ()>,
{
    let cells = plate.len() as f64;
    let next = |rate: f64, done: usize| ((TICK * rate / cells) as usize).clamp(1, sweeps - done);
    let mut done = next(UPDATES_A_SECOND, 0);
    let mut report = relax(element, plate, top, done, executor)?;
    let mut rate = report.rate.value;
    while done < sweeps && !stop.load(Ordering::Relaxed) {
        let now = next(rate, done);
        let further = relax(element, plate, top, now, executor)?;
        rate = further.rate.value;
        report = report.followed_by(&further);
        done += now;
        progress(done);
    }
    Ok((report, done))
}
