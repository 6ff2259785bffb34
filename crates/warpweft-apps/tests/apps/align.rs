//! Alignment against parasail's recorded answers, and against the straightforward loop.

use crate::parasail::{GLOBAL, LOCAL, Pair};
use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft_apps::align::{Alignment, Executor, Scope, Sequence, Weights, align, plain};
use warpweft_conformance::wavefront::Inputs;

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

/// The pair's score and ends.
fn aligned(pair: Pair, scope: Scope, executor: &mut dyn Executor) -> Alignment {
    let (matching, mismatch, open, extend, kind, length) = pair;
    let a = random(length as u64, length);
    let b = match kind {
        "random" => random(length as u64 + 1, length),
        _ => mutated(7, &a),
    };
    let [a, b] = [a, b].map(|letters| Sequence::new(kind, &letters).unwrap());
    let weights = Weights { matching, mismatch, open, extend };
    align(&a, &b, weights, scope, executor).unwrap().0
}

/// As far as `wanted` says; a long pair takes seconds on a core.
fn agrees_with_parasail(executor: &mut dyn Executor, wanted: impl Fn(&Pair, Scope) -> bool) {
    for (pair, score, ends) in LOCAL.into_iter().filter(|(pair, ..)| wanted(pair, Scope::Local)) {
        let found = aligned(pair, Scope::Local, executor);
        assert_eq!(found.score, score, "local {pair:?}");
        if let Some(ends) = ends {
            assert_eq!([found.query_end, found.target_end], ends, "local {pair:?}");
        }
    }
    for (pair, score) in GLOBAL.into_iter().filter(|(pair, _)| wanted(pair, Scope::Global)) {
        assert_eq!(aligned(pair, Scope::Global, executor).score, score, "global {pair:?}");
    }
}

fn agrees_with_the_plain_loop(executor: &mut dyn Executor) {
    let mut inputs = Inputs(11);
    let affine = |matching, mismatch, open, extend| Weights { matching, mismatch, open, extend };
    for case in 0..120 {
        let weights = [
            Weights::default(),
            Weights::linear(1, 0, 0),
            Weights::linear(1, -1, -1),
            Weights::linear(300, -200, -500),
            affine(2, -3, -5, -1),
            affine(1, -1, -2, 0),
        ][case % 6];
        // Few letters make many equal scores; some sequences hold ambiguous letters.
        let letters = [&b"ACGT"[..], b"AC", b"A", b"ACGTN", b"NR"][case % 5];
        let [a, b] = [0, 1].map(|_| {
            let length = 1 + (inputs.bits() % 700) as usize;
            let text: Vec<_> = (0..length).map(|_| inputs.one_of(letters)).collect();
            Sequence::new("case", &text).unwrap()
        });
        for scope in [Scope::Local, Scope::Global] {
            let (found, _) = align(&a, &b, weights, scope, executor).unwrap();
            assert_eq!(found, plain(&a, &b, weights, scope), "case {case} {scope:?}");
        }
    }
}

#[test]
fn the_cores_agree_with_parasail_and_the_plain_loop() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core, core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(300, 2)).unwrap();
    agrees_with_the_plain_loop(&mut executor);
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(20_000, 2)).unwrap();
    // Of long pairs one is enough: what differs between scopes does so in short ones too.
    let long = (5, -4, -12, -2, "random", 20_000);
    agrees_with_parasail(&mut executor, |pair, scope| {
        pair.5 <= 1000 || (*pair == long && scope == Scope::Local)
    });
}

#[test]
fn a_gpu_agrees_with_parasail_and_the_plain_loop() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut executor = CudaExecutor::new(&device, None).unwrap();
    agrees_with_the_plain_loop(&mut executor);
    agrees_with_parasail(&mut executor, |_, _| true);
}

#[test]
fn weights_that_make_no_sense_and_scores_beyond_32_bits_are_refused() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(1, 1)).unwrap();
    let a = Sequence::new("a", b"ACGT").unwrap();
    let mut error =
        |weights, scope| align(&a, &a, weights, scope, &mut executor).unwrap_err().to_string();
    assert!(error(Weights::linear(0, -1, -1), Scope::Local).contains("match 0"));
    assert!(error(Weights::linear(2, 5, -1), Scope::Local).contains("mismatch 5"));
    assert!(error(Weights::linear(1, -1, 1), Scope::Local).contains("gap 1"));
    let cheap = Weights { matching: 1, mismatch: -1, open: -1, extend: -2 };
    assert!(error(cheap, Scope::Global).contains("first letter of a gap scores -1"));
    let rich = Weights::linear(i32::MAX / 2, -1, -1);
    assert!(error(rich, Scope::Local).contains("match, mismatch and gap nearer to 0"));
    // Scores of affine global alignment must stay above the mark for "no such alignment".
    let dear = Weights { matching: 1, mismatch: -1, open: i32::MIN / 6, extend: -1 };
    assert!(error(dear, Scope::Global).contains("more than 32 bits hold"));
}

#[test]
fn sequences_without_a_common_letter_score_nothing() {
    let [a, b] = [b"AAA", b"CCC"].map(|text| Sequence::new("x", text).unwrap());
    let nothing = Alignment { score: 0, query_end: 0, target_end: 0 };
    assert_eq!(plain(&a, &b, Weights::default(), Scope::Local), nothing);
}
