//! Functions that take slices, and teams: on warps that the host plays, on cores, and by NVRTC.

// Device code has no `swap`.
#![allow(clippy::manual_swap)]

use warpweft::channels::cuda::compile_check;
use warpweft::channels::{Borrowing, DeviceCall, Policy, Run, StacksPolicy, Team};
use warpweft::element::{DeviceType, Unit, Word};
use warpweft::prelude::*;

use super::{Roots, ran};

/// Words by their places and a seed.
#[spawning(team)]
fn fill(team: &Team, words: &mut [u32], from: u32, seed: u32) {
    let mut i = team.lane();
    while i < words.len() {
        words[i] = ((from + i as u32) ^ seed).wrapping_mul(2_654_435_761).rotate_left(7);
        i += team.lanes();
    }
}

#[spawning]
fn fill_all(words: &mut [u32], from: u32, seed: u32) {
    if words.len() <= 50 {
        spawn!(fill(words, from, seed));
    } else {
        let middle = words.len() / 3;
        let (low, high) = words.split_at_mut(middle);
        spawn!(fill_all(low, from, seed));
        spawn!(fill_all(high, from + middle as u32, seed));
    }
    sync!();
}

/// Sorts a few words by transposition of neighbours.
#[spawning(team)]
fn sort_few<T: Scalar + Word>(team: &Team, words: &mut [T], room: &mut [T; 40]) {
    let (count, lanes) = (words.len(), team.lanes());
    let mut i = team.lane();
    while i < count {
        room[i] = words[i];
        i += lanes;
    }
    for round in 0..count {
        team.barrier();
        let mut i = 2 * team.lane() + round % 2;
        while i + 1 < count {
            if room[i + 1] < room[i] {
                let less = room[i + 1];
                room[i + 1] = room[i];
                room[i] = less;
            }
            i += 2 * lanes;
        }
    }
    team.barrier();
    let mut i = team.lane();
    while i < count {
        words[i] = room[i];
        i += lanes;
    }
}

