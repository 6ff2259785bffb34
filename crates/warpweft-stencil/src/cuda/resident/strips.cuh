// Strips: resident tiles in two dimensions (rows are planes here). A thread keeps vz rows of vx cells in
// registers and advances them in place; neighbours along x come by shuffles, along z only a warp's first
// and last rows pass through shared memory, in two sets that steps take by turns: one barrier a step.
//
// Shared: rows at the ends of warps, [parity][warp][low, high][row][column].
// Messages: cells in rows. A block says to each block around by its flag there, released, that it has stored its
//         rims, and waits for the flags of those around, acquired: once in many steps a fence costs little.
// Beyond the lanes and the warps at its ends a tile reads anything: that is outside what came in a message, from
// which nothing reaches the tile before the next post.
// Measured on an H200, µs a step: 2D5 f32 512 × 2048 0.90, 1024 × 4096 2.53.
#pragma once

namespace ww::stencil {

// Stores V neighbouring elements in a message. The compiler knows neither that it is global memory nor how it is
// aligned, and would store element by element.
WW_FN void send(void* to, const unsigned& bits) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(bits) : "memory");
}
WW_FN void send(void* to, const uint2& bits) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(bits.x), "r"(bits.y) : "memory");
}
WW_FN void send(void* to, const uint4& bits) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               ::"l"(to), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w)
               : "memory");
}
template <int V, class T>
WW_FN void send_vector(T* to, const T* from) {
  typename word<sizeof(T) * V>::type bits;
  memcpy(&bits, from, sizeof(bits));
  send(to, bits);
}

// Takes V elements of a message where they are for the thread, without a branch: the loads of all rows are then on
// their way at once.
WW_FN void take(bool there, const void* from, unsigned& bits) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u32 %0, [%1]; }"
               : "+r"(bits) : "l"(from), "r"(unsigned(there)) : "memory");
}
WW_FN void take(bool there, const void* from, uint2& bits) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.v2.u32 {%0, %1}, [%2]; }"
               : "+r"(bits.x), "+r"(bits.y) : "l"(from), "r"(unsigned(there)) : "memory");
}
WW_FN void take(bool there, const void* from, uint4& bits) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.v4.u32 {%0, %1, %2, %3}, [%4]; }"
               : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w) : "l"(from), "r"(unsigned(there)) : "memory");
}
template <int V, class T>
WW_FN void take_vector(bool there, const T* from, T* to) {
  typename word<sizeof(T) * V>::type bits;
  memcpy(&bits, to, sizeof(bits));
  take(there, from, bits);
  memcpy(to, &bits, sizeof(bits));
}

// Cell j of a row that is about to be advanced, the rows before it as they were, and what lies at their ends.
template <class S>
struct StripNear {
  using T = typename S::template Type<0>;
  static constexpr int sides = S::reach_x > 0 ? S::reach_x : 1;
  const T (*rows)[S::vx];                 // row k - reach_z ..= k + reach_z
  const T (*west)[sides], (*east)[sides];  // of each, the cells next to the thread's
  int j;
  template <int F, int... O>
  WW_FN T at() const {
    using o = offset<O...>;
    const int r = S::reach_z + o::z, e = j + o::x;
    if (e < 0) return west[r][sides + e];
    if (e >= S::vx) return east[r][e - S::vx];
    return rows[r][e];
  }
};

template <class S>
struct Strips {
  using H = Home<S>;
  using T = typename H::T;
  static constexpr int V = H::vector, R = S::reach_z, X = S::vx, sides = StripNear<S>::sides;
  static constexpr int columns = 32 * X;
  static constexpr int bytes = 2 * S::warps * 2 * R * columns * int(sizeof(T));
  static_assert(S::vz >= R && X >= S::reach_x && S::vy == 1, "a thread's cells reach as far as the footprint");
  static constexpr bool splits = true;
  Place<S> place;
  T* ends;
  T cell[S::vz][X];
  int keep_below, keep_from;  // rows of the thread's before and from which keep their values
  unsigned kept;              // a bit a column that keeps its values

  WW_FN Strips(const Resident& given, Posts& posts, char* shared)
      : place(given, posts), ends(reinterpret_cast<T*>(shared)) {
    const int z = place.low[0] + place.first[0], x = place.low[2] + place.first[2];
    keep_below = given.hold_low[0] - z;
    keep_from = given.hold_high[0] - z;
    kept = 0;
#pragma unroll
    for (int j = 0; j < X; j++) {
      kept |= unsigned(x + j < given.hold_low[2] || x + j >= given.hold_high[2]) << j;
    }
    if (kept == (1u << X) - 1) keep_below = S::vz;
  }

