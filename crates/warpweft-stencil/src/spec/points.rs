//! Point sources and probes: cells that are added to, or recorded, after certain steps.
//!
//! Executors know nothing of them but how to add to cells and read them: sweeps are cut after the
//! steps that a source or a probe names, so every executor, whatever it does inside a sweep, has the
//! reference's bits. The price is that no temporal block reaches over such a step.

use std::fmt;
use std::ops::Range;

use super::Spec;
use crate::model::FusedSteps;
use crate::plan::Sweep;
use warpweft_core::element::{CellType, Scalar, ScalarKind, bf16, f16};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, across};
use warpweft_core::report::Series;

/// Cells to which an amplitude is added after each of the first steps.
///
/// The sum is taken in `f64` and rounded once, as `as` converts.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSource<const D: usize> {
    /// The field's number.
    pub field: usize,
    /// The cells, slowest axis first.
    pub at: Vec<[usize; D]>,
    /// What is added after step 1, 2 and so on; after the last of them nothing.
    pub amplitudes: Vec<f64>,
}

/// Cells whose values are recorded after every so many steps.
///
/// ```
/// use warpweft::prelude::*;
///
/// #[stencil]
/// fn halve(u: Near<f64, 1>) -> f64 {
///     0.5 * u[[0]]
/// }
///
/// let mut line = Volume::from_fn([4], |_| 8.0);
/// let stencil = Stencil::of(halve())
///     .source(PointSource { field: 0, at: vec![[2]], amplitudes: vec![1.0] })
///     .probe(Probe { field: 0, at: vec![[1], [2]], every: 1 });
/// let report = stencil.run(&mut line, Steps(2), &Machine::detect()?)?;
/// assert_eq!(report.probes[0].values, [[4.0, 5.0], [2.0, 2.5]]);
/// # Ok::<(), warpweft::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Probe<const D: usize> {
    /// The field's number.
    pub field: usize,
    /// The cells, slowest axis first.
    pub at: Vec<[usize; D]>,
    /// Steps between two records, at least 1.
    pub every: u64,
}

/// A [`PointSource`] whose number of axes is known at run time only.
#[derive(Clone, PartialEq)]
pub(crate) struct RawPointSource {
    pub field: usize,
    pub at: Vec<Axes<usize>>,
    pub amplitudes: Vec<f64>,
}

impl<const D: usize> From<PointSource<D>> for RawPointSource {
    fn from(PointSource { field, at, amplitudes }: PointSource<D>) -> Self {
        Self { field, at: at.into_iter().map(Axes::of).collect(), amplitudes }
    }
}

/// As a [`PointSource`]: what computations are told apart by holds this text.
impl fmt::Debug for RawPointSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("PointSource");
        text.field("field", &self.field).field("at", &self.at);
        text.field("amplitudes", &self.amplitudes).finish()
    }
}

/// A [`Probe`] whose number of axes is known at run time only.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawProbe {
    pub field: usize,
    pub at: Vec<Axes<usize>>,
    pub every: u64,
}

impl<const D: usize> From<Probe<D>> for RawProbe {
    fn from(Probe { field, at, every }: Probe<D>) -> Self {
        Self { field, at: at.into_iter().map(Axes::of).collect(), every }
    }
}

/// The sources and probes of a stencil. Sources come first, so that probes see what they added.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Points {
    pub sources: Vec<RawPointSource>,
    pub probes: Vec<RawProbe>,
}

impl RawPointSource {
    /// What is added after step `step`, counted from 1.
    fn amplitude(&self, step: u64) -> f64 {
        let index = usize::try_from(step - 1).unwrap_or(usize::MAX);
        self.amplitudes.get(index).copied().unwrap_or(0.0)
    }
}

impl Points {
    /// Whether they can be on `extents` with so many fields.
    pub fn check(&self, cell: CellType, extents: Axes<usize>) -> Result<()> {
        let dims = extents.rank();
        let fields = cell.len();
        let sources = self.sources.iter().map(|source| ("a source", source.field, &source.at));
        let probes = self.probes.iter().map(|probe| ("a probe", probe.field, &probe.at));
        for (what, field, at) in sources.chain(probes) {
            if field >= fields {
                return Err(Error::spec(
                    format!("{what} of field {field}"),
                    format!("fields are counted from 0; a cell has {fields}"),
                ));
            }
            if let Some(at) = at.iter().find(|at| (0..dims).any(|d| at[d] >= extents[d])) {
                return Err(Error::spec(
                    format!("{what} at {at:?}"),
                    format!("place it inside the {} cells", across(&extents)),
                ));
            }
        }
        for (number, source) in self.sources.iter().enumerate() {
            let odd =
                source.amplitudes.iter().zip(1..).find(|(amplitude, _)| !amplitude.is_finite());
            if let Some((amplitude, step)) = odd {
                let at = source.at.first();
                let place = at.map_or(String::new(), |at| format!(" at {at:?}"));
                return Err(Error::spec(
                    format!(
                        "source number {number}{place} has the amplitude {amplitude} in step {step}"
                    ),
                    "give finite amplitudes",
                ));
            }
        }
        if self.probes.iter().any(|probe| probe.every == 0) {
            return Err(Error::spec("a probe every 0 steps", "record every 1 or more steps"));
        }
        Ok(())
    }

