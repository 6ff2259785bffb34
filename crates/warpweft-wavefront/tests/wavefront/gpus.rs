//! Wavefronts over several GPUs: the reference's cells for any number of GPUs, blocks and delays;
//! without a GPU, that the kernels compile. One GPU may stand for several.

use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cuda::{CudaExecutor, Extras, Variant, compile_check_as};
use warpweft::wavefront::{
    Border, CudaPolicy, Earlier, Keep, Kept, Wavefront, WavefrontElement, WavefrontExecutor,
    reference, wavefront,
};
use warpweft_conformance::wavefront::{
    AffineCell, Inputs, KEEPS, Outcome, Samples, affine_local, area, conforms, conforms_on, local,
    mix, warp,
};

const LOCAL: local = local { matching: 2, mismatch: -1, gap: -1 };
const AFFINE: affine_local = affine_local { matching: 2, mismatch: -3, open: -5, extend: -1 };
const SEVERAL: Variant = Variant { several: true, edges: false, delays: false };
const EDGES: Variant = Variant { several: true, edges: true, delays: false };
const DELAYED: Variant = Variant { several: true, edges: false, delays: true };
const ALONE_DELAYED: Variant = Variant { several: false, ..DELAYED };

fn policy([rows, columns, chunk, warps, blocks]: [u32; 5]) -> CudaPolicy {
    CudaPolicy { rows, columns, chunk, warps, blocks, packed_16x2: false }
}

/// Shapes of 32, 512 and 192 rows a tile-row.
fn policies() -> [CudaPolicy; 3] {
    [[1, 1, 8, 1, 1], [4, 2, 16, 4, 1], [3, 4, 32, 2, 2]].map(policy)
}

/// Compiles all of `keeps` × `policies` at once, into the cache.
fn compiles<E: WavefrontElement>(
    element: E,
    keeps: &[Keep],
    policies: &[CudaPolicy],
    variant: Variant,
    arch: &str,
) {
    let (a, b) = ([E::Row::default(); 3], [E::Column::default(); 3]);
    let wavefront = Wavefront::of(element).rows(&a).columns(&b);
    std::thread::scope(|scope| {
        for (keep, policy) in keeps.iter().flat_map(|keep| policies.iter().map(move |p| (keep, p)))
        {
            let wavefront = wavefront.clone().keep(*keep);
            scope.spawn(move || compile_check_as(&wavefront, policy, variant, arch).unwrap());
        }
    });
}

#[test]
fn kernels_for_several_gpus_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compiles(LOCAL, &KEEPS, &policies()[1..2], SEVERAL, "sm_90");
    compiles(mix(1), &KEEPS[4..], &policies()[..1], DELAYED, "sm_80");
    compiles(AFFINE, &KEEPS[..1], &policies()[2..], SEVERAL, "sm_90");
    compiles(area(), &[Keep::Matrix], &policies()[1..2], SEVERAL, "sm_90");
    compiles(area(), &[Keep::Matrix], &with_porters()[2..3], DELAYED, "sm_80");
    compiles(area(), &[Keep::Best], &with_porters()[2..3], DELAYED, "sm_90");
    compiles(woven(), &[Keep::Matrix], &with_porters()[..1], ALONE_DELAYED, "sm_80");
    // In the smallest shape: an affine cell takes the compiler longest.
    compiles(AFFINE, &[Keep::Best, Keep::LastColumn], &policies()[..1], EDGES, "sm_90");
    compiles(LOCAL, &[Keep::Sum], &policies()[1..2], EDGES, "sm_90");
}

/// Lists of GPUs to run on: as many as there are up to four, and the first one three times over.
fn lists() -> Option<Vec<Vec<Device>>> {
    let count = match Device::count() {
        Ok(0) => "no GPU".to_string(),
        Ok(count) => {
            let open = |number| Device::open(number).unwrap();
            let mut all: Vec<_> =
                (2..=count.min(4)).map(|n| (0..n).map(open).collect::<Vec<_>>()).collect();
            all.push(vec![open(0); 3]);
            return Some(all);
        }
        Err(error) => error.to_string(),
    };
    println!("skipped: {count}");
    None
}

