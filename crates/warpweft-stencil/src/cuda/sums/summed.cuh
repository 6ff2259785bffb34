// Direct, and what the cells come to: a sum, or a dot product of two fields, taken in by the threads that have just written
// them. Comes after direct.cuh and sums.cuh.
//
// Grid, block: Direct's.
// Shared: the block's digits of both totals, which few atomics bring to device memory at its end: to one of several copies
//         of the words, so that blocks seldom wait for one another there.
// Invariant: lanes of a warp split bits off at the same places, so sums of their sums are exact too. Of a batch of 8 numbers a
//            lane, 256 in all, each sum has room for four (spec/reduction/split.rs says why).
#pragma once

namespace ww::stencil {

// Bits of room for 1024 numbers, and those that are split off at once.
enum { room_of_warp = 10, bits_of_warp = 53 - room_of_warp, batches_of_warp = 1 << (room_of_warp - 8) };

struct WarpSums {
  f64 at[2], sum[3];
  int limit;  // the high word of the least number that does not fit
  int left;   // batches until the sums go into the window
};

WW_FN void fit(WarpSums& sums, int exponent) {
  sums.limit = (exponent + 1023) << 20;
#pragma unroll
  for (int k = 0; k < 2; k++) {
    sums.at[k] = __dmul_rn(1.5, power_of_two(exponent + room_of_warp - bits_of_warp * k));
  }
}

// Brings the sums of all lanes into the window of the first.
WW_FN void settle(WarpSums& sums, SignedWindow& window, u64* totals) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    f64 all = sums.sum[k];
    sums.sum[k] = 0.0;
    if (!__any_sync(~0u, any_bits(all) != 0)) continue;
    for (int half = 16; half > 0; half /= 2) {
      const u64 other = __shfl_down_sync(~0u, u64(__double_as_longlong(all)), half);
      all = __dadd_rn(all, __longlong_as_double(i64(other)));
    }
    if (threadIdx.x == 0) add(window, u64(__double_as_longlong(all)), totals);
  }
  sums.left = batches_of_warp;
  if (i64(window.high ^ u64(i64(window.high) >> 63)) >> 54) {
    put_signed(totals, window);
    window.low = window.high = 0;
  }
}

// Takes in a batch of every lane, of which nothing is left in `values`.
WW_FN void add(WarpSums& sums, f64 (&values)[batch], SignedWindow& window, u64* totals) {
  int most = 0;
#pragma unroll
  for (int i = 0; i < batch; i++) {
    const int high = high_word(values[i]) & 0x7fffffff;
    most = high > most ? high : most;
  }
  const bool fits = most < sums.limit;
  if (sums.left == 0 || !__all_sync(~0u, fits)) {
    settle(sums, window, totals);
    most = __shfl_sync(~0u, int(largest_of_warp(u64(u32(most)))), 0);
    const int exponent = (most >> 20) - 1022 + 2;
    if (exponent > 1000) {
      // NaN and infinity among them.
      sums.limit = 0;
      add_rest(values, window, totals);
      return;
    }
    fit(sums, exponent > -850 ? exponent : -850);
  }
  u32 rest = 0;
#pragma unroll
  for (int i = 0; i < batch; i++) {
    sums.sum[0] = __dadd_rn(sums.sum[0], split_off(sums.at[0], values[i]));
    sums.sum[1] = __dadd_rn(sums.sum[1], split_off(sums.at[1], values[i]));
    rest |= any_bits(values[i]);
  }
  if (rest) {
    const f64 third = __dmul_rn(sums.at[1], power_of_two(-bits_of_warp));
    rest = 0;
#pragma unroll
    for (int i = 0; i < batch; i++) {
      sums.sum[2] = __dadd_rn(sums.sum[2], split_off(third, values[i]));
      rest |= any_bits(values[i]);
    }
    if (rest) add_rest(values, window, totals);
  }
  sums.left--;
}

// The number of field F of the cell with element index `at`, after the stage.
template <class S, int F, bool Written>
WW_FN f64 number_after(const Pointers<S>& fields, i64 at) {
  if constexpr (Written) {
    return f64(fields.template out<F>()[at]);
  } else {
    return f64(fields.template in<F>()[at]);
  }
}

// Takes in a tile that is written.
template <class S, class Sum>
WW_FN void take_tile(const Pointers<S>& fields, const Box& box, WarpSums& sums, SignedWindow& window, u64* totals,
                     int w, int z, int y, int x) {
  const i64 start = w * box.w + z * box.z + y * box.y + x;
  constexpr int cells = S::vx * S::vy * S::vz;
#pragma unroll
  for (int first = 0; first < cells; first += batch) {
    f64 values[batch];
#pragma unroll
    for (int n = 0; n < batch; n++) {
      const int cell = first + n, j = cell % S::vx, i = cell / S::vx % S::vy, k = cell / S::vx / S::vy;
      const bool mine = cell < cells && inside(box, 1, z + k, 1) && inside(box, 2, y + i, 1) && inside(box, 3, x + j, 1);
      values[n] = 0.0;
      if (!mine) continue;
      const i64 at = start + k * box.z + i * box.y + j;
      values[n] = number_after<S, Sum::a, Sum::a_written>(fields, at);
      if (Sum::dot) values[n] = __dmul_rn(values[n], number_after<S, Sum::b, Sum::b_written>(fields, at));
    }
    add(sums, values, window, totals);
  }
}

template <class S, class Sum, class E>
WW_FN void direct_summed(const Pointers<S>& fields, const Box& box, const E& element, u64* words) {
  __shared__ u64 totals[2 * words_of_total];
  const int thread = int(threadIdx.y) * 32 + int(threadIdx.x);
  for (int i = thread; i < 2 * words_of_total; i += 32 * S::warps) totals[i] = 0;
  __syncthreads();
  SignedWindow window = {0, 0, 0};
  WarpSums sums = {{0.0, 0.0}, {0.0, 0.0, 0.0}, 0, batches_of_warp};
  each_tile<S, true>(box, [&](int w, int z, int y, int x) {
    if (x < box.high[3]) direct_tile<S>(fields, box, element, w, z, y, x);
    take_tile<S, Sum>(fields, box, sums, window, totals, w, z, y, x);
  });
  settle(sums, window, totals);
  if (__any_sync(~0u, threadIdx.x > 0 && (window.low | window.high) != 0)) {
    put_of_warp(totals, window);
  } else if (threadIdx.x == 0) {
    put_signed(totals, window);
  }
  __syncthreads();
  const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  words += block % Sum::copies * words_of_reduction;
  for (int i = thread; i < 2 * words_of_total; i += 32 * S::warps) {
    if (totals[i] == 0) continue;
    if (i % words_of_total == 0) {
      atomicMax(words + i, totals[i]);
    } else {
      put(words + i, totals[i]);
    }
  }
}

}  // namespace ww::stencil
