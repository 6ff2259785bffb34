//! `warpweft run hyperthermia` and `warpweft tune hyperthermia`.

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::hyperthermia::{self, BLOOD, Warms};

use super::command::AppCommand;
use super::fields::{Case, Show};
use crate::arguments::{Precision, as_size, by_default};
use crate::run::check::values;

/// The extents and steps where none are asked for.
const SIZE: [usize; 3] = [96; 3];
pub const STEPS: u64 = 500;

/// Temperatures of heated tissue.
#[derive(clap::Args)]
#[command(mut_arg("size", |arg| by_default(arg, as_size(&SIZE))))]
#[command(mut_arg("boundary", |arg| arg.default_value("dirichlet:37")))]
#[command(after_help = "Examples:
  warpweft run hyperthermia --plot
  warpweft run hyperthermia --size 256 --steps 2000 --device gpu --output body.vti
  warpweft run hyperthermia --dtype f64")]
pub struct Hyperthermia<C: AppCommand> {
    /// Type of the numbers in a cell [default: that of --input, else f32].
    #[arg(long)]
    dtype: Option<Precision>,
    #[command(flatten)]
    command: C,
}

impl<C: AppCommand> Hyperthermia<C> {
    /// Runs or tunes it.
    pub fn execute(&self) -> Result<C::Outcome> {
        match self.command.precision(self.dtype, Precision::F32)? {
            Precision::F32 => self.of::<f32>(),
            Precision::F64 => self.of::<f64>(),
        }
    }

    fn of<T: Warms>(&self) -> Result<C::Outcome> {
        let case = Case {
            app: "hyperthermia",
            title: "an antenna's focus in muscle under fat".into(),
            extents: self.command.extents(SIZE.into())?,
            steps: STEPS,
            stencil: T::stencil().into_spec(),
            start: &|extents| hyperthermia::body::<T>(extents.array()).map(Volume::into_raw),
            shown: 0,
            ready: |_, tissue| Ok(tissue),
            show: Show::Range,
            plain: (1, &hyperthermia::plain_step),
            roundings: &|_, _| 17.0,
            steady: u64::MAX,
            answer: &|volume, _| {
                let cells = values(volume, 0);
                let hot = cells.iter().filter(|&&t| t > BLOOD + 5.0).count();
                vec![("cells_above_42_degrees", json!(hot))]
            },
        };
        self.command.execute(&case)
    }
}
