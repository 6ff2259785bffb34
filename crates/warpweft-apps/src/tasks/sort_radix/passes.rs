//! Sorting a few thousand keys in the shared memory of a team, by five bits at a time.
//!
//! In a pass each lane of 256 has 4, 8, 12 or 16 keys in turn, which it keeps in registers; the greatest number stands for
//! missing ones. It counts how many of its own have each digit; counts of two digits are in one word. The sums of all counts before say where keys go.
//! A team of another number of lanes, as on cores, lets its first lane sort by eight bits at a time.
//!
//! Loops over a lane's keys are written out, so that keys are in registers; indices are in range by the way they are
//! made, so that nothing is tested.

use warpweft::prelude::*;

/// Where one of 4096 words lies. Lanes next to one another are in different memory banks, whether their words are next to one
/// another or 16 apart.
#[device]
pub(super) fn place(number: u32) -> u32 {
    (number ^ ((number >> 4) & 31)) & 4095
}

/// A lane's 16 counts, which are next to one another, and their sum.
#[device]
pub(super) fn sum_of(counts: &[u32; 4096], own: &mut [u32; 16], lane: u32) -> u32 {
    let mut sum = 0u32;
    for k in 0..16u32 {
        let count = counts[place(lane * 16 + k) as usize];
        own[k as usize] = count;
        sum += count;
    }
    sum
}

/// The first digit of the bits, for 256 lanes: where it begins, and its highest value, which is 0 where there is none.
#[device]
pub(super) fn first_digit(bits: [u32; 2], lanes: u32) -> [u32; 2] {
    [bits[0], if lanes == 256 { (1u32 << (bits[1] - bits[0]).min(5)) - 1 } else { 0 }]
}

/// The digit after one, below bit `high`.
#[device]
pub(super) fn next_digit(digit: [u32; 2], high: u32) -> [u32; 2] {
    let shift = digit[0] + 5;
    [shift, (1u32 << high.saturating_sub(shift).min(5)) - 1]
}

/// Where sorted keys are: after an odd number of passes by one lane in the other half.
#[device]
pub(super) fn half_of(bits: [u32; 2], lanes: u32) -> u32 {
    if lanes == 256 { 0 } else { (((bits[1] - bits[0] + 7) >> 3) & 1) * 4096 }
}

