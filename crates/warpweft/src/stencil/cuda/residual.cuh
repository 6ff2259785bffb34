// Residual: a norm of the change between two states, in the one order that every executor keeps:
// axis by axis, innermost first; along a line lane l of 32 adds values l, l + 32, .. and the lanes are
// combined by halving. Roundings are explicit, so contraction can't change them.
//
// Grid:   a warp a line, lines along the grid's x.
// Block:  256 threads.
// Shared: none.
#pragma once

namespace ww::stencil {

enum { norm_max = 0, norm_sum = 1, norm_squares = 2 };

WW_FN f64 combine(int norm, f64 a, f64 b) {
  if (norm != norm_max) return __dadd_rn(a, b);
  if (a != a || b != b) return __longlong_as_double(0x7ff8000000000000ll);
  return a > b ? a : b;
}

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

WW_FN f64 over_lanes(int norm, f64 total) {
  for (int half = 16; half > 0; half /= 2) {
    total = combine(norm, total, __shfl_down_sync(~0u, total, half));
  }
  return total;
}

// One total a row of the volume: rows counted over (w, z, y).
extern "C" __global__ void __launch_bounds__(256)
    ww_row_changes(const void* before, const void* after, int scalar, int norm, int nz, int ny, int nx,
                   i64 sw, i64 sz, i64 sy, i64 rows, f64* totals) {
  const i64 row = (i64(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  const i64 at = row / ny / nz * sw + row / ny % nz * sz + row % ny * sy;
  f64 total = 0;
  for (int x = threadIdx.x % 32; x < nx; x += 32) {
    const f64 change = __dsub_rn(value_of(scalar, after, at + x), value_of(scalar, before, at + x));
    total = combine(norm, total, norm == norm_squares ? __dmul_rn(change, change) : fabs(change));
  }
  total = over_lanes(norm, total);
  if (threadIdx.x % 32 == 0) totals[row] = total;
}

// One total a line of `n` neighbouring values.
extern "C" __global__ void __launch_bounds__(256)
    ww_line_totals(const f64* values, int norm, int n, i64 lines, f64* totals) {
  const i64 line = (i64(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (line >= lines) return;
  f64 total = 0;
  for (int i = threadIdx.x % 32; i < n; i += 32) total = combine(norm, total, values[line * n + i]);
  total = over_lanes(norm, total);
  if (threadIdx.x % 32 == 0) totals[line] = total;
}

}  // namespace ww::stencil
