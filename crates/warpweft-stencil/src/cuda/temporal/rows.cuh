// Rows: several steps of a two-dimensional stencil in one pass over memory. A block streams the rows of a
// strip of 32 · vx columns; each of its warps runs `levels` levels in registers (levels.cuh) and hands its
// rows on to the next warp, so a row leaves the last warp `depth` steps on.
//
// Grid:   (tiles of x, 1, chunks of rows) in the order of `block_place`: neighbours run side by side and meet in L2.
// Block:  32 lanes along x, `warps` along time.
// Shared: the rows in flight to warp 0, `prefetch` + 1 of them, each lane's words its own: no barrier; then
//         between any two warps two groups of `group` rows, which take kept.
// Invariants: `group` is a multiple of `kept` and divides `prefetch` + 1; every warp passes one barrier a
// group. Warp w is w · (lag + group) rows behind warp 0, so it reads what was written a group before. The
// tiles' overlap cells are computed from garbage at the ends of the strip and dropped. Reads beyond the room
// of an array are moved to its end: no cell that is kept depends on them.
// Source of the idea: AN5D and EBISU for the streaming, warps along time to spare registers.
#pragma once

namespace ww::stencil {

template <class S>
struct Strip {
  static constexpr int ring = row_bytes<S, true>(), hand = row_bytes<S, false>();
  static constexpr int slots = S::prefetch + 1;
  static constexpr bool words = all_words<S>(typename S::Fields{});

  const Pointers<S>& fields;
  const TimeBlock& block;
  Held<S> held;
  LevelQueue<S> queue[S::levels];
  char* shared;  // the lane's 16 bytes of every 512
  LaneFaces faces;
  int warp, lane, first, end;
  int next_row;             // that warp 0 requests
  i64 at_in, at_out;        // elements of that row, and of the row that the last warp stores
  int source, source_end;   // where the present group is read, from the first of the warp's places on
  int target;               // where it is handed on: which of two places
  int before;               // the slot before the group's first
  unsigned whole, part;     // a bit for each unit of cells: it is stored; only its cells of the volume are
  int cells;                // the lane's cells before the volume's end

  WW_FN void request(int to) {
    if (warp != 0) return;
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = typename S::template Type<F>;
      T* own = lane_place<S, T>(shared + to + bytes_before<S, true>(F, typename S::Fields{}), lane);
      copy_cells<S>(own, fields.template in<F>() + at_in);
    });
    close_copies();
    // Rows beyond the room of an array are the last within it. A row has fewer than 2^31 elements.
    next_row++;
    at_in += next_row > block.room_low[0] && next_row < block.room_high[0] ? unsigned(block.z) : 0u;
  }

  // A row out of shared memory and into it.
  template <bool Stored>
  WW_FN void load(char* from, Plane<S>& row) const {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = pick<Stored ? 0 : 1, typename S::template Type<F>, RegisterType<S, F>>;
      const T* own = lane_place<S, T>(from + bytes_before<S, Stored>(F, typename S::Fields{}), lane);
      load_cells<S, F, Stored>(own, row.template of<F>(), 0);
    });
  }
  WW_FN void hand_on(char* to, const Plane<S>& row) const {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using C = RegisterType<S, F>;
      C* own = lane_place<S, C>(to + bytes_before<S, false>(F, typename S::Fields{}), lane);
      put_cells<S>(own, row.template of<F>(), 0);
    });
  }
  // Where the two groups that a warp hands on are.
  WW_FN static constexpr int handed(int from_warp) {
    return slots * ring + from_warp * 2 * S::group * hand;
  }

  template <bool Parts>
  WW_FN void store(const Plane<S>& row) const {
    each(typename S::Writes{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      store_cells<S, F, Parts>(fields.template out<F>() + at_out, row.template of<F>(), 0, whole, part, cells);
    });
  }

  template <int Level, int Phase, bool Edge, bool Check, class E>
  WW_FN void levels_from(Plane<S>& row, int p, const E& elements) {
    if constexpr (Level < S::levels) {
      const HaloRows<S> none{};
      level<S, Level, Phase, Edge, Check>(queue[Level], row, none, p, faces, block, held, elements);
      levels_from<Level + 1, Phase, Edge, Check>(row, p - S::high(Level % S::stages), elements);
    }
  }

  // Takes row s in, the one with number G of its group.
  template <int G, bool Edge, bool Check, class E>
  WW_FN void step(int s, const E& elements) {
    Plane<S> row;
    await_copies<S::prefetch - 1>();
    char* from = shared + source;
    if (words || warp == 0) {
      load<words || G >= 0>(from + G * ring, row);
    } else {
      load<false>(from + G * hand, row);
    }
    request(G > 0 ? source + (G - 1) * ring : before);
    if constexpr (Edge && S::asks && G % S::batch == 0) ask_functions<S>(held, faces, s);
    levels_from<0, G % S::kept, Edge, Check>(row, s, elements);
    if (warp < S::warps - 1) {
      hand_on(shared + target + G * hand, row);
    } else {
      const int z = s - S::lag;
      if (z >= first && z < end) store<Edge>(row);
      at_out += block.z;
    }
  }
  template <bool Edge, bool Check, class E, int... G>
  WW_FN void steps(int s, const E& elements, indices<G...>) {
    (step<G, Edge, Check>(s + G, elements), ...);
    before = source + (S::group - 1) * ring;
    source += S::group * (words || warp == 0 ? ring : hand);
    if (source == source_end) source = warp == 0 ? 0 : handed(warp - 1);
    target = 2 * handed(warp) + S::group * hand - target;
    if constexpr (S::warps > 1) __syncthreads();
  }

  // Groups of rows from s on, so many at a time, as long as `count` are left and rows end by `last`.
  template <int Many, bool Edge, bool Check, class E>
  WW_FN void groups(int& s, int& count, int last, const E& elements) {
#pragma unroll 1
    for (; count >= Many && s + Many * S::group <= last; count -= Many) {
#pragma unroll
      for (int n = 0; n < Many; n++) {
        steps<Edge, Check>(s, elements, up_to<S::group>{});
        s += S::group;
      }
    }
  }

  template <class E>
  WW_FN void run(bool edge, int x, const E& elements) {
    constexpr int back = S::lag - S::high(S::stages - 1);  // of the last level's newest row
    const int begin = first_read<S>(block, first);
    int s = begin - warp * (S::lag + S::group);
    if constexpr (S::asks) begin_asking<S>(held, faces, lane, s);
    source = warp == 0 ? 0 : handed(warp - 1) + S::group * hand;
    source_end = warp == 0 ? slots * ring : handed(warp);
    target = handed(warp);
    before = S::prefetch * ring;
    at_out = (s - S::lag) * block.z + x;
    const int rows = end + S::warps * S::lag + (S::warps - 1) * S::group - begin;
    int count = (rows + S::group - 1) / S::group;
    // Rows of which no level meets a face: from `low` on, before `high`. Loops of their own, so that registers
    // are allotted to each alone.
    const int low = block.face_low[0] + S::closing + back, high = block.face_high[0];
    if constexpr (S::face(0, 0) != open_face) groups<1, true, true>(s, count, low + S::group - 1, elements);
    if (edge) {
      groups<1, true, false>(s, count, high, elements);
    } else {
      groups<S::unrolled, false, false>(s, count, high, elements);
    }
    groups<1, true, true>(s, count, TimeBlock::far * 2, elements);
  }
};

