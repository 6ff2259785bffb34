//! Under what name tuned policies of a stencil are kept.

use super::boundary::Boundary;
use super::identity::{code, short_hash};
use super::spec::Spec;
use crate::machine::{Gpu, Machine};

/// The key of a problem on `device` of `machine`: everything that a policy's speed depends on.
pub(super) fn key<const D: usize>(
    stencil: &Spec<D>,
    extents: [usize; D],
    machine: &Machine,
    device: &str,
) -> String {
    let stages: Vec<_> = stencil
        .stages
        .iter()
        .map(|stage| {
            let radius = stage.radius();
            // Two elements of one name and shape must not take each other's entries.
            let hash = short_hash(&code(&**stage, false));
            format!("{} {} taps {radius:?} {hash}", stage.name(), stage.taps().len())
        })
        .collect();
    let fields: Vec<_> = stencil.cell.fields().iter().map(|field| field.kind.name()).collect();
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
        Boundary::Function => "function",
    }
}

/// What the wisdom of runs on all of `gpus` calls them.
pub(super) fn label(gpus: &[&Gpu]) -> String {
    gpus.iter().map(|gpu| gpu.label()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{DeviceType, Fields, Near, Unchecked, Unit};
    use crate::stencil::{Stencil, StencilElement, Tap};

    /// Two elements of one name, told apart by `FAR` and by their text.
    #[derive(Clone, Copy)]
    struct Same<const FAR: isize>;

    // SAFETY: TAPS lists the offsets read, and the struct has no members.
    unsafe impl<const FAR: isize> StencilElement<2> for Same<FAR> {
        type State = f32;
        const NAME: &'static str = "Same";
        const TAPS: &'static [Tap<2>] =
            &[Tap { field: 0, offset: [0, FAR] }, Tap { field: 0, offset: [1, 1] }];
        const WRITES: &'static [usize] = &[0];
        fn cell(&self, u: Near<'_, f32, 2>, next: &mut f32) {
            *next = u[[0, FAR]] + u[[1, 1]];
        }
        unsafe fn cell_unchecked(
            &self,
            u: <f32 as Fields>::Near<'_, Unchecked<2>, 2>,
            next: &mut f32,
        ) {
            *next = u[[0, FAR]] + u[[1, 1]];
        }
        fn cuda(unit: &mut Unit) -> String {
            <f32 as DeviceType>::cuda(unit)
        }
    }

    #[test]
    fn elements_of_one_name_and_shape_have_keys_of_their_own() {
        let machine = Machine::detect().unwrap();
        let of = |stencil: &Stencil<f32, 2>| key(stencil, [8, 8], &machine, "4 threads");
        let [a, b] = [Stencil::of(Same::<0>), Stencil::of(Same::<1>)];
        assert_eq!(a.radius(), b.radius());
        assert_ne!(of(&a), of(&b));
        assert_eq!(of(&a), of(&a.clone()));
    }
}
