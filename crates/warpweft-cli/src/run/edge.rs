//! `warpweft run edge`.

use warpweft::prelude::*;
use warpweft_apps::edge;

use super::fields::{Case, Show};
use super::files;
use super::options::Options;
use super::outcome::Outcome;
use crate::arguments::{as_size, by_default};

/// The extents and steps where none are asked for.
const SIZE: [usize; 2] = [512; 2];
const STEPS: u64 = 2_000;

/// A picture put together again from its edges.
#[derive(clap::Args)]
#[command(
    mut_arg("size", |arg| by_default(arg, as_size(&SIZE))),
    mut_arg("steps", |arg| by_default(arg, STEPS))
)]
#[command(mut_arg("boundary", |arg| arg.default_value("dirichlet:255")))]
#[command(after_help = "Examples:
  warpweft run edge --size 300 --steps 20000 --plot
  warpweft run edge --input photo.png --steps 5000 --output back.png")]
pub struct Edge {
    #[command(flatten)]
    options: Options,
}

impl Edge {
    /// Runs it.
    pub fn run(&self) -> Result<Option<Outcome>> {
        let case = Case {
            app: "edge",
            title: "Jacobi from white".into(),
            options: &self.options,
            extents: files::extents(&self.options, SIZE)?,
            steps: STEPS,
            stencil: edge::stencil(),
            start: &edge::rings,
            shown: 0,
            ready: |case, pixels| edge::edges_of(&pixels, &case.options.grid.boundary.faces()?),
            show: Show::Greys,
            plain: (1, &|plain| plain.step(edge::plain_step)),
            roundings: 3.0,
            answer: &|_, _| Vec::new(),
        };
        case.run()
    }
}
