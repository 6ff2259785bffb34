//! What must be computed: stages, boundaries, when to stop.

pub mod boundary;
mod check;
pub(crate) mod fingerprint;
pub mod functions;
pub(crate) mod identity;
pub mod place;
pub mod points;
pub(crate) mod proof;
pub mod reduction;
pub mod residual;
pub mod stage;
pub mod stencil_element;
pub(crate) mod total;

use std::marker::PhantomData;
use std::ops::Deref;

use self::boundary::{Boundaries, Boundary, Face};
use self::functions::{BoundaryFunction, Functions, held};
use self::place::Knows;
use self::points::{PointSource, Points, Probe};
use self::residual::{Residual, Until};
use self::stage::{StageList, Stages};
use warpweft_core::element::{CellType, Fields};
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;

/// A number of time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Steps(pub u64);

/// A stencil computation: what to compute, not how.
///
/// The cell type `S` only makes the interface type-safe; the computation itself is a [`Spec`].
#[derive(Clone)]
pub struct Stencil<S: Fields, const D: usize> {
    spec: Spec,
    cell: PhantomData<fn() -> S>,
}

impl<S: Fields, const D: usize> Deref for Stencil<S, D> {
    type Target = Spec;
    fn deref(&self) -> &Spec {
        &self.spec
    }
}

/// A [`Stencil`] without the type of its cells: what everything works on from here on, compiled once
/// for all types.
#[derive(Clone)]
pub struct Spec {
    pub(crate) dims: usize,
    /// The type of a cell.
    #[doc(hidden)]
    pub cell: CellType,
    pub(crate) stages: StageList,
    /// Stages of other computations over the same cells, for which an executor leaves room.
    pub(crate) others: StageList,
    /// What lies beyond each face.
    #[doc(hidden)]
    pub boundaries: Boundaries,
    pub(crate) functions: Functions,
    /// When it ends early.
    #[doc(hidden)]
    pub until: Option<Until>,
    pub(crate) points: Points,
    /// An axis named that is not there.
    pub(crate) no_axis: Option<usize>,
    /// What messages call it, if not by its stages.
    pub(crate) name: Option<String>,
    /// Whether sums may be regrouped: see [`Stencil::regroup_sums`].
    pub(crate) regrouped: bool,
}

impl<S: Fields, const D: usize> Stencil<S, D> {
    /// One element function a step. Boundaries are Dirichlet 0 until told otherwise.
    pub fn of(element: impl Stages<D, State = S>) -> Self {
        Self::sequence(element)
    }

    /// Several element functions per step, run in order over the whole volume; each reads the fields that the earlier ones
    /// have written.
    pub fn sequence(stages: impl Stages<D, State = S>) -> Self {
        Self { spec: Spec::new(CellType::of::<S>(), D, stages.list()), cell: PhantomData }
    }

