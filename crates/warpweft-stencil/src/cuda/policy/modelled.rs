//! Which kernels a run on a GPU has when nothing was tuned: single steps at once, and those of several steps that the
//! model expects to be fastest. The run tries each when it is there.

use super::kernels::{Compile, Kernels};
use super::rings::ring_fits;
use crate::cuda::resident::for_volume;
use crate::cuda::temporal::{takes_parts, temporal_shapes};
use crate::cuda::text::layout_of;
use crate::{CudaPolicy, Spec};
use warpweft_core::grid::Axes;

/// Kernels of several steps that are tried.
const TRIED: usize = 4;
/// Seconds of single steps from which on it pays to compile another kernel, which takes 1.5 s: for this run or later ones.
const WORTH: f64 = 0.5;
/// Seconds from which on it pays to compile all that are to be tried.
const LONG: f64 = 2.0;
/// Bytes a second that a GPU copies, where that was not measured: an H200's.
const COPY: f64 = 4.0e12;
/// Seconds of a launch in a graph.
const LAUNCH: f64 = 6e-7;

/// What is known of a run before it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Compute capability and multiprocessors.
    pub device: ((u32, u32), u32),
    /// Bytes a second that it copies, if that was measured.
    pub copy: Option<f64>,
    /// Cores, of which all but one may compile.
    pub cores: usize,
    /// Steps that are to be taken; the most there are if that is not known.
    pub steps: u64,
    /// Steps that may be fused at most.
    pub free: u64,
    /// Whether the volume is all there is, so that its cells may stay on the chip.
    pub whole: bool,
}

impl Known {
    /// Whether cells may be packed: of a whole volume whose cells nobody writes between steps.
    fn packs(&self) -> bool {
        self.whole && self.steps < u64::MAX
    }
}

impl Kernels {
    /// The kernels for a run of `stencil` over `extents`.
    pub(crate) fn modelled(stencil: &Spec, extents: Axes<usize>, known: &Known) -> Self {
        let single = CudaPolicy::default_for(stencil, extents, known.device.0);
        let fits = |policy: &CudaPolicy| {
            u64::from(policy.temporal_depth) <= known.free.min(known.steps)
                && policy.shaped(stencil.rank()).is_ok_and(|shaped| shaped == *policy)
                && layout_of(stencil, extents, policy).is_ok()
                && ring_fits(stencil, extents, policy, known.device.0)
        };
        let on_chip = if known.whole { for_volume(stencil, extents, known.device) } else { vec![] };
        let mut fused: Vec<_> = on_chip.into_iter().filter(fits).take(TRIED).collect();
        if fused.is_empty() && (known.whole || takes_parts(stencil)) {
            let most = known.free.min(known.steps);
            let free = (TRIED, most);
            let shapes = temporal_shapes(stencil, extents, known.device, free, known.packs());
            fused = shapes.into_iter().filter(fits).collect();
        }
        let least = least_seconds(stencil, extents, known.copy);
        let threads = known.cores.saturating_sub(1).clamp(1, TRIED);
        let compile = match known.steps {
            u64::MAX => Compile::Eventually(threads),
            steps if steps as f64 * least > LONG => Compile::Meanwhile(threads),
            steps if steps as f64 * least > WORTH => Compile::Foremost,
            _ => Compile::Never,
        };
        Self { single, fused, compile, least }
    }

    /// One known policy, with single steps until it is compiled.
    pub(crate) fn known(
        stencil: &Spec,
        extents: Axes<usize>,
        policy: CudaPolicy,
        known: &Known,
    ) -> Self {
        match policy.kernel.fuses() {
            true => {
                let modelled = Self::modelled(stencil, extents, known);
                let single = CudaPolicy { contraction: policy.contraction, ..modelled.single };
                Self { single, fused: vec![policy], ..modelled }
            }
            false => Self::of(&policy),
        }
    }
}

