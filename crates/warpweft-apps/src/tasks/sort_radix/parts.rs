//! The sort for keys of 32 and of 64 bits.

/// The functions for keys of a type: device code that shifts keys is not generic.
macro_rules! sorts {
    ($keys:ident, $T:ident) => {
        /// For keys of one width.
        pub mod $keys {
            // Device code has no `div_ceil`. Parts are many arguments.
            #![allow(clippy::manual_div_ceil, clippy::too_many_arguments)]

            use warpweft::channels::Team;
            use warpweft::prelude::*;

            use crate::tasks::sort_radix::digits::{
                add_blocks, add_up, begin_digits, parts, place, sum_blocks, sum_of, write_notes,
            };

            /// Sorts `keys`, which differ in the lowest `shift + 8` bits only, with the help of `other`, which is as long, and of
            /// a table of [`table_words`](super::super::table_words).
            #[spawning]
            pub fn radix_sort(keys: &mut [$T], other: &mut [$T], table: &mut [u32], shift: u32) {
                if keys.len() > 4096 {
                    spawn!(sort_large(keys, other, table, shift));
                } else {
                    let (none, _) = table.split_at_mut(0);
                    spawn!(sort_part(keys, other, none, 0, shift + 8, false));
                }
                sync!();
            }

            /// Sorts more keys than a team does.
            #[spawning]
            fn sort_large(keys: &mut [$T], other: &mut [$T], table: &mut [u32], shift: u32) {
                let chunks = parts(keys.len(), 4096);
                let (begins, rest) = table.split_at_mut(256);
                let (notes, sums) = rest.split_at_mut(chunks * 256);
                let (sums, none) = sums.split_at_mut(parts(chunks, 64) * 256);
                let (none, _) = none.split_at_mut(0);
                spawn!(sort_chunks(keys, other, notes, shift));
                sync!();
                spawn!(sum_blocks(notes, sums));
                sync!();
                spawn!(add_blocks(sums, begins));
                sync!();
                spawn!(buckets(other, keys, notes, sums, begins, none, 0, 256, shift));
                sync!();
                if shift > 0 {
                    spawn!(large_buckets(keys, other, begins, rest, 0, 256, shift));
                }
                sync!();
            }

            /// Sorts each chunk by its digit into `other`.
            #[spawning]
            fn sort_chunks(keys: &mut [$T], other: &mut [$T], notes: &mut [u32], shift: u32) {
                if keys.len() <= 4096 {
                    spawn!(sort_part(keys, other, notes, shift, shift + 8, true));
                } else {
                    let middle = parts(keys.len(), 4096) / 2;
                    let (low, high) = keys.split_at_mut(middle * 4096);
                    let (other_low, other_high) = other.split_at_mut(middle * 4096);
                    let (notes_low, notes_high) = notes.split_at_mut(middle * 256);
                    spawn!(sort_chunks(low, other_low, notes_low, shift));
                    spawn!(sort_chunks(high, other_high, notes_high, shift));
                }
                sync!();
            }

            /// Gathers the buckets of the digits from `first` to `last` into `to`, and sorts those that are small.
            #[spawning]
            fn buckets(
                from: &[$T],
                to: &mut [$T],
                notes: &[u32],
                sums: &[u32],
                begins: &[u32],
                none: &mut [u32],
                first: u32,
                last: u32,
                shift: u32,
            ) {
                if to.len() <= 4096 {
                    spawn!(small_bucket(from, to, notes, none, first, last, shift));
                } else if last - first == 1 {
                    let blocks = (sums.len() / 256) as u32;
                    spawn!(gather(from, to, notes, sums, 0, blocks, first, last));
                } else {
                    let middle = (first + last) / 2;
                    let at = begins[middle as usize] - begins[first as usize];
                    let (low, high) = to.split_at_mut(at as usize);
                    let (none, empty) = none.split_at_mut(0);
                    spawn!(buckets(from, low, notes, sums, begins, none, first, middle, shift));
                    spawn!(buckets(from, high, notes, sums, begins, empty, middle, last, shift));
                }
                sync!();
            }

            #[spawning]
            fn small_bucket(
                from: &[$T],
                to: &mut [$T],
                notes: &[u32],
                none: &mut [u32],
                first: u32,
                last: u32,
                shift: u32,
            ) {
                if to.len() > 0 {
                    let blocks = parts(notes.len(), 64 * 256) as u32;
                    spawn!(gather_part(from, to, notes, 0, blocks, first, last));
                }
                sync!();
                if to.len() > 1 {
                    let mut bits = shift;
                    while last - first > 1 << (bits - shift) {
                        bits += 1;
                    }
                    let (empty, to) = to.split_at_mut(0);
                    spawn!(sort_part(to, empty, none, 0, bits, false));
                }
                sync!();
            }

            /// Gathers the keys of the digits from `first` to `last` of some blocks of 64 chunks.
            #[spawning]
            fn gather(
                from: &[$T],
                to: &mut [$T],
                notes: &[u32],
                sums: &[u32],
                begin: u32,
                end: u32,
                first: u32,
                last: u32,
            ) {
                if to.len() <= 8192 || end - begin == 1 {
                    spawn!(gather_part(from, to, notes, begin, end, first, last));
                } else {
                    let middle = (begin + end) / 2;
                    let at = sums[(middle * 256 + first) as usize]
                        - sums[(begin * 256 + first) as usize];
                    let (low, high) = to.split_at_mut(at as usize);
                    spawn!(gather(from, low, notes, sums, begin, middle, first, last));
                    spawn!(gather(from, high, notes, sums, middle, end, first, last));
                }
                sync!();
            }

            #[spawning(team(256))]
            fn gather_part(
                team: &Team,
                from: &[$T],
                to: &mut [$T],
                notes: &[u32],
                begin: u32,
                end: u32,
                first: u32,
                last: u32,
                begins: &mut [u32; 256],
                sizes: &mut [u32; 256],
                places: &mut [u32; 256],
            ) {
                let (lane, lanes) = (team.lane(), team.lanes());
                let chunks = (end as usize * 64).min(notes.len() / 256);
                let mut chunk = begin as usize * 64;
                // As many lanes copy from a chunk as it has keys, about.
                let mean = to.len() / (chunks - chunk).max(1);
                let mut width = lanes.min(4);
                while width < lanes.min(32) && width < mean {
                    width *= 2;
                }
                let mut done = 0u32;
                while chunk < chunks {
                    let mut size = 0u32;
                    if chunk + lane < chunks {
                        let row = (chunk + lane) * 256;
                        let lowest = notes[row + first as usize] & 0xffff;
                        let highest = notes[row + last as usize - 1];
                        begins[lane] = lowest;
                        size = (highest & 0xffff) + (highest >> 16) - lowest;
                    }
                    sizes[lane] = size;
                    places[lane] = done + team.prefix_sum(size);
                    done += team.sum(size);
                    team.barrier();
                    let here = lanes.min(chunks - chunk);
                    let mut r = lane / width;
                    while r < here {
                        let source = (chunk + r) * 4096 + begins[r] as usize;
                        let target = places[r] as usize;
                        let mut i = lane & (width - 1);
                        while i < sizes[r] as usize {
                            to[target + i] = from[source + i];
                            i += width;
                        }
                        r += lanes / width;
                    }
                    team.barrier();
                    chunk += lanes;
                }
            }

            /// Sorts the buckets that have more keys than a team sorts, by their next digit.
            #[spawning]
            fn large_buckets(
                keys: &mut [$T],
                other: &mut [$T],
                begins: &[u32],
                table: &mut [u32],
                first: u32,
                last: u32,
                shift: u32,
            ) {
                let count = keys.len();
                if count > 4096 {
                    if last - first == 1 {
                        spawn!(sort_large(keys, other, table, shift - 8));
                    } else {
                        let middle = (first + last) / 2;
                        let at = (begins[middle as usize] - begins[first as usize]) as usize;
                        let (low, high) = keys.split_at_mut(at);
                        let (other_low, other_high) = other.split_at_mut(at);
                        let words = table.len() as u64 * at as u64 / count as u64;
                        let (table_low, table_high) = table.split_at_mut(words as usize);
                        spawn!(large_buckets(
                            low, other_low, begins, table_low, first, middle, shift
                        ));
                        spawn!(large_buckets(
                            high, other_high, begins, table_high, middle, last, shift
                        ));
                    }
                }
                sync!();
            }

            /// Counts how many keys of a lane have each digit of four bits.
            #[device]
            fn count_digits(
                keys: &[$T; 4096],
                counts: &mut [u32; 4352],
                mine: [u32; 2],
                shift: u32,
                lanes: [u32; 2],
            ) {
                for digit in 0..16u32 {
                    counts[place(digit * lanes[1] + lanes[0])] = 0;
                }
                let mut k = mine[0];
                while k < mine[1] {
                    let digit = ((keys[k as usize] >> shift) & 15) as u32;
                    counts[place(digit * lanes[1] + lanes[0])] += 1;
                    k += 1;
                }
            }

            /// Moves a lane's keys to their places by that digit.
            #[device]
            fn move_keys(
                from: &[$T; 4096],
                to: &mut [$T; 4096],
                counts: &mut [u32; 4352],
                mine: [u32; 2],
                shift: u32,
                lanes: [u32; 2],
            ) {
                let mut k = mine[0];
                while k < mine[1] {
                    let key = from[k as usize];
                    let at = place(((key >> shift) & 15) as u32 * lanes[1] + lanes[0]);
                    let target = counts[at];
                    counts[at] = target + 1;
                    to[target as usize] = key;
                    k += 1;
                }
            }

            /// Writes sorted keys, and if `noted` where their digits begin.
            #[device]
            fn put_keys(
                keys: &[$T; 4096],
                to: &mut [$T],
                begins: &mut [u32; 4352],
                count: usize,
                low: u32,
                noted: bool,
                lanes: [usize; 2],
            ) {
                let mut i = lanes[0];
                while i < count {
                    let key = keys[i];
                    to[i] = key;
                    if noted {
                        let digit = ((key >> low) & 255) as u32;
                        let mut unseen = 0u32;
                        if i > 0 {
                            unseen = ((keys[i - 1] >> low) & 255) as u32 + 1;
                        }
                        begin_digits(begins, unseen, digit, i as u32);
                        if i + 1 == count {
                            begin_digits(begins, digit + 1, 256, count as u32);
                        }
                    }
                    i += lanes[1];
                }
            }

            /// Sorts at most 4096 keys by the bits from `low` to `high`, eight at a time. If `notes` has 256 words, it then says where
            /// the keys of each digit of eight bits begin, and above 16 bits how many they are.
            #[spawning(team(256))]
            fn sort_part(
                team: &Team,
                keys: &mut [$T],
                other: &mut [$T],
                notes: &mut [u32],
                low: u32,
                high: u32,
                in_other: bool,
                room: &mut [$T; 4096],
                moved: &mut [$T; 4096],
                counts: &mut [u32; 4352],
            ) {
                let (count, lane, lanes) = (keys.len(), team.lane(), team.lanes());
                let mut i = lane;
                while i < count {
                    room[i] = keys[i];
                    i += lanes;
                }
                // An odd number keeps lanes out of one another's memory banks.
                let each = parts(count, lanes) | 1;
                let begin = (lane * each).min(count);
                let mine = [begin as u32, (begin + each).min(count) as u32];
                let here = [lane as u32, lanes as u32];
                let mut shift = low;
                while shift < high {
                    team.barrier();
                    count_digits(room, counts, mine, shift, here);
                    team.barrier();
                    let before = team.prefix_sum(sum_of(counts, here[0]));
                    add_up(counts, here[0], before);
                    team.barrier();
                    move_keys(room, moved, counts, mine, shift, here);
                    team.barrier();
                    count_digits(moved, counts, mine, shift + 4, here);
                    team.barrier();
                    let before = team.prefix_sum(sum_of(counts, here[0]));
                    add_up(counts, here[0], before);
                    team.barrier();
                    move_keys(moved, room, counts, mine, shift + 4, here);
                    shift += 8;
                }
                team.barrier();
                let noted = notes.len() == 256;
                if in_other {
                    put_keys(room, other, counts, count, low, noted, [lane, lanes]);
                } else {
                    put_keys(room, keys, counts, count, low, noted, [lane, lanes]);
                }
                team.barrier();
                if noted {
                    write_notes(counts, notes, lane, lanes);
                }
            }
        }
    };
}

sorts!(words, u32);
sorts!(wide, u64);
