//! `warpweft dtw`: the dynamic time warping distance of two series.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::io::npy;
use warpweft::prelude::*;
use warpweft::wavefront::traceback::{Stored, Traced, Way};
use warpweft::wavefront::{RankExecutor, Ranked, WavefrontExecutor};
use warpweft_apps::warping::{added_up, check, distance, path, plain, time_warping};

use super::{Options, finish};
use crate::device::cut;
use crate::place;
use crate::plot;
use crate::run::check::numbers;
use crate::run::check::{Check, difference, no_room, worse};
use crate::run::files::{Format, Saved, found_writable, none_read};
use crate::run::outcome::Outcome;
use crate::world;

/// Cells that the plain loop may compute for a check: less than a second.
const CHECKED_CELLS: u64 = 20_000_000;

/// The dynamic time warping distance of two series.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "The distance is the sum of |a - b| along the best path from the start to the end of both series; \
some libraries take the root of a sum of squares instead. --path saves the pairs of indices along the path, \
first to last. If several paths are best, they are compared from the end: a step in both series is preferred \
to a step in B alone, and that to a step in A alone.

Examples:
  warpweft dtw a.npy b.npy
  warpweft dtw a.npy b.npy --path pairs.npy --plot
  warpweft dtw a.npy b.npy --band 100 --json"
)]
pub struct Dtw {
    /// The first series: .npy of one axis, float32 or float64.
    a: PathBuf,
    /// The second series, of the same type.
    b: PathBuf,
    /// Allow only paths whose indices differ by at most this much (Sakoe and Chiba's band).
    #[arg(long, value_name = "N")]
    band: Option<usize>,
    /// Save the best path: .npy of int64 with two columns, the indices in both series.
    #[arg(long, value_name = "FILE.npy", conflicts_with = "band")]
    path: Option<PathBuf>,
    /// Draw the best path [default file: dtw.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1, conflicts_with = "band")]
    plot: Option<Option<PathBuf>>,
    #[command(flatten)]
    options: Options,
}

impl Dtw {
    /// Reads, warps, checks and prints.
    pub fn execute(&self) -> ExitCode {
        finish(world::join().and_then(|()| self.outcome()))
    }

    fn outcome(&self) -> Result<Outcome> {
        let kinds = [npy::header(&self.a)?.kind, npy::header(&self.b)?.kind];
        match kinds {
            [ScalarKind::F32, ScalarKind::F32] => self.warp::<f32>(),
            [ScalarKind::F64, ScalarKind::F64] => self.warp::<f64>(),
            [a, b] => {
                let (path, what) = match a == b {
                    true => (&self.a, format!("holds {}, as {} does", a.name(), self.b.display())),
                    false => {
                        let other = format!("{} holds {}", self.a.display(), a.name());
                        (&self.b, format!("holds {}, and {other}", b.name()))
                    }
                };
                let hint = "convert both with `array.astype('float32')`, or both to float64";
                Err(Error::file(path, what, hint))
            }
        }
    }

    /// The picture's file. All files are checked for write access before any work is done.
    fn files(&self) -> Result<Option<PathBuf>> {
        let plot = self.plot.clone().map(|path| path.unwrap_or_else(|| PathBuf::from("dtw.png")));
        if let Some(path) = &self.path {
            Format::of(path, &[Format::Npy])?;
        }
        if let Some(plot) = &plot {
            Format::of(plot, &[Format::Png])?;
        }
        let all = self.path.iter().chain(&plot);
        none_read(all.clone(), &[&self.a, &self.b])?;
        found_writable(all)?;
        Ok(plot)
    }

