//! `warpweft sat`: the summed area table of an image.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::RawVolume;
use warpweft::prelude::*;
use warpweft::wavefront::{RunExecutor, WavefrontElement};
use warpweft_apps::area::{
    fits_i32, long_sum_of_bytes, plain, plain_rounded, sum_of, sum_of_bytes, table,
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
int32, or int64 for more than 8.4 million pixels. Sums of float32 and float64 are float64.

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
        self.sum(element, image, planned, executor, |sums| {
            let sums = sums.as_slice().iter().map(|&sum| Scalar::to_f64(sum));
            let pairs = sums.zip(plain(image, f64::from));
            let error = pairs.map(|(a, b)| difference(a, b)).fold(0.0, worse);
            Check::made("running sums along rows, then columns", error, 0.0)
        })
    }

    fn floats(
        &self,
        image: &Volume<f64, 2>,
        planned: &Planned,
        executor: &mut RunExecutor<'_>,
    ) -> Result<Outcome> {
        let rounded = |sums: &Volume<f64, 2>| {
            let furthest = |plain: Vec<f64>| {
                let pairs = sums.as_slice().iter().zip(plain);
                pairs.map(|(&a, b)| difference(a, b)).fold(0.0, worse)
            };
            let error = furthest(plain_rounded(image));
            if error == 0.0 {
                return Check::made("straightforward loop", error, 0.0);
            }
            // By scans, as on GPUs, a sum has at most as many roundings as rows and columns before it, in
            // both computations, each of at most half a unit of the total.
            let [rows, columns] = image.extents();
            let all: f64 = image.as_slice().iter().map(|pixel| pixel.abs()).sum();
            let allowed = (rows + columns) as f64 * f64::EPSILON * all;
            let error = furthest(plain(image, |pixel| pixel));
            Check::made("running sums along rows, then columns", error, allowed)
        };
        self.sum(sum_of::<f64>(), image, planned, executor, rounded)
    }

    fn sum<E>(
        &self,
        element: E,
        image: &Volume<E::Input, 2>,
        planned: &Planned,
        executor: &mut RunExecutor<'_>,
        check: impl Fn(&Volume<E::Cell, 2>) -> Check,
    ) -> Result<Outcome>
    where
        E: WavefrontElement<Row = (), Column = ()>,
        E::Input: Scalar,
        E::Cell: Scalar,
    {
        let [rows, columns] = image.extents();
        let (sums, report) = table(element, image, executor)?;
        let start: &RawVolume = image;
        let total = sums.as_slice().last().copied().unwrap_or_default();
        let total = match E::Cell::KIND {
            ScalarKind::I32 | ScalarKind::I64 => json!(total.to_i128() as i64),
            _ => json!(Scalar::to_f64(total)),
        };
        let sum = E::Cell::KIND.name();
        let title = format!("{rows}x{columns} pixels of {}, sums of {sum}", self.image.display());
        let saved = self.files.save(planned, &format!("sat {title}"), &sums);
        Ok(Outcome {
            app: "sat",
            title,
            settings: vec![("dtype", json!(E::Input::KIND.name())), ("sums", json!(sum))],
            report,
            answer: vec![("rows", json!(rows)), ("columns", json!(columns)), ("sum", total)],
            check: overflow(&sums, || Ok(start))
                // Two tables of f64 with one more row and column, and some reserve.
                .or_else(|| no_room(20 * (rows as u64 + 1) * (columns as u64 + 1)))
                .unwrap_or_else(|| check(&sums)),
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: None,
        })
    }
}
