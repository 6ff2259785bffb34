//! PeerWave's five methods on a GPU against the reference; without one, that their kernels compile.

use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cuda::tiles::{Extras, TileExecutor, compile_check};
use warpweft::wavefront::{
    Keep, Method, TilePolicy, Wavefront, WavefrontElement, WavefrontExecutor, reference,
};
use warpweft_conformance::wavefront::{
    Inputs, KEEPS, Outcome, affine_local, area, far, local, mix, relax, remix, suite_of, warp,
};

use crate::gpus::schedules_seed;

const KEPT: [Keep; 5] = [Keep::Best, Keep::LastRow, Keep::LastColumn, Keep::Matrix, Keep::Sum];

fn policy(method: Method, height: u32, width: u32, blocks: u32) -> TilePolicy {
    TilePolicy { method, height, width, blocks }
}

fn compiles<E: WavefrontElement>(element: E, method: Method, arch: &str, keeps: &[Keep]) {
    let (a, b) = ([E::Row::default(); 3], [E::Column::default(); 3]);
    let (x, old) = ([E::Input::default(); 9], [E::Cell::default(); 9]);
    let count = |wanted: bool| if wanted { 9 } else { 0 };
    let plain = Wavefront::of(element)
        .rows(&a)
        .columns(&b)
        .inputs(&x[..count(size_of::<E::Input>() > 0)])
        .initial(&old[..count(!E::OLD.is_empty())]);
    for (n, keep) in keeps.iter().enumerate() {
        let plain = plain.clone().keep(*keep);
        let delays = (n % 3 == 2).then_some(1);
        let extras = Extras { idle: n % 2 == 1, delays, ..Extras::default() };
        compile_check(&plain, policy(method, 64, 64, 2), extras, arch).unwrap();
    }
}

#[test]
fn kernels_of_all_methods_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for method in Method::ALL {
        let keep = &KEPT[method.number() % 4..][..1];
        compiles(local(2, -1, -1), method, "sm_90", keep);
        compiles(relax(1.5), method, "sm_90", keep);
    }
    let flexible = Method::FlagsFlexible;
    compiles(far(5), flexible, "sm_90", &KEPT);
    compiles(remix(), Method::BarriersHyper, "sm_90", &KEPT[3..]);
    compiles(affine_local(2, -3, -5, -1), flexible, "sm_80", &KEPT[..2]);
    compiles(area(), flexible, "sm_80", &KEPT[3..]);
    compiles(mix(1), flexible, "sm_90", &KEPT[2..3]);
    compiles(warp(), flexible, "sm_90", &KEPT[1..2]);
}