    /// Whether anything is to be done after step `step`, counted from 1.
    pub fn due(&self, step: u64) -> bool {
        self.sources.iter().any(|source| source.amplitude(step) != 0.0)
            || self.probes.iter().any(|probe| step.is_multiple_of(probe.every))
    }

    /// Whether nothing is due after any step beyond `done`.
    fn quiet_from(&self, done: u64) -> bool {
        let over = |source: &RawPointSource| source.amplitudes.len() as u64 <= done;
        self.probes.is_empty() && self.sources.iter().all(over)
    }

    /// `sweep` in pieces, each of which ends where something is due or the sweep does.
    pub fn cut(&self, sweep: Sweep) -> impl Iterator<Item = Sweep> + '_ {
        let end = sweep.first_step + sweep.steps;
        let mut done = sweep.first_step;
        std::iter::from_fn(move || {
            let first_step = done;
            if first_step == end {
                return None;
            }
            let due = || (first_step + 1..end).find(|&step| self.due(step));
            done = if self.quiet_from(first_step) { end } else { due().unwrap_or(end) };
            let following = sweep.following + (end - done);
            Some(Sweep { first_step, steps: done - first_step, following, ..sweep })
        })
    }

    /// Sources and probes that do nothing in the steps after `steps.start` up to `steps.end`, and why.
    pub fn without_effect(&self, steps: Range<u64>) -> impl Iterator<Item = String> + '_ {
        let Range { start, end } = steps;
        let sources = self.sources.iter().enumerate().filter_map(|(number, source)| {
            let why = match source {
                _ if source.at.is_empty() => "it names no cells",
                _ if source.amplitudes.is_empty() => "it has no amplitudes",
                _ => return None,
            };
            Some(format!("source {number} adds nothing: {why}"))
        });
        let probes = self.probes.iter().enumerate().filter_map(move |(number, probe)| {
            let why = match probe.every {
                _ if probe.at.is_empty() => "it names no cells".into(),
                every if start < end && every > end => {
                    format!("its first step is {every}, the last is {end}")
                }
                _ => return None,
            };
            Some(format!("probe {number} records nothing: {why}"))
        });
        sources.chain(probes)
    }

    /// Passes over memory of the steps after `steps.start` up to `steps.end`: steps after which something is due end one.
    pub fn passes(&self, steps: Range<u64>, fused_steps: FusedSteps) -> u64 {
        let Range { start, end } = steps;
        if self.quiet_from(start) {
            return fused_steps.count(end - start);
        }
        let mut begun = start;
        let ends = (start + 1..=end).filter(|&step| step == end || self.due(step));
        ends.map(|step| fused_steps.count(step - std::mem::replace(&mut begun, step))).sum()
    }

    /// A series for every probe, of the steps after `done`: still empty.
    pub fn series(&self, done: u64) -> Vec<Series> {
        let begun = |&RawProbe { every, .. }: &RawProbe| Series {
            every,
            first: (done / every + 1).saturating_mul(every),
            values: Vec::new(),
        };
        self.probes.iter().map(begun).collect()
    }

    /// Does what is due after step `step` to the cells of `on`.
    pub fn after(
        &self,
        step: u64,
        on: &mut (impl AtCells + ?Sized),
        series: &mut [Series],
    ) -> Result<()> {
        for source in &self.sources {
            let amount = source.amplitude(step);
            if amount != 0.0 {
                on.add(source.field, &source.at, amount)?;
            }
        }
        for (probe, series) in self.probes.iter().zip(series) {
            if step.is_multiple_of(probe.every) {
                series.values.push(on.sample(probe.field, &probe.at)?);
            }
        }
        Ok(())
    }
}

impl Spec {
    /// Whether sources can act on parts that exchange cells of the fields that a step writes.
    ///
    /// # Errors
    /// A source of another field.
    pub(crate) fn check_points_of_parts(&self) -> Result<()> {
        let written = self.written_fields();
        match self.points.sources.iter().find(|source| !written.contains(&source.field)) {
            None => Ok(()),
            Some(source) => Err(Error::spec(
                format!(
                    "a source adds to field {}, which no stage writes; this is not supported with several subdomains",
                    source.field
                ),
                "run on one GPU, or on the cores of one process",
            )),
        }
    }
}

/// What holds cells, between two steps.
pub(crate) trait AtCells {
    /// Adds `amount` to a field of the cells `at`.
    fn add(&mut self, field: usize, at: &[Axes<usize>], amount: f64) -> Result<()>;
    /// A field of the cells `at`.
    fn sample(&mut self, field: usize, at: &[Axes<usize>]) -> Result<Vec<f64>>;
}

