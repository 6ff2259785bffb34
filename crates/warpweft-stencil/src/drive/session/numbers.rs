//! Numbers of a session: reductions, and stages that take them as parameters.

use super::{RawSession, ranks};
use crate::plan::Region;
use crate::spec::Spec;
use crate::spec::reduction::Reduce;
use crate::spec::reduction::fold::Folded;
use crate::spec::reduction::scalar::SessionScalar;
use warpweft_core::error::Result;

impl RawSession<'_> {
    /// What the cells of a field come to, queued where the device can.
    ///
    /// # Errors
    /// The device's; too many numbers at a time, after which the session goes on.
    pub fn reduce(&mut self, what: Reduce, fields: [usize; 2]) -> Result<SessionScalar> {
        if let Some(net) = self.net {
            let own = self.with(|local| {
                let own = local.own();
                local.executor().reduce(what, fields, &own)
            })?;
            let name = format!("{what:?} of fields {fields:?}");
            return ranks::reduced(net, &name, what, &own).map(SessionScalar::of);
        }
        let region = Region::whole(self.volume.extents());
        let number = self.with(|local| local.executor().queue_reduce(what, fields, &region))?;
        number.known().map(|_| number)
    }

    /// Takes all cells into `by`, as [`SweepExecutor::fold`](crate::SweepExecutor::fold).
    ///
    /// # Errors
    /// As there.
    pub fn fold(&mut self, by: &dyn Folded) -> Result<Option<Vec<Vec<u8>>>> {
        if self.net.is_some() {
            // A subtree may have cells of several ranks.
            self.call(|| format!("fold by {}", by.name()))?;
            return Ok(None);
        }
        self.with(|local| local.executor().fold(by))
    }

    /// As [`RawSession::fold`], of whose result a field becomes a number, as
    /// [`SweepExecutor::queue_fold`](crate::SweepExecutor::queue_fold).
    ///
    /// # Errors
    /// As there; too many numbers at a time, after which the session goes on.
    pub fn queue_fold(&mut self, by: &dyn Folded, field: usize) -> Result<Option<SessionScalar>> {
        if self.net.is_some() {
            return Ok(None);
        }
        let number = self.with(|local| local.executor().queue_fold(by, field))?;
        number.map(|number| number.known().map(|_| number)).transpose()
    }

    /// The value of a number, after all that was queued.
    ///
    /// # Errors
    /// A number of another session; the device's.
    pub fn value(&mut self, number: &SessionScalar) -> Result<f64> {
        let value = match (number.known()?, &mut self.local) {
            (Some(value), _) => value,
            (None, Some(local)) => local.executor().number(number)?,
            (None, None) => return Err(super::over()),
        };
        // NaN has other bits on other devices.
        Ok(if value.is_nan() { f64::NAN } else { value })
    }

    /// The same stages with the values of those of their numbers that the host knows.
    ///
    /// # Errors
    /// A number that is neither known nor this session's.
    pub(super) fn with_values(&mut self, mut spec: Spec) -> Result<Spec> {
        for stage in &mut spec.stages {
            let taken = stage.taken();
            if taken.is_empty() {
                continue;
            }
            let known = taken.iter().map(|(_, number)| number.known());
            let known = known.collect::<Result<Vec<_>>>()?;
            let Some(local) = &mut self.local else { return Err(super::over()) };
            let bank = local.executor().bank().cloned();
            let mut left = taken.iter().zip(&known).filter(|(_, known)| known.is_none());
            left.try_for_each(|((_, number), _)| number.place(bank.as_ref()).map(drop))?;
            if known.iter().any(Option::is_some) {
                *stage = stage.given(&known);
            }
        }
        Ok(spec)
    }
}
