//! `warpweft run heat`.

use serde_json::{Value, json};
use warpweft::element::Scalar;
use warpweft::grid::in_parts;
use warpweft::grid::io::{Colours, middle_range};
use warpweft::prelude::*;
use warpweft::report::{Report, counted};
use warpweft_apps::heat::{self, Conducts, HotSpot, Rounding};
use warpweft_apps::soup::SplitMix;

use super::against::{Loop, Ran};
use super::check::{Check, difference, worse};
use super::files;
use super::job::{self, Job};
use super::options::Options;
use super::outcome::{Answer, Outcome};
use crate::arguments::{Conduction, Float, InTypes, by_default, conduction};
use crate::plot::Look;

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
    after_help = "The start is a hot spot of cosines and sines that fit the faces, so that the exact solution \
is known: other --boundary, other start. It lies on the value that dirichlet faces hold. To begin with \
the same cells whatever the faces, give --input or --seed.

Examples:
  warpweft run heat --plot
  warpweft run heat --size 512 --order 8 --dtype f64 --device gpu
  warpweft run heat --size 300x400 --boundary neumann,y-low=dirichlet:1 --steps 5000 --output heat.npy
  warpweft run heat --input photo.png --steps 20 --output blurred.png"
)]
pub struct Heat {
    #[command(flatten)]
    conduction: Conduction,
    #[command(flatten)]
    options: Options,
}

impl Heat {
    /// Runs it in the dimensions and the scalar that the arguments and the input agree on.
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
        let job = Start { heat: self, shape: shape.as_deref() };
        self.conduction.in_types(size, shape.as_ref().map(Vec::len), kind, &job)
    }
}

/// A run whose dimensions and scalar become types.
struct Start<'a> {
    heat: &'a Heat,
    /// The extents of the input.
    shape: Option<&'a [usize]>,
}

impl InTypes for Start<'_> {
    type Outcome = Option<Outcome>;
    fn run<T: Conducts<D>, const D: usize>(&self, default: [usize; D]) -> Result<Option<Outcome>> {
        let options = &self.heat.options;
        let case = Case::<D> {
            heat: self.heat,
            extents: options.extents(self.shape, default)?,
            faces: options.grid.boundary.faces()?,
        };
        job::run::<T, D>(&case, options, options.steps.unwrap_or(STEPS))
    }
}

/// Fills `cells` with numbers in [0, 1) of the stream of `seed`.
fn noise<T: Scalar + Send>(cells: &mut [T], seed: u64) {
    // A number takes 3 ns.
    in_parts(cells, 1 << 16, |first, part| {
        let mut noise = SplitMix::after(seed, first as u64);
        part.iter_mut().for_each(|cell| *cell = T::from_f64(noise.next_unit()));
    });
}

/// Heat in `D` dimensions.
struct Case<'a, const D: usize> {
    heat: &'a Heat,
    extents: [usize; D],
    faces: [[Boundary; 2]; D],
}

impl<const D: usize> Case<'_, D> {
    /// The exact solution from the hot spot with the coefficients as `T` holds them, where there is
    /// one.
    fn exact<T: Stored>(&self) -> Result<Option<HotSpot>> {
        let options = &self.heat.options;
        if options.input.is_some() || options.seed.is_some() {
            return Ok(None);
        }
        let weights = heat::weights_in::<T>(self.heat.conduction.order, D)?;
        let rate = heat::number::<T>(self.heat.conduction.rate);
        Ok(HotSpot::new(&self.extents, &self.faces, &weights, rate))
    }

    fn hot_spot<T: Stored>(&self) -> Result<Volume<T, D>> {
        let spot = match self.exact::<T>()? {
            Some(spot) => Some(spot),
            // No mode fits the boundaries: any smooth start will do, such as that of free faces.
            None => {
                let weights = heat::weights(self.heat.conduction.order)?;
                let faces = [[Boundary::Neumann; 2]; D];
                HotSpot::new(&self.extents, &faces, weights, self.heat.conduction.rate)
            }
        };
        let mut volume = Volume::<T, D>::zeroed(self.extents)?;
        if let Some(spot) = spot {
            let width = self.extents[D - 1];
            spot.rows(0, |row, values| {
                let cells = &mut volume.as_mut_slice()[row * width..][..width];
                for (cell, &value) in cells.iter_mut().zip(values) {
                    *cell = T::from_f64(value);
                }
            });
        }
        Ok(volume)
    }
}

