//! Under what name tuned policies of a stencil are kept.

use super::boundary::Boundary;
use super::spec::Stencil;
use crate::element::Fields;
use crate::machine::Machine;

/// The key of a problem on `device` of `machine`: everything that a policy's speed depends on.
pub(super) fn key<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    extents: [usize; D],
    machine: &Machine,
    device: &str,
) -> String {
    let stages: Vec<_> = stencil
        .stages
        .iter()
        .map(|stage| {
            let radius = stage.radius();
            format!("{} {} taps {radius:?}", stage.name(), stage.taps().len())
        })
        .collect();
    let fields: Vec<_> = S::FIELDS.iter().map(|field| field.kind.name()).collect();
    let faces: Vec<_> = stencil.boundaries.0.iter().flatten().map(|&face| kind(face)).collect();
    let until = if stencil.until.is_some() { ", until" } else { "" };
    format!(
        "stencil: {} of {} over {extents:?}, {}{until}; {device}; {}",
        stages.join(" + "),
        fields.join(" "),
        faces.join(" "),
        machine.fingerprint()
    )
}

/// A boundary without its value, which costs nothing.
fn kind(boundary: Boundary) -> &'static str {
    match boundary {
        Boundary::Periodic => "periodic",
        Boundary::Dirichlet(_) => "dirichlet",
        Boundary::Neumann => "neumann",
        Boundary::Mirror => "mirror",
    }
}