/// The functions of a pass for keys of a type.
macro_rules! passes {
    ($keys:ident, $T:ident, $([$few:literal: $($k:literal)*])*) => {
        pub(super) mod $keys {
            use warpweft::prelude::*;

            use super::super::digits::key_at;
            use super::place;

            /// Reads keys into shared memory, as many as all lanes have. They are many at once on their way. The bits in which a
            /// lane's keys differ from `one`.
            #[device]
            pub fn take_keys(
                from: &[$T],
                room: &mut [$T; 8192],
                held: &mut [$T; 16],
                each: u32,
                here: [u32; 2],
                one: $T,
            ) -> $T {
                let first = (here[0] & 255) as usize;
                let mut differ = 0 as $T;
                if here[1] == 256 {
                    $(if $few < each {
                        $(held[$k] = !(0 as $T);
                        if $k * 256 + first < from.len() {
                            held[$k] = from[$k * 256 + first];
                        })*
                    })*
                    $(if $few < each {
                        $(room[place($k * 256 + first as u32) as usize] = held[$k];
                        if $k * 256 + first < from.len() {
                            differ |= held[$k] ^ one;
                        })*
                    })*
                } else {
                    let mut i = here[0];
                    while (i as usize) < from.len() {
                        let key = from[i as usize];
                        room[place(i) as usize] = key;
                        differ |= key ^ one;
                        i += here[1];
                    }
                }
                differ
            }

            /// The greatest number for what all lanes have beyond `count` keys.
            #[device]
            pub fn fill_up(room: &mut [$T; 8192], each: u32, count: u32, here: [u32; 2]) {
                let lane = here[0];
                $($(if $k * 256 + (lane & 255) >= count && $few < each && here[1] == 256 {
                    room[place($k * 256 + (lane & 255)) as usize] = !(0 as $T);
                })*)*
            }

            /// Counts a lane's keys, of which all have as many, by digit. For each, in five bits, how many have the same before.
            #[device]
            pub fn count_own(
                room: &[$T; 8192],
                counts: &mut [u32; 4096],
                held: &mut [$T; 16],
                earlier: &mut [u32; 3],
                each: u32,
                bits: [u32; 2],
                lane: u32,
            ) {
                let column = lane & 255;
                let column = column ^ (column >> 4);
                $($(counts[$k * 256 + (column ^ ($k % 2 * 16)) as usize] = 0;)*)*
                $(if $few < each {
                    $(held[$k] = room[place(lane * each + $k) as usize];)*
                })*
                $(if $few < each {
                    $(let digit = ((held[$k] >> bits[0]) as u32) & bits[1];
                    let half = digit & 16;
                    let at = (((digit & 15) << 8) | (column ^ ((digit & 1) << 4))) as usize;
                    let before = counts[at];
                    counts[at] = before + (1 << half);
                    earlier[$k / 6] |= ((before >> half) & 0xffff) << ($k % 6 * 5);)*
                })*
            }

            /// Replaces a lane's 16 counts by the sums of all before them. The last lane says how many keys have a lower digit.
            #[device]
            pub fn add_up(
                counts: &mut [u32; 4096],
                own: &[u32; 16],
                room: &mut [$T; 8192],
                lane: u32,
                before: u32,
            ) {
                let mut sum = before;
                for k in 0..16u32 {
                    counts[place(lane * 16 + k) as usize] = sum;
                    sum += own[k as usize];
                }
                if lane == 255 {
                    room[8191] = (sum & 0xffff) as $T;
                }
            }

            /// Moves a lane's keys to their places.
            #[device]
            pub fn move_own(
                room: &mut [$T; 8192],
                counts: &[u32; 4096],
                held: &[$T; 16],
                earlier: &[u32; 3],
                each: u32,
                bits: [u32; 2],
                lane: u32,
            ) {
                // How many of all keys have one of the 16 lower digits.
                let lower = room[8191] as u32;
                let column = lane & 255;
                let column = column ^ (column >> 4);
                $(if $few < each {
                    $(let digit = ((held[$k] >> bits[0]) as u32) & bits[1];
                    let half = digit & 16;
                    let at = (((digit & 15) << 8) | (column ^ ((digit & 1) << 4))) as usize;
                    let sums = counts[at];
                    let upper = if half != 0 { lower } else { 0 };
                    let same = (earlier[$k / 6] >> ($k % 6 * 5)) & 31;
                    let to = ((sums >> half) & 0xffff) + same + upper;
                    room[place(to) as usize] = held[$k];)*
                })*
            }

            /// Sorts the first `count` keys as the first lane of another number of lanes. After each pass they are in the other half.
            #[device]
            pub fn sort_alone(
                room: &mut [$T; 8192],
                counts: &mut [u32; 4096],
                count: u32,
                bits: [u32; 2],
                here: [u32; 2],
            ) {
                let mut from = 0u32;
                let mut shift = bits[0];
                while shift < bits[1] && here[0] == 0 && here[1] != 256 {
                    for digit in 0..256u32 {
                        counts[digit as usize] = 0;
                    }
                    for k in 0..count {
                        counts[((room[(from + place(k)) as usize] >> shift) & 255) as usize] += 1;
                    }
                    let mut sum = 0u32;
                    for digit in 0..256u32 {
                        let here = counts[digit as usize];
                        counts[digit as usize] = sum;
                        sum += here;
                    }
                    for k in 0..count {
                        let key = room[(from + place(k)) as usize];
                        let digit = ((key >> shift) & 255) as usize;
                        let to = counts[digit];
                        counts[digit] = to + 1;
                        room[(4096 - from + place(to)) as usize] = key;
                    }
                    from = 4096 - from;
                    shift += 8;
                }
            }

            /// A lane's next four keys of as many rows as lanes, so that they are at once on their way; for places from the end
            /// on, the last key.
            #[device]
            fn four_keys(
                from: &[$T],
                rows: &[u32; 768],
                chunk: usize,
                places: [u32; 2],
                lanes: u32,
            ) -> [$T; 4] {
                let mut some = [0 as $T; 4];
                for k in 0..4u32 {
                    let at = (places[0] + k * lanes).min(places[1] - 1);
                    let key = key_at(rows, at, lanes);
                    some[k as usize] = from[(chunk + key[0] as usize) * 4096 + key[1] as usize];
                }
                some
            }

            /// Copies the keys of as many rows as lanes to memory.
            #[device]
            pub fn copy_rows(
                from: &[$T],
                to: &mut [$T],
                rows: &[u32; 768],
                chunk: usize,
                places: [u32; 2],
                here: [u32; 2],
            ) {
                let mut next = places[0] + here[0];
                while next < places[1] {
                    let some = four_keys(from, rows, chunk, [next, places[1]], here[1]);
                    for k in 0..4u32 {
                        let at = next + k * here[1];
                        if at < places[1] {
                            to[at as usize] = some[k as usize];
                        }
                    }
                    next += 4 * here[1];
                }
            }

            /// Copies the keys of as many rows as lanes into shared memory.
            #[device]
            pub fn gather_rows(
                from: &[$T],
                to: &mut [$T; 8192],
                rows: &[u32; 768],
                chunk: usize,
                places: [u32; 2],
                here: [u32; 2],
            ) {
                let mut next = places[0] + here[0];
                while next < places[1] {
                    let some = four_keys(from, rows, chunk, [next, places[1]], here[1]);
                    for k in 0..4u32 {
                        let at = next + k * here[1];
                        if at < places[1] {
                            to[place(at) as usize] = some[k as usize];
                        }
                    }
                    next += 4 * here[1];
                }
            }

            /// Writes a lane's share of sorted keys, which begin at `from`.
            #[device]
            pub fn put_keys(room: &[$T; 8192], to: &mut [$T], from: u32, lanes: [u32; 2]) {
                if lanes[1] == 256 {
                    let first = (lanes[0] & 255) as usize;
                    $($(if $k * 256 + first < to.len() {
                        to[$k * 256 + first] = room[place($k * 256 + first as u32) as usize];
                    })*)*
                } else {
                    let mut i = lanes[0];
                    while (i as usize) < to.len() {
                        to[i as usize] = room[(from + place(i)) as usize];
                        i += lanes[1];
                    }
                }
            }

            /// Where the digits of `count` sorted keys begin.
            #[device]
            pub fn note_digits(
                room: &[$T; 8192],
                begins: &mut [u32; 4096],
                from: u32,
                count: u32,
                low: u32,
                lanes: [u32; 2],
            ) {
                let mut digit = lanes[0];
                while digit < 256 {
                    let mut lower = 0u32;
                    for k in 0..13u32 {
                        let next = lower + (4096 >> k);
                        if next <= count {
                            let key = room[(from + place(next - 1)) as usize];
                            if (((key >> low) & 255) as u32) < digit {
                                lower = next;
                            }
                        }
                    }
                    begins[digit as usize] = lower;
                    digit += lanes[1];
                }
                if lanes[0] == 0 {
                    begins[256] = count;
                }
            }
        }
    };
}

passes!(words, u32, [0: 0 1 2 3] [4: 4 5 6 7] [8: 8 9 10 11] [12: 12 13 14 15]);
passes!(wide, u64, [0: 0 1 2 3] [4: 4 5 6 7] [8: 8 9 10 11] [12: 12 13 14 15]);
