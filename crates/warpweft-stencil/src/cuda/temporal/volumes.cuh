// Volumes: several steps of a three-dimensional star in one pass over memory. A block streams planes along z;
// every warp runs all levels (levels.cuh) on its rows of a tile, a plane of each level in every round.
//
// Grid and block: tile.cuh's.
// Shared: of every level the first and the last `halo_rows` of a warp in the last `kept` planes, as in
//         registers: [slot][level][warp][first, last][row], and behind those of the last warp the rows below and above the
//         tile where faces along y are functions; cells beyond faces along x that are (staged.cuh); then the planes in
//         flight, `prefetch` + 1 of them, each lane's words its own: no barrier.
// Invariants: no tap is off the cell along two axes, and a stage looks at least one plane ahead, so rows next to a
// warp's own are those of a plane that was written rounds before: one barrier a plane. `kept` is above any
// stage's `high`, so a slot is read before it is written again. Tiles' overlap cells are computed from garbage at
// the ends and dropped; a tile that ends a closed axis ends at its last row.
// Source of the idea: 2.5D streaming with register pipelines (AN5D, EBISU).
#pragma once

namespace ww::stencil {

// Of faces that are functions (staged.cuh).
template <class S>
struct Stager;
struct NoStager {};

template <class S>
struct Slab : Tile<S> {
  using Tile<S>::fields, Tile<S>::block, Tile<S>::held, Tile<S>::faces, Tile<S>::face_above, Tile<S>::face_below;
  using Tile<S>::warp, Tile<S>::lane, Tile<S>::first, Tile<S>::end;

  static constexpr int plane_bytes = row_bytes<S, true>() * S::vy;   // of a warp
  static constexpr int ring = plane_bytes * S::warps;
  static constexpr int edge = row_bytes<S, false>();                 // a row of all fields
  static constexpr int slots = S::prefetch + 1;
  static constexpr bool told_above = S::face(1, 0) == function_face, told_below = S::face(1, 1) == function_face;
  static constexpr int groups_of_rows = S::warps + (told_above || told_below ? 1 : 0);
  static constexpr int level_edges = groups_of_rows * 2 * S::halo_rows * edge;
  static constexpr int edges = S::kept * S::levels * level_edges;

  LevelQueue<S> queue[S::levels];
  pick<S::functions, NoStager, Stager<S>> stager;
  char* shared;            // the lane's 16 bytes of every 512
  int next_plane;          // that is requested
  i64 at_in, at_out;       // the thread's first cell of that plane, and of the plane that is stored
  int slot;                // of the ring, in bytes

  WW_FN char* in_flight(int at) const { return shared + edges + S::staged + warp * plane_bytes + at; }

