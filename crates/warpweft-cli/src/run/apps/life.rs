//! `warpweft run life` and `warpweft run life3d`.

use serde_json::{Value, json};
use warpweft::element::ScalarKind;
use warpweft::grid::io::{Colours, npy};
use warpweft::grid::{Axes, RawVolume};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::stencil::Spec;
use warpweft_apps::plain::Place;
use warpweft_apps::soup::SplitMix;
use warpweft_apps::{life, life3d};

use crate::arguments::{as_size, by_default};
use crate::plot::Look;
use crate::run::check::Check;
use crate::run::check::against::{Loop, Ran};
use crate::run::files;
use crate::run::job::{self, Job};
use crate::run::options::Options;
use crate::run::outcome::Outcome;

/// The extents and steps where none are asked for, in two and three dimensions.
pub const FLAT: [usize; 2] = [1024; 2];
pub const DEEP: [usize; 3] = [128; 3];
const STEPS: [u64; 2] = [500, 100];

/// Conway's Game of Life.
#[derive(clap::Args)]
#[command(
    mut_arg("size", |arg| by_default(arg, as_size(&FLAT))),
    mut_arg("steps", |arg| by_default(arg, STEPS[0]))
)]
#[command(after_help = "Examples:
  warpweft run life --seed 7 --plot
  warpweft run life --size 16384 --steps 1000 --device gpu --json
  warpweft run life --input gun.png --boundary dirichlet --output after.png")]
pub struct Flat {
    #[command(flatten)]
    options: Options,
}

/// Life in three dimensions.
#[derive(clap::Args)]
#[command(
    mut_arg("size", |arg| by_default(arg, as_size(&DEEP))),
    mut_arg("steps", |arg| by_default(arg, STEPS[1]))
)]
#[command(after_help = "Examples:
  warpweft run life3d --output life3d.vti
  warpweft run life3d --size 64x128x256 --seed 3 --steps 50")]
pub struct Deep {
    #[command(flatten)]
    options: Options,
}

impl Flat {
    /// Runs it.
    pub fn run(&self) -> Result<Option<Outcome>> {
        let extents = files::extents(&self.options, FLAT.into())?;
        let case = Case {
            app: "life",
            rule: "B3/S23",
            options: &self.options,
            extents: extents.array(),
            density: 0.35,
            stencil: life::stencil,
            update: life::plain_step,
        };
        job::run(&case, &self.options, self.options.steps.unwrap_or(STEPS[0]))
    }
}

impl Deep {
    /// Runs it.
    pub fn run(&self) -> Result<Option<Outcome>> {
        let extents = files::extents(&self.options, DEEP.into())?;
        let case = Case {
            app: "life3d",
            rule: "B5/S2..7",
            options: &self.options,
            extents: extents.array(),
            density: 0.12,
            stencil: life3d::stencil,
            update: life3d::plain_step,
        };
        job::run(&case, &self.options, self.options.steps.unwrap_or(STEPS[1]))
    }
}

/// A game in `D` dimensions.
struct Case<'a, const D: usize> {
    app: &'static str,
    rule: &'static str,
    options: &'a Options,
    extents: [usize; D],
    /// Fraction of live cells in a random start.
    density: f64,
    stencil: fn() -> Stencil<u8, D>,
    update: fn(Place<'_>) -> f64,
}

impl<const D: usize> Job for Case<'_, D> {
    fn app(&self) -> &'static str {
        self.app
    }

    fn title(&self) -> String {
        self.rule.into()
    }

    fn extents(&self) -> Axes<usize> {
        self.extents.into()
    }

    fn stencil(&self) -> Result<Spec> {
        for face in self.options.grid.boundary.faces(D)?.as_flattened() {
            if let Boundary::Dirichlet(value) = face
                && ![0.0, 1.0].contains(value)
            {
                return Err(Error::spec(
                    format!(
                        "{} has cells of 0 or 1, but --boundary has the value {value}",
                        self.app
                    ),
                    "use dirichlet:0 or dirichlet:1",
                ));
            }
        }
        Ok((self.stencil)().into_spec())
    }

    fn initial(&self) -> Result<RawVolume> {
        let Some(path) = &self.options.input else {
            let mut soup = SplitMix::new(self.options.seed.unwrap_or(1));
            let alive = |_| u8::from(soup.next_unit() < self.density);
            return Volume::try_from_fn(self.extents, alive).map(Volume::into_raw);
        };
        let threshold = "save `(array > threshold).astype('uint8')`";
        let (_, kind) = files::shape_of(path)?;
        use ScalarKind::{Bf16, F16, F32, F64};
        if let Some(kind @ (F16 | Bf16 | F32 | F64)) = kind {
            // As integers, most numbers between 0 and 1 would be dead cells.
            let what = format!("holds {}; cells are 0 or 1", kind.name());
            return Err(Error::file(path, what, threshold));
        }
        if kind == Some(ScalarKind::Bool) {
            let flags = npy::read::<bool, D>(path)?;
            let mut flags = flags.as_slice().iter();
            let alive = |_| u8::from(flags.next() == Some(&true));
            return Volume::try_from_fn(self.extents, alive).map(Volume::into_raw);
        }
        let cells = files::read(path, D, ScalarKind::U8, |grey| f64::from(u8::from(grey > 127)))?;
        match cells.field::<u8>(0).unwrap_or_default().iter().find(|&&cell| cell > 1) {
            Some(cell) => Err(Error::file(
                path,
                format!("holds a cell of {cell}; cells are 0 or 1"),
                threshold,
            )),
            None => Ok(cells),
        }
    }

    fn check(&self, ran: &Ran<'_>) -> Result<Check> {
        let plain = Loop {
            ghosts: 1,
            step: &|plain| plain.step(self.update),
            relative: false,
            tolerance: &|_, _, _| 0.0,
            most: u64::MAX,
        };
        ran.against(&self.initial()?, &plain)
    }

    fn answer(&self, volume: &RawVolume, _: &Report) -> Vec<(&'static str, Value)> {
        let alive =
            volume.field::<u8>(0).unwrap_or_default().iter().filter(|&&cell| cell == 1).count();
        vec![("alive", json!(alive))]
    }

    fn look(&self, _: &RawVolume) -> Result<Look> {
        Ok(Look { field: 0, range: [0.0, 1.0], colours: Colours::Grey })
    }
}
