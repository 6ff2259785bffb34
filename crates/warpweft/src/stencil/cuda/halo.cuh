// Halo: copies a box of one field between its padded array and dense bytes, row-major.
//
// Grid:   (blocks over the box's units, 1, 1).
// Block:  256 threads, a unit each.
// Shared: none.
// Invariants: a unit is a cell, or the part of one to which the dense side is aligned when fields of
// several sizes follow one another; `size` counts units along x. A box has fewer than 2^32 units.
#pragma once

namespace ww::stencil {

struct Halo {
  u64 cell;       // the box's first cell in the padded array
  u64 dense;      // its first byte in the dense one
  i64 stride[3];  // bytes from a cell to the next along w, z, y
  u32 size[4];    // along w, z, y, x
  int unit;       // bytes
  int out;        // whether to the dense side
};

template <class T>
WW_FN void halo_unit(const Halo& halo, u32 index) {
  u32 rest = index;
  i64 at = i64(rest % halo.size[3]) * sizeof(T);
  rest /= halo.size[3];
#pragma unroll
  for (int d = 2; d >= 0; d--) {
    at += i64(rest % halo.size[d]) * halo.stride[d];
    rest /= halo.size[d];
  }
  if (rest > 0) return;
  T* cell = reinterpret_cast<T*>(halo.cell + at);
  T* dense = reinterpret_cast<T*>(halo.dense) + index;
  if (halo.out) {
    *dense = *cell;
  } else {
    *cell = *dense;
  }
}

extern "C" __global__ void __launch_bounds__(256) ww_halo(const __grid_constant__ Halo halo) {
  const u32 index = blockIdx.x * 256 + threadIdx.x;
  switch (halo.unit) {
    case 1: return halo_unit<u8>(halo, index);
    case 2: return halo_unit<u16>(halo, index);
    case 4: return halo_unit<u32>(halo, index);
    default: return halo_unit<u64>(halo, index);
  }
}

}  // namespace ww::stencil
