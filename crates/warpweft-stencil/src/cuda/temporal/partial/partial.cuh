// Partial: several steps of any three-dimensional stencil in one pass over memory. A block streams planes along z; every
// warp runs all levels (levels.cuh) on its rows of a tile. What a level keeps of a cell is what its element function has
// made of the planes so far, as the host took it apart (partial.rs): of a sum in the order of planes one number, its
// partial sum, for every plane that is still to come. So each plane is looked at once, and no plane is in registers.
//
// Grid and block: tile.cuh's.
// Shared: planes of the tile with `halo_rows` more rows on either side, which stay garbage: `prefetch` + 1 + `ahead` +
//         `behind` of the input, then of every level but the last `ahead` + `behind` + 2, as in registers.
// Invariants: in round r, level 0 takes in plane r - `ahead`, and a level the plane that the one before it has made
// `ahead` rounds before the last. Planes beyond a face that copies are those that it copies, `ahead` planes on or
// `behind` back at most. One barrier a round: what is read in a round was written in an earlier one.
//
// `S` has `Kept<stage, n>`, what is kept of a cell after n planes; `parts(stage)`, the planes that a stage reads; and
// `part<stage, n>(elements, near, before, after)`, which takes in plane n, the last time with the new cell as `after`.
// Source of the idea: partial sums along the streamed axis (EBISU; Stock et al., PLDI 2014), one template for all elements.
#pragma once

namespace ww::stencil {

// What a stage keeps of the lane's cells after 1 ..= N planes.
template <class S, int Stage, int N>
struct KeptAfter : KeptAfter<S, Stage, N - 1> {
  typename S::template Kept<Stage, N> cells[S::vy][S::vx];
};
template <class S, int Stage>
struct KeptAfter<S, Stage, 0> {};
template <class S, int Level>
struct KeptOf : KeptOf<S, Level - 1> {
  KeptAfter<S, Level % S::stages, S::parts(Level % S::stages) - 1> kept;
};
template <class S>
struct KeptOf<S, -1> {};

// The rows that a lane reads of a plane: its own and `halo_rows` on either side.
template <class S>
using Window = LevelRowsOf<S, S::vy + 2 * S::halo_rows, typename S::Fields>;

// The neighbourhood of cell j of the lane's row i in one plane.
template <class S>
struct PartNear {
  const Window<S>& window;
  int i, j;
  int p;  // the plane's number
  template <int F, int... O>
  WW_FN Number<S, F> at() const {
    using o = offset<O...>;
    return InRegister<S, F>::get(window.template of<F>().at(i + S::halo_rows + o::y, j + o::x));
  }
};

template <class S>
struct Streamed : Tile<S> {
  using Tile<S>::block, Tile<S>::held, Tile<S>::warp, Tile<S>::lane, Tile<S>::first, Tile<S>::end;

  static constexpr int height = S::warps * S::vy + 2 * S::halo_rows;
  static constexpr int input_row = row_bytes<S, true>(), level_row = row_bytes<S, false>();
  static constexpr int input_slots = S::prefetch + 1 + S::ahead + S::behind, level_slots = 2 + S::ahead + S::behind;
  static constexpr int input_plane = height * input_row, level_plane = height * level_row;
  static constexpr int input_bytes = input_slots * input_plane, level_bytes = level_slots * level_plane;
  // Planes beyond the low face, with which a closed axis begins.
  static constexpr int beyond = S::face(0, 0) == open_face ? 0 : S::closing - 1;

  KeptOf<S, S::levels - 1> kept;
  char* shared;                     // the lane's 16 bytes of every 512
  int next_plane;                   // that is requested
  i64 at_in, at_out;                // the thread's first cell of that plane, and of the plane that is stored
  int request_slot, input_slot;     // of that plane, and of the one that level 0 takes in: bytes
  int write_slot, read_slot;        // of the plane that a level makes, and of the one that the next takes in

  // The slot n (from -slots to slots) after another.
  template <int Plane, int Bytes>
  WW_FN static int slot_after(int slot, int n) {
    const int at = slot + n * Plane;
    return at < 0 ? at + Bytes : at >= Bytes ? at - Bytes : at;
  }