#[test]
fn any_number_of_gpus_computes_the_same() {
    let Some(lists) = lists() else { return };
    let arch = lists[0][0].arch().unwrap();
    compiles(LOCAL, &KEEPS, &policies(), SEVERAL, &arch);
    compiles(mix(1), &KEEPS, &policies(), SEVERAL, &arch);
    compiles(warp(), &KEEPS, &policies(), SEVERAL, &arch);
    compiles(AFFINE, &KEEPS, &policies(), SEVERAL, &arch);
    let kept = [Keep::Matrix, Keep::LastColumn, Keep::Sum];
    compiles(area(), &kept, &policies(), SEVERAL, &arch);
    for devices in lists {
        for (policy, blocks) in
            policies().into_iter().zip([vec![2, 1, 3, 2], vec![1; 4], Vec::new()])
        {
            let extras = Extras { blocks, ..Extras::default() };
            let new = CudaExecutor::over(&devices, Some(policy)).unwrap();
            let mut executor = new.with(extras);
            let (bits, half) = (|i: &mut Inputs| i.bits() as u32, |i: &mut Inputs| i.bits() as u16);
            let lines = |i: isize, j: isize| (i * 31 + j * 7) as u64;
            conforms(&mut executor, mix(99), &KEEPS, bits, half, lines).unwrap();
            let letter = |inputs: &mut Inputs| inputs.one_of(b"ACGT");
            conforms(&mut executor, LOCAL, &KEEPS, letter, letter, |_, _| 0).unwrap();
            let sample = |inputs: &mut Inputs| (inputs.bits() % 1000) as f32 / 8.0;
            let corner = |i, j| if (i, j) == (-1, -1) { 0.0 } else { f32::INFINITY };
            conforms(&mut executor, warp(), &KEEPS, sample, sample, corner).unwrap();
            let border = |_, _| AffineCell { h: 0, e: -1_000_000, f: -1_000_000 };
            conforms(&mut executor, AFFINE, &KEEPS, letter, letter, border).unwrap();
            let (nothing, byte) = (|_: &mut Inputs| (), |i: &mut Inputs| i.bits() as u8);
            let bytes = Samples { row: &nothing, column: &nothing, input: &byte, cell: &|_| 7 };
            let edge = |i: isize, j: isize| (i * 3 - j) as i32;
            let found = conforms_on(&mut executor, area(), &kept, &bytes, edge);
            assert!(matches!(found, Outcome::Passed(1..)), "{policy:?} {found:?}");
            println!("{devices:?} {policy:?} conforms");
        }
    }
}

/// Last row, last column, and winner or sum of one run, on one GPU and on several.
#[test]
fn edges_are_those_of_three_runs() {
    let Some(mut lists) = lists() else { return };
    lists.push(vec![lists[0][0]]);
    let arch = lists[0][0].arch().unwrap();
    for variant in [EDGES, Variant { several: false, ..EDGES }] {
        compiles(AFFINE, &[Keep::Best, Keep::Sum], &policies(), variant, &arch);
        compiles(mix(9), &[Keep::Least, Keep::Sum, Keep::LastColumn], &policies(), variant, &arch);
    }
    for ([m, n], devices) in
        [[1, 1], [513, 700], [300, 97], [1025, 31]].into_iter().zip(lists.iter().cycle())
    {
        let mut inputs = Inputs(m as u64);
        let rows: Vec<_> = (0..m).map(|_| inputs.one_of(b"ACGT")).collect();
        let columns: Vec<_> = (0..n).map(|_| inputs.one_of(b"ACGT")).collect();
        let words: Vec<_> = (0..m).map(|_| inputs.bits() as u32).collect();
        let halves: Vec<_> = (0..n).map(|_| inputs.bits() as u16).collect();
        let lines = Border::from_fn(m, n, |i, j| (i * 31 + j * 7) as u64);
        for policy in policies() {
            let extras = Extras { blocks: vec![1, 2, 1, 3], ..Extras::default() };
            let mut executor = CudaExecutor::over(devices, Some(policy)).unwrap().with(extras);
            let gaps = Border::Value(AffineCell { h: 0, e: -1_000_000, f: -1_000_000 });
            let gapped = Wavefront::of(AFFINE).rows(&rows).columns(&columns).border(gaps);
            edges(&mut executor, &gapped, Keep::Best);
            edges(&mut executor, &gapped, Keep::Sum);
            let mixed = Wavefront::of(mix(9)).rows(&words).columns(&halves).border(lines.clone());
            for beside in [Keep::Least, Keep::Sum, Keep::LastRow] {
                edges(&mut executor, &mixed, beside);
            }
        }
    }
}

fn edges<E: WavefrontElement>(
    executor: &mut CudaExecutor,
    wavefront: &Wavefront<'_, E>,
    beside: Keep,
) {
    let keep = |keep| reference(&wavefront.clone().keep(keep)).unwrap();
    let (found, _) = executor.edges(&wavefront.clone().keep(beside)).unwrap();
    assert_eq!(Kept::LastRow(found.row), keep(Keep::LastRow));
    assert_eq!(Kept::LastColumn(found.column), keep(Keep::LastColumn));
    match beside {
        Keep::Best | Keep::Least => assert_eq!(Kept::Best(found.best), keep(beside)),
        Keep::Sum => assert_eq!(found.sum.map(Kept::Sum), Some(keep(beside))),
        _ => assert_eq!((found.best, found.sum), (None, None)),
    }
}

/// Runs of a stress test; each takes about a millisecond.
const STRESSES: usize = 1500;

