//! Where the keys of each digit lie, in chunks and in all of them.

use warpweft::channels::Team;
use warpweft::prelude::*;

pub(super) use crate::tasks::sort_teams::leaf::parts;

/// The place of a count: so that neighbouring lanes, which have 16 counts each, are in different memory banks.
#[device]
pub(super) fn place(count: u32) -> usize {
    (count + count / 16) as usize
}

/// The sum of a lane's 16 counts.
#[device]
pub(super) fn sum_of(counts: &[u32; 4352], lane: u32) -> u32 {
    let mut sum = 0u32;
    for k in 0..16u32 {
        sum += counts[(lane * 17 + k) as usize];
    }
    sum
}

/// Replaces a lane's 16 counts by the sums of all before them.
#[device]
pub(super) fn add_up(counts: &mut [u32; 4352], lane: u32, before: u32) {
    let mut sum = before;
    for k in 0..16u32 {
        let at = (lane * 17 + k) as usize;
        let count = counts[at];
        counts[at] = sum;
        sum += count;
    }
}

/// The digits from `first` to `last` begin at a key: all but the last have none.
#[device]
pub(super) fn begin_digits(begins: &mut [u32; 4352], first: u32, last: u32, at: u32) {
    let mut digit = first;
    while digit <= last {
        begins[digit as usize] = at;
        digit += 1;
    }
}

/// Where the keys of each digit begin, and above 16 bits how many they are.
#[device]
pub(super) fn write_notes(begins: &mut [u32; 4352], notes: &mut [u32], lane: usize, lanes: usize) {
    let mut digit = lane;
    while digit < 256 {
        let begin = begins[digit];
        notes[digit] = begin | (begins[digit + 1] - begin) << 16;
        digit += lanes;
    }
}

/// Adds up the notes of each 64 chunks: a row of 256 sums.
#[spawning]
pub(super) fn sum_blocks(notes: &[u32], sums: &mut [u32]) {
    if sums.len() <= 256 {
        spawn!(sum_block(notes, sums));
    } else {
        let middle = sums.len() / 512;
        let (low, high) = notes.split_at(middle * 64 * 256);
        let (low_sums, high_sums) = sums.split_at_mut(middle * 256);
        spawn!(sum_blocks(low, low_sums));
        spawn!(sum_blocks(high, high_sums));
    }
    sync!();
}

#[spawning(team(256))]
fn sum_block(team: &Team, notes: &[u32], sums: &mut [u32]) {
    let mut digit = team.lane();
    while digit < 256 {
        let mut sum = 0u32;
        let mut at = digit;
        while at < notes.len() {
            sum += notes[at] >> 16;
            at += 256;
        }
        sums[digit] = sum;
        digit += team.lanes();
    }
}

/// Replaces each sum by that of the rows before, and says where each digit's bucket begins.
#[spawning(team(256))]
pub(super) fn add_blocks(team: &Team, sums: &mut [u32], begins: &mut [u32]) {
    let mine = parts(256, team.lanes());
    let first = (team.lane() * mine).min(256);
    let last = (first + mine).min(256);
    let mut all = 0u32;
    for digit in first..last {
        let mut sum = 0u32;
        let mut at = digit;
        while at < sums.len() {
            let here = sums[at];
            sums[at] = sum;
            sum += here;
            at += 256;
        }
        begins[digit] = sum;
        all += sum;
    }
    let mut begin = team.prefix_sum(all);
    for digit in first..last {
        let count = begins[digit];
        begins[digit] = begin;
        begin += count;
    }
}
