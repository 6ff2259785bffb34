//! Merges of up to 256 sorted runs at once, by teams of lanes.
//!
//! A part of a merge is known by two keys, between which its keys are. A team finds the part in each run by binary search.

// Device code has no `div_ceil`. Merges in parts are many arguments.
#![allow(clippy::manual_div_ceil, clippy::too_many_arguments)]

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

use super::leaf::{LEAF, first_run, first_runs, merge_pairs, parts, share};

/// Merges sorted runs of `run` keys each: those keys that are above `low`, if bit 0 of `ends` is set, and below `high`, if bit 1 is
/// set. There are as many as `to` has room for.
#[spawning]
pub(super) fn merge<T: Scalar + Word>(
    from: &[T],
    to: &mut [T],
    run: usize,
    low: T,
    high: T,
    ends: u32,
) {
    let count = to.len();
    let mut found = [0u64; 3];
    if count <= LEAF {
        spawn!(merge_part(from, to, run, low, high, ends));
    } else {
        found = spawn!(divide(from, run, low, high, ends));
    }
    sync!();
    if count > LEAF {
        let pivot = from[found[0] as usize];
        let (less, others) = to.split_at_mut(found[1] as usize);
        let (equal, greater) = others.split_at_mut(found[2] as usize);
        spawn!(merge(from, less, run, low, pivot, ends | 2));
        spawn!(fill(equal, pivot));
        spawn!(merge(from, greater, run, pivot, high, ends | 1));
    }
    sync!();
}

/// Writes `key` everywhere.
#[spawning]
fn fill<T: Scalar + Word>(to: &mut [T], key: T) {
    if to.len() <= 8 {
        for i in 0..to.len() {
            to[i] = key;
        }
    } else if to.len() <= 65536 {
        spawn!(fill_part(to, key));
    } else {
        let (low, high) = to.split_at_mut(to.len() / 2);
        spawn!(fill(low, key));
        spawn!(fill(high, key));
    }
    sync!();
}

#[spawning(team(256))]
fn fill_part<T: Scalar + Word>(team: &Team, to: &mut [T], key: T) {
    let mut i = team.lane();
    while i < to.len() {
        to[i] = key;
        i += team.lanes();
    }
}

