//! `warpweft sat`: the summed area table of an image.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::RawVolume;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::{RunExecutor, WavefrontElement};
use warpweft_apps::area::{
    fits_i32, long_sum_of_bytes, plain, relative_error, sum_of_bytes, sum_of_squares, table,
    table_of_reals,
};

use super::{Files, Format, Options, Planned, finish};
use crate::run::check::numbers::overflow;
use crate::run::check::{Check, difference, no_room, worse};
use crate::run::files;
use crate::run::outcome::Outcome;

/// The square of a grey.
pub(super) fn squared(pixel: u8) -> f64 {
    f64::from(pixel) * f64::from(pixel)
}

/// The summed area table of an image.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Entry [i, j] of the result sums the pixels of rows 0 to i and columns 0 to j. Unlike OpenCV's \
table, it does not begin with a row and a column of zeros. Sums of 8-bit greys (.png, or .npy of uint8) are \
int32, or int64 for more than 8.4 million pixels. Sums of float32 and float64 are float64, with the rounding of \
numpy's cumsum along rows, then columns.

--squares sums the squares, int64 of greys. --tilted sums the pixels [y, x] with y <= i and |x - j| <= i - y, int64 (Lienhart \
and Maydt's rotated sums). --bins N makes an integral histogram: a table for each of N bins of equal width, which counts the \
pixels of that bin; --channels makes a table each of red, green and blue. Both save .npy of three axes: the bin or \
channel, the row and the column.

All entries are checked: sums of integers exactly, sums of floats up to the rounding errors of their additions.

Examples:
  warpweft sat photo.png --output sums.npy
  warpweft sat photo.png --bins 16 --output histograms.npy
  warpweft sat photo.png --channels --squares --output squares.npy
  warpweft sat field.npy --plot sums.png --device cpu"
)]
pub struct Sat {
    /// The image: .png (colours become grey), or .npy of uint8, float32 or float64.
    pub(super) image: PathBuf,
    /// Sum the squares of the pixels.
    #[arg(long, group = "tables")]
    pub(super) squares: bool,
    /// Sum tilted areas (triangles with the tip at [i, j]), for features rotated by 45 degrees.
    #[arg(long, group = "tables", conflicts_with = "channels")]
    tilted: bool,
    /// Count the pixels of each of N bins, 1 to 256.
    #[arg(long, value_name = "N", group = "tables", conflicts_with_all = ["channels", "plot"])]
    pub(super) bins: Option<usize>,
    /// Make a table for each of red, green and blue, or for each index of the third axis of a .npy file of uint8.
    #[arg(long, conflicts_with = "plot")]
    channels: bool,
    #[command(flatten)]
    pub(super) files: Files,
    #[command(flatten)]
    pub(super) options: Options,
}

impl Sat {
    /// Reads, sums, checks, saves and prints.
    pub fn execute(&self) -> ExitCode {
        finish(self.outcome())
    }

    fn outcome(&self) -> Result<Outcome> {
        let planned = self.files.prepare("sat")?;
        let written = self.files.output.iter().chain(&planned.plot);
        files::none_read(written, &[&self.image])?;
        let (_, kind) = files::shape_of(&self.image)?;
        self.check(&planned, kind)?;
        let mut executor = self.options.executor()?;
        if self.channels {
            return self.stacked(&self.planes()?, &mut executor);
        }
        match kind {
            None | Some(ScalarKind::U8) => {
                let image: Volume<u8, 2> =
                    Volume::from_raw(files::read(&self.image, 2, ScalarKind::U8, f64::from)?);
                match fits_i32(image.extents()) {
                    _ if self.bins.is_some() => self.histograms(&image, &mut executor),
                    _ if self.tilted => self.tilted(&image, &planned, &mut executor),
                    _ if self.squares => {
                        self.bytes((sum_of_squares(), squared), &image, &planned, &mut executor)
                    }
                    true => {
                        self.bytes((sum_of_bytes(), f64::from), &image, &planned, &mut executor)
                    }
                    false => {
                        let element = long_sum_of_bytes();
                        self.bytes((element, f64::from), &image, &planned, &mut executor)
                    }
                }
            }
            Some(ScalarKind::F32) => {
                // 32-bit rounding errors add up over the table, so differences of its sums would mean
                // nothing.
                let image: Volume<f32, 2> =
                    Volume::from_raw(files::read(&self.image, 2, ScalarKind::F32, f64::from)?);
                let mut cells = image.as_slice().iter();
                let next = |_| cells.next().copied().map_or(0.0, f64::from);
                let wide = Volume::try_from_fn(image.extents(), next)?;
                self.floats(&wide, &planned, &mut executor)
            }
            Some(ScalarKind::F64) => {
                let image: Volume<f64, 2> =
                    Volume::from_raw(files::read(&self.image, 2, ScalarKind::F64, f64::from)?);
                self.floats(&image, &planned, &mut executor)
            }
            Some(other) => Err(Error::file(
                &self.image,
                format!("holds {}", other.name()),
                "convert it with `array.astype('float32')`, or to uint8 or float64",
            )),
        }
    }