impl AtCells for RawVolume {
    fn add(&mut self, field: usize, at: &[Axes<usize>], amount: f64) -> Result<()> {
        let dims = self.rank();
        let (extents, kind) = (self.extents(), self.cell_type().kind(field));
        let bytes = self.field_bytes_mut(field);
        for at in at {
            let index = (0..dims).fold(0, |index, d| index * extents[d] + at[d]);
            add_to(kind, &mut bytes[index * kind.size()..][..kind.size()], amount);
        }
        Ok(())
    }
    fn sample(&mut self, field: usize, at: &[Axes<usize>]) -> Result<Vec<f64>> {
        Ok(at.iter().map(|&at| self.value(field, at)).collect())
    }
}

/// Adds `amount` to the scalar of `kind` in `bytes`, as many as it has.
pub(crate) fn add_to(kind: ScalarKind, bytes: &mut [u8], amount: f64) {
    let sum = kind.to_f64(bytes) + amount;
    macro_rules! put {
        ($t:ty) => {
            bytes.copy_from_slice(&<$t as Scalar>::from_f64(sum).to_ne_bytes())
        };
    }
    match kind {
        ScalarKind::Bool => bytes.fill(u8::from(sum != 0.0)),
        ScalarKind::I8 => put!(i8),
        ScalarKind::I16 => put!(i16),
        ScalarKind::I32 => put!(i32),
        ScalarKind::I64 => put!(i64),
        ScalarKind::U8 => put!(u8),
        ScalarKind::U16 => put!(u16),
        ScalarKind::U32 => put!(u32),
        ScalarKind::U64 => put!(u64),
        ScalarKind::Isize => put!(isize),
        ScalarKind::Usize => put!(usize),
        ScalarKind::F32 => put!(f32),
        ScalarKind::F64 => put!(f64),
        ScalarKind::F16 => put!(f16),
        ScalarKind::Bf16 => put!(bf16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;

    #[test]
    fn sweeps_end_where_something_is_due() {
        let region = Region::whole([4].into());
        let sweep = Sweep { first_step: 3, steps: 9, region, following: 1, keep_change: false };
        let source = RawPointSource {
            field: 0,
            at: vec![[1].into()],
            amplitudes: vec![1.0, 0.0, 0.0, 0.0, 2.0],
        };
        let probe = RawProbe { field: 0, at: vec![[0].into()], every: 4 };
        let lengths = |points: &Points| points.cut(sweep).map(|s| s.steps).collect::<Vec<_>>();
        assert_eq!(lengths(&Points::default()), [9]);
        let both = Points { sources: vec![source], probes: vec![probe] };
        // Steps 4, 5, 8 and 12.
        assert_eq!(lengths(&both), [1, 1, 3, 4]);
        assert_eq!(both.cut(sweep).map(|s| s.following).collect::<Vec<_>>(), [9, 8, 5, 1]);
    }

    #[test]
    fn sums_are_rounded_once_and_saturate() {
        let mut bytes = 1.0f32.to_ne_bytes();
        add_to(ScalarKind::F32, &mut bytes, 1e-8 + 2f64.powi(-24));
        assert_eq!(f32::from_ne_bytes(bytes), 1.0 + f32::EPSILON);
        let mut byte = [250u8];
        add_to(ScalarKind::U8, &mut byte, 9.7);
        assert_eq!(byte, [255]);
    }

    #[test]
    fn what_does_nothing_is_told_and_why() {
        let probe = |at: Vec<Axes<usize>>, every| RawProbe { field: 0, at, every };
        let source = |at: Vec<Axes<usize>>, amplitudes| RawPointSource { field: 0, at, amplitudes };
        let points = Points {
            sources: vec![source(vec![[1].into()], vec![1.0]), source(vec![], vec![1.0])],
            probes: vec![probe(vec![[1].into()], 5), probe(vec![[1].into()], 6), probe(vec![], 1)],
        };
        let said = |steps| points.without_effect(steps).collect::<Vec<_>>();
        let always = [
            "source 1 adds nothing: it names no cells",
            "probe 2 records nothing: it names no cells",
        ];
        assert_eq!(said(0..6), always);
        assert_eq!(said(0..5)[1], "probe 1 records nothing: its first step is 6, the last is 5");
    }

    #[test]
    fn passes_end_where_something_is_due() {
        let probe = RawProbe { field: 0, at: vec![[1].into()], every: 3 };
        let points = Points { sources: Vec::new(), probes: vec![probe] };
        // Of 10 steps three times 3 and one.
        let fused_steps = |steps| FusedSteps { steps, whole: false };
        assert_eq!(
            [1, 2, 3, 9].map(|steps| points.passes(0..10, fused_steps(steps))),
            [10, 7, 4, 4]
        );
        assert_eq!(
            points.passes(2..4, fused_steps(9)),
            2,
            "a step before one that is due, and one after"
        );
        let whole = |steps| FusedSteps { steps, whole: true };
        assert_eq!([1, 2, 3, 9].map(|steps| points.passes(0..10, whole(steps))), [10, 7, 4, 10]);
        let none = Points::default();
        assert_eq!([1, 4, 99].map(|steps| none.passes(0..10, fused_steps(steps))), [10, 3, 1]);
        // Of whole passes two of four steps and two of one, or ten of one.
        assert_eq!([1, 4, 99].map(|steps| none.passes(0..10, whole(steps))), [10, 4, 10]);
    }
}
