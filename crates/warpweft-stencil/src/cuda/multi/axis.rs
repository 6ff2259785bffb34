//! Which axis GPUs of one process are cut across: pure functions of what slabs read of one another.

use super::policy::MultiCudaPolicy;
use crate::Spec;
use crate::distribute::ghost_bytes_across;
use crate::turn::Turn;
use warpweft_core::grid::axis_name;

/// Bytes that a GPU moves through its memory in the time that its link takes for one: 4 TB/s and
/// 0.37 on an H200.
const LINK: f64 = 10.0;
/// The part of a step's time that reading less must save before an untuned run turns its volume.
const MARGIN: f64 = 0.1;
/// Another axis is worth measuring where slabs across it read so much less.
const LESS: f64 = 0.8;

/// What slabs across an axis come to.
#[derive(Clone, Copy, Debug)]
struct Across {
    axis: usize,
    /// Ghost bytes that a slab between two others receives for one step.
    bytes: f64,
}

/// What slabs of `parts` GPUs across `axis` read, if they can be cut so.
fn across<const D: usize>(
    stencil: &Spec<D>,
    extents: [usize; D],
    parts: usize,
    axis: usize,
) -> Option<Across> {
    let turned = Turn::across(axis).is_ok_and(|turn| turn.check(stencil).is_ok());
    let bytes = ghost_bytes_across(stencil, extents, axis, parts)?;
    (turned && parts <= most(stencil, extents, axis)).then_some(Across { axis, bytes })
}

/// So many slabs there can be across an axis (`cut::slabs`).
fn most<const D: usize>(stencil: &Spec<D>, extents: [usize; D], axis: usize) -> usize {
    let [below, above] = stencil.radius()[axis];
    (extents[axis] / (below.max(above) + 1)).max(1)
}

impl MultiCudaPolicy {
    /// The axis that `parts` GPUs are cut across unless told otherwise: the slowest that has room for so
    /// many slabs, or the one across which slabs read so much less of one another that a step takes clearly
    /// less time. PARTANS (§6.5) cuts the largest axis, or across the fewest dependences.
    pub fn axis_for<const D: usize>(stencil: &Spec<D>, extents: [usize; D], parts: usize) -> usize {
        Self::axes_tried(stencil, extents, parts).first().copied().unwrap_or(0)
    }

    /// The axes worth cutting across, the one to begin with first: the slowest that can be cut, unless slabs across
    /// the one that reads least would save a clear part of a step's time; and that one or the slowest after it, if
    /// the two differ.
    pub(crate) fn axes_tried<const D: usize>(
        stencil: &Spec<D>,
        extents: [usize; D],
        parts: usize,
    ) -> Vec<usize> {
        let of_axis = |axis| across(stencil, extents, parts, axis);
        let all: Vec<Across> = (0..D).filter_map(of_axis).collect();
        let least = all.iter().copied().min_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let (Some(slowest), Some(least)) = (all.first().copied(), least) else {
            // Refused, and the most GPUs that any axis has room for are named.
            let longest = (0..D).rev().max_by_key(|&axis| most(stencil, extents, axis));
            return vec![longest.unwrap_or(0)];
        };
        if least.bytes > LESS * slowest.bytes || parts < 2 {
            return vec![slowest.axis];
        }
        let step = stencil.step_bytes() as f64 * extents.iter().product::<usize>() as f64;
        let saved = LINK * (slowest.bytes - least.bytes);
        match saved > MARGIN * step / parts as f64 {
            true => vec![least.axis, slowest.axis],
            false => vec![slowest.axis, least.axis],
        }
    }

