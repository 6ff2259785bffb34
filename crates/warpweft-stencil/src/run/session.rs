//! Sessions: a volume that stays on its device while a program runs steps, reads, writes and reduces in turn.

use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

use super::Run;
use super::advance::Advance;
use crate::drive::session::{RawSession, agreed};
use crate::plan::Region;
use crate::policy::{CudaKernel, Policy};
use crate::spec::reduction::Reduce;
use crate::spec::reduction::scalar::SessionScalar;
use crate::spec::stage::Stages;
use crate::spec::{Stencil, Steps};
use warpweft_core::cluster::Transport;
use warpweft_core::element::{CellType, FieldName, Fields, Scalar};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, Volume};
use warpweft_core::machine::Machine;
use warpweft_core::memory::filled;
use warpweft_core::report::Report;
use warpweft_core::run::{Devices, Target};

/// A volume on its device, from [`Stencil::on`] to [`Session::finish`].
///
/// Threads, buffers and kernels are made once, and cells are copied only where they are asked for, so a call of one
/// step costs microseconds. The volume stays borrowed: the cells are copied into it when the session is finished or, except over ranks, dropped.
/// An error in steps or functions, or of the device, ends the session. The volume then has the cells of the beginning, or
/// those of the last [`apply`](Session::apply) that had to create a new executor. After other errors, e.g. of memory, of a reduction or of a checkpoint, the session goes on with
/// the cells that it had; over ranks, if all have the error.
///
/// ```
/// use warpweft::prelude::*;
///
/// #[stencil]
/// fn diffuse(u: Near<f64, 2>, rate: f64) -> f64 {
///     u[[0, 0]] + rate * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]] - 4.0 * u[[0, 0]])
/// }
///
/// let mut plate = Volume::from_fn([32, 32], |[y, x]| if y == 5 && x == 7 { 9.0 } else { 0.0 });
/// let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
/// let machine = Machine::detect()?;
/// let mut on = stencil.on(&mut plate, &machine)?;
/// on.run(Steps(100))?;
/// assert!((on.sum(0)? - 9.0).abs() < 1e-12, "heat is neither made nor lost");
/// on.set([0, 0], 1.0)?;
/// on.run(Steps(1))?;
/// let corner = on.read([0..2, 0..2])?;
/// assert!(corner[[0, 0]] < 0.3 && corner[[0, 1]] > 0.2);
/// let report = on.finish()?;
/// assert_eq!(report.done, 101);
/// assert_eq!(plate[[0, 0]], corner[[0, 0]]);
/// # Ok::<(), warpweft::Error>(())
/// ```
///
/// The volume can't be used or replaced before the session ends:
///
/// ```compile_fail,E0506
/// use warpweft::prelude::*;
///
/// #[stencil]
/// fn decay(u: Near<f64, 2>) -> f64 {
///     0.5 * u[[0, 0]]
/// }
///
/// let mut plate = Volume::from_fn([32, 32], |_| 1.0);
/// let machine = Machine::detect()?;
/// let mut on = Stencil::of(decay()).on(&mut plate, &machine)?;
/// plate = Volume::from_fn([64, 64], |_| 1.0);
/// on.run(Steps(1))?;
/// # Ok::<(), warpweft::Error>(())
/// ```
#[must_use = "its steps are run by `Session::run`"]
pub struct Session<'v, S: Fields, const D: usize> {
    pub(super) raw: RawSession<'v>,
    cell: PhantomData<fn() -> S>,
}

