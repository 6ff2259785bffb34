//! Applications with several fields: their common parts.

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::io::{Colours, middle_range};
use warpweft::grid::{Axes, RawVolume};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::stencil::Spec;
use warpweft_apps::plain::Plain;
use warpweft_apps::soup::SplitMix;

use crate::plot::Look;
use crate::run::check::against::{Loop, Ran};
use crate::run::check::cells::{Cells, replace};
use crate::run::check::{Check, values};
use crate::run::files;
use crate::run::job::Job;
use crate::run::options::Options;
use crate::run::outcome::Answer;

/// How values become colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// From the least to the greatest.
    Range,
    /// From the least to the greatest value.
    AroundZero,
    /// The same range below and above zero.
    Greys,
}

/// The range of grey values.
const GREYS: [f64; 2] = [0.0, 255.0];

/// From the faces and the initial state to the state before the first step.
pub type Ready = fn(&Faces, RawVolume) -> Result<RawVolume>;

/// What lies beyond the faces of every axis.
type Faces = Axes<[Boundary; 2]>;

/// An application. Its stencil defines its cells.
pub struct Case<'a> {
    /// Its name.
    pub app: &'static str,
    /// The computation.
    pub title: String,
    /// The extents.
    pub extents: Axes<usize>,
    /// The default number of steps.
    pub steps: u64,
    /// The computation.
    pub stencil: Spec,
    /// The application's initial state.
    pub start: &'a dyn Fn(Axes<usize>) -> Result<RawVolume>,
    /// The field that `--input` and `--seed` replace, and that files and plots show.
    pub shown: usize,
    /// The state before the first step.
    pub ready: Ready,
    /// How values are shown.
    pub show: Show,
    /// The number of ghost cells, and a step of the plain loop.
    pub plain: (usize, &'a (dyn Fn(&mut Plain) + Sync)),
    /// Number of roundings of a step in a field, each at most half an epsilon of its largest value, given the
    /// largest values of all fields.
    pub roundings: &'a (dyn Fn(usize, &[f64]) -> f64 + Sync),
    /// Number of steps through which rounding errors only add up; after them, the flow itself amplifies them.
    pub steady: u64,
    /// The application's own results.
    pub answer: &'a dyn Fn(&RawVolume, &Report) -> Answer,
}

impl Case<'_> {
    /// A state for tuning: the initial state with noise of a hundredth of its largest value in every field,
    /// so that wrong results are visible everywhere.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn rough(&self, faces: &Faces) -> Result<RawVolume> {
        let mut volume = (self.ready)(faces, (self.start)(self.extents)?)?;
        let mut noise = SplitMix::new(1);
        for field in 0..volume.cell_type().len() {
            let cells = values(&volume, field);
            let most = cells.iter().fold(0.0, |most: f64, cell| most.max(cell.abs()));
            let scale = 0.01 * if most > 0.0 { most } else { 1.0 };
            let mut rough = cells.into_iter().map(|cell| cell + scale * noise.next_unit());
            replace(&mut volume, field, &mut rough);
        }
        Ok(volume)
    }
}

/// A case with the initial state of a run's options.
pub struct Begun<'a> {
    /// The case.
    pub case: &'a Case<'a>,
    /// The user's options.
    pub options: &'a Options,
}

impl Begun<'_> {
    /// The initial state, with the shown field from a file or noise if requested.
    fn begun(&self) -> Result<RawVolume> {
        let Self { case: Case { shown, .. }, options } = *self;
        let mut volume = (self.case.start)(self.case.extents)?;
        match (&options.input, options.seed) {
            (Some(path), _) => {
                let kind = volume.cell_type().kind(*shown);
                let given = files::read(path, self.case.extents.rank(), kind, f64::from)?;
                replace(&mut volume, *shown, &mut Cells::of(&given, 0).iter());
            }
            (None, Some(seed)) => {
                let mut noise = SplitMix::new(seed);
                let [low, high] = middle_range(&volume, *shown)?;
                // A field with equal values, e.g. a velocity of zero, has no range.
                let high = if high > low { high } else { low + 1.0 };
                let mut cells = std::iter::repeat_with(|| low + (high - low) * noise.next_unit());
                replace(&mut volume, *shown, &mut cells);
            }
            (None, None) => {}
        }
        Ok(volume)
    }
}

impl Job for Begun<'_> {
    fn app(&self) -> &'static str {
        self.case.app
    }

    fn title(&self) -> String {
        self.case.title.clone()
    }

    fn extents(&self) -> Axes<usize> {
        self.case.extents
    }

    fn stencil(&self) -> Result<Spec> {
        Ok(self.case.stencil.clone())
    }

    fn initial(&self) -> Result<RawVolume> {
        (self.case.ready)(
            &self.options.grid.boundary.faces(self.case.extents.rank())?,
            self.begun()?,
        )
    }

    fn check(&self, ran: &Ran<'_>) -> Result<Check> {
        let single =
            self.case.stencil.cell.fields().iter().any(|field| field.kind == ScalarKind::F32);
        let epsilon = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let (ghosts, step) = self.case.plain;
        let roundings = self.case.roundings;
        let plain = Loop {
            ghosts,
            step,
            relative: true,
            tolerance: &|field, steps, most| {
                epsilon * (1.0 + roundings(field, most) * steps as f64)
            },
            most: self.case.steady,
        };
        ran.against(&self.initial()?, &plain)
    }

    fn answer(&self, volume: &RawVolume, report: &Report) -> Answer {
        let mut answer = (self.case.answer)(volume, report);
        let [low, high] = Cells::range(volume, self.case.shown);
        answer.extend([
            ("field", json!(volume.cell_type().fields()[self.case.shown].name)),
            ("minimum", json!(low)),
            ("maximum", json!(high)),
        ]);
        answer
    }

    fn look(&self, volume: &RawVolume) -> Result<Look> {
        let [low, high] = middle_range(volume, self.case.shown)?;
        let most = low.abs().max(high.abs());
        let (range, colours) = match self.case.show {
            Show::Range => ([low, high], Colours::Viridis),
            Show::AroundZero => ([-most, most], Colours::Viridis),
            Show::Greys => ([GREYS[0].min(low), GREYS[1].max(high)], Colours::Grey),
        };
        Ok(Look { field: self.case.shown, range, colours })
    }

    fn picture(&self, volume: &RawVolume) -> Result<Look> {
        let look = self.look(volume)?;
        let range = if self.case.show == Show::Greys { GREYS } else { look.range };
        Ok(Look { range, ..look })
    }
}
