//! The same bits for any number of ranks, any cut, any depth of ghost zones, and no hang on a fault.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::run_in_process;
use proptest::prelude::*;
use warpweft::element::{
    Bounds, CellPtr, DeviceType, FieldInfo, MAX_FIELDS, Near, ScalarKind, ScalarNear, Unchecked,
    Unit,
};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::drive::search::Search;
use warpweft::stencil::drive::{
    Distribution, RankReport, Ranks, deepest_feasible, footprints_of, run_on_cores, slab_axis,
};
use warpweft::stencil::ghost_model::{GhostModel, Kernel, Linear, Overlap, Staging};
use warpweft::stencil::{
    Boundaries, CpuPolicy, Partition, Run, StencilElement, Tap, Target, reference,
};

const SOON: Duration = Duration::from_secs(120);

/// An element function without parameters, in the form that `#[stencil]` generates.
macro_rules! element {
    ($name:ident, $state:ty, $d:literal, taps $taps:expr, writes $writes:expr, |$now:ident, $next:ident| $body:expr) => {
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct $name;
        // SAFETY: the taps listed are those read, and the C++ struct has no members either.
        unsafe impl StencilElement<$d> for $name {
            type State = $state;
            const NAME: &'static str = stringify!($name);
            const TAPS: &'static [Tap<$d>] = $taps;
            const WRITES: &'static [usize] = $writes;
            fn cell(
                &self,
                $now: Near<'_, $state, $d>,
                $next: &mut $state,
                _: warpweft::stencil::Place<$d>,
            ) {
                $body
            }
            #[inline(always)]
            unsafe fn cell_unchecked(
                &self,
                $now: <$state as Fields>::Near<'_, Unchecked<$d>, $d>,
                $next: &mut $state,
                _: warpweft::stencil::Place<$d>,
            ) {
                $body
            }
            fn cuda(unit: &mut Unit) -> String {
                unit.define(stringify!($name), stringify!($name), |_, name| {
                    format!("struct {name};")
                })
            }
        }
    };
}

const fn tap<const D: usize>(field: usize, offset: [isize; D]) -> Tap<D> {
    Tap { field, offset }
}

// Reads further down than up; not symmetric in any way.
element!(
    Lopsided,
    f32,
    1,
    taps & [tap(0, [-3]), tap(0, [-1]), tap(0, [0]), tap(0, [1])],
    writes & [0],
    |u, next| *next = 0.3 * u[[-3]] + 0.5 * u[[-1]] - 0.7 * u[[0]] + 0.9 * u[[1]]
);

// Mixes all bits of a box: one wrong neighbour anywhere and nothing is right.
element!(
    Mix,
    u32,
    2,
    taps & [
        tap(0, [-1, -1]),
        tap(0, [-1, 0]),
        tap(0, [-1, 1]),
        tap(0, [0, -1]),
        tap(0, [0, 0]),
        tap(0, [0, 1]),
        tap(0, [1, -1]),
        tap(0, [1, 0]),
        tap(0, [1, 1])
    ],
    writes & [0],
    |u, next| {
        let mut hash = 17u32;
        for y in -1..2 {
            for x in -1..2 {
                hash = (hash ^ u[[y, x]]).wrapping_mul(0x9e37_79b1).rotate_left(7);
            }
        }
        *next = hash
    }
);

element!(
    Heat,
    f32,
    3,
    taps & [
        tap(0, [-2, 0, 0]),
        tap(0, [2, 0, 0]),
        tap(0, [0, -1, 0]),
        tap(0, [0, 1, 0]),
        tap(0, [0, 0, -1]),
        tap(0, [0, 0, 2]),
        tap(0, [0, 0, 0])
    ],
    writes & [0],
    |u, next| *next = u[[0, 0, 0]]
        + 0.1
            * (u[[-2, 0, 0]]
                + u[[2, 0, 0]]
                + u[[0, -1, 0]]
                + u[[0, 1, 0]]
                + u[[0, 0, -1]]
                + u[[0, 0, 2]]
                - 6.0 * u[[0, 0, 0]])
);

/// Two fields of different sizes that are stepped in turn, and a coefficient never written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Staggered {
    v: f32,
    s: f64,
    rho: f32,
}

#[derive(Clone, Copy)]
struct StaggeredNear<'a, B, const D: usize> {
    v: ScalarNear<'a, f32, B, D>,
    s: ScalarNear<'a, f64, B, D>,
    rho: ScalarNear<'a, f32, B, D>,
}

