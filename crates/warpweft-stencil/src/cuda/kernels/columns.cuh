// Columns: each thread's vx × vy columns of cells in a register queue along z, for the skeletons that
// walk along z. A cell's neighbours in its thread's own columns cost no load; where all others come
// from is the skeleton's: global memory here (`Beside`), a ring in shared memory in planes.cuh.
//
// Invariant: a queue holds planes z - low ..= z + high; entry (u + dz + low) mod U is plane z + dz in
// phase u. A walk unrolls `phases` phases, so that every index is a constant, and then turns the queue
// back to phase 0: U phases need no moves but U copies of the element function, whose compilation is
// most of a kernel's.
#pragma once

namespace ww::stencil {

// The planes that any field's own column is read in: one queue length for all fields.
template <class S, int... F>
WW_FN constexpr int queue_low(indices<F...>) {
  int low = 0;
  ((low = S::reach(F).own && S::reach(F).own_low < low ? S::reach(F).own_low : low), ...);
  return -low;
}
template <class S, int... F>
WW_FN constexpr int queue_high(indices<F...>) {
  int high = 0;
  ((high = S::reach(F).own && S::reach(F).own_high > high ? S::reach(F).own_high : high), ...);
  return high;
}

// Whether field F is kept in the queue: only if its own column is read off the plane.
template <class S>
WW_FN constexpr bool queued(int f) {
  return S::reach(f).own && (S::reach(f).own_low < 0 || S::reach(f).own_high > 0);
}

template <int F, class T, int U, int VY, int VX>
struct Column {
  T value[U][VY][VX];
};
template <class S, int U, class List>
struct QueueOf;
template <class S, int U, int... F>
struct QueueOf<S, U, indices<F...>>
    : Column<F, typename S::template Type<F>, queued<S>(F) ? U : 1, S::vy, S::vx>... {
  template <int G>
  using Of = Column<G, typename S::template Type<G>, queued<S>(G) ? U : 1, S::vy, S::vx>;
  template <int G>
  WW_FN auto& of() {
    return static_cast<Of<G>&>(*this).value;
  }
  template <int G>
  WW_FN const auto& of() const {
    return static_cast<const Of<G>&>(*this).value;
  }
};

template <class S>
struct Marching {
  static constexpr int low = queue_low<S>(typename S::Reads{});
  static constexpr int high = queue_high<S>(typename S::Reads{});
  static constexpr int phases = low + high + 1;
  static constexpr int turn = 0 < S::phases && S::phases < phases ? S::phases : phases;
  using Queue = QueueOf<S, phases, typename S::Reads>;
};

// All around a thread's columns in global memory; `at` is the element index of cell (0, 0).
template <class S>
struct Beside {
  const Pointers<S>& fields;
  const Box& box;
  i64 at;

  // Whether field F's reads off its own column are kept in registers; here none's.
  template <int F>
  static constexpr bool crossed = false;

  template <int F>
  static constexpr memory source = memory_of<S, F>;
  // The thread's cells of row i in plane z + dz.
  template <int F>
  WW_FN const typename S::template Type<F>* row(int dz, int i) const {
    return fields.template in<F>() + at + dz * box.z + i * box.y;
  }
  // Element e of row r, DW and DZ away.
  template <int F, int DW, int DZ>
  WW_FN typename S::template Type<F> element(int r, int e) const {
    const i64 row = at + DW * box.w + DZ * box.z + r * box.y;
    return element_of<S::vx, source<F>>(fields.template in<F>() + row, e);
  }
};

// Cell (i, j) of a thread's columns in phase u.
template <class S, class Around>
struct ColumnsNear {
  const Around& around;
  typename Marching<S>::Queue& queue;
  int u, i, j;
  template <int F, int... O>
  WW_FN typename S::template Type<F> at() const {
    using M = Marching<S>;
    using o = offset<O...>;
    const int r = i + o::y, e = j + o::x;
    constexpr bool own = o::y < S::vy && -o::y < S::vy && o::x < S::vx && -o::x < S::vx;
    constexpr bool queue_has = queued<S>(F) && o::w == 0 && -o::z <= M::low && o::z <= M::high;
    if constexpr (queue_has && o::y == 0 && o::x == 0) {
      return queue.template of<F>()[(u + o::z + M::low) % M::phases][i][j];
    } else if constexpr (Around::template crossed<F> && o::w == 0 && o::z == 0) {
      return around.template beside<F>(r, e);
    } else if constexpr (queue_has && own) {
      if (r >= 0 && r < S::vy && e >= 0 && e < S::vx) {
        return queue.template of<F>()[(u + o::z + M::low) % M::phases][r][e];
      }
    }
    return around.template element<F, o::w, o::z>(r, e);
  }
};

// Loads the thread's cells of plane z + dz into queue entry `slot`.
template <class S, class Around>
WW_FN void load_plane(const Around& around, typename Marching<S>::Queue& queue, int dz, int slot) {
  each(typename S::Reads{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    if constexpr (queued<S>(F)) {
      constexpr int N = vector_length<typename S::template Type<F>, S::vx>();
#pragma unroll
      for (int i = 0; i < S::vy; i++) {
        const auto* row = around.template row<F>(dz, i);
#pragma unroll
        for (int c = 0; c < S::vx; c += N) {
          load_vector<N, Around::template source<F>>(row + c, queue.template of<F>()[slot][i] + c);
        }
      }
    }
  });
}

// Advances the thread's cells of plane z, all of whose planes are in the queue.
template <class S, class Around, class E>
WW_FN void advance_columns(const Pointers<S>& fields, const Box& box, const Around& around, i64 at,
                           typename Marching<S>::Queue& queue, int u, const E& element) {
  Row<S, S::vx> rows[S::vy];
#pragma unroll
  for (int i = 0; i < S::vy; i++) {
#pragma unroll
    for (int j = 0; j < S::vx; j++) {
      const ColumnsNear<S, Around> here{around, queue, u, i, j};
      each(typename S::Writes{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        rows[i].template of<F>()[j] = here.template at<F, 0, 0, 0, 0>();
      });
      Next<S, S::vx> next{rows[i], j};
      element(here, next);
    }
  }
#pragma unroll
  for (int i = 0; i < S::vy; i++) store_row<S>(fields, at + i * box.y, rows[i]);
}

// Makes what was phase `turn` phase 0. The entry that is filled next is not kept.
template <class S>
WW_FN void turn_back(typename Marching<S>::Queue& queue) {
  using M = Marching<S>;
  if constexpr (M::turn < M::phases) {
    const typename M::Queue old = queue;
    each(typename S::Reads{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      if constexpr (queued<S>(F)) {
#pragma unroll
        for (int k = 0; k < M::phases - 1; k++) {
#pragma unroll
          for (int i = 0; i < S::vy; i++) {
#pragma unroll
            for (int j = 0; j < S::vx; j++) {
              queue.template of<F>()[k][i][j] = old.template of<F>()[(k + M::turn) % M::phases][i][j];
            }
          }
        }
      }
    });
  }
}

}  // namespace ww::stencil
