//! `warpweft run laplace`: a plate relaxed in place.

use std::num::NonZero;

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::relaxation::{gauss_seidel, over_relaxation, plain, relax};

use super::{Files, Options};
use crate::arguments::{Float, Size, at_least_one};
use crate::run::check::{Check, difference, worse};
use crate::run::outcome::Outcome;

/// Cell updates that the straightforward loop is given to check with: about a second.
const CHECKED_UPDATES: u64 = 100_000_000;

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
    /// Over-relaxation factor, between 0 and 2 [default: none, Gauss-Seidel].
    #[arg(long, value_name = "X")]
    omega: Option<f64>,
    /// What a cell holds.
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    dtype: Float,
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
            let remedy = "choose one between 0 and 2: others diverge";
            return Err(Error::spec(format!("relaxation factor {omega}"), remedy));
        }
        match self.dtype {
            Float::F32 => self.relaxed::<f32>(),
            Float::F64 => self.relaxed::<f64>(),
            Float::F16 | Float::Bf16 => Err(Error::spec(
                "a recurrence in two bytes",
                "choose f32 or f64: only cells of stencils may be smaller than what is computed in",
            )),
        }
    }

    fn relaxed<T: Real + warpweft::wavefront::Ranked<Score = T>>(&self) -> Result<Outcome> {
        let formats = self.files.prepare()?;
        let extents = self.size.extents::<2>()?;
        let mut chosen = self.options.chosen()?;
        let mut plate = Volume::<T, 2>::zeroed(extents)?;
        let (top, sweeps) = (T::lit(1.0), self.sweeps.get());
        let omega = self.omega.map(T::lit);
        let report = match omega {
            None => relax(gauss_seidel::<T>(), &mut plate, top, sweeps, &mut chosen)?,
            Some(omega) => relax(over_relaxation(omega), &mut plate, top, sweeps, &mut chosen)?,
        };
        let check = if report.done > CHECKED_UPDATES {
            Check::none(format!(
                "not made: the straightforward loop is run for up to {CHECKED_UPDATES} updates"
            ))
        } else {
            let mut expect = Volume::<T, 2>::zeroed(extents)?;
            plain(&mut expect, top, sweeps, omega);
            let pairs = plate.as_slice().iter().zip(expect.as_slice());
            let error = pairs
                .map(|(&a, &b)| difference(Scalar::to_f64(a), Scalar::to_f64(b)))
                .fold(0.0, worse);
            Check::made("straightforward loop", error, 0.0)
        };
        let mean = plate.as_slice().iter().map(|&cell| Scalar::to_f64(cell)).sum::<f64>()
            / plate.len() as f64;
        let [rows, columns] = extents;
        let title = format!("{rows}x{columns}, {sweeps} sweeps");
        let saved = self.files.save(&formats, &format!("laplace {title}"), &plate);
        Ok(Outcome {
            app: "laplace",
            title,
            report,
            answer: vec![("mean", json!(mean)), ("sweeps", json!(sweeps))],
            check,
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: false,
        })
    }
}
