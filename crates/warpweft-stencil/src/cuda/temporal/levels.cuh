// Levels: one step of a stage on cells in registers, for the kernels that fuse several steps (line.cuh, rows.cuh,
// volumes.cuh; partial.cuh has levels of its own).
//
// A level takes the newest plane of its input in and gives the plane of its output that is now complete:
//   level(queue, plane at p) -> plane at p - high, where `high` is how far its stage reads along z.
// (In one and two dimensions a plane is a row: `vy` is 1.) Levels are chained: the output of one is the input of the
// next. Level n runs stage n mod `stages`, so a stage is a level; fields that the stage does not assign pass
// through. The queue holds the `kept` planes before the newest; plane p - a is in slot (phase - a) mod kept,
// which is constant as callers unroll phases. A lane has `vx` cells of each of `vy` rows in registers; `margin`
// more on either side come by shuffles, and the rows next to its own from `HaloRows`.
//
// Boundaries are exact at every level. Cells beyond a closed face (Dirichlet, function, Neumann, mirror) get their
// value from the planes that the level has: along x when rows are widened, along z when the first and the last
// planes arrive, along y when the rows next to a tile are fetched. Open faces (periodic ones, cuts between devices) have ghost cells in memory, deep enough for
// all levels, that are computed like any others.
//
// `S` is the shape that the host writes: `Fields` and `Writes`, index lists; `Type<f>` as stored and `Number<f>` as computed; `Assigns<n>`, the
// fields that stage n assigns; `face(axis, side)`; `high(n)`, `low(n)`, `cross(n)`; `wide(n, f, side)`; the
// numbers `vx`, `vy`, `halo_rows`, `levels`, `stages`, `kept`, `margin`, `last`; `Held`, what is known of held faces; and
// `run<n>(elements, near, next)`.
// With `packed` above 1 (packed.cuh) so many cells are one element of rows, and all counts along x are of these.
// Source of the idea: 2.5D streaming with register pipelines (AN5D, EBISU), one template for all elements.
#pragma once

