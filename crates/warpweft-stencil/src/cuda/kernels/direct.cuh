// Direct: each thread advances a register block of vx × vy × vz cells; neighbours come by 16-byte
// loads through L1, and the compiler merges the loads that cells share. Any fields, any footprint.
//
// Grid:   (tiles of x, tiles of y, tiles of z × extent of w), origin at the region's low corner
//         rounded down to vx cells. In three dimensions tiles of y come in groups, and the third axis
//         is groups × tiles of z: what neighbours along z share is then still in the L2 cache.
// Block:  32 lanes along x, `warps` along y (3D, 4D), along z (2D) or along x (1D).
// Shared: none.
// Invariant: a field that is read anywhere but at the cell itself is not written by this launch.
// Measured on an H200: 3D7 768³ f32 498 Gcells/s (4 × 2 × 4 cells, 8 warps, two blocks an SM), f64 243
// (2 × 4 × 4); 2D5 f32 16384² 520 (4 × 4). The bounds are 530 and 265.
#pragma once

namespace ww::stencil {

// Cell (k, i, j) of a thread's block whose cell (0, 0, 0) has element index `at`.
template <class S>
struct BlockNear {
  const Pointers<S>& fields;
  const Box& box;
  i64 at_;
  int k, i, j;
  int w, z, y, x;  // of cell (0, 0, 0)
  template <usize D>
  WW_FN array<usize, D> index() const {
    return index_of<S, D>(w, z + k, y + i, x + j);
  }
  WW_FN u64 step() const { return S::step(); }
  template <int F, int... O>
  WW_FN typename S::template Type<F> at() const {
    using o = offset<O...>;
    const i64 row = at_ + o::w * box.w + (k + o::z) * box.z + (i + o::y) * box.y;
    return element_across<S::vx, memory_of<S, F>>(box, fields.template in<F>() + row, x, j + o::x);
  }
};

template <class S, class E>
WW_FN void direct_tile(const Pointers<S>& fields, const Box& box, const E& element, int w, int z, int y,
                       int x) {
  const i64 at = w * box.w + z * box.z + y * box.y + x;
  const bool whole =
      inside(box, 1, z, S::vz) && inside(box, 2, y, S::vy) && inside(box, 3, x, S::vx);
  if (!whole) {
    each_cell<S>(fields, box, element, w, z, S::vz, y, S::vy, x, S::vx);
    return;
  }
  Row<S, S::vx> rows[S::vz][S::vy];
#pragma unroll
  for (int k = 0; k < S::vz; k++) {
#pragma unroll
    for (int i = 0; i < S::vy; i++) {
      Row<S, S::vx>& row = rows[k][i];
#pragma unroll
      for (int j = 0; j < S::vx; j++) {
        each(typename S::Writes{}, [&](auto f) {
          constexpr int F = decltype(f)::value;
          row.template of<F>()[j] =
              element_of<S::vx, memory_of<S, F>>(fields.template in<F>() + at + k * box.z + i * box.y, j);
        });
        Next<S, S::vx> next{row, j};
        element(BlockNear<S>{fields, box, at, k, i, j, w, z, y, x}, next);
      }
      if constexpr (!Stored<S>::last) store_row<S>(fields, at + k * box.z + i * box.y, row);
    }
  }
  if constexpr (Stored<S>::last) {
#pragma unroll
    for (int k = 0; k < S::vz; k++) {
#pragma unroll
      for (int i = 0; i < S::vy; i++) store_row<S>(fields, at + k * box.z + i * box.y, rows[k][i]);
    }
  }
}

// Calls `tile` for each of the thread's tiles, given by its first cell; of lanes beyond the region's end only if `all_lanes`
// are to come, which then are those of whole warps.
template <class S, bool all_lanes, class Tile>
WW_FN void each_tile(const Box& box, Tile&& tile) {
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int column = S::dims == 1 ? blockIdx.x * S::warps + warp : blockIdx.x;
  const int x = (box.low[3] / S::vx + column * 32 + lane) * S::vx;
  const int tiles = (box.high[1] - box.low[1] + S::vz - 1) / S::vz;
  const int group = S::dims == 3 && !S::strided ? blockIdx.z / tiles : 0;
  const int tile_y = group * gridDim.y + blockIdx.y;
  const int y = S::dims >= 3 ? box.low[2] + (tile_y * S::warps + warp) * S::vy : 0;
  if ((!all_lanes && x >= box.high[3]) || y >= box.high[2]) return;
  if (S::dims == 4) {
    // The last two axes of four share the grid's third, which ends at 65,535.
    const i64 all = i64(tiles) * (box.high[0] - box.low[0]);
    for (i64 t = blockIdx.z; t < all; t += gridDim.z) {
      tile(box.low[0] + int(t / tiles), box.low[1] + int(t % tiles) * S::vz, y, x);
    }
  } else if (S::strided) {
    for (int t = S::dims == 2 ? blockIdx.z * S::warps + warp : blockIdx.z; t < tiles;
         t += S::dims == 2 ? gridDim.z * S::warps : gridDim.z) {
      tile(0, box.low[1] + t * S::vz, y, x);
    }
  } else {
    const int t = S::dims == 2 ? blockIdx.z * S::warps + warp : blockIdx.z - group * tiles;
    if (t < tiles) tile(0, box.low[1] + t * S::vz, y, x);
  }
}

template <class S, class E>
WW_FN void direct(const Pointers<S>& fields, const Box& box, const E& element) {
  each_tile<S, false>(
      box, [&](int w, int z, int y, int x) { direct_tile<S>(fields, box, element, w, z, y, x); });
}

}  // namespace ww::stencil