    /// What messages and checkpoints call the computation, instead of its element functions' names.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.spec.name = Some(name.into());
        self
    }

    /// The same boundary on every face.
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.spec.boundaries = Boundaries::all(D, boundary);
        self
    }

    /// The boundary of one face. Out-of-range axes are reported by [`Stencil::check`].
    pub fn face(mut self, axis: usize, face: Face, boundary: Boundary) -> Self {
        self.spec.set_face(axis, face, boundary);
        self
    }

    /// A function of position and time on every face; see [`Stencil::face_by`].
    pub fn boundary_by(mut self, function: impl BoundaryFunction<S, D> + 'static) -> Self {
        self.spec.functions.set_all(&held(function));
        self.boundary(Boundary::Function)
    }

    /// Gives the cells beyond one face the values of a function of position and time, e.g. one
    /// with `#[boundary]`. The function gets the index of the ghost cell, which is outside the volume, and the number of
    /// steps that the adjacent cells have taken. A field that no stage writes keeps the value of step 0. At edges and
    /// corners, along other axes whose boundary copies cells (e.g. periodic), the index is that of the copied cell.
    pub fn face_by(
        mut self,
        axis: usize,
        face: Face,
        function: impl BoundaryFunction<S, D> + 'static,
    ) -> Self {
        self.spec.functions.set(axis, face, held(function));
        self.face(axis, face, Boundary::Function)
    }

    /// Stop early once the change of a step is small: `residual` ≤ `tolerance`, checked every step.
    pub fn until(self, residual: Residual, tolerance: f64) -> Self {
        self.until_every(residual, tolerance, 1)
    }

    /// As [`Stencil::until`], but checked only after every `every` steps, so that the steps in between can use
    /// temporal blocking. The residual is the change in the checked step only, not since the last check.
    /// [`Spec::check`] reports an `every` of 0.
    pub fn until_every(mut self, residual: Residual, tolerance: f64, every: u64) -> Self {
        self.spec.until = Some(Until { residual, tolerance, every });
        self
    }

    /// Adds to cells after steps. May be called repeatedly; [`Spec::check`] reports cells outside.
    pub fn source(mut self, source: PointSource<D>) -> Self {
        self.spec.points.sources.push(source.into());
        self
    }

    /// Records cells into [`warpweft_core::report::Report::probes`]. As [`Stencil::source`].
    pub fn probe(mut self, probe: Probe<D>) -> Self {
        self.spec.points.probes.push(probe.into());
        self
    }

    /// Lets a run regroup the sums of a linear stencil: all steps are taken at once by one pair of Fourier transforms, so
    /// a run takes the same time however many steps it has. This is faster than single steps from about 25 steps of a
    /// 7-point star or 80 steps of a 5-point star on. Where weights are a product of weights along each axis, a GPU with FP64
    /// tensor cores of compute capability 9.0 takes up to 24 (two dimensions) or 4 steps (three) in one pass over memory.
    ///
    /// The element functions must be linear: the new value is a sum of neighbours times numbers. Warpweft proves that from
    /// the functions' translation. Cells are one `f32` or `f64` in up to three dimensions. All faces must be periodic; one
    /// stage of `f64` with separable weights in two or three dimensions may have fixed faces ([`Boundary::Dirichlet`]) of one
    /// value. Devices that have no such tensor cores take single steps then, and the report notes it.
    /// Results differ from those of single steps by rounding errors: after 1,000 steps at most 1e-5 (`f32`) and 1e-12
    /// (`f64`) of the largest cell, where no mode grows; by separable weights after 64 steps at most 1e-14, if each is the
    /// rounded product of its factors. Weights may differ from a product by 3 epsilons of the largest; such differences add
    /// up, to 6e-16 a step at most for weights that are all positive. Transforms on a GPU need cuFFT (`pip install
    /// nvidia-cufft` or the CUDA toolkit).
    ///
    /// ```
    /// use warpweft::prelude::*;
    ///
    /// #[stencil]
    /// fn diffuse(u: Near<f64, 2>, rate: f64) -> f64 {
    ///     u[[0, 0]] + rate * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]] - 4.0 * u[[0, 0]])
    /// }
    ///
    /// let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
    /// let first = Volume::from_fn([20, 30], |[y, x]| ((y * x) % 7) as f64);
    /// let (mut plain, mut regrouped) = (first.clone(), first);
    /// let machine = Machine::detect()?;
    /// stencil.run(&mut plain, Steps(100), &machine)?;
    /// stencil.regroup_sums().run(&mut regrouped, Steps(100), &machine)?;
    /// assert!((plain[[3, 4]] - regrouped[[3, 4]]).abs() < 1e-12);
    /// # Ok::<(), warpweft::Error>(())
    /// ```
    ///
    /// # Errors
    /// A run returns an error if a function is not linear (the error names the reason) or a face is of another kind. Stop
    /// criteria, sources, probes, checkpoints, policies, several devices or ranks, and sessions are refused. An
    /// interrupt or a deadline stops the run only before the first transform; after that the run takes all steps.
    pub fn regroup_sums(mut self) -> Self {
        self.spec.regrouped = true;
        self
    }

    /// As [`Spec::check`].
    ///
    /// # Errors
    /// As there.
    pub fn check(&self, extents: [usize; D]) -> Result<()> {
        self.spec.check(extents.into())
    }
}

impl<S: Fields, const D: usize> Stencil<S, D> {
    /// What it computes, without the type of its cells.
    pub fn into_spec(self) -> Spec {
        self.spec
    }
}

impl Spec {
    /// One step of `stages` over volumes of `dims` axes of `cell`, as [`Stencil::sequence`] has it.
    #[inline(never)]
    fn new(cell: CellType, dims: usize, stages: StageList) -> Self {
        Self {
            dims,
            cell,
            stages,
            others: StageList::new(),
            boundaries: Boundaries::all(dims, Boundary::Dirichlet(0.0)),
            functions: Functions::new(dims),
            until: None,
            points: Points::default(),
            no_axis: None,
            name: None,
            regrouped: false,
        }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.dims
    }