  WW_FN void request() {
    char* rows = shared + request_slot + (warp * S::vy + S::halo_rows) * input_row;
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = typename S::template Type<F>;
      T* own = lane_place<S, T>(rows + bytes_before<S, true>(F, typename S::Fields{}), lane);
#pragma unroll
      for (int i = 0; i < S::vy; i++) {
        copy_cells<S>(own + i * (input_row / int(sizeof(T))), this->fields.template in<F>() + at_in + i * block.y);
      }
    });
    close_copies();
    at_in += this->to_next(next_plane);
    next_plane++;
    request_slot = slot_after<input_plane, input_bytes>(request_slot, 1);
  }

  // The window of the plane in a slot, of which there are rows as stored or as in registers.
  template <bool Stored>
  WW_FN void load(int slot, Window<S>& window) const {
    constexpr int row = Stored ? input_row : level_row;
    char* rows = shared + slot + warp * S::vy * row;
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using T = pick<Stored ? 0 : 1, typename S::template Type<F>, RegisterType<S, F>>;
      const T* own = lane_place<S, T>(rows + bytes_before<S, Stored>(F, typename S::Fields{}), lane);
#pragma unroll
      for (int i = 0; i < S::vy + 2 * S::halo_rows; i++) {
        load_cells<S, F, Stored>(own + i * (row / int(sizeof(T))), window.template of<F>(), i);
      }
    });
  }
  // Hands the plane that a level has made on to the next.
  WW_FN void hand_on(int slot, const Plane<S>& plane) const {
    char* rows = shared + slot + (warp * S::vy + S::halo_rows) * level_row;
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using C = RegisterType<S, F>;
      C* own = lane_place<S, C>(rows + bytes_before<S, false>(F, typename S::Fields{}), lane);
#pragma unroll
      for (int i = 0; i < S::vy; i++) put_cells<S>(own + i * (level_row / int(sizeof(C))), plane.template of<F>(), i);
    });
  }

  // How many planes after plane p the one lies that a face along z copies there.
  template <int Stage>
  WW_FN int copied_from(int p) const {
    if constexpr (S::face(0, 0) == neumann_face || S::face(0, 0) == mirror_face) {
      const int beyond = block.face_low[0] - p;
      if (beyond > 0 && beyond <= S::low(Stage)) return 2 * beyond - (S::face(0, 0) == neumann_face);
    }
    if constexpr (S::face(0, 1) == neumann_face || S::face(0, 1) == mirror_face) {
      const int beyond = p - block.face_high[0] + 1;
      if (beyond > 0 && beyond <= S::high(Stage)) return -2 * beyond + (S::face(0, 1) == neumann_face);
    }
    return 0;
  }

  // Gives rows of plane z beyond faces along y their values.
  template <int Level>
  WW_FN void close_rows(Window<S>& window, int z) const {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      auto& rows = window.template of<F>();
#pragma unroll
      for (int k = 1; k <= S::halo_rows; k++) {
#pragma unroll
        for (int e = -S::margin; e < S::vx + S::margin; e++) {
          if constexpr (S::face(1, 0) != open_face) {
            constexpr int kind = S::face(1, 0), own = S::halo_rows - (kind == mirror_face ? 0 : 1);
            auto& row = rows.at(S::halo_rows - k, e);
            if constexpr (kind == function_face) {
              if (this->face_above) row = function_value<S, F, 1, 0>(held, Level, z, this->y - k, this->faces.x + e);
            } else {
              const auto ghost = kind == dirichlet_face ? held_value<S, F>(held, 1, 0) : rows.at(own + k, e);
              row = this->face_above ? ghost : row;
            }
          }
          if constexpr (S::face(1, 1) != open_face) {
            constexpr int kind = S::face(1, 1), own = S::halo_rows + S::vy - (kind == mirror_face ? 1 : 0);
            auto& row = rows.at(S::halo_rows + S::vy - 1 + k, e);
            if constexpr (kind == function_face) {
              const int y = this->y + S::vy - 1 + k;
              if (this->face_below) row = function_value<S, F, 1, 1>(held, Level, z, y, this->faces.x + e);
            } else {
              const auto ghost = kind == dirichlet_face ? held_value<S, F>(held, 1, 1) : rows.at(own - k, e);
              row = this->face_below ? ghost : row;
            }
          }
        }
      }
    });
  }

  // Takes a plane in at one cell: its part `Part` and those before it, each of another plane of the output.
  template <int Level, int Part, class E, class Next>
  WW_FN void take(const PartNear<S>& near, Next& next, const E& elements) {
    constexpr int stage = Level % S::stages, last = S::parts(stage) - 1;
    const int z = near.p + S::low(stage) - Part;
    const bool called = is_called<S, Level>(held, block, z, this->y + near.i, this->faces.x + near.j);
    auto& all = static_cast<KeptOf<S, Level>&>(kept).kept;
    typename S::template Kept<stage, Part> before;
    if constexpr (Part > 0) before = static_cast<KeptAfter<S, stage, Part>&>(all).cells[near.i][near.j];
    if constexpr (Part == last) {
      if (called) S::template part<stage, Part>(elements, near, before, next);
    } else {
      auto& after = static_cast<KeptAfter<S, stage, Part + 1>&>(all).cells[near.i][near.j];
      if (called) S::template part<stage, Part>(elements, near, before, after);
    }
    if constexpr (S::faults) note_fault<S>(Level);
    if constexpr (Part > 0) take<Level, Part - 1>(near, next, elements);
  }

  // A level takes plane p in.
  template <int Level, bool Edge, bool Check, class E>
  WW_FN void level(int p, const E& elements) {
    constexpr int stage = Level % S::stages, high = S::high(stage);
    constexpr int size = Level == 0 ? input_plane : level_plane, bytes = Level == 0 ? input_bytes : level_bytes;
    constexpr int at = Level == 0 ? 0 : input_bytes + (Level - 1) * level_bytes;
    int slot = Level == 0 ? input_slot : read_slot;
    if constexpr (Check) slot = slot_after<size, bytes>(slot, copied_from<stage>(p));
    Window<S> window;
    load<Level == 0>(at + slot, window);
    widen<S, Level, 0, Edge>(window, this->faces, held);
    if constexpr (Edge && S::halo_rows > 0) {
      if (this->face_above || this->face_below) close_rows<Level>(window, p);
    }
    if constexpr (Check && holds(S::face(0, 0))) {
      if (p < block.face_low[0]) hold_plane<S, Level, 0>(window, this->faces, block, held, p);
    }
    if constexpr (Check && holds(S::face(0, 1))) {
      if (p >= block.face_high[0]) hold_plane<S, Level, 1>(window, this->faces, block, held, p);
    }
    if constexpr (S::faults) begin_level<S>(Level);
    Plane<S> done;
#pragma unroll
    for (int i = 0; i < S::vy; i++) {
#pragma unroll
      for (int j = 0; j < S::vx; j++) {
        AssignedOf<S, typename S::Fields> next;
        take<Level, S::parts(stage) - 1>(PartNear<S>{window, i, j, p}, next, elements);
        each(typename S::Fields{}, [&](auto f) {
          constexpr int F = decltype(f)::value;
          done.template of<F>().at(i, j) = InRegister<S, F>::put(next.template ref<F>());
        });
      }
    }
    if constexpr (Level < S::levels - 1) {
      hand_on(input_bytes + Level * level_bytes + write_slot, done);
      level<Level + 1, Edge, Check>(p - high - 1 - S::ahead, elements);
    } else if (p - high >= first && p - high < end) {
      this->template store<Edge>(done, at_out);
    }
  }

  template <bool Edge, bool Check, class E>
  WW_FN void rounds(int& r, int to, const E& elements) {
#pragma unroll 1
    for (; r < to; r++) {
      await_copies<S::prefetch - 1>();
      __syncthreads();
      request();
      if constexpr (Edge && S::asks) ask_functions<S>(this->held, this->faces, r - S::ahead);
      level<0, Edge, Check>(r - S::ahead, elements);
      if constexpr (Edge && S::functions) {
        bring_rows<S, 0>(held, this->faces, this->face_above, this->face_below, r + 1 - S::ahead);
      }
      at_out += block.z;
      input_slot = slot_after<input_plane, input_bytes>(input_slot, 1);
      write_slot = slot_after<level_plane, level_bytes>(write_slot, 1);
      read_slot = slot_after<level_plane, level_bytes>(read_slot, 1);
    }
  }

  template <class E>
  WW_FN void run(const E& elements) {
    const int begin = first_read<S>(block, first);
    int r = begin - beyond + S::ahead;
    // The planes that round r needs, and those that are on their way then.
    constexpr int needed = S::ahead > beyond ? S::ahead - beyond : 0;
    constexpr int before = S::ahead > beyond ? beyond : S::ahead;  // planes of level 0 before the first requested
    if constexpr (S::asks) begin_asking<S>(this->held, this->faces, lane, r - S::ahead);
    next_plane = r - needed;
    at_in = this->first_of(next_plane);
    at_out = (r - S::lag) * block.z + this->corner;
    request_slot = write_slot = 0;
    input_slot = (input_slots - before % input_slots) % input_slots * input_plane;
    read_slot = (level_slots - 1 - S::ahead) * level_plane;
#pragma unroll
    for (int k = 0; k < needed + S::prefetch; k++) request();
    const int to = end + S::lag;
    // Rounds in which no level takes in a plane beyond a face: from `low` on, before `high`. Loops of their own, so that
    // registers are allotted to each alone.
    constexpr int back = S::lag - S::high(S::stages - 1);
    const int low = block.face_low[0] + back, high = block.face_high[0] + S::ahead;
    if constexpr (S::face(0, 0) != open_face) rounds<true, true>(r, lower(to, low), elements);
    if (this->at_face) {
      rounds<true, false>(r, lower(to, high), elements);
    } else {
      rounds<false, false>(r, lower(to, high), elements);
    }
    if constexpr (S::face(0, 1) != open_face) rounds<true, true>(r, to, elements);
  }
};

template <class S, class E>
WW_FN void time_block(const Pointers<S>& fields, const TimeBlock& block, const Held<S>& held,
                      const E& elements) {
  static_assert(S::shared_bytes == Streamed<S>::input_bytes + (S::levels - 1) * Streamed<S>::level_bytes,
                "host and kernel disagree on shared memory");
  extern __shared__ __align__(128) char shared_memory[];
  Streamed<S> streamed{{fields, block, held}};
  streamed.place_tile(threadIdx.y);
  streamed.shared = shared_memory + streamed.lane * 16;
  streamed.run(elements);
}

}  // namespace ww::stencil
