//! Local alignment with two cells a register: exact where it runs, refused where it would not be.

use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cuda::{CudaExecutor, compile_check};
use warpweft::wavefront::{Border, CudaPolicy, Keep, Wavefront, WavefrontExecutor, reference};
use warpweft_apps::align::{Dna, Weights};
use warpweft_lab::conformance::wavefront::Inputs;

fn policy([rows, columns, chunk, warps]: [u32; 4]) -> CudaPolicy {
    CudaPolicy { rows, columns, chunk, warps, blocks: 1, packed_16x2: true }
}

fn dna(matching: i32, mismatch: i32, gap: i32) -> Dna {
    Dna::new(Weights::linear(matching, mismatch, gap))
}

#[test]
fn kernels_compile_with_and_without_instructions_for_pairs() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let wavefront = Wavefront::of(dna(2, -1, -1)).rows(b"A").columns(b"A").keep(Keep::Score);
    for arch in ["sm_80", "sm_90"] {
        compile_check(&wavefront, &policy([4, 1, 16, 2]), arch).unwrap();
    }
}

#[test]
fn what_sixteen_bits_do_not_hold_is_refused_with_its_numbers() {
    let shape = policy([15, 1, 32, 8]);
    let check = |wavefront: &Wavefront<'_, Dna>| {
        compile_check(wavefront, &shape, "sm_90").unwrap_err().to_string()
    };
    let of = |element| Wavefront::of(element).rows(b"A").columns(b"A");
    let far = check(&of(dna(20, -1, -20)));
    assert!(far.contains("its cells differ by up to"), "{far}");
    let border = check(&of(dna(2, -1, -1)).border(Border::from_fn(1, 1, |_, _| 0)));
    assert!(border.contains("border"), "{border}");
    let offset = check(&of(dna(2, -1, -1)).border(Border::Value(7)));
    assert!(offset.contains("not known"), "{offset}");
    let kept = check(&of(dna(2, -1, -1)).keep(Keep::Matrix));
    assert!(kept.contains("Matrix"), "{kept}");
}

/// Scores far beyond 16 bits too: the base moves along.
#[test]
fn pairs_equal_the_reference_on_the_gpu() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut inputs = Inputs(7);
    let a: Vec<u8> = (0..3000).map(|_| inputs.one_of(b"ACGTN")).collect();
    let noise: Vec<u8> = (0..2500).map(|_| inputs.one_of(b"ACGT")).collect();
    let same = |i: usize| if !i.is_multiple_of(50) && a[i] != b'N' { a[i] } else { noise[i] };
    let b: Vec<u8> = (0..2500).map(same).collect();
    for shape in [[1, 1, 8, 1], [3, 2, 16, 4], [4, 1, 32, 3]] {
        let mut executor = CudaExecutor::new(&device, Some(policy(shape))).unwrap();
        for element in [dna(2, -1, -1), dna(5, -4, -3), dna(30, -7, -1)] {
            for [m, n] in [[1, 1], [63, 200], [700, 65], [1500, 2500], [3000, 2311]] {
                for keep in [Keep::Best, Keep::Score] {
                    let wavefront =
                        Wavefront::of(element).rows(&a[..m]).columns(&b[..n]).keep(keep);
                    let expect = reference(&wavefront).unwrap();
                    let (found, _) = executor.run(&wavefront).unwrap();
                    assert_eq!(found, expect, "{m} × {n}, {shape:?}");
                }
            }
        }
    }
}
