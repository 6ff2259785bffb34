//! Wavefronts on a GPU against the reference; without one, that the kernels compile.

use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::conformance::{
    AffineCell, Inputs, KEEPS, affine_local, conforms, local, mix, warp,
};
use warpweft::wavefront::cuda::{CudaExecutor, compile_check};
use warpweft::wavefront::{CudaPolicy, Earlier, Keep, Wavefront, WavefrontElement, wavefront};

const LOCAL: local = local { matching: 2, mismatch: -1, gap: -1 };
const AFFINE: affine_local = affine_local { matching: 2, mismatch: -3, open: -5, extend: -1 };

fn policies() -> Vec<CudaPolicy> {
    [
        (1, 1, 8, 1, 1),
        (4, 2, 16, 4, 1),
        (5, 4, 16, 3, 2),
        (8, 4, 32, 8, 1),
        (3, 8, 8, 2, 4),
        (2, 1, 32, 2, 1),
    ]
    .map(|(rows, columns, chunk, warps, blocks)| CudaPolicy {
        rows,
        columns,
        chunk,
        warps,
        blocks,
        pairs: false,
    })
    .to_vec()
}

/// Whether the row's letter is here or to the west.
#[wavefront]
fn seen(h: Earlier<bool>, #[row] a: u8, #[column] b: u8) -> bool {
    h.w || a == b
}

/// Compiles the kernels of `element` for all of `keeps` × `policies` at once, into the cache.
fn compiles<E: WavefrontElement>(element: E, keeps: &[Keep], policies: &[CudaPolicy], arch: &str) {
    let (a, b) = ([E::Row::default(); 3], [E::Column::default(); 3]);
    let wavefront = Wavefront::of(element).rows(&a).columns(&b);
    std::thread::scope(|scope| {
        for (keep, policy) in keeps.iter().flat_map(|keep| policies.iter().map(move |p| (keep, p)))
        {
            let wavefront = wavefront.clone().keep(*keep);
            scope.spawn(move || compile_check(&wavefront, policy, arch).unwrap());
        }
    });
}

#[test]
fn kernels_of_every_kind_of_cell_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let policy = &policies()[1..2];
    compiles(LOCAL, &KEEPS, policy, "sm_90");
    compiles(LOCAL, &[Keep::Best, Keep::Sum], &policies()[3..], "sm_80");
    compiles(mix(1), &KEEPS[3..], policy, "sm_90");
    compiles(warp(), &KEEPS[..1], policy, "sm_90");
    compiles(AFFINE, &KEEPS[..1], policy, "sm_90");
    // Pieces of rows that are less than the widest store.
    compiles(seen(), &[Keep::Sum, Keep::Matrix], &policies(), "sm_80");
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_their_numbers() {
    let good = policies()[1];
    let wavefront = Wavefront::of(LOCAL).rows(b"A").columns(b"A");
    for (policy, says) in [
        (CudaPolicy { rows: 0, ..good }, "0 rows a lane"),
        (CudaPolicy { columns: 3, ..good }, "3 columns a macro-step"),
        (CudaPolicy { chunk: 24, ..good }, "a chunk of 24 columns"),
        (CudaPolicy { warps: 30, columns: 4, ..good }, "30 warps of 4 columns"),
    ] {
        let error = compile_check(&wavefront, &policy, "sm_90").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let defaults = [100, 20_000, 100_000, 1_000_000]
        .into_iter()
        .flat_map(|rows| {
            [4, 8, 12, 16].map(|cell| {
                let [domain, matrix] =
                    [CudaPolicy::for_domain, CudaPolicy::for_matrix].map(|of| of(rows, cell, 132));
                [Some(domain), Some(matrix), CudaPolicy::for_pairs(rows, 132)]
            })
        })
        .flatten()
        .flatten();
    for policy in defaults {
        policy.check(4).unwrap();
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

fn sweep(keeps: &[Keep], policies: &[CudaPolicy]) {
    let Some(device) = device() else { return };
    let arch = device.arch().unwrap();
    compiles(LOCAL, keeps, policies, &arch);
    compiles(mix(1), keeps, policies, &arch);
    compiles(warp(), keeps, policies, &arch);
    compiles(AFFINE, keeps, policies, &arch);
    compiles(seen(), &[Keep::Sum], policies, &arch);
    for &policy in policies {
        let mut executor = CudaExecutor::new(&device, Some(policy)).unwrap();
        let (bits, half) = (|i: &mut Inputs| i.bits() as u32, |i: &mut Inputs| i.bits() as u16);
        let lines = |i: isize, j: isize| (i * 31 + j * 7) as u64;
        conforms(&mut executor, mix(99), keeps, bits, half, lines).unwrap();
        let letter = |inputs: &mut Inputs| inputs.one_of(b"ACGT");
        conforms(&mut executor, LOCAL, keeps, letter, letter, |_, _| 0).unwrap();
        let sample = |inputs: &mut Inputs| (inputs.bits() % 1000) as f32 / 8.0;
        let corner = |i, j| if (i, j) == (-1, -1) { 0.0 } else { f32::INFINITY };
        conforms(&mut executor, warp(), keeps, sample, sample, corner).unwrap();
        let border = |_, _| AffineCell { h: 0, e: -1_000_000, f: -1_000_000 };
        conforms(&mut executor, AFFINE, keeps, letter, letter, border).unwrap();
        conforms(&mut executor, seen(), &[Keep::Sum], letter, letter, |i, j| i * j == 1).unwrap();
        println!("{policy:?} {keeps:?} conforms");
    }
}

#[test]
fn every_policy_conforms_on_the_gpu() {
    sweep(&KEEPS, &policies());
}

/// A shape small enough for a memory checker.
#[test]
#[ignore = "run under compute-sanitizer"]
fn one_policy_conforms() {
    sweep(&[Keep::Best, Keep::LastRow, Keep::Sum], &policies()[3..4]);
}
