//! Under what name tuned policies of a stencil are kept, and what of older versions' is made of them.

use serde::de::DeserializeOwned;
use serde_json::Value;

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

/// The policy on GPUs that `cache` has under `key`. One kept before phases were a tunable has as many
/// as a search begins with now: all of them, as it had then, take three times as long to compile.
pub(crate) fn on_gpus<P: DeserializeOwned>(
    cache: &TuningCache,
    key: &str,
    stencil: &Spec,
) -> Option<P> {
    read(cache.get(key)?, stencil)
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
    read(cache.get(&here).or_else(|| cache.beginning(anywhere()?))?, stencil)
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

fn read<P: DeserializeOwned>(entry: &Entry, stencil: &Spec) -> Option<P> {
    let mut policy = entry.policy.clone();
    add_phases(&mut policy, CudaPolicy::first_phases(stencil));
    serde_json::from_value(policy).ok()
}

/// Adds the phases where a policy, alone or within another, has planes and none.
fn add_phases(policy: &mut Value, phases: u32) {
    let Some(fields) = policy.as_object_mut() else { return };
    if fields.get("kernel").is_some_and(|kernel| kernel == "planes") {
        fields.entry("phases").or_insert_with(|| phases.into());
    }
    fields.values_mut().for_each(|value| add_phases(value, phases));
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
    use serde_json::json;

    use super::*;
    use crate::{CudaKernel, Stencil, StencilElement, Tap};
    use warpweft_core::element::{DeviceType, Fields, Near, Unchecked, Unit};
    use warpweft_core::tune::Measured;

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
    fn what_was_kept_before_phases_were_tuned_has_those_of_today() {
        let stencil: &Spec = &Stencil::of(Same::<0>);
        let gpu = |kernel: &str, phases: Option<u32>| {
            let mut policy = json!({"kernel": kernel, "cells": [4, 2, 1], "warps": 16, "min_blocks": 1,
                "chunk": 96, "prefetch": 4, "temporal_depth": 1, "contraction": true});
            policy.as_object_mut().unwrap().extend(phases.map(|n| ("phases".into(), n.into())));
            policy
        };
        let read = |policy: Value| -> Option<CudaPolicy> {
            let folder = tempfile::tempdir().unwrap();
            let measured = Measured { median: 0.5, least: 0.5, runs: 1 };
            let mut cache = TuningCache::open(folder.path());
            cache.keep("a", Entry { policy, measured, rate: 1.0, tried: 1 }).unwrap();
            on_gpus(&cache, "a", stencil)
        };
        let phases = |policy| read(policy).unwrap().phases;
        assert_eq!(phases(gpu("planes", None)), 2);
        assert_eq!([0, 1].map(|n| phases(gpu("planes", Some(n)))), [0, 1]);
        // Others have no phases, or all of them by default.
        assert_eq!(phases(gpu("direct", None)), 0);
        for earlier in ["march", "pipeline"] {
            assert_eq!(read(gpu(earlier, None)), None, "a kernel of an earlier version");
        }
        let mut within = json!({"gpus": [0, 1], "policy": {"cuda": gpu("planes", None)}});
        add_phases(&mut within, 1);
        assert_eq!(within["policy"]["cuda"], gpu("planes", Some(1)));
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