  WW_FN void request(int to) {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = typename S::template Type<F>;
      T* own = lane_place<S, T>(in_flight(to) + S::vy * bytes_before<S, true>(F, typename S::Fields{}), lane);
#pragma unroll
      for (int i = 0; i < S::vy; i++) {
        copy_cells<S>(own + i * 32 * S::vx, fields.template in<F>() + at_in + i * block.y);
      }
    });
    close_copies();
    at_in += this->to_next(next_plane);
    next_plane++;
  }

  WW_FN void load(Plane<S>& plane) const {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = typename S::template Type<F>;
      const T* own = lane_place<S, T>(in_flight(slot) + S::vy * bytes_before<S, true>(F, typename S::Fields{}), lane);
#pragma unroll
      for (int i = 0; i < S::vy; i++) load_cells<S, F, true>(own + i * 32 * S::vx, plane.template of<F>(), i);
    });
  }

  // The row of a warp's edge in shared memory; `n` counts its first rows, then its last.
  WW_FN char* edge_row(int place, int level, int of_warp, int n) const {
    return shared + (place * S::levels + level) * level_edges + (of_warp * 2 * S::halo_rows + n) * edge;
  }

  // Writes the first and the last rows of a plane.
  template <int Level, int Place>
  WW_FN void put_edges(const Plane<S>& plane) const {
    each(up_to<2 * S::halo_rows>{}, [&](auto n) {
      constexpr int N = decltype(n)::value, row = N < S::halo_rows ? N : S::vy - 2 * S::halo_rows + N;
      char* to = edge_row(Place, Level, warp, N);
      each(typename S::Fields{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        if constexpr (S::tall(Level % S::stages, F)) {
          using C = RegisterType<S, F>;
          put_cells<S>(lane_place<S, C>(to + bytes_before<S, false>(F, typename S::Fields{}), this->lane), plane.template of<F>(),
                       row);
        }
      });
    });
  }
  // Fetches the rows next to the warp's own: the last of the warp before it, the first of the one after.
  template <int Level, int Place>
  WW_FN void get_edges(HaloRows<S>& rows) const {
    const int above = warp > 0 ? warp - 1 : told_above ? S::warps : 0;
    const int below = warp < S::warps - 1 ? warp + 1 : told_below ? S::warps : warp;
    each(up_to<S::halo_rows>{}, [&](auto n) {
      constexpr int N = decltype(n)::value;
      char* last = edge_row(Place, Level, above, S::halo_rows + N);
      char* leading = edge_row(Place, Level, below, N);
      each(typename S::Fields{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        if constexpr (S::tall(Level % S::stages, F)) {
          using C = RegisterType<S, F>;
          constexpr int at = bytes_before<S, false>(F, typename S::Fields{});
          load_cells<S, F, false>(lane_place<S, C>(last + at, this->lane), rows.above.template of<F>(), N);
          load_cells<S, F, false>(lane_place<S, C>(leading + at, this->lane), rows.below.template of<F>(), N);
        }
      });
    });
  }

  // Gives the rows beyond faces along y that are no functions their values, given the plane that they are next to.
  WW_FN void close_rows(const Plane<S>& plane, HaloRows<S>& rows) const {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      const auto& own = plane.template of<F>();
#pragma unroll
      for (int k = 1; k <= S::halo_rows; k++) {
#pragma unroll
        for (int j = 0; j < S::vx; j++) {
          if constexpr (S::face(1, 0) != open_face && !told_above) {
            constexpr int kind = S::face(1, 0), back = kind == mirror_face ? 0 : 1;
            const auto ghost = kind == dirichlet_face ? held_value<S, F>(held, 1, 0) : own.at(k - back, j);
            auto& row = rows.above.template of<F>().at(S::halo_rows - k, j);
            row = face_above ? ghost : row;
          }
          if constexpr (S::face(1, 1) != open_face && !told_below) {
            constexpr int kind = S::face(1, 1), back = kind == mirror_face ? 1 : 0, vy = S::vy;
            const auto ghost = kind == dirichlet_face ? held_value<S, F>(held, 1, 1) : own.at(vy - k - back, j);
            auto& row = rows.below.template of<F>().at(k - 1, j);
            row = face_below ? ghost : row;
          }
        }
      }
    });
  }

  template <int Level, int Phase, bool Edge, bool Check, class E>
  WW_FN void levels_from(Plane<S>& plane, int p, const E& elements) {
    if constexpr (Level < S::levels) {
      constexpr int high = S::high(Level % S::stages);
      HaloRows<S> rows;
      Plane<S> newest = plane;
      if constexpr (S::halo_rows > 0) {
        get_edges<Level, level_slot<S, Phase, high>()>(rows);
        constexpr bool closes = (S::face(1, 0) != open_face && !told_above) || (S::face(1, 1) != open_face && !told_below);
        if constexpr (Edge && closes) {
          if (face_above || face_below) close_rows(level_plane<S, Phase, high>(queue[Level], plane), rows);
        }
      }
      level<S, Level, Phase, Edge, Check>(queue[Level], plane, rows, p, faces, block, held, elements);
      if constexpr (S::halo_rows > 0) put_edges<Level, Phase>(newest);
      levels_from<Level + 1, Phase, Edge, Check>(plane, p - high, elements);
    }
  }

  // Takes plane s in.
  template <int Phase, bool Edge, bool Check, class E>
  WW_FN void step(int s, const E& elements) {
    Plane<S> plane;
    await_copies<S::prefetch - 1>();
    load(plane);
    if constexpr (Edge && S::functions) stager.read(held);
    levels_from<0, Phase, Edge, Check>(plane, s, elements);
    // Behind the levels, whose registers it does not share: 7 points at 768^3, 1,195 Gcells/s, else 1,151.
    request(slot == 0 ? S::prefetch * ring : slot - ring);
    slot = slot == S::prefetch * ring ? 0 : slot + ring;
    if constexpr (Edge && S::functions) {
      stager.template put<(Phase + 1) % S::kept>(held, shared, S::levels * level_edges, warp, lane);
    }
    const int z = s - S::lag;
    if (z >= first && z < end) this->template store<Edge>(plane, at_out);
    at_out += block.z;
    __syncthreads();
  }
  template <bool Edge, bool Check, class E, int... P>
  WW_FN void planes(int s, const E& elements, indices<P...>) {
    (step<P, Edge, Check>(s + P, elements), ...);
  }
  template <bool Edge, bool Check, class E>
  WW_FN void groups(int& s, int to, int last, const E& elements) {
#pragma unroll 1
    for (; s < to && s + S::kept <= last; s += S::kept) planes<Edge, Check>(s, elements, up_to<S::kept>{});
  }

  template <class E>
  WW_FN void run(const E& elements) {
    constexpr int back = S::lag - S::high(S::stages - 1);  // of the last level's newest plane
    int s = first_read<S>(block, first);
    const int to = end + S::lag;
    if constexpr (S::functions) {
      this->held.beyond_x = shared - lane * 16 + edges;
      this->held.row = warp * S::vy;
      // Of the first round's planes no level's result is right, so it needs no values.
      stager.begin(held, block, faces, warp, lane, s + 1, edge, level_edges);
    }
    at_out = (s - S::lag) * block.z + this->corner;
    // Planes of which no level meets a face: from `low` on, before `high`. Loops of their own, so that registers
    // are allotted to each alone.
    const int low = block.face_low[0] + S::closing + back, high = block.face_high[0];
    if constexpr (S::face(0, 0) != open_face) groups<true, true>(s, to, low + S::kept - 1, elements);
    if (this->at_face) {
      groups<true, false>(s, to, high, elements);
    } else {
      groups<false, false>(s, to, high, elements);
    }
    if constexpr (S::face(0, 1) != open_face) groups<true, true>(s, to, TimeBlock::far * 2, elements);
  }
};