/// Seconds that memory and launches leave a single step at least.
fn least_seconds(stencil: &Spec, extents: Axes<usize>, copy: Option<f64>) -> f64 {
    let cells: usize = extents.iter().product();
    let bytes = (cells * stencil.step_bytes()) as f64;
    (bytes / copy.unwrap_or(COPY)).max(LAUNCH * stencil.stages.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::{CudaKernel, Stencil};

    #[stencil]
    fn flat(u: Near<f32, 2>) -> f32 {
        u[[0, 0]] + 0.1 * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]])
    }

    #[stencil]
    fn deep(u: Near<f32, 3>) -> f32 {
        u[[0, 0, 0]] + 0.1 * (u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 0, 1]])
    }

    #[stencil]
    fn seven(u: Near<f32, 3>) -> f32 {
        let below = u[[-1, 0, 0]] + u[[0, -1, 0]] + u[[0, 0, -1]];
        u[[0, 0, 0]] + 0.1 * (below + u[[0, 0, 1]] + u[[0, 1, 0]] + u[[1, 0, 0]])
    }

    #[stencil]
    fn line(u: Near<f32, 1>) -> f32 {
        0.5 * (u[[-1]] + u[[1]])
    }

    #[stencil]
    fn share(u: Near<i32, 2>, by: i32) -> i32 {
        u[[-1, 0]] / by + u[[0, 1]]
    }

    const KNOWN: Known = Known {
        device: ((9, 0), 132),
        copy: None,
        cores: 16,
        steps: 100_000,
        free: u64::MAX,
        whole: true,
    };

    fn kinds(kernels: &Kernels) -> Vec<CudaKernel> {
        kernels.fused.iter().map(|policy| policy.kernel).collect()
    }

    #[test]
    fn long_runs_of_large_volumes_fuse_steps_and_small_ones_stay_on_the_chip() {
        let stencil = Stencil::of(flat()).into_spec();
        let large = Kernels::modelled(&stencil, [16384, 16384].into(), &KNOWN);
        assert_eq!(kinds(&large), [CudaKernel::Temporal; 4]);
        assert_eq!(
            (large.single.kernel, large.compile),
            (CudaKernel::Direct, Compile::Meanwhile(4))
        );
        let small = Kernels::modelled(&stencil, [1024, 1024].into(), &KNOWN);
        assert!(kinds(&small).iter().all(|&kind| kind == CudaKernel::Resident), "{small:?}");
        let part =
            Kernels::modelled(&stencil, [1024, 1024].into(), &Known { whole: false, ..KNOWN });
        assert!(kinds(&part).iter().all(|&kind| kind == CudaKernel::Temporal), "{part:?}");
    }

    #[test]
    fn short_runs_compile_nothing_more_and_fuse_no_more_steps_than_they_may() {
        let stencil = Stencil::of(deep()).into_spec();
        let of = |steps, free| {
            Kernels::modelled(&stencil, [768; 3].into(), &Known { steps, free, ..KNOWN })
        };
        assert_eq!(of(100, u64::MAX).compile, Compile::Never);
        assert_eq!(of(800, u64::MAX).compile, Compile::Foremost);
        assert_eq!(of(u64::MAX, u64::MAX).compile, Compile::Eventually(4), "a session");
        let deepest = |kernels: Kernels| {
            kernels.fused.iter().map(|policy| policy.temporal_depth).max().unwrap_or(0)
        };
        assert_eq!(deepest(of(100_000, 2)), 2);
        assert!(deepest(of(100_000, u64::MAX)) > 2);
    }

    #[test]
    fn of_shapes_that_compute_alike_the_one_of_most_steps_goes_first() {
        // By what halves of 1024³ cells took on two H100s: ranks take the first alone.
        let stencil = Stencil::of(seven()).into_spec();
        let part = Known { whole: false, ..KNOWN };
        let first = Kernels::modelled(&stencil, [512, 1024, 1024].into(), &part).fused[0];
        assert_eq!((first.cells, first.warps, first.temporal_depth), ([2, 4, 1], 12, 6));
    }

    #[test]
    fn kernels_that_may_take_over_share_one_layout() {
        let stencil = Stencil::of(flat()).boundary(Boundary::Periodic).into_spec();
        let extents = [4096, 4096].into();
        let kernels = Kernels::modelled(&stencil, extents, &Known { whole: false, ..KNOWN });
        let planned = kernels.planned(&stencil, extents, u64::MAX).unwrap();
        let deepest = kernels.fused.iter().map(|policy| policy.temporal_depth).max().unwrap();
        assert_eq!(planned.layout.ghosts[3], [deepest as usize; 2]);
        assert!(planned.fuses && planned.fused.len() == kernels.fused.len());
        // Where there is no room for the second arrays, single steps go on alone.
        let planned = kernels.planned(&stencil, extents, 1 << 20).unwrap();
        assert!(planned.fused.is_empty() && planned.note.is_some());
    }

    #[test]
    fn steps_that_parts_can_not_fuse_are_fused_in_whole_volumes_alone() {
        for whole in [true, false] {
            let known = Known { whole, ..KNOWN };
            let fuses = |stencil: &Spec, extents: Axes<usize>| {
                !Kernels::modelled(stencil, extents, &known).fused.is_empty()
            };
            assert_eq!(fuses(&Stencil::of(line()), [1 << 26].into()), whole);
            assert_eq!(fuses(&Stencil::of(share(3)), [8192; 2].into()), whole);
            assert!(fuses(&Stencil::of(flat()), [8192; 2].into()));
        }
    }
}
