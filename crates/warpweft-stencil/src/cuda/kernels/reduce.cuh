// Sums, dot products and extremes of fields: to the bit what spec/reduction.rs makes of them, in any order. Roundings
// are explicit, so contraction can't change them. Comes after residual.cuh and sums.cuh.
//
// Grid:   a warp a piece of a row, pieces dealt round to the warps of a line of blocks.
// Block:  256 threads.
// Shared: the block's digits of both totals, which few atomics bring to device memory at its end.
//         Words in device memory: of the positive numbers the largest one's bits and the digits of their sum, the same
//         of the negative ones, the key of the greatest, the inverted key of the least, whether any is NaN.
#pragma once

namespace ww::stencil {

enum { reduce_sum = 0, reduce_dot = 1, reduce_extremes = 2 };

// The key of a number: bits in the order of the numbers.
WW_FN u64 key_of(u64 bits) { return bits >> 63 ? ~bits : bits | 1ull << 63; }

struct ReduceBox {
  int nz, ny, nx;
  i64 sw, sz, sy, pieces;
};

// A value of any kind: compiled once.
__device__ __noinline__ f64 any_value(int kind, const void* field, i64 at) { return value_of(kind, field, at); }

template <int kinds>
WW_FN f64 number_of(int kind, const void* field, i64 at) {
  if constexpr (kinds < 0) {
    return any_value(kind, field, at);
  } else {
    return value_of(kinds, field, at);
  }
}

// `kinds` is that of both fields where it is known when this is compiled, else -1.
template <int what, int kinds>
WW_FN void reduce(const void* a, const void* b, int kind_a, int kind_b, const ReduceBox& box, u64* words) {
  __shared__ u64 totals[2 * words_of_total];
  for (int i = threadIdx.x; i < 2 * words_of_total; i += blockDim.x) totals[i] = 0;
  __syncthreads();
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int along = (box.nx - 1) / piece + 1;
  u64 largest[2] = {0, 0};
  bool nan = false;
  SignedWindow window = {0, 0, 0};
  const auto number = [&](i64 at) {
    const f64 first = number_of<kinds>(kind_a, a, at);
    return what == reduce_dot ? __dmul_rn(first, number_of<kinds>(kind_b, b, at)) : first;
  };
  Split split = {{0.0, 0.0}, {0.0, 0.0, 0.0}, 0, batches};
  fit(split, -850);
  // Pieces are counted in 32 bits, as all rows of a device are: a 64-bit division costs more than a row's sums.
  for (u32 at = blockIdx.x * warps + threadIdx.x / 32; at < u32(box.pieces); at += gridDim.x * warps) {
    const u32 row = at / u32(along);
    const int first = int(at - row * u32(along)) * piece;
    const int last = box.nx - first < piece ? box.nx : first + piece;
    const u32 plane = row / u32(box.ny), block = plane / u32(box.nz);
    const i64 start = block * box.sw + (plane - block * box.nz) * box.sz + (row - plane * box.ny) * box.sy;
    for (int x = first + lane; x < last; x += 32 * batch) {
      f64 values[batch];
      if (what == reduce_extremes) {
#pragma unroll
        for (int i = 0; i < batch; i++) {
          if (x + 32 * i >= last) break;
          const u64 all = u64(__double_as_longlong(number(start + x + 32 * i))), key = key_of(all);
          nan |= (all & ~0ull >> 1) > 0x7ff0000000000000ull;
          largest[0] = key > largest[0] ? key : largest[0];
          largest[1] = ~key > largest[1] ? ~key : largest[1];
        }
      } else {
#pragma unroll
        for (int i = 0; i < batch; i++) values[i] = x + 32 * i < last ? number(start + x + 32 * i) : 0.0;
        add(split, values, window, totals);
      }
    }
  }
  if (what == reduce_extremes) {
    const u64 most[2] = {largest_of_warp(largest[0]), largest_of_warp(largest[1])};
    const bool any_nan = __any_sync(~0u, nan);
    u64* keys = words + 2 * words_of_total;
    if (lane == 0) {
      if (most[0]) atomicMax(keys, most[0]);
      if (most[1]) atomicMax(keys + 1, most[1]);
      if (any_nan) keys[2] = 1;
    }
    return;
  }
  settle(split, window, totals);
  put_of_warp(totals, window);
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * words_of_total; i += blockDim.x) {
    if (totals[i] == 0) continue;
    if (i % words_of_total == 0) {
      atomicMax(words + i, totals[i]);
    } else {
      put(words + i, totals[i]);
    }
  }
}

template <int what>
WW_FN void reduce(const void* a, const void* b, int kind_a, int kind_b, const ReduceBox& box, u64* words) {
  if (kind_a == 12 && kind_b == 12) {
    reduce<what, 12>(a, b, kind_a, kind_b, box, words);
  } else if (kind_a == 11 && kind_b == 11) {
    reduce<what, 11>(a, b, kind_a, kind_b, box, words);
  } else {
    reduce<what, -1>(a, b, kind_a, kind_b, box, words);
  }
}

// Takes in the cells of a box whose first ones are at `a` and, for a dot product, at `b`.
extern "C" __global__ void __launch_bounds__(256, 4)
    ww_reduce(const void* a, const void* b, int kind_a, int kind_b, int what, ReduceBox box, u64* words) {
  if (what == reduce_sum) {
    reduce<reduce_sum>(a, b, kind_a, kind_b, box, words);
  } else if (what == reduce_dot) {
    reduce<reduce_dot>(a, b, kind_a, kind_b, box, words);
  } else {
    reduce<reduce_extremes>(a, b, kind_a, kind_b, box, words);
  }
}

}  // namespace ww::stencil
