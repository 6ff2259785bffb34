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

            use crate::tasks::sort_radix::differences::$keys::{differences, differences_part};
            use crate::tasks::sort_radix::digits::*;
            use crate::tasks::sort_radix::passes::$keys::*;
            use crate::tasks::sort_radix::passes::{first_digit, half_of, next_digit, sum_of};

            /// Sorts `keys` with the help of `other`, which is as long, and of a table of
            /// [`table_words`](super::super::table_words).
            #[spawning]
            pub fn radix_sort(keys: &mut [$T], other: &mut [$T], table: &mut [u32]) {
                if keys.len() > 4096 {
                    spawn!(sort_all(keys, other, table));
                } else {
                    let (none, _) = table.split_at_mut(0);
                    spawn!(sort_part(keys, other, none, 0, [0, $T::BITS], false));
                }
                sync!();
            }

            /// Sorts by the bits in which some keys differ.
            #[spawning]
            fn sort_all(keys: &mut [$T], other: &mut [$T], table: &mut [u32]) {
                // Tasks of eight chunks at most, where there are many.
                let many = (keys.len() / 4096 / 1024).clamp(1, 8);
                // Most often some keys of everywhere tell the highest bit in which keys differ.
                let mut differ = spawn!(differences_part(keys, keys[0], keys.len() / 2048));
                sync!();
                let mut beyond = true;
                if differ > 0 {
                    let bits = $T::BITS - differ.leading_zeros();
                    beyond = spawn!(sort_large(keys, other, table, bits.max(8) - 8, many));
                }
                sync!();
                if beyond {
                    differ = spawn!(differences(keys, keys[0]));
                }
                sync!();
                if beyond && differ > 0 {
                    let bits = $T::BITS - differ.leading_zeros();
                    spawn!(sort_large(keys, other, table, bits.max(8) - 8, many));
                }
                sync!();
            }

            /// Sorts more keys than a team does by the bits below `shift` + 8. Whether keys differ in higher bits: then nothing is sorted.
            #[spawning]
            fn sort_large(
                keys: &mut [$T],
                other: &mut [$T],
                table: &mut [u32],
                shift: u32,
                many: usize,
            ) -> bool {
                let chunks = parts(keys.len(), 4096);
                let (begins, rest) = table.split_at_mut(256);
                let (notes, sums) = rest.split_at_mut(chunks * 256);
                let (sums, _) = sums.split_at_mut(parts(chunks, 64) * 256);
                spawn!(sort_chunks(keys, other, notes, keys[0], shift, many * 4096));
                sync!();
                spawn!(sum_blocks(notes, sums));
                sync!();
                let large = spawn!(add_blocks(sums, begins));
                sync!();
                if large == BEYOND {
                    return true;
                }
                spawn!(buckets(other, keys, notes, sums, begins, 0, 256, shift));
                sync!();
                if shift > 0 && large > 0 {
                    spawn!(large_buckets(keys, other, begins, rest, 0, 256, shift, many));
                }
                sync!();
                false
            }

            /// Sorts each chunk by its digit into `other`. A team sorts up to `most` keys, chunk by chunk.
            #[spawning]
            fn sort_chunks(
                keys: &mut [$T],
                other: &mut [$T],
                notes: &mut [u32],
                one: $T,
                shift: u32,
                most: usize,
            ) {
                if keys.len() <= most {
                    spawn!(sort_part(keys, other, notes, one, [shift, shift + 8], true));
                } else {
                    let middle = parts(keys.len(), 4096) / 2;
                    let (low, high) = keys.split_at_mut(middle * 4096);
                    let (other_low, other_high) = other.split_at_mut(middle * 4096);
                    let (notes_low, notes_high) = notes.split_at_mut(middle * 256);
                    spawn!(sort_chunks(low, other_low, notes_low, one, shift, most));
                    spawn!(sort_chunks(high, other_high, notes_high, one, shift, most));
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
                first: u32,
                last: u32,
                shift: u32,
            ) {
                let mut bits = shift;
                while last - first > 1 << (bits - shift) {
                    bits += 1;
                }
                if to.len() <= 4096 {
                    if to.len() > 0 {
                        spawn!(small_bucket(from, to, notes, [first, last], bits));
                    }
                } else if last - first == 1 {
                    let blocks = (sums.len() / 256) as u32;
                    spawn!(gather(from, to, notes, sums, 0, blocks, first, last));
                } else {
                    let middle = (first + last) / 2;
                    let at = begins[middle as usize] - begins[first as usize];
                    let (low, high) = to.split_at_mut(at as usize);
                    spawn!(buckets(from, low, notes, sums, begins, first, middle, shift));
                    spawn!(buckets(from, high, notes, sums, begins, middle, last, shift));
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
                // Few keys of many chunks are looked for by several teams.
                let whole = to.len() <= 8192 && end - begin <= 16 || end - begin == 1;
                if to.len() > 0 && whole {
                    spawn!(gather_part(from, to, notes, begin, end, first, last));
                } else if to.len() > 0 {
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
                rows: &mut [u32; 768],
            ) {
                let here = [team.lane() as u32, team.lanes() as u32];
                let chunks = (end as usize * 64).min(notes.len() / 256);
                // Lanes beyond find nothing.
                let notes = &notes[..chunks * 256];
                let mut chunk = begin as usize * 64;
                let mut before = 0u32;
                while chunk < chunks {
                    let size = read_row(notes, rows, chunk, [first, last], here);
                    put_place(rows, before + team.prefix_sum(size), here);
                    team.barrier();
                    let end = end_of(rows, here[1]);
                    copy_rows(from, to, rows, chunk, [before, end], here);
                    before = end;
                    team.barrier();
                    chunk += team.lanes();
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
                many: usize,
            ) {
                let count = keys.len();
                if count > 4096 {
                    if last - first == 1 {
                        spawn!(sort_large(keys, other, table, shift.saturating_sub(8), many));
                    } else {
                        let middle = (first + last) / 2;
                        let at = (begins[middle as usize] - begins[first as usize]) as usize;
                        let (low, high) = keys.split_at_mut(at);
                        let (other_low, other_high) = other.split_at_mut(at);
                        let words = table.len() as u64 * at as u64 / count as u64;
                        let (table_low, table_high) = table.split_at_mut(words as usize);
                        spawn!(large_buckets(
                            low, other_low, begins, table_low, first, middle, shift, many
                        ));
                        spawn!(large_buckets(
                            high, other_high, begins, table_high, middle, last, shift, many
                        ));
                    }
                }
                sync!();
            }

            /// Sorts each 4096 keys by the bits from `low` to `high`. If there are notes, 256 words each then say where the keys of
            /// each digit of eight bits begin, and above 16 bits how many they are, and the highest bits whether keys differ
            /// from `one` in bits from `high` on.
            #[spawning(team(256))]
            fn sort_part(
                team: &Team,
                keys: &mut [$T],
                other: &mut [$T],
                notes: &mut [u32],
                one: $T,
                bits: [u32; 2],
                in_other: bool,
                room: &mut [$T; 8192],
                counts: &mut [u32; 4096],
            ) {
                let here = [team.lane() as u32, team.lanes() as u32];
                let half = half_of(bits, here[1]);
                let mut done = 0usize;
                while done < keys.len() {
                    let count = (keys.len() - done).min(4096);
                    let each = parts(count, 1024) as u32 * 4;
                    let (mut held, mut sums) = ([0 as $T; 16], [0u32; 16]);
                    team.barrier();
                    let differ =
                        take_keys(&keys[done..done + count], room, &mut held, each, here, one);
                    let mut digit = first_digit(bits, here[1]);
                    while digit[1] > 0 {
                        let mut earlier = [0u32; 3];
                        team.barrier();
                        count_own(room, counts, &mut held, &mut earlier, each, digit, here[0]);
                        team.barrier();
                        let sum = sum_of(counts, &mut sums, here[0]);
                        add_up(counts, &sums, room, here[0], team.prefix_sum(sum));
                        team.barrier();
                        move_own(room, counts, &held, &earlier, each, digit, here[0]);
                        digit = next_digit(digit, bits[1]);
                    }
                    team.barrier();
                    sort_alone(room, counts, count as u32, bits, here);
                    team.barrier();
                    if in_other {
                        put_keys(room, &mut other[done..done + count], half, here);
                    } else {
                        put_keys(room, &mut keys[done..done + count], half, here);
                    }
                    if notes.len() > 0 {
                        let notes = &mut notes[done / 16..done / 16 + 256];
                        note_digits(room, counts, half, count as u32, bits[0], here);
                        let beyond = team.sum((differ >> bits[0] > 255) as u32);
                        team.barrier();
                        write_notes(counts, notes, beyond.min(1), team.lane(), team.lanes());
                    }
                    done += 4096;
                }
            }

            /// Gathers the keys of the digits from `first` to `last`, at most 4096, and sorts them by their lowest `bits`.
            #[spawning(team(256))]
            fn small_bucket(
                team: &Team,
                from: &[$T],
                to: &mut [$T],
                notes: &[u32],
                digits: [u32; 2],
                bits: u32,
                room: &mut [$T; 8192],
                counts: &mut [u32; 4096],
                rows: &mut [u32; 768],
            ) {
                let here = [team.lane() as u32, team.lanes() as u32];
                let count = to.len().min(4096);
                let each = parts(count, 1024) as u32 * 4;
                let (mut held, mut sums) = ([0 as $T; 16], [0u32; 16]);
                fill_up(room, each, count as u32, here);
                let chunks = notes.len() / 256;
                let (mut chunk, mut done) = (0usize, 0u32);
                while chunk < chunks {
                    let size = read_row(notes, rows, chunk, digits, here);
                    put_place(rows, done + team.prefix_sum(size), here);
                    team.barrier();
                    let end = end_of(rows, here[1]);
                    gather_rows(from, room, rows, chunk, [done, end], here);
                    done = end;
                    team.barrier();
                    chunk += team.lanes();
                }
                let mut digit = first_digit([0, bits], here[1]);
                while digit[1] > 0 {
                    let mut earlier = [0u32; 3];
                    team.barrier();
                    count_own(room, counts, &mut held, &mut earlier, each, digit, here[0]);
                    team.barrier();
                    let sum = sum_of(counts, &mut sums, here[0]);
                    add_up(counts, &sums, room, here[0], team.prefix_sum(sum));
                    team.barrier();
                    move_own(room, counts, &held, &earlier, each, digit, here[0]);
                    digit = next_digit(digit, bits);
                }
                team.barrier();
                sort_alone(room, counts, count as u32, [0, bits], here);
                team.barrier();
                put_keys(room, to, half_of([0, bits], here[1]), here);
            }
        }
    };
}

sorts!(words, u32);
sorts!(wide, u64);
