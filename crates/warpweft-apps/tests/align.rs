//! Local alignment against parasail's recorded answers, and against the straightforward loop.

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::conformance::Inputs;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft_apps::align::{Alignment, Executor, Sequence, Weights, local, plain};

fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut inputs = Inputs(seed);
    (0..length).map(|_| inputs.one_of(b"ACGT")).collect()
}

/// 5 % substitutions, 1 % deletions, 1 % insertions, as `bench/peers/align_parasail.py` makes them.
fn mutated(seed: u64, text: &[u8]) -> Vec<u8> {
    let mut inputs = Inputs(seed);
    let mut out = Vec::new();
    for &letter in text {
        match inputs.bits() % 100 {
            0..5 => out.push(inputs.one_of(b"ACGT")),
            5 => {}
            6 => out.extend([inputs.one_of(b"ACGT"), letter]),
            _ => out.push(letter),
        }
    }
    out
}

type Answer = (i32, i32, i32, &'static str, usize, i32, Option<[usize; 2]>);

/// Match, mismatch, gap, kind, length; score and, for short pairs, ends: `align_parasail.py` with
/// parasail 1.3.4, 32-bit routines.
#[rustfmt::skip]
const PARASAIL: [Answer; 18] = [
    (2, -1, -1, "random", 60, 43, Some([59, 59])),
    (2, -1, -1, "random", 1000, 743, Some([999, 962])),
    (2, -1, -1, "random", 20000, 15098, None),
    (2, -1, -1, "mutated", 60, 109, Some([60, 58])),
    (2, -1, -1, "mutated", 1000, 1828, Some([1000, 999])),
    (2, -1, -1, "mutated", 20000, 37074, None),
    (5, -4, -8, "random", 60, 37, Some([43, 32])),
    (5, -4, -8, "random", 1000, 165, Some([414, 997])),
    (5, -4, -8, "random", 20000, 2012, None),
    (5, -4, -8, "mutated", 60, 264, Some([60, 58])),
    (5, -4, -8, "mutated", 1000, 4392, Some([1000, 999])),
    (5, -4, -8, "mutated", 20000, 89302, None),
    (1, -3, -2, "random", 60, 5, Some([37, 26])),
    (1, -3, -2, "random", 1000, 11, Some([636, 661])),
    (1, -3, -2, "random", 20000, 14, None),
    (1, -3, -2, "mutated", 60, 50, Some([60, 58])),
    (1, -3, -2, "mutated", 1000, 781, Some([1000, 999])),
    (1, -3, -2, "mutated", 20000, 16151, None),
];

fn agrees_with_parasail(executor: &mut dyn Executor) {
    for (matching, mismatch, gap, kind, length, score, ends) in PARASAIL {
        let a = random(length as u64, length);
        let b = match kind {
            "random" => random(length as u64 + 1, length),
            _ => mutated(7, &a),
        };
        let [a, b] = [a, b].map(|letters| Sequence::new(kind, &letters).unwrap());
        let weights = Weights { matching, mismatch, gap };
        let (found, _) = local(&a, &b, weights, executor).unwrap();
        assert_eq!(found.score, score, "{weights:?} {kind} {length}");
        if let Some(ends) = ends {
            assert_eq!([found.query_end, found.target_end], ends, "{weights:?} {kind} {length}");
        }
    }
}

fn agrees_with_the_plain_loop(executor: &mut dyn Executor) {
    let mut inputs = Inputs(11);
    for case in 0..60 {
        let weights = [
            Weights::default(),
            Weights { matching: 1, mismatch: 0, gap: 0 },
            Weights { matching: 1, mismatch: -1, gap: -1 },
            Weights { matching: 300, mismatch: -200, gap: -500 },
        ][case % 4];
        // Few letters make many equal scores; some sequences hold ambiguous letters.
        let letters = [&b"ACGT"[..], b"AC", b"A", b"ACGTN", b"NR"][case % 5];
        let [a, b] = [0, 1].map(|_| {
            let length = 1 + (inputs.bits() % 700) as usize;
            let text: Vec<_> = (0..length).map(|_| inputs.one_of(letters)).collect();
            Sequence::new("case", &text).unwrap()
        });
        let (found, _) = local(&a, &b, weights, executor).unwrap();
        assert_eq!(found, plain(&a, &b, weights), "case {case}");
    }
}

#[test]
fn the_cores_agree_with_parasail_and_the_plain_loop() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core, core]).unwrap();
    for rows in [300, 20_000] {
        let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(rows, 2)).unwrap();
        agrees_with_the_plain_loop(&mut executor);
        if rows == 20_000 {
            agrees_with_parasail(&mut executor);
        }
    }
}

#[test]
fn a_gpu_agrees_with_parasail_and_the_plain_loop() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut executor = CudaExecutor::new(&device, None).unwrap();
    agrees_with_the_plain_loop(&mut executor);
    agrees_with_parasail(&mut executor);
}

#[test]
fn weights_that_make_no_sense_and_scores_beyond_32_bits_are_refused() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(1, 1)).unwrap();
    let a = Sequence::new("a", b"ACGT").unwrap();
    let mut error = |weights| local(&a, &a, weights, &mut executor).unwrap_err().to_string();
    let weights = Weights { matching: 0, mismatch: -1, gap: -1 };
    assert!(error(weights).contains("match 0"));
    let weights = Weights { matching: 1, mismatch: -1, gap: 1 };
    assert!(error(weights).contains("gap 1"));
    let weights = Weights { matching: i32::MAX / 2, mismatch: -1, gap: -1 };
    assert!(error(weights).contains("i32 holds"));
}

#[test]
fn sequences_without_a_common_letter_score_nothing() {
    let [a, b] = [b"AAA", b"CCC"].map(|text| Sequence::new("x", text).unwrap());
    let nothing = Alignment { score: 0, query_end: 0, target_end: 0 };
    assert_eq!(plain(&a, &b, Weights::default()), nothing);
}
