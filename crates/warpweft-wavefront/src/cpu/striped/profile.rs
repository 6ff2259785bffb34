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

/// Puts the bytes of vectors of lanes in the order of fronts: a vector for each of the lanes' on the first front, then those of the
/// second, and so on. A lane's bytes begin so many bytes after the first argument.
///
/// # Safety
/// There are `BLOCK` bytes at each of them. The last argument has `BLOCK` vectors for each of the lanes'.
type Transpose = unsafe fn(*const i8, &[[isize; GROUP]], &mut [[i8; GROUP]]);

/// Where the lines of a tile-row's lanes begin, each as many bytes early as its lane is fronts late; in striped order.
pub(in crate::cpu) struct Begins {
    of: Vec<[isize; GROUP]>,
    /// The first and the last of them.
    range: [isize; 2],
}

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

    /// Where the lines of these rows begin; whole vectors of them.
    pub fn begins<R: Copy>(&self, rows: &[R]) -> Begins {
        let vectors = rows.len() / GROUP;
        let begin = |lane: usize| self.of[symbol(rows[lane])] as isize - lane as isize;
        let of = |v| std::array::from_fn(|k| begin(k * vectors + v));
        let of: Vec<[isize; GROUP]> = (0..vectors).map(of).collect();
        let all = || of.iter().flatten().copied();
        let range = [all().min().unwrap_or(0), all().max().unwrap_or(0)];
        Begins { of, range }
    }

    /// What inputs give on the block of fronts from `front` on, which all lanes have a cell in: a vector for each of `to`, those of
    /// the first front first.
    pub fn block(&self, lanes: &Begins, front: usize, to: &mut [[i8; GROUP]]) {
        let [first, last] = lanes.range.map(|begin| begin + front as isize);
        assert!(first >= 0 && last as usize + BLOCK <= self.lines.len());
        assert!(to.len() >= BLOCK * lanes.of.len());
        // SAFETY: the machine has the features, `of` has seen to that. All lanes' bytes are in the lines: the first and the last are.
        unsafe { (self.transpose)(self.lines.as_ptr().wrapping_add(front), &lanes.of, to) };
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

/// As [`Transpose`] says.
unsafe fn transpose(lines: *const i8, begins: &[[isize; GROUP]], to: &mut [[i8; GROUP]]) {
    for (t, front) in to.chunks_exact_mut(begins.len()).take(BLOCK).enumerate() {
        for (to, begins) in front.iter_mut().zip(begins) {
            for (to, &begin) in to.iter_mut().zip(begins) {
                // SAFETY: one of the lane's bytes.
                *to = unsafe { *lines.wrapping_offset(begin + t as isize) };
            }
        }
    }
}

/// Sixteen lanes in the lower half of each register, sixteen in the upper. The address of a byte is the number of its register
/// and its place there: each round rotates its eight bits by one, and four rounds exchange the two.
///
/// As [`Transpose`] says.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn transpose_avx2(lines: *const i8, begins: &[[isize; GROUP]], to: &mut [[i8; GROUP]]) {
    use std::arch::x86_64::*;
    let step = begins.len();
    for (v, begins) in begins.iter().enumerate() {
        let mut all = [_mm256_setzero_si256(); BLOCK];
        let (lower, upper) = begins.split_at(BLOCK);
        for ((all, &lower), &upper) in all.iter_mut().zip(lower).zip(upper) {
            let [lower, upper] = [lower, upper].map(|begin| lines.wrapping_offset(begin).cast());
            // SAFETY: 16 bytes of a lane each.
            *all = unsafe { _mm256_loadu2_m128i(upper, lower) };
        }
        for _ in 0..BLOCK.ilog2() {
            let before = all;
            for k in 0..BLOCK / 2 {
                all[2 * k] = _mm256_unpacklo_epi8(before[k], before[k + BLOCK / 2]);
                all[2 * k + 1] = _mm256_unpackhi_epi8(before[k], before[k + BLOCK / 2]);
            }
        }
        for (to, all) in to[v..].iter_mut().step_by(step).zip(all) {
            // SAFETY: it is 32 bytes.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), all) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_transposed_alike_by_all_instruction_sets() {
        // Three vectors of lanes, whose bytes begin anywhere.
        let lines: Vec<i8> = (0..9000).map(|at| (at * 7 + at / 256) as i8).collect();
        let begins: [[isize; GROUP]; 3] =
            std::array::from_fn(|v| std::array::from_fn(|k| (v * 2971 + k * 83) as isize));
        let mut expect = vec![[0; GROUP]; BLOCK * 3];
        // SAFETY: the last lane's bytes end before 9000.
        unsafe { transpose(lines.as_ptr(), &begins, &mut expect) };
        for (at, vector) in expect.iter().enumerate() {
            for (k, &byte) in vector.iter().enumerate() {
                assert_eq!(byte, lines[begins[at % 3][k] as usize + at / 3]);
            }
        }
        #[cfg(target_arch = "x86_64")]
        if Simd::detect() >= Simd::Avx2 {
            let mut found = vec![[0; GROUP]; BLOCK * 3];
            // SAFETY: the machine has AVX2; as above.
            unsafe { transpose_avx2(lines.as_ptr(), &begins, &mut found) };
            assert_eq!(found, expect);
        }
    }
}
