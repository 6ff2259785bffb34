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
    fits_i32, long_sum_of_bytes, plain, relative_error, sum_of_bytes, table, table_of_reals,
};

use super::{Files, Options, Planned, finish};
use crate::run::check::numbers::overflow;
use crate::run::check::{Check, difference, no_room, worse};
use crate::run::files;
use crate::run::outcome::Outcome;

/// The summed area table of an image.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Entry [i, j] of the result sums the pixels of rows 0 to i and columns 0 to j. Unlike OpenCV's \
table, it does not begin with a row and a column of zeros. Sums of 8-bit greys (.png, or .npy of uint8) are \
int32, or int64 for more than 8.4 million pixels. Sums of float32 and float64 are float64, with the rounding of \
numpy's cumsum along rows, then columns.

All entries are checked. A wrong sum of greys always shows. A wrong sum of floats shows unless it is within the \
rounding of its additions.

Examples:
  warpweft sat photo.png --output sums.npy
  warpweft sat field.npy --plot sums.png --device cpu"
)]
pub struct Sat {
    /// The image: .png (colours become grey), or .npy of uint8, float32 or float64.
    image: PathBuf,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    options: Options,
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
        let mut executor = self.options.executor()?;
        match kind {
            None | Some(ScalarKind::U8) => {
                let image: Volume<u8, 2> =
                    Volume::from_raw(files::read(&self.image, 2, ScalarKind::U8, f64::from)?);
                match fits_i32(image.extents()) {
                    true => self.bytes(sum_of_bytes(), &image, &planned, &mut executor),
                    false => self.bytes(long_sum_of_bytes(), &image, &planned, &mut executor),
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

    fn bytes<E>(
        &self,
        element: E,
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
                let pairs = sums.zip(plain(image, f64::from));
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
        self.outcome_of(image, table_of_reals(image, executor)?, planned, |sums| {
            // A sum has at most as many roundings as rows and columns before it, each of half a unit.
            let [rows, columns] = image.extents();
            let allowed = (rows + columns) as f64 * f64::EPSILON / 2.0;
            let error = relative_error(image, sums);
            Check::made("sums in twice the precision, relative to the sum of sizes", error, allowed)
        })
    }

    fn outcome_of<I: Scalar, C: Scalar>(
        &self,
        image: &Volume<I, 2>,
        (sums, report): (Volume<C, 2>, Report),
        planned: &Planned,
        check: impl Fn(&Volume<C, 2>) -> Check,
    ) -> Result<Outcome> {
        let [rows, columns] = image.extents();
        let start: &RawVolume = image;
        let total = sums.as_slice().last().copied().unwrap_or_default();
        let total = match C::KIND {
            ScalarKind::I32 | ScalarKind::I64 => json!(total.to_i128() as i64),
            _ => json!(Scalar::to_f64(total)),
        };
        let sum = C::KIND.name();
        let title = format!("{rows}x{columns} pixels of {}, sums of {sum}", self.image.display());
        let saved = self.files.save(planned, &format!("sat {title}"), &sums);
        Ok(Outcome {
            app: "sat",
            title,
            settings: vec![("dtype", json!(I::KIND.name())), ("sums", json!(sum))],
            report,
            answer: vec![("rows", json!(rows)), ("columns", json!(columns)), ("sum", total)],
            check: overflow(&sums, || Ok(start))
                .or_else(|| self.options.unchecked())
                .unwrap_or_else(|| check(&sums)),
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: None,
        })
    }
}