impl DeviceType for Staggered {
    fn cuda(_: &mut Unit) -> String {
        "Staggered".into()
    }
    fn cuda_value(&self, _: &mut Unit) -> String {
        "Staggered{}".into()
    }
}

// SAFETY: fields 0, 1 and 2 are v, s and rho everywhere below.
unsafe impl Fields for Staggered {
    const FIELDS: &'static [FieldInfo] = &[
        FieldInfo { name: "v", kind: ScalarKind::F32 },
        FieldInfo { name: "s", kind: ScalarKind::F64 },
        FieldInfo { name: "rho", kind: ScalarKind::F32 },
    ];
    fn splat(value: f64) -> Self {
        Self { v: value as f32, s: value, rho: value as f32 }
    }
    type Near<'a, B: Bounds<D>, const D: usize> = StaggeredNear<'a, B, D>;
    unsafe fn near<'a, B: Bounds<D>, const D: usize>(at: &CellPtr<B, D>) -> Self::Near<'a, B, D> {
        // SAFETY: passed on to the caller.
        unsafe {
            StaggeredNear {
                v: ScalarNear::new(at, 0),
                s: ScalarNear::new(at, 1),
                rho: ScalarNear::new(at, 2),
            }
        }
    }
    fn at<B: Bounds<D>, const D: usize>(near: &Self::Near<'_, B, D>, offset: [isize; D]) -> Self {
        Self { v: near.v[offset], s: near.s[offset], rho: near.rho[offset] }
    }
    unsafe fn load(base: &[*const u8; MAX_FIELDS], index: isize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            Self {
                v: *base[0].cast::<f32>().offset(index),
                s: *base[1].cast::<f64>().offset(index),
                rho: *base[2].cast::<f32>().offset(index),
            }
        }
    }
    unsafe fn store(self, base: &[*mut u8; MAX_FIELDS], index: isize, mask: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            if mask & 1 != 0 {
                *base[0].cast::<f32>().offset(index) = self.v;
            }
            if mask & 2 != 0 {
                *base[1].cast::<f64>().offset(index) = self.s;
            }
            if mask & 4 != 0 {
                *base[2].cast::<f32>().offset(index) = self.rho;
            }
        }
    }
    fn to_f64(&self, field: usize) -> f64 {
        [f64::from(self.v), self.s, f64::from(self.rho)].get(field).copied().unwrap_or(0.0)
    }
}

element!(
    Velocity,
    Staggered,
    2,
    taps & [tap(0, [0, 0]), tap(1, [0, 1]), tap(1, [0, 0]), tap(1, [2, 0]), tap(2, [0, -1])],
    writes & [0],
    |now, next| next.v = now.v[[0, 0]]
        + 0.1 * now.rho[[0, -1]] * (now.s[[0, 1]] - now.s[[0, 0]] + now.s[[2, 0]]) as f32
);
element!(
    Stress,
    Staggered,
    2,
    taps & [tap(1, [0, 0]), tap(0, [0, -1]), tap(0, [-1, 0]), tap(0, [0, 0])],
    writes & [1],
    |now, next| next.s =
        0.9 * now.s[[0, 0]] + f64::from(now.v[[0, -1]] - now.v[[-1, 0]] + 0.5 * now.v[[0, 0]])
);

fn face() -> impl Strategy<Value = [Boundary; 2]> {
    let open = || {
        prop_oneof![Just(Boundary::Dirichlet(0.5)), Just(Boundary::Neumann), Just(Boundary::Mirror)]
    };
    prop_oneof![Just([Boundary::Periodic; 2]), (open(), open()).prop_map(|(a, b)| [a, b])]
}