    /// Whether the straightforward loop has `found` as well, and whether the path costs that, if there is one.
    fn check<T: Real + Ranked<Score = T>>(
        &self,
        [a, b]: [&[T]; 2],
        found: T,
        pairs: &[[usize; 2]],
    ) -> Check {
        let distance = Scalar::to_f64(found);
        let cells = a.len() as u64 * b.len() as u64;
        let padded = (a.len() as u64 + 1) * (b.len() as u64 + 1);
        let along = match pairs {
            [] => None,
            pairs => match added_up(a, b, pairs) {
                None => return Check::failed("the pairs are no path from corner to corner"),
                Some(sum) => Some(difference(distance, Scalar::to_f64(sum))),
            },
        };
        match cells {
            _ if !distance.is_finite() => Check::failed(format!(
                "the distance is {distance}: more than {} holds; {}",
                T::KIND.name(),
                numbers::hint(T::KIND)
            )),
            0..=CHECKED_CELLS => no_room(2 * padded * size_of::<T>() as u64).unwrap_or_else(|| {
                let expect = plain(a, b, self.band);
                let error = difference(distance, Scalar::to_f64(expect));
                let error = worse(error, along.unwrap_or(0.0));
                Check::made("straightforward loop", error, 0.0)
            }),
            _ if along.is_some() => Check::made("costs along the path", along.unwrap_or(0.0), 0.0)
                .of("the cost of the path found, not that no path is cheaper"),
            _ => Check::none(format!(
                "the straightforward loop is run for up to {CHECKED_CELLS} cells"
            )),
        }
    }

    /// Writes the pairs of a path to the files that were asked for. Only one process writes.
    fn save(
        &self,
        plot: Option<&Path>,
        lengths: [usize; 2],
        (distance, pairs): (f64, &[[usize; 2]]),
    ) -> Saved {
        let mut saved = Saved::default();
        if let Some(path) = self.path.as_ref().filter(|_| place::speaks()) {
            let table = Volume::try_from_fn([pairs.len(), 2], |[k, side]| pairs[k][side] as i64);
            saved.add(path, table.and_then(|table| npy::write(path, &table, 0)));
        }
        if let Some(file) = plot.filter(|_| place::speaks()) {
            let title = format!("{} / {}: {distance}", self.a.display(), self.b.display());
            saved.add(file, plot::path::save(file, &title, (["a", "b"], lengths), pairs));
        }
        saved
    }

    fn warp<T>(&self) -> Result<Outcome>
    where
        T: Real + Stored + Ranked<Score = T>,
        time_warping<T>: Traced<Cell = T, Row = T, Column = T>,
    {
        let plot = self.files()?;
        let [a, b]: [Volume<T, 1>; 2] = [npy::read(&self.a)?, npy::read(&self.b)?];
        let (a, b) = (a.as_slice(), b.as_slice());
        for (name, path, series) in [("a", &self.a, a), ("b", &self.b, b)] {
            // The error is in the file, not in the command line.
            check(name, series).map_err(|error| match error {
                Error::Spec { what, hint } => Error::file(path, what, hint),
                other => other,
            })?;
        }
        let mut executor = self.options.executor()?;
        let with_path = self.path.is_some() || plot.is_some();
        let warped = |executor: &mut dyn WavefrontExecutor<time_warping<T>>| match with_path {
            true => {
                let cut = cut([a.len(), b.len()], size_of::<T>());
                path(a, b, Way::Auto, cut, executor)
            }
            false => distance(a, b, self.band, executor)
                .map(|(found, report)| (found, Vec::new(), report)),
        };
        let (found, pairs, report) = match world::net() {
            Some(net) => warped(&mut RankExecutor::new(net, executor))?,
            None => warped(&mut executor)?,
        };
        let distance = Scalar::to_f64(found);
        let check = self.options.unchecked().unwrap_or_else(|| self.check([a, b], found, &pairs));
        let mut answer = vec![
            ("distance", json!(distance)),
            ("distance_over_both_lengths", json!(distance / (a.len() + b.len()) as f64)),
        ];
        if !pairs.is_empty() {
            answer.push(("pairs", json!(pairs.len())));
        }
        let saved = self.save(plot.as_deref(), [a.len(), b.len()], (distance, &pairs));
        Ok(Outcome {
            app: "dtw",
            title: format!("{} and {}", samples(&self.a, a.len()), samples(&self.b, b.len())),
            settings: vec![
                ("dtype", json!(T::KIND.name())),
                ("band", json!(self.band)),
                ("lengths", json!([a.len(), b.len()])),
            ],
            report,
            answer,
            check,
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: None,
        })
    }
}

/// `a.npy (12 samples)`.
fn samples(path: &Path, count: usize) -> String {
    format!("{} ({count} samples)", path.display())
}