    fn set_face(&mut self, axis: usize, face: Face, boundary: Boundary) {
        match self.boundaries.0.get_mut(axis) {
            Some(faces) => faces[face as usize] = boundary,
            None => self.no_axis = Some(axis),
        }
    }

    /// As [`Stencil::named`].
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// As [`Stencil::until_every`].
    pub fn until_every(mut self, residual: Residual, tolerance: f64, every: u64) -> Self {
        self.until = Some(Until { residual, tolerance, every });
        self
    }

    /// As [`Stencil::regroup_sums`].
    pub fn regroup_sums(mut self) -> Self {
        self.regrouped = true;
        self
    }

    /// Another boundary on both faces of each axis, low and high.
    pub fn faces(mut self, faces: Axes<[Boundary; 2]>) -> Self {
        self.boundaries.0 = faces;
        self
    }

    /// How far the stages read, per axis: `[below, above]`, the widest of all stages.
    pub fn radius(&self) -> Axes<[usize; 2]> {
        self.widest(&self.stages)
    }

    /// How far these and the stages of other computations over the same cells read.
    pub(crate) fn room(&self) -> Axes<[usize; 2]> {
        let (own, others) = (self.radius(), self.widest(&self.others));
        own.zip(others).map(|(own, others)| [own[0].max(others[0]), own[1].max(others[1])])
    }

    fn widest(&self, stages: &StageList) -> Axes<[usize; 2]> {
        let dims = self.rank();
        let mut widest = Axes::filled(dims, [0; 2]);
        for stage in stages {
            let radius = stage.radius();
            for d in 0..dims {
                widest[d] = [widest[d][0].max(radius[d][0]), widest[d][1].max(radius[d][1])];
            }
        }
        widest
    }

    /// How far a step reads, per axis: `[below, above]`, all stages together.
    pub fn reach(&self) -> Axes<[usize; 2]> {
        let dims = self.rank();
        let mut reach = Axes::filled(dims, [0; 2]);
        for stage in &self.stages {
            let radius = stage.radius();
            for d in 0..dims {
                reach[d] = [reach[d][0] + radius[d][0], reach[d][1] + radius[d][1]];
            }
        }
        reach
    }

    /// What any of the stages is told about its cell.
    pub(crate) fn knows(&self) -> Knows {
        self.stages.iter().map(|stage| stage.knows()).fold(Knows::NOTHING, |all, knows| Knows {
            at: all.at || knows.at,
            step: all.step || knows.step,
        })
    }

    /// The fields that a step assigns, ascending.
    pub fn written_fields(&self) -> Vec<usize> {
        let mut fields: Vec<_> =
            self.stages.iter().flat_map(|stage| stage.writes()).copied().collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[stencil]
    fn wide(u: Near<f64, 1>) -> f64 {
        u[[0]]
    }

    #[stencil]
    fn bytes(u: Near<u8, 1>) -> u8 {
        u[[0]]
    }

    /// A list whose stages are not of the type that it names, which the compiler can't see.
    struct Mislabelled;

    impl Stages<1> for Mislabelled {
        type State = f32;
        fn list(self) -> StageList {
            wide().list()
        }
    }

    #[test]
    fn a_held_face_is_of_a_number() {
        let held = |value| Stencil::of(wide()).boundary(Boundary::Dirichlet(value)).check([8]);
        assert!(held(f64::NAN).unwrap_err().to_string().contains("NaN"));
        held(f64::INFINITY).unwrap();
    }

    #[test]
    fn a_held_face_is_of_a_number_that_cells_hold() {
        let held = |value| Stencil::of(bytes()).boundary(Boundary::Dirichlet(value)).check([8]);
        let error = held(300.0).unwrap_err().to_string();
        assert!(error.contains("3e2, which u8 can't hold: it would be 255"), "{error}");
        assert!(held(-1.0).is_err() && held(f64::INFINITY).is_err());
        let error = held(0.5).unwrap_err().to_string();
        assert!(error.contains("5e-1, which u8 can't hold: it would be 0"), "{error}");
        assert!(held(0.0).is_ok() && held(255.0).is_ok());
    }

    #[test]
    fn stages_and_volumes_of_other_cells_are_refused() {
        let error = Stencil::of(Mislabelled).check([8]).unwrap_err().to_string();
        assert!(error.contains("wide computes f64, not f32"), "{error}");
        let volume = Volume::<f32, 1>::zeroed([8]).unwrap();
        let error = Stencil::of(wide()).check_volume(&volume).unwrap_err().to_string();
        assert!(error.contains("a volume of f32 for a stencil of f64"), "{error}");
    }
}
