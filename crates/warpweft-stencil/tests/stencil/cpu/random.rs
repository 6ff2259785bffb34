//! The CPU executor against the reference, bit for bit, over random shapes and policies.

use std::sync::Arc;

use proptest::prelude::*;
use warpweft::cpu::{Pool, Simd};
use warpweft::element::{DeviceType, Fields, Near, Unchecked, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{
    CpuPolicy, CpuSweeps, StencilElement, SweepExecutor, Tap, reference, sweeps,
};

/// A weighted sum of neighbours, written out for one set of taps.
macro_rules! by_hand {
    ($name:ident, $t:ty, $d:literal, [$($offset:expr => $weight:expr),+ $(,)?]) => {
        #[derive(Clone, Copy)]
        struct $name;

        // SAFETY: TAPS lists the offsets read, and the struct has no members.
        unsafe impl StencilElement<$d> for $name {
            type State = $t;
            const NAME: &'static str = stringify!($name);
            const TAPS: &'static [Tap<$d>] = &[$(Tap { field: 0, offset: $offset }),+];
            const WRITES: &'static [usize] = &[0];
            fn cell(&self, u: Near<'_, $t, $d>, next: &mut $t, _: warpweft::stencil::Place<$d>) {
                *next = $($weight * u[$offset] +)+ (0 as $t);
            }
            #[inline(always)]
            unsafe fn cell_unchecked(
                &self,
                u: <$t as Fields>::Near<'_, Unchecked<$d>, $d>,
                next: &mut $t, _: warpweft::stencil::Place<$d>
            ) {
                *next = $($weight * u[$offset] +)+ (0 as $t);
            }
            fn cuda(unit: &mut Unit) -> String {
                <$t as DeviceType>::cuda(unit)
            }
        }
    };
}

by_hand!(Line, f64, 1, [[-1] => 0.25, [0] => 0.5, [2] => 0.25]);
by_hand!(Star2, f32, 2, [[-1, 0] => 0.2, [1, 0] => 0.2, [0, -1] => 0.2, [0, 2] => 0.2, [0, 0] => 0.2]);
by_hand!(Box2, f64, 2, [[-1, -1] => 0.3, [1, 1] => 0.2, [1, -1] => 0.2, [-1, 2] => 0.2, [0, 0] => 0.1]);
by_hand!(Star3, f32, 3, [
    [-1, 0, 0] => 0.1, [1, 0, 0] => 0.1, [0, -1, 0] => 0.1, [0, 1, 0] => 0.1, [0, 0, -1] => 0.1,
    [0, 0, 1] => 0.1, [0, 0, 0] => 0.4,
]);
by_hand!(Box3, f64, 3, [
    [-2, -1, 1] => 0.1, [1, 2, 1] => 0.1, [-1, -1, -1] => 0.2, [1, 1, 1] => 0.2, [0, 0, 0] => 0.4,
]);
by_hand!(Ints3, i32, 3, [[-1, 0, 1] => 3, [0, 0, 0] => -5, [0, 1, -1] => 7, [1, -1, 0] => 11]);
by_hand!(Bytes2, u8, 2, [[-1, 0] => 3, [0, 1] => 5, [0, 0] => 7]);
by_hand!(Four, f32, 4, [
    [-1, 0, 0, 0] => 0.1, [1, 0, 0, 0] => 0.1, [0, -1, 0, 0] => 0.1, [0, 1, 0, 1] => 0.1,
    [0, 0, -1, 0] => 0.1, [0, 0, 1, 0] => 0.1, [0, 0, 0, -1] => 0.2, [0, 0, 0, 0] => 0.2,
]);
by_hand!(Scale3, f32, 3, [[0, 0, 0] => 0.75]);

/// `count` workers on the cores the process may use, several on one when there are fewer.
fn pool(count: usize) -> Arc<Pool> {
    static CORES: std::sync::LazyLock<Vec<usize>> =
        std::sync::LazyLock::new(|| (0..64).filter(|&core| Pool::new(&[core]).is_ok()).collect());
    let cores: Vec<_> = CORES.iter().copied().cycle().take(count).collect();
    Arc::new(Pool::new(&cores).unwrap())
}

fn boundary() -> impl Strategy<Value = [Boundary; 2]> {
    let face = || {
        prop_oneof![
            Just(Boundary::Dirichlet(2.0)),
            Just(Boundary::Dirichlet(0.0)),
            Just(Boundary::Neumann),
            Just(Boundary::Mirror)
        ]
    };
    prop_oneof![Just([Boundary::Periodic; 2]), (face(), face()).prop_map(|(a, b)| [a, b])]
}

#[derive(Clone, Debug)]
struct Case<const D: usize> {
    extents: [usize; D],
    faces: [[Boundary; 2]; D],
    threads: usize,
    policy: CpuPolicy,
    simd: Simd,
    steps: u64,
}

fn case<const D: usize>() -> impl Strategy<Value = Case<D>> {
    let extents = prop::array::uniform::<_, D>(3..(if D == 4 { 9 } else { 40 / D.max(2) + 4 }));
    let policy = (1..7usize, 1..12usize, 1..6usize, 1..40usize, 0..3u32).prop_map(
        |(temporal_depth, tile_rows, slab_planes, tile_cells, unroll)| CpuPolicy {
            temporal_depth,
            tile_rows,
            slab_planes,
            tile_cells,
            unroll_and_jam: 1 << unroll,
        },
    );
    let boundaries = prop::array::uniform::<_, D>(boundary());
    (extents, boundaries, (1..5usize, policy), 0..3usize, 1..10u64).prop_map(
        |(extents, faces, (threads, policy), simd, steps)| {
            let sets = Simd::available();
            Case { extents, faces, threads, policy, simd: sets[simd % sets.len()], steps }
        },
    )
}

fn check<S, const D: usize>(mut stencil: Stencil<S, D>, case: &Case<D>) -> Result<(), TestCaseError>
where
    S: Scalar,
{
    for (axis, faces) in case.faces.iter().enumerate() {
        stencil = stencil.face(axis, Face::Low, faces[0]).face(axis, Face::High, faces[1]);
    }
    let mut state = 1u64;
    let mut expect = Volume::from_fn(case.extents, |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        S::from_f64((state >> 40) as f64 / 1e4)
    });
    let pool = pool(case.threads);
    let mut run = CpuSweeps::new(&stencil, &expect, case.policy, pool, case.simd).unwrap();
    let mut found = expect.clone();
    reference(&stencil, &mut expect, case.steps).unwrap();
    for sweep in sweeps(case.extents.into(), case.steps, 4, None) {
        run.sweep(&sweep).unwrap();
    }
    run.finish().unwrap();
    run.store(found.writable()).unwrap();
    prop_assert_eq!(found.field_bytes(0), expect.field_bytes(0));
    Ok(())
}