template <class S, class E>
WW_FN void time_block(const Pointers<S>& fields, const TimeBlock& block, const Held<S>& held,
                      const E& elements) {
  static_assert(S::shared_bytes == Slab<S>::edges + S::staged + Slab<S>::ring * Slab<S>::slots,
                "host and kernel disagree on shared memory");
  extern __shared__ __align__(128) char shared_memory[];
  Slab<S> slab{{fields, block, held}};
  // 13 points at 512^3: 583 Gcells/s, else 500. Kernels that keep few planes spill more registers and get slower by it.
  slab.place_tile(S::kept > 2 ? warp_of_block(threadIdx.y) : int(threadIdx.y));
  slab.shared = shared_memory + slab.lane * 16;
  slab.slot = 0;
  slab.next_plane = first_read<S>(block, slab.first);
  slab.at_in = slab.first_of(slab.next_plane);
#pragma unroll
  for (int n = 0; n < S::levels; n++) {
#pragma unroll
    for (int k = 0; k < S::kept; k++) {
      each(typename S::Fields{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
#pragma unroll
        for (int i = 0; i < S::vy; i++) {
#pragma unroll
          for (int e = -S::margin; e < S::vx + S::margin; e++) {
            slab.queue[n].planes[k].template of<F>().at(i, e) = 0;
          }
        }
      });
    }
  }
#pragma unroll
  for (int k = 0; k < S::prefetch; k++) slab.request(k * Slab<S>::ring);
  slab.run(elements);
}

}  // namespace ww::stencil