impl<S: Fields, const D: usize> Stencil<S, D> {
    /// Opens a session on the best device of `machine`.
    ///
    /// # Errors
    /// As [`Stencil::run`].
    pub fn on<'v>(
        &self,
        volume: &'v mut Volume<S, D>,
        machine: &'v Machine,
    ) -> Result<Session<'v, S, D>> {
        self.on_with(volume, machine, &Run::default())
    }

    /// As [`Stencil::on`], with options.
    ///
    /// Over ranks of [`Run::net`] all of them call this with the same arguments, and then make the same calls of the
    /// session, each with a volume of its own that holds all cells. Each computes a subdomain on cores of its own,
    /// or on a GPU if [`Run::target`] names GPUs, which ranks of a host take in turn; their ghost cells go through the host.
    /// Reductions, [`Session::fold`], [`Session::read`] and [`Session::finish`] give every rank the same bits as one rank
    /// alone gets; [`Report::probes`] of `finish` is rank 0's alone. A session that is dropped before `finish` leaves the
    /// volume as it was at the beginning, or at an [`apply`](Session::apply) for which the executor was made anew. A
    /// rank must make its next call before the deadline of the transport ends. Calls that differ are an error on all ranks,
    /// which then go on.
    ///
    /// # Errors
    /// As [`Stencil::run_with`]; several devices in one process. With several ranks also checkpoints, a ghost-zone depth,
    /// and more ranks than processes of `Run::net`. If one rank has an error such as too little memory, all ranks return an
    /// error. A fault of an element function aborts the network: no other session can be opened over it.
    pub fn on_with<'v, 'r: 'v>(
        &self,
        volume: &'v mut Volume<S, D>,
        machine: &'v Machine,
        run: &Run<'r>,
    ) -> Result<Session<'v, S, D>> {
        let net = run.net.filter(|net| net.ranks() > 1);
        let devices = agreed(net, self.devices_of_session(machine, run))?;
        let mut raw = RawSession::open(self, volume.raw_mut(), u64::MAX, (machine, &devices), run)?;
        raw.goes_on();
        Ok(Session { raw, cell: PhantomData })
    }

    /// The one device of a session.
    fn devices_of_session<'v>(&self, machine: &'v Machine, run: &Run<'_>) -> Result<Devices<'v>> {
        let refused = |what: &str, hint: &str| Err(Error::spec(format!("a session {what}"), hint));
        if self.regrouped {
            return refused("of regrouped sums", "call `run`, or leave `regroup_sums` out");
        }
        if matches!(run.policy, Some(Policy::Cuda(policy)) if policy.kernel == CudaKernel::Packed) {
            return refused(
                "of packed cells",
                "take another kernel: a session may write any cells",
            );
        }
        let ranks = run.net.map_or(1, Transport::ranks);
        if run.settings.ranks.is_some_and(|asked| asked.count != ranks || asked.depth.is_some()) {
            return refused(
                "with `Settings::ranks` that differ from the ranks of `Run::net`, or with a depth",
                "open it on every rank of `Run::net`, e.g. in `in_process`, and leave the depth out",
            );
        }
        if ranks > 1 && run.checkpoint.is_some() {
            return refused("over ranks with checkpoints", "run the stencil by `run_with`");
        }
        let devices = match (ranks, run.target) {
            // Each rank takes cores of its own.
            (2.., Target::Auto) => Run { target: Target::Cpu, ..run.clone() }.devices(machine)?,
            _ => run.devices(machine)?,
        };
        if ranks == 1 && devices.gpus.len() > usize::from(devices.threads.is_none()) {
            return refused("on several devices", "name one: `Target::Cpu`, `Target::Gpu(0)`");
        }
        Ok(devices)
    }
}