  WW_FN void load(const T* in) {
#pragma unroll
    for (int k = 0; k < S::vz; k++) {
#pragma unroll
      for (int q = 0; q < X; q += V) {
        const int z = place.low[0] + place.first[0] + k, x = place.low[2] + place.first[2] + q;
        T values[V] = {};
        if (place.held_by_memory(z, 0, x)) load_vector<V, memory::plain>(in + z * place.given.z + x, values);
#pragma unroll
        for (int j = 0; j < V; j++) cell[k][q + j] = values[j];
      }
    }
  }

  // Calls `body(k, row)` for the thread's rows of the tile.
  template <class Body>
  WW_FN void each_row(const Body& body) {
#pragma unroll
    for (int k = 0; k < S::vz; k++) {
      const int row = place.first[0] + k - H::overlap[0];
      if (row >= 0 && row < H::tile[0]) body(k, row);
    }
  }

  WW_FN void store(T* out) {
    each_row([&](int k, int row) {
      const int z = place.at[0] * H::tile[0] + row;
#pragma unroll
      for (int q = 0; q < X; q += V) {
        const int x = place.low[2] + place.first[2] + q, left = place.given.extent[2] - x;
        const int column = place.first[2] + q - H::overlap[2];
        if (column < 0 || column >= H::tile[2] || z >= place.given.extent[0] || left <= 0) continue;
        T* to = out + z * place.given.z + x;
        if (left >= V) {
          store_vector<V>(to, cell[k] + q);
        } else {
#pragma unroll
          for (int j = 0; j < V; j++) {
            if (j < left) to[j] = cell[k][q + j];
          }
        }
      }
    });
  }

  // Sends the thread's cells of the rim towards `D`, or takes those that came from there. All conditions but
  // the lane's are the same for a warp.
  template <int D, bool Send>
  WW_FN void carry(T* messages) {
    constexpr int oz = H::way(D, 0), ox = H::way(D, 2);
    // What goes to one side is what a tile there takes from the other, a tile on.
    constexpr int z0 = H::first(D, 0) - (Send ? oz * H::tile[0] : 0);
    constexpr int x0 = H::first(D, 2) - (Send ? ox * H::tile[2] : 0);
    constexpr int nz = H::length(D, 0), nx = H::length(D, 2);
    const int above = place.first[0] - z0;
    if (above + S::vz <= 0 || above >= nz) return;
#pragma unroll
    for (int q = 0; q < X; q += V) {
      const int x = place.first[2] + q - x0;
      const bool column = unsigned(x) < unsigned(nx);
#pragma unroll
      for (int k = 0; k < S::vz; k++) {
        const bool there = column && unsigned(above + k) < unsigned(nz);
        T* at = messages + (above + k) * nx + x;
        if constexpr (Send) {
          if (there) send_vector<V>(at, cell[k] + q);
        } else {
          take_vector<V>(there, at, cell[k] + q);
        }
      }
    }
  }

  // Says that post `n` is sent, after all threads' stores, and waits for those of the tiles around. False, to
  // all threads: somebody did not come in time.
  WW_FN bool meet(ww_word n) {
    const Posts& posts = place.posts;
    const int thread = place.thread;
    __syncthreads();
    bool ok = true;
    if (thread < 27 && posts.flag[thread] != nullptr) {
      const ww_word* mine = place.own_flags + thread * H::flag_words;
      if (posts.far[thread]) {
        ww_store_release_sys(posts.flag[thread], n + 1);
        ok = ww_wait<true>(mine, n + 1, place.given.dog, thread < 9 ? 0 : 1, thread);
      } else {
        ww_store_release_gpu(posts.flag[thread], n + 1);
        ok = ww_wait<false>(mine, n + 1, place.given.dog, 2, thread);
      }
    }
    return __syncthreads_and(ok);
  }

