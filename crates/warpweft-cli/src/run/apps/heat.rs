//! `warpweft run heat`.

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::io::{Colours, middle_range};
use warpweft::grid::{Axes, RawVolume, over_parts};
use warpweft::prelude::*;
use warpweft::report::{Report, counted};
use warpweft::stencil::Spec;
use warpweft_apps::heat::{self, HotSpot, Rounding};

use crate::arguments::{Conduction, Float, by_default, conduction};
use crate::plot::Look;
use crate::run::check::against::{Loop, Ran};
use crate::run::check::cells::{Cells, PART, cell_of, noise, put_rows};
use crate::run::check::rows::{self, all_finite, furthest, range, wider};
use crate::run::check::{Check, worse};
use crate::run::files;
use crate::run::job::{self, Job};
use crate::run::options::Options;
use crate::run::outcome::{Answer, Outcome};

/// The steps where none are asked for.
const STEPS: u64 = 200;
/// What cells may hold, the usual one first.
const FLOATS: [Float; 4] = [Float::F32, Float::F64, Float::F16, Float::Bf16];

/// Heat conduction.
#[derive(clap::Args)]
#[command(
    mut_arg("size", |arg| by_default(arg, conduction::SIZES)),
    mut_arg("steps", |arg| by_default(arg, STEPS)),
    mut_arg("dims", |arg| by_default(arg, "what --size or --input has, else 3")),
    mut_arg("dtype", |arg| by_default(arg, "what --input holds, else f32"))
)]
#[command(
    after_help = "The initial state is a hot spot made of cosines and sines that satisfy the boundary conditions, so the exact \
solution is known. The initial state therefore depends on --boundary; the value of Dirichlet faces is added to it. To use the same \
initial cells with other boundaries, give --input or --seed.

Examples:
  warpweft run heat --plot
  warpweft run heat --size 512 --order 8 --dtype f64 --device gpu
  warpweft run heat --size 300x400 --boundary neumann,y-low=dirichlet:1 --steps 5000 --output heat.npy
  warpweft run heat --size 8192x8192 --boundary periodic --linear --steps 1000
  warpweft run heat --input photo.png --steps 20 --output blurred.png"
)]
pub struct Heat {
    #[command(flatten)]
    conduction: Conduction,
    /// Take all steps at once by one pair of Fourier transforms. This is faster from about 25 steps (7-point star) or
    /// 80 steps (5-point star) on.
    /// Needs periodic boundaries and cells of f32 or f64; results differ by rounding errors.
    #[arg(long)]
    linear: bool,
    #[command(flatten)]
    options: Options,
}

impl Heat {
    /// Runs it in the number of dimensions and the scalar type on which the arguments and the input agree.
    pub fn run(&self) -> Result<Option<Outcome>> {
        let (mut shape, mut kind) = (None, None);
        if let Some(path) = &self.options.input {
            let (extents, scalar) = files::shape_of(path)?;
            shape = Some(extents);
            let asked = self.conduction.dtype.map(Float::kind);
            kind = files::scalar(path, scalar, asked, &FLOATS.map(Float::kind))?;
        }
        let size = self.options.grid.size.as_ref().and_then(|size| size.dims());
        let kind = FLOATS.into_iter().find(|float| Some(float.kind()) == kind);
        let dims = shape.as_ref().map(Vec::len);
        let (dims, float) = self.conduction.dims_and_float(size, dims, kind)?;
        let (kind, shape) = (float.kind(), shape.as_deref());
        match dims {
            1 => self.case(kind, shape, conduction::LINE.into(), heat::spec::<1>),
            2 => self.case(kind, shape, conduction::PLANE.into(), heat::spec::<2>),
            _ => self.case(kind, shape, conduction::SPACE.into(), heat::spec::<3>),
        }
    }

    /// Runs it in `D` dimensions; `shape` is the extents of the input.
    fn case(
        &self,
        kind: ScalarKind,
        shape: Option<&[usize]>,
        default: Axes<usize>,
        spec: fn(ScalarKind, usize, f64) -> Result<Spec>,
    ) -> Result<Option<Outcome>> {
        let options = &self.options;
        let extents = options.extents(shape, default)?;
        let faces = options.grid.boundary.faces(extents.rank())?;
        let case = Case { heat: self, kind, extents, faces, spec };
        job::run(&case, options, options.steps.unwrap_or(STEPS))
    }
}

/// Range and sum of the finite cells, how many these are, and how many are NaN.
type Totals = ([f64; 2], f64, usize, usize);

