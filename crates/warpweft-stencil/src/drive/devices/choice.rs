//! How a GPU computes a part: as tuning found for a volume of that size, as far as parts allow, or by
//! rule. Not: which GPU (`device`).

use crate::policy::{CudaKernel, CudaPolicy, Policy};
use crate::run::Run;
use crate::spec::Spec;
use crate::tune::tuning_cache::on_gpus;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, across};
use warpweft_core::tune::TuningCache;

/// A policy for parts, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub policy: CudaPolicy,
    /// Whether tuning found it.
    pub tuned: bool,
    /// Why what tuning found is not taken.
    pub note: Option<String>,
}

impl Choice {
    /// For parts of about the extents `part` of `stencil`, of whose steps at most `free` lie between two
    /// swaps, on a GPU of this compute capability; `known` is what tuning found for a volume like a part.
    pub fn of(
        stencil: &Spec,
        (part, capability): (Axes<usize>, (u32, u32)),
        known: Option<CudaPolicy>,
        free: usize,
    ) -> Self {
        let bar = known.and_then(|known| refusal(stencil, part, &known, free));
        match known.filter(|_| bar.is_none()) {
            Some(policy) => Self { policy, tuned: true, note: None },
            None => Self {
                policy: CudaPolicy::default_for(stencil, part, capability),
                tuned: false,
                note: bar.map(|why| {
                    format!("the tuned policy for {} cells is not used: {why}", across(&part))
                }),
            },
        }
    }
}

/// Why a GPU can't compute parts of about the extents `part` by `policy`, with at most `free` steps between two halo
/// exchanges; none if it can.
pub(crate) fn refusal(
    stencil: &Spec,
    part: Axes<usize>,
    policy: &CudaPolicy,
    free: usize,
) -> Option<String> {
    match policy.kernel {
        kernel if whole_only(kernel).is_some() => whole_only(kernel).map(Into::into),
        _ if fused_steps(policy) > free => Some(format!(
            "it takes {} fused steps, and halo exchanges, checks or checkpoints are at most {free} apart",
            fused_steps(policy)
        )),
        _ => policy.check(stencil, part).err().map(|error| error.to_string()),
    }
}

/// Why a kernel computes whole volumes only, if it does.
const fn whole_only(kernel: CudaKernel) -> Option<&'static str> {
    match kernel {
        CudaKernel::Resident => {
            Some("its persistent kernel can't exchange halos with other devices")
        }
        CudaKernel::Packed => {
            Some("its kernel with packed cells needs the whole volume on one GPU")
        }
        _ => None,
    }
}

/// Refuses the policy that a run names for a GPU, if no part of a volume can be computed by it.
///
/// # Errors
/// Its kernel computes whole volumes only.
pub(crate) fn check_for_parts(named: Option<Policy>) -> Result<()> {
    let Some(Policy::Cuda(CudaPolicy { kernel, .. })) = named else { return Ok(()) };
    whole_only(kernel).map_or(Ok(()), |why| {
        Err(Error::spec(
            format!("a policy for part of a volume with the kernel `{kernel:?}`: {why}"),
            "take `Direct`, `Planes` or `Temporal`, or run on one GPU alone",
        ))
    })
}

/// How a GPU computes next to the cores, and the cells a second that tuning measured of it.
pub(crate) struct OnGpu {
    /// A part.
    pub choice: Choice,
    /// Of a part's policy, if that was measured.
    pub rate: Option<f64>,
    /// Of the GPU alone, where that runs what no part can: tiles that stay on the chip.
    pub alone: Option<f64>,
}

impl OnGpu {
    /// As `run` says, as `cache` has it under `key` for the whole of `extents`, or by rule.
    pub fn of(
        stencil: &Spec,
        (extents, capability): (Axes<usize>, (u32, u32)),
        (cache, key): (&TuningCache, &str),
        run: &Run<'_>,
    ) -> Self {
        if let Some(Policy::Cuda(policy)) = run.policy {
            let choice = Choice { policy, tuned: false, note: None };
            return Self { choice, rate: None, alone: None };
        }
        let known: Option<CudaPolicy> = on_gpus(cache, key);
        let measured = cache.get(key).map(|entry| entry.rate);
        let free = stencil.longest_swap(usize::MAX, run.checkpoint.map(|at| at.every));
        let choice = Choice::of(stencil, (extents, capability), known, free);
        let stays = known.is_some_and(|known| {
            known.kernel == CudaKernel::Resident && known.check(stencil, extents).is_ok()
        });
        let rate = measured.filter(|_| choice.tuned);
        Self { choice, rate, alone: measured.filter(|_| stays) }
    }
}