/// Runs both ways and compares every byte. Returns whether there was anything to compare.
fn same_bits<S: Fields, const D: usize>(
    stencil: Stencil<S, D>,
    faces: [[Boundary; 2]; D],
    start: &Volume<S, D>,
    parts: [usize; D],
    (depth, steps, boundary_first): (usize, u64, bool),
) -> bool {
    let mut stencil = stencil;
    for (axis, [low, high]) in faces.into_iter().enumerate() {
        stencil = stencil.face(axis, Face::Low, low).face(axis, Face::High, high);
    }
    let boundaries = Boundaries(faces.into());
    let Ok(partition) = Partition::grid(start.extents(), parts, &boundaries) else { return false };
    let stages = footprints_of(&stencil);
    let depth = deepest_feasible(&partition, &boundaries, &stages, S::FIELDS.len(), depth);
    if depth == 0 || stencil.check(start.extents()).is_err() {
        return false;
    }
    let (mut expect, mut found) = (start.clone(), start.clone());
    let done = reference(&stencil, &mut expect, steps).unwrap();
    let distribution =
        Distribution { partition, depth, search: None, fused_steps: 1, boundary_first };
    let reports = run_in_process(&stencil, &mut found, steps, &distribution, SOON).unwrap();
    let same = |found: &Volume<S, D>, reports: &[RankReport], how: &str| {
        for (rank, report) in reports.iter().enumerate() {
            assert_eq!(report.steps, done, "{how}, rank {rank}");
        }
        for field in 0..S::FIELDS.len() {
            let equal = expect.field_bytes(field) == found.field_bytes(field);
            assert!(equal, "{how}, field {field} differs");
        }
    };
    same(&found, &reports, "the default policy");
    // The same on executors, with tiles and time blocks that do not divide anything.
    let policy = CpuPolicy {
        temporal_depth: 3,
        tile_rows: 3,
        slab_planes: 2,
        tile_cells: 5,
        unroll_and_jam: 2,
    };
    let mut found = start.clone();
    let reports =
        run_on_cores(&stencil, &mut found, steps, &distribution, policy, &cores(), SOON).unwrap();
    same(&found, &reports, "executors");
    true
}

/// Every core this process may use, one a list.
fn cores() -> Vec<Vec<usize>> {
    static CORES: std::sync::LazyLock<Vec<Vec<usize>>> = std::sync::LazyLock::new(|| {
        let usable = |core: &Vec<usize>| warpweft::cpu::Pool::new(core).is_ok();
        (0..64).map(|core| vec![core]).filter(usable).collect()
    });
    CORES.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_asymmetric_line(
        n in 8usize..40, parts in 1usize..9, faces in face(),
        how in (1usize..6, 1u64..12, any::<bool>()),
    ) {
        let start = Volume::from_fn([n], |[x]| (x as f32).sin());
        prop_assume!(same_bits(Stencil::of(Lopsided), [faces], &start, [parts], how));
    }

    #[test]
    fn a_box_over_a_grid_of_ranks(
        extents in prop::array::uniform2(4usize..20), parts in prop::array::uniform2(1usize..4),
        faces in prop::array::uniform2(face()), how in (1usize..6, 1u64..10, any::<bool>()),
    ) {
        let start = Volume::from_fn(extents, |[y, x]| (y * 31 + x) as u32);
        prop_assume!(same_bits(Stencil::of(Mix), faces, &start, parts, how));
    }

    #[test]
    fn three_dimensions(
        extents in prop::array::uniform3(5usize..11), parts in prop::array::uniform3(1usize..3),
        faces in prop::array::uniform3(face()), how in (1usize..4, 1u64..7, any::<bool>()),
    ) {
        let start = Volume::from_fn(extents, |[z, y, x]| (z * 100 + y * 10 + x) as f32);
        prop_assume!(same_bits(Stencil::of(Heat), faces, &start, parts, how));
    }

    #[test]
    fn a_sequence_over_several_fields(
        extents in prop::array::uniform2(6usize..20), parts in prop::array::uniform2(1usize..4),
        faces in prop::array::uniform2(face()), how in (1usize..4, 1u64..9, any::<bool>()),
    ) {
        let start = Volume::from_fn(extents, |[y, x]| {
            Staggered { v: y as f32, s: (x as f64).cos(), rho: 1.0 + (x * y) as f32 * 0.01 }
        });
        prop_assume!(same_bits(Stencil::sequence((Velocity, Stress)), faces, &start, parts, how));
    }

    #[test]
    fn stopping_on_a_residual_happens_at_the_same_step(
        extents in prop::array::uniform3(4usize..10), parts in prop::array::uniform3(1usize..3),
        kind in prop_oneof![Just(Residual::Max), Just(Residual::Sum), Just(Residual::SumOfSquares)],
        depth in 1usize..4,
    ) {
        let start = Volume::from_fn(extents, |[z, y, x]| (z * 3 + y * 2 + x) as f32);
        let stencil = Stencil::of(Heat).until(kind, 0.5);
        let faces = [[Boundary::Periodic; 2], [Boundary::Neumann; 2], [Boundary::Periodic; 2]];
        prop_assume!(same_bits(stencil, faces, &start, parts, (depth, 60, false)));
    }
}

