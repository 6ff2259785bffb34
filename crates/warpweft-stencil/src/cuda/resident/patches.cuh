// Patches: resident tiles in three dimensions. Cells lie in shared memory; a thread computes its patch of
// vx × vy × vz cells into registers, and stores it once all have read.
//
// Shared: the computed cells and a pad around them as far as the footprint reaches.
// Messages: between posts lie few steps, mostly one. What comes along z, in which slabs are cut, only the warps there
//         wait for and take, while the others compute: another device's is longer on its way. Barriers 1 and 2 are
//         theirs.
// Measured on an H200, µs a step: 3D7 f32 64 × 256² 4.7, 128³ 3.3.
#pragma once

namespace ww::stencil {

// The cells around a thread's, loaded row by row: cell (k, i, j) and what lies next to it.
template <class S>
struct ResidentNear {
  using T = typename S::template Type<0>;
  static constexpr int side = Home<S>::pad[2];
  const T (*rows)[S::vy + 2 * S::reach_y][S::vx + 2 * side];
  int k, i, j;
  template <int F, int... O>
  WW_FN T at() const {
    using o = offset<O...>;
    return rows[k + S::reach_z + o::z][i + S::reach_y + o::y][j + side + o::x];
  }
};

template <class S>
struct Patches {
  using H = Home<S>;
  using T = typename H::T;
  static constexpr int V = H::vector;
  static constexpr int pitch = H::all[2] + 2 * H::pad[2], plane = pitch * (H::all[1] + 2 * H::pad[1]);
  static constexpr int bytes = plane * (H::all[0] + 2 * H::pad[0]) * int(sizeof(T));
  static constexpr int origin = H::pad[0] * plane + H::pad[1] * pitch + H::pad[2];
  static constexpr bool splits = false;
  Place<S> place;
  T* cells;       // the first computed cell
  T* own;         // the thread's
  unsigned kept;  // a bit a row of the thread's cells, k·vy + i: it keeps its values
  bool part;      // the hold begins amid the thread's rows
  bool ok = true;  // all came in time

  WW_FN Patches(const Resident& given, Posts& posts, char* shared)
      : place(given, posts), cells(reinterpret_cast<T*>(shared) + origin) {
    own = cells + place.first[0] * plane + place.first[1] * pitch + place.first[2];
    keep(given);
  }

  WW_FN Messages<S> messages() const { return {place}; }

  // Which of the thread's cells keep their values.
  WW_FN void keep(const Resident& given) {
    const int x = place.low[2] + place.first[2], end = x + S::vx;
    const bool all = end <= given.hold_low[2] || x >= given.hold_high[2];
    part = !all && (x < given.hold_low[2] || end > given.hold_high[2]);
    kept = 0;
    for (int n = 0; n < S::vz * S::vy; n++) {
      const int z = place.low[0] + place.first[0] + n / S::vy, y = place.low[1] + place.first[1] + n % S::vy;
      const bool row = z < given.hold_low[0] || z >= given.hold_high[0] || y < given.hold_low[1] ||
                       y >= given.hold_high[1];
      kept |= unsigned(all || row) << n;
    }
  }

  WW_FN void load(const T* in) {
    constexpr int words = (H::all[2] + 2 * H::pad[2]) / V, rows_y = H::all[1] + 2 * H::pad[1];
    constexpr int rows = rows_y * (H::all[0] + 2 * H::pad[0]);
    for (int n = place.thread; n < rows * words; n += H::threads) {
      const int row = n / words, x = n % words * V - H::pad[2];
      const int z = row / rows_y - H::pad[0], y = row % rows_y - H::pad[1];
      T values[V] = {};
      if (place.held_by_memory(place.low[0] + z, place.low[1] + y, place.low[2] + x)) {
        load_vector<V, memory::plain>(in + (place.low[0] + z) * place.given.z + (place.low[1] + y) * place.given.y + place.low[2] + x, values);
      }
      store_vector<V>(cells + z * plane + y * pitch + x, values);
    }
  }

  WW_FN void store(T* out) const {
    constexpr int words = H::tile[2] / V;
    for (int n = place.thread; n < H::tile[0] * H::tile[1] * words; n += H::threads) {
      const int row = n / words, x = H::overlap[2] + n % words * V;
      const int z = H::overlap[0] + row / H::tile[1], y = H::overlap[1] + row % H::tile[1];
      const int left = place.given.extent[2] - (place.low[2] + x);
      if (place.low[0] + z >= place.given.extent[0] || place.low[1] + y >= place.given.extent[1] || left <= 0) continue;
      const T* from = cells + z * plane + y * pitch + x;
      T* to = out + (place.low[0] + z) * place.given.z + (place.low[1] + y) * place.given.y + place.low[2] + x;
      if (left >= V) {
        T values[V];
        load_vector<V, memory::plain>(from, values);
        store_vector<V>(to, values);
      } else {
        for (int j = 0; j < left; j++) to[j] = from[j];
      }
    }
  }

