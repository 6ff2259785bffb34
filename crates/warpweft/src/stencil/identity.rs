//! What a computation is, as text and as a short hash: ranks compare it before they begin, and
//! checkpoints before they are resumed.

use sha2::{Digest, Sha256};

use super::spec::Spec;
use super::stage::Stage;
use crate::element::Unit;
use crate::grid::across;

/// Everything that a stage computes: its code and footprint, and its parameters if asked for.
pub(super) fn code<const D: usize>(stage: &dyn Stage<D>, parameters: bool) -> String {
    let mut unit = Unit::new();
    let functor = stage.cuda(&mut unit);
    let mut text = format!("{functor}\n{:?}\n{:?}\n", stage.taps(), stage.writes());
    if parameters {
        text += &stage.parameters_text(&mut unit);
    }
    text + &unit.source()
}

/// The first 16 hexadecimal digits of the text's SHA-256.
pub(crate) fn short_hash(text: &str) -> String {
    let hash = Sha256::digest(text);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl<const D: usize> Spec<D> {
    /// What is computed over `extents`: names to read and a hash of code, parameters, fields and
    /// boundaries. Not part of it: for how long, and on what.
    pub(crate) fn identity(&self, extents: [usize; D]) -> String {
        let names: Vec<_> = self.stages.iter().map(|stage| stage.name()).collect();
        let codes: Vec<_> = self.stages.iter().map(|stage| code(&**stage, true)).collect();
        let fields: Vec<_> =
            self.cell.fields().iter().map(|field| (field.name, field.kind)).collect();
        let mut all =
            format!("{codes:?} {fields:?} {:?} {:?}", self.boundaries, self.points.sources);
        for (_, _, function) in self.function_faces() {
            let mut unit = Unit::new();
            let (name, values) = (function.cuda(&mut unit), function.parameters_text(&mut unit));
            all += &format!("{name}\n{values}\n{}", unit.source());
        }
        let mut kinds: Vec<_> = self.cell.fields().iter().map(|field| field.kind.name()).collect();
        kinds.dedup();
        let cells = match self.cell.len() {
            1 => kinds.join(""),
            fields => format!("{fields} fields of {}", kinds.join(", ")),
        };
        let name = self.name.clone().unwrap_or_else(|| names.join(" + "));
        format!("{name} of {cells} over {} ({})", across(&extents), short_hash(&all))
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[stencil]
    fn decay(u: Near<f32, 1>, rate: f32) -> f32 {
        rate * u[[0]] + u[[1]]
    }

    #[boundary]
    fn tide(at: [i64; 1], step: u64, rate: f32) -> f32 {
        rate * (at[0] as f32 + step as f32)
    }

    #[test]
    fn parameters_boundaries_and_extents_tell_computations_apart() {
        let of = |rate| Stencil::of(decay(rate)).boundary(Boundary::Periodic);
        let one = of(0.5).identity([8]);
        assert!(one.starts_with("decay of f32 over 8 ("), "{one}");
        let named = of(0.5).named("half-life").identity([8]);
        assert_eq!(named, one.replace("decay", "half-life"));
        assert_eq!(one, of(0.5).until(crate::stencil::Residual::Max, 0.1).identity([8]));
        assert_ne!(one, of(0.25).identity([8]));
        assert_ne!(one, of(0.5).identity([9]));
        assert_ne!(one, of(0.5).boundary(Boundary::Neumann).identity([8]));
        let by = |rate| of(0.5).boundary_by(tide(rate)).identity([8]);
        assert_eq!(by(1.0), by(1.0));
        assert_ne!(by(1.0), by(2.0));
    }
}
