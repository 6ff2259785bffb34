//! Blocks of cells between rows of the domain, where a lane's cells lie one after another, and fronts, which have one cell a
//! lane.

use warpweft_core::cpu::Simd;

/// Lanes and fronts of a block.
pub(super) const SIDE: usize = 8;

/// Copies a block: `to[j][i] = from[i][j]`.
pub(super) type Transpose<C> = unsafe fn(from: [*const C; SIDE], to: [*mut C; SIDE]);

/// For cells of 4 bytes on a machine with AVX2 or more, if `simd` allows it. A Gauss-Seidel sweep of 8192 squared `f32` takes 1.6
/// times as long on a core of an EPYC if all cells go one by one.
pub(super) fn transpose<C: Copy>(simd: Simd) -> Option<Transpose<C>> {
    #[cfg(target_arch = "x86_64")]
    if size_of::<C>() == 4 && simd.min(Simd::detect()) >= Simd::Avx2 {
        return Some(avx2::transpose::<C>);
    }
    let _ = simd;
    None
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::SIDE;
    use std::arch::x86_64::{
        __m256, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
        _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    /// Pairs of rows, then of pairs, then of halves; no arithmetic, so the bits stay.
    ///
    /// # Safety
    /// The machine has AVX2; `C` has 4 bytes; each pointer leads to `SIDE` cells, and no two of `to` overlap or lead to cells of
    /// `from`.
    #[target_feature(enable = "avx2")]
    pub unsafe fn transpose<C>(from: [*const C; SIDE], to: [*mut C; SIDE]) {
        // SAFETY: as the caller promises.
        let r: [__m256; SIDE] = from.map(|row| unsafe { _mm256_loadu_ps(row.cast()) });
        let low = |i: usize| _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        let high = |i: usize| _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        // Columns 0 and 4, 1 and 5, 2 and 6, 3 and 7, of four rows.
        let four = |i: usize| {
            let [a, b] = [low(2 * i), low(2 * i + 1)];
            let [c, d] = [high(2 * i), high(2 * i + 1)];
            [
                _mm256_shuffle_ps::<0x44>(a, b),
                _mm256_shuffle_ps::<0xee>(a, b),
                _mm256_shuffle_ps::<0x44>(c, d),
                _mm256_shuffle_ps::<0xee>(c, d),
            ]
        };
        let [above, below] = [four(0), four(1)];
        for j in 0..SIDE / 2 {
            let first = _mm256_permute2f128_ps::<0x20>(above[j], below[j]);
            let second = _mm256_permute2f128_ps::<0x31>(above[j], below[j]);
            // SAFETY: as the caller promises.
            unsafe {
                _mm256_storeu_ps(to[j].cast(), first);
                _mm256_storeu_ps(to[j + SIDE / 2].cast(), second);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_transposed_bit_by_bit() {
        assert!(transpose::<u64>(Simd::detect()).is_none());
        let Some(transpose) = transpose::<u32>(Simd::detect()) else { return };
        // NaNs of all kinds too.
        let from: [[u32; SIDE]; SIDE] = std::array::from_fn(|i| {
            std::array::from_fn(|j| 0x7fa0_0000 + 0x1_0001 * (i * 9 + j) as u32)
        });
        let mut to = [[0u32; SIDE]; SIDE];
        let rows = from.each_ref().map(|row| row.as_ptr());
        let fronts = to.each_mut().map(|front| front.as_mut_ptr());
        // SAFETY: `transpose` was given for this machine and size; arrays of `SIDE` each.
        unsafe { transpose(rows, fronts) };
        for (i, row) in from.iter().enumerate() {
            for (j, &cell) in row.iter().enumerate() {
                assert_eq!(to[j][i], cell);
            }
        }
    }
}
