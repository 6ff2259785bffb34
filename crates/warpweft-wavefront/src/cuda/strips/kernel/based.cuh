// Two cells' numbers of 16 bits in a register, as distances from a base, as translated functions compute with them:
// a sum of a cell and a number, and greatest numbers. The host sees to it that no distance leaves the 16 bits.
//
// What is not a cell is a `near` (what two inputs give) or a constant: it is added as it is, and compared with a cell
// as its distance from the base, at least -32768: what is further below is less than all cells.
#pragma once

namespace ww {
WW_FN u32 twice(i32 x) { return __byte_perm((u32)x, 0, 0x1010); }

struct based {
  u32 both;
  i32 base;
  based() = default;
  WW_FN based(u32 both, i32 base) : both(both), base(base) {}
  // A cell that is a constant, or what two inputs give.
  WW_FN based(i32 x) : both(twice(x)), base(0) {}
  WW_FN based(near pair) : both(pair.both), base(0) {}
  // The distances from another base; nothing to do where it is the same.
  WW_FN u32 from(i32 other) const { return base == other ? both : __vsub2(both, twice(other - base)); }
};

WW_FN based distance(i32 x, i32 base) {
  const i64 far = (i64)x - base;
  return based{twice(far < -32768 ? -32768 : (i32)far), base};
}
WW_FN based distance(near pair, i32 base) {
  return based{__vsubss2(pair.both, twice(base < -32768 ? -32768 : base > 32767 ? 32767 : base)), base};
}

WW_FN based add(based a, near b) { return based{__vadd2(a.both, b.both), a.base}; }
WW_FN based add(near a, based b) { return add(b, a); }
WW_FN based add(based a, i32 b) { return add(a, near(b)); }
WW_FN based add(i32 a, based b) { return add(b, near(a)); }
WW_FN based max(based a, based b) { return based{__vmaxs2(a.both, b.both), a.base}; }
WW_FN based max(based a, i32 b) { return max(a, distance(b, a.base)); }
WW_FN based max(i32 a, based b) { return max(b, a); }
WW_FN based max(based a, near b) { return max(a, distance(b, a.base)); }
WW_FN based max(near a, based b) { return max(b, a); }
}  // namespace ww
