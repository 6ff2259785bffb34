//! Functions that are proved to be sums.

use warpweft::channels::Spawning;
use warpweft::element::Unit;
use warpweft::prelude::*;
use warpweft_conformance::channels::{chain, fib, hasty, kinds, mixed, path, queens, tree, wide};

use super::{call, played};

/// The operation and type that a function is a sum of, as the host is told; none if it is none.
fn noted<C: Spawning>() -> Vec<String> {
    let mut unit = Unit::new();
    C::cuda(&mut unit);
    unit.notes().map(String::from).collect()
}

/// Calls whose values nobody takes.
#[spawning]
fn ignoring(n: u32) -> u32 {
    if n == 0 {
        return 1;
    }
    spawn!(ignoring(n - 1));
    sync!();
    n + 1
}

/// Leaves of a tree whose branches differ, with loops of all kinds, jumps and branches around the calls.
#[spawning]
fn crooked(n: u32, seed: u64) -> i64 {
    const BIT: u64 = 1;
    if n == 0 {
        return (seed % 101) as i64 - 50;
    }
    let (low, high) = (seed & 3, (seed >> 2) & 3);
    let mut sum = high as i64;
    'rows: for i in (0..=low).rev() {
        let mut j = i;
        while j < high {
            if (i ^ j) & 3 == 3 {
                continue 'rows;
            }
            if j == 5 {
                break 'rows;
            }
            let twice = 2 * j;
            if twice & BIT == 0 {
                sum += spawn!(crooked(n / 2, mixed(seed ^ twice)));
            } else {
                let other = mixed(twice);
                sum += spawn!(crooked(n - 1, other));
            }
            j += 1;
        }
    }
    for k in (0..n).step_by(2) {
        sum += spawn!(crooked(n / 3, seed.wrapping_mul(k as u64)));
    }
    sync!();
    let mut more = 1i64;
    let mut turns = 0;
    loop {
        more += spawn!(crooked(n / 4, seed ^ 77));
        turns += 1;
        if turns == 2 {
            break;
        }
    }
    sync!();
    sum + more + n as i64
}

/// The least of what is in a tree, by way of two functions.
#[spawning]
fn least(n: u32, seed: u64) -> i32 {
    let here = (mixed(seed) as i32) / 2;
    if n < 2 {
        return here;
    }
    let left = spawn!(least(n - 1, seed ^ 5));
    let right = spawn!(lesser(n - 2, mixed(seed)));
    sync!();
    left.min(right).min(here)
}

#[spawning]
fn lesser(n: u32, seed: u64) -> i32 {
    if n == 0 {
        return 7;
    }
    let only = spawn!(least(n - 1, seed ^ 3));
    sync!();
    only
}

#[spawning]
fn product(n: u32) -> u32 {
    if n < 3 {
        return 2 * n + 1;
    }
    let left = spawn!(product(n - 1));
    let right = spawn!(product(n - 3));
    sync!();
    left.wrapping_mul(right).wrapping_mul(n | 1)
}

/// All bits of a tree, from an accumulator that is a parameter.
#[spawning]
fn bits(n: u32, mut all: u64) -> u64 {
    for k in 0..n {
        all |= spawn!(bits(k / 2, 1 << (mixed(k as u64) % 64)));
    }
    sync!();
    all
}

/// The next of a row of arrays.
#[device]
fn shuffled(node: [u32; 5], number: u32) -> [u32; 5] {
    let mut next = node;
    next[(number % 5) as usize] = mixed(node[4] as u64 + number as u64) as u32;
    next[4] ^= next[0].rotate_left(number) + number;
    next
}

/// Nodes of a tree whose nodes are arrays.
#[spawning]
fn nodes_of(node: [u32; 5], below: u32) -> u64 {
    let mut nodes = 1;
    if below > 0 {
        let count = node[4] % 5;
        for number in 0..count {
            nodes += spawn!(nodes_of(shuffled(node, number), below - 1));
        }
    }
    sync!();
    nodes
}