/// Steps that `policy` takes in one pass over memory where there are as many.
pub(crate) fn fused_steps(policy: &CudaPolicy) -> usize {
    match policy.kernel {
        CudaKernel::Temporal => policy.temporal_depth.max(1) as usize,
        _ => 1,
    }
}

/// `policy`, tuned for `part`, for the same with its ghost zone: no more layers of chunks than before, the last
/// of which would be a few planes.
pub(crate) fn fitted(policy: CudaPolicy, part: Axes<usize>, zone: Axes<usize>) -> CudaPolicy {
    let dims = part.rank();
    let streamed = dims.saturating_sub(3);
    let chunk = policy.chunk as usize * zone[streamed].max(part[streamed]);
    let chunk = chunk.div_ceil(part[streamed].max(1));
    CudaPolicy { chunk: u32::try_from(chunk).unwrap_or(policy.chunk), ..policy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{Near, stencil};
    use crate::tune::tuning_cache::{key, on_a_gpu};
    use crate::{Boundary, Stencil};
    use warpweft_core::machine::Machine;
    use warpweft_core::tune::{Entry, Measured};

    #[stencil]
    fn mean(u: Near<f32, 3>) -> f32 {
        0.5 * (u[[-1, 0, 0]] + u[[1, 0, 0]])
    }

    const PART: [usize; 3] = [1024, 1024, 1024];
    /// A volume that fits on the chip.
    const SMALL: [usize; 3] = [128; 3];
    const HOPPER: (u32, u32) = (9, 0);

    /// Fused steps, so many a pass.
    fn fused(temporal_depth: u32) -> CudaPolicy {
        let stencil = Stencil::of(mean());
        let all = CudaPolicy::candidates(&stencil, PART.into(), (HOPPER, 132));
        let fused = all.into_iter().find(|policy| policy.kernel == CudaKernel::Temporal).unwrap();
        CudaPolicy { temporal_depth, ..fused }
    }

    #[test]
    fn a_tuned_policy_is_taken_where_halo_exchanges_leave_room_for_its_fused_steps() {
        let (stencil, machine) = (Stencil::of(mean()), Machine::detect().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut cache = TuningCache::open(folder.path());
        let measured = Measured { median: 0.5, least: 0.5, runs: 1 };
        let policy = serde_json::to_value(fused(3)).unwrap();
        let of = |extents| key(&stencil, extents, &machine, "NVIDIA H200");
        cache.keep(&of(PART.into()), Entry { policy, measured, rate: 1.0, tried: 1 }).unwrap();
        let choice = |extents, free| {
            // A launcher leaves the rank one of the machine's cores.
            let mut bound = machine.clone();
            bound.cpu.cores.truncate(1);
            let known = on_a_gpu(&cache, &stencil, extents, &bound, "NVIDIA H200");
            Choice::of(&stencil, (extents, HOPPER), known, free)
        };
        let found = Choice { policy: fused(3), tuned: true, note: None };
        assert_eq!([3, 16].map(|free| choice(PART.into(), free)), [found.clone(), found]);
        let by_rule = CudaPolicy::default_for(&stencil, PART.into(), HOPPER);
        let told = choice(PART.into(), 2);
        assert_eq!((told.policy, told.tuned), (by_rule, false));
        let note = told.note.unwrap();
        assert!(note.contains("takes 3 fused steps") && note.contains("at most 2"), "{note}");
        assert_eq!(on_a_gpu(&cache, &stencil, PART.into(), &machine, "NVIDIA H2"), None);
        // Of another size nothing is known, of one process as of ranks.
        let other = choice([1024, 1024, 512].into(), 16);
        assert_eq!((other.tuned, other.note), (false, None));
    }

    #[test]
    fn tiles_that_stay_on_the_chip_are_for_whole_volumes() {
        let stays = CudaPolicy { kernel: CudaKernel::Resident, ..fused(2) };
        let told = Choice::of(&Stencil::of(mean()), (PART.into(), HOPPER), Some(stays), 16);
        assert_eq!((told.tuned, fused_steps(&told.policy)), (false, 1));
        let note = told.note.unwrap();
        assert!(
            note.contains("for 1024 x 1024 x 1024 cells") && note.contains("persistent kernel"),
            "{note}"
        );
    }

    #[test]
    fn a_named_policy_for_parts_is_refused_if_its_kernel_needs_the_whole_volume() {
        let named = |kernel| Some(Policy::Cuda(CudaPolicy { kernel, ..fused(2) }));
        for kernel in [CudaKernel::Resident, CudaKernel::Packed] {
            let error = check_for_parts(named(kernel)).unwrap_err().to_string();
            assert!(error.contains("part of a volume") && error.contains("help:"), "{error}");
        }
        for kernel in [CudaKernel::Direct, CudaKernel::Planes, CudaKernel::Temporal] {
            check_for_parts(named(kernel)).unwrap();
        }
        check_for_parts(None).unwrap();
    }

    #[stencil]
    fn at_most(u: Near<f32, 3>, times: u32) -> f32 {
        let mut sum = u[[-1, 0, 0]];
        let mut n = 0;
        while n < times && sum < 1.0 {
            sum += u[[2, 0, 0]];
            n += 1;
        }
        sum
    }

    #[test]
    fn kernels_that_a_function_may_not_have_are_not_taken() {
        // A loop, read unevenly far along an axis whose faces copy cells.
        let stencil = Stencil::of(at_most(3)).boundary(Boundary::Mirror);
        let told = Choice::of(&stencil, (PART.into(), HOPPER), Some(fused(2)), 16);
        assert_eq!((told.tuned, fused_steps(&told.policy)), (false, 1));
        assert!(told.note.unwrap().contains("several fused steps of this stencil"));
    }

    #[test]
    fn a_part_is_predicted_by_the_rate_of_what_it_runs_and_tiles_that_stay_are_the_gpus_alone() {
        let stencil = Stencil::of(mean());
        let folder = tempfile::tempdir().unwrap();
        let of = |kernel, asked| {
            let mut cache = TuningCache::open(folder.path());
            let policy = CudaPolicy::candidates(&stencil, SMALL.into(), (HOPPER, 132))
                .into_iter()
                .find(|policy| policy.kernel == kernel);
            let policy = serde_json::to_value(policy.unwrap()).unwrap();
            let measured = Measured { median: 0.5, least: 0.5, runs: 1 };
            cache.keep("a", Entry { policy, measured, rate: 7e11, tried: 1 }).unwrap();
            let run = Run { policy: asked, ..Run::default() };
            let found = OnGpu::of(&stencil, (SMALL.into(), HOPPER), (&cache, "a"), &run);
            (found.choice.tuned, found.rate, found.alone)
        };
        assert_eq!(of(CudaKernel::Resident, None), (false, None, Some(7e11)));
        assert_eq!(of(CudaKernel::Temporal, None), (true, Some(7e11), None));
        // Of what is asked for nothing was measured.
        let asked = Some(Policy::Cuda(fused(2)));
        assert_eq!(of(CudaKernel::Resident, asked), (false, None, None));
    }

    #[test]
    fn a_ghost_zone_adds_no_layer_of_chunks() {
        for (chunk, planes, ghosts) in [(128, 1024, 6), (192, 1024, 16), (1, 8, 3), (1024, 1024, 1)]
        {
            let (part, zone) = ([planes, 8, 8], [planes + ghosts, 8, 8]);
            let policy = fitted(CudaPolicy { chunk, ..fused(3) }, part.into(), zone.into());
            let layers = |planes: usize, chunk: u32| planes.div_ceil(chunk as usize);
            assert!(layers(zone[0], policy.chunk) <= layers(part[0], chunk), "{policy:?}");
            assert_eq!(fitted(policy, part.into(), part.into()), policy);
        }
    }
}
