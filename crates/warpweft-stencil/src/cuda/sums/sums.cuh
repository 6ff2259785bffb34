// Exact sums of numbers of either sign, in digits of 32 bits: to the bit what spec/total.rs makes of them, in any order.
// Roundings are explicit, so contraction can't change them. Comes after digit.cuh.
//
// A lane has a window of 128 bits, and before that sums of bits that are split off its numbers at places that it chose.
// Totals are words in shared or device memory: of the positive numbers the largest one's bits and the digits of their sum,
// then the same of the negative ones.
#pragma once

namespace ww::stencil {

enum { digits_of_total = 70, words_of_total = 1 + digits_of_total };
// Both totals, and three words of extremes (reduce.cuh).
enum { words_of_reduction = 2 * words_of_total + 3 };

// A sum of either sign at digit `place`: 128 bits in two's complement.
struct SignedWindow {
  u64 low, high;
  int place;
};

// Adds digits 2^32 apart, the highest of either sign, to the total of their sign. Rare and long, so not inlined.
__device__ __noinline__ void put_signed(u64* totals, int place, u64 d0, u64 d1, u64 d2, i64 d3) {
  d1 += d0 >> 32;
  d2 += d1 >> 32;
  d3 += i64(d2 >> 32);
  d0 &= 0xffffffffu;
  d1 &= 0xffffffffu;
  d2 &= 0xffffffffu;
  u64* digits = totals + 1 + place;
  if (d3 < 0) {
    digits += words_of_total;
    // The bits inverted, and one more.
    d0 = (d0 ^ 0xffffffffu) + 1;
    d1 = (d1 ^ 0xffffffffu) + (d0 >> 32);
    d2 = (d2 ^ 0xffffffffu) + (d1 >> 32);
    d3 = i64(~u64(d3) + (d2 >> 32));
    d0 &= 0xffffffffu;
    d1 &= 0xffffffffu;
    d2 &= 0xffffffffu;
  }
  put(digits, d0);
  put(digits + 1, d1);
  put(digits + 2, d2);
  put(digits + 3, u64(d3));
}

WW_FN void put_signed(u64* totals, const SignedWindow& window) {
  put_signed(totals, window.place, window.low & 0xffffffffu, window.low >> 32, window.high & 0xffffffffu,
             i64(window.high) >> 32);
}

// Adds a number; moves the window where it does not fit.
WW_FN void add(SignedWindow& window, u64 all, u64* totals) {
  const u64 bits = all & ~0ull >> 1;
  if (bits == 0) return;
  const int exponent = int(bits >> 52);
  const u64 mantissa = (bits & 0xfffffffffffffull) | u64(exponent > 0) << 52;
  const int at = exponent > 0 ? exponent - 1 : 0;
  u32 shift = u32(at - 32 * window.place);
  if (shift >= 64) {
    put_signed(totals, window);
    window = {0, 0, at >= 32 ? at / 32 - 1 : 0};
    shift = u32(at - 32 * window.place);
  }
  const u64 sign = 0 - (all >> 63);
  const u64 low = (mantissa << shift) ^ sign;
  const u64 high = (shift > 0 ? mantissa >> (64 - shift) : 0) ^ sign;
  const u64 once = window.low + low;
  const u64 twice = once + (sign & 1);
  window.high += high + (once < low) + (twice < once);
  window.low = twice;
}

// Sums of a lane: bits are split off its numbers at two places, and a third where that is not enough, so that sums of what
// is split off are exact; they go into the window every 256 numbers (spec/reduction/split.rs says why). Numbers that do not
// fit go into the window themselves.
struct Split {
  f64 at[2], sum[3];
  int limit;  // the high word of the least number that does not fit
  int left;   // batches until the sums go into the window
};

// Numbers of a batch, and batches of 256 numbers.
enum { batch = 8, batches = 32 };

WW_FN f64 power_of_two(int exponent) { return __longlong_as_double(i64(exponent + 1023) << 52); }
WW_FN int high_word(f64 value) { return int(u64(__double_as_longlong(value)) >> 32); }
// All bits but the sign's, of which only whether they are 0 matters.
WW_FN u32 any_bits(f64 value) {
  const u64 all = u64(__double_as_longlong(value));
  return u32(all) | (u32(all >> 32) & 0x7fffffffu);
}

// Makes numbers below 2^exponent fit.
WW_FN void fit(Split& split, int exponent) {
  split.limit = (exponent + 1023) << 20;
#pragma unroll
  for (int k = 0; k < 2; k++) split.at[k] = __dmul_rn(1.5, power_of_two(exponent + 8 - 45 * k));
}

// Brings the sums into the window.
WW_FN void settle(Split& split, SignedWindow& window, u64* totals) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    add(window, u64(__double_as_longlong(split.sum[k])), totals);
    split.sum[k] = 0.0;
  }
  split.left = batches;
  // Room for what is added next, and for 32 lanes.
  if (i64(window.high ^ u64(i64(window.high) >> 63)) >> 54) {
    put_signed(totals, window);
    window.low = window.high = 0;
  }
}