// The strip of block (x, ·, chunk).
template <class S, class E>
WW_FN void time_block(const Pointers<S>& fields, const TimeBlock& block, const Held<S>& held,
                      const E& elements) {
  static_assert(S::group % S::kept == 0 && (S::prefetch + 1) % S::group == 0, "phases are constant");
  static_assert(S::shared_bytes == (S::prefetch + 1) * Strip<S>::ring +
                                       (S::warps - 1) * 2 * S::group * Strip<S>::hand,
                "host and kernel disagree on shared memory");
  extern __shared__ __align__(128) char shared_memory[];
  constexpr int columns = 32 * S::vx, inner = columns - S::overlap_low - S::overlap_high;
  const BlockPlace place = block_place<S>();
  const int lane = threadIdx.x, tile = place.x, tiles = gridDim.x;
  Strip<S> strip{fields, block, held};
  strip.shared = shared_memory + lane * 16;
  strip.warp = warp_of_block(threadIdx.y);
  strip.lane = lane;
  strip.first = block.low[0] + place.chunk * block.chunk;
  strip.end = lower(strip.first + block.chunk, block.high[0]);
  const int tile_x = block.origin[1] + tile * inner;
  const int x = tile_x + lane * S::vx;
  strip.faces = {x == block.face_low[2], x + S::last == block.face_high[2], tile_x <= block.face_low[2],
                 tile_x + columns >= block.face_high[2], 0, x};
  if constexpr (S::framed) {
    strip.held.before = strip.warp * (S::levels / S::stages);
    strip.held.steps += strip.held.before;
  }
  // The outermost tiles have no overlap cells beyond a face.
  const int from = tile == 0 ? block.low[2] : tile_x + S::overlap_low;
  const int to = tile == tiles - 1 ? block.high[2] : tile_x + columns - S::overlap_high;
  need<S>(strip.held, 0, strip.first, strip.end);
  need<S>(strip.held, 1, 0, 1);
  need<S>(strip.held, 2, from, to);
  strip.whole = strip.part = 0;
  strip.cells = block.high[2] - x;
  for (int u = 0; u < S::vx / S::unit; u++) {
    const int c = x + u * S::unit;
    if (c < from || c >= to) continue;
    (c + S::unit <= block.high[2] ? strip.whole : strip.part) |= 1u << u;
  }
  strip.next_row = first_read<S>(block, strip.first);
  const int row_read = higher(block.room_low[0], lower(strip.next_row, block.room_high[0] - 1));
  const int x_read = higher(block.room_low[2], lower(x, block.room_high[2] - S::vx));
  strip.at_in = row_read * block.z + x_read;
#pragma unroll
  for (int n = 0; n < S::levels; n++) {
#pragma unroll
    for (int k = 0; k < S::kept; k++) {
      each(typename S::Fields{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
#pragma unroll
        for (int e = -S::margin; e < S::vx + S::margin; e++) strip.queue[n].planes[k].template of<F>().at(0, e) = 0;
      });
    }
  }
#pragma unroll
  for (int k = 0; k < S::prefetch; k++) strip.request(k * Strip<S>::ring);
  const bool edge = tile_x <= block.face_low[2] || tile_x + columns >= block.face_high[2] ||
                    tile_x + columns > block.high[2];
  strip.run(edge, x, elements);
}

}  // namespace ww::stencil
