//! What each symbol of the rows gives with every column, looked up once: a profile (Rognes and Seeberg 2000, there of a query).
//!
//! A line of the profile is a byte for each column, of one symbol. On consecutive fronts a lane reads consecutive bytes of the line
//! of its row's symbol. Vectors want the bytes of many lanes on one front, so blocks of fronts are transposed. Nothing is looked
//! up in a table for each cell.

use super::ROOM;
use crate::cpu::parts::GROUP;
use crate::recurrence::WavefrontElement;
use warpweft_core::cpu::Simd;

/// Fronts that are transposed at once.
pub(in crate::cpu) const BLOCK: usize = 16;

/// Puts the bytes of a vector of lanes in the order of fronts: of the first at the beginning of the last argument, of each
/// later one so many vectors further.
type Transpose = unsafe fn(&[&[i8; BLOCK]; GROUP], usize, &mut [[i8; GROUP]]);

/// A line a symbol.
pub(in crate::cpu) struct Profile {
    lines: Vec<i8>,
    /// Where the line of each symbol begins.
    of: Box<[usize; 256]>,
    transpose: Transpose,
}

impl Profile {
    /// Of rows and columns; none for functions that look nothing up, if symbols of rows are no bytes or what they give does not
    /// fit one, or if it takes too much memory.
    pub fn of<E: WavefrontElement>(
        element: &E,
        (rows, columns): (&[E::Row], &[E::Column]),
        simd: Simd,
    ) -> Option<Self> {
        if const { !E::LOOKS_UP || size_of::<E::Row>() != 1 } {
            return None;
        }
        let (mut of, mut lines) = (Box::new([usize::MAX; 256]), Vec::new());
        for &row in rows {
            let at = &mut of[symbol(row)];
            if *at != usize::MAX {
                continue;
            }
            *at = lines.len();
            if lines.len() + columns.len() > ROOM {
                return None;
            }
            for &column in columns {
                lines.push(i8::try_from(element.pair(row, column)).ok()?);
            }
            // The last block may end after the last column.
            lines.resize(lines.len() + BLOCK, 0);
        }
        let transpose: Transpose = match simd.min(Simd::detect()) {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 | Simd::Avx2 => transpose_avx2,
            _ => transpose,
        };
        Some(Self { lines, of, transpose })
    }

    /// Where the lines of these rows begin.
    pub fn lanes<R: Copy>(&self, rows: &[R]) -> Vec<usize> {
        rows.iter().map(|&row| self.of[symbol(row)]).collect()
    }

    /// What inputs give on the block of fronts from `front` on, which all lanes have a cell in: a vector for each of `to`, those of
    /// the first front first. `lanes` are the beginnings of their lines.
    pub fn block(&self, lanes: &[usize], front: usize, to: &mut [[i8; GROUP]]) {
        let vectors = lanes.len() / GROUP;
        for v in 0..vectors {
            let from = std::array::from_fn(|k| {
                let lane = k * vectors + v;
                let at = lanes[lane] + front - lane;
                self.lines[at..].first_chunk().unwrap_or(&[0; BLOCK])
            });
            // SAFETY: the machine has the features, `of` has seen to that.
            unsafe { (self.transpose)(&from, vectors, &mut to[v..]) };
        }
    }
}

/// The byte that `row` is, where it is one.
fn symbol<R: Copy>(row: R) -> usize {
    if const { size_of::<R>() != 1 } {
        return 0;
    }
    // SAFETY: a value of one byte that rows have as input: a number, which is initialised.
    usize::from(unsafe { std::mem::transmute_copy::<R, u8>(&row) })
}

fn transpose(from: &[&[i8; BLOCK]; GROUP], step: usize, to: &mut [[i8; GROUP]]) {
    for (t, to) in to.iter_mut().step_by(step).take(BLOCK).enumerate() {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from[t];
        }
    }
}

/// Sixteen lanes in the lower half of each register, sixteen in the upper. The address of a byte is the number of its register
/// and its place there: each round rotates its eight bits by one, and four rounds exchange the two.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn transpose_avx2(from: &[&[i8; BLOCK]; GROUP], step: usize, to: &mut [[i8; GROUP]]) {
    use std::arch::x86_64::*;
    let mut all = [_mm256_setzero_si256(); BLOCK];
    let (lower, upper) = from.split_at(BLOCK);
    for ((all, lower), upper) in all.iter_mut().zip(lower).zip(upper) {
        // SAFETY: they are 16 bytes each.
        let [lower, upper] =
            [lower, upper].map(|lane| unsafe { _mm_loadu_si128(lane.as_ptr().cast()) });
        *all = _mm256_set_m128i(upper, lower);
    }
    for _ in 0..BLOCK.ilog2() {
        let before = all;
        for k in 0..BLOCK / 2 {
            all[2 * k] = _mm256_unpacklo_epi8(before[k], before[k + BLOCK / 2]);
            all[2 * k + 1] = _mm256_unpackhi_epi8(before[k], before[k + BLOCK / 2]);
        }
    }
    for (to, all) in to.iter_mut().step_by(step).zip(all) {
        // SAFETY: it is 32 bytes.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), all) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_transposed_alike_by_all_instruction_sets() {
        let lanes: Vec<[i8; BLOCK]> =
            (0..GROUP).map(|lane| std::array::from_fn(|t| (lane * 7 + t * 33) as i8)).collect();
        let from = std::array::from_fn(|lane| &lanes[lane]);
        let mut expect = vec![[0; GROUP]; BLOCK * 3];
        transpose(&from, 3, &mut expect[1..]);
        for t in 0..BLOCK {
            for lane in 0..GROUP {
                assert_eq!(expect[1 + 3 * t][lane], lanes[lane][t]);
            }
        }
        #[cfg(target_arch = "x86_64")]
        if Simd::detect() >= Simd::Avx2 {
            let mut found = vec![[0; GROUP]; BLOCK * 3];
            // SAFETY: the machine has AVX2.
            unsafe { transpose_avx2(&from, 3, &mut found[1..]) };
            assert_eq!(found, expect);
        }
    }
}
