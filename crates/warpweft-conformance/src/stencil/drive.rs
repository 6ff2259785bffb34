//! Running one case and comparing every bit.

use super::settings::{Setting, all, packed, state};
use super::{Case, Outcome, Pick, Subject};
use warpweft::element::Fields;
use warpweft::error::{Error, Result};
use warpweft::stencil::agreement::{Ended, difference};
use warpweft::stencil::run_reference;
use warpweft::stencil::{Boundary, BoundaryFunction, Residual, Spec, Stencil, Until};

/// The cases of one subject as they are run.
pub(super) struct Suite<'a, 'p, U> {
    pub subject: &'a U,
    pub pick: &'a mut Pick<'p>,
    pub told: &'a mut dyn FnMut(&Case),
    pub cases: &'a mut Vec<Case>,
}

impl<U: Subject> Suite<'_, '_, U> {
    /// An element in every setting and way; `name` says which.
    pub fn run(&mut self, name: &str, stencil: &Spec) {
        for setting in all(stencil.rank()) {
            let mut stencil = stencil.clone();
            stencil.boundaries = setting.boundaries;
            self.each_way(name, &setting, &stencil);
        }
    }

    /// As [`Suite::run`] for settings with Dirichlet faces, of which all are functions, or but the first.
    pub fn run_by<S: Fields, const D: usize>(
        &mut self,
        name: &str,
        stencil: &Stencil<S, D>,
        function: impl BoundaryFunction<S, D> + 'static,
    ) {
        self.by(name, &stencil.clone().boundary_by(function));
    }

    fn by(&mut self, name: &str, stencil: &Spec) {
        let held = |face: &&mut Boundary| matches!(face, Boundary::Dirichlet(_));
        for (number, setting) in all(stencil.rank()).into_iter().enumerate() {
            let mut stencil = stencil.clone();
            stencil.boundaries = setting.boundaries;
            let faces = stencil.boundaries.0.as_flattened_mut().iter_mut();
            let faces: Vec<_> = faces.filter(held).skip(number / 4).collect();
            if !faces.is_empty() {
                faces.into_iter().for_each(|face| *face = Boundary::Function);
                self.each_way(name, &setting, &stencil);
            }
        }
    }

    /// An element whose cells can be packed.
    pub fn run_packed(&mut self, name: &str, stencil: &Spec) {
        let setting = packed();
        let mut stencil = stencil.clone();
        stencil.boundaries = setting.boundaries;
        self.each_way(name, &setting, &stencil);
    }

    /// An element that stops when its residual is small, for every kind of residual.
    pub fn stop(&mut self, name: &str, stencil: &Spec) {
        for (kind, every) in [(Residual::Max, 1), (Residual::Sum, 3), (Residual::SumOfSquares, 2)] {
            let Some(mut setting) = all(stencil.rank()).into_iter().next() else { return };
            setting.steps = 40;
            let ways = self.subject.ways().len();
            if !self.pick.wants(ways) {
                self.pick.pass(ways);
                continue;
            }
            // Met about half way, as the reference finds it.
            let Ok(tolerance) = half_way(stencil, &setting, kind) else {
                self.pick.pass(ways);
                continue;
            };
            let mut stencil = stencil.clone();
            stencil.boundaries = setting.boundaries;
            stencil.until = Some(Until { residual: kind, tolerance, every });
            self.each_way(&format!("{name} until {kind:?} every {every}"), &setting, &stencil);
        }
    }

    fn each_way(&mut self, name: &str, setting: &Setting, stencil: &Spec) {
        let ways = self.subject.ways();
        if !self.pick.wants(ways.len()) {
            return self.pick.pass(ways.len());
        }
        let expect = state(stencil.cell, setting).and_then(|start| {
            let mut end = start.clone();
            let (done, series) = run_reference(stencil, &mut end, setting.steps)?;
            Ok((start, Ended { volume: end, done, series }))
        });
        for (way, of) in ways.iter().enumerate().filter(|_| self.pick.take()) {
            let (steps, kind) = (setting.steps, setting.name);
            let name = format!("{name}, {kind}, {steps} steps over {:?}, {of}", setting.extents);
            let outcome = match &expect {
                Ok((start, end)) => outcome(self.subject.run(way, stencil, start, steps), end),
                // A footprint wider than the volume, say: the same everywhere.
                Err(error) => Outcome::Skipped(error.to_string()),
            };
            let case = Case { name, outcome };
            (self.told)(&case);
            self.cases.push(case);
        }
    }
}

fn half_way(stencil: &Spec, setting: &Setting, kind: Residual) -> Result<f64> {
    // The largest tolerance of a descending series that takes more than ten steps to meet.
    let mut tolerance = 1e3;
    loop {
        let mut stencil = stencil.clone();
        stencil.boundaries = setting.boundaries;
        stencil.until = Some(Until { residual: kind, tolerance, every: 1 });
        let mut volume = state(stencil.cell, setting)?;
        if run_reference(&stencil, &mut volume, setting.steps)?.0 > 10 {
            return Ok(tolerance);
        }
        tolerance /= 2.0;
        if tolerance < 1e-300 {
            let what = "a residual that is above 0 after ten steps";
            return Err(Error::spec(what, "begin with another state"));
        }
    }
}

fn outcome(ran: Result<Result<Ended>>, end: &Ended) -> Outcome {
    let ran = match ran {
        Ok(ran) => ran,
        Err(error @ Error::Spec { .. }) => return Outcome::Skipped(error.to_string()),
        Err(error) => Err(error),
    };
    match ran {
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(Ended { done, .. }) if done != end.done => {
            let expect = end.done;
            Outcome::Failed(format!("stopped after {done} steps, the reference after {expect}"))
        }
        Ok(found) => match difference(&found.volume, &end.volume) {
            Some(what) => Outcome::Failed(what),
            None if found.series != end.series => {
                Outcome::Failed(format!("probes saw {:?} for {:?}", found.series, end.series))
            }
            None => Outcome::Passed,
        },
    }
}