  // Where word `n` of those that come from direction `D`, or go to who takes them from there, lies among the cells.
  template <bool Send, int D>
  WW_FN T* item(int n) const {
    constexpr int nx = H::length(D, 2) / V, ny = H::length(D, 1);
    // What a tile takes from one side is what the one there gives on the other.
    constexpr int z = H::first(D, 0) - (Send ? H::way(D, 0) * H::tile[0] : 0);
    constexpr int y = H::first(D, 1) - (Send ? H::way(D, 1) * H::tile[1] : 0);
    constexpr int x = H::first(D, 2) - (Send ? H::way(D, 2) * H::tile[2] : 0);
    return cells + (z + n / (ny * nx)) * plane + (y + n / nx % ny) * pitch + x + n % nx * V;
  }

  // The layers of warps whose cells what comes along z is for or next to, from the lowest and from the highest.
  static constexpr int layers(int side) {
    const int deep = H::overlap[0] + S::reach_z;
    const int from = (H::overlap[0] + H::tile[0] - S::reach_z) / S::vz;
    return side > 0 ? S::warps_z - from : (deep + S::vz - 1) / S::vz < S::warps_z ? (deep + S::vz - 1) / S::vz : S::warps_z;
  }

  // Sends post `n`, to other slabs first: that has farther to go.
  WW_FN void send(ww_word n) const {
    const auto from = [&](auto direction, int word) { return item<true, decltype(direction)::value>(word); };
    messages().template send<18, 27>(n, from);
    messages().template send<0, 9>(n, from);
    messages().template send<9, 18>(n, from);
  }

  // Takes what of post `n` comes from the tiles of layer `Side` along z, by `Threads` threads of which this is number
  // `me`.
  template <int Side, int Threads>
  WW_FN void take(ww_word n, int me) {
    constexpr int first = 9 * (Side + 1);
    const auto to = [&](auto direction, int word) { return item<false, decltype(direction)::value>(word); };
    ok &= messages().template take<first, first + 9, Threads>(n, me, to);
  }

  // Takes, as the threads of side `Side` along z, what comes from there.
  template <int Side>
  WW_FN void meet(ww_word n) {
    constexpr int threads = layers(Side) * 32 * H::warps_y;
    const int me = place.thread - (Side > 0 ? H::threads - threads : 0);
    if (S::reach_z == 0 || me < 0 || me >= threads) return;
    take<Side, threads>(n, me);
    asm volatile("bar.sync %0, %1;" ::"n"(Side > 0 ? 2 : 1), "n"(threads) : "memory");
  }

  // Post `n`. False, to all threads: somebody did not come in time, now or in the post before.
  WW_FN bool exchange(ww_word n) {
    send(n);
    take<0, H::threads>(n, place.thread);
    if (!__syncthreads_and(ok)) return false;
    meet<-1>(n);
    meet<1>(n);
    return true;
  }

  // One step of all computed cells.
  template <Held Keeps, class E>
  WW_FN void advance(int, const E& element) {
    constexpr int side = H::pad[2];
    T next[S::vz][S::vy][S::vx];
    {
      T rows[S::vz + 2 * S::reach_z][S::vy + 2 * S::reach_y][S::vx + 2 * side];
#pragma unroll
      for (int k = 0; k < S::vz + 2 * S::reach_z; k++) {
#pragma unroll
        for (int i = 0; i < S::vy + 2 * S::reach_y; i++) {
#pragma unroll
          for (int q = 0; q < S::vx + 2 * side; q += V) {
            load_vector<V, memory::plain>(
                own + (k - S::reach_z) * plane + (i - S::reach_y) * pitch + q - side, rows[k][i] + q);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < S::vz; k++) {
#pragma unroll
        for (int i = 0; i < S::vy; i++) {
          Row<S, S::vx> row;
#pragma unroll
          for (int j = 0; j < S::vx; j++) {
            row.template of<0>()[j] = rows[k + S::reach_z][i + S::reach_y][j + side];
            Next<S, S::vx> assigned{row, j};
            element(ResidentNear<S>{rows, k, i, j}, assigned);
            next[k][i][j] = row.template of<0>()[j];
          }
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < S::vz; k++) {
#pragma unroll
      for (int i = 0; i < S::vy; i++) {
#pragma unroll
        for (int q = 0; q < S::vx; q += V) {
          T* to = own + k * plane + i * pitch + q;
          if (Keeps != Held::none && (kept >> (k * S::vy + i) & 1)) continue;
          if (Keeps != Held::none && part) {
            const int x = place.low[2] + place.first[2] + q;
#pragma unroll
            for (int j = 0; j < V; j++) {
              if (x + j >= place.given.hold_low[2] && x + j < place.given.hold_high[2]) to[j] = next[k][i][q + j];
            }
          } else {
            store_vector<V>(to, next[k][i] + q);
          }
        }
      }
    }
    __syncthreads();
  }
};

template <class S, class T, class E>
WW_FN void resident(const T* in, T* out, const Resident& given, const E& element) {
  static_assert(Patches<S>::bytes == S::shared_bytes && agreed<S>(), "host and kernel disagree");
  extern __shared__ __align__(128) char shared_memory[];
  __shared__ Posts posts;
  Patches<S> patches(given, posts, shared_memory);
  patches.load(in);
  __syncthreads();
  if (live<S>(patches, given, element)) patches.store(out);
}

}  // namespace ww::stencil
