//! Functions that look scores up in a table given as a parameter: cores and GPU equal a plain loop, and no
//! executor leaves them to a slower form.

use warpweft::cpu::Pool;
use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{
    CudaExecutor, compile_batch_check, compile_check, misses, tiles::TileExecutor,
};
use warpweft::wavefront::{
    Best, CpuPolicy, CudaPolicy, Earlier, Keep, Kept, Wavefront, WavefrontExecutor, wavefront,
};
use warpweft_lab::conformance::wavefront::Inputs;

/// Smith-Waterman by a table of 32 symbols and a linear gap. Masks keep every index inside.
#[wavefront]
fn scored(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: [[i8; 32]; 32], gap: i32) -> i32 {
    let column = (b & 31) as usize;
    let pair = scores[(a & 31) as usize][column] as i32;
    (h.n + gap).max((h.nw + pair).max(h.w + gap).max(0))
}

/// The same with an index that may leave the table.
#[wavefront]
fn unproved(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: [[i8; 4]; 4]) -> i32 {
    (h.nw + scores[a as usize][(b & 3) as usize] as i32).max(h.n.max(h.w) - 1).max(0)
}

/// A table without symmetry, so that rows and columns can't be mistaken for one another.
fn table(inputs: &mut Inputs) -> [[i8; 32]; 32] {
    [(); 32].map(|()| [(); 32].map(|()| (inputs.bits() % 17) as i8 - 9))
}

fn symbols(inputs: &mut Inputs, count: usize) -> Vec<u8> {
    (0..count).map(|_| (inputs.bits() % 32) as u8).collect()
}

/// The best score and its first place, by a whole table in 64 bits.
fn plain(a: &[u8], b: &[u8], scores: &[[i8; 32]; 32], gap: i64) -> Option<Best<i32>> {
    let mut h = vec![vec![0i64; b.len() + 1]; a.len() + 1];
    let mut best: Option<Best<i32>> = None;
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let pair = i64::from(scores[usize::from(x)][usize::from(y)]);
            let cell = (h[i][j] + pair).max(h[i][j + 1] + gap).max(h[i + 1][j] + gap).max(0);
            h[i + 1][j + 1] = cell;
            if best.is_none_or(|best| cell > best.score.into()) {
                best = Some(Best { score: cell as i32, row: i, column: j });
            }
        }
    }
    best
}

fn conforms(executor: &mut dyn WavefrontExecutor<scored>) {
    let mut inputs = Inputs(25);
    let scores = table(&mut inputs);
    let sizes = [[1, 1], [3, 70], [64, 65], [150, 200], [331, 257], [700, 30]];
    let pairs = sizes.map(|[m, n]| (symbols(&mut inputs, m), symbols(&mut inputs, n)));
    let problems: Vec<_> = (pairs.iter())
        .map(|(a, b)| Wavefront::of(scored(scores, -3)).rows(a).columns(b).keep(Keep::Best))
        .collect();
    let (batch, _) = executor.run_batch(&problems).unwrap();
    for ((problem, (a, b)), batched) in problems.iter().zip(&pairs).zip(batch) {
        let expected = Kept::Best(plain(a, b, &scores, -3));
        assert_eq!(executor.run(problem).unwrap().0, expected, "{} x {}", a.len(), b.len());
        assert_eq!(batched, expected, "{} x {} in a batch", a.len(), b.len());
    }
}

#[test]
fn cores_look_up_scores_in_tables() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core; 2]).unwrap();
    conforms(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(200, 2)).unwrap());
}

#[test]
fn a_gpu_looks_up_scores_in_tables() {
    match Device::open(0) {
        Ok(device) => {
            conforms(&mut CudaExecutor::new(&device, None).unwrap());
            conforms(&mut TileExecutor::new(&device, None).unwrap());
        }
        Err(error) => println!("skipped: {error}"),
    }
}

#[test]
fn proved_indexes_go_by_register_strips_and_others_are_named() {
    let scores = [[1; 32]; 32];
    let proved = Wavefront::of(scored(scores, -3)).rows(&[0; 9]).columns(&[0; 9]);
    assert_eq!(misses(&proved), None);
    let small = Wavefront::of(unproved([[1; 4]; 4])).rows(&[0; 9]).columns(&[0; 9]);
    assert_eq!(misses(&small), Some("function that may fault"));
}

#[test]
fn kernels_with_tables_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let letters = [0; 900];
    let problem = Wavefront::of(scored([[1; 32]; 32], -3)).rows(&letters).columns(&letters);
    for arch in ["sm_80", "sm_90"] {
        compile_check(&problem, &CudaPolicy::for_domain(900, 4, 132), arch).unwrap();
        compile_batch_check::<scored>(Some(Keep::Best), 4, false, arch).unwrap();
    }
}
