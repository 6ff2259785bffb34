// Corners: the ghosts that lie across a cut and beyond a copied face at once. Ghost planes arrive without
// them, since what they copy are cells of those planes; so a tile at a cut that reads some copies them
// itself, once the planes have arrived.
//
// Grid, block, shared: as Edges.
// Invariants: a corner copies a cell in a column of tiles that its tile waited for, so none is copied too
// early or read too late (Edges); tiles that share a corner write the same there, each before it reads it.
// A corner beyond a face that holds values has one for good.
#pragma once

namespace ww::stencil {

// How far a stage reads a field across a cut and off the cell's own column: planes below and above, cells
// along y and x. What it reads in the cell's own plane says nothing of which tiles it waits for.
struct Across {
  int planes[2];
  int y_low, y_high, x_low, x_high;
};

// The cells of a tile along an axis, and how far it reads beyond them.
struct Span {
  int first, end, below, above, extent;
  // Ghosts that it reads beyond the low and the high face.
  WW_FN int low() const { return higher(below - first, 0); }
  WW_FN int high() const { return higher(end + above - extent, 0); }
  // Ghost `n` of all these.
  WW_FN int ghost(int n) const { return n < low() ? n - low() : extent + (n - low()); }
  // The cells read, ghosts left out.
  WW_FN int from() const { return higher(first - below, 0); }
  WW_FN int to() const { return lower(end + above, extent); }
};

WW_FN Span span_of(int tile, int cells, int below, int above, int extent) {
  return {tile * cells, lower((tile + 1) * cells, extent), below, above, extent};
}

// Where the ghost at `at` takes its value from along an axis (0 x, 1 y), and whether it takes one.
template <class S>
WW_FN int source_of(int axis, int at, int extent, bool& copies) {
  if (at >= 0 && at < extent) return at;
  const int kind = S::face(axis, at < 0 ? 0 : 1);
  copies = copies && !held(kind);
  return copied(kind, at, extent);
}

// Copies the corners of field F in one ghost zone.
template <class S, int F>
WW_FN void copy_corners(const Pointers<Edged<S>>& fields, const Box& box, int side, const Span& x,
                        const Span& y) {
  using T = typename S::template Type<F>;
  constexpr int threads = 32 * S::warps;
  // Columns of ghosts along x, as tall as the tile reads, and rows of ghosts along y between them.
  const int columns = x.low() + x.high(), rows = y.low() + y.high();
  const int bottom = y.first - y.below, tall = y.end + y.above - bottom, wide = x.to() - x.from();
  const int cells = columns * tall + rows * wide;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < S::across(F).planes[side] * cells; i += threads) {
    const int n = i % cells, m = n - columns * tall;
    const int z = side == 0 ? -1 - i / cells : box.high[1] + i / cells;
    const int at_x = m < 0 ? x.ghost(n % columns) : x.from() + m % wide;
    const int at_y = m < 0 ? bottom + n / columns : y.ghost(m / wide);
    bool copies = true;
    const int from_x = source_of<S>(0, at_x, x.extent, copies);
    const int from_y = source_of<S>(1, at_y, y.extent, copies);
    if (!copies) continue;
    i64 from = z * box.z + from_y * box.y + from_x;
    opaque(from);
    T value;
    load_vector<1, memory::arrived>(fields.template in<F>() + from, &value);
    const_cast<T*>(fields.template in<F>())[z * box.z + at_y * box.y + at_x] = value;
  }
}

// Copies the corners that the block's tile reads.
template <class S>
WW_FN void bring_corners(const Pointers<Edged<S>>& fields, const Box& box, Turn& turn) {
  bool any = false;
  each(typename S::Reads{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    constexpr Across across = S::across(F);
    if constexpr (across.planes[0] + across.planes[1] > 0) {
      const Span x = span_of(blockIdx.x, S::tile_x, across.x_low, across.x_high, box.high[3]);
      const Span y = span_of(turn.y, S::tile_y, across.y_low, across.y_high, box.high[2]);
      // A group's last tiles along y may have no cells, and wait for nobody's.
      if (y.first >= y.extent || x.low() + x.high() + y.low() + y.high() == 0) return;
      any = true;
      if (turn.at[0]) copy_corners<S, F>(fields, box, 0, x, y);
      if (turn.at[1]) copy_corners<S, F>(fields, box, 1, x, y);
    }
  });
  if (!any) return;
#if __CUDA_ARCH__ >= 900
  // The copy engine reads them too, where planes are brought by it.
  if constexpr (S::ring_bytes > 0) asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
  __syncthreads();
  asm volatile("" : "+r"(turn.layer)::"memory");
}

}  // namespace ww::stencil
