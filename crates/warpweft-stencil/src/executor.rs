//! The seam between the driver and a device: an executor holds one subdomain on one device.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::exchange::{BoundarySplit, Cells, Endpoint, Route, Routes, decline, single};
use super::plan::{Region, Sweep};
use super::policy::{CudaPolicy, Policy};
use crate::plan::halo::Margin;
use crate::plan::transfer::Transfer;
use crate::spec::Spec;
use crate::spec::points::{AtCells, add_to};
use crate::spec::reduction::fold::Folded;
use crate::spec::reduction::scalar::{Bank, SessionScalar};
use crate::spec::reduction::{Reduce, Reduction};
use crate::spec::residual::Residual;
use crate::spec::total::Total;
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolumeMut};

/// Which kernels took the steps of a run.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Passes over memory.
    pub passes: u64,
    /// Passes that began while the halo exchange before them was under way.
    pub overlapped: u64,
    /// Steps with a fused reduction (ADR 106).
    pub summed: u64,
    /// One for each kernel, in the order in which they took their first steps.
    pub stretches: Vec<Stretch>,
}

/// Steps that one kernel took, in one or more turns.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Of fused steps; none of single ones.
    pub policy: Option<CudaPolicy>,
    /// Steps done before the first of them.
    pub first: u64,
    /// How many.
    pub steps: u64,
}

impl History {
    /// The step from which on steps were fused, if any were.
    pub(crate) fn fused_from(&self) -> Option<u64> {
        self.stretches.iter().find(|it| it.policy.is_some()).map(|it| it.first)
    }

    /// Writes what ran into a report's policy: the kernel that took the last steps, and under `kernels` all of them
    /// with the steps from which on they did.
    pub(crate) fn write(&self, report: &mut Value) {
        // Of a remainder at the end nobody wants to know.
        let longest =
            self.stretches.iter().filter(|it| it.policy.is_some()).max_by_key(|it| it.steps);
        if let Some(Stretch { policy: Some(policy), .. }) = longest {
            *report = serde_json::to_value(Policy::Cuda(*policy)).unwrap_or_default();
        }
        let ran = self.stretches.iter().map(|it| match it.policy {
            None => json!({"kernel": "single steps", "first_step": it.first, "steps": it.steps}),
            Some(policy) => json!({
                "kernel": policy.kernel,
                "first_step": it.first,
                "steps": it.steps,
                "temporal_depth": policy.temporal_depth,
                "cells": policy.cells,
                "warps": policy.warps,
            }),
        });
        report["kernels"] = ran.collect();
        if self.summed > 0 {
            report["reducing_steps"] = json!(self.summed);
        }
    }

    /// Adds the steps of a sweep.
    pub(crate) fn add(&mut self, policy: Option<CudaPolicy>, sweep: &Sweep) {
        let (first, steps) = (sweep.first_step, sweep.steps);
        match self.stretches.iter_mut().find(|it| it.policy == policy) {
            Some(known) => known.steps += steps,
            None => self.stretches.push(Stretch { policy, first, steps }),
        }
    }
}

/// Runs sweeps over a copy of a volume, or of one subdomain with its ghost zone, that lives on its device.
///
/// Built from a spec, a volume and a policy; the volume is copied in then and copied back by
/// [`SweepExecutor::store`]. In between only the cells of halos leave the device.
pub trait SweepExecutor {
    /// What a cell holds.
    fn cell(&self) -> CellType;

    /// Advances the region by the sweep's steps. May return before the device is done.
    ///
    /// # Errors
    /// A fault of the element function or of the device.
    fn sweep(&mut self, sweep: &Sweep) -> Result<()>;

