// Resident: cells stay in shared memory for as many steps as a launch takes. Each block has a tile; every
// `depth` steps the rims of tiles go to the blocks around as mail, through L2 or a neighbour device's
// memory, and between two posts a block computes the skirt around its tile as well, which shrinks a
// footprint a step. For one scalar field of four or eight bytes that is read beside the cell and written,
// in two or three dimensions (rows are planes in two); faces Dirichlet or periodic.
//
// Grid:   a block a tile, all of them resident: they wait for one another.
// Block:  32 lanes along x, `warps` along y and, `warps_z` of them, along z; a thread has vx × vy × vz cells
//         of the tile and its skirt.
// Shared: these cells and a pad around them as far as the footprint reaches.
// Mail:   per tile, direction and parity of the post, what lies beyond the tile on that side, `halo` deep.
//
// Protocol. In post n a block stores the rims of its tile into the slots n % 2 of the blocks around and says
// so to each by its flag there, released; then it waits for the flags of those around to reach n + 1, and
// takes its own slots. No overwrite: a block stores post n + 2 after it has acquired post n + 1 of the
// receiver, which the receiver said after it had taken post n. No deadlock: post n + 1 of a block waits for
// posts n of the blocks around and for nothing else. Posts are counted on over launches, and wrap.
// Exactness: a cell of the skirt that is too far out for the step is computed from garbage, and what is read
// of it no cell of the tile depends on before the next post. Cells outside [hold_low, hold_high) keep their
// value, which holds a Dirichlet face, its ghosts and what lies beyond.
// Source of the idea: persistent stencil kernels that keep cells on the chip (PERKS, Zhang et al. 2023).
#pragma once
#include "watchdog.cuh"

namespace ww::stencil {

// The tiles beyond a slab's first or last layer: another device's, or across a periodic face its own.
struct Beyond {
  void* mail;      // null where there is nobody
  ww_word* flags;
  i64 layers;      // of tiles along z
};

// Along z, y, x.
struct Resident {
  int extent[3], hold_low[3], hold_high[3];
  int low[3], high[3];  // cells that memory holds, with ghosts
  int tiles[3];
  int wraps[3];         // of y and x: the first and the last tile are neighbours
  int steps;
  ww_word posts;        // before this launch
  int unused;
  i64 z, y;             // strides
  void* mail;
  ww_word* flags;
  Beyond beyond[2];
  ww_watchdog dog;
};

template <class S>
struct Home {
  using T = typename S::template Type<0>;
  static constexpr int vector = 16 / int(sizeof(T)) < S::vx ? 16 / int(sizeof(T)) : S::vx;
  static constexpr int threads = 32 * S::warps, warps_y = S::warps / S::warps_z;
  static constexpr int up(int n) { return (n + S::vx - 1) / S::vx * S::vx; }
  // Along z, y, x: cells computed, of the tile, from the first computed to the tile's first, and sent.
  static constexpr int pad[3] = {S::reach_z, S::reach_y, up(S::reach_x)};
  static constexpr int skirt[3] = {(S::depth - 1) * S::reach_z, (S::depth - 1) * S::reach_y,
                                   up((S::depth - 1) * S::reach_x)};
  static constexpr int halo[3] = {S::depth * S::reach_z, S::depth * S::reach_y, up(S::depth * S::reach_x)};
  static constexpr int all[3] = {S::vz * S::warps_z, S::vy * warps_y, 32 * S::vx};
  static constexpr int tile[3] = {S::planes, all[1] - 2 * skirt[1], all[2] - 2 * skirt[2]};
  static constexpr int pitch = all[2] + 2 * pad[2], plane = pitch * (all[1] + 2 * pad[1]);
  static constexpr int bytes = plane * (all[0] + 2 * pad[0]) * int(sizeof(T));
  static constexpr int origin = pad[0] * plane + pad[1] * pitch + pad[2];
  // A direction is 9 (oz + 1) + 3 (oy + 1) + ox + 1.
  static constexpr int directions = 27, flag_words = 8;
  static constexpr int way(int d, int axis) { return (axis == 0 ? d / 9 : axis == 1 ? d / 3 % 3 : d % 3) - 1; }
  static constexpr bool used(int d) {
    const int oz = way(d, 0), oy = way(d, 1), ox = way(d, 2);
    const int off = (oz != 0) + (oy != 0) + (ox != 0);
    const bool reached = (oz == 0 || S::reach_z > 0) && (oy == 0 || S::reach_y > 0) && (ox == 0 || S::reach_x > 0);
    return off > 0 && reached && (off == 1 || S::corners) && (S::dims == 3 || oy == 0);
  }
  // What a tile takes from that direction: where it begins and its length along an axis.
  static constexpr int first(int d, int axis) {
    const int o = way(d, axis);
    return o < 0 ? skirt[axis] - halo[axis] : o == 0 ? skirt[axis] : skirt[axis] + tile[axis];
  }
  static constexpr int length(int d, int axis) { return way(d, axis) == 0 ? tile[axis] : halo[axis]; }
  static constexpr int cells(int d) { return used(d) ? length(d, 0) * length(d, 1) * length(d, 2) : 0; }
  // Elements of mail before that of direction `d`; those of a tile for 27.
  static constexpr int before(int d) {
    int sum = 0;
    for (int e = 0; e < d; e++) sum += cells(e);
    return sum;
  }
};

// Calls `body(index_t<d>{})` for every direction in use.
template <class S, int D = 0, class Body>
WW_FN void each_direction(const Body& body) {
  if constexpr (D < 27) {
    if constexpr (Home<S>::used(D)) body(index_t<D>{});
    each_direction<S, D + 1>(body);
  }
}

// The cells around a thread's, loaded row by row: cell (k, i, j) and what lies beside it.
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
struct ResidentTile {
  using H = Home<S>;
  using T = typename H::T;
  static constexpr int V = H::vector;
  const Resident& told;
  T* cells;   // the first computed cell
  int at[3];  // of the tile among the tiles
  int low[3]; // the volume's coordinates of the first computed cell
  int thread;
  T* own;     // the thread's first cell
  int first[3]; // and where that is among the computed ones
  unsigned kept;  // a bit a row of the thread's cells, k·vy + i: it keeps its values
  bool part;      // the hold begins amid the thread's rows