/// Runs all of `wavefronts` in all of `shapes` on all of `lists` under random delays and numbers of
/// blocks: whatever the flags allow, cells are the reference's.
fn stress<E: WavefrontElement>(
    lists: &[Vec<Device>],
    shapes: &[CudaPolicy],
    wavefronts: &[Wavefront<'_, E>],
) {
    let right: Vec<_> = wavefronts.iter().map(|w| reference(w).unwrap()).collect();
    let mut pick = Inputs(2 + schedules_seed());
    let mut schedules = 0;
    for devices in lists {
        for &shape in shapes {
            for (wavefront, right) in wavefronts.iter().zip(&right) {
                let mut executor = CudaExecutor::over(devices, Some(shape)).unwrap();
                for _ in 0..STRESSES.div_ceil(lists.len() * shapes.len() * wavefronts.len()) {
                    let blocks = (0..4).map(|_| 1 + (pick.bits() % 5) as usize).collect();
                    let extras = Extras { delays: Some(pick.bits() as u32), blocks };
                    executor = executor.with(extras.clone());
                    let found = executor.run(wavefront).unwrap().0;
                    schedules += 1;
                    let case = format!("{} over {:?}", E::NAME, wavefront.extents());
                    assert!(found == *right, "{case}: {devices:?} {shape:?} {extras:?}");
                }
            }
        }
    }
    println!("\n{schedules} schedules of {} in strips", E::NAME);
}

/// What seeds of random schedules begin with: `cargo xtask torture` sets it.
pub fn schedules_seed() -> u64 {
    std::env::var("WARPWEFT_SCHEDULES_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

#[test]
fn flags_between_gpus_hold_whatever_the_delays() {
    let Some(lists) = lists() else { return };
    let arch = lists[0][0].arch().unwrap();
    let mut inputs = Inputs(1);
    let rows: Vec<_> = (0..700).map(|_| inputs.bits() as u32).collect();
    let columns: Vec<_> = (0..450).map(|_| inputs.bits() as u16).collect();
    let plain = Wavefront::of(mix(7)).rows(&rows).columns(&columns);
    let keeps = [Keep::LastRow, Keep::Matrix, Keep::Best, Keep::Sum];
    compiles(mix(7), &keeps, &policies(), DELAYED, &arch);
    stress(&lists, &policies(), &keeps.map(|keep| plain.clone().keep(keep)));
}

/// A cell that its place and its input decide, and no other cell's order.
#[wavefront]
fn woven(h: Earlier<u32>, #[cell] x: u32) -> u32 {
    (h.n ^ h.w.rotate_left(5) ^ x).wrapping_mul(0x85eb_ca6b) ^ h.nw
}

/// Shapes whose copy warps carry pieces of 8 to 32 columns, for 1 to 32 lanes at one time.
fn with_porters() -> [CudaPolicy; 5] {
    [[2, 2, 32, 1, 1], [1, 1, 8, 3, 1], [3, 8, 8, 2, 1], [2, 2, 16, 2, 1], [1, 1, 32, 2, 1]]
        .map(policy)
}

/// What copy warps bring in and take out is whole whenever the warps next to them come there: rows that
/// begin at 16 bytes, and others, on one GPU and on several.
#[test]
fn porters_hold_whatever_the_delays() {
    let Some(mut lists) = lists() else { return };
    lists.push(vec![lists[0][0]]);
    let arch = lists[0][0].arch().unwrap();
    let keeps = [Keep::Matrix, Keep::Best, Keep::LastRow];
    let mut inputs = Inputs(3);
    let pixels: Vec<_> = (0..700 * 464).map(|_| inputs.bits() as u8).collect();
    let words: Vec<_> = pixels.iter().map(|_| inputs.bits() as u32).collect();
    for variant in [DELAYED, ALONE_DELAYED] {
        compiles(area(), &keeps, &with_porters(), variant, &arch);
        compiles(woven(), &keeps, &with_porters(), variant, &arch);
    }
    let extents = [[700, 464], [700, 450]];
    let both = keeps.into_iter().flat_map(|keep| extents.map(|extents| (keep, extents)));
    let (mut areas, mut wovens) = (Vec::new(), Vec::new());
    for (keep, [m, n]) in both {
        areas.push(Wavefront::of(area()).over([m, n]).inputs(&pixels[..m * n]).keep(keep));
        wovens.push(Wavefront::of(woven()).over([m, n]).inputs(&words[..m * n]).keep(keep));
    }
    for shape in with_porters() {
        // Or copy warps would only bring in.
        let mut alone = CudaExecutor::new(&lists[0][0], Some(shape)).unwrap();
        assert_eq!(alone.run(&wovens[0]).unwrap().1.notes, [""; 0], "{shape:?}");
    }
    stress(&lists, &with_porters(), &areas);
    stress(&lists, &with_porters(), &wovens);
}

/// One case for a memory checker.
#[test]
#[ignore = "run under compute-sanitizer"]
fn one_case_on_several() {
    let Some(lists) = lists() else { return };
    let Some(devices) = lists.first() else { return };
    let extras = Extras { blocks: vec![2; 4], ..Extras::default() };
    let new = CudaExecutor::over(devices, Some(policies()[1])).unwrap();
    let letter = |inputs: &mut Inputs| inputs.one_of(b"ACGT");
    let keeps = [Keep::Best, Keep::LastColumn];
    conforms(&mut new.with(extras), LOCAL, &keeps, letter, letter, |_, _| 0).unwrap();
}
