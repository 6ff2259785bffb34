//! Wavefronts on a GPU against the reference; without one, that the kernels compile.

use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cuda::{CudaExecutor, compile_check};
use warpweft::wavefront::{
    CudaPolicy, Earlier, Keep, Wavefront, WavefrontElement, WavefrontExecutor, reference, wavefront,
};
use warpweft_conformance::wavefront::{
    AffineCell, Inputs, KEEPS, Outcome, Samples, affine_local, area, conforms, conforms_on, local,
    mix, warp,
};

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
        packed_16x2: false,
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
    compiles(seen(), &[Keep::Sum], policy, "sm_80");
    // Pieces of rows that are less than the widest store.
    compiles(seen(), &[Keep::Matrix], &policies(), "sm_80");
}

/// A global alignment, of which the best cell is kept: in shapes of many rows the compiler saw maxima of
/// so many cells that it ended the process.
#[wavefront]
fn global(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, gap: i32) -> i32 {
    let pair = if a == b { 2 } else { -1 };
    (h.n + gap).max((h.nw + pair).max(h.w + gap))
}

#[test]
fn kernels_of_many_rows_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let shape = |rows, columns, warps| CudaPolicy {
        rows,
        columns,
        chunk: 32,
        warps,
        blocks: 1,
        packed_16x2: false,
    };
    compiles(global(-1), &[Keep::Best], &[shape(15, 2, 4), shape(15, 8, 8)], "sm_90");
}

/// A summed-area table, cell by cell.
#[wavefront]
fn table(h: Earlier<f32>, #[cell] x: f32) -> f32 {
    x + h.n + h.w - h.nw
}

/// Shapes with inputs of cells: pieces of 8 to 32 columns, which leave and come by words and by more.
fn with_inputs() -> [CudaPolicy; 5] {
    [(4, 1, 32, 2, 1), (2, 2, 32, 4, 1), (3, 8, 8, 2, 1), (1, 1, 8, 1, 2), (4, 2, 32, 1, 1)].map(
        |(rows, columns, chunk, warps, blocks)| CudaPolicy {
            rows,
            columns,
            chunk,
            warps,
            blocks,
            packed_16x2: false,
        },
    )
}

#[test]
fn kernels_with_inputs_of_cells_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compiles(area(), &[Keep::Matrix], &with_inputs()[..1], "sm_80");
    compiles(area(), &[Keep::Best], &with_inputs()[..1], "sm_90");
    compiles(area(), &[Keep::Sum, Keep::LastColumn], &with_inputs()[2..3], "sm_90");
    compiles(table(), &[Keep::Matrix], &with_inputs()[..2], "sm_90");
    let large = CudaPolicy { rows: 16, warps: 4, ..with_inputs()[0] };
    let wavefront = Wavefront::of(table()).over([3, 3]);
    let error = compile_check(&wavefront, &large, "sm_90").unwrap_err().to_string();
    assert!(error.contains("of shared memory for table, limit 232448"), "{error}");
    // As many warps next to those that compute.
    let many = CudaPolicy { rows: 1, chunk: 8, warps: 16, ..with_inputs()[0] };
    let error = compile_check(&wavefront, &many, "sm_90").unwrap_err().to_string();
    assert!(error.contains("1088 threads"), "{error}");
}

#[test]
fn inputs_of_cells_conform_on_the_gpu() {
    let Some(device) = device() else { return };
    let arch = device.arch().unwrap();
    compiles(area(), &KEEPS, &with_inputs(), &arch);
    compiles(table(), &KEEPS[..6], &with_inputs(), &arch);
    let nothing = |_: &mut Inputs| ();
    let byte = |inputs: &mut Inputs| inputs.bits() as u8;
    let eighth = |inputs: &mut Inputs| (inputs.bits() % 1000) as f32 / 8.0;
    for policy in with_inputs().map(Some).into_iter().chain([None]) {
        let mut executor = CudaExecutor::new(&device, policy).unwrap();
        let bytes = Samples { row: &nothing, column: &nothing, input: &byte, cell: &|_| 7 };
        let found = conforms_on(&mut executor, area(), &KEEPS, &bytes, |i, j| (i * 3 - j) as i32);
        assert!(matches!(found, Outcome::Passed(100..)), "{policy:?} {found:?}");
        let reals = Samples { row: &nothing, column: &nothing, input: &eighth, cell: &|_| 0.5 };
        let edge = |i: isize, j: isize| (i * 5 - j) as f32 / 4.0;
        let found = conforms_on(&mut executor, table(), &KEEPS, &reals, edge);
        assert!(matches!(found, Outcome::Passed(100..)), "{policy:?} {found:?}");
        println!("{policy:?} conforms");
    }
}

#[test]
fn a_run_says_that_its_matrix_left_cell_by_cell() {
    let Some(device) = device() else { return };
    let pixels = [1; 300 * 300];
    let table = Wavefront::of(area()).over([300; 2]).inputs(&pixels).keep(Keep::Matrix);
    for (warps, notes) in [(1, 0), (4, 1)] {
        let policy = CudaPolicy { columns: 2, warps, ..with_inputs()[0] };
        let mut executor = CudaExecutor::new(&device, Some(policy)).unwrap();
        let (found, report) = executor.run(&table).unwrap();
        assert_eq!(found, reference(&table).unwrap());
        let told = report.notes.iter().filter(|note| note.contains("cell by cell")).count();
        assert_eq!(told, notes, "{policy:?} {:?}", report.notes);
    }
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
                [Some(domain), Some(matrix), CudaPolicy::for_packed(rows, cell, 132)]
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