/// A residual of `kind` between two states, summed in integers: exact but for one rounding.
fn exact(kind: Residual, before: &Volume<f32, 3>, after: &Volume<f32, 3>) -> f64 {
    let pairs = before.as_slice().iter().zip(after.as_slice());
    let changes = pairs.map(|(&b, &a)| match kind {
        Residual::SumOfSquares => (a as f64 - b as f64).powi(2),
        _ => (a as f64 - b as f64).abs(),
    });
    if kind == Residual::Max {
        return changes.fold(0.0, f64::max);
    }
    let scaled = changes.map(|change| change * 2f64.powi(100));
    let sum: i128 = scaled
        .map(|change| {
            assert_eq!(change.fract(), 0.0, "of no integer");
            change as i128
        })
        .sum();
    sum as f64 * 2f64.powi(-100)
}

#[test]
fn a_residual_is_exact_on_any_grid_of_ranks() {
    let extents = [16, 13, 37];
    let start = Volume::from_fn(extents, |[z, y, x]| ((z * 77 + y * 13 + x) as f32).sin());
    let free = Stencil::of(Heat).boundary(Boundary::Periodic);
    let state = |steps: u64| {
        let mut volume = start.clone();
        reference(&free, &mut volume, steps).unwrap();
        volume
    };
    let (before, after) = (state(5), state(6));
    let policy = CpuPolicy {
        temporal_depth: 2,
        tile_rows: 3,
        slab_planes: 2,
        tile_cells: 5,
        unroll_and_jam: 2,
    };
    let boundaries = Boundaries::all(3, Boundary::Periodic);
    let grids = [
        [1, 1, 1],
        [2, 1, 1],
        [1, 3, 1],
        [1, 1, 2],
        [1, 1, 3],
        [4, 1, 1],
        [1, 2, 2],
        [1, 1, 5],
        [3, 1, 2],
        [1, 1, 7],
        [2, 2, 2],
        [1, 1, 8],
    ];
    for kind in [Residual::Max, Residual::Sum, Residual::SumOfSquares] {
        let expect = exact(kind, &before, &after);
        let ends = |stencil: &Stencil<f32, 3>, parts: [usize; 3]| {
            let partition = Partition::grid(extents, parts, &boundaries).unwrap();
            let depth = 2;
            let plan = Distribution {
                partition,
                depth,
                search: None,
                fused_steps: 1,
                boundary_first: true,
            };
            let (mut one, mut other) = (start.clone(), start.clone());
            let plain = run_in_process(stencil, &mut one, 20, &plan, SOON).unwrap();
            let swept =
                run_on_cores(stencil, &mut other, 20, &plan, policy, &cores(), SOON).unwrap();
            plain.into_iter().chain(swept)
        };
        // Each step changes less: it ends at the residual of the sixth step, and not just below that.
        let (met, missed) = (expect, f64::from_bits(expect.to_bits() - 1));
        let [met, missed] =
            [met, missed].map(|tolerance| free.clone().until_every(kind, tolerance, 3));
        for parts in grids {
            for rank in ends(&met, parts) {
                assert_eq!(rank.residual.map(f64::to_bits), Some(expect.to_bits()), "{parts:?}");
                assert_eq!((kind, rank.steps), (kind, 6), "{parts:?}");
            }
        }
        assert!(ends(&missed, [2, 2, 2]).all(|rank| rank.steps > 6), "{kind:?}");
    }
}

#[test]
fn deeper_zones_swap_less_often_and_all_fields_travel_together() {
    let start =
        Volume::from_fn([64, 16], |[y, x]| Staggered { v: y as f32, s: x as f64, rho: 1.0 });
    let stencil = Stencil::sequence((Velocity, Stress)).boundary(Boundary::Periodic);
    let boundaries = Boundaries::all(2, Boundary::Periodic);
    let stages = footprints_of(&stencil);
    let axis = slab_axis([64, 16].into(), 4, &boundaries, &stages, Staggered::FIELDS).unwrap();
    assert_eq!(axis, 0);
    for (depth, swaps) in [(1, 11), (4, 2)] {
        let partition = Partition::grid([64, 16], [4, 1], &boundaries).unwrap();
        let distribution =
            Distribution { partition, depth, search: None, fused_steps: 1, boundary_first: false };
        let reports =
            run_in_process(&stencil, &mut start.clone(), 12, &distribution, SOON).unwrap();
        for report in reports {
            // One phase, two neighbours; the first swap is not needed.
            assert_eq!((report.swaps, report.messages), (swaps, 2 * swaps));
        }
    }
}

