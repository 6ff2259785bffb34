//! Merges of two sorted runs, by teams of lanes that take some thousand keys of the result each.

// Device code has no `div_ceil`.
#![allow(clippy::manual_div_ceil)]

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

use super::half;
use super::leaf::{LEAF, load, merge_few, parts, store};

/// Of the merge of the sorted runs before and after `middle` of `from`: the keys from place `first` on, as many as `to` has room
/// for. A team takes up to `most` of them.
#[spawning]
pub(super) fn merge<T: Scalar + Word>(
    from: &[T],
    to: &mut [T],
    middle: usize,
    first: usize,
    most: usize,
) {
    let count = to.len();
    if count <= most {
        spawn!(merge_part(from, to, middle, first));
    } else {
        let here = half(count, 4096);
        let (low, high) = to.split_at_mut(here);
        if here <= most {
            spawn!(merge_part(from, low, middle, first));
            spawn!(merge_part(from, high, middle, first + here));
        } else {
            spawn!(merge(from, low, middle, first, most));
            spawn!(merge(from, high, middle, first + here, most));
        }
    }
    sync!();
}

/// Whether the key at `probe` of the first run is among the first `rank` keys of the merge. It is not, if it is not below `high`.
#[device]
fn is_before<T: Scalar + Word>(
    from: &[T],
    middle: usize,
    rank: usize,
    probe: usize,
    high: usize,
) -> bool {
    let other = (middle + rank).saturating_sub(1 + probe).max(middle).min(from.len() - 1);
    probe < high && from[probe.min(middle - 1)] <= from[other]
}

/// A part of a merge, by up to [`LEAF`] keys at once.
///
/// How many of the keys before a place are of the first run is searched for by all lanes at once: each probes another key, and the
/// number of those that are before the place tells between which two to go on. So one place of 2^31 takes four rounds of 256 lanes.
#[spawning(team(256))]
fn merge_part<T: Scalar + Word>(
    team: &Team,
    from: &[T],
    to: &mut [T],
    middle: usize,
    first: usize,
    room: &mut [T; 4352],
    merged: &mut [T; 4352],
) {
    let (lane, lanes, others) = (team.lane(), team.lanes(), from.len() - middle);
    // Of the first round's: none is merged, the place is that of the first key.
    let mut rank = first;
    let mut count = 0usize;
    let mut taken = 0usize;
    let mut most = middle;
    let mut done = 0usize;
    let mut is_begun = false;
    while done < to.len() {
        // Between these is the number of keys of the first run before `rank`.
        let mut low = rank.saturating_sub(others).max(taken);
        let mut high = rank.min(middle).min(most);
        while low < high {
            let step = parts(high - low, lanes);
            let before = team.count(is_before(from, middle, rank, low + lane * step, high));
            // The first that is not before, if there is one; and the one after the last that is.
            high = high.min(low + before * step);
            low = if before > 0 { low + (before - 1) * step + 1 } else { low };
        }
        if is_begun {
            let (ours, keys_here) = (low - taken, count as u32);
            let begins = [taken, middle + rank - count - taken];
            load(from, room, begins, ours, count, [lane, lanes]);
            team.barrier();
            let mut at = 16 * lane as u32;
            while at < keys_here {
                merge_few(room, merged, [0, ours as u32, keys_here], at);
                at += 16 * lanes as u32;
            }
            team.barrier();
            store(merged, to, done, count, [lane, lanes]);
            done += count;
        }
        is_begun = true;
        taken = low;
        count = (to.len() - done).min(LEAF);
        rank += count;
        most = taken + count;
    }
}