/// Heat in `D` dimensions.
struct Case<'a> {
    heat: &'a Heat,
    kind: ScalarKind,
    extents: Axes<usize>,
    faces: Axes<[Boundary; 2]>,
    spec: fn(ScalarKind, usize, f64) -> Result<Spec>,
}

impl Case<'_> {
    /// The exact solution from the hot spot, with the coefficients rounded to the cells' type, if there is
    /// one.
    fn exact(&self) -> Result<Option<HotSpot>> {
        let dims = self.extents.rank();
        let options = &self.heat.options;
        if options.input.is_some() || options.seed.is_some() {
            return Ok(None);
        }
        let weights = heat::weights_in(self.kind, self.heat.conduction.order, dims)?;
        let rate = heat::number(self.kind, self.heat.conduction.rate);
        Ok(HotSpot::new(&self.extents, &self.faces, &weights, rate))
    }

    fn hot_spot(&self) -> Result<RawVolume> {
        let dims = self.extents.rank();
        let spot = match self.exact()? {
            Some(spot) => Some(spot),
            // No mode fits the boundaries: any smooth initial state will do, e.g. that of free faces.
            None => {
                let weights = heat::weights(self.heat.conduction.order)?;
                let faces = Axes::filled(dims, [Boundary::Neumann; 2]);
                HotSpot::new(&self.extents, &faces, weights, self.heat.conduction.rate)
            }
        };
        let mut volume = RawVolume::zeroed(cell_of(self.kind), self.extents)?;
        if let Some(spot) = spot {
            let width = self.extents[dims - 1];
            put_rows(&mut volume, 0, width, &|rows, write| spot.some_rows(rows, 0, write));
        }
        Ok(volume)
    }

    /// The error of `volume` after `steps` steps against the exact solution, the allowed rounding error, and
    /// the largest value.
    fn off(&self, volume: &RawVolume, steps: u64, spot: &HotSpot, rounding: &Rounding) -> [f64; 3] {
        let dims = volume.rank();
        let (width, cells) = (self.extents[dims - 1], Cells::of(volume, 0));
        let parts = over_parts(spot.number_of_rows(), (16 * PART).div_ceil(width), |rows| {
            let (mut error, mut largest) = (0.0, 0.0f64);
            let mut there = vec![0.0; width];
            spot.some_rows(rows, steps, |row, values| {
                cells.read(row * width, &mut there);
                error = worse(error, furthest(&there, values));
                let [low, high] = range(values);
                largest = largest.max(high).max(-low);
            });
            [error, largest]
        });
        let all = |[error, largest]: [f64; 2], [e, l]: [f64; 2]| [worse(error, e), largest.max(l)];
        let [error, largest] = parts.into_iter().fold([0.0; 2], all);
        [error, spot.allowed(steps, rounding) + self.of_transforms(largest.max(1.0)), largest]
    }

    /// Compares with the exact solution.
    fn against_exact(&self, ran: &Ran<'_>, spot: &HotSpot, rounding: &Rounding) -> Result<Check> {
        let solution = "exact solution of the discrete equation";
        let [error, allowed, largest] = self.off(ran.after, ran.done, spot, rounding);
        let telling = spot.telling(ran.done, rounding);
        // When everything has decayed, any coefficient seems right.
        if telling < ran.done && error <= allowed {
            let again = (ran.again)(telling)?;
            let [error, allowed, _] = self.off(&again, telling, spot, rounding);
            let solution = format!("{solution}, after {} and at the end", counted(telling, "step"));
            return Ok(Check::made(solution, error, allowed));
        }
        if error <= allowed && allowed >= largest {
            return Ok(Check::none(format!(
                "rounding errors may reach {allowed:.2e} by then, and the {solution} only {largest:.2e}: use \
                 --dtype f32 or fewer steps"
            )));
        }
        Ok(Check::made(solution, error, allowed))
    }
}