/// A path each call of which has another call to spawn when it is back.
#[spawning]
fn dive(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let long = spawn!(dive(n - 1));
    let short = spawn!(dive(0));
    sync!();
    long + short
}

#[test]
fn a_sum_is_proved_by_its_form() {
    assert_eq!(noted::<fib>(), ["sum 1 ww::u64"]);
    assert_eq!(noted::<queens>(), ["sum 1 ww::u64"]);
    assert_eq!(noted::<path>(), ["sum 1 ww::u64"]);
    assert_eq!(noted::<crooked>(), ["sum 1 ww::i64"]);
    assert_eq!(noted::<least>(), ["sum 15 ww::i32", "sum 3 ww::i32"]);
    assert_eq!(noted::<product>(), ["sum 2 ww::u32"]);
    assert_eq!(noted::<bits>(), ["sum 6 ww::u64"]);
    // What is done to the sum afterwards; what is lost or said before it is known; what is no integer.
    assert_eq!(noted::<chain>(), ["joins"]);
    assert_eq!(noted::<tree>(), ["joins"]);
    assert_eq!(noted::<hasty>(), ["joins"]);
    assert!(noted::<wide>().contains(&"joins".to_string()));
    assert_eq!(noted::<kinds>(), ["joins"]);
    assert_eq!(noted::<ignoring>(), ["joins"]);
}

#[test]
fn a_value_that_nobody_takes_is_not_added() {
    let calls: Vec<_> = [6u32].map(|n| call!(ignoring(n))).into();
    played(&calls, None, false, 3);
}

#[test]
fn two_calls_a_call() {
    let calls: Vec<_> = [12u32, 3, 0, 9].map(|n| call!(fib(n))).into();
    let Some([ran, given, _]) = played(&calls, Some(1), false, 3) else { return };
    // 2 fib(n + 1) - 1 calls each, in 3 seeds and 4 settings.
    assert_eq!(ran, 12 * (465 + 5 + 1 + 109));
    assert!(given > 24, "only {given} calls were given away");
    // Few calls for several warps: they often end while a warp has still to look into its inbox.
    let Some([ran, ..]) = played(&calls[..1], Some(1), true, 30) else { return };
    assert_eq!(ran, 120 * 465);
}

#[test]
fn as_many_calls_as_loops_make() {
    let calls: Vec<_> = [7u32].map(|n| call!(queens((1u32 << n) - 1, 0u32, 0u32, 0u32))).into();
    let Some([_, given, _]) = played(&calls, Some(1), true, 3) else { return };
    assert!(given > 0);
    let calls: Vec<_> = [6u32, 4].map(|n| call!(queens((1u32 << n) - 1, 0u32, 0u32, 0u32))).into();
    played(&calls, Some(1), false, 3);
    let calls: Vec<_> = (0..9u64).map(|seed| call!(crooked(7u32, mixed(seed)))).collect();
    played(&calls, Some(1), false, 3);
    let calls: Vec<_> = (0..9u32).map(|n| call!(bits(n, n as u64))).collect();
    played(&calls, Some(6), false, 2);
    let calls: Vec<_> = (0..9u32).map(|n| call!(nodes_of([n, 1, 2, 3, 3 + n], 5u32))).collect();
    played(&calls, Some(1), false, 2);
}

#[test]
fn other_operations_and_several_functions() {
    let calls: Vec<_> = (0..4u64).map(|seed| call!(least(9u32, seed))).collect();
    played(&calls, Some(3), false, 3);
    let calls: Vec<_> = (0..13u32).map(|n| call!(product(n))).collect();
    played(&calls, Some(2), false, 2);
}

#[test]
fn a_path_longer_than_the_window_goes_to_global_memory() {
    let calls = [call!(dive(300u32))];
    let Some([ran, _, spilled]) = played(&calls, Some(1), true, 2) else { return };
    assert_eq!(ran, 8 * 601);
    assert!(spilled > 100, "only {spilled} calls were put away");
}
