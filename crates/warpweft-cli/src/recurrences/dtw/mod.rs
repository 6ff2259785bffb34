//! `warpweft dtw`: dynamic time warping of two series, of a short one in a long one, and of many.

mod many;
mod pair;
mod subsequence;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::io::npy;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::run::Target;
use warpweft::wavefront::{Tuned, Tuning};
use warpweft_apps::errors::in_file;
use warpweft_apps::warping::{Constraint, Cost, Measure, Sample, check, tune};

use super::{Options, finish};
use crate::place;
use crate::run::check::{Check, difference};
use crate::run::files::{Format, Saved, found_writable, none_read};
use crate::run::outcome::{Answer, Outcome};
use crate::world;

/// Cells that the plain loop may compute for a check: less than a second.
const CHECKED_CELLS: u64 = 20_000_000;

/// What a pair of samples costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum CostName {
    /// The absolute difference; the distance is the sum of the costs.
    #[default]
    Absolute,
    /// The squared difference; the distance is the square root of the sum.
    Squared,
}

/// Dynamic time warping: the distance of two series whose time axes may be stretched.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "A path pairs the samples of both series, from their first samples to their last ones. The \
distance is the cost of the cheapest path: the sum of |a - b|, or with --cost squared the root of the sum of (a - b)^2, as in \
dtaidistance and tslearn. --path saves the pairs of indices along the path, first to last. If several paths are best, \
they are compared from the end: a step in both series is preferred to a step in B alone, and that to a step in A alone.

--band N allows pairs whose indices differ by N at most. --window N is the window of dtaidistance. With equally long \
series it is a band of N - 1; otherwise the band is wider, on the side of the longer series, by the difference of the \
lengths.

--subsequence finds the parts of B that are nearest to the whole of A. A part that overlaps a nearer one is left out. \
--path and --plot then show the nearest part.

--matrix computes the distances between all rows of A and saves them in condensed form: rows 0 and 1, 0 and 2, .., \
1 and 2, .. (scipy.spatial.distance.squareform makes a square matrix of it).

--nearest finds the rows of B that are nearest to A. If a lower bound of a row's distance exceeds the distance of the \
N-th nearest row found so far, the row is left out. The bounds are LB_Kim (first and last pair) and LB_Keogh (envelope \
of the band). The result is the same as from all distances; the report says how many rows were left out.

Examples:
  warpweft dtw a.npy b.npy
  warpweft dtw a.npy b.npy --band 100 --path pairs.npy --plot
  warpweft dtw query.npy recording.npy --subsequence --matches 5 --cost squared
  warpweft dtw series.npy --matrix distances.npy --window 20
  warpweft dtw query.npy series.npy --nearest 10 --band 20"
)]
pub struct Dtw {
    /// The first series: .npy of one axis, float32 or float64. With --matrix: two axes, each row
    /// is a series.
    a: PathBuf,
    /// The second series, of the same type. With --nearest: two axes, each row is a series.
    #[arg(required_unless_present = "matrix", conflicts_with = "matrix")]
    b: Option<PathBuf>,
    /// What a pair of samples costs.
    #[arg(long, value_name = "COST", value_enum, default_value_t)]
    cost: CostName,
    /// Allow only paths whose indices differ by at most this much (Sakoe and Chiba's band).
    #[arg(long, value_name = "N", conflicts_with = "window")]
    band: Option<usize>,
    /// Allow only paths within a window as defined by dtaidistance.
    #[arg(long, value_name = "N")]
    window: Option<usize>,
    /// Find the parts of the second series that are nearest to the first.
    #[arg(long, conflicts_with_all = ["band", "window", "matrix"])]
    subsequence: bool,
    /// The number of parts to find.
    #[arg(long, value_name = "N", requires = "subsequence", default_value = "1")]
    matches: NonZero<usize>,
    /// Find the N rows of B that are nearest to A.
    #[arg(long, value_name = "N", conflicts_with_all = ["subsequence", "matrix", "path", "plot"])]
    nearest: Option<NonZero<usize>>,
    /// Save the distances between all rows of A: .npy of one axis.
    #[arg(long, value_name = "FILE.npy", conflicts_with_all = ["path", "plot"])]
    matrix: Option<PathBuf>,
    /// Save the best path: .npy of int64 with two columns, the indices in both series.
    #[arg(long, value_name = "FILE.npy")]
    path: Option<PathBuf>,
    /// Draw the best path [default file: dtw.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    plot: Option<Option<PathBuf>>,
    #[command(flatten)]
    options: Options,
}

