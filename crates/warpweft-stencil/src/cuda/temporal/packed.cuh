// Packed cells: several cells of one byte in a word, one element function for all of them at once. The text stands before
// element functions, whose calls find these overloads. The host has proved (spec/proof/packed.rs) that a function is made of
// the operations here, and what its values are.
//
// Four cells, each in a byte: no value leaves it, and compared values are below 128.
// 32 cells, each in a bit: cells are 0 or 1. A value is eight words, one for each of its bits; those that are always 0
// cost nothing, as the compiler knows them.
// Sources of the ideas: L. Lamport, Multiple byte processing with full-word instructions, 1975; E. Biham, A fast new DES
// implementation in software, 1997 (bit slices).
#pragma once

namespace ww {

// Conditions: the top bit of each byte; the other bits mean nothing.
struct mask4 {
  u32 word;
};
struct bytes4 {
  u32 word;
  bytes4() = default;
  WW_FN bytes4(u8 all) : word(u32(all) * 0x01010101u) {}
  WW_FN static bytes4 of(u32 word) {
    bytes4 bytes;
    bytes.word = word;
    return bytes;
  }
};

WW_FN bytes4 add(bytes4 a, bytes4 b) { return bytes4::of(a.word + b.word); }
WW_FN bytes4 sub(bytes4 a, bytes4 b) { return bytes4::of(a.word - b.word); }
WW_FN bytes4 mul(bytes4 a, u8 b) { return bytes4::of(a.word * b); }
WW_FN bytes4 mul(u8 a, bytes4 b) { return bytes4::of(a * b.word); }
WW_FN bytes4 bit_and(bytes4 a, bytes4 b) { return bytes4::of(a.word & b.word); }
WW_FN bytes4 bit_or(bytes4 a, bytes4 b) { return bytes4::of(a.word | b.word); }
WW_FN bytes4 bit_xor(bytes4 a, bytes4 b) { return bytes4::of(a.word ^ b.word); }

// No byte borrows from the next: what is subtracted is below 128.
WW_FN mask4 operator==(bytes4 a, bytes4 b) { return {0x80808080u - (a.word ^ b.word)}; }
WW_FN mask4 operator!=(bytes4 a, bytes4 b) { return {0x7f7f7f7fu + (a.word ^ b.word)}; }
WW_FN mask4 operator>=(bytes4 a, bytes4 b) { return {(a.word | 0x80808080u) - b.word}; }
WW_FN mask4 operator<=(bytes4 a, bytes4 b) { return b >= a; }
WW_FN mask4 bit_not(mask4 a) { return {~a.word}; }
WW_FN mask4 operator>(bytes4 a, bytes4 b) { return bit_not(b >= a); }
WW_FN mask4 operator<(bytes4 a, bytes4 b) { return bit_not(a >= b); }
WW_FN mask4 bit_and(mask4 a, mask4 b) { return {a.word & b.word}; }
WW_FN mask4 bit_or(mask4 a, mask4 b) { return {a.word | b.word}; }
WW_FN mask4 bit_xor(mask4 a, mask4 b) { return {a.word ^ b.word}; }
WW_FN mask4 operator&&(mask4 a, mask4 b) { return bit_and(a, b); }
WW_FN mask4 operator||(mask4 a, mask4 b) { return bit_or(a, b); }
template <class T>
WW_FN bytes4 cast(mask4 a) {
  return bytes4::of((a.word >> 7) & 0x01010101u);
}
template <class T>
WW_FN bytes4 cast(bytes4 a) {
  return a;
}

// --- bits

// 32 cells in memory.
struct alignas(16) cells32 {
  u32 words[8];
};
struct mask32 {
  u32 word;
};
struct bits8 {
  u32 plane[8];
  bits8() = default;
  WW_FN bits8(u8 all) {
#pragma unroll
    for (int i = 0; i < 8; i++) plane[i] = (all >> i & 1) ? ~0u : 0u;
  }
  // Cells that are 0 or 1.
  WW_FN static bits8 of(u32 word) {
    bits8 bits(u8(0));
    bits.plane[0] = word;
    return bits;
  }
};

WW_FN bits8 add_with(bits8 a, bits8 b, u32 carry) {
  bits8 sum(u8(0));
#pragma unroll
  for (int i = 0; i < 8; i++) {
    sum.plane[i] = a.plane[i] ^ b.plane[i] ^ carry;
    carry = (a.plane[i] & b.plane[i]) | (carry & (a.plane[i] ^ b.plane[i]));
  }
  return sum;
}
WW_FN bits8 add(bits8 a, bits8 b) { return add_with(a, b, 0u); }
#define WW_PLANES(name, expression)   \
  WW_FN bits8 name(bits8 a, bits8 b) { \
    bits8 all(u8(0));                 \
    _Pragma("unroll") for (int i = 0; i < 8; i++) all.plane[i] = expression; \
    return all;                       \
  }
WW_PLANES(bit_and, a.plane[i] & b.plane[i])
WW_PLANES(bit_or, a.plane[i] | b.plane[i])
WW_PLANES(bit_xor, a.plane[i] ^ b.plane[i])
WW_PLANES(complement, ~b.plane[i])
#undef WW_PLANES
WW_FN bits8 sub(bits8 a, bits8 b) { return add_with(a, complement(a, b), ~0u); }
WW_FN bits8 mul(bits8 a, u8 b) {
  bits8 sum(u8(0));
#pragma unroll
  for (int n = 0; n < 8; n++) {
    bits8 part(u8(0));
#pragma unroll
    for (int i = n; i < 8; i++) part.plane[i] = (b >> n & 1) ? a.plane[i - n] : 0u;
    sum = add(sum, part);
  }
  return sum;
}
WW_FN bits8 mul(u8 a, bits8 b) { return mul(b, a); }
WW_FN mask32 bit_not(mask32 a) { return {~a.word}; }
WW_FN mask32 bit_and(mask32 a, mask32 b) { return {a.word & b.word}; }
WW_FN mask32 bit_or(mask32 a, mask32 b) { return {a.word | b.word}; }
WW_FN mask32 bit_xor(mask32 a, mask32 b) { return {a.word ^ b.word}; }
WW_FN mask32 operator&&(mask32 a, mask32 b) { return bit_and(a, b); }
WW_FN mask32 operator||(mask32 a, mask32 b) { return bit_or(a, b); }
WW_FN mask32 operator!=(bits8 a, bits8 b) {
  u32 any = 0u;
#pragma unroll
  for (int i = 0; i < 8; i++) any |= a.plane[i] ^ b.plane[i];
  return {any};
}
WW_FN mask32 operator==(bits8 a, bits8 b) { return bit_not(a != b); }
// From the lowest bit on: the highest that differs decides.
WW_FN mask32 operator>(bits8 a, bits8 b) {
  u32 more = 0u;
#pragma unroll
  for (int i = 0; i < 8; i++) more = (a.plane[i] & ~b.plane[i]) | (more & ~(a.plane[i] ^ b.plane[i]));
  return {more};
}
WW_FN mask32 operator<(bits8 a, bits8 b) { return b > a; }
WW_FN mask32 operator<=(bits8 a, bits8 b) { return bit_not(a > b); }
WW_FN mask32 operator>=(bits8 a, bits8 b) { return bit_not(b > a); }
template <class T>
WW_FN bits8 cast(mask32 a) {
  return bits8::of(a.word);
}
template <class T>
WW_FN bits8 cast(bits8 a) {
  return a;
}

// The cells of a word, which are 0 or 1, as four bits, and back: products put every bit where it belongs, and what else they
// make elsewhere.
WW_FN u32 bits_of(const cells32& cells) {
  u32 bits = 0u;
#pragma unroll
  for (int n = 0; n < 8; n++) bits |= (cells.words[n] * 0x10204080u >> (28 - 4 * n)) & (0xfu << 4 * n);
  return bits;
}
WW_FN cells32 cells_of(u32 bits) {
  cells32 cells;
#pragma unroll
  for (int n = 0; n < 8; n++) cells.words[n] = ((bits >> 4 * n) & 0xfu) * 0x00204081u & 0x01010101u;
  return cells;
}

}  // namespace ww