  // Whether memory holds the vector of row (z, y) that begins at x.
  WW_FN bool held_by_memory(int z, int y, int x) const {
    return z >= told.low[0] && z < told.high[0] && y >= told.low[1] && y < told.high[1] &&
           x + V > told.low[2] && x < told.high[2];
  }

  // Which of the thread's cells keep their values.
  WW_FN void keep() {
    const int x = low[2] + first[2], end = x + S::vx;
    const bool all = end <= told.hold_low[2] || x >= told.hold_high[2];
    part = !all && (x < told.hold_low[2] || end > told.hold_high[2]);
    kept = 0;
    for (int n = 0; n < S::vz * S::vy; n++) {
      const int z = low[0] + first[0] + n / S::vy, y = low[1] + first[1] + n % S::vy;
      const bool row = z < told.hold_low[0] || z >= told.hold_high[0] || y < told.hold_low[1] ||
                       y >= told.hold_high[1];
      kept |= unsigned(all || row) << n;
    }
  }

  WW_FN void load(const T* in) {
    constexpr int words = (H::all[2] + 2 * H::pad[2]) / V, rows_y = H::all[1] + 2 * H::pad[1];
    constexpr int rows = rows_y * (H::all[0] + 2 * H::pad[0]);
    for (int n = thread; n < rows * words; n += H::threads) {
      const int row = n / words, x = n % words * V - H::pad[2];
      const int z = row / rows_y - H::pad[0], y = row % rows_y - H::pad[1];
      T values[V] = {};
      if (held_by_memory(low[0] + z, low[1] + y, low[2] + x)) {
        load_vector<V, memory::plain>(in + (low[0] + z) * told.z + (low[1] + y) * told.y + low[2] + x, values);
      }
      store_vector<V>(cells + z * H::plane + y * H::pitch + x, values);
    }
  }

