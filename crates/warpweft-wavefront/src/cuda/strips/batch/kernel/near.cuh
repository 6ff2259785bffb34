// Two numbers of 16 bits in a register, as translated functions compute with them: sums and greatest numbers. The host
// sees to it that none leaves the 16 bits; what is less than -NEAR_LEAST is taken to be that, and less than all others.
#pragma once

namespace ww {
constexpr i32 NEAR_LEAST = 1 << 14;

struct near {
  u32 both;
  near() = default;
  // The same number twice: also what a function gives that is a constant.
  WW_FN near(i32 x) {
    const i32 within = x < -NEAR_LEAST ? -NEAR_LEAST : x > NEAR_LEAST ? NEAR_LEAST : x;
    both = __byte_perm((u32)within, 0, 0x1010);
  }
  WW_FN static near of(u32 both) {
    near result;
    result.both = both;
    return result;
  }
};

#define WW_NEAR(name, instruction)                                                               \
  WW_FN near name(near a, near b) { return near::of(instruction(a.both, b.both)); }              \
  WW_FN near name(near a, i32 b) { return name(a, near(b)); }                                    \
  WW_FN near name(i32 a, near b) { return name(near(a), b); }
WW_NEAR(add, __vadd2)
WW_NEAR(max, __vmaxs2)
#undef WW_NEAR
}  // namespace ww
