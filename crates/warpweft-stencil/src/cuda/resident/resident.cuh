// Resident: cells stay on the chip for as many steps as a launch takes. Each block has a tile; every
// `depth` steps the rims of tiles go to the blocks around as messages, through L2 or a neighbour device's
// memory, and between two posts a block computes the overlap around its tile as well, of which what is right
// shrinks a footprint a step. For one scalar field of four or eight bytes that is read next to the cell and
// written, in two dimensions (strips.cuh, whose rows are planes here) or three (patches.cuh); faces
// Dirichlet or periodic.
//
// Grid:   a block a tile, all of them resident: they wait for one another.
// Block:  32 lanes along x, `warps` along y and, `warps_z` of them, along z; a thread has vx × vy × vz cells
//         of the tile and its overlap.
// Messages: per tile, direction and parity of the post, what lies beyond the tile on that side, `halo` deep.
//
// Protocol. In post n a block stores the rims of its tile into the slots n % 2 of the blocks around; then it
// waits for theirs, and takes its own slots. How it knows that they are there strips.cuh and sealed.cuh say, by flags
// and by words that tell. No overwrite: a block stores post n + 2 after it has got post n + 1 of the receiver, which
// the receiver sent after it had taken post n; between what a block takes and what it sends next all its threads
// meet. No deadlock: post n + 1 of a block waits for posts n of the blocks around and for nothing else. Posts are
// counted on over launches, and wrap.
// Exactness: a cell of the overlap that is too far out for the step is computed from garbage, and what is read
// of it no cell of the tile depends on before the next post. Cells outside [hold_low, hold_high) keep their
// value, which holds a Dirichlet face, its ghosts and what lies beyond.
// Source of the idea: persistent stencil kernels that keep cells on the chip (PERKS, Zhang et al. 2023).
#pragma once
#include "watchdog.cuh"

namespace ww::stencil {

// The tiles beyond a slab's first or last layer: another device's, or across a periodic face its own.
struct Beyond {
  void* messages;      // null where there is nobody
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
  void* messages;
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
  // In two dimensions all that comes in a message is computed on; in three the outermost footprint is not.
  static constexpr bool flat = S::dims == 2;
  static constexpr int on = flat ? S::depth : S::depth - 1;
  static constexpr int pad[3] = {S::reach_z, S::reach_y, up(S::reach_x)};
  static constexpr int overlap[3] = {on * S::reach_z, on * S::reach_y, up(on * S::reach_x)};
  static constexpr int halo[3] = {S::depth * S::reach_z, S::depth * S::reach_y, up(S::depth * S::reach_x)};
  static constexpr int all[3] = {S::vz * S::warps_z, S::vy * warps_y, 32 * S::vx};
  static constexpr int tile[3] = {S::planes, all[1] - 2 * overlap[1], all[2] - 2 * overlap[2]};
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
    return o < 0 ? overlap[axis] - halo[axis] : o == 0 ? overlap[axis] : overlap[axis] + tile[axis];
  }
  static constexpr int length(int d, int axis) { return way(d, axis) == 0 ? tile[axis] : halo[axis]; }
  static constexpr int cells(int d) { return used(d) ? length(d, 0) * length(d, 1) * length(d, 2) : 0; }
  // In three dimensions messages are of words, of a vector's cells each, with one next to 32 of them (sealed.cuh).
  static constexpr int words(int d) { return cells(d) / vector; }
  static constexpr int up16(int bytes) { return (bytes + 15) / 16 * 16; }
  static constexpr int word_bytes(int d) { return up16(cells(d) * int(sizeof(T))); }
  static constexpr int bytes(int d) {
    return flat ? cells(d) * int(sizeof(T)) : word_bytes(d) + up16((words(d) + 31) / 32 * 8);
  }
  // Bytes of messages before that of direction `d`; those of a tile for 27.
  static constexpr int before(int d) {
    int sum = 0;
    for (int e = 0; e < d; e++) sum += bytes(e);
    return sum;
  }
};

// Whether the host counts tiles, messages and words as the kernel does.
template <class S>
constexpr bool agreed() {
  using H = Home<S>;
  bool same = H::before(27) == S::message_bytes && sizeof(Resident) == 192 && H::flag_words == 8;
  for (int axis = 0; axis < 3; axis++) same &= H::tile[axis] == S::tile[axis] && H::halo[axis] == S::halo[axis];
  return same;
}

// Calls `body(index_t<d>{})` for every direction in use from D on and before `End`.
template <class S, int D = 0, int End = 27, class Body>
WW_FN void each_direction(const Body& body) {
  if constexpr (D < End) {
    if constexpr (Home<S>::used(D)) body(index_t<D>{});
    each_direction<S, D + 1, End>(body);
  }
}

// Where a tile's rims go, worked out once: by direction, null for nobody.
struct Posts {
  char* messages[27];
  ww_word* flag[27];
  bool far[27];  // another slab's
};

