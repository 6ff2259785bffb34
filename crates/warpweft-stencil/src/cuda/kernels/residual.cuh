// Residual: the largest change between two states and the exact sum of changes, the same in any order
// and to the bit what total.rs makes of them. Roundings are explicit, so contraction can't change them.
//
// Grid:   a warp a piece of a row, pieces dealt round to the warps of a line of blocks.
// Block:  256 threads.
// Shared: none. Totals are in device memory: the largest change's bits, then digits of 32 bits of the
//         sum, from 2^-1074 on, with carries yet to come above them. Comes after digit.cuh.
#pragma once

namespace ww::stencil {

enum { norm_max = 0, norm_sum = 1, norm_squares = 2 };

// Scalars as `ScalarKind` lists them: bool i8 i16 i32 i64 u8 u16 u32 u64 isize usize f32 f64
// f16 bf16.
WW_FN f64 value_of(int scalar, const void* field, i64 at) {
  switch (scalar) {
    case 0:
    case 5: return static_cast<const u8*>(field)[at];
    case 1: return static_cast<const i8*>(field)[at];
    case 2: return static_cast<const i16*>(field)[at];
    case 3: return static_cast<const i32*>(field)[at];
    case 4:
    case 9: return __ll2double_rn(static_cast<const i64*>(field)[at]);
    case 6: return static_cast<const u16*>(field)[at];
    case 7: return static_cast<const u32*>(field)[at];
    case 8:
    case 10: return __ull2double_rn(static_cast<const u64*>(field)[at]);
    case 11: return static_cast<const f32*>(field)[at];
    case 12: return static_cast<const f64*>(field)[at];
    case 13: return widen(static_cast<const f16*>(field)[at]);
    default: return widen(static_cast<const bf16*>(field)[at]);
  }
}

// Cells of a row that a warp takes at a time.
enum { piece = 1024 };

// A sum of 128 bits at digit `place` of a total.
struct Window {
  u64 low, high;
  int place;
};

WW_FN void put(u64* digits, const Window& window) {
  put(digits + window.place, window.low & ~0u);
  put(digits + window.place + 1, window.low >> 32);
  put(digits + window.place + 2, window.high & ~0u);
  put(digits + window.place + 3, window.high >> 32);
}

// Adds a number, none negative, by its bits; moves the window where it does not fit.
WW_FN void add(Window& window, u64 bits, u64* digits) {
  if (bits == 0) return;
  const int exponent = int(bits >> 52);
  const u64 mantissa = (bits & 0xfffffffffffffull) | u64(exponent > 0) << 52;
  const int at = exponent > 0 ? exponent - 1 : 0;
  u32 shift = u32(at - 32 * window.place);
  if (shift >= 64) {
    put(digits, window);
    window = {0, 0, at >= 32 ? at / 32 - 1 : 0};
    shift = u32(at - 32 * window.place);
  }
  const u64 low = window.low + (mantissa << shift);
  window.high += (low < window.low) + (shift > 0 ? mantissa >> (64 - shift) : 0);
  window.low = low;
}

// What the cells of a box changed, added to a total: the box's first cell is at `before` and `after`.
extern "C" __global__ void __launch_bounds__(256)
    ww_changes(const void* before, const void* after, int scalar, int norm, int nz, int ny, int nx,
               i64 sw, i64 sz, i64 sy, i64 pieces, u64* total) {
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int along = (nx - 1) / piece + 1;
  u64 largest = 0;
  Window window = {0, 0, 0};
  for (i64 at = i64(blockIdx.x) * warps + threadIdx.x / 32; at < pieces; at += i64(gridDim.x) * warps) {
    const i64 row = at / along;
    const int first = int(at % along) * piece;
    const int last = nx - first < piece ? nx : first + piece;
    const i64 start = row / ny / nz * sw + row / ny % nz * sz + row % ny * sy;
    for (int x = first + lane; x < last; x += 32) {
      const f64 change = __dsub_rn(value_of(scalar, after, start + x), value_of(scalar, before, start + x));
      const f64 value = norm == norm_squares ? __dmul_rn(change, change) : change;
      // Without its sign; NaN's are above infinity's.
      const u64 bits = u64(__double_as_longlong(value)) & ~0ull >> 1;
      largest = bits > largest ? bits : largest;
      if (norm != norm_max) add(window, bits, total + 1);
    }
    // Room for what a lane adds of the next piece.
    if (window.high >> 56) {
      put(total + 1, window);
      window.low = window.high = 0;
    }
  }
  for (int half = 16; half > 0; half /= 2) {
    const u64 other = __shfl_down_sync(~0u, largest, half);
    largest = other > largest ? other : largest;
  }
  if (lane == 0 && largest > 0) atomicMax(total, largest);
  if (norm == norm_max) return;
  if (!__all_sync(~0u, window.place == __shfl_sync(~0u, window.place, 0))) {
    put(total + 1, window);
    return;
  }
  // Most often neighbours are of one size: one lane adds for all.
  u64 digits[4] = {window.low & ~0u, window.low >> 32, window.high & ~0u, window.high >> 32};
  for (int i = 0; i < 4; ++i) {
    for (int half = 16; half > 0; half /= 2) digits[i] += __shfl_down_sync(~0u, digits[i], half);
    if (lane == 0) put(total + 1 + window.place + i, digits[i]);
  }
}

}  // namespace ww::stencil