#[test]
fn searching_the_depth_while_running_changes_nothing_but_the_swaps() {
    let boundaries = Boundaries::all(2, Boundary::Periodic);
    let stencil = Stencil::of(Mix).boundary(Boundary::Periodic);
    let start = Volume::from_fn([40, 24], |[y, x]| (y * 31 + x) as u32);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 700).unwrap();
    let rates = GhostModel {
        compute: Linear { per_unit: 1e-8, fixed: 1e-7 },
        network: Linear { per_unit: 1e-9, fixed: 1e-5 },
        host_link: Linear::default(),
        kernel: Kernel::Shrinking,
        staging: Staging::None,
        overlap: Overlap::None,
    };
    let searches =
        [Search::Exhaustive, Search::HillClimbing, Search::Dichotomic, Search::Guided(rates)];
    for search in searches {
        for (boundary_first, fused_steps) in
            [(false, 1), (true, 1), (false, 2), (true, 3), (false, 7)]
        {
            let partition = Partition::grid([40, 24], [4, 1], &boundaries).unwrap();
            let search = Some(search);
            let distribution =
                Distribution { partition, depth: 6, search, fused_steps, boundary_first };
            let mut found = start.clone();
            let reports = run_in_process(&stencil, &mut found, 700, &distribution, SOON).unwrap();
            assert_eq!(found.as_slice(), expect.as_slice(), "{search:?}");
            let depth = reports[0].depth;
            // In whole time blocks, of which there are none of seven steps.
            assert!(
                (1..=6).contains(&depth) && (fused_steps == 7 || depth % fused_steps == 0),
                "{depth}"
            );
            assert!(reports.iter().all(|r| (r.depth, r.steps) == (depth, 700)), "{search:?}");
        }
    }
}

/// Counts down in every cell; panics on the rank where it gets to zero.
static FUSE: AtomicUsize = AtomicUsize::new(usize::MAX);
element!(Fuse, f32, 1, taps & [tap(0, [-1]), tap(0, [0]), tap(0, [1])], writes & [0], |u, next| {
    assert!(FUSE.fetch_sub(1, Ordering::Relaxed) != 0, "the fuse is through");
    *next = u[[-1]] + u[[0]] + u[[1]]
});

#[test]
fn an_element_function_that_panics_anywhere_ends_the_run_everywhere() {
    let start = Volume::from_fn([64], |[x]| x as f32);
    let boundaries = Boundaries::all(1, Boundary::Periodic);
    let stencil = Stencil::of(Fuse).boundary(Boundary::Periodic);
    let partition = Partition::grid([64], [8], &boundaries).unwrap();
    let distribution =
        Distribution { partition, depth: 2, search: None, fused_steps: 1, boundary_first: true };
    // Somewhere in the first, a middle and a late step, on whichever rank comes to it.
    for fuse in [3, 700, 5000] {
        FUSE.store(fuse, Ordering::Relaxed);
        let begun = Instant::now();
        let mut volume = start.clone();
        let minutes = Duration::from_secs(600);
        let error = run_in_process(&stencil, &mut volume, 1000, &distribution, minutes);
        assert!(error.unwrap_err().to_string().contains("the fuse is through"));
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert_eq!(volume.as_slice(), start.as_slice());
    }
}

