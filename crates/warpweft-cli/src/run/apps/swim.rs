//! `warpweft run swim` and `warpweft tune swim`.

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::swim::{self, DT, Flows};

use super::command::AppCommand;
use super::fields::{Case, Show};
use crate::arguments::{Precision, as_size, by_default};

/// The extents and steps where none are asked for.
const SIZE: [usize; 2] = [512; 2];
pub const STEPS: u64 = 500;

/// Shallow water on a torus.
#[derive(clap::Args)]
#[command(mut_arg("size", |arg| by_default(arg, as_size(&SIZE))))]
#[command(after_help = "Examples:
  warpweft run swim --size 256 --steps 99       the sum of |u| is then 6518.6598565
  warpweft run swim --size 4096 --device gpu --plot")]
pub struct Swim<C: AppCommand> {
    /// Type of the numbers in a cell [default: that of --input, else f64].
    #[arg(long)]
    dtype: Option<Precision>,
    #[command(flatten)]
    command: C,
}

impl<C: AppCommand> Swim<C> {
    /// Runs or tunes it.
    pub fn execute(&self) -> Result<C::Outcome> {
        match self.command.precision(self.dtype, Precision::F64)? {
            Precision::F32 => self.of::<f32>(),
            Precision::F64 => self.of::<f64>(),
        }
    }

    fn of<T: Flows>(&self) -> Result<C::Outcome> {
        let faces = self.command.grid().boundary.faces(2)?;
        if faces != [[Boundary::Periodic; 2]; 2] {
            return Err(Error::spec(
                format!("swim has no --boundary {}", self.command.grid().boundary),
                "leave --boundary out: swim is periodic (a torus)",
            ));
        }
        let extents = self.command.extents(SIZE.into())?;
        let case = Case {
            app: "swim",
            title: format!("leapfrog by {DT} s, after a first step forward"),
            extents,
            steps: STEPS,
            stencil: swim::stencil::<T>().into_spec(),
            start: &|extents| swim::at_rest::<T>(extents.array()).map(Volume::into_raw),
            shown: 2,
            ready: |_, water| swim::first_step::<T>(Volume::from_raw(water)).map(Volume::into_raw),
            show: Show::Range,
            plain: (1, &swim::plain_step),
            roundings: &|field, most| swim::roundings(std::array::from_fn(|f| most[f]))[field],
            steady: swim::steady(extents.array()),
            answer: &|volume, _| {
                let [u, v, p] = swim::sums(volume);
                vec![("sum_of_u", json!(u)), ("sum_of_v", json!(v)), ("sum_of_p", json!(p))]
            },
        };
        self.command.execute(&case)
    }
}