// A block's tile among the others, whatever holds its cells.
template <class S>
struct Place {
  using H = Home<S>;
  using T = typename H::T;
  static constexpr int V = H::vector;
  const Resident& given;
  Posts& posts;
  int thread, warp, lane;
  int at[3];     // of the tile among the tiles
  int low[3];    // the volume's coordinates of the first computed cell
  int first[3];  // where the thread's first cell is among the computed ones
  bool edge;     // some computed cell keeps its value
  bool part;     // and others of a vector along x do not
  char* own_messages;
  ww_word* own_flags;

  WW_FN Place(const Resident& given, Posts& posts) : given(given), posts(posts) {
    lane = threadIdx.x;
    warp = threadIdx.y;
    thread = warp * 32 + lane;
    at[2] = blockIdx.x % given.tiles[2];
    at[1] = blockIdx.x / given.tiles[2] % given.tiles[1];
    at[0] = blockIdx.x / given.tiles[2] / given.tiles[1];
    first[0] = warp / H::warps_y * S::vz;
    first[1] = warp % H::warps_y * S::vy;
    first[2] = lane * S::vx;
    edge = false;
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
      low[axis] = at[axis] * H::tile[axis] - H::overlap[axis];
      edge |= low[axis] < given.hold_low[axis] || low[axis] + H::all[axis] > given.hold_high[axis];
    }
    part = edge && given.hold_high[2] % S::vx != 0 && low[2] + H::all[2] > given.hold_high[2];
    const i64 own = number(at[0], at[1], at[2]);
    own_messages = static_cast<char*>(given.messages) + own * (2 * H::before(27));
    own_flags = given.flags + own * (H::directions * H::flag_words);
    if (thread < 27) address(thread);
  }

  WW_FN i64 number(int z, int y, int x) const { return (i64(z) * given.tiles[1] + y) * given.tiles[2] + x; }

  // Finds the tile in direction `d`.
  WW_FN void address(int d) {
    int z = at[0] + d / 9 - 1, y = at[1] + d / 3 % 3 - 1, x = at[2] + d % 3 - 1;
    void* messages = H::used(d) ? given.messages : nullptr;
    ww_word* flags = given.flags;
    posts.far[d] = z < 0 || z >= given.tiles[0];
    if (posts.far[d] && messages != nullptr) {
      const Beyond& beyond = given.beyond[z < 0 ? 0 : 1];
      z = z < 0 ? int(beyond.layers) - 1 : 0;
      messages = beyond.messages;
      flags = beyond.flags;
    }
    const bool out_y = y < 0 || y >= given.tiles[1], out_x = x < 0 || x >= given.tiles[2];
    if ((out_y && !given.wraps[1]) || (out_x && !given.wraps[2])) messages = nullptr;
    y = out_y ? (y < 0 ? given.tiles[1] - 1 : 0) : y;
    x = out_x ? (x < 0 ? given.tiles[2] - 1 : 0) : x;
    // There it comes from the opposite direction.
    const i64 there = messages == nullptr ? 0 : number(z, y, x);
    posts.messages[d] = messages == nullptr ? nullptr
                                    : static_cast<char*>(messages) + there * (2 * H::before(27)) + H::before(26 - d);
    posts.flag[d] = messages == nullptr ? nullptr : flags + (there * H::directions + 26 - d) * H::flag_words;
  }

  // Whether memory holds the vector of row (z, y) that begins at x.
  WW_FN bool held_by_memory(int z, int y, int x) const {
    return z >= given.low[0] && z < given.high[0] && y >= given.low[1] && y < given.high[1] &&
           x + V > given.low[2] && x < given.high[2];
  }

  // Whether a wait since `start` takes too long, of which the host is told, or another tile's did.
  WW_FN bool late(unsigned tries, unsigned long long& start, int direction, unsigned wanted, unsigned seen) const {
    if ((tries & 0x3ff) != 0) return false;
    const ww_watchdog& dog = given.dog;
    const unsigned long long now = ww_nanoseconds();
    if (start == 0) start = now;
    if (now - start > dog.nanoseconds) {
      const int whose = !posts.far[direction] ? 2 : direction < 9 ? 0 : 1;
      ww_watchdog_report(dog, whose, direction, wanted, seen);
      return true;
    }
    return (tries & 0xffff) == 0 && ww_load_acquire_sys(dog.words) != WW_QUIET;
  }
};

// Which cells of a tile keep their values: none, whole vectors along x, or parts of them; a tile that
// `splits` has a loop for whole ones alone.
enum class Held { none, whole, parts };

// Posts and steps, by turns, of a tile that `exchange`s and `advance`s.
template <class S, class Tile, class E>
WW_FN bool live(Tile& tile, const Resident& given, const E& element) {
  ww_word post = given.posts;
  for (int step = 0; step < given.steps; post++) {
    if (!tile.exchange(post)) return false;
    const int until = lower(step + S::depth, given.steps);
    // Loops of their own, so that registers are allotted to each alone.
    if (Tile::splits && tile.place.part) {
#pragma unroll 1
      for (; step < until; step++) tile.template advance<Held::parts>(step, element);
    } else if (tile.place.edge) {
#pragma unroll 1
      for (; step < until; step++) tile.template advance<Held::whole>(step, element);
    } else {
#pragma unroll 1
      for (; step < until; step++) tile.template advance<Held::none>(step, element);
    }
  }
  return true;
}

}  // namespace ww::stencil
