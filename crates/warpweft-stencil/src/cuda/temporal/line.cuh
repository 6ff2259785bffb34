// Line: several steps of a one-dimensional stencil in one pass over memory. A warp has a tile of 32 · vx cells of its own
// in registers, runs all levels on them (levels.cuh, where a plane is one row and nothing is read along z), and stores those
// that its overlap leaves right.
//
// Grid:   (groups of `warps` tiles, 1, 1).
// Block:  32 lanes along x, `warps` tiles.
// Shared: none.
// Invariants: a tile's overlap cells are computed from garbage at its ends and dropped. Reads beyond the room of an array
// are moved to its end: no cell that is kept depends on them.
// Source of the idea: overlapped (trapezoidal) tiling.
#pragma once

namespace ww::stencil {

template <class S>
struct Line {
  const Pointers<S>& fields;
  const TimeBlock& block;
  Held<S> held;
  LaneFaces faces;
  int lane, x;

  WW_FN void load(Plane<S>& row) const {
    const int from = higher(block.room_low[2], lower(x, block.room_high[2] - S::vx));
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = typename S::template Type<F>;
      constexpr int N = unit_of<S, T>();
      T cells[S::vx];
#pragma unroll
      for (int q = 0; q < S::vx / N; q++) {
        load_vector<N, memory::read_only>(fields.template in<F>() + from + q * N, cells + q * N);
      }
#pragma unroll
      for (int j = 0; j < S::vx; j++) row.template of<F>().at(0, j) = InRegister<S, F>::put(cells[j]);
    });
  }

  // Stores the cells from .. to.
  WW_FN void store(const Plane<S>& row, int from, int to) const {
    each(typename S::Writes{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = typename S::template Type<F>;
      constexpr int N = unit_of<S, T>();
      T* at = fields.template out<F>() + x;
#pragma unroll
      for (int q = 0; q < S::vx / N; q++) {
        const int first = x + q * N;
        T values[N];
#pragma unroll
        for (int j = 0; j < N; j++) values[j] = InRegister<S, F>::get(row.template of<F>().at(0, q * N + j));
        if (first >= from && first + N <= to) {
          store_vector<N>(at + q * N, values);
        } else {
#pragma unroll
          for (int j = 0; j < N; j++) {
            if (first + j >= from && first + j < to) at[q * N + j] = values[j];
          }
        }
      }
    });
  }

  template <int Level, bool Edge, class E>
  WW_FN void levels_from(LevelQueue<S>& queue, Plane<S>& row, const E& elements) {
    if constexpr (Level < S::levels) {
      const HaloRows<S> none{};
      level<S, Level, 0, Edge, false>(queue, row, none, 0, faces, block, held, elements);
      levels_from<Level + 1, Edge>(queue, row, elements);
    }
  }
  template <bool Edge, class E>
  WW_FN void run(Plane<S>& row, const E& elements) {
    LevelQueue<S> queue;  // of rows that nothing reads
    if constexpr (Edge && S::asks) {
      begin_asking<S>(held, faces, lane, 0);
      held.asked = held.ahead;
    }
    levels_from<0, Edge>(queue, row, elements);
  }
};

template <class S, class E>
WW_FN void time_block(const Pointers<S>& fields, const TimeBlock& block, const Held<S>& held,
                      const E& elements) {
  static_assert(S::shared_bytes == 0 && S::kept == 1, "a row needs no other");
  constexpr int columns = 32 * S::vx, inner = columns - S::overlap_low - S::overlap_high;
  const int tiles = block.last_tile, tile = int(blockIdx.x) * S::warps + warp_of_block(threadIdx.y);
  if (tile >= tiles) return;
  Line<S> line{fields, block, held};
  const int tile_x = block.origin[1] + tile * inner;
  line.lane = threadIdx.x;
  line.x = tile_x + line.lane * S::vx;
  line.faces = {line.x == block.face_low[2], line.x + S::last == block.face_high[2], tile_x <= block.face_low[2],
                tile_x + columns >= block.face_high[2], 0, line.x};
  // The outermost tiles have no overlap cells beyond a face.
  const int from = tile == 0 ? block.low[2] : tile_x + S::overlap_low;
  const int to = tile == tiles - 1 ? block.high[2] : lower(block.high[2], tile_x + columns - S::overlap_high);
  need<S>(line.held, 0, 0, 1);
  need<S>(line.held, 1, 0, 1);
  need<S>(line.held, 2, from, to);
  Plane<S> row;
  line.load(row);
  if (line.faces.any_low || line.faces.any_high) {
    line.template run<true>(row, elements);
  } else {
    line.template run<false>(row, elements);
  }
  line.store(row, from, to);
}

}  // namespace ww::stencil
