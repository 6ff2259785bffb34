//! `warpweft run tricubic`.

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::tricubic::{self, Moves};

use super::check::values;
use super::fields::{Case, Show};
use super::files;
use super::options::Options;
use super::outcome::Outcome;
use crate::arguments::{Precision, as_size, by_default};

/// The extents and steps where none are asked for.
const SIZE: [usize; 3] = [96; 3];
const STEPS: u64 = 60;

/// Dye in a flow.
#[derive(clap::Args)]
#[command(
    mut_arg("size", |arg| by_default(arg, as_size(&SIZE))),
    mut_arg("steps", |arg| by_default(arg, STEPS))
)]
#[command(after_help = "Examples:
  warpweft run tricubic --plot
  warpweft run tricubic --size 256 --steps 300 --device gpu --output dye.vti")]
pub struct Tricubic {
    /// What cells hold [default: what --input holds, else f32].
    #[arg(long)]
    dtype: Option<Precision>,
    #[command(flatten)]
    options: Options,
}

impl Tricubic {
    /// Runs it.
    pub fn run(&self) -> Result<Option<Outcome>> {
        match files::precision(&self.options, self.dtype, Precision::F32)? {
            Precision::F32 => self.of::<f32>(),
            Precision::F64 => self.of::<f64>(),
        }
    }

    fn of<T: Moves>(&self) -> Result<Option<Outcome>> {
        let case = Case {
            app: "tricubic",
            title: "64 points, moved up to a cell a step".into(),
            options: &self.options,
            extents: files::extents(&self.options, SIZE)?,
            steps: STEPS,
            stencil: T::stencil(),
            start: &tricubic::whirl::<T>,
            shown: 0,
            ready: |_, cells| Ok(cells),
            show: Show::Range,
            plain: (2, &tricubic::plain_step),
            roundings: 60.0,
            answer: &|volume, _| vec![("dye", json!(values(volume, 0).iter().sum::<f64>()))],
        };
        case.run()
    }
}
