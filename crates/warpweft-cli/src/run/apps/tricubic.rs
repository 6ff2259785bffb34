//! `warpweft run tricubic` and `warpweft tune tricubic`.

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::tricubic::{self, Moves};

use super::command::AppCommand;
use super::fields::{Case, Show};
use crate::arguments::{Precision, as_size, by_default};
use crate::run::check::values;

/// The extents and steps where none are asked for.
const SIZE: [usize; 3] = [96; 3];
pub const STEPS: u64 = 60;

/// Dye in a flow.
#[derive(clap::Args)]
#[command(mut_arg("size", |arg| by_default(arg, as_size(&SIZE))))]
#[command(after_help = "Examples:
  warpweft run tricubic --plot
  warpweft run tricubic --size 256 --steps 300 --device gpu --output dye.vti")]
pub struct Tricubic<C: AppCommand> {
    /// Type of the numbers in a cell [default: that of --input, else f32].
    #[arg(long)]
    dtype: Option<Precision>,
    #[command(flatten)]
    command: C,
}

impl<C: AppCommand> Tricubic<C> {
    /// Runs or tunes it.
    pub fn execute(&self) -> Result<C::Outcome> {
        match self.command.precision(self.dtype, Precision::F32)? {
            Precision::F32 => self.of::<f32>(),
            Precision::F64 => self.of::<f64>(),
        }
    }

    fn of<T: Moves>(&self) -> Result<C::Outcome> {
        let case = Case {
            app: "tricubic",
            title: "64 points, moved up to a cell a step".into(),
            extents: self.command.extents(SIZE.into())?,
            steps: STEPS,
            stencil: T::stencil().into_spec(),
            start: &|extents| tricubic::whirl::<T>(extents.array()).map(Volume::into_raw),
            shown: 0,
            ready: |_, cells| Ok(cells),
            show: Show::Range,
            plain: (2, &tricubic::plain_step),
            roundings: &|_, _| 60.0,
            steady: u64::MAX,
            answer: &|volume, _| vec![("dye", json!(values(volume, 0).iter().sum::<f64>()))],
        };
        self.command.execute(&case)
    }
}
