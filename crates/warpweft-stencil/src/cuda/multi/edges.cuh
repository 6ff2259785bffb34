// Edges: one launch a stage on every device, in which the tiles at a cut wait for the neighbour device,
// compute, and store their planes into its ghost planes as well. No host and no copy in between.
//
// Grid:   as Direct, March or Planes, without loops: along the grid's z, layers of tiles in groups along y. All
//         tiles at a cut come first in launch order, then the others group by group.
// Block:  as Direct, March or Planes; tiles at a cut meet at two block barriers, with corners at three.
// Shared: as Planes, else none.
//
// `S::reach_x` and `S::reach_y` are the columns of tiles around its own that a tile's ghosts come from;
// `S::corners` says that some of those lie beyond copied faces as well (corners.cuh).
//
// Protocol. Every edge tile counts its launches in `mine`, a word that only it touches. In launch n it
//   1. waits until the neighbour's edge tiles around its column have said that launch n - 1 is done;
//   2. copies the corners that it reads (corners.cuh), reads ghost planes, computes, stores into this device's array and the neighbour's ghost planes;
//   3. says that launch n is done, by a store into the neighbour's memory released to the system.
// No stale read: what launch n reads from ghost planes was written by the neighbour's launches before n,
// and 1 acquires the last of them. No overwrite: the neighbour's launch n writes ghost planes here that
// launches before n may read, and by 1 those are done; launch n itself reads other memory, since a field
// that a stage reads off the cell and writes has two arrays, which take turns. So two arrays suffice, or
// one where no stage does both. Corners, which tiles store in the array that they read, no neighbour
// stores; every tile that reads one stores the same there, of cells that are there by 1 and stay. Steps
// and stages are not told apart: launch numbers are all there is.
// No deadlock: a launch's edge tiles wait for the launch *before* it on another device and for nothing
// else, and interior tiles wait for nothing. If launch n - 1 ends everywhere, launch n does, however few
// blocks are resident; where slabs share a device, the host makes sure that edge tiles can't fill it.
// Ghost planes must not be read before 1 nor from a stale line of L1: edge tiles read through
// `memory::arrived`, at addresses that depend on a value the compiler can't see through after the wait.
// The copy engine's reads follow 1 in another proxy: the thread that asks for them fences it (PTX ISA,
// "Proxies"), and every copy has come before 3.
// Counters start at zero together, and wrap.
#pragma once
#include "watchdog.cuh"