impl<T: Conducts<D>, const D: usize> Job<T, D> for Case<'_, D> {
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

    fn extents(&self) -> [usize; D] {
        self.extents
    }

    fn stencil(&self) -> Result<Stencil<T, D>> {
        heat::stencil(self.heat.conduction.order, self.heat.conduction.rate)
    }

    fn initial(&self) -> Result<Volume<T, D>> {
        let options = &self.heat.options;
        match (&options.input, options.seed) {
            (Some(path), _) => files::read(path, |grey| T::from_f64(f64::from(grey) / 255.0)),
            (None, Some(seed)) => {
                let mut volume = Volume::<T, D>::zeroed(self.extents)?;
                noise(volume.as_mut_slice(), seed);
                Ok(volume)
            }
            (None, None) => self.hot_spot(),
        }
    }

    fn check(&self, ran: &Ran<'_, T, D>) -> Result<Check> {
        let Conduction { order, rate, .. } = self.heat.conduction;
        let rounding = Rounding::of::<T>(order, D, rate)?;
        if let Some(spot) = self.exact::<T>()? {
            let compare = |volume: &Volume<T, D>, steps| {
                let width = self.extents[D - 1];
                let (mut error, mut largest) = (0.0, 0.0f64);
                spot.rows(steps, |row, values| {
                    for (&cell, &value) in volume.as_slice()[row * width..].iter().zip(values) {
                        error = worse(error, difference(cell.to_f64(), value));
                        largest = largest.max(value.abs());
                    }
                });
                (error, spot.allowed(steps, &rounding), largest)
            };
            let oracle = "exact solution of the discrete equation";
            let (error, allowed, largest) = compare(ran.after, ran.done);
            let telling = spot.telling(ran.done, &rounding);
            // When all has decayed, any coefficient looks right.
            if telling < ran.done && error <= allowed {
                let (error, allowed, _) = compare(&(ran.again)(telling)?, telling);
                let oracle = format!("{oracle}, after {} as after all", counted(telling, "step"));
                return Ok(Check::made(oracle, error, allowed));
            }
            if error <= allowed && allowed >= largest {
                return Ok(Check::none(format!(
                    "its cells' rounding may amount to {allowed:.2e} by then, and the {oracle} to {largest:.2e}: take \
                     --dtype f32 or fewer steps"
                )));
            }
            return Ok(Check::made(oracle, error, allowed));
        }
        let before: Volume<T, D> = self.initial()?;
        let amplitude = self.amplitude(before.as_slice().iter().map(|&cell| cell.to_f64()));
        let weights = heat::weights_in::<T>(order, D)?;
        let update = heat::plain_step(&weights, heat::number::<T>(rate), D);
        let plain = Loop {
            ghosts: order / 2,
            step: &|plain| plain.step(&update),
            relative: false,
            tolerance: &|_, steps, _| rounding.allowed(amplitude, amplitude * steps as f64, steps),
            // More would allow more than a thousandth of it.
            most: rounding.steps_within(1e-3),
        };
        ran.against(&before, &plain)
    }

    fn answer(&self, volume: &Volume<T, D>, _: &Report) -> Vec<(&'static str, Value)> {
        let mut range: Option<[f64; 2]> = None;
        let (mut sum, mut finite, mut nan) = (0.0, 0usize, 0usize);
        for &cell in volume.as_slice() {
            let cell = cell.to_f64();
            nan += usize::from(cell.is_nan());
            if cell.is_finite() {
                let [low, high] = range.unwrap_or([cell; 2]);
                range = Some([low.min(cell), high.max(cell)]);
                sum += cell;
                finite += 1;
            }
        }
        vec![
            ("minimum", json!(range.map(|range| range[0]))),
            ("maximum", json!(range.map(|range| range[1]))),
            ("mean", json!(range.map(|_| sum / finite as f64))),
            ("nan_cells", json!(nan)),
            ("infinite_cells", json!(volume.len() - finite - nan)),
        ]
    }

    fn look(&self, volume: &Volume<T, D>) -> Result<Look> {
        Ok(Look { field: 0, range: middle_range(volume, 0)?, colours: Colours::Viridis })
    }

    fn picture(&self, _: &Volume<T, D>) -> Result<Look> {
        Ok(Look { field: 0, range: [0.0, 1.0], colours: Colours::Grey })
    }
}

impl<const D: usize> Case<'_, D> {
    /// The largest magnitude that can occur: of the start's cells and of held faces.
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