#[test]
fn residuals_of_extremes_are_exact() {
    for threads in [1, 3] {
        crate::extremes::check(&mut |stencil, volume| {
            let policy = CpuPolicy::default();
            let sweeps = CpuSweeps::new(stencil, volume, policy, pool(threads), Simd::detect());
            Box::new(sweeps.unwrap())
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_line(case in case::<1>()) {
        check(Stencil::of(Line), &case)?;
    }

    #[test]
    fn two_dimensions(case in case::<2>()) {
        check(Stencil::of(Star2), &case)?;
        check(Stencil::of(Box2), &case)?;
        check(Stencil::of(Bytes2), &case)?;
    }

    #[test]
    fn three_dimensions(case in case::<3>()) {
        check(Stencil::of(Star3), &case)?;
        check(Stencil::of(Box3), &case)?;
        check(Stencil::of(Ints3), &case)?;
    }

    #[test]
    fn sequences_with_a_stage_in_place(case in case::<3>()) {
        check(Stencil::sequence((Star3, Scale3)), &case)?;
        check(Stencil::sequence((Star3, Scale3, Star3)), &case)?;
        check(Stencil::of(Scale3), &case)?;
    }

    #[test]
    fn four_dimensions(case in case::<4>()) {
        check(Stencil::of(Four), &case)?;
    }
}

/// Each field of a policy at `value`, the others at what is usual.
fn extreme(value: usize) -> [(&'static str, CpuPolicy); 5] {
    let usual = CpuPolicy {
        temporal_depth: 3,
        tile_rows: 4,
        slab_planes: 2,
        tile_cells: 16,
        unroll_and_jam: 1,
    };
    [
        ("temporal_depth", CpuPolicy { temporal_depth: value, ..usual }),
        ("tile_rows", CpuPolicy { tile_rows: value, ..usual }),
        ("slab_planes", CpuPolicy { slab_planes: value, ..usual }),
        ("tile_cells", CpuPolicy { tile_cells: value, ..usual }),
        ("unroll_and_jam", CpuPolicy { unroll_and_jam: value, ..usual }),
    ]
}

/// Four steps under `policy` against the reference.
fn agrees<const D: usize>(stencil: &Stencil<f64, D>, n: usize, policy: CpuPolicy) {
    let mut expect =
        Volume::from_fn([n; D], |at| at.iter().fold(1.0, |sum, &i| sum * 3.0 + i as f64));
    let mut found = expect.clone();
    let mut run = CpuSweeps::new(stencil, &expect, policy, pool(2), Simd::detect()).unwrap();
    reference(stencil, &mut expect, 4).unwrap();
    for sweep in sweeps([n; D].into(), 4, 4, None) {
        run.sweep(&sweep).unwrap();
    }
    run.store(found.writable()).unwrap();
    assert_eq!(found.field_bytes(0), expect.field_bytes(0), "{policy:?}");
}

by_hand!(Jacobi3, f64, 3, [[-1, 0, 0] => 0.2, [0, 1, 0] => 0.3, [0, 0, -1] => 0.1, [0, 0, 0] => 0.4]);

#[test]
fn every_field_of_a_policy_has_a_range_and_runs_at_its_end() {
    let refused = |name: &str, policy: CpuPolicy| {
        let error = policy.check().unwrap_err();
        assert!(matches!(error, warpweft::Error::Spec { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
        let volume = Volume::from_fn([9; 3], |_| 0.0);
        let made = CpuSweeps::new(&Stencil::of(Jacobi3), &volume, policy, pool(1), Simd::detect());
        assert!(made.is_err(), "{policy:?}");
    };
    for value in [0, usize::MAX, usize::MAX / 2 + 1, isize::MAX as usize, 1 << 60] {
        extreme(value).into_iter().for_each(|(name, policy)| refused(name, policy));
    }
    for boundary in [Boundary::Dirichlet(1.0), Boundary::Periodic] {
        for exponent in 0..60 {
            for (_, policy) in extreme(1 << exponent) {
                // Whatever is allowed runs.
                if policy.check().is_err() {
                    continue;
                }
                agrees(&Stencil::of(Line).boundary(boundary), 17, policy);
                agrees(&Stencil::of(Box2).boundary(boundary), 17, policy);
                agrees(&Stencil::of(Jacobi3).boundary(boundary), 9, policy);
            }
        }
    }
}

/// Ends the run by a panic once it has begun.
#[derive(Clone, Copy)]
struct Bomb;

// SAFETY: TAPS lists the offset read, and the struct has no members.
unsafe impl StencilElement<1> for Bomb {
    type State = f64;
    const NAME: &'static str = "Bomb";
    const TAPS: &'static [Tap<1>] = &[Tap { field: 0, offset: [0] }];
    const WRITES: &'static [usize] = &[0];
    fn cell(&self, u: Near<'_, f64, 1>, next: &mut f64, _: warpweft::stencil::Place<1>) {
        assert!(u[[0]] < 2.0, "enough");
        *next = u[[0]] + 1.0;
    }
    unsafe fn cell_unchecked(
        &self,
        u: <f64 as Fields>::Near<'_, Unchecked<1>, 1>,
        next: &mut f64,
        _: warpweft::stencil::Place<1>,
    ) {
        assert!(u[[0]] < 2.0, "enough");
        *next = u[[0]] + 1.0;
    }
    fn cuda(unit: &mut Unit) -> String {
        <f64 as DeviceType>::cuda(unit)
    }
}

#[test]
fn steps_times_stages_do_not_wrap() {
    let volume = Volume::from_fn([8], |_| 0.0);
    let stencil = Stencil::sequence((Bomb, Bomb));
    let (_, policy) = extreme(1)[0];
    let mut run = CpuSweeps::new(&stencil, &volume, policy, pool(1), Simd::detect()).unwrap();
    // Twice as many wrap to 0, and nothing would run.
    let sweep = sweeps([8].into(), 1 << 63, 1 << 63, None).next().unwrap();
    assert_eq!(sweep.steps, 1 << 63);
    let error = run.sweep(&sweep).unwrap_err().to_string();
    assert!(error.contains("enough"), "{error}");
}
