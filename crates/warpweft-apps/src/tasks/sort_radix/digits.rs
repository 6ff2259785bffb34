//! Where the keys of each digit lie, in chunks and in all of them.

use warpweft::channels::Team;
use warpweft::prelude::*;

pub(super) use crate::tasks::sort_teams::leaf::parts;

/// The digits from `first` to `last` begin at a key: all but the last have none.
#[device]
pub(super) fn begin_digits(begins: &mut [u32; 4096], first: u32, last: u32, at: u32) {
    let mut digit = first;
    while digit <= last {
        begins[digit as usize] = at;
        digit += 1;
    }
}

/// Where the keys of each digit begin, and above 16 bits how many they are.
#[device]
pub(super) fn write_notes(begins: &mut [u32; 4096], notes: &mut [u32], lane: usize, lanes: usize) {
    let mut digit = lane;
    while digit < 256 {
        let begin = begins[digit];
        notes[digit] = begin | (begins[digit + 1] - begin) << 16;
        digit += lanes;
    }
}

/// How many lanes copy from a chunk that has about `mean` keys to gather.
#[device]
pub(super) fn width_of(mean: usize, lanes: usize) -> usize {
    let mut width = lanes.min(4);
    while width < lanes.min(32) && width < mean {
        width *= 2;
    }
    width
}

/// Reads where a lane's chunk of those from `chunk` on has its keys of the digits, into the first 256 words, and how many they
/// are, into the next.
#[device]
pub(super) fn read_row(
    notes: &[u32],
    rows: &mut [u32; 768],
    chunk: usize,
    digits: [u32; 2],
    here: [u32; 2],
) -> u32 {
    let (mut lowest, mut size) = (0u32, 0u32);
    let at = (chunk + here[0] as usize) * 256;
    if at < notes.len() {
        lowest = notes[at + digits[0] as usize] & 0xffff;
        let highest = notes[at + digits[1] as usize - 1];
        size = (highest & 0xffff) + (highest >> 16) - lowest;
    }
    rows[(here[0] & 255) as usize] = lowest;
    rows[256 + (here[0] & 255) as usize] = size;
    size
}

/// Where they go, into the last.
#[device]
pub(super) fn put_place(rows: &mut [u32; 768], place: u32, here: [u32; 2]) {
    rows[512 + (here[0] & 255) as usize] = place;
}

/// A row's words; nothing beyond as many as lanes.
#[device]
pub(super) fn row(rows: &[u32; 768], number: usize, lanes: u32) -> [u32; 3] {
    let at = number & 255;
    let size = if number < lanes as usize { rows[256 + at] } else { 0 };
    [rows[at], size, rows[512 + at]]
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

/// Replaces each sum by that of the rows before, and says where each digit's bucket begins. How many buckets have more keys than
/// a team sorts.
#[spawning(team(256))]
pub(super) fn add_blocks(team: &Team, sums: &mut [u32], begins: &mut [u32]) -> u32 {
    let mine = parts(256, team.lanes());
    let first = (team.lane() * mine).min(256);
    let last = (first + mine).min(256);
    let (mut all, mut large) = (0u32, 0u32);
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
        if sum > 4096 {
            large += 1;
        }
    }
    let mut begin = team.prefix_sum(all);
    for digit in first..last {
        let count = begins[digit];
        begins[digit] = begin;
        begin += count;
    }
    team.sum(large)
}