    /// The residual of the last step swept, which must have been a sweep of one step over the
    /// whole volume announced with [`Sweep::keep_change`].
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`].
    fn residual(&mut self, kind: Residual) -> Result<f64>;

    /// What the last step changed in the cells of `region`, for a residual of that `kind`; it must have
    /// been swept as for [`SweepExecutor::residual`].
    ///
    /// # Errors
    /// As [`SweepExecutor::residual`].
    #[doc(hidden)]
    fn changes(&mut self, kind: Residual, region: &Region) -> Result<Total>;

    /// What the present values of field `fields[0]` of all cells come to, or for a dot product their products with
    /// those of `fields[1]`, after everything swept so far.
    ///
    /// # Errors
    /// As [`SweepExecutor::read`].
    #[doc(hidden)]
    fn reduce(&mut self, what: Reduce, fields: [usize; 2], region: &Region) -> Result<Reduction> {
        reduce_read(self, what, fields, region)
    }

    /// As [`SweepExecutor::reduce`], a number where the executor computes: it need not be there when the call returns.
    /// A number that there is no room for is one that has no value, and no error.
    ///
    /// # Errors
    /// As [`SweepExecutor::read`].
    #[doc(hidden)]
    fn queue_reduce(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: &Region,
    ) -> Result<SessionScalar> {
        Ok(SessionScalar::of(self.reduce(what, fields, region)?.value(what)))
    }

    /// Takes all cells into `by`: the bytes of each field of the result, or none of any where `by` has the results of
    /// subtrees. `None` where cells must be read for it.
    ///
    /// # Errors
    /// A panic or a fault of the function; as [`SweepExecutor::read`].
    #[doc(hidden)]
    fn fold(&mut self, _by: &dyn Folded) -> Result<Option<Vec<Vec<u8>>>> {
        Ok(None)
    }

    /// As [`SweepExecutor::fold`], of whose result a field becomes a number where the executor computes; `None` where
    /// the result is the host's.
    ///
    /// # Errors
    /// As [`SweepExecutor::fold`]; a fault of the function may be reported when the number is read.
    #[doc(hidden)]
    fn queue_fold(&mut self, _by: &dyn Folded, _field: usize) -> Result<Option<SessionScalar>> {
        Ok(None)
    }

    /// Where its numbers are, if they are on a device.
    #[doc(hidden)]
    fn bank(&self) -> Option<&Arc<Bank>> {
        None
    }

    /// The value of one of its numbers, after everything queued so far.
    ///
    /// # Errors
    /// A number that is not its own; the device's.
    #[doc(hidden)]
    fn number(&mut self, number: &SessionScalar) -> Result<f64> {
        number.place(None).map(|_| f64::NAN)
    }

    /// Hands its numbers over to the host: no more come.
    ///
    /// # Errors
    /// The device's.
    #[doc(hidden)]
    fn end_numbers(&mut self) -> Result<()> {
        Ok(())
    }

    /// Computes by the stages of `stencil` from now on, over the same cells with the same boundaries; whether that can
    /// be. If not, nothing has changed.
    ///
    /// # Errors
    /// As making an executor.
    #[doc(hidden)]
    fn adopt(&mut self, _stencil: &Spec) -> Result<bool> {
        Ok(false)
    }

    /// Brings field `fields[0]` of `from`, whose grid is of another spacing, into field `fields[1]`; whether that can be
    /// done without the host. If not, nothing has changed.
    ///
    /// # Errors
    /// The device's.
    #[doc(hidden)]
    fn transfer(
        &mut self,
        _by: Transfer,
        _from: &mut dyn SweepExecutor,
        _fields: [usize; 2],
    ) -> Result<bool> {
        Ok(false)
    }

    /// Itself, for an executor of the same kind that [`SweepExecutor::transfer`] is to bring a field to.
    #[doc(hidden)]
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Waits until everything swept so far is done.
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`]: faults of earlier sweeps surface here at the latest.
    fn finish(&mut self) -> Result<()>;

    /// Copies the present state back, after [`SweepExecutor::finish`].
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`].
    fn store(&mut self, volume: RawVolumeMut<'_>) -> Result<()>;

    /// Steps of a pass over memory at present, of which sweeps had better have a multiple; `None` where that never changes.
    #[doc(hidden)]
    fn steps_per_pass(&self) -> Option<u64> {
        None
    }

    /// Whether a faster kernel is still being compiled. Steps that are queued now will not be taken by it.
    #[doc(hidden)]
    fn awaits_kernels(&self) -> bool {
        false
    }

    /// Whether the next sweep tries a kernel.
    #[doc(hidden)]
    fn tries_kernels(&self) -> bool {
        false
    }

    /// Whether sweeps return before the device is done with them.
    #[doc(hidden)]
    fn queues(&self) -> bool {
        false
    }

    /// Begins to time what is queued by the device's clock, or ends that.
    ///
    /// # Errors
    /// The device's.
    #[doc(hidden)]
    fn time(&mut self, _begins: bool) -> Result<()> {
        Ok(())
    }

    /// Seconds that the device took for what was timed since it was last asked. Waits for that.
    ///
    /// # Errors
    /// The device's.
    #[doc(hidden)]
    fn seconds(&mut self) -> Result<f64> {
        Ok(0.0)
    }

    /// Sets whether a sweep may begin while the last halo exchange is under way, with the cells
    /// that do not depend on it.
    #[doc(hidden)]
    fn overlap(&mut self, _overlaps: bool) {}

    /// Which kernels took which steps, where they change while a run goes on.
    #[doc(hidden)]
    fn history(&self) -> Option<&History> {
        None
    }

    /// Says that no more sweeps come.
    #[doc(hidden)]
    fn end(&mut self) {}

    /// What making it found out that the user should know.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Adds `amount` to field number `field` of the cells `at`, one after another, after everything
    /// swept so far. The sum is taken in `f64` and rounded once, as `as` converts.
    ///
    /// # Errors
    /// As [`SweepExecutor::write`].
    fn add(&mut self, field: usize, at: &[Axes<usize>], amount: f64) -> Result<()> {
        let (kind, mut bytes) = (self.cell().kind(field), Vec::new());
        for at in at {
            bytes.clear();
            self.read(&[(field, single(at))], &mut bytes)?;
            add_to(kind, &mut bytes, amount);
            self.write(&[(field, single(at))], &bytes)?;
        }
        Ok(())
    }

    /// Field number `field` of the cells `at`, after everything swept so far.
    ///
    /// # Errors
    /// As [`SweepExecutor::read`].
    fn sample(&mut self, field: usize, at: &[Axes<usize>]) -> Result<Vec<f64>> {
        let (kind, mut bytes) = (self.cell().kind(field), Vec::new());
        let value = |at: &Axes<usize>| {
            bytes.clear();
            self.read(&[(field, single(at))], &mut bytes)?;
            Ok(kind.to_f64(&bytes))
        };
        at.iter().map(value).collect()
    }

    /// Appends the present cells of `boxes` to `to`, box by box in row-major order.
    ///
    /// # Errors
    /// No such field or region; as [`SweepExecutor::finish`].
    fn read(&mut self, boxes: &[Cells], to: &mut Vec<u8>) -> Result<()>;

    /// Replaces the present cells of `boxes`.
    ///
    /// # Errors
    /// As [`SweepExecutor::read`]; a wrong number of bytes, or bytes that are no `bool` for a field of such.
    fn write(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()>;

    /// Sends the present cells of `boxes`.
    ///
    /// # Errors
    /// As [`SweepExecutor::read`] and [`Transport::send`].
    #[doc(hidden)]
    fn send(
        &mut self,
        boxes: &[Cells],
        net: &dyn Transport,
        (to, tag): (usize, Tag),
    ) -> Result<()> {
        let mut bytes = Vec::new();
        self.read(boxes, &mut bytes)?;
        net.send(to, tag, bytes)
    }

    /// Receives cells of `boxes`, `bytes` bytes in all; returns the seconds waited.
    ///
    /// # Errors
    /// As [`SweepExecutor::write`] and [`Transport::receive`].
    #[doc(hidden)]
    fn receive(
        &mut self,
        boxes: &[Cells],
        bytes: usize,
        net: &dyn Transport,
        (from, tag): (usize, Tag),
    ) -> Result<f64> {
        let mut message = vec![0; bytes];
        let start = Instant::now();
        net.receive_into(from, tag, &mut message)?;
        let waited = start.elapsed().as_secs_f64();
        self.write(boxes, &message).map(|()| waited)
    }

    /// The last launch of a sweep of `steps` steps over `own`, split into the boundary cells up to `sent` deep, which
    /// are sent, and the interior; none where that can't be, or can't pay. Ranks may differ in this, as their
    /// subdomains and devices do.
    #[doc(hidden)]
    fn split(&self, _own: &Region, _sent: &Margin, _steps: u64) -> Option<BoundarySplit> {
        None
    }

    /// Takes the steps of `split`, into which this executor divided `own`: begins to compute the boundary, whose new
    /// cells [`SweepExecutor::send`] then sends, and the interior. Does not wait. Until the next sweep only cells of
    /// the boundary are sent, and received ones, and those of no box are undefined until they are written.
    ///
    /// # Errors
    /// As [`SweepExecutor::sweep`]; an executor that can't.
    #[doc(hidden)]
    fn sweep_split(&mut self, _split: &BoundarySplit, _own: &Region) -> Result<()> {
        Err(Error::spec("a sweep split at the boundary", "this is a fault of Warpweft: report it"))
    }

    /// Agrees with the neighbours, which all come here with theirs, on how the messages of each of `endpoints`
    /// travel: as `wanted`, or by the fastest route if `None`.
    ///
    /// # Errors
    /// A route that is wanted and not possible, with the reason; as [`Transport::receive`].
    #[doc(hidden)]
    fn connect(
        &mut self,
        endpoints: &[Endpoint],
        net: &dyn Transport,
        _wanted: Option<Route>,
    ) -> Result<()> {
        decline(endpoints, net, "it computes on the cores")
    }

    /// Ends what [`SweepExecutor::connect`] began, after the last message of a run that went well; all
    /// neighbours come here.
    ///
    /// # Errors
    /// As [`SweepExecutor::finish`] and [`Transport::receive`].
    #[doc(hidden)]
    fn disconnect(&mut self, _net: &dyn Transport) -> Result<()> {
        Ok(())
    }

    /// How halos travel to the neighbours.
    #[doc(hidden)]
    fn routes(&self) -> Routes {
        Route::Host.into()
    }
}

/// [`SweepExecutor::reduce`] of cells that are read.
pub(crate) fn reduce_read<E: SweepExecutor + ?Sized>(
    executor: &mut E,
    what: Reduce,
    fields: [usize; 2],
    region: &Region,
) -> Result<Reduction> {
    let mut bytes = [Vec::new(), Vec::new()];
    for (field, to) in fields.into_iter().zip(&mut bytes) {
        executor.read(&[(field, *region)], to)?;
    }
    let kinds = fields.map(|field| executor.cell().kind(field));
    let mut reduction = Reduction::default();
    reduction.take_bytes(what, kinds, [&bytes[0], &bytes[1]]);
    Ok(reduction)
}

impl AtCells for dyn SweepExecutor + '_ {
    fn add(&mut self, field: usize, at: &[Axes<usize>], amount: f64) -> Result<()> {
        SweepExecutor::add(self, field, at, amount)
    }
    fn sample(&mut self, field: usize, at: &[Axes<usize>]) -> Result<Vec<f64>> {
        SweepExecutor::sample(self, field, at)
    }
}
