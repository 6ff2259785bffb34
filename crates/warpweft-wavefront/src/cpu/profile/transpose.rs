//! Bytes of lanes put in the order of fronts, for each instruction set.

use super::{BLOCK, Line};
use crate::cpu::parts::GROUP;
use warpweft_core::cpu::Simd;

/// Puts the bytes of vectors of lanes in the order of fronts: a vector for each of the lanes' on the first front, then those of the
/// second, and so on, all of them so many vectors apart. A lane's bytes begin so many bytes after the first argument.
///
/// # Safety
/// The machine has the instructions. There are `BLOCK` bytes at each lane's begin, and vectors for each of the lanes' on `BLOCK`
/// fronts.
pub(super) type Transpose = unsafe fn(*const i8, &[Line], &mut [[i8; GROUP]], usize);

/// The fastest of this machine that `simd` allows.
pub(super) fn of(simd: Simd) -> Transpose {
    match simd.min(Simd::detect()) {
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => avx512,
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => avx2,
        _ => portable,
    }
}

/// As [`Transpose`] says.
unsafe fn portable(lines: *const i8, begins: &[Line], to: &mut [[i8; GROUP]], apart: usize) {
    for t in 0..BLOCK {
        for (v, begins) in begins.iter().enumerate() {
            for (to, &begin) in to[t * apart + v].iter_mut().zip(begins) {
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
unsafe fn avx2(lines: *const i8, begins: &[Line], to: &mut [[i8; GROUP]], apart: usize) {
    use std::arch::x86_64::*;
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
        for (to, all) in to[v..].iter_mut().step_by(apart).zip(all) {
            // SAFETY: it is 32 bytes.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), all) };
        }
    }
}

/// Lanes `k`, `k + 8`, `k + 16` and `k + 24` in register `k`. Three rounds like those of [`avx2`] put three of the four bits that
/// number fronts into the register's number; the last one, the lowest, then numbers halves of each quarter.
///
/// As [`Transpose`] says.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn avx512(lines: *const i8, begins: &[Line], to: &mut [[i8; GROUP]], apart: usize) {
    use std::arch::x86_64::*;
    const REGISTERS: usize = BLOCK / 2;
    assert!(to.len() >= (BLOCK - 1) * apart + begins.len());
    // The compiler would make five instructions of one, if it knew the order.
    let halves = std::hint::black_box(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7));
    for (v, begins) in begins.iter().enumerate() {
        let mut all = [_mm512_setzero_si512(); REGISTERS];
        for (k, all) in all.iter_mut().enumerate() {
            // SAFETY: 16 bytes of a lane each.
            let of = |lane: usize| unsafe {
                _mm_loadu_si128(lines.wrapping_offset(begins[lane]).cast())
            };
            *all = _mm512_castsi128_si512(of(k));
            *all = _mm512_inserti32x4::<1>(*all, of(k + REGISTERS));
            *all = _mm512_inserti32x4::<2>(*all, of(k + 2 * REGISTERS));
            *all = _mm512_inserti32x4::<3>(*all, of(k + 3 * REGISTERS));
        }
        for _ in 0..REGISTERS.ilog2() {
            let before = all;
            for k in 0..REGISTERS / 2 {
                all[2 * k] = _mm512_unpacklo_epi8(before[k], before[k + REGISTERS / 2]);
                all[2 * k + 1] = _mm512_unpackhi_epi8(before[k], before[k + REGISTERS / 2]);
            }
        }
        for (k, all) in all.into_iter().enumerate() {
            let all = _mm512_permutexvar_epi64(halves, all);
            let halves = [_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64::<1>(all)];
            for (t, half) in (2 * k..).zip(halves) {
                // SAFETY: one of `to`, which is 32 bytes.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().add(t * apart + v).cast(), half) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_transposed_alike_by_all_instruction_sets() {
        // Three vectors of lanes, whose bytes begin anywhere; one vector more on each front stays as it is.
        let lines: Vec<i8> = (0..9000).map(|at| (at * 7 + at / 256) as i8).collect();
        let begins: [Line; 3] =
            std::array::from_fn(|v| std::array::from_fn(|k| (v * 2971 + k * 83) as isize));
        for simd in Simd::available() {
            let mut found = vec![[5; GROUP]; BLOCK * 4];
            // SAFETY: the machine has the instructions, and the last lane's bytes end before 9000.
            unsafe { of(simd)(lines.as_ptr(), &begins, &mut found, 4) };
            for (at, vector) in found.iter().enumerate() {
                for (k, &byte) in vector.iter().enumerate() {
                    let expect = begins.get(at % 4).map(|begins| begins[k] as usize + at / 4);
                    assert_eq!(byte, expect.map_or(5, |at| lines[at]), "{simd}");
                }
            }
        }
    }
}