namespace ww::stencil {

// What a launch knows of the cuts; side 0 is the neighbour below, side 1 the one above.
struct Edges {
  ww_word* mine;         // a word an edge tile
  const ww_word* from[2];  // this device's flags, which the neighbour's edge tiles set
  ww_word* to[2];          // the neighbour's flags, which this device's edge tiles set
  ww_word* failed;       // set once a wait took too long: then none waits
  i64 low_end;           // cells before this element index go to the neighbour below
  i64 high_start;        // cells from this element index on go to the neighbour above
  ww_watchdog dog;
  int layers[2];         // layers of edge tiles here, 0 where there is no cut
  int senders[2];        // layers of edge tiles of the neighbour
  int groups;            // of tiles along y
  int rows;              // of tiles along y that have cells; the last group may have more
  int around;            // 1: the first and last column along x are neighbours, 2: those along y
  int unused;
};

// --- a shape whose stores reach the neighbour and whose loads wait

template <class S>
struct Edged : S {};
template <class S>
constexpr bool meets<Edged<S>> = true;

template <int F, class T>
struct Peer {
  T* low;   // the neighbour below, at the cell that this device calls (0, 0, 0, 0)
  T* high;  // the neighbour above, likewise
};
template <class S, class List>
struct PeersOf;
template <class S, int... F>
struct PeersOf<S, indices<F...>> : Peer<F, typename S::template Type<F>>... {
  template <int G>
  WW_FN const Peer<G, typename S::template Type<G>>& of() const {
    return *this;
  }
};

template <class S>
struct EdgePointers : PointersOf<S, typename S::Used> {
  PeersOf<S, typename S::Sent> peers;
  i64 low_end, high_start;
};
template <class S>
struct PointersType<Edged<S>> {
  using type = EdgePointers<S>;
};

template <class S, int F>
constexpr memory memory_of<Edged<S>, F> = S::in_place(F) ? memory::plain : memory::arrived;

template <class S>
struct Stored<Edged<S>> {
  static constexpr bool last = true;
  template <int Cells>
  WW_FN static void row(const EdgePointers<S>& fields, i64 at, Row<Edged<S>, Cells>& row) {
    const bool low = at < fields.low_end, high = at >= fields.high_start;
    each(typename S::Sent{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      constexpr int N = vector_length<typename S::template Type<F>, Cells>();
#pragma unroll
      for (int c = 0; c < Cells; c += N) {
        if (low) store_vector<N>(fields.peers.template of<F>().low + at + c, row.template of<F>() + c);
        if (high) store_vector<N>(fields.peers.template of<F>().high + at + c, row.template of<F>() + c);
      }
    });
  }
};

// --- waiting and telling

// Place `at` of `count`, of which the first and the last may be neighbours.
WW_FN int around(int at, int count, bool closed) {
  if (!closed) return at;
  at %= count;
  return at < 0 ? at + count : at;
}

// Waits for the neighbour's edge tiles around this one's column, a flag a thread. False: took too long.
template <class S>
WW_FN bool wait_for(const Edges& edges, int side, int own_y, ww_word done, int thread) {
  constexpr int wide = 2 * S::reach_x + 1, high = 2 * S::reach_y + 1, threads = 32 * S::warps;
  bool ok = true;
  for (int i = thread; i < edges.senders[side] * high * wide; i += threads) {
    const int columns = gridDim.x, rows = int(gridDim.y) * edges.groups;  // rows without cells too
    const int x = around(int(blockIdx.x) + i % wide - S::reach_x, columns, edges.around & 1);
    const int y = around(own_y + i / wide % high - S::reach_y, edges.rows, edges.around & 2);
    if (x < 0 || x >= columns || y < 0 || y >= edges.rows) continue;
    const int flag = (i / wide / high * rows + y) * columns + x;
    // A counter that may wrap. After one failed wait no other is waited for long.
    for (int tries = 0; ok && int(ww_load_acquire_sys(edges.from[side] + flag) - done) < 0; tries++) {
      if ((tries & 0x3f) == 0x3f && ww_load_acquire_gpu(edges.failed) != 0) ok = false;
      if ((tries & 0x3ff) == 0x3ff) {
        ok = ww_wait<true>(edges.from[side] + flag, done, edges.dog, side, flag);
        break;
      }
    }
    if (!ok) ww_store_release_gpu(edges.failed, 1);
  }
  return ok;
}

// Layers are ranked (lowest edge, highest edge, interior), as most are, or in order, because every one
// is at an edge.
WW_FN int layer_of(const int (&edge)[2], int rank, int layers) {
  const int first = edge[0], last = edge[1];
  if (first + last >= layers || rank < first) return rank;
  return rank < first + last ? layers - last + (rank - first) : rank - last;
}

// A block's tile: its layer and the rank of that in launch order, its place along y and its number in the
// layer, and whether it is at the cut below and above.
struct Turn {
  int layers, layer, rank, y, columns, column;
  bool at[2];
  WW_FN bool edge() const { return at[0] || at[1]; }
};

// `at_cut` layers at the cuts come first; `groups` of tiles along y share the grid's third axis.
WW_FN Turn turn_of(const int (&at_cut)[2], int groups) {
  Turn turn;
  const int layers = turn.layers = int(gridDim.z) / groups;
  int rank = blockIdx.z, group = 0;
  if (groups > 1) {
    const int edge = lower(at_cut[0] + at_cut[1], layers), inner = rank - edge * groups;
    if (inner < 0) {
      group = rank % groups;
      rank /= groups;
    } else {
      group = inner / (layers - edge);
      rank = edge + inner % (layers - edge);
    }
  }
  turn.rank = rank;
  turn.layer = layer_of(at_cut, rank, layers);
  turn.y = group * int(gridDim.y) + int(blockIdx.y);
  turn.at[0] = turn.layer < at_cut[0];
  turn.at[1] = turn.layer >= layers - at_cut[1];
  turn.columns = gridDim.x * gridDim.y * groups;
  turn.column = turn.y * gridDim.x + blockIdx.x;
  return turn;
}

// Launched early: what the launch before wrote is there after this. From then on the next launch may
// take the place of blocks that end, since every block of this one is resident or done.
WW_FN void take_turn() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// What a tile at a cut counts: its launches before this one.
struct Count {
  ww_word* at;
  ww_word done;
};

// Waits for the neighbours' tiles. False: the whole block should end. For tiles at a cut only.
template <class S>
WW_FN bool begin(const Edges& edges, Turn& turn, Count& count) {
  const int thread = threadIdx.y * 32 + threadIdx.x;
  count.at = edges.mine + (turn.rank * turn.columns + turn.column);
  count.done = *count.at;
  bool ok = true;
  if (turn.at[0]) ok = wait_for<S>(edges, 0, turn.y, count.done, thread);
  if (turn.at[1] && ok) ok = wait_for<S>(edges, 1, turn.y, count.done, thread);
  if (!__syncthreads_and(ok)) return false;
  asm volatile("" : "+r"(turn.layer)::"memory");
  return true;
}

// Says that the tile is done and its planes are with the neighbours.
WW_FN void end(const Edges& edges, const Turn& turn, const Count& count) {
  __syncthreads();
  if (threadIdx.y * 32 + threadIdx.x > 0) return;
  const ww_word done = count.done + 1;
  *count.at = done;
  if (turn.at[0]) ww_store_release_sys(edges.to[0] + turn.layer * turn.columns + turn.column, done);
  if (turn.at[1]) {
    const int layer = turn.layer - (turn.layers - edges.layers[1]);
    ww_store_release_sys(edges.to[1] + layer * turn.columns + turn.column, done);
  }
}

// Copies the corners that the block's tile reads (corners.cuh).
template <class S>
WW_FN void bring_corners(const Pointers<Edged<S>>& fields, const Box& box, Turn& turn);

// Runs `interior` or `edge` for the block's tile, given its layer and its place along y.
template <class S, class Interior, class Edge>
WW_FN void by_layer(const Edges& edges, const Pointers<Edged<S>>& fields, const Box& box,
                    const Interior& interior, const Edge& edge) {
  take_turn();
  Turn turn = turn_of(edges.layers, edges.groups);
  Count count;
  if (!turn.edge()) {
    interior(turn.layer, turn.y);
  } else if (begin<S>(edges, turn, count)) {
    if constexpr (S::corners) bring_corners<S>(fields, box, turn);
    edge(turn.layer, turn.y);
    end(edges, turn, count);
  }
}

// Runs `tile` for the block's tile, at a cut or not, likewise: one copy of it, for long code.
template <class S, class Tile>
WW_FN void every_layer(const Edges& edges, const Pointers<Edged<S>>& fields, const Box& box,
                       const Tile& tile) {
  take_turn();
  Turn turn = turn_of(edges.layers, edges.groups);
  Count count;
  const bool edge = turn.edge();
  if (edge && !begin<S>(edges, turn, count)) return;
  if constexpr (S::corners) {
    if (edge) bring_corners<S>(fields, box, turn);
  }
  tile(turn.layer, turn.y);
  if (edge) end(edges, turn, count);
}

// One tile of Direct, in layer `layer` and at place `row` along y.
template <class S, class E>
WW_FN void direct_layer(const Pointers<S>& fields, const Box& box, const E& element, int layer,
                        int row) {
  const int x = (int(blockIdx.x) * 32 + int(threadIdx.x)) * S::vx;
  const int y = S::dims == 3 ? (row * S::warps + int(threadIdx.y)) * S::vy : 0;
  const int z = (S::dims == 2 ? layer * S::warps + int(threadIdx.y) : layer) * S::vz;
  if (x < box.high[3] && y < box.high[2] && z < box.high[1]) {
    direct_tile<S>(fields, box, element, 0, z, y, x);
  }
}

// One chunk of March, likewise.
template <class S, class E>
WW_FN void march_layer(const Pointers<S>& fields, const Box& box, const E& element, int layer, int row) {
  const int column = S::dims == 2 ? int(blockIdx.x * S::warps + threadIdx.y) : int(blockIdx.x);
  const int x = (column * 32 + int(threadIdx.x)) * S::vx;
  const int y = S::dims == 3 ? (row * S::warps + int(threadIdx.y)) * S::vy : 0;
  if (x < box.high[3] && y < box.high[2]) {
    march_chunk<S>(fields, box, element, 0, layer * S::chunk, y, x);
  }
}

}  // namespace ww::stencil
