// Halo: copies a box of one field between its padded array and dense bytes, row-major, which may lie on
// another device; and the flags by which devices tell one another that such bytes are there.
//
// ww_halo       Grid: (blocks, 1, 1), which take turns over the box's units. Block: 256 threads, a unit each.
// ww_halo_wait  Grid: one block. Block: one thread.
// Shared: none.
// Invariants: a unit is as many bytes as everything is aligned to, 16 at most; `size` counts units along
// x. A box has fewer than 2^32 units.
//
// Protocol (the host's half is peers). The last block of a launch with a flag says, released to the
// system, that the launch's bytes and those of the launches before it are there. Every block releases what
// its threads wrote before it counts itself, and the last one to count has acquired all others', so that
// its release covers them (PTX ISA, memory consistency model: causality order is transitive). The
// neighbour's ww_halo_wait acquires the flag, and its later launches read the bytes.
#pragma once
#include "watchdog.cuh"

namespace ww::stencil {

struct Halo {
  u64 cell;       // the box's first cell in the padded array
  u64 dense;      // its first byte in the dense one
  ww_word* flag;  // set when all is done, if not null
  ww_word* count;  // the blocks that are done; zero before and after
  i64 stride[3];  // bytes from a cell to the next along w, z, y
  u32 size[4];    // along w, z, y, x
  int unit;       // bytes
  int out;        // whether to the dense side
  ww_word value;  // of the flag
};

template <class T>
WW_FN void halo_units(const Halo& halo) {
  const u32 all = halo.size[0] * halo.size[1] * halo.size[2] * halo.size[3];
  for (u64 index = blockIdx.x * 256 + threadIdx.x; index < all; index += u64(gridDim.x) * 256) {
    u32 rest = u32(index);
    i64 at = i64(rest % halo.size[3]) * sizeof(T);
    rest /= halo.size[3];
#pragma unroll
    for (int d = 2; d >= 0; d--) {
      at += i64(rest % halo.size[d]) * halo.stride[d];
      rest /= halo.size[d];
    }
    T* cell = reinterpret_cast<T*>(halo.cell + at);
    T* dense = reinterpret_cast<T*>(halo.dense) + index;
    if (halo.out) {
      *dense = *cell;
    } else {
      *cell = *dense;
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) ww_halo(const __grid_constant__ Halo halo) {
  switch (halo.unit) {
    case 1: halo_units<u8>(halo); break;
    case 2: halo_units<u16>(halo); break;
    case 4: halo_units<u32>(halo); break;
    case 8: halo_units<u64>(halo); break;
    default: halo_units<uint4>(halo);
  }
  if (!halo.flag) return;
  __syncthreads();
  if (threadIdx.x > 0) return;
  // To the system, not the device alone: the bytes lie on another.
  if (ww_add_acq_rel_sys(halo.count, 1) + 1 < gridDim.x) return;
  *halo.count = 0;
  ww_store_release_sys(halo.flag, halo.value);
}

// `from` is the rank waited for and `what` its message, for the report.
extern "C" __global__ void ww_halo_wait(const ww_word* flag, ww_word value, ww_watchdog dog, ww_word from,
                                        ww_word what) {
  ww_wait<true>(flag, value, dog, from, what);
}

}  // namespace ww::stencil