impl<S: Fields, const D: usize> Session<'_, S, D> {
    /// Runs `steps` further steps, or fewer when [`Stencil::until`] is met. A GPU may still be
    /// computing the last of them when the call returns.
    ///
    /// # Errors
    /// A fault of the element function or of the device, after which the session is over. A fault in steps that a GPU
    /// still computes is reported by a later call: the next that needs cells or numbers, or a run 0.1 s later.
    /// A checkpoint that can't be written, after which the session goes on with the steps done until then.
    pub fn run(&mut self, Steps(steps): Steps) -> Result<Advance> {
        let before = self.raw.done().steps;
        let end = before.checked_add(steps).ok_or_else(|| {
            Error::spec(format!("{steps} steps after {before}"), "run fewer than 2^64 steps in all")
        })?;
        self.raw.advance(end)?;
        Ok(self.advanced())
    }

    /// What the last call did.
    fn advanced(&self) -> Advance {
        let now = self.raw.done();
        let met = self.raw.ended() && !now.residual.is_some_and(f64::is_nan);
        Advance { done: now.steps, residual: now.residual, met, interrupted: now.interrupted }
    }

    /// Runs `steps` further steps and calls `look` after each step whose number is a multiple of `every`, and where a
    /// residual ends the run. `look` gets the session itself, which it may read, reduce and write. The run ends early when
    /// `look` says [`ControlFlow::Break`].
    ///
    /// Steps are counted from the beginning, also in a session that is resumed, and a checkpoint of a step has what `look`
    /// changed after it. So a run that was killed and goes on has the bits of one that was not.
    ///
    /// # Errors
    /// As [`Session::run`]; an `every` of 0; what `look` fails with.
    pub fn run_every(
        &mut self,
        every: Steps,
        steps: Steps,
        mut look: impl FnMut(&mut Self) -> Result<ControlFlow<()>>,
    ) -> Result<Advance> {
        let mut left = steps.0;
        if every.0 == 0 {
            return Err(Error::spec("a call every 0 steps", "call every 1 or more steps"));
        }
        loop {
            let before = self.raw.done().steps;
            let next = left.min(every.0 - before % every.0);
            let Advance { done, interrupted, .. } = self.run(Steps(next))?;
            left -= next;
            let (ended, advance) = (self.raw.ended(), self.advanced());
            let due = done > before && done.is_multiple_of(every.0);
            let looked = if due || ended { look(self)? } else { ControlFlow::Continue(()) };
            if left == 0 || ended || interrupted || looked.is_break() {
                return Ok(advance);
            }
        }
    }

    /// Computes one step of other element functions over the same cells, with the session's boundaries. It does not count
    /// as a step of the session: [`Advance::done`] does not change, and a `#[step]` parameter gets the number of steps done
    /// so far.
    ///
    /// The first call of functions that read further than the session's may make the buffers anew; later ones are as cheap as a
    /// step. Functions that are refused, or that there is no memory for, end no session. Parameters may be numbers that the
    /// session computes: `advance::with(alpha)`, see [`SessionScalar`].
    ///
    /// # Errors
    /// As [`Session::run`] and [`Stencil::check`]. Functions that read a field beyond a face by [`Stencil::face_by`] which
    /// only the session's own functions write: there it would be of step 0.
    pub fn apply(&mut self, stages: impl Stages<D, State = S>) -> Result<()> {
        let own = self.raw.spec();
        let mut other = own.clone();
        other.stages = stages.list();
        other.until = None;
        other.points = Default::default();
        own.check_applied(&other)?;
        self.raw.apply(other)
    }

    /// The cells of a box, given by its indices along each axis.
    ///
    /// # Errors
    /// A box that is not inside; too little memory; the device's.
    pub fn read(&mut self, cells: [Range<usize>; D]) -> Result<Volume<S, D>> {
        let region = boxed(&cells);
        let extents = cells.map(|range| range.end.saturating_sub(range.start));
        // Before room is made for cells that there are not.
        self.raw.check("read", &[(0, region)])?;
        let mut volume = self.raw.agreed(Volume::zeroed(extents))?;
        for field in 0..S::FIELDS.len() {
            let bytes = self.raw.read(&[(field, region)])?;
            volume.raw_mut().set_box(field, Axes::filled(D, 0), extents.into(), &bytes)?;
        }
        Ok(volume)
    }

    /// All cells.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn volume(&mut self) -> Result<Volume<S, D>> {
        let extents = self.raw.volume().extents().array::<D>();
        self.read(extents.map(|n| 0..n))
    }

    /// One field of a box, in row-major order.
    ///
    /// # Errors
    /// As [`Session::read`]; a field that there is not, or of another type.
    pub fn read_field<T: Scalar>(
        &mut self,
        field: impl FieldName,
        cells: [Range<usize>; D],
    ) -> Result<Vec<T>> {
        let number = self.number(field)?;
        let kind = S::FIELDS[number].kind;
        if kind != T::KIND {
            return Err(Error::spec(
                format!("a field of {} is read as {}", kind.name(), T::KIND.name()),
                format!("read it as {}", kind.name()),
            ));
        }
        let region = boxed(&cells);
        let extents: [usize; D] = cells.map(|range| range.end.saturating_sub(range.start));
        let bytes = self.raw.read(&[(number, region)])?;
        let values = RawVolume::zeroed(CellType::of::<T>(), extents).and_then(|mut volume| {
            volume.set_box(0, Axes::filled(D, 0), extents.into(), &bytes)?;
            let values = volume.field::<T>(0usize).unwrap_or_default();
            filled(values.iter().copied(), "read fewer cells at a time")
        });
        self.raw.agreed(values)
    }

    /// One cell.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn get(&mut self, at: [usize; D]) -> Result<S> {
        let one = self.read(at.map(|index| index..index.saturating_add(1)))?;
        one.get([0; D]).ok_or_else(|| Error::spec("no cell was read", "report this as a bug"))
    }

    /// Replaces the cells of a box whose first cell is `first` and which is as large as `cells`.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn write(&mut self, first: [usize; D], cells: &Volume<S, D>) -> Result<()> {
        let extents = cells.extents();
        let region =
            boxed::<D>(&std::array::from_fn(|d| first[d]..first[d].saturating_add(extents[d])));
        for field in 0..S::FIELDS.len() {
            self.raw.write(&[(field, region)], cells.field_bytes(field))?;
        }
        Ok(())
    }

    /// Replaces one cell.
    ///
    /// # Errors
    /// As [`Session::write`].
    pub fn set(&mut self, at: [usize; D], cell: S) -> Result<()> {
        let mut one = Volume::zeroed([1; D])?;
        one.set([0; D], cell);
        self.write(at, &one)
    }

    /// The sum of a field over all cells: exact, and rounded to `f64` once, so it has the same bits on any device and
    /// any number of threads. Integers are converted as `as f64` does. NaN if any cell is.
    ///
    /// # Errors
    /// A field that there is not; the device's.
    pub fn sum(&mut self, field: impl FieldName) -> Result<f64> {
        let sum = self.queue_sum(field)?;
        self.value(&sum)
    }

    /// The dot product of two fields. Each product is rounded to `f64`; the sum of the products is exact and rounded once.
    ///
    /// # Errors
    /// As [`Session::sum`].
    pub fn dot(&mut self, left: impl FieldName, right: impl FieldName) -> Result<f64> {
        let dot = self.queue_dot(left, right)?;
        self.value(&dot)
    }

    /// The Euclidean norm of a field: the square root of its dot product with itself.
    ///
    /// # Errors
    /// As [`Session::sum`].
    pub fn norm(&mut self, field: impl FieldName) -> Result<f64> {
        let norm = self.queue_norm(field)?;
        self.value(&norm)
    }

    /// The least value of a field; NaN if any cell is.
    ///
    /// # Errors
    /// As [`Session::sum`].
    pub fn min(&mut self, field: impl FieldName) -> Result<f64> {
        let min = self.queue_min(field)?;
        self.value(&min)
    }

    /// The greatest value of a field; NaN if any cell is.
    ///
    /// # Errors
    /// As [`Session::sum`].
    pub fn max(&mut self, field: impl FieldName) -> Result<f64> {
        let max = self.queue_max(field)?;
        self.value(&max)
    }

    /// [`Session::sum`] as a number that stays on the device: a GPU computes it after the steps before, and the host
    /// does not wait. Functions take it as a parameter: see [`SessionScalar`].
    ///
    /// # Errors
    /// As [`Session::sum`]; more than 4,096 numbers at a time.
    pub fn queue_sum(&mut self, field: impl FieldName) -> Result<SessionScalar> {
        self.queue(Reduce::Sum, field)
    }

    /// [`Session::dot`] as a number that stays on the device.
    ///
    /// # Errors
    /// As [`Session::queue_sum`].
    pub fn queue_dot(
        &mut self,
        left: impl FieldName,
        right: impl FieldName,
    ) -> Result<SessionScalar> {
        let fields = [self.number(left)?, self.number(right)?];
        self.raw.reduce(Reduce::Dot, fields)
    }

    /// [`Session::norm`] as a number that stays on the device.
    ///
    /// # Errors
    /// As [`Session::queue_sum`].
    pub fn queue_norm(&mut self, field: impl FieldName) -> Result<SessionScalar> {
        let norm = self.queue(Reduce::Dot, field)?.sqrt();
        norm.known().map(|_| norm)
    }

    /// [`Session::min`] as a number that stays on the device.
    ///
    /// # Errors
    /// As [`Session::queue_sum`].
    pub fn queue_min(&mut self, field: impl FieldName) -> Result<SessionScalar> {
        self.queue(Reduce::Least, field)
    }

    /// [`Session::max`] as a number that stays on the device.
    ///
    /// # Errors
    /// As [`Session::queue_sum`].
    pub fn queue_max(&mut self, field: impl FieldName) -> Result<SessionScalar> {
        self.queue(Reduce::Greatest, field)
    }

    fn queue(&mut self, what: Reduce, field: impl FieldName) -> Result<SessionScalar> {
        let number = self.number(field)?;
        self.raw.reduce(what, [number; 2])
    }

    /// The value of a number, after all that was queued. On a GPU the host waits here; a fault of an element function
    /// in steps before is reported here at the latest.
    ///
    /// # Errors
    /// A number of another session, or one that there is no room for; the device's; a fault of an element function.
    pub fn value(&mut self, number: &SessionScalar) -> Result<f64> {
        self.raw.value(number)
    }

    /// Copies the cells back into the volume and returns the report of the session.
    ///
    /// # Errors
    /// The device's; a session that an error has ended.
    pub fn finish(self) -> Result<Report> {
        self.raw.close()
    }

    pub(super) fn number(&self, field: impl FieldName) -> Result<usize> {
        field.number_in(S::FIELDS).ok_or_else(|| {
            let hint = match S::FIELDS.iter().map(|field| field.name).collect::<Vec<_>>()[..] {
                [""] => "the cells are numbers, their field is 0".into(),
                ref names => format!("there are {} fields: {}", names.len(), names.join(", ")),
            };
            Error::spec(format!("the field {field:?}, which the cells do not have"), hint)
        })
    }
}

/// The region of these indices; one with no cells where a range runs backwards.
fn boxed<const D: usize>(cells: &[Range<usize>; D]) -> Region {
    let low = std::array::from_fn::<_, D, _>(|d| cells[d].start);
    let high = std::array::from_fn::<_, D, _>(|d| cells[d].end);
    Region { low: low.into(), high: high.into() }
}
