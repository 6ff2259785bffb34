//! Farms whose tasks are runs of the other patterns, on the one core or the one GPU of their worker.

use warpweft::farm::{Here, Run, Target, on_devices};
use warpweft::prelude::*;
use warpweft::wavefront::RunExecutor;
use warpweft::{channels, stencil, wavefront};
use warpweft_apps::align::{Alignment, Scope, Sequence, Weights, align, plain};
use warpweft_apps::fib;

/// Whole numbers, so that every device has the same bits.
#[stencil]
fn mixed(u: Near<u32, 2>, by: u32) -> u32 {
    (u[[-1, 0]] ^ u[[0, 1]]).wrapping_add(u[[0, 0]].wrapping_mul(by))
}

const SIDE: usize = 24;
const STEPS: usize = 9;

fn cell(row: usize, column: usize) -> u32 {
    (row * 37 + column * 11) as u32
}

fn mixed_here(by: u32, here: &Here) -> Result<Vec<u32>> {
    let mut volume = Volume::from_fn([SIDE, SIDE], |[row, column]| cell(row, column));
    let run = stencil::Run { target: here.target(), ..stencil::Run::default() };
    let mixed = Stencil::of(mixed(by)).boundary(Boundary::Periodic);
    mixed.run_with(&mut volume, Steps(STEPS as u64), here.machine(), &run)?;
    Ok(volume.as_slice().to_vec())
}

fn mixed_plainly(by: u32) -> Vec<u32> {
    let mut now: Vec<_> = (0..SIDE * SIDE).map(|k| cell(k / SIDE, k % SIDE)).collect();
    for _ in 0..STEPS {
        let at = |row: usize, column: usize| now[row % SIDE * SIDE + column % SIDE];
        let next = |k: usize| {
            let (row, column) = (k / SIDE, k % SIDE);
            (at(row + SIDE - 1, column) ^ at(row, column + 1)).wrapping_add(now[k].wrapping_mul(by))
        };
        now = (0..SIDE * SIDE).map(next).collect();
    }
    now
}

fn pair(k: u32) -> [Sequence; 2] {
    let letters = |seed: u32, length: u32| {
        let letter = |i: u32| b"ACGT"[(i * i * 7 + i * seed + i / 5) as usize % 4];
        Sequence::new("case", &(0..length).map(letter).collect::<Vec<_>>()).unwrap()
    };
    [letters(k, 120 + 3 * k), letters(k + 1, 150)]
}

fn aligned_here(k: u32, here: &Here) -> Result<Alignment> {
    let [query, target] = pair(k);
    let run = wavefront::Run { target: here.target(), ..wavefront::Run::default() };
    let mut executor = RunExecutor::new(here.machine(), &run)?;
    Ok(align(&query, &target, Weights::default(), Scope::Local, &mut executor)?.0)
}

fn fib_here(n: u32, here: &Here) -> Result<u64> {
    let run = channels::Run { target: here.target(), ..channels::Run::default() };
    Ok(fib::channels(n)?.run_with(here.machine(), &run)?.0)
}

/// One task of each pattern for each input; on a GPU, where the workers are lanes.
fn checked(target: Target) {
    let everything = on_devices(|k: u32, here: &Here| {
        assert_eq!(
            (here.is_gpu(), here.machine().gpus.len()),
            match here.target() {
                Target::Cpu => (false, 0),
                _ => (true, 1),
            }
        );
        let Alignment { score, query_end, target_end } = aligned_here(k, here)?;
        let ends = (i64::from(score), query_end as u64, target_end as u64);
        Ok((mixed_here(k, here)?, ends, fib_here(k, here)?))
    });
    let machine = Machine::detect().unwrap();
    let run = Run { target, ..Run::default() };
    let inputs: Vec<u32> = (0..20).collect();
    let (found, outcome) = Farm::of(everything).run_with(&inputs, &machine, &run).unwrap();
    assert!(outcome.shares.iter().all(|share| share.lost.is_none()), "{:?}", outcome.shares);
    for (k, found) in (0u32..).zip(found) {
        let (cells, ends, number) = found.unwrap();
        assert!(cells == mixed_plainly(k), "stencil {k}");
        let [query, target] = pair(k);
        let Alignment { score, query_end, target_end } =
            plain(&query, &target, Weights::default(), Scope::Local);
        assert_eq!(ends, (i64::from(score), query_end as u64, target_end as u64), "alignment {k}");
        assert_eq!(number, fib::plain(k));
    }
}

#[test]
fn tasks_are_stencils_alignments_and_calls_on_one_core_each() {
    checked(Target::Cpu);
}

#[test]
fn tasks_are_stencils_alignments_and_calls_on_one_gpu_each() {
    if Machine::detect().unwrap().gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    checked(Target::AllGpus);
    checked(Target::Auto);
}
