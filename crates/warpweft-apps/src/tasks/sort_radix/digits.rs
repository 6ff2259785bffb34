//! Where the keys of each digit lie, in chunks and in all of them.

use warpweft::channels::Team;
use warpweft::prelude::*;

pub(super) use crate::tasks::sort_teams::leaf::parts;

/// Said in place of a number of buckets where keys differ in bits that are higher than those sorted by.
pub(super) const BEYOND: u32 = u32::MAX;

/// Where the keys of each digit begin, and above 16 bits how many they are. The highest bits say whether there are keys `beyond`.
#[device]
pub(super) fn write_notes(
    begins: &[u32; 4096],
    notes: &mut [u32],
    beyond: u32,
    lane: usize,
    lanes: usize,
) {
    let mut digit = lane;
    while digit < 256 {
        let begin = begins[digit];
        notes[digit] = begin | (begins[digit + 1] - begin) << 16 | beyond << 31;
        digit += lanes;
    }
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

/// The place behind the keys of all rows.
#[device]
pub(super) fn end_of(rows: &[u32; 768], lanes: u32) -> u32 {
    let last = ((lanes - 1) & 255) as usize;
    rows[512 + last] + rows[256 + last]
}

/// Where the key of a place lies, as its row's number and its number in the chunk: in the last row that begins there or before.
#[device]
pub(super) fn key_at(rows: &[u32; 768], place: u32, lanes: u32) -> [u32; 2] {
    let mut row = 0u32;
    if lanes == 256 {
        for k in 0..8u32 {
            let next = row + (128 >> k);
            if rows[(512 + (next & 255)) as usize] <= place {
                row = next;
            }
        }
    } else {
        while row + 1 < lanes && rows[(512 + ((row + 1) & 255)) as usize] <= place {
            row += 1;
        }
    }
    let at = (row & 255) as usize;
    [row, rows[at] + place - rows[512 + at]]
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
        let (mut sum, mut beyond) = (0u32, 0u32);
        let mut at = digit;
        while at < notes.len() {
            // Eight at once on their way.
            let mut some = [0u32; 8];
            for k in 0..8usize {
                if at + k * 256 < notes.len() {
                    some[k] = notes[at + k * 256];
                }
            }
            for k in 0..8usize {
                sum += (some[k] >> 16) & 0x7fff;
                beyond |= some[k] >> 31;
            }
            at += 8 * 256;
        }
        sums[digit] = sum | beyond << 31;
        digit += team.lanes();
    }
}

/// Replaces each sum by that of the rows before, and says where each digit's bucket begins. How many buckets have more keys than
/// a team sorts; [`BEYOND`] where a row says that there are keys beyond.
#[spawning(team(256))]
pub(super) fn add_blocks(team: &Team, sums: &mut [u32], begins: &mut [u32]) -> u32 {
    let mine = parts(256, team.lanes());
    let first = (team.lane() * mine).min(256);
    let last = (first + mine).min(256);
    let (mut all, mut large, mut beyond) = (0u32, 0u32, 0u32);
    for digit in first..last {
        let mut sum = 0u32;
        let mut at = digit;
        while at < sums.len() {
            // Eight at once on their way.
            let mut some = [0u32; 8];
            for k in 0..8usize {
                if at + k * 256 < sums.len() {
                    some[k] = sums[at + k * 256];
                }
            }
            for k in 0..8usize {
                if at + k * 256 < sums.len() {
                    sums[at + k * 256] = sum;
                }
                sum += some[k] & 0x7fff_ffff;
                beyond |= some[k] >> 31;
            }
            at += 8 * 256;
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
    let large = team.sum(large);
    let beyond = team.sum(beyond);
    if beyond > 0 { BEYOND } else { large }
}