    /// Which axis `parts` GPUs are cut across and why, unless it is the slowest.
    pub(crate) fn told_of_axis<const D: usize>(
        &self,
        stencil: &Spec<D>,
        extents: [usize; D],
        parts: usize,
    ) -> Option<String> {
        let [cut, slowest] = [self.axis, 0].map(|axis| axis_name(axis, D));
        let of_axis = |axis| across(stencil, extents, parts, axis);
        let why = match (of_axis(0), of_axis(self.axis)) {
            _ if self.axis == 0 => return None,
            (None, _) => format!(", as {slowest} has no room for {parts} slabs"),
            (Some(slow), Some(own)) if own.bytes == 0.0 && slow.bytes > 0.0 => {
                format!(", where a step reads nothing of other GPUs; across {slowest} it does")
            }
            (Some(slow), Some(own)) if slow.bytes > own.bytes => {
                let much = slow.bytes / own.bytes;
                format!(": across {slowest} a step reads {much:.1} times as much of other GPUs")
            }
            _ => String::new(),
        };
        Some(format!("the volume is cut across {cut}{why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[stencil]
    fn star(u: Near<f32, 3>) -> f32 {
        let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]];
        around + u[[0, 0, -1]] + u[[0, 0, 1]]
    }

    #[stencil]
    fn rising(u: Near<f32, 3>) -> f32 {
        u[[-8, 0, 0]] + u[[8, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -2]] + u[[0, 0, 2]]
    }

    #[stencil]
    fn lopsided(u: Near<f32, 2>) -> f32 {
        0.5 * u[[3, 0]] + 0.25 * (u[[-3, 0]] + u[[0, 1]])
    }

    #[stencil]
    fn slant(u: Near<f32, 3>) -> f32 {
        u[[0, 0, 1]] + u[[-1, 1, 0]] + u[[0, 0, -1]]
    }

    #[test]
    fn cubes_are_cut_across_the_slowest_axis_and_nothing_else_is_tried() {
        let star = Stencil::of(star());
        for parts in 1..=8 {
            assert_eq!(MultiCudaPolicy::axes_tried(&star, [512; 3], parts), [0]);
        }
        // A little longer is no reason to turn it.
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [480, 512, 512], 4), [0]);
    }

    #[test]
    fn an_axis_without_room_for_the_slabs_gives_way_to_the_next() {
        let star = Stencil::of(star());
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [2, 4096, 4096], 1), [0]);
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [2, 4096, 4096], 4), [1]);
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [2, 3, 4096], 4), [2]);
        // Nobody has room: the refusal names the most there can be.
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [4, 6, 5], 4), [1]);
        assert_eq!(MultiCudaPolicy::axes_tried(&Stencil::of(rising()), [30, 64, 64], 4)[0], 1);
    }

    #[test]
    fn an_axis_that_reads_much_less_comes_first_and_one_that_reads_less_is_tried() {
        let rising = Stencil::of(rising());
        assert_eq!(MultiCudaPolicy::axes_tried(&rising, [512; 3], 4), [1, 0]);
        let star = Stencil::of(star());
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [64, 512, 512], 4), [1, 0]);
        assert_eq!(MultiCudaPolicy::axes_tried(&star, [512, 512, 1024], 2), [0, 2]);
        let lopsided = Stencil::of(lopsided()).boundary(Boundary::Periodic);
        assert_eq!(MultiCudaPolicy::axes_tried(&lopsided, [4096, 4096], 2), [0, 1]);
        assert_eq!(MultiCudaPolicy::axes_tried(&lopsided, [64, 64], 4), [1, 0]);
    }

    #[test]
    fn an_axis_that_would_decide_other_corners_is_not_taken() {
        let stencil = |high: f64| {
            let stencil = Stencil::of(slant()).boundary(Boundary::Dirichlet(0.0));
            stencil.face(1, Face::High, Boundary::Dirichlet(high))
        };
        assert_eq!(MultiCudaPolicy::axes_tried(&stencil(0.0), [2, 64, 64], 4), [1]);
        assert_eq!(MultiCudaPolicy::axes_tried(&stencil(1.0), [2, 64, 64], 4), [2]);
    }

    #[test]
    fn the_report_says_which_axis_it_was_and_why() {
        use crate::{CudaKernel, CudaPolicy, Exchange};
        let cuda = CudaPolicy {
            kernel: CudaKernel::Direct,
            cells: [4, 2, 2],
            warps: 8,
            min_blocks: 1,
            chunk: 0,
            prefetch: 0,
            phases: 0,
            temporal_depth: 1,
            contraction: false,
        };
        let across = |axis| MultiCudaPolicy { axis, ..MultiCudaPolicy::new(cuda, Exchange::Flags) };
        let lopsided = Stencil::of(lopsided()).boundary(Boundary::Periodic);
        assert_eq!(across(0).told_of_axis(&lopsided, [64, 64], 4), None);
        let told = across(1).told_of_axis(&lopsided, [64, 64], 4).unwrap();
        assert_eq!(
            told,
            "the volume is cut across x: across y a step reads 6.0 times as much of other GPUs"
        );
        let told = across(1).told_of_axis(&Stencil::of(star()), [2, 4096, 4096], 4).unwrap();
        assert_eq!(told, "the volume is cut across y, as z has no room for 4 slabs");
        // What was kept before the axis was a tunable is across the slowest.
        let mut kept = serde_json::to_value(across(2)).unwrap();
        assert_eq!(kept["axis"], 2);
        kept.as_object_mut().unwrap().remove("axis");
        let kept: MultiCudaPolicy = serde_json::from_value(kept).unwrap();
        assert_eq!(kept, across(0));
    }
}