  WW_FN void store(T* out) const {
    constexpr int words = H::tile[2] / V;
    for (int n = thread; n < H::tile[0] * H::tile[1] * words; n += H::threads) {
      const int row = n / words, x = H::skirt[2] + n % words * V;
      const int z = H::skirt[0] + row / H::tile[1], y = H::skirt[1] + row % H::tile[1];
      const int left = told.extent[2] - (low[2] + x);
      if (low[0] + z >= told.extent[0] || low[1] + y >= told.extent[1] || left <= 0) continue;
      const T* from = cells + z * H::plane + y * H::pitch + x;
      T* to = out + (low[0] + z) * told.z + (low[1] + y) * told.y + low[2] + x;
      if (left >= V) {
        T values[V];
        load_vector<V, memory::plain>(from, values);
        store_vector<V>(to, values);
      } else {
        for (int j = 0; j < left; j++) to[j] = from[j];
      }
    }
  }

  // The mail and flags of the tile in direction `d`, and whether that is another slab's; null for nobody.
  struct Box {
    T* mail;
    ww_word* flags;
    bool far;
  };
  WW_FN Box neighbour(int oz, int oy, int ox) const {
    int z = at[0] + oz, y = at[1] + oy, x = at[2] + ox;
    void* mail = told.mail;
    ww_word* flags = told.flags;
    bool far = false;
    if (z < 0 || z >= told.tiles[0]) {
      const Beyond& beyond = told.beyond[z < 0 ? 0 : 1];
      z = z < 0 ? int(beyond.layers) - 1 : 0;
      far = true;
      mail = beyond.mail;
      flags = beyond.flags;
    }
    const bool out_y = y < 0 || y >= told.tiles[1], out_x = x < 0 || x >= told.tiles[2];
    if ((out_y && !told.wraps[1]) || (out_x && !told.wraps[2])) mail = nullptr;
    if (mail == nullptr) return {nullptr, nullptr, false};
    y = out_y ? (y < 0 ? told.tiles[1] - 1 : 0) : y;
    x = out_x ? (x < 0 ? told.tiles[2] - 1 : 0) : x;
    const i64 number = (i64(z) * told.tiles[1] + y) * told.tiles[2] + x;
    return {reinterpret_cast<T*>(mail) + number * (2 * H::before(27)),
            flags + number * (H::directions * H::flag_words), far};
  }

  // Copies between the cells that the tile in direction `d` takes (or, `shift`ed, gives) and its mail.
  template <int D, bool Send>
  WW_FN void carry(T* mail) const {
    constexpr int nx = H::length(D, 2) / V, ny = H::length(D, 1), nz = H::length(D, 0);
    // What a tile takes from one side is what the one there gives on the other.
    constexpr int shift[3] = {Send ? H::way(D, 0) * H::tile[0] : 0, Send ? H::way(D, 1) * H::tile[1] : 0,
                              Send ? H::way(D, 2) * H::tile[2] : 0};
    T* from = cells + (H::first(D, 0) - shift[0]) * H::plane + (H::first(D, 1) - shift[1]) * H::pitch +
              H::first(D, 2) - shift[2];
    for (int n = thread; n < nz * ny * nx; n += H::threads) {
      T* cell = from + n / (ny * nx) * H::plane + n / nx % ny * H::pitch + n % nx * V;
      T values[V];
      if constexpr (Send) {
        load_vector<V, memory::plain>(cell, values);
        store_vector<V>(mail + n * V, values);
      } else {
        load_vector<V, memory::arrived>(mail + n * V, values);
        store_vector<V>(cell, values);
      }
    }
  }

