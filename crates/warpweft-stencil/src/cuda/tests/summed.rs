//! Steps that sum up what they write.

use super::launch::launch_summed;
use super::*;
use crate::cuda::sums::Summand;
use crate::cuda::text::summed_text;
use crate::spec::reduction::{Reduce, Reduction};
use warpweft_core::cuda::{Options, compile, compiler};

/// What the cells of `region` come to.
fn sum_of<T: Scalar, const D: usize>(
    what: Reduce,
    volume: &Volume<T, D>,
    region: &Region,
) -> Reduction {
    let mut reduction = Reduction::default();
    for at in Span::from(*region).iter() {
        let value = volume.get(at.map(|n| n as usize).array()).unwrap();
        let bytes = value.to_f64().to_ne_bytes();
        reduction.take_bytes(what, [f64::KIND; 2], [&bytes, &bytes]);
    }
    reduction
}

/// All copies of an accumulator together.
fn merged(words: &[u64]) -> Reduction {
    let mut all = Reduction::default();
    words.chunks(Reduction::WORDS).for_each(|words| all.merge(&Reduction::from_words(words)));
    all
}

fn check_sums<T: Scalar, const D: usize>(
    element: impl StencilElement<D, State = T>,
    start: &Volume<T, D>,
    (what, cells): (Reduce, [u32; 3]),
) {
    let extents = start.extents();
    let stencil = Stencil::of(element).boundary(Boundary::Dirichlet(0.5));
    let policy = policy(CudaKernel::Direct, cells, 1);
    let summand = Summand { fields: [0, 0], dot: what == Reduce::Dot };
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for region in [Region::whole(extents.into()), regions(extents.into(), 1)[4]] {
        let asked = (&region, Some(summand));
        let Some((found, words)) =
            launch_summed::<T, D>(&stencil, start, &policy, asked, folder.path())
        else {
            return println!("skipped: no C++ compiler");
        };
        let inside = Span::from(region);
        let wanted = |at: Axes<isize>| Some(if inside.contains(at) { &expect } else { start });
        let bits = |volume: &Volume<T, D>, at: &Axes<isize>| {
            volume.get(at.map(|n| n as usize).array()).unwrap().to_f64().to_bits()
        };
        let all = Span::from(Region::whole(extents.into()));
        assert!(all.iter().all(|at| bits(&found, &at) == bits(wanted(at).unwrap(), &at)));
        let (found, expect) = (merged(&words).sum(), sum_of(what, &expect, &region).sum());
        assert!(
            found.to_bits() == expect.to_bits() || found.is_nan() && expect.is_nan(),
            "{found} for {expect}, {what:?} of {region:?} by {cells:?}"
        );
    }
}

#[test]
fn a_step_that_sums_up_has_the_bits_of_a_step_and_a_sum() {
    let flat_start = Volume::from_fn([9, 75], |[y, x]| ((y * 75 + x) as f32 * 0.7).sin());
    check_sums(flat(0.25), &flat_start, (Reduce::Sum, [4, 1, 2]));
    let mixed = |[z, y, x]: [usize; 3]| {
        let n = (z * 31 + y * 17 + x * 7) as f64;
        (n * 0.37).sin() * 2f64.powi((n as i32 * 13) % 40 - 20)
    };
    let deep_start = Volume::from_fn([5, 6, 75], mixed);
    check_sums(deep(0.25), &deep_start, (Reduce::Dot, [2, 2, 3]));
    // Numbers that no three places hold, and such as are none.
    let apart = |at: [usize; 3]| mixed(at) * if at[2].is_multiple_of(3) { 1e200 } else { 1e-120 };
    check_sums(deep(0.25), &Volume::from_fn([5, 6, 75], apart), (Reduce::Sum, [1, 3, 1]));
    let none = |at: [usize; 3]| if at == [3, 4, 40] { f64::NAN } else { mixed(at) };
    check_sums(deep(0.25), &Volume::from_fn([5, 6, 75], none), (Reduce::Dot, [2, 2, 3]));
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Vectors {
    x: f64,
    r: f64,
    p: f32,
    q: f64,
}

#[stencil]
fn update(now: Near<Vectors, 3>, next: &mut Vectors, alpha: f64) {
    next.x = now.x[[0, 0, 0]] + alpha * f64::from(now.p[[0, 0, 0]]);
    next.r = now.r[[0, 0, 0]] - alpha * now.r[[0, 0, 1]];
}

#[test]
fn steps_that_sum_up_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let number = crate::SessionScalar::from(0.5);
    let stencil = Stencil::of(update::with(number)).boundary(Boundary::Mirror).into_spec();
    let policy = policy(CudaKernel::Direct, [2, 1, 2], 8);
    // Written, read and unused fields.
    for fields in [[0, 1], [1, 2], [2, 3]] {
        let text = summed_text(&stencil, &policy, false, Summand { fields, dot: true }).unwrap();
        for arch in ["sm_80", "sm_90"] {
            compile(&text.source, "sums", arch, &Options::default()).unwrap();
        }
    }
}
