//! The applications of several fields on every executor, bit for bit what the reference computes.

use warpweft::Result;
use warpweft::stencil::{PointSource, Probe, Stencil};

use warpweft_apps::himeno::Relaxes;
use warpweft_apps::hyperthermia::Warms;
use warpweft_apps::seismic::{Elastic, Medium};
use warpweft_apps::tricubic::Moves;
use warpweft_apps::{edge, swim};

use super::Pick;
use super::stencil::{Case, Subject, conformance_of};

/// With an explosion inside, a push at a corner, and stations.
fn sounded(rock: Stencil<Elastic<f32>, 3>) -> Stencil<Elastic<f32>, 3> {
    let explosion = |field| PointSource { field, at: vec![[3, 4, 5]], amplitudes: vec![1e6; 4] };
    let push =
        PointSource { field: 0, at: vec![[0, 0, 0], [4, 4, 8]], amplitudes: vec![0.5, 0.25] };
    (3..6).fold(rock, |rock, normal| rock.source(explosion(normal))).source(push).probe(Probe {
        field: 2,
        at: vec![[0, 0, 0], [3, 4, 6]],
        every: 2,
    })
}

/// Runs each application in every setting and way of `subject`; `told` hears of every case as it ends.
///
/// # Errors
/// None that a change of the applications does not bring.
pub fn conformance(subject: &impl Subject, told: impl FnMut(&Case)) -> Result<Vec<Case>> {
    conformance_picked(subject, &mut Pick::all(), told)
}

/// [`conformance`] as far as its cases are picked.
///
/// # Errors
/// As [`conformance`].
pub fn conformance_picked(
    subject: &impl Subject,
    pick: &mut Pick<'_>,
    mut told: impl FnMut(&Case),
) -> Result<Vec<Case>> {
    let rock = Medium::granite(0.8).stencil::<f32>()?;
    let mut cases = conformance_of(subject, "edge f32", &edge::stencil(), pick, &mut told);
    macro_rules! each {
        ($($name:literal: $stencil:expr;)*) => {
            $(cases.extend(conformance_of(subject, $name, &$stencil, pick, &mut told));)*
        };
    }
    each! {
        "hyperthermia f32": <f32 as Warms>::stencil();
        "himeno f32": <f32 as Relaxes>::stencil();
        "tricubic f32": <f32 as Moves>::stencil();
        "swim f64": swim::stencil::<f64>();
        "seismic f32": rock.clone();
        "seismic f32 from sources": sounded(rock);
    }
    Ok(cases)
}
