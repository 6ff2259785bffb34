//! The stencil applications as they are measured: the computation, and a small state to repeat.

use warpweft::grid::RawVolume;
use warpweft::prelude::*;
use warpweft::stencil::Spec;
use warpweft_apps::heat::{self, Conducts};
use warpweft_apps::himeno::{self, Relaxes};
use warpweft_apps::hyperthermia::{self, Warms};
use warpweft_apps::seismic::{Blast, Medium};
use warpweft_apps::soup::SplitMix;
use warpweft_apps::swim;
use warpweft_apps::tricubic::{self, Moves};
use warpweft_apps::{edge, life, life3d};

/// Cells along each side of a state before it is repeated, in two and three dimensions.
const SMALL: (usize, usize) = (256, 64);

/// An application in two or three dimensions, and a small state of it.
pub enum Problem {
    /// In two.
    Flat(Spec, RawVolume),
    /// In three.
    Deep(Spec, RawVolume),
}

/// An application by its name.
#[derive(Clone, Copy)]
pub struct Case {
    /// As `--only` names it.
    pub name: &'static str,
    /// Two or three.
    pub dims: usize,
    make: fn() -> Result<Problem>,
}

/// Every stencil application of `warpweft run`, under the boundaries that it has there.
pub const CASES: [Case; 16] = [
    Case { name: "heat2-2d", dims: 2, make: || plate(2) },
    Case { name: "heat4-2d", dims: 2, make: || plate(4) },
    Case { name: "heat6-2d", dims: 2, make: || plate(6) },
    Case { name: "heat8-2d", dims: 2, make: || plate(8) },
    Case { name: "life", dims: 2, make: game },
    Case { name: "edge", dims: 2, make: picture },
    Case { name: "swim", dims: 2, make: water },
    Case { name: "heat2-3d", dims: 3, make: || block(2) },
    Case { name: "heat4-3d", dims: 3, make: || block(4) },
    Case { name: "heat6-3d", dims: 3, make: || block(6) },
    Case { name: "heat8-3d", dims: 3, make: || block(8) },
    Case { name: "life3d", dims: 3, make: deep_game },
    Case { name: "hyperthermia", dims: 3, make: tissue },
    Case { name: "himeno", dims: 3, make: pressure },
    Case { name: "tricubic", dims: 3, make: dye },
    Case { name: "seismic", dims: 3, make: rock },
];

impl Case {
    /// The computation and a small state.
    ///
    /// # Errors
    /// The application's.
    pub fn problem(&self) -> Result<Problem> {
        (self.make)()
    }
}

fn noise<T: Conducts<D>, const D: usize>(order: usize, cells: usize) -> Result<(Spec, RawVolume)> {
    let rate = 0.5 * heat::stable_rate(order, D)?;
    let stencil = heat::stencil::<T, D>(order, rate)?.boundary(Boundary::Periodic);
    let mut noise = SplitMix::new(1);
    let volume = Volume::try_from_fn([cells; D], |_| T::from_f64(noise.next_unit()))?;
    Ok(((*stencil).clone(), (*volume).clone()))
}

fn plate(order: usize) -> Result<Problem> {
    noise::<f32, 2>(order, SMALL.0).map(|(spec, state)| Problem::Flat(spec, state))
}

fn block(order: usize) -> Result<Problem> {
    noise::<f32, 3>(order, SMALL.1).map(|(spec, state)| Problem::Deep(spec, state))
}

fn soup<const D: usize>(cells: usize) -> Result<RawVolume> {
    let mut soup = SplitMix::new(1);
    let alive = Volume::try_from_fn([cells; D], |_| u8::from(soup.next_unit() < 0.3))?;
    Ok((*alive).clone())
}

fn game() -> Result<Problem> {
    let stencil = life::stencil().boundary(Boundary::Periodic);
    Ok(Problem::Flat((*stencil).clone(), soup::<2>(SMALL.0)?))
}

fn deep_game() -> Result<Problem> {
    let stencil = life3d::stencil().boundary(Boundary::Periodic);
    Ok(Problem::Deep((*stencil).clone(), soup::<3>(SMALL.1)?))
}

fn picture() -> Result<Problem> {
    let white = Boundary::Dirichlet(f64::from(edge::WHITE));
    let start = edge::edges_of(&edge::rings([SMALL.0; 2])?, &[[white; 2]; 2])?;
    Ok(Problem::Flat((*edge::stencil().boundary(white)).clone(), (*start).clone()))
}

fn water() -> Result<Problem> {
    let stencil = swim::stencil::<f64>().boundary(Boundary::Periodic);
    let start = swim::first_step(swim::at_rest::<f64>([SMALL.0; 2])?)?;
    Ok(Problem::Flat((*stencil).clone(), (*start).clone()))
}

fn tissue() -> Result<Problem> {
    let stencil = <f32 as Warms>::stencil().boundary(Boundary::Dirichlet(37.0));
    let start = hyperthermia::body::<f32>([SMALL.1; 3])?;
    Ok(Problem::Deep((*stencil).clone(), (*start).clone()))
}

fn pressure() -> Result<Problem> {
    let stencil = <f32 as Relaxes>::stencil().boundary(Boundary::Periodic);
    let start = himeno::start::<f32>([SMALL.1; 3])?;
    Ok(Problem::Deep((*stencil).clone(), (*start).clone()))
}

fn dye() -> Result<Problem> {
    let stencil = <f32 as Moves>::stencil().boundary(Boundary::Periodic);
    let start = tricubic::whirl::<f32>([SMALL.1; 3])?;
    Ok(Problem::Deep((*stencil).clone(), (*start).clone()))
}

fn rock() -> Result<Problem> {
    let stencil = Medium::granite(0.8).stencil::<f32>()?.boundary(Boundary::Dirichlet(0.0));
    let small = [SMALL.1; 3];
    let start = Blast::in_the_middle(small).start::<f32>(small)?;
    Ok(Problem::Deep((*stencil).clone(), (*start).clone()))
}

#[cfg(test)]
mod tests {
    use warpweft::stencil::Policy;

    use super::*;

    fn advances(name: &str, spec: &Spec, small: &RawVolume) {
        let mut extents = small.extents();
        extents[0] += 3;
        let mut volume = small.repeated(extents).unwrap();
        let machine = Machine::detect().unwrap();
        let run =
            warpweft::stencil::Run { target: warpweft::stencil::Target::Cpu, ..Default::default() };
        let report = spec.run_with(&mut volume, Steps(2), &machine, &run).unwrap();
        assert_eq!(report.done, 2, "{name}");
        let policy: Policy = serde_json::from_value(report.policy).unwrap();
        assert!(matches!(policy, Policy::Cpu(_)));
        let before = small.repeated(extents).unwrap();
        let fields = 0..small.cell_type().len();
        let changed = fields.into_iter().any(|f| before.field_bytes(f) != volume.field_bytes(f));
        assert!(changed, "{name} stands still");
    }

    #[test]
    fn every_application_of_a_run_moves() {
        for case in CASES {
            match case.problem().unwrap() {
                Problem::Flat(spec, state) => advances(case.name, &spec, &state),
                Problem::Deep(spec, state) => advances(case.name, &spec, &state),
            }
        }
    }
}