  // Post `n`. False, to all threads: somebody did not come in time.
  WW_FN bool exchange(ww_word n) {
    each_direction<S>([&](auto direction) {
      constexpr int D = decltype(direction)::value, back = 26 - D;
      const Box box = neighbour(H::way(D, 0), H::way(D, 1), H::way(D, 2));
      if (box.mail != nullptr) {
        // It comes to the neighbour from the opposite direction.
        carry<back, true>(box.mail + (n & 1) * H::before(27) + H::before(back));
      }
    });
    __syncthreads();
    bool ok = true;
    for (int d = thread; d < 27; d += H::threads) {
      const int oz = d / 9 - 1, oy = d / 3 % 3 - 1, ox = d % 3 - 1;
      if (!H::used(d)) continue;
      const Box box = neighbour(oz, oy, ox);
      if (box.mail == nullptr) continue;
      ww_word* theirs = box.flags + (26 - d) * H::flag_words;
      const i64 number = (i64(at[0]) * told.tiles[1] + at[1]) * told.tiles[2] + at[2];
      const ww_word* mine = told.flags + (number * H::directions + d) * H::flag_words;
      if (box.far) {
        ww_store_release_sys(theirs, n + 1);
        ok &= ww_wait<true>(mine, n + 1, told.dog, oz < 0 ? 0 : 1, d);
      } else {
        ww_store_release_gpu(theirs, n + 1);
        ok &= ww_wait<false>(mine, n + 1, told.dog, 2, d);
      }
    }
    if (!__syncthreads_and(ok)) return false;
    i64 later = 0;
    opaque(later);
    T* mail = reinterpret_cast<T*>(told.mail) + later +
              ((i64(at[0]) * told.tiles[1] + at[1]) * told.tiles[2] + at[2]) * (2 * H::before(27)) +
              (n & 1) * H::before(27);
    each_direction<S>([&](auto direction) {
      constexpr int D = decltype(direction)::value;
      if (neighbour(H::way(D, 0), H::way(D, 1), H::way(D, 2)).mail != nullptr) {
        carry<D, false>(mail + H::before(D));
      }
    });
    __syncthreads();
    return true;
  }

  // One step of all computed cells. With `Edge` some of them keep their values.
  template <bool Edge, class E>
  WW_FN void advance(const E& element) {
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
                own + (k - S::reach_z) * H::plane + (i - S::reach_y) * H::pitch + q - side, rows[k][i] + q);
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
          T* to = own + k * H::plane + i * H::pitch + q;
          if (Edge && (kept >> (k * S::vy + i) & 1)) continue;
          if (Edge && part) {
            const int x = low[2] + first[2] + q;
#pragma unroll
            for (int j = 0; j < V; j++) {
              if (x + j >= told.hold_low[2] && x + j < told.hold_high[2]) to[j] = next[k][i][q + j];
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
WW_FN void resident(const T* in, T* out, const Resident& told, const E& element) {
  using H = Home<S>;
  static_assert(H::bytes == S::shared_bytes && H::before(27) == S::mail_cells, "host and kernel disagree");
  extern __shared__ __align__(128) char shared_memory[];
  const int warp = threadIdx.y;
  ResidentTile<S> tile{told, reinterpret_cast<T*>(shared_memory) + H::origin};
  tile.thread = warp * 32 + threadIdx.x;
  tile.at[2] = blockIdx.x % told.tiles[2];
  tile.at[1] = blockIdx.x / told.tiles[2] % told.tiles[1];
  tile.at[0] = blockIdx.x / told.tiles[2] / told.tiles[1];
  tile.first[0] = warp / H::warps_y * S::vz;
  tile.first[1] = warp % H::warps_y * S::vy;
  tile.first[2] = threadIdx.x * S::vx;
  tile.own = tile.cells + tile.first[0] * H::plane + tile.first[1] * H::pitch + tile.first[2];
  bool edge = false;
#pragma unroll
  for (int axis = 0; axis < 3; axis++) {
    tile.low[axis] = tile.at[axis] * H::tile[axis] - H::skirt[axis];
    edge |= tile.low[axis] < told.hold_low[axis] || tile.low[axis] + H::all[axis] > told.hold_high[axis];
  }
  tile.keep();
  tile.load(in);
  __syncthreads();
  ww_word post = told.posts;
  for (int step = 0; step < told.steps; post++) {
    if (!tile.exchange(post)) return;
    const int until = lower(step + S::depth, told.steps);
    if (edge) {
#pragma unroll 1
      for (; step < until; step++) tile.template advance<true>(element);
    } else {
#pragma unroll 1
      for (; step < until; step++) tile.template advance<false>(element);
    }
  }
  tile.store(out);
}

}  // namespace ww::stencil
