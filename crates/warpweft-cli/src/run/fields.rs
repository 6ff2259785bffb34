//! Applications of several fields: what they have in common is here, an application says the rest.

use serde_json::json;
use warpweft::element::{Fields, ScalarKind};
use warpweft::grid::io::{Colours, middle_range};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft_apps::plain::Plain;
use warpweft_apps::soup::SplitMix;

use super::against::{Loop, Ran};
use super::check::{Check, values};
use super::files;
use super::job::Job;
use super::options::Options;
use super::outcome::Answer;
use crate::plot::Look;

/// How values become colours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// From the least to the greatest.
    Range,
    /// As far below zero as above.
    AroundZero,
    /// Greys from 0 to 255; further where values are.
    Greys,
}

/// What pictures hold.
const GREYS: [f64; 2] = [0.0, 255.0];

/// From the faces and what the user began with to the state that the first step finds.
pub type Ready<S, const D: usize> = fn(&Faces<D>, Volume<S, D>) -> Result<Volume<S, D>>;

/// What lies beyond the faces of every axis.
type Faces<const D: usize> = [[Boundary; 2]; D];

/// An application of cells of `S`.
pub struct Case<'a, S: Fields, const D: usize> {
    /// Its name.
    pub app: &'static str,
    /// What it computes.
    pub title: String,
    /// The extents.
    pub extents: [usize; D],
    /// The steps where `--steps` doesn't say.
    pub steps: u64,
    /// The computation.
    pub stencil: Stencil<S, D>,
    /// What the user begins with.
    pub start: &'a dyn Fn([usize; D]) -> Result<Volume<S, D>>,
    /// The field of it that `--input` and `--seed` replace, and that files and plots show.
    pub shown: usize,
    /// The state that the first step finds.
    pub ready: Ready<S, D>,
    /// How values are shown.
    pub show: Show,
    /// Ghost cells and a step of the straightforward loop.
    pub plain: (usize, &'a dyn Fn(&mut Plain)),
    /// Roundings of a step in a field, each at most half an epsilon of its largest value, given those of
    /// all fields.
    pub roundings: &'a dyn Fn(usize, &[f64]) -> f64,
    /// Steps through which roundings add up and no more: after them, the flow itself makes them grow.
    pub steady: u64,
    /// The application's own answer.
    pub answer: &'a dyn Fn(&Volume<S, D>, &Report) -> Answer,
}

impl<S: Fields, const D: usize> Case<'_, S, D> {
    /// A state to tune on: the start, every field roughened by a hundredth of its largest value, so that
    /// what is not computed right shows wherever it is looked for.
    ///
    /// # Errors
    /// Too little memory.
    pub fn rough(&self, faces: &Faces<D>) -> Result<Volume<S, D>> {
        let mut volume = (self.ready)(faces, (self.start)(self.extents)?)?;
        let mut noise = SplitMix::new(1);
        for field in 0..S::FIELDS.len() {
            let cells = values(&volume, field);
            let most = cells.iter().fold(0.0, |most: f64, cell| most.max(cell.abs()));
            let scale = 0.01 * if most > 0.0 { most } else { 1.0 };
            let rough = cells.into_iter().map(|cell| cell + scale * noise.next_unit());
            replace(&mut volume, field, rough);
        }
        Ok(volume)
    }
}

/// A case as the options of a run would have it begin.
pub struct Begun<'a, S: Fields, const D: usize> {
    /// The case.
    pub case: &'a Case<'a, S, D>,
    /// What the user chose.
    pub options: &'a Options,
}