// A number by itself; `totals` tell of one that is not finite.
WW_FN SignedWindow add_slowly(f64 value, SignedWindow window, u64* totals) {
  const u64 all = u64(__double_as_longlong(value)), bits = all & ~0ull >> 1;
  if (bits >= 0x7ff0000000000000ull) atomicMax(totals + (all >> 63) * words_of_total, bits);
  add(window, all, totals);
  if (i64(window.high ^ u64(i64(window.high) >> 63)) >> 54) {
    put_signed(totals, window);
    window.low = window.high = 0;
  }
  return window;
}

// What is split off a number; the rest is left.
WW_FN f64 split_off(f64 at, f64& value) {
  const f64 high = __dsub_rn(__dadd_rn(at, value), at);
  value = __dsub_rn(value, high);
  return high;
}

// Numbers one by one. Rare and long, so not inlined; it is given copies, so that these stay in registers elsewhere.
__device__ __noinline__ SignedWindow add_all_slowly(const f64* values, SignedWindow window, u64* totals) {
  for (int i = 0; i < batch; i++) {
    if (any_bits(values[i])) window = add_slowly(values[i], window, totals);
  }
  return window;
}
WW_FN void add_rest(const f64 (&values)[batch], SignedWindow& window, u64* totals) {
  f64 copy[batch];
#pragma unroll
  for (int i = 0; i < batch; i++) copy[i] = values[i];
  window = add_all_slowly(copy, window, totals);
}

// Takes in a batch, of which nothing is left in `values`.
WW_FN void add(Split& split, f64 (&values)[batch], SignedWindow& window, u64* totals) {
  int most = 0;
#pragma unroll
  for (int i = 0; i < batch; i++) {
    const int high = high_word(values[i]) & 0x7fffffff;
    most = high > most ? high : most;
  }
  // Above all, with room, so that new places are seldom needed.
  const int exponent = (most >> 20) - 1022 + 2;
  if (most >= split.limit) {
    settle(split, window, totals);
    if (exponent > 1000) {
      // NaN and infinity among them.
      add_rest(values, window, totals);
      return;
    }
    fit(split, exponent > -850 ? exponent : -850);
  }
  u32 rest = 0;
#pragma unroll
  for (int i = 0; i < batch; i++) {
    split.sum[0] = __dadd_rn(split.sum[0], split_off(split.at[0], values[i]));
    split.sum[1] = __dadd_rn(split.sum[1], split_off(split.at[1], values[i]));
    rest |= any_bits(values[i]);
  }
  if (rest) {
    const f64 third = __dmul_rn(split.at[1], power_of_two(-45));
    rest = 0;
#pragma unroll
    for (int i = 0; i < batch; i++) {
      split.sum[2] = __dadd_rn(split.sum[2], split_off(third, values[i]));
      rest |= any_bits(values[i]);
    }
    if (rest) {
      add_rest(values, window, totals);
      // Numbers that became much smaller fit at other places.
      if (((exponent + 8 + 1023) << 20) < split.limit) split.limit = 0;
    }
  }
  if (--split.left == 0) settle(split, window, totals);
}

// Lane 0 gets the largest.
WW_FN u64 largest_of_warp(u64 value) {
  for (int half = 16; half > 0; half /= 2) {
    const u64 other = __shfl_down_sync(~0u, value, half);
    value = other > value ? other : value;
  }
  return value;
}

// Adds what the lanes of a warp hold, those with windows at one place together.
WW_FN void put_of_warp(u64* totals, const SignedWindow& window) {
  const int lane = threadIdx.x % 32;
  u32 left = __ballot_sync(~0u, (window.low | window.high) != 0);
  while (left) {
    const int place = __shfl_sync(~0u, window.place, __ffs(int(left)) - 1);
    const bool mine = window.place == place;
    u64 d0 = mine ? window.low & 0xffffffffu : 0, d1 = mine ? window.low >> 32 : 0;
    u64 d2 = mine ? window.high & 0xffffffffu : 0;
    i64 d3 = mine ? i64(window.high) >> 32 : 0;
    for (int half = 16; half > 0; half /= 2) {
      d0 += __shfl_down_sync(~0u, d0, half);
      d1 += __shfl_down_sync(~0u, d1, half);
      d2 += __shfl_down_sync(~0u, d2, half);
      d3 += __shfl_down_sync(~0u, d3, half);
    }
    if (lane == 0) put_signed(totals, place, d0, d1, d2, d3);
    left &= ~__ballot_sync(~0u, mine);
  }
}

}  // namespace ww::stencil