impl Job for Case<'_> {
    fn app(&self) -> &'static str {
        "heat"
    }

    fn title(&self) -> String {
        format!("order {}, rate {}", self.heat.conduction.order, self.heat.conduction.rate)
    }

    fn settings(&self) -> Answer {
        let Conduction { order, rate, .. } = self.heat.conduction;
        vec![("order", json!(order)), ("rate", json!(rate))]
    }

    fn extents(&self) -> Axes<usize> {
        self.extents
    }

    fn stencil(&self) -> Result<Spec> {
        let spec = (self.spec)(self.kind, self.heat.conduction.order, self.heat.conduction.rate)?;
        Ok(if self.heat.linear { spec.regroup_sums() } else { spec })
    }

    fn initial(&self) -> Result<RawVolume> {
        let options = &self.heat.options;
        match (&options.input, options.seed) {
            (Some(path), _) => {
                files::read(path, self.extents.rank(), self.kind, |grey| f64::from(grey) / 255.0)
            }
            (None, Some(seed)) => {
                let mut volume = RawVolume::zeroed(cell_of(self.kind), self.extents)?;
                noise(&mut volume, 0, seed);
                Ok(volume)
            }
            (None, None) => self.hot_spot(),
        }
    }

    fn check(&self, ran: &Ran<'_>) -> Result<Check> {
        let dims = self.extents.rank();
        let Conduction { order, rate, .. } = self.heat.conduction;
        let rounding = Rounding::of(self.kind, order, dims, rate)?;
        if let Some(spot) = self.exact()? {
            return self.against_exact(ran, &spot, &rounding);
        }
        let before = self.initial()?;
        let amplitude = self.amplitude(Cells::of(&before, 0).iter());
        let weights = heat::weights_in(self.kind, order, dims)?;
        let update = heat::plain_step(&weights, heat::number(self.kind, rate), dims);
        let plain = Loop {
            ghosts: order / 2,
            step: &|plain| plain.step(&update),
            relative: false,
            tolerance: &|_, steps, _| {
                let of_steps = rounding.allowed(amplitude, amplitude * steps as f64, steps);
                of_steps + self.of_transforms(amplitude)
            },
            // More steps would allow more than a thousandth of it.
            most: rounding.steps_within(1e-3),
        };
        ran.against(&before, &plain)
    }

    fn answer(&self, volume: &RawVolume, _: &Report) -> Answer {
        let none: Totals = (rows::NO_RANGE, 0.0, 0, 0);
        let parts =
            Cells::by_parts(volume, 0, none, |(range, mut sum, mut finite, mut nan), cells| {
                let kept: &[f64] = match all_finite(cells) {
                    true => cells,
                    false => {
                        nan += cells.iter().filter(|cell| cell.is_nan()).count();
                        &cells.iter().copied().filter(|cell| cell.is_finite()).collect::<Vec<_>>()
                    }
                };
                finite += kept.len();
                sum += kept.iter().sum::<f64>();
                (wider(range, rows::range(kept)), sum, finite, nan)
            });
        let all = |(r, s, f, n): Totals, (range, sum, finite, nan): Totals| {
            (wider(r, range), s + sum, f + finite, n + nan)
        };
        let (range, sum, finite, nan) = parts.into_iter().fold(none, all);
        let range = (finite > 0).then_some(range);
        vec![
            ("minimum", json!(range.map(|range| range[0]))),
            ("maximum", json!(range.map(|range| range[1]))),
            ("mean", json!(range.map(|_| sum / finite as f64))),
            ("nan_cells", json!(nan)),
            ("infinite_cells", json!(volume.len() - finite - nan)),
        ]
    }

    fn look(&self, volume: &RawVolume) -> Result<Look> {
        Ok(Look { field: 0, range: middle_range(volume, 0)?, colours: Colours::Viridis })
    }

    fn picture(&self, _: &RawVolume) -> Result<Look> {
        Ok(Look { field: 0, range: [0.0, 1.0], colours: Colours::Grey })
    }
}

impl Case<'_> {
    /// The rounding error that Fourier transforms may make next to that of steps, of cells up to `amplitude`.
    fn of_transforms(&self, amplitude: f64) -> f64 {
        let epsilon = match (self.heat.linear, self.kind) {
            (false, _) => 0.0,
            (true, ScalarKind::F32) => f64::from(f32::EPSILON),
            (true, _) => f64::EPSILON,
        };
        let cells: usize = self.extents.iter().product();
        4.0 * epsilon * amplitude * (cells as f64).log2().max(1.0)
    }

    /// The largest magnitude that can occur: of the initial cells and of Dirichlet values.
    fn amplitude(&self, cells: impl Iterator<Item = f64>) -> f64 {
        let held = self.faces.as_flattened().iter().map(|face| match face {
            Boundary::Dirichlet(value) => *value,
            _ => 0.0,
        });
        cells
            .chain(held)
            .filter(|cell| cell.is_finite())
            .fold(0.0, |most, cell| most.max(cell.abs()))
    }
}
