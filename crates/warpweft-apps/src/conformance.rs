//! The applications of several fields on every executor, bit for bit what the reference computes.

use warpweft::Result;
use warpweft::stencil::conformance::{Case, Subject, conformance_of};

use crate::himeno::Relaxes;
use crate::hyperthermia::Warms;
use crate::seismic::Medium;
use crate::tricubic::Moves;
use crate::{edge, swim};

/// Runs each application in every setting and way of `subject`; `told` hears of every case as it ends.
///
/// # Errors
/// None that a change of the applications does not bring.
pub fn conformance(subject: &impl Subject, mut told: impl FnMut(&Case)) -> Result<Vec<Case>> {
    let rock = Medium::granite(0.8).stencil::<f32>()?;
    let mut cases = conformance_of(subject, "edge f32", &edge::stencil(), &mut told);
    macro_rules! each {
        ($($name:literal: $stencil:expr;)*) => {
            $(cases.extend(conformance_of(subject, $name, &$stencil, &mut told));)*
        };
    }
    each! {
        "hyperthermia f32": <f32 as Warms>::stencil();
        "himeno f32": <f32 as Relaxes>::stencil();
        "tricubic f32": <f32 as Moves>::stencil();
        "swim f64": swim::stencil::<f64>();
        "seismic f32": rock;
    }
    Ok(cases)
}
