//! How a stencil is run, where the defaults will not do. Not: what runs it (`drive`).

pub mod advance;
mod fold;
pub mod session;
mod transfer;
mod typed;

use super::checkpoint::Checkpoint;
use super::drive::Ranks;
use super::exchange::Route;
use super::policy::Policy;
use warpweft_core::run::{Auto, Pattern, Suits};

/// How to run a stencil, where the defaults will not do: [`warpweft_core::run::Run`] of stencils.
pub type Run<'a> = warpweft_core::run::Run<'a, StencilPattern>;

/// Stencils, to [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum StencilPattern {}

impl Pattern for StencilPattern {
    type Policy = Policy;
    type Checkpoint = Checkpoint;
    type Settings<'a> = Settings;
    const AUTO: Auto = Auto::FirstGpu;
    fn suits(policy: &Policy) -> Suits {
        match policy {
            Policy::Cpu(_) => Suits::Cores,
            Policy::Cuda(_) => Suits::Gpus,
        }
    }
}

/// What only stencils have of a [`Run`]: how the volume is shared by ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How many ranks, and how they are laid out: threads of this process, or with [`Run::net`] its processes and
    /// perhaps several threads of each. Without, as many as processes, or as GPUs.
    pub ranks: Option<Ranks>,
    /// How halos travel between ranks on GPUs; `$WARPWEFT_HALOS`, or the fastest route there is, if `None`.
    pub halos: Option<Route>,
}

impl Settings {
    /// The same over these ranks.
    #[must_use]
    pub fn over(self, ranks: Ranks) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// The same with halos by this route.
    #[must_use]
    pub fn halos_by(self, route: Route) -> Self {
        Self { halos: Some(route), ..self }
    }
}
