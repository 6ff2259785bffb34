//! Teams of several warps: prefix sums by teams of 64 lanes, next to teams of one warp.

// Device code has no `div_ceil`.
#![allow(clippy::manual_div_ceil)]

use warpweft::channels::cuda::compile_check;
use warpweft::channels::{Borrowing, DeviceCall, Policy, Run, StacksPolicy, Team};
use warpweft::element::{DeviceType, Unit};
use warpweft::prelude::*;

use super::{Roots, ran};

/// The sum of at most 200 words. Where the lanes are no more than there are words, every lane gets some.
#[spawning(team(64))]
fn few(team: &Team, words: &[u32], room: &mut [u32; 200], parts: &mut [u32; 3]) -> u32 {
    let (count, lane, lanes) = (words.len(), team.lane(), team.lanes());
    let mut sum = 0u32;
    let mut i = lane;
    while i < count {
        room[count - 1 - i] = words[i];
        sum = sum.wrapping_add(words[i]);
        i += lanes;
    }
    team.barrier();
    if lane < 3 {
        parts[lane] = 0;
        let mut i = lane;
        while i < count {
            parts[lane] = parts[lane].wrapping_add(room[i]);
            i += lanes.min(3);
        }
    }
    let odd = team.count(lane & 1 == 1);
    let all = team.sum(sum);
    let mut again = 0u32;
    for k in 0..lanes.min(3) {
        again = again.wrapping_add(parts[k]);
    }
    // Both sums are the same, and half of the lanes are odd.
    if all != again || odd != lanes / 2 { 1 } else { all }
}

/// Adds `before` and the words up to each word to it.
#[spawning(team(64))]
fn add_up(team: &Team, words: &mut [u32], before: u32) {
    let (lane, lanes) = (team.lane(), team.lanes());
    let each = (words.len() + lanes - 1) / lanes;
    let (begin, end) = ((lane * each).min(words.len()), (lane * each + each).min(words.len()));
    let mut sum = 0u32;
    for i in begin..end {
        sum = sum.wrapping_add(words[i]);
    }
    let mut before = before.wrapping_add(team.prefix_sum(sum));
    for i in begin..end {
        before = before.wrapping_add(words[i]);
        words[i] = before;
    }
}

/// A team of one warp: the words' number of ones.
#[spawning(team)]
fn ones(team: &Team, words: &[u32]) -> u32 {
    let mut ones = 0u32;
    let mut i = team.lane();
    while i < words.len() {
        ones += words[i].count_ones();
        i += team.lanes();
    }
    team.sum(ones) + team.prefix_sum(0)
}

#[spawning]
fn total(words: &[u32]) -> u32 {
    let mut sum = 0u32;
    if words.len() <= 200 {
        sum += spawn!(few(words));
    } else {
        let (low, high) = words.split_at(words.len() / 2);
        sum += spawn!(total(low));
        sum += spawn!(total(high));
    }
    sync!();
    sum
}

/// The words' prefix sums, after `before`; the number of ones in them before.
#[spawning]
fn scan(words: &mut [u32], before: u32) -> u32 {
    let middle = words.len() / 2;
    let mut found = 0u32;
    let low = spawn!(total(&words[..middle]));
    if words.len() <= 100 {
        found = spawn!(ones(words));
    }
    sync!();
    if words.len() <= 100 {
        spawn!(add_up(words, before));
    } else {
        let (first, last) = words.split_at_mut(middle);
        found += spawn!(scan(first, before));
        found += spawn!(scan(last, before.wrapping_add(low)));
    }
    sync!();
    found
}

#[spawning(team(64))]
fn fill(team: &Team, words: &mut [u32]) {
    let mut i = team.lane();
    while i < words.len() {
        words[i] = (i as u32).wrapping_mul(2_654_435_761);
        i += team.lanes();
    }
}

/// Words that are made and added up: the ones in them, and the sum of all sums.
#[spawning]
fn whole(words: &mut [u32]) -> [u32; 2] {
    spawn!(fill(words));
    sync!();
    let ones = spawn!(scan(words, 0));
    sync!();
    let sum = spawn!(total(words));
    sync!();
    [ones, sum]
}

fn made(count: usize) -> Vec<u32> {
    (0..count as u32).map(|k| k.wrapping_mul(2_654_435_761)).collect()
}

fn sums(count: usize) -> Vec<u32> {
    let next = |sum: &mut u32, word: u32| {
        *sum = sum.wrapping_add(word);
        Some(*sum)
    };
    made(count).into_iter().scan(0, next).collect()
}

fn expected(count: usize) -> [u32; 2] {
    let ones = made(count).iter().map(|word| word.count_ones()).sum();
    [ones, sums(count).into_iter().fold(0, u32::wrapping_add)]
}

#[test]
fn blocks_on_warps_that_the_host_plays() {
    let mut unit = Unit::new();
    let root = <whole<'_> as Borrowing>::Device::cuda(&mut unit);
    let [mut memory, mut roots, mut expect] = [const { String::new() }; 3];
    for (k, count) in [500usize, 0, 1, 333].into_iter().enumerate() {
        memory.push_str(&format!("static ww::u32 words{k}[{}];\n", count.max(1)));
        roots.push_str(&format!("{root}{{{{words{k}, {count}}}}}, "));
        let value = expected(count).cuda_value(&mut unit);
        expect.push_str(&format!("Value{{{value}}}, "));
    }
    let functions: Vec<_> = unit.numbered().iter().map(|name| format!("F({name})")).collect();
    let (unit, functions) = (unit.source() + &memory, functions.join(" "));
    let roots = Roots { unit, functions, root, roots, expect };
    let Some([calls, given, _]) = ran(&roots, None, false, 1) else { return };
    assert!(calls > 40 && given > 5, "{calls} calls, {given} given away");
}

#[test]
fn blocks_on_cores() {
    let machine = Machine::detect().unwrap();
    for threads in [1, 3] {
        let run = Run { threads: Some(threads), target: Target::Cpu, ..Run::default() };
        for count in [5000usize, 0, 1, 41] {
            let mut words = vec![0; count];
            let calls = Channels::of(whole::call(&mut words));
            let (values, _) = calls.run_borrowing(&machine, &run).unwrap();
            assert_eq!(values, [expected(count)]);
            assert_eq!(words, sums(count));
        }
    }
}

#[test]
fn blocks_compile_for_ampere_and_hopper() {
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        compile_check::<<whole<'_> as Borrowing>::Device>(arch).unwrap();
    }
}

#[test]
fn blocks_on_a_gpu() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    for blocks in [1, 3, 0] {
        let policy = Some(Policy::Stacks(StacksPolicy { blocks, ..StacksPolicy::default() }));
        let run = Run { target: Target::AnyGpu, policy, ..Run::default() };
        for count in [300_000usize, 5000, 0, 1, 41] {
            let mut words = vec![0; count];
            let calls = Channels::of(whole::call(&mut words));
            let (values, report) = calls.run_borrowing(&machine, &run).unwrap();
            assert_eq!(values, [expected(count)], "{count} words, {report}");
            assert!(words == sums(count), "{count} words, {report}");
        }
    }
}