    /// Whether these tables are made of pixels of `kind`, and fit the files.
    fn check(&self, planned: &Planned, kind: Option<ScalarKind>) -> Result<()> {
        let stacked = self.bins.is_some() || self.channels;
        let other = planned.formats.iter().find(|&&format| format != Format::Npy);
        if other.is_some_and(|_| stacked) {
            let what = "--bins and --channels make several tables, but this file format holds one";
            return Err(Error::spec(what, "end the name in .npy"));
        }
        match kind {
            Some(kind) if (stacked || self.tilted) && kind != ScalarKind::U8 => {
                let what = format!(
                    "holds {}, but --bins, --channels and --tilted need uint8",
                    kind.name()
                );
                Err(Error::file(&self.image, what, "convert it with `array.astype('uint8')`"))
            }
            _ => Ok(()),
        }
    }

    /// The tables of `element`, which adds `value` of each pixel.
    fn bytes<E>(
        &self,
        (element, value): (E, fn(u8) -> f64),
        image: &Volume<u8, 2>,
        planned: &Planned,
        executor: &mut RunExecutor<'_>,
    ) -> Result<Outcome>
    where
        E: WavefrontElement<Row = (), Column = (), Input = u8>,
        E::Cell: Scalar,
    {
        let [rows, columns] = image.extents();
        self.outcome_of(image, table(element, image, executor)?, planned, |sums| {
            // Two tables of f64 with one more row and column, and some reserve.
            no_room(20 * (rows as u64 + 1) * (columns as u64 + 1)).unwrap_or_else(|| {
                let sums = sums.as_slice().iter().map(|&sum| Scalar::to_f64(sum));
                let pairs = sums.zip(plain(image, value));
                let error = pairs.map(|(a, b)| difference(a, b)).fold(0.0, worse);
                Check::made("running sums along rows, then columns", error, 0.0)
            })
        })
    }

    fn floats(
        &self,
        image: &Volume<f64, 2>,
        planned: &Planned,
        executor: &mut RunExecutor<'_>,
    ) -> Result<Outcome> {
        let mut squares = None;
        if self.squares {
            let mut pixels = image.as_slice().iter();
            let next = |_| pixels.next().map_or(0.0, |pixel| pixel * pixel);
            squares = Some(Volume::try_from_fn(image.extents(), next)?);
        }
        let image = squares.as_ref().unwrap_or(image);
        self.outcome_of(image, table_of_reals(image, executor)?, planned, |sums| {
            // A sum has at most as many roundings as rows and columns before it, each of half a unit.
            let [rows, columns] = image.extents();
            let allowed = (rows + columns) as f64 * f64::EPSILON / 2.0;
            let error = relative_error(image, sums);
            Check::made("sums in twice the precision, relative to the sum of sizes", error, allowed)
        })
    }

    pub(super) fn outcome_of<I: Scalar, C: Scalar>(
        &self,
        image: &Volume<I, 2>,
        (sums, report): (Volume<C, 2>, Report),
        planned: &Planned,
        check: impl Fn(&Volume<C, 2>) -> Check,
    ) -> Result<Outcome> {
        let [rows, columns] = image.extents();
        let start: &RawVolume = image;
        let what = match (self.squares, self.tilted) {
            (true, _) => "squares",
            (_, true) => "tilted sums",
            _ => "sums",
        };
        let total = sums.as_slice().last().copied().unwrap_or_default();
        let total = match C::KIND {
            ScalarKind::I32 | ScalarKind::I64 => json!(total.to_i128() as i64),
            _ => json!(Scalar::to_f64(total)),
        };
        let sum = C::KIND.name();
        let title = format!("{rows}x{columns} pixels of {}, {what} of {sum}", self.image.display());
        let saved = self.files.save(planned, &format!("sat {title}"), &sums);
        Ok(Outcome {
            app: "sat",
            title,
            settings: vec![("dtype", json!(I::KIND.name())), ("sums", json!(sum))],
            report,
            answer: vec![("rows", json!(rows)), ("columns", json!(columns)), ("sum", total)],
            check: overflow(&sums, || Ok(start))
                .or_else(|| self.options.checking.unchecked())
                .unwrap_or_else(|| check(&sums)),
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: None,
        })
    }
}