#[test]
fn over_ranks_is_a_run_like_any_other() {
    let machine = Machine::detect().unwrap();
    let start = Volume::from_fn([24, 20, 28], |[z, y, x]| ((z * 7 + y * 3 + x) as f32).sin());
    let stencil = Stencil::of(Heat).boundary(Boundary::Neumann);
    let run = Run { target: Target::Cpu, ..Run::default() };
    let mut expect = start.clone();
    stencil.run_with(&mut expect, Steps(60), &machine, &run).unwrap();
    for (count, depth) in [(1, None), (2, None), (4, Some(2)), (8, None)] {
        let ranks = Ranks { count, grid: None, depth };
        let mut found = start.clone();
        let report = stencil
            .run_with(
                &mut found,
                Steps(60),
                &machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            )
            .unwrap();
        assert_eq!(found.as_slice(), expect.as_slice(), "{ranks:?}");
        assert_eq!(report.done, 60);
        assert_eq!(report.policy["ranks"], count);
        assert!(report.rate.value > 0.0 && report.devices[0].contains("ranks on"), "{report:?}");
    }
    // Told to stop, it stops between two swaps, and what was done is kept.
    let stop = std::sync::atomic::AtomicBool::new(true);
    let run = Run { target: Target::Cpu, interrupt: Some(&stop), ..Run::default() };
    let ranks = Ranks { count: 2, grid: Some([1, 2, 1].into()), depth: Some(1) };
    let mut found = start.clone();
    let report = stencil
        .run_with(
            &mut found,
            Steps(1 << 20),
            &machine,
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        )
        .unwrap();
    assert!(report.interrupted && report.done < 1 << 20, "{report:?}");
    let wrong = Ranks { count: 3, grid: Some([2, 1, 1].into()), depth: None };
    let error = stencil
        .run_with(
            &mut found,
            Steps(1),
            &machine,
            &Run { settings: run.settings.over(wrong), ..run.clone() },
        )
        .unwrap_err();
    assert!(
        error.to_string().contains("3 ranks, but the grid 2 x 1 x 1 has 2 subdomains"),
        "{error}"
    );
    for count in [257, usize::MAX] {
        let many = Ranks { count, grid: None, depth: None };
        let refused = stencil.run_with(
            &mut found,
            Steps(1),
            &machine,
            &Run { settings: run.settings.over(many), ..run.clone() },
        );
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("use 256 or fewer"), "{error}");
    }
    let many = Ranks { count: 2, grid: Some([usize::MAX; 3].into()), depth: None };
    let error = stencil
        .run_with(
            &mut found,
            Steps(1),
            &machine,
            &Run { settings: run.settings.over(many), ..run.clone() },
        )
        .unwrap_err();
    assert!(error.to_string().contains("2 ranks, but the grid "), "{error}");
}

#[test]
fn too_deep_or_foreign_partitions_are_refused_with_what_would_fit() {
    let boundaries = Boundaries::all(3, Boundary::Periodic);
    let stencil = Stencil::of(Heat).boundary(Boundary::Periodic);
    let mut volume = Volume::from_fn([16, 8, 8], |[z, _, _]| z as f32);
    let partition = Partition::grid([16, 8, 8], [4, 1, 1], &boundaries).unwrap();
    let mut distribution =
        Distribution { partition, depth: 3, search: None, fused_steps: 1, boundary_first: false };
    let mut refusal = |distribution: &Distribution| {
        run_in_process(&stencil, &mut volume, 3, distribution, SOON).unwrap_err().to_string()
    };
    let error = refusal(&distribution);
    assert!(
        error.contains("4 subdomains along axis z of extent 16 leave one with 4 cells"),
        "{error}"
    );
    assert!(error.contains("need 6; help: the largest feasible R is 2;"), "{error}");
    distribution.depth = 0;
    assert!(refusal(&distribution).contains("0 steps between halo exchanges"));
    distribution.partition = Partition::grid([8, 8, 8], [2, 1, 1], &boundaries).unwrap();
    assert!(refusal(&distribution).contains("a partition of 8 x 8 x 8 for a volume of 16 x 8 x 8"));
}

#[test]
fn a_report_names_the_depth_that_ran_not_one_proposed() {
    let machine = Machine::detect().unwrap();
    let run = Run { target: Target::Cpu, ..Run::default() };
    for (depth, every, expect) in [(None, 1, 1), (Some(4), 3, 3), (Some(4), 6, 4)] {
        let stencil = Stencil::of(Heat).until_every(Residual::Sum, 0.0, every);
        let mut volume = Volume::from_fn([32, 12, 12], |[z, y, x]| ((z * y + x) as f32).sin());
        let ranks = Ranks { count: 2, grid: None, depth };
        let report = stencil
            .run_with(
                &mut volume,
                Steps(42),
                &machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            )
            .unwrap();
        assert_eq!(report.policy["depth"], expect, "{depth:?}, checked every {every}");
    }
}
