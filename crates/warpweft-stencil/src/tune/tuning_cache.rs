//! Under what name tuned policies of a stencil are kept.

use serde::de::DeserializeOwned;

use crate::policy::CudaPolicy;
use crate::spec::Spec;
use crate::spec::boundary::Boundary;
use crate::spec::identity::{code, short_hash};
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;
use warpweft_core::machine::{Gpu, Machine};
use warpweft_core::tune::{Entry, TuningCache};

/// The key of a problem on `device` of `machine`: everything that a policy's speed depends on.
pub(crate) fn key(stencil: &Spec, extents: Axes<usize>, machine: &Machine, device: &str) -> String {
    let stages: Vec<_> = stencil
        .stages
        .iter()
        .map(|stage| {
            let radius = stage.radius();
            // Two elements of one name and shape must not take each other's entries.
            let hash = short_hash(&code(&**stage));
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

/// The policy on GPUs that `cache` has under `key`.
pub(crate) fn on_gpus<P: DeserializeOwned>(cache: &TuningCache, key: &str) -> Option<P> {
    read(cache.get(key)?)
}

/// The policy of one GPU called `name` that `cache` has for volumes of these extents: of this machine, or
/// of any. A machine is told by its cores and GPUs, and a launcher binds ranks to some of those and may hide
/// others from them; what one GPU does best depends on neither.
pub(crate) fn on_a_gpu(
    cache: &TuningCache,
    stencil: &Spec,
    extents: Axes<usize>,
    machine: &Machine,
    name: &str,
) -> Option<CudaPolicy> {
    let here = key(stencil, extents, machine, name);
    let anywhere = || here.strip_suffix(&machine.fingerprint());
    read(cache.get(&here).or_else(|| cache.beginning(anywhere()?))?)
}

/// What tuning found, if `check` has nothing against it; else a note says what, and nothing was found.
pub(crate) fn usable<P>(
    found: Option<P>,
    notes: &mut Vec<String>,
    check: impl FnOnce(&P) -> Result<()>,
) -> Option<P> {
    let found = found?;
    match check(&found) {
        Ok(()) => Some(found),
        Err(error) => {
            notes.push(format!("what tuning is known to have found is not used: {error}"));
            None
        }
    }
}

fn read<P: DeserializeOwned>(entry: &Entry) -> Option<P> {
    serde_json::from_value(entry.policy.clone()).ok()
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

/// What the tuning cache for runs on all of `gpus` calls them.
pub(crate) fn label(gpus: &[&Gpu]) -> String {
    gpus.iter().map(|gpu| gpu.label()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CudaKernel, Stencil, StencilElement, Tap};
    use warpweft_core::element::{DeviceType, Fields, Near, Unchecked, Unit};

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
        fn cell(&self, u: Near<'_, f32, 2>, next: &mut f32, _: warpweft::stencil::Place<2>) {
            *next = u[[0, FAR]] + u[[1, 1]];
        }
        unsafe fn cell_unchecked(
            &self,
            u: <f32 as Fields>::Near<'_, Unchecked<2>, 2>,
            next: &mut f32,
            _: warpweft::stencil::Place<2>,
        ) {
            *next = u[[0, FAR]] + u[[1, 1]];
        }
        fn cuda(unit: &mut Unit) -> String {
            <f32 as DeviceType>::cuda(unit)
        }
    }

    #[test]
    fn a_kernel_that_a_function_may_not_have_is_passed_over_with_a_note() {
        const EXTENTS: [usize; 2] = [64, 64];
        let stencil: &Spec = &Stencil::of(Same::<0>);
        let of = |kernel| {
            let default = CudaPolicy::default_for(stencil, EXTENTS.into(), (9, 0));
            let kept = CudaPolicy { kernel, chunk: 48, prefetch: 2, temporal_depth: 2, ..default };
            let mut notes = Vec::new();
            let check = |policy: &CudaPolicy| policy.check(stencil, EXTENTS.into());
            (usable(Some(kept), &mut notes, check).is_some(), notes.join("; "))
        };
        assert_eq!(of(CudaKernel::Direct), (true, String::new()));
        // Tiles of such a shape can't be.
        let (taken, note) = of(CudaKernel::Temporal);
        assert!(!taken && note.contains("is not used: tiles of ["), "{note}");
    }

    #[test]
    fn elements_of_one_name_and_shape_have_keys_of_their_own() {
        let machine = Machine::detect().unwrap();
        let of = |stencil: &Stencil<f32, 2>| key(stencil, [8, 8].into(), &machine, "4 threads");
        let [a, b] = [Stencil::of(Same::<0>), Stencil::of(Same::<1>)];
        assert_eq!(a.radius(), b.radius());
        assert_ne!(of(&a), of(&b));
        assert_eq!(of(&a), of(&a.clone()));
    }
}
