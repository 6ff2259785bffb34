//! The one place where a choice of device becomes a run.

use std::sync::Arc;

use warpweft::element::Scalar;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::stencil::distribute::Ranks;
use warpweft::stencil::{Policy, Run, Target};
use warpweft::trace::Trace;
use warpweft::tune::Wisdom;

use super::options::Options;
use crate::device::{limits, target};
use crate::interrupt;
use crate::output::note;

/// A machine that is known and measured, and the user's wishes about it.
pub struct Host {
    /// The machine.
    pub machine: Machine,
    target: Target,
    threads: Option<usize>,
    policy: Option<Policy>,
    ranks: usize,
    depth: Option<usize>,
}

/// A run that the user watches and may interrupt.
pub struct Watch<'a> {
    /// Told the steps done, of how many.
    pub progress: &'a dyn Fn(u64, u64),
    /// Where to record what happened when.
    pub trace: Option<Arc<Trace>>,
}

impl Host {
    /// Looks at the machine; measures its limits unless that was done before.
    ///
    /// # Errors
    /// The machine can't be used at all.
    pub fn ready(options: &Options) -> Result<Self> {
        let machine = Machine::detect()?;
        let target = target(options.grid.device, &machine)?;
        limits(&machine)?;
        if let Some(what) = Wisdom::user().note() {
            note(what);
        }
        Ok(Self {
            machine,
            target,
            threads: options.grid.threads.map(Into::into),
            policy: options.policy.as_ref().map(|policy| policy.0),
            ranks: options.ranks.get(),
            depth: options.depth.map(Into::into),
        })
    }

    /// How many times the volume must fit into host memory.
    pub fn copies(&self) -> u64 {
        // The cores work on two padded copies.
        if self.target == Target::Cpu || self.ranks > 1 { 3 } else { 1 }
    }

    /// Advances `volume` by `steps` steps.
    ///
    /// # Errors
    /// As [`Stencil::run_with`].
    pub fn execute<T: Scalar, const D: usize>(
        &self,
        stencil: &Stencil<T, D>,
        volume: &mut Volume<T, D>,
        steps: u64,
        watched: Option<Watch<'_>>,
    ) -> Result<Report> {
        let mut run = Run {
            target: self.target,
            policy: self.policy,
            threads: self.threads,
            ..Run::default()
        };
        if let Some(watch) = watched {
            run.progress = Some(watch.progress);
            run.trace = watch.trace;
            run.interrupt = Some(interrupt::flag());
        }
        if self.ranks > 1 {
            let ranks = Ranks { count: self.ranks, grid: None, depth: self.depth };
            return stencil.run_over_ranks(volume, Steps(steps), &self.machine, &ranks, &run);
        }
        stencil.run_with(volume, Steps(steps), &self.machine, &run)
    }
}