#[test]
fn tiles_that_do_not_fit_are_refused_with_their_numbers() {
    let wavefront = Wavefront::of(local(2, -1, -1)).rows(b"A").columns(b"A");
    let ahead = Wavefront::of(far(5)).rows(&[1]).columns(&[1]).inputs(&[1]);
    let flexible = Method::FlagsFlexible;
    for (tile, says) in [
        (policy(flexible, 40, 8, 1), "tiles of 40 rows"),
        (policy(flexible, 1024, 8, 1), "tiles of 1024 rows"),
        (policy(flexible, 64, 7, 1), "tiles of 7 columns"),
        (policy(Method::Barriers, 64, 32, 1), "equal dimensions"),
        (policy(flexible, 64, 64, 0), "0 blocks"),
        (policy(flexible, 960, 32_768, 1), "bytes of shared memory"),
    ] {
        let error = compile_check(&wavefront, tile, Extras::default(), "sm_90").unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    let square = policy(Method::Flags, 64, 64, 1);
    let error = compile_check(&ahead, square, Extras::default(), "sm_90").unwrap_err();
    assert!(error.to_string().contains("north-east"), "{error}");
    TilePolicy::for_domain(1, 132);
}

/// Compiles with and without a band.
fn into_cache<E: WavefrontElement>(
    element: E,
    policy: TilePolicy,
    extras: Extras,
    arch: &str,
    keep: Keep,
) {
    let (a, b) = ([E::Row::default(); 1], [E::Column::default(); 1]);
    let plain = Wavefront::of(element).rows(&a).columns(&b).keep(keep);
    for wavefront in [plain.clone(), plain.band(0, 0, E::Cell::default())] {
        compile_check(&wavefront, policy, extras, arch).unwrap();
    }
}

/// The first GPU, unless there is none.
fn device() -> Option<Device> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn conforms(policies: &[TilePolicy], keeps: &[Keep], extras: Extras) {
    let Some(device) = device() else { return };
    let arch = device.arch().unwrap();
    for &policy in policies {
        let start = std::time::Instant::now();
        // All at once into the cache; one after another the suite would wait for each.
        std::thread::scope(|scope| {
            for &keep in keeps {
                let arch = &arch;
                scope.spawn(move || into_cache(local(2, -1, -1), policy, extras, arch, keep));
                scope.spawn(move || into_cache(mix(1), policy, extras, arch, keep));
                scope.spawn(move || into_cache(warp(), policy, extras, arch, keep));
                let affine = affine_local(2, -3, -5, -1);
                scope.spawn(move || into_cache(affine, policy, extras, arch, keep));
                scope.spawn(move || into_cache(area(), policy, extras, arch, keep));
                scope.spawn(move || into_cache(relax(1.5), policy, extras, arch, keep));
                if !policy.method.square() {
                    scope.spawn(move || into_cache(far(5), policy, extras, arch, keep));
                    scope.spawn(move || into_cache(remix(), policy, extras, arch, keep));
                }
            }
        });
        println!("{policy:?} compiled in {:.1} s", start.elapsed().as_secs_f64());
        let mut executor = TileExecutor::new(&device, Some(policy)).unwrap().with(extras);
        for (name, outcome) in suite_of(&mut executor, keeps) {
            let seconds = start.elapsed().as_secs_f64();
            println!("{policy:?} {name}: {outcome:?} {seconds:.1} s");
            match outcome {
                Outcome::Failed(why) => panic!("{policy:?} {name}: {why}"),
                Outcome::Skipped(_) => assert!(policy.method.square()),
                Outcome::Passed(cases) => assert!(cases > 0),
            }
        }
    }
}

#[test]
fn barriers_with_square_tiles_conform() {
    let of = |size, blocks| policy(Method::Barriers, size, size, blocks);
    conforms(&[of(64, 1), of(32, 16)], &[Keep::Best, Keep::Matrix, Keep::Sum], Extras::default());
}

#[test]
fn flags_with_square_tiles_conform() {
    let of = |size, blocks| policy(Method::Flags, size, size, blocks);
    conforms(&[of(64, 1), of(32, 16)], &[Keep::Least, Keep::Matrix, Keep::Sum], Extras::default());
}

#[test]
fn barriers_with_hyper_tiles_conform() {
    let of = |size, blocks| policy(Method::BarriersHyper, size, size, blocks);
    let idle = Extras { idle: true, ..Extras::default() };
    conforms(&[of(64, 1), of(32, 16)], &[Keep::Score, Keep::LastRow, Keep::Sum], idle);
}

#[test]
fn flags_with_hyper_tiles_conform() {
    let of = |size, blocks| policy(Method::FlagsHyper, size, size, blocks);
    let idle = Extras { idle: true, ..Extras::default() };
    conforms(&[of(64, 1), of(256, 2)], &[Keep::Best, Keep::LastColumn, Keep::Sum], idle);
}

#[test]
fn flags_with_flexible_hyper_tiles_conform() {
    let of = |height, width| policy(Method::FlagsFlexible, height, width, 2);
    conforms(&[of(64, 24)], &KEEPS, Extras::default());
    conforms(&[of(32, 4), of(160, 100)], &[Keep::Best, Keep::Matrix], Extras::default());
}

/// Of several sweeps the last one is stored only where every cell is kept.
#[test]
fn whatever_is_kept_of_several_sweeps_equals_the_reference() {
    let Some(device) = device() else { return };
    let arch = device.arch().unwrap();
    let mut inputs = Inputs(3);
    let [m, n] = [300, 170];
    let rows: Vec<_> = (0..m).map(|_| inputs.bits() as u32).collect();
    let columns: Vec<_> = (0..n).map(|_| inputs.bits() as u32).collect();
    let cells: Vec<_> = (0..m * n).map(|_| inputs.bits() as u32).collect();
    let policies = [
        policy(Method::FlagsFlexible, 64, 24, 2),
        policy(Method::FlagsHyper, 64, 64, 2),
        policy(Method::BarriersHyper, 32, 32, 2),
    ];
    std::thread::scope(|scope| {
        for (policy, keep) in policies.into_iter().flat_map(|p| KEEPS.map(|keep| (p, keep))) {
            let arch = &arch;
            scope.spawn(move || into_cache(remix(), policy, Extras::default(), arch, keep));
        }
    });
    for (policy, keep) in policies.into_iter().flat_map(|p| KEEPS.map(|keep| (p, keep))) {
        let mut executor = TileExecutor::new(&device, Some(policy)).unwrap();
        for sweeps in 1..=3 {
            let wavefront = Wavefront::of(remix()).rows(&rows).columns(&columns).keep(keep);
            let wavefront = wavefront.initial(&cells).sweeps(sweeps);
            let expected = reference(&wavefront).unwrap();
            let found = executor.run(&wavefront).unwrap().0;
            assert!(found == expected, "{policy:?} {keep:?} {sweeps} sweeps");
        }
    }
}

/// Runs of the stress test for each method by flags.
const STRESSES: u64 = 700;

/// Random delays, tiles and numbers of blocks: whatever the flags allow, cells are the reference's.
#[test]
fn flags_hold_whatever_the_delays() {
    let Some(device) = device() else { return };
    let mut inputs = Inputs(1);
    let rows: Vec<_> = (0..500).map(|_| inputs.bits() as u32).collect();
    let columns: Vec<_> = (0..300).map(|_| inputs.bits() as u32).collect();
    let halves: Vec<_> = columns.iter().map(|&word| word as u16).collect();
    let cells: Vec<_> = (0..500 * 300).map(|_| inputs.bits() as u32).collect();
    let once = Wavefront::of(mix(7)).rows(&rows).columns(&halves).keep(Keep::Matrix);
    let often = Wavefront::of(remix()).rows(&rows).columns(&columns).keep(Keep::Matrix);
    let often = often.initial(&cells).sweeps(3);
    let (once_right, often_right) = (reference(&once).unwrap(), reference(&often).unwrap());
    let first = schedules_seed();
    for seed in first..first + STRESSES {
        let mut pick = Inputs(seed);
        let height = pick.one_of(&[32, 64, 96, 160]);
        let flexible = policy(Method::FlagsFlexible, height, pick.one_of(&[4, 8, 24, 40, 128]), 4);
        let extras = Extras {
            idle: false,
            delays: Some(pick.bits() as u32),
            blocks: Some(pick.one_of(&[1, 2, 3, 5, 7, 16])),
        };
        let mut executor = TileExecutor::new(&device, Some(flexible)).unwrap().with(extras);
        assert!(executor.run(&once).unwrap().0 == once_right, "{seed} {flexible:?} {extras:?}");
        assert!(executor.run(&often).unwrap().0 == often_right, "{seed} {flexible:?} {extras:?}");
        let method = pick.one_of(&[Method::Flags, Method::FlagsHyper]);
        executor.set_policy(Some(policy(method, height, height, 4)));
        assert!(executor.run(&once).unwrap().0 == once_right, "{seed} {method:?} {extras:?}");
    }
    println!("\n{} schedules of tiles", 3 * STRESSES);
}

/// One shape, for a memory checker.
#[test]
#[ignore = "run under compute-sanitizer"]
fn one_policy_conforms() {
    conforms(
        &[policy(Method::FlagsFlexible, 64, 16, 1)],
        &[Keep::Matrix, Keep::Sum],
        Extras::default(),
    );
}