/// What a run of this command comes to, in addition to what all of them have.
struct Found {
    title: String,
    lengths: [usize; 2],
    report: Report,
    answer: Answer,
    check: Check,
    lines: Vec<(&'static str, String)>,
    saved: Saved,
}

impl Dtw {
    /// Reads, warps, checks and prints.
    pub fn execute(&self) -> ExitCode {
        finish(world::join().and_then(|()| self.outcome()))
    }

    fn outcome(&self) -> Result<Outcome> {
        let kind = |path: &PathBuf| npy::header(path).map(|header| header.kind);
        let a = kind(&self.a)?;
        let b = self.b.as_ref().map(kind).transpose()?;
        match (a, b.unwrap_or(a)) {
            (ScalarKind::F32, ScalarKind::F32) => self.run::<f32>(),
            (ScalarKind::F64, ScalarKind::F64) => self.run::<f64>(),
            (a, b) => {
                let other = self.b.as_ref().unwrap_or(&self.a);
                let (path, what) = match a == b {
                    true => (&self.a, format!("holds {}; warping takes f32 or f64", a.name())),
                    false => {
                        let first = format!("{} holds {}", self.a.display(), a.name());
                        (other, format!("holds {}, and {first}", b.name()))
                    }
                };
                let hint = "convert both with `array.astype('float32')`, or both to float64";
                Err(Error::file(path, what, hint))
            }
        }
    }

    fn run<T: Sample>(&self) -> Result<Outcome> {
        let plot = self.files()?;
        if let (Some(place), true) = (place::place(), self.is_of_many()) {
            let what = format!(
                "--subsequence, --nearest and --matrix work with one process only, but there are {}",
                place.ranks
            );
            return Err(Error::spec(what, "start one process"));
        }
        let found = match (&self.matrix, self.nearest, self.subsequence) {
            (Some(to), ..) => self.all_pairs::<T>(to)?,
            (_, Some(count), _) => self.neighbours::<T>(count)?,
            (_, _, true) => self.parts::<T>(plot.as_deref())?,
            _ => self.pair::<T>(plot.as_deref())?,
        };
        let Found { title, lengths, report, answer, check, lines, saved } = found;
        let cost = match self.cost {
            CostName::Absolute => "absolute",
            CostName::Squared => "squared",
        };
        Ok(Outcome {
            app: "dtw",
            title,
            settings: vec![
                ("dtype", json!(T::KIND.name())),
                ("cost", json!(cost)),
                ("band", json!(self.band)),
                ("window", json!(self.window)),
                ("lengths", json!(lengths)),
            ],
            report,
            answer,
            check,
            lines,
            saved,
            json: self.options.json,
            interrupted: None,
        })
    }

    /// Where it runs and how it tells.
    pub fn place(&self) -> (Target, Option<usize>, bool) {
        let Options { device, threads, json, .. } = &self.options;
        (*device, threads.map(NonZero::get), *json)
    }

