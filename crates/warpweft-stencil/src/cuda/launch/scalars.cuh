// Numbers of a session: sums that accumulators hold, rounded once, and arithmetic on numbers. To the bit what
// spec/total.rs and the host's `f64` make of them. Comes after reduce.cuh.
//
// Grid:   one block.
// Block:  one warp; a list of operations, one after another.
// Shared: the words of one accumulator.
#pragma once

namespace ww::stencil {

// As spec/reduction/scalar.rs lists them.
enum { op_sum, op_least, op_greatest, op_add, op_subtract, op_multiply, op_divide, op_negate, op_root };

struct Operation {
  u32 code, to, from[2];
  f64 value[2];
};

struct Operations {
  Operation each[64];
  i64 count;
};

enum { as_value = 0xffffffffu };

// The digits of a total from `low` to `high` with all carries made; where they end.
WW_FN int carried(const u64* digits, u32* to, int low, int high) {
  u64 carry = 0;
  int i = low;
  for (; i < digits_of_total && (i < high || carry > 0); i++) {
    const u64 sum = digits[i] + carry;
    to[i] = u32(sum);
    carry = sum >> 32 | u64(sum < carry) << 32;
  }
  return i;
}

WW_FN f64 two_to_the(int exponent) {
  if (exponent < -1022) return __longlong_as_double(i64(1) << (exponent + 1074));
  return exponent > 1023 ? __longlong_as_double(0x7ffll << 52) : power_of_two(exponent);
}

// The number that digits from `low` to below `high` are, all others 0: rounded to the nearest, ties to even.
WW_FN f64 rounded(const u32* digits, int low, int high) {
  int top = high - 1;
  while (top >= low && digits[top] == 0) top--;
  if (top < low) return 0.0;
  const auto digit = [&](int i) { return u64(i >= low && i <= top ? digits[i] : 0); };
  if (top < 2) return __dmul_rn(__ull2double_rn(digit(1) << 32 | digit(0)), two_to_the(-1074));
  // The 64 bits from the highest one on; the last also tells of all below.
  u64 leading = digit(top) << 32 | digit(top - 1);
  u32 rest = u32(digit(top - 2));
  int up = 0;
  for (; !(leading >> 63); up++) {
    leading = leading << 1 | rest >> 31;
    rest <<= 1;
  }
  bool below = rest != 0;
  for (int i = low; i < top - 2; i++) below |= digits[i] != 0;
  return __dmul_rn(__ull2double_rn(leading | u64(below)), two_to_the(32 * (top - 1) - up - 1074));
}

// What is not finite in a total; 0 where all is.
WW_FN f64 not_finite(u64 largest) {
  if (largest < 0x7ff0000000000000ull) return 0.0;
  return __longlong_as_double(i64(largest > 0x7ff0000000000000ull ? 0x7ff8000000000000ull : largest));
}

// The sum of a total of positive and one of negative numbers, whose digits are 0 outside of `low` to below `high`.
WW_FN f64 sum_of(const u64* words, u32 (*digits)[digits_of_total], int low, int high) {
  const u64* other = words + words_of_total;
  if (words[0] >= 0x7ff0000000000000ull || other[0] >= 0x7ff0000000000000ull) {
    return __dsub_rn(not_finite(words[0]), not_finite(other[0]));
  }
  const int ends[2] = {carried(words + 1, digits[0], low, high), carried(other + 1, digits[1], low, high)};
  const int end = ends[0] > ends[1] ? ends[0] : ends[1];
  for (int i = ends[0]; i < end; i++) digits[0][i] = 0;
  for (int i = ends[1]; i < end; i++) digits[1][i] = 0;
  int top = end - 1;
  while (top >= low && digits[0][top] == digits[1][top]) top--;
  if (top < low) return 0.0;
  const bool negative = digits[0][top] < digits[1][top];
  u32* more = digits[negative ? 1 : 0];
  const u32* less = digits[negative ? 0 : 1];
  u32 borrow = 0;
  for (int i = low; i <= top; i++) {
    const i64 left = i64(more[i]) - i64(less[i]) - i64(borrow);
    more[i] = u32(left);
    borrow = left < 0;
  }
  const f64 sum = rounded(more, low, top + 1);
  return negative ? -sum : sum;
}

// The number of a key.
WW_FN f64 of_key(u64 key) { return __longlong_as_double(i64(key >> 63 ? key & ~0ull >> 1 : ~key)); }

WW_FN f64 operand(const Operation& of, int which, const f64* numbers) {
  return of.from[which] == as_value ? of.value[which] : numbers[of.from[which]];
}

WW_FN f64 computed(const Operation& of, const f64* numbers) {
  const f64 a = operand(of, 0, numbers), b = operand(of, 1, numbers);
  switch (of.code) {
    case op_add: return __dadd_rn(a, b);
    case op_subtract: return __dsub_rn(a, b);
    case op_multiply: return __dmul_rn(a, b);
    case op_divide: return __ddiv_rn(a, b);
    case op_negate: return -a;
    default: return __dsqrt_rn(a);
  }
}

// Takes the words of an accumulator, which is 0 afterwards, to where all lanes of the warp see them; lane 0 gets where
// digits begin and end that are not 0.
// It is the first of one or `more` copies.
WW_FN void taken(u64* accumulator, u32 more, u64* words, int* range) {
  const int lane = threadIdx.x;
  u64 first = 0, last = 0;
  for (int i = lane; i < words_of_reduction; i += 32) {
    u64 all = accumulator[i];
    accumulator[i] = 0;
    const bool largest = i % words_of_total == 0 || i >= 2 * words_of_total;
    for (u32 copy = 1; copy <= more; copy++) {
      const u64 other = accumulator[copy * words_of_reduction + i];
      accumulator[copy * words_of_reduction + i] = 0;
      all = !largest ? all + other : other > all ? other : all;
    }
    words[i] = all;
    const int digit = i % words_of_total - 1;
    if (i >= 2 * words_of_total || digit < 0 || words[i] == 0) continue;
    first = first > u64(digits_of_total - digit) ? first : u64(digits_of_total - digit);
    last = last > u64(digit + 1) ? last : u64(digit + 1);
  }
  first = largest_of_warp(first);
  last = largest_of_warp(last);
  if (lane == 0) {
    range[0] = digits_of_total - int(first);
    range[1] = int(last);
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(32)
    ww_numbers(const __grid_constant__ Operations list, u64* accumulators, f64* numbers) {
  __shared__ u64 words[words_of_reduction];
  __shared__ u32 digits[2][digits_of_total];
  __shared__ int range[2];
  for (i64 n = 0; n < list.count; n++) {
    const Operation& of = list.each[n];
    const bool reduced = of.code <= op_greatest;
    if (reduced) taken(accumulators + i64(of.from[0]) * words_of_reduction, of.from[1], words, range);
    if (threadIdx.x == 0) {
      const u64* keys = words + 2 * words_of_total;
      f64 number;
      if (of.code == op_sum) {
        number = sum_of(words, digits, range[0], range[1]);
      } else if (reduced) {
        number = keys[2] ? not_finite(~0ull) : of_key(of.code == op_greatest ? keys[0] : ~keys[1]);
      } else {
        number = computed(of, numbers);
      }
      numbers[of.to] = number;
    }
    if (reduced) __syncthreads();
  }
}

}  // namespace ww::stencil