impl<S: Fields, const D: usize> Begun<'_, S, D> {
    /// What the user begins with: the start, its shown field from a file or noise if so asked.
    fn begun(&self) -> Result<Volume<S, D>> {
        let Self { case: Case { shown, .. }, options } = *self;
        let mut volume = (self.case.start)(self.case.extents)?;
        match (&options.input, options.seed) {
            (Some(path), _) if S::FIELDS[*shown].kind == ScalarKind::F64 => {
                let given = files::read::<f64, D>(path, f64::from)?;
                replace(&mut volume, *shown, given.as_slice().iter().copied());
            }
            (Some(path), _) => {
                let given = files::read::<f32, D>(path, f32::from)?;
                let cells = given.as_slice().iter().map(|&cell| f64::from(cell));
                replace(&mut volume, *shown, cells);
            }
            (None, Some(seed)) => {
                let mut noise = SplitMix::new(seed);
                let [low, high] = middle_range(&volume, *shown)?;
                // A field that begins all alike, as velocities at rest do, tells no range.
                let high = if high > low { high } else { low + 1.0 };
                let cells = std::iter::repeat_with(|| low + (high - low) * noise.next_unit());
                replace(&mut volume, *shown, cells);
            }
            (None, None) => {}
        }
        Ok(volume)
    }
}

/// Replaces the cells of a field of floats.
fn replace<S: Fields, const D: usize>(
    volume: &mut Volume<S, D>,
    field: usize,
    cells: impl Iterator<Item = f64>,
) {
    if let Some(field) = volume.field_mut::<f32>(field) {
        field.iter_mut().zip(cells).for_each(|(cell, value)| *cell = value as f32);
    } else if let Some(field) = volume.field_mut::<f64>(field) {
        field.iter_mut().zip(cells).for_each(|(cell, value)| *cell = value);
    }
}

impl<S: Fields, const D: usize> Job<S, D> for Begun<'_, S, D> {
    fn app(&self) -> &'static str {
        self.case.app
    }

    fn title(&self) -> String {
        self.case.title.clone()
    }

    fn extents(&self) -> [usize; D] {
        self.case.extents
    }

    fn stencil(&self) -> Result<Stencil<S, D>> {
        Ok(self.case.stencil.clone())
    }

    fn initial(&self) -> Result<Volume<S, D>> {
        (self.case.ready)(&self.options.grid.boundary.faces()?, self.begun()?)
    }

    fn check(&self, ran: &Ran<'_, S, D>) -> Result<Check> {
        let single = S::FIELDS.iter().any(|field| field.kind == ScalarKind::F32);
        let epsilon = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let (ghosts, step) = self.case.plain;
        let plain = Loop {
            ghosts,
            step,
            relative: true,
            tolerance: &|field, steps, most| {
                epsilon * (1.0 + (self.case.roundings)(field, most) * steps as f64)
            },
            most: self.case.steady,
        };
        ran.against(&self.initial()?, &plain)
    }

    fn answer(&self, volume: &Volume<S, D>, report: &Report) -> Answer {
        let mut answer = (self.case.answer)(volume, report);
        let cells = values(volume, self.case.shown);
        answer.extend([
            ("field", json!(S::FIELDS[self.case.shown].name)),
            ("minimum", json!(cells.iter().copied().fold(f64::INFINITY, f64::min))),
            ("maximum", json!(cells.iter().copied().fold(f64::NEG_INFINITY, f64::max))),
        ]);
        answer
    }

    fn look(&self, volume: &Volume<S, D>) -> Result<Look> {
        let [low, high] = middle_range(volume, self.case.shown)?;
        let most = low.abs().max(high.abs());
        let (range, colours) = match self.case.show {
            Show::Range => ([low, high], Colours::Viridis),
            Show::AroundZero => ([-most, most], Colours::Viridis),
            Show::Greys => ([GREYS[0].min(low), GREYS[1].max(high)], Colours::Grey),
        };
        Ok(Look { field: self.case.shown, range, colours })
    }

    fn picture(&self, volume: &Volume<S, D>) -> Result<Look> {
        let look = self.look(volume)?;
        let range = if self.case.show == Show::Greys { GREYS } else { look.range };
        Ok(Look { range, ..look })
    }
}