    /// The fastest policy for the distance of both series, and their lengths.
    ///
    /// # Errors
    /// As a run's; an option that says what to do with a result.
    pub fn tuned(&self, machine: &Machine, tuning: &Tuning) -> Result<([usize; 2], Tuned)> {
        if self.is_of_many() || self.path.is_some() || self.plot.is_some() {
            let what = "an option has no meaning for `tune dtw`, which only computes the distance of two series";
            return Err(Error::spec(what, "leave out all options but --cost, --band and --window"));
        }
        fn of<T: Sample>(
            dtw: &Dtw,
            machine: &Machine,
            tuning: &Tuning,
        ) -> Result<([usize; 2], Tuned)> {
            let [a, b] = [read::<T>("a", &dtw.a)?, read("b", dtw.second()?)?];
            let (a, b) = (a.as_slice(), b.as_slice());
            let found = tune(a, b, dtw.measure(), (machine, tuning))?;
            Ok(([a.len(), b.len()], found))
        }
        match npy::header(&self.a)?.kind {
            ScalarKind::F32 => of::<f32>(self, machine, tuning),
            _ => of::<f64>(self, machine, tuning),
        }
    }

    fn is_of_many(&self) -> bool {
        self.subsequence || self.nearest.is_some() || self.matrix.is_some()
    }

    /// How far apart series are.
    fn measure(&self) -> Measure {
        let within = match (self.band, self.window) {
            (Some(width), _) => Constraint::Band(width),
            (_, Some(width)) => Constraint::Window(width),
            _ => Constraint::None,
        };
        Measure { cost: self.cost(), within }
    }

    fn cost(&self) -> Cost {
        match self.cost {
            CostName::Absolute => Cost::Absolute,
            CostName::Squared => Cost::Squared,
        }
    }

    /// The picture's file. All files are checked for write access before any work is done.
    fn files(&self) -> Result<Option<PathBuf>> {
        let plot = self.plot.clone().map(|path| path.unwrap_or_else(|| PathBuf::from("dtw.png")));
        for path in self.path.iter().chain(&self.matrix) {
            Format::of(path, &[Format::Npy])?;
        }
        if let Some(plot) = &plot {
            Format::of(plot, &[Format::Png])?;
        }
        let all = self.path.iter().chain(&self.matrix).chain(&plot);
        let read: Vec<_> = std::iter::once(&self.a).chain(&self.b).collect();
        none_read(all.clone(), &read)?;
        found_writable(all)?;
        Ok(plot)
    }

    /// The second file.
    fn second(&self) -> Result<&Path> {
        let none = || Error::spec("one series", "give a second one");
        self.b.as_deref().ok_or_else(none)
    }

    /// The check of a distance that is no number, or none.
    fn finite<T: Sample>(&self, distances: &[T]) -> Option<Check> {
        let mut sizes = distances.iter().map(|&distance| Scalar::to_f64(distance));
        let wrong = sizes.find(|distance| !distance.is_finite())?;
        Some(Check::failed(format!(
            "the distance is {wrong}: more than {} holds; {}",
            T::KIND.name(),
            match T::KIND {
                ScalarKind::F64 => "give smaller values",
                _ => "give smaller values, or convert both series with `array.astype('float64')`",
            }
        )))
    }
}

/// A series, checked. `name` is what errors call it.
fn read<T: Sample>(name: &str, path: &Path) -> Result<Volume<T, 1>> {
    let series: Volume<T, 1> = npy::read(path)?;
    check(name, series.as_slice()).map_err(|error| in_file(path, error))?;
    Ok(series)
}

/// The series of a file, a row each, checked.
fn read_rows<T: Sample>(path: &Path) -> Result<Volume<T, 2>> {
    let set: Volume<T, 2> = npy::read(path)?;
    for (k, row) in rows(&set).iter().enumerate() {
        check(&k.to_string(), row).map_err(|error| in_file(path, error))?;
    }
    Ok(set)
}

/// The rows of a set of series.
fn rows<T: Sample>(set: &Volume<T, 2>) -> Vec<&[T]> {
    set.as_slice().chunks(set.extents()[1].max(1)).collect()
}

/// The difference of two numbers of samples' type.
fn apart<T: Sample>(a: T, b: T) -> f64 {
    difference(Scalar::to_f64(a), Scalar::to_f64(b))
}

/// `a.npy (12 samples)`.
fn samples(path: &Path, count: usize) -> String {
    format!("{} ({count} samples)", path.display())
}
