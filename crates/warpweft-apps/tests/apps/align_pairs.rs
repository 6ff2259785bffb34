//! Local alignment in cells of 16 bits: exact where it runs, refused where it would not be. Two cells a register on
//! GPUs; proteins on the cores.

use std::sync::Arc;

use warpweft::cpu::{Pool, Simd};
use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{CudaExecutor, compile_check};
use warpweft::wavefront::{
    Border, CpuPolicy, CudaPolicy, Keep, Wavefront, WavefrontElement, WavefrontExecutor, reference,
};
use warpweft_apps::align::{
    Dna, Gapped, Matrix, Scope, Scoring, Sequence, Weights, affine, scored,
};
use warpweft_conformance::wavefront::Inputs;

fn policy([rows, columns, chunk, warps]: [u32; 4]) -> CudaPolicy {
    CudaPolicy { rows, columns, chunk, warps, blocks: 1, packed_16x2: true }
}

fn dna(matching: i32, mismatch: i32, gap: i32) -> Dna {
    Dna::new(Weights::linear(matching, mismatch, gap))
}

/// With the border that local alignments with affine gaps have.
fn gapped<'a>(element: affine, a: &'a [u8], b: &'a [u8]) -> Wavefront<'a, affine> {
    let border = Gapped { h: 0, e: element.open, f: element.open };
    Wavefront::of(element).rows(a).columns(b).border(Border::Value(border))
}

#[test]
fn kernels_compile_with_and_without_instructions_for_pairs() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let wavefront = Wavefront::of(dna(2, -1, -1)).rows(b"A").columns(b"A").keep(Keep::Score);
    let affine = gapped(affine(2, -3, -5, -1), b"A", b"A");
    for arch in ["sm_80", "sm_90"] {
        compile_check(&wavefront, &policy([4, 1, 16, 2]), arch).unwrap();
        compile_check(&affine, &policy([3, 1, 16, 2]), arch).unwrap();
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
    let letters = check(&of(dna(2, -1, -1)).columns(b"ACGNT"));
    assert!(letters.contains("more than four symbols"), "{letters}");
    let byte = check(&of(dna(120, -1, -20)));
    assert!(byte.contains("differ by up to 140"), "{byte}");
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
        for [m, n] in [[1, 1], [63, 200], [700, 65], [1500, 2500], [3000, 2311]] {
            let (a, b) = (&a[..m], &b[..n]);
            for element in [dna(2, -1, -1), dna(5, -4, -3), dna(30, -7, -1)] {
                agrees(&device, shape, &Wavefront::of(element).rows(a).columns(b));
            }
            for element in [affine(2, -3, -5, -1), affine(5, -4, -12, 0), affine(20, -7, -2, -2)] {
                agrees(&device, shape, &gapped(element, a, b));
            }
        }
    }
}

fn agrees<E>(device: &Device, shape: [u32; 4], wavefront: &Wavefront<'_, E>)
where
    E: WavefrontElement,
    E::Cell: std::fmt::Debug,
{
    let mut executor = CudaExecutor::new(device, Some(policy(shape))).unwrap();
    for keep in [Keep::Best, Keep::Score] {
        let wavefront = wavefront.clone().keep(keep);
        let expect = reference(&wavefront).unwrap();
        let (found, _) = executor.run(&wavefront).unwrap();
        assert_eq!(found, expect, "{}, {:?}, {shape:?}", E::NAME, wavefront.extents());
    }
}

/// By a matrix, on the cores: whatever the instruction set.
#[test]
fn proteins_of_16_bit_cells_equal_the_reference() {
    let matrix = Arc::new(Matrix::named("BLOSUM62").unwrap());
    let element = scored::with(&Scoring::by_matrix(matrix.clone(), -12, -1), Scope::Local).unwrap();
    let mut inputs = Inputs(11);
    let letters: Vec<u8> = (0..400).map(|_| inputs.one_of(b"ARNDCQEGHILKMFPSTWYV")).collect();
    let changed = |k: usize, &letter: &u8| if k % 7 == 3 { b'W' } else { letter };
    let other: Vec<u8> = letters.iter().enumerate().map(|(k, letter)| changed(k, letter)).collect();
    let same = [b'W'; 700];
    let border = Border::Value(Gapped { h: 0, e: -12, f: -12 });
    let pool = Pool::new(&[0]).unwrap();
    for (a, b) in [(&letters[..], &other[..]), (&same, &same), (&letters[..37], &same)] {
        let [a, b] = [a, b].map(|letters| Sequence::of(&matrix, "protein", letters).unwrap());
        let plain = Wavefront::of(element).rows(a.as_rows()).columns(b.as_columns());
        let plain = plain.border(border.clone());
        let expect = reference(&plain).unwrap();
        for simd in Simd::available() {
            let policy = CpuPolicy { tile_rows: 256, tile_columns: 512, cells_16_bit: true };
            let mut executor = CpuExecutor::new(&pool, policy).unwrap().simd(simd);
            assert_eq!(executor.run(&plain).unwrap().0, expect, "{simd}");
        }
    }
}