namespace ww::stencil {

enum face_kind { open_face, dirichlet_face, neumann_face, mirror_face, function_face };

// Cells to store, and where the closed faces are, along z, y and x.
struct TimeBlock {
  static constexpr int far = 0x3fffffff;  // of open faces; sums with it do not overflow
  int low[3], high[3];            // cells to store
  int face_low[3], face_high[3];  // the first cell inside, and the first beyond
  int room_low[3], room_high[3];  // cells that may be read
  int origin[2];                  // first cell of the first tile along y and x
  int last_tile;                  // along y the last tile begins here at the latest; of a line, how many tiles there are
  int chunk;                      // planes that a block stores
  i64 z, y;                       // strides
};

// What cells beyond Dirichlet faces hold: bits, [axis][side][field].
struct HeldValues {
  u64 bits[3][2][32];
};
// What is known of held faces: these values, or a struct with them and what else a pass is told (frame.cuh, functions.cuh).
template <class S>
using Held = typename S::Held;
WW_FN const HeldValues& held_values(const HeldValues& held) { return held; }
// Whether a face has values of its own.
WW_FN constexpr bool holds(int kind) { return kind == dirichlet_face || kind == function_face; }

// The number of a warp in its block, in a form that shows the compiler that all lanes agree: branches on it then need no point
// where lanes meet again, and registers are saved. 5 points at 16384^2 in f32, 24 steps: 3,570 Gcells/s, else 3,270.
WW_FN int warp_of_block(int warp) {
#if WW_DEVICE
  return __shfl_sync(~0u, warp, 0);
#else
  return warp;
#endif
}

// A block's tile along x and y, and its chunk.
struct BlockPlace {
  int x, y, chunk;
};
// Tiles at closed faces take longer than others, so they go first where they are few: the last blocks to begin are then short ones.
// Those of the last chunk, which may be shorter than the others, go after all of these, as they fill up what long blocks leave.
// Many tiles at faces stay where they are, as they read cells at the same time as their neighbours then: 7 points at 768^3 by tiles
// of which 22 % are at faces take 7 % less time in this order, by those of which 29 % are 8 % more. The host decides for the whole
// volume: a decision here would take registers.
template <class S>
WW_FN BlockPlace block_place() {
  constexpr int low_x = S::face(2, 0) != open_face, high_x = S::face(2, 1) != open_face;
  constexpr int low_y = S::face(1, 0) != open_face, high_y = S::face(1, 1) != open_face;
  const int across = gridDim.x, down = gridDim.y, chunks = gridDim.z;
  const BlockPlace in_order{int(blockIdx.x), int(blockIdx.y), int(blockIdx.z)};
  if constexpr (!S::faces_first) return in_order;
  // Tiles at faces along x are the first `low_x` and the last `at_x - low_x` of each row of tiles.
  const int at_x = lower(low_x + high_x, across), at_y = lower(low_y + high_y, down);
  const int inner_x = across - at_x, inner_y = down - at_y, inner = inner_x * inner_y, edge = across * down - inner;
  int n = blockIdx.x + across * (blockIdx.y + down * int(blockIdx.z)), chunk, tile;
  if (n < (chunks - 1) * edge) {
    chunk = n / edge;
    tile = n - chunk * edge;
  } else if (n < (chunks - 1) * across * down) {
    n -= (chunks - 1) * edge;
    chunk = n / inner;
    tile = n - chunk * inner + edge;
  } else {
    chunk = chunks - 1;
    tile = n - chunk * across * down;
  }
  int x, y;
  if (tile < at_y * across) {
    y = tile / across;
    x = tile - y * across;
    y += y < low_y ? 0 : inner_y;
  } else if (tile < edge) {
    y = (tile - at_y * across) / at_x;
    x = tile - at_y * across - y * at_x;
    x += x < low_x ? 0 : inner_x;
    y += lower(low_y, at_y);
  } else {
    y = (tile - edge) / inner_x;
    x = tile - edge - y * inner_x + lower(low_x, at_x);
    y += lower(low_y, at_y);
  }
  return {x, y, chunk};
}

// The first plane that a chunk from plane `first` on reads: what its steps reach, and what the high face copies.
template <class S>
WW_FN int first_read(const TimeBlock& block, int first) {
  const int needed = first < block.face_high[0] - S::copied ? first : block.face_high[0] - S::copied;
  const int reached = needed - S::depth * S::before;
  return reached > block.face_low[0] ? reached : block.face_low[0];
}

// The indices 0 .. N - 1.
template <int N, int... I>
struct CountUp : CountUp<N - 1, N - 1, I...> {};
template <int... I>
struct CountUp<0, I...> {
  using type = indices<I...>;
};
template <int N>
using up_to = typename CountUp<N>::type;

// What is narrower than a word is a word in registers.
template <class T, bool Narrow = (sizeof(T) < 4)>
struct Register {
  using type = T;
  WW_FN static type put(T value) { return value; }
  WW_FN static T get(type value) { return value; }
};
template <class T>
struct Register<T, true> {
  using type = u32;
  WW_FN static type put(T value) {
    typename word<sizeof(T)>::type bits;
    memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  WW_FN static T get(type value) {
#if WW_DEVICE
    // What `put` made: the compiler masks less, and life takes 4 to 15 % less time.
    __builtin_assume(value <= (sizeof(T) == 1 ? 0xffu : 0xffffu));
#endif
    const auto bits = (typename word<sizeof(T)>::type)value;
    T cell;
    memcpy(&cell, &bits, sizeof(T));
    return cell;
  }
};
template <>
struct Register<bool, true> {
  using type = u32;
  WW_FN static type put(bool value) { return value ? 1u : 0u; }
  WW_FN static bool get(type value) { return value != 0u; }
};
// Packed cells (packed.cuh) are words, of four bytes or of 32 bits.
template <class T>
struct PackedBytes {
  using type = u32;
  WW_FN static type put(T value) { return value.word; }
  WW_FN static T get(type value) { return T::of(value); }
};
template <class T>
struct PackedBits {
  using type = u32;
  WW_FN static type put(T value) { return value.plane[0]; }
  WW_FN static T get(type value) { return T::of(value); }
};
template <class S, int F>
using Number = typename S::template Number<F>;
template <class S, int F>
using InRegister = pick<(S::packed == 1 ? 0 : S::packed == 4 ? 1 : 2), Register<Number<S, F>>, PackedBytes<Number<S, F>>,
                        PackedBits<Number<S, F>>>;
template <class S, int F>
using RegisterType = typename InRegister<S, F>::type;

// A plane of every field: row i of the lane's, element e from -margin to vx + margin.
template <int F, class C, int H, int W, int M>
struct PlaneLane {
  C value[H][W];
  WW_FN C& at(int i, int e) { return value[i][M + e]; }
  WW_FN const C& at(int i, int e) const { return value[i][M + e]; }
};
template <class S, int H, class List>
struct LevelRowsOf;
template <class S, int H, int... F>
struct LevelRowsOf<S, H, indices<F...>>
    : PlaneLane<F, RegisterType<S, F>, H, S::vx + 2 * S::margin, S::margin>... {
  template <int G>
  using Of = PlaneLane<G, RegisterType<S, G>, H, S::vx + 2 * S::margin, S::margin>;
  template <int G>
  WW_FN Of<G>& of() {
    return static_cast<Of<G>&>(*this);
  }
  template <int G>
  WW_FN const Of<G>& of() const {
    return static_cast<const Of<G>&>(*this);
  }
};
template <class S>
using Plane = LevelRowsOf<S, S::vy, typename S::Fields>;

template <class S>
struct LevelQueue {
  Plane<S> planes[S::kept];
};

// The `halo_rows` before a lane's own and those after them.
template <class S>
struct HaloRows {
  static constexpr int rows = S::halo_rows > 0 ? S::halo_rows : 1;
  LevelRowsOf<S, rows, typename S::Fields> above, below;
};

// Plane p - Back of a level in phase Phase, where plane p is the newest.
template <class S, int Phase, int Back>
WW_FN constexpr int level_slot() {
  return (Phase - Back + 2 * S::kept) % S::kept;
}
template <class S, int Phase, int Back>
WW_FN Plane<S>& level_plane(LevelQueue<S>& queue, Plane<S>& newest) {
  if constexpr (Back == 0) {
    return newest;
  } else {
    return queue.planes[level_slot<S, Phase, Back>()];
  }
}

// What an element function is told of its cell, if it asks (frame.cuh).
template <class S>
struct CellPlace;
struct NoPlace {};
template <class S>
using PlaceOf = pick<S::knows, NoPlace, CellPlace<S>>;
template <class S, int Level>
WW_FN PlaceOf<S> place_of(const Held<S>& held, int z, int y, int x) {
  if constexpr (S::knows) {
    return {held.frame, z, y, x, held.steps + Level / S::stages};
  } else {
    return {};
  }
}
// Whether a stored cell depends on this one, and what threads do after functions that may fault (frame.cuh).
template <class S, int Level>
WW_FN bool is_needed(const Held<S>& held, const TimeBlock& block, int z, int y, int x);
template <class S>
WW_FN void begin_level(int level);
template <class S>
WW_FN void note_fault(int level);
template <class S, int Level>
WW_FN bool is_called(const Held<S>& held, const TimeBlock& block, int z, int y, int x) {
  if constexpr (S::guarded) return is_needed<S, Level>(held, block, z, y, x);
  return true;
}

// Says which cells along an axis the tile stores.
template <class S>
WW_FN void need(Held<S>& held, int axis, int from, int to) {
  if constexpr (S::guarded) {
    held.from[axis] = higher(from, held.frame.low[axis]);
    held.to[axis] = lower(to, held.frame.high[axis]);
  }
}

// The neighbourhood of cell j of the lane's row i, as the element function sees it.
template <class S, int Stage, int Phase>
struct LevelNear {
  LevelQueue<S>& queue;
  Plane<S>& newest;
  const HaloRows<S>& rows;
  int i, j;
  PlaceOf<S> place;
  template <int D>
  WW_FN array<usize, D> index() const {
    return place.template index<D>();
  }
  WW_FN u64 step() const { return place.step; }
  template <int F, int... O>
  WW_FN Number<S, F> at() const {
    using o = offset<O...>;
    constexpr int back = S::high(Stage) - o::z;
    const auto& own = level_plane<S, Phase, back>(queue, newest).template of<F>();
    const int r = i + o::y;
    if constexpr (o::y < 0) {
      const auto& above = rows.above.template of<F>();
      return InRegister<S, F>::get(r < 0 ? above.at(r < 0 ? r + S::halo_rows : 0, j) : own.at(r < 0 ? 0 : r, j));
    } else if constexpr (o::y > 0) {
      const auto& below = rows.below.template of<F>();
      constexpr int vy = S::vy;
      return InRegister<S, F>::get(r < vy ? own.at(r < vy ? r : 0, j) : below.at(r < vy ? 0 : r - vy, j));
    } else if constexpr (S::packed == 1 || o::x % S::packed == 0) {
      return InRegister<S, F>::get(own.at(i, j + o::x / S::packed));
    } else {
      // Packed cells of two words.
      constexpr int n = S::packed, word = o::x > 0 ? o::x / n : (o::x + 1) / n - 1;
      const u64 both = u64(own.at(i, j + word + 1)) << 32 | own.at(i, j + word);
      return InRegister<S, F>::get(u32(both >> (o::x - word * n) * (32 / n)));
    }
  }
};

// The fields of one cell that a stage assigns.
template <int F, class T>
struct AssignedField {
  T value;
};
template <class S, class List>
struct AssignedOf;
template <class S, int... F>
struct AssignedOf<S, indices<F...>> : AssignedField<F, Number<S, F>>... {
  template <int G>
  WW_FN Number<S, G>& ref() {
    return static_cast<AssignedField<G, Number<S, G>>&>(*this).value;
  }
};

// What is known of a lane: whether its first cell is the first inside the low face along x, and whether its
// cell `last - 1` is the last inside the high one; whether that is so of any lane; its first row and cell.
struct LaneFaces {
  bool low, high, any_low, any_high;
  int y, x;
};

template <class S, int F>
WW_FN RegisterType<S, F> held_value(const Held<S>& held, int axis, int side) {
  const u64& bits = held_values(held).bits[axis][side][F];
  if constexpr (S::packed == 32) {
    return (bits & 1) != 0 ? ~0u : 0u;
  } else {
    typename S::template Type<F> value;
    memcpy(&value, &bits, sizeof(value));
    return InRegister<S, F>::put(value);
  }
}

// What functions say of a cell beyond their face and of a plane, and what is there for the ghost `k` (from 1) of row i of a level
// (functions.cuh, staged.cuh).
template <class S, int F, int Axis, int Side>
WW_FN RegisterType<S, F> function_value(const Held<S>& held, int level, int z, int y, int x);
template <class S, int F, int Level, int Side, int Rows>
WW_FN void hold_by_function(LevelRowsOf<S, Rows, typename S::Fields>& plane, const LaneFaces& faces, const Held<S>& held,
                            int z);
template <class S, int Level>
WW_FN void bring_rows(const Held<S>& held, const LaneFaces& faces, bool above, bool below, int p);
template <class S, int F, int Side, int Level, int Phase, int Rows>
WW_FN void take_asked(RegisterType<S, F>& ghost, bool here, const Held<S>& held, int i, int k);
template <class S>
WW_FN void begin_asking(Held<S>& held, const LaneFaces& faces, int lane, int s);
template <class S>
WW_FN void ask_functions(Held<S>& held, const LaneFaces& faces, int s);

// The element that ghost `k` (from 1) beyond the high face along x copies, and beyond the low one.
template <class S>
WW_FN constexpr int source_high(int k) {
  return S::face(2, 1) == mirror_face ? S::last - 1 - k : S::last - k;
}
template <class S>
WW_FN constexpr int source_low(int k) {
  return S::face(2, 0) == mirror_face ? k : k - 1;
}

// Gives the ghosts first ..= end (from 1) of row i beyond a face along x their values, in the lane that is at that face.
template <class S, int F, int Side, int Level, int Phase, int Rows, class Row>
WW_FN void close_ghosts(Row& plane, int i, bool here, const Held<S>& held, int first, int end) {
  constexpr int kind = S::face(2, Side);
#pragma unroll
  for (int k = first; k <= end; k++) {
    auto& ghost = plane.at(i, Side == 0 ? -k : S::last - 1 + k);
    if constexpr (kind == function_face) {
      take_asked<S, F, Side, Level, Phase, Rows>(ghost, here, held, i, k);
    } else {
      const auto value = kind == dirichlet_face ? held_value<S, F>(held, 2, Side)
                                                : plane.at(i, Side == 0 ? source_low<S>(k) : source_high<S>(k));
      ghost = here ? value : ghost;
    }
  }
}

// Fetches the cells next to the lane's own, as far as a stage reads, and closes the faces along x.
template <class S, int Level, int Phase, bool Edge, int Rows>
WW_FN void widen(LevelRowsOf<S, Rows, typename S::Fields>& plane, const LaneFaces& faces, const Held<S>& held) {
  constexpr int stage = Level % S::stages;
  each(typename S::Fields{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    constexpr int below = S::wide(stage, F, 0), above = S::wide(stage, F, 1);
    constexpr bool close_above = Edge && S::face(2, 1) != open_face, close_below = Edge && S::face(2, 0) != open_face;
    constexpr int inside = S::vx - S::last < above ? S::vx - S::last : above;  // ghosts in the lane itself
    auto& own = plane.template of<F>();
#pragma unroll
    for (int i = 0; i < Rows; i++) {
#pragma unroll
      for (int r = 1; r <= below; r++) own.at(i, -r) = __shfl_up_sync(~0u, own.at(i, S::vx - r), 1);
      if constexpr (close_above) close_ghosts<S, F, 1, Level, Phase, Rows>(own, i, faces.high, held, 1, inside);
#pragma unroll
      for (int r = 0; r < above; r++) own.at(i, S::vx + r) = __shfl_down_sync(~0u, own.at(i, r), 1);
      if constexpr (close_above) close_ghosts<S, F, 1, Level, Phase, Rows>(own, i, faces.high, held, inside + 1, above);
      if constexpr (close_below) close_ghosts<S, F, 0, Level, Phase, Rows>(own, i, faces.low, held, 1, below);
    }
  });
}

// Gives all of plane z, beyond a face along z that holds values, these.
template <class S, int Level, int Side, int Rows>
WW_FN void hold_plane(LevelRowsOf<S, Rows, typename S::Fields>& plane, const LaneFaces& faces, const TimeBlock& block,
                      const Held<S>& held, int z) {
  each(typename S::Fields{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    if constexpr (S::face(0, Side) == function_face) {
      hold_by_function<S, F, Level, Side>(plane, faces, held, z);
      return;
    }
#pragma unroll
    for (int i = 0; i < Rows; i++) {
#pragma unroll
      for (int e = -S::margin; e < S::vx + S::margin; e++) {
        plane.template of<F>().at(i, e) = held_value<S, F>(held, 0, Side);
      }
    }
  });
}

// Makes the newest plane p, `k` planes beyond the high face along z, what that face says.
template <class S, int Level, int Phase, int K>
WW_FN void close_above(LevelQueue<S>& queue, Plane<S>& plane, const LaneFaces& faces, const TimeBlock& block,
                       const Held<S>& held, int p) {
  constexpr int kind = S::face(0, 1);
  if constexpr (holds(kind)) {
    hold_plane<S, Level, 1>(plane, faces, block, held, p);
  } else {
    plane = level_plane<S, Phase, (kind == mirror_face ? 2 * K + 2 : 2 * K + 1)>(queue, plane);
  }
}

// Gives the planes before the first one, of which the newest is `k` cells inside the low face along z, what
// that face says.
template <class S, int Level, int Phase, int K>
WW_FN void close_below(LevelQueue<S>& queue, Plane<S>& plane, const LaneFaces& faces, const TimeBlock& block,
                       const Held<S>& held, int p) {
  constexpr int kind = S::face(0, 0), low = S::low(Level % S::stages);
  if constexpr (holds(kind)) {
    if constexpr (K == 0) {
      each(up_to<low>{}, [&](auto n) {
        constexpr int back = decltype(n)::value + 1;
        hold_plane<S, Level, 0>(level_plane<S, Phase, back>(queue, plane), faces, block, held, p - back);
      });
    }
  } else if constexpr (kind == mirror_face) {
    if constexpr (K > 0) level_plane<S, Phase, 2 * K>(queue, plane) = plane;
  } else if constexpr (K < low) {
    level_plane<S, Phase, 2 * K + 1>(queue, plane) = plane;
  }
}

// One level: takes plane p of its input in, and makes `plane` the plane p - high of its output; `rows` are those
// next to the lane's in plane p - high of the input. With Edge a lane may hold cells at a face along x, with Check
// planes may lie at or beyond a face along z.
template <class S, int Level, int Phase, bool Edge, bool Check, class E>
WW_FN void level(LevelQueue<S>& queue, Plane<S>& plane, const HaloRows<S>& rows, int p, const LaneFaces& faces,
                 const TimeBlock& block, const Held<S>& held, const E& elements) {
  constexpr int stage = Level % S::stages, high = S::high(stage);
  if constexpr (!S::cross(stage)) widen<S, Level, Phase, Edge>(plane, faces, held);
  if constexpr (Check && S::face(0, 1) != open_face) {
    each(up_to<high>{}, [&](auto k) {
      if (p - block.face_high[0] == decltype(k)::value) {
        close_above<S, Level, Phase, decltype(k)::value>(queue, plane, faces, block, held, p);
      }
    });
  }
  if constexpr (Check && S::face(0, 0) != open_face && S::low(stage) > 0) {
    each(up_to<S::low(stage) + 1>{}, [&](auto k) {
      if (p - block.face_low[0] == decltype(k)::value) {
        close_below<S, Level, Phase, decltype(k)::value>(queue, plane, faces, block, held, p);
      }
    });
  }
  Plane<S>& centre = level_plane<S, Phase, high>(queue, plane);
  if constexpr (S::cross(stage)) widen<S, Level, Phase, Edge>(centre, faces, held);
  if constexpr (S::faults) begin_level<S>(held.before * S::stages + Level);
  Plane<S> done;
#pragma unroll
  for (int i = 0; i < S::vy; i++) {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
#pragma unroll
      for (int j = 0; j < S::vx; j++) done.template of<F>().at(i, j) = centre.template of<F>().at(i, j);
    });
#pragma unroll
    for (int j = 0; j < S::vx; j++) {
      using List = typename S::template Assigns<stage>;
      const int z = p - high, y = faces.y + i, x = faces.x + j;
      const LevelNear<S, stage, Phase> near{queue, plane, rows, i, j, place_of<S, Level>(held, z, y, x)};
      AssignedOf<S, List> next;
      each(List{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        next.template ref<F>() = InRegister<S, F>::get(centre.template of<F>().at(i, j));
      });
      if (is_called<S, Level>(held, block, z, y, x)) S::template run<stage>(elements, near, next);
      if constexpr (S::faults) note_fault<S>(held.before * S::stages + Level);
      each(List{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        done.template of<F>().at(i, j) = InRegister<S, F>::put(next.template ref<F>());
      });
    }
  }
  queue.planes[Phase] = plane;
  plane = done;
}

}  // namespace ww::stencil
