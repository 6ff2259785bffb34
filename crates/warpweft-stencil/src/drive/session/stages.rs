//! A session that computes by other stages than its own, and goes back to these.

use std::sync::Arc;

use super::{RawSession, over};
use crate::drive::start::Start;
use crate::drive::subdomain::LocalSubdomain;
use crate::plan::Sweep;
use crate::spec::Spec;
use crate::spec::stage::Stage;
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

impl RawSession<'_> {
    /// One step by the stages of `other`, which is no step of the session's own.
    ///
    /// # Errors
    /// As [`RawSession::advance`].
    pub fn apply(&mut self, other: Spec) -> Result<()> {
        let other = self.with_values(other)?;
        self.call(|| format!("apply {}", named(&other)))?;
        self.go_by(&other)?;
        self.elsewhere = true;
        self.kept = None;
        self.refresh(&other.stages)?;
        let first_step = self.total.steps;
        // Not waited for: what fails is told by the next call that needs the cells.
        let Some(mut local) = self.local.take() else { return Err(over()) };
        let region = local.own();
        let sweep = Sweep { first_step, steps: 1, region, following: 0, keep_change: false };
        self.announced(local.executor().sweep(&sweep))?;
        self.local = Some(local);
        Ok(())
    }

    /// Computes by the stages of `spec` from now on.
    fn go_by(&mut self, spec: &Spec) -> Result<()> {
        if self.has_margin(spec) && self.adopted(spec)? {
            return Ok(());
        }
        // Made anew, with room for all that was asked for so far.
        self.widen(spec)?;
        self.store()?;
        let spec = &self.with_values(spec.clone())?;
        if !spec.has_functions() {
            let mut own = self.spec.clone();
            for stage in &spec.stages {
                let known = |other: &Arc<dyn Stage>| other.function() == stage.function();
                if !own.others.iter().any(known) {
                    own.others.push(Arc::clone(stage));
                }
            }
            self.remake(&own)?;
            self.spec = own;
            if self.with(|local| local.adopt(spec))? {
                return Ok(());
            }
        }
        // An executor that never goes by other stages.
        let mut wide = spec.clone();
        wide.others = [&self.spec.others[..], &self.spec.stages].concat();
        self.remake(&wide)
    }

    /// Whether the executor computes by the stages of `spec` from now on. Where they are refused, the session goes on
    /// without.
    fn adopted(&mut self, spec: &Spec) -> Result<bool> {
        let Some(local) = &mut self.local else { return Err(over()) };
        let outcome = local.adopt(spec);
        if outcome.is_ok() || spec.check(self.volume.extents()).is_err() {
            return outcome;
        }
        self.with(|_| outcome)
    }

    /// Makes the executor anew from the volume, for `spec`. Where that fails, e.g. for want of memory, the session goes on
    /// with one for its own stages.
    fn remake(&mut self, spec: &Spec) -> Result<()> {
        let made = self.make(spec);
        if made.is_err() {
            self.elsewhere = false;
            self.make(&self.spec.clone())?;
        }
        made
    }

    /// Makes the executor anew from the volume.
    pub(super) fn make(&mut self, spec: &Spec) -> Result<()> {
        let (partition, rank) = (&self.distribution.partition, self.rank());
        let zone = partition.grown(rank, &self.margin);
        let start = Start::Volume(self.volume);
        let build = &*self.prepared.build;
        let steps = self.total.steps;
        self.local = None;
        let local = LocalSubdomain::new(spec, (partition, rank), zone, start, build, steps);
        self.local = Some(self.agreed(local)?);
        Ok(())
    }

    /// Goes back to the session's own stages.
    pub(super) fn settle(&mut self) -> Result<()> {
        if self.elsewhere {
            self.go_by(&self.spec.clone())?;
            self.elsewhere = false;
        }
        Ok(())
    }
}

/// The functions of `spec` with their parameters, but for long tables.
fn named(spec: &Spec) -> String {
    let named = |stage: &Arc<dyn Stage>| match stage.tables().is_empty() {
        true => format!("{} {}", stage.name(), stage.parameters_text(&mut Unit::new())),
        false => stage.name().into(),
    };
    spec.stages.iter().map(named).collect::<Vec<_>>().join(", ")
}
