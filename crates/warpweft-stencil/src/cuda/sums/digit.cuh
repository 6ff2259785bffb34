// Digits of 32 bits in words of 64, which several threads add to.
#pragma once

namespace ww::stencil {

// Adds to a digit, and what runs over to the digit that counts 2^64 times as much.
WW_FN void put(u64* digit, u64 part) {
  for (; part; digit += 2) {
    const u64 old = atomicAdd(digit, part);
    part = old + part < old;
  }
}

}  // namespace ww::stencil