  // Post `n`. False, to all threads: somebody did not come in time.
  WW_FN bool exchange(ww_word n) {
    const int slot = (n & 1) * H::before(27);
    each_direction<S>([&](auto direction) {
      constexpr int D = decltype(direction)::value;
      char* messages = place.posts.messages[D];
      if (messages != nullptr) carry<26 - D, true>(reinterpret_cast<T*>(messages + slot));
    });
    if (!meet(n)) return false;
    each_direction<S>([&](auto direction) {
      constexpr int D = decltype(direction)::value;
      T* messages = reinterpret_cast<T*>(place.own_messages + slot + H::before(D));
      if (place.posts.messages[D] != nullptr) carry<D, false>(messages);
    });
    return true;
  }

  WW_FN T* end_row(int parity, int warp, int side, int row) const {
    return ends + (((parity * S::warps + warp) * 2 + side) * R + row) * columns + place.first[2];
  }

  // The cells next to a thread's row, from the lanes around.
  WW_FN static void beside(const T (&row)[X], T (&west)[sides], T (&east)[sides]) {
#pragma unroll
    for (int i = 0; i < S::reach_x; i++) {
      west[sides - 1 - i] = __shfl_up_sync(~0u, row[X - 1 - i], 1);
      east[i] = __shfl_down_sync(~0u, row[i], 1);
    }
  }

  // One step of all computed cells.
  template <Held Keeps, class E>
  WW_FN void advance(int step, const E& element) {
    const int parity = step & 1, warp = place.warp;
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
      for (int q = 0; q < X; q += V) {
        store_vector<V>(end_row(parity, warp, 0, r) + q, cell[r] + q);
        store_vector<V>(end_row(parity, warp, 1, r) + q, cell[S::vz - R + r] + q);
      }
    }
    __syncthreads();
    // Rows k - R ..= k + R as they were before the step, of which those to come are `cell` and `below`.
    T rows[2 * R + 1][X], west[2 * R + 1][sides], east[2 * R + 1][sides], below[R > 0 ? R : 1][X];
    const int up = warp > 0 ? warp - 1 : warp, down = warp + 1 < S::warps ? warp + 1 : warp;
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
      for (int q = 0; q < X; q += V) {
        load_vector<V, memory::plain>(end_row(parity, up, 1, r) + q, rows[r + 1] + q);
        load_vector<V, memory::plain>(end_row(parity, down, 0, r) + q, below[r] + q);
      }
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
      for (int j = 0; j < X; j++) rows[R + 1 + r][j] = cell[r][j];
    }
    if constexpr (S::slanted) {
#pragma unroll
      for (int r = 1; r < 2 * R + 1; r++) beside(rows[r], west[r], east[r]);
    }
#pragma unroll
    for (int k = 0; k < S::vz; k++) {
#pragma unroll
      for (int r = 0; r < 2 * R; r++) {
#pragma unroll
        for (int j = 0; j < X; j++) rows[r][j] = rows[r + 1][j];
        if constexpr (S::slanted) {
#pragma unroll
          for (int i = 0; i < sides; i++) {
            west[r][i] = west[r + 1][i];
            east[r][i] = east[r + 1][i];
          }
        }
      }
#pragma unroll
      for (int j = 0; j < X; j++) {
        rows[2 * R][j] = k + R < S::vz ? cell[k + R < S::vz ? k + R : 0][j] : below[k + R < S::vz ? 0 : k + R - S::vz][j];
      }
      if constexpr (S::slanted) {
        beside(rows[2 * R], west[2 * R], east[2 * R]);
      } else {
        beside(rows[R], west[R], east[R]);
      }
      Row<S, X> row;
#pragma unroll
      for (int j = 0; j < X; j++) {
        row.template of<0>()[j] = rows[R][j];
        Next<S, X> assigned{row, j};
        element(StripNear<S>{rows, west, east, j}, assigned);
      }
      const bool still = Keeps != Held::none && (k < keep_below || k >= keep_from);
#pragma unroll
      for (int j = 0; j < X; j++) {
        const bool stays = still || (Keeps == Held::parts && (kept >> j & 1));
        cell[k][j] = stays ? rows[R][j] : row.template of<0>()[j];
      }
    }
  }
};

template <class S, class T, class E>
WW_FN void resident(const T* in, T* out, const Resident& given, const E& element) {
  static_assert(Strips<S>::bytes == S::shared_bytes && agreed<S>(), "host and kernel disagree");
  extern __shared__ __align__(128) char shared_memory[];
  __shared__ Posts posts;
  Strips<S> strips(given, posts, shared_memory);
  strips.load(in);
  __syncthreads();
  if (live<S>(strips, given, element)) strips.store(out);
}

}  // namespace ww::stencil
