//! `warpweft run edge` and `warpweft tune edge`.

use warpweft::prelude::*;
use warpweft_apps::edge;

use super::command::AppCommand;
use super::fields::{Case, Show};
use crate::arguments::{as_size, by_default};

/// The extents and steps where none are asked for.
const SIZE: [usize; 2] = [512; 2];
pub const STEPS: u64 = 2_000;

/// A picture put together again from its edges.
#[derive(clap::Args)]
#[command(mut_arg("size", |arg| by_default(arg, as_size(&SIZE))))]
#[command(mut_arg("boundary", |arg| arg.default_value("dirichlet:255")))]
#[command(after_help = "Examples:
  warpweft run edge --size 300 --steps 20000 --plot
  warpweft run edge --input photo.png --steps 5000 --output back.png")]
pub struct Edge<C: AppCommand> {
    #[command(flatten)]
    command: C,
}

impl<C: AppCommand> Edge<C> {
    /// Runs or tunes it.
    pub fn execute(&self) -> Result<C::Outcome> {
        let case = Case {
            app: "edge",
            title: "Jacobi from white".into(),
            extents: self.command.extents(SIZE.into())?,
            steps: STEPS,
            stencil: edge::stencil().into_spec(),
            start: &|extents| edge::rings(extents.array()).map(Volume::into_raw),
            shown: 0,
            ready: |faces, pixels| {
                edge::edges_of(&Volume::from_raw(pixels), &faces.array()).map(Volume::into_raw)
            },
            show: Show::Greys,
            plain: (1, &|plain| plain.step(edge::plain_step)),
            roundings: &|_, _| 3.0,
            steady: u64::MAX,
            answer: &|_, _| Vec::new(),
        };
        self.command.execute(&case)
    }
}