/// How many of the sorted `words` come before `word`; of equal ones all, if `all`.
#[device]
fn before<T: Scalar + Word>(words: &[T], word: T, all: bool) -> usize {
    let mut low = 0;
    let mut high = words.len();
    while low < high {
        let middle = (low + high) / 2;
        if words[middle] < word || (all && words[middle] == word) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Merges two sorted slices: every word goes where as many come before it.
#[spawning(team)]
fn merge<T: Scalar + Word>(team: &Team, a: &[T], b: &[T], to: &mut [T]) {
    let mut i = team.lane();
    while i < to.len() {
        if i < a.len() {
            to[i + before(b, a[i], false)] = a[i];
        } else {
            let k = i - a.len();
            to[k + before(a, b[k], true)] = b[k];
        }
        i += team.lanes();
    }
}

#[spawning(team)]
fn copy<T: Scalar + Word>(team: &Team, from: &[T], to: &mut [T]) {
    let mut i = team.lane();
    while i < from.len() {
        to[i] = from[i];
        i += team.lanes();
    }
}

#[spawning]
fn sort<T: Scalar + Word>(words: &mut [T], other: &mut [T]) {
    let count = words.len();
    if count <= 40 {
        spawn!(sort_few(words));
    } else {
        let (low, high) = words.split_at_mut(count / 2);
        let (below, above) = other.split_at_mut(count / 2);
        spawn!(sort(low, below));
        spawn!(sort(high, &mut above[..count - count / 2]));
    }
    sync!();
    if count > 40 {
        let (low, high) = words.split_at(count / 2);
        spawn!(merge(low, high, other));
    }
    sync!();
    if count > 40 {
        spawn!(copy(other, words));
    }
    sync!();
}

/// The sum of all words, each times its place, and 1000 for each lane's decreasing neighbours.
#[spawning(team)]
fn weigh_few<T: Scalar + Word>(team: &Team, words: &[T], from: u64, sums: &mut [u64; 32]) -> u64 {
    let mut sum = 0u64;
    let mut i = team.lane();
    while i < words.len() {
        sum += (from + i as u64) * (words[i].to_f64() as u64);
        if i > 0 && words[i] < words[i - 1] {
            sum = sum.wrapping_mul(3);
        }
        i += team.lanes();
    }
    sums[team.lane()] = sum;
    team.barrier();
    let mut all = 0u64;
    for lane in 0..team.lanes() {
        all = all.wrapping_add(sums[lane]);
    }
    all + team.count(team.lane() == 0) as u64
}

#[spawning]
fn weigh<T: Scalar + Word>(words: &[T], from: u64) -> u64 {
    let mut sum = 0u64;
    if words.len() <= 100 {
        sum += spawn!(weigh_few(words, from));
    } else {
        let middle = words.len() / 2;
        let (low, high) = words.split_at(middle);
        sum += spawn!(weigh(low, from));
        sum += spawn!(weigh(high, from + middle as u64));
    }
    sync!();
    sum
}

/// Words that are made, sorted and weighed.
#[spawning]
fn whole(words: &mut [u32], other: &mut [u32], seed: u32) -> u64 {
    spawn!(fill_all(words, 0, seed));
    sync!();
    spawn!(sort(words, other));
    sync!();
    let sum = spawn!(weigh(words, 1));
    sync!();
    sum
}

/// The value of `whole` of so many words, by the standard library.
fn expected(count: usize, seed: u32) -> u64 {
    let hash = |k: u32| (k ^ seed).wrapping_mul(2_654_435_761).rotate_left(7);
    let mut words: Vec<_> = (0..count as u32).map(hash).collect();
    words.sort_unstable();
    let weighed = words.iter().zip(1u64..).map(|(&word, place)| place * u64::from(word));
    // One for each team that weighs.
    fn teams(count: usize) -> u64 {
        if count <= 100 { 1 } else { teams(count / 2) + teams(count - count / 2) }
    }
    weighed.sum::<u64>() + teams(count)
}

#[test]
fn slices_and_teams_on_warps_that_the_host_plays() {
    let mut unit = Unit::new();
    let root = <whole<'_> as Borrowing>::Device::cuda(&mut unit);
    assert!(unit.notes().any(|note| note.starts_with("team")));
    let [mut memory, mut roots, mut expect] = [const { String::new() }; 3];
    for (k, count) in [700usize, 0, 1, 39, 333].into_iter().enumerate() {
        memory.push_str(&format!("static ww::u32 words{k}[{0}], other{k}[{0}];\n", count.max(1)));
        roots.push_str(&format!("{root}{{{{words{k}, {count}}}, {{other{k}, {count}}}, {k}u}}, "));
        let value = expected(count, k as u32).cuda_value(&mut unit);
        expect.push_str(&format!("Value{{{value}}}, "));
    }
    let functions: Vec<_> = unit.numbered().iter().map(|name| format!("F({name})")).collect();
    let (unit, functions) = (unit.source() + &memory, functions.join(" "));
    let roots = Roots { unit, functions, root, roots, expect };
    let Some([calls, given, _]) = ran(&roots, None, false, 2) else { return };
    assert!(calls > 1000 && given > 20, "{calls} calls, {given} given away");
}

#[test]
fn slices_and_teams_on_cores() {
    let machine = Machine::detect().unwrap();
    for threads in [1, 3] {
        let run = Run { threads: Some(threads), target: Target::Cpu, ..Run::default() };
        for count in [5000usize, 0, 1, 41] {
            let (mut words, mut other) = (vec![0; count], vec![0; count]);
            let calls = Channels::of(whole::call(&mut words, &mut other, 9));
            let (values, _) = calls.run_borrowing(&machine, &run).unwrap();
            assert_eq!(values, [expected(count, 9)]);
            assert!(words.is_sorted());
            // As a plain function.
            words.reverse();
            sort(&mut words, &mut other);
            assert!(words.is_sorted());
        }
    }
}

#[test]
fn slices_and_teams_compile_for_ampere_and_hopper() {
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    std::thread::scope(|scope| {
        for arch in ["sm_80", "sm_90"] {
            scope.spawn(|| compile_check::<<whole<'_> as Borrowing>::Device>(arch).unwrap());
        }
        scope.spawn(|| compile_check::<<sort<'_, f64> as Borrowing>::Device>("sm_90").unwrap());
    });
}

/// A team that reads one word behind its slice.
#[spawning(team)]
fn behind(team: &Team, words: &[u32]) -> u32 {
    words[words.len() - 1 + team.lanes() - team.lane()]
}

#[spawning]
fn outside(words: &[u32]) -> u32 {
    let word = spawn!(behind(&words[1..]));
    sync!();
    word
}

#[test]
fn slices_and_teams_on_a_gpu() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    for blocks in [1, 3, 0] {
        let policy = Some(Policy::Stacks(StacksPolicy { blocks, ..StacksPolicy::default() }));
        let run = Run { target: Target::AnyGpu, policy, ..Run::default() };
        for count in [300_000usize, 5000, 0, 1, 41] {
            let (mut words, mut other) = (vec![0; count], vec![0; count]);
            let calls = Channels::of(whole::call(&mut words, &mut other, 9));
            let (values, report) = calls.run_borrowing(&machine, &run).unwrap();
            assert_eq!(values, [expected(count, 9)], "{count} words, {report}");
            assert!(words.is_sorted());
        }
    }
    let run = Run { target: Target::AnyGpu, ..Run::default() };
    let error = Channels::of(outside::call(&[1, 2, 3])).run_borrowing(&machine, &run).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("index out of bounds") && error.contains("slices.rs"), "{error}");
}