/// The place of the first of the sorted `keys` from `from` to `to` that is not below `key`, or that is above it.
#[device]
fn bound<T: Scalar + Word>(keys: &[T], from: usize, to: usize, key: T, above: bool) -> usize {
    let mut low = from;
    let mut high = to;
    while low < high {
        let middle = (low + high) / 2;
        let other = keys[middle];
        if other < key || (above && other == key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Where a part begins in run `number`.
#[device]
fn begin_of<T: Scalar + Word>(from: &[T], run: usize, number: usize, low: T, ends: u32) -> usize {
    let begin = (number * run).min(from.len());
    let end = (begin + run).min(from.len());
    if ends & 1 == 0 { begin } else { bound(from, begin, end, low, true) }
}

/// Where it ends, if it begins at `begin`.
#[device]
fn end_of<T: Scalar + Word>(
    from: &[T],
    run: usize,
    number: usize,
    begin: usize,
    high: T,
    ends: u32,
) -> usize {
    let end = ((number + 1) * run).min(from.len());
    if ends & 2 == 0 { end } else { bound(from, begin, end, high, false) }
}

/// Where a part lies in the runs from number `first` to `last`; its keys in them.
#[device]
fn segments<T: Scalar + Word>(
    from: &[T],
    run: usize,
    bounds: [T; 2],
    ends: u32,
    runs: [usize; 2],
    begins: &mut [u32; 256],
    sizes: &mut [u32; 256],
) -> u32 {
    let mut total = 0u32;
    for r in runs[0]..runs[1] {
        let begin = begin_of(from, run, r, bounds[0], ends);
        let size = end_of(from, run, r, begin, bounds[1], ends) - begin;
        begins[r] = begin as u32;
        sizes[r] = size as u32;
        total += size as u32;
    }
    total
}

/// Of keys that stand for so many each: how many are less than that of run `number`, how many are equal, and whether it is the first
/// of those.
#[device]
fn rank<T: Scalar + Word>(
    keys: &mut [T; 256],
    sizes: &mut [u32; 256],
    runs: usize,
    number: usize,
) -> [u32; 3] {
    let key = keys[number];
    let mut less = 0u32;
    let mut equal = 0u32;
    let mut first = 1u32;
    for other in 0..runs {
        let size = sizes[other];
        if size > 0 {
            if keys[other] < key {
                less += size;
            } else if keys[other] == key {
                equal += size;
                if other < number {
                    first = 0;
                }
            }
        }
    }
    [less, equal, first]
}

/// A key that splits a part of a merge well: its place, how many keys are less, and how many are equal.
///
/// It is the weighted median of the middle keys of the part's segments, so that a quarter of all keys are at least as large, and a
/// quarter at most as large.
#[spawning(team(256))]
fn divide<T: Scalar + Word>(
    team: &Team,
    from: &[T],
    run: usize,
    low: T,
    high: T,
    ends: u32,
    begins: &mut [u32; 256],
    sizes: &mut [u32; 256],
    middles: &mut [T; 256],
    chosen: &mut [u32; 1],
) -> [u64; 3] {
    let runs = parts(from.len(), run);
    let mine = share(runs, team.lane(), team.lanes());
    let keys = segments(from, run, [low, high], ends, mine, begins, sizes);
    for r in mine[0]..mine[1] {
        if sizes[r] > 0 {
            middles[r] = from[begins[r] as usize + sizes[r] as usize / 2];
        }
    }
    let half = (team.sum(keys) + 1) / 2;
    for r in mine[0]..mine[1] {
        if sizes[r] > 0 {
            let found = rank(middles, sizes, runs, r);
            if found[2] == 1 && found[0] < half && found[0] + found[1] >= half {
                chosen[0] = r as u32;
            }
        }
    }
    team.barrier();
    let number = chosen[0] as usize;
    let pivot = middles[number];
    let mut less = 0u32;
    let mut equal = 0u32;
    for r in mine[0]..mine[1] {
        let begin = begins[r] as usize;
        let end = begin + sizes[r] as usize;
        let at = bound(from, begin, end, pivot, false);
        less += (at - begin) as u32;
        equal += (bound(from, at, end, pivot, true) - at) as u32;
    }
    less = team.sum(less);
    equal = team.sum(equal);
    let place = begins[number] as usize + sizes[number] as usize / 2;
    [place as u64, less as u64, equal as u64]
}

/// Copies each segment to its place, by groups of up to 32 lanes.
#[device]
fn gather<T: Scalar + Word>(
    from: &[T],
    begins: &mut [u32; 256],
    sizes: &mut [u32; 256],
    places: &mut [u32; 256],
    room: &mut [T; 4096],
    runs: usize,
    lanes: [usize; 2],
) {
    let width = lanes[1].min(32);
    let mut r = lanes[0] / width;
    while r < runs {
        let begin = begins[r] as usize;
        let place = places[r] as usize;
        let mut i = lanes[0] & (width - 1);
        while i < sizes[r] as usize {
            room[place + i] = from[begin + i];
            i += width;
        }
        r += lanes[1] / width;
    }
}

/// A part of a merge of at most [`LEAF`] keys: gathers them from all runs and sorts them.
#[spawning(team(256))]
fn merge_part<T: Scalar + Word>(
    team: &Team,
    from: &[T],
    to: &mut [T],
    run: usize,
    low: T,
    high: T,
    ends: u32,
    begins: &mut [u32; 256],
    sizes: &mut [u32; 256],
    places: &mut [u32; 256],
    room: &mut [T; 4096],
    merged: &mut [T; 4096],
) {
    let (count, lane, lanes) = (to.len(), team.lane(), team.lanes());
    let runs = parts(from.len(), run);
    let mine = share(runs, lane, lanes);
    let keys = segments(from, run, [low, high], ends, mine, begins, sizes);
    let mut place = team.prefix_sum(keys);
    for r in mine[0]..mine[1] {
        places[r] = place;
        place += sizes[r];
    }
    team.barrier();
    gather(from, begins, sizes, places, room, runs, [lane, lanes]);
    let (keys_here, all) = (count as u32, [lane as u32, lanes as u32]);
    let each = first_run(keys_here, all[1]);
    team.barrier();
    first_runs(room, keys_here, each, all);
    let mut run = each;
    let mut is_merged = false;
    while run < keys_here {
        team.barrier();
        if is_merged {
            merge_pairs(merged, room, run, keys_here, each, all);
        } else {
            merge_pairs(room, merged, run, keys_here, each, all);
        }
        is_merged = !is_merged;
        run *= 2;
    }
    team.barrier();
    let mut i = lane;
    while i < count {
        to[i] = if is_merged { merged[i] } else { room[i] };
        i += lanes;
    }
}
