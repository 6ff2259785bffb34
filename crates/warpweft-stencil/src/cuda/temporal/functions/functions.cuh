// Faces that are functions of position and time, for the kernels that fuse several steps. A kernel of its own asks the functions
// for all cells beyond their faces in all steps of a pass; levels read what they have said. (Levels that asked themselves
// spilled registers around the calls: 2,528 Gcells/s of 3,553 for 5 points at 16384^2 in f32, 512 of 1,019 for 7 at 768^3.)
//
// Beyond a face along z or y each lane reads its own cells. Ghosts along x are of one lane alone, so lanes read for one
// another, a round ahead: of `batch` rounds, lane ((level * batch + round) * asked_rows + row) reads what that level needs
// there, and gets it by a shuffle. `S` has, next to what levels.cuh says: `batch`; `asked_rows`, the rows that are widened, a
// lane's own in their middle; `delay`, rounds from one level to the next; `late(n, f)`, whether stage n reads of field f beyond
// a face what the function says of step 0 (0), of the steps done when the step begins (1), or of one more (2).
// Invariant: levels * batch * asked_rows is 32 at most.
#pragma once

namespace ww::stencil {

// The rows of a table: steps 0 to `depth` of a pass, then step 0 of the run.
template <class S>
WW_FN constexpr int table_steps() {
  return S::depth + 2;
}
// Bytes of the fields before F, of each entry.
template <class S, int... F>
WW_FN constexpr i64 bytes_before_field(int field, indices<F...>) {
  i64 sum = 0;
  ((sum += F < field ? i64(sizeof(typename S::template Type<F>)) : 0), ...);
  return sum;
}
template <class S, int F>
WW_FN typename S::template Type<F>* values_of(const FaceTable& table) {
  using T = typename S::template Type<F>;
  return reinterpret_cast<T*>(table.values + table.entries * bytes_before_field<S>(F, typename S::Fields{}));
}

template <class S>
struct FunctionFaces : Framed<S> {
  // What this lane reads for others: of the plane so many before a round's newest, by field the entry of plane 0, and the values
  // by side and distance.
  int late_by, base[32];
  LevelRowsOf<S, 2, typename S::Fields> asked, ahead;
};

// The index that a function is told of cell `at` of an axis of a table's block.
template <class S, int Axis>
WW_FN i64 function_index(const Frame& frame, int at) {
  constexpr int below = S::face(Axis, 0), above = S::face(Axis, 1);
  int from = at;
  if constexpr (below == neumann_face || below == mirror_face) {
    const int low = frame.table.ends[Axis][0];
    if (at < low) from = 2 * low - at - (below == neumann_face);
  }
  if constexpr (above == neumann_face || above == mirror_face) {
    const int high = frame.table.ends[Axis][1];
    if (at >= high) from = 2 * high - at - (above == neumann_face ? 1 : 2);
  }
  i64 index = from + frame.begin[Axis];
  const i64 period = frame.period[Axis];
  if (period > 0) {
    index %= period;
    if (index < 0) index += period;
  }
  return index;
}

// The axes of a face, slower and faster.
WW_FN constexpr int first_along(int axis) { return axis == 0 ? 1 : 0; }
WW_FN constexpr int second_along(int axis) { return axis == 2 ? 1 : 2; }

// Asks the function of a face for all entries of its table. Its grid is of any size along x.
template <class S, int Axis, int Side, class F>
WW_FN void fill_table(const Frame& frame, u64 steps, const F& put) {
  const FaceTable& table = frame.table;
  constexpr int a = first_along(Axis), b = second_along(Axis);
  const i64 all = i64(table_steps<S>()) * table.deep[Axis] * table.places[a] * table.places[b];
  for (i64 entry = blockIdx.x * i64(256) + threadIdx.x; entry < all; entry += gridDim.x * i64(256)) {
    i64 rest = entry;
    int cell[3];
    cell[b] = table.low[b] + int(rest % table.places[b]);
    rest /= table.places[b];
    cell[a] = table.low[a] + int(rest % table.places[a]);
    rest /= table.places[a];
    const int k = int(rest % table.deep[Axis]), t = int(rest / table.deep[Axis]);
    cell[Axis] = Side == 0 ? table.ends[Axis][0] - 1 - k : table.ends[Axis][1] + k;
    array<i64, S::dims> at;
    at.items[0] = function_index<S, 0>(frame, cell[0]);
    if constexpr (S::dims == 3) at.items[1] = function_index<S, 1>(frame, cell[1]);
    at.items[S::dims - 1] = function_index<S, 2>(frame, cell[2]);
    put(table.first[Axis][Side] + entry, at, t > S::depth ? 0 : steps + t);
  }
}

// Which row of a table a level reads of a field: one more than the steps done in the pass, or the last.
template <class S, int F>
WW_FN int table_row(const Held<S>& held, int level) {
  const int late = S::late(level % S::stages, F);
  return late == 0 ? S::depth + 1 : held.before + level / S::stages + late - 1;
}
// Where a table has the value beyond a face of a field at a cell. Of cells next to those of the table, another's: nothing depends
// on them, and there is room for those of a tile on either side.
template <class S, int F, int Axis, int Side>
WW_FN const typename S::template Type<F>* value_at(const Held<S>& held, int level, int z, int y, int x) {
  const FaceTable& table = held.frame.table;
  constexpr int a = first_along(Axis), b = second_along(Axis);
  const int cell[] = {z, y, x}, row = table_row<S, F>(held, level);
  int k = Side == 0 ? table.ends[Axis][0] - 1 - cell[Axis] : cell[Axis] - table.ends[Axis][1];
  // Levels that keep partial results take in planes from before the first that they need on.
  if constexpr (Axis == 0) k = higher(0, lower(k, table.deep[0] - 1));
  const int p = higher(0, lower(cell[a] - table.low[a], table.places[a] - 1));
  const int at = ((row * table.deep[Axis] + k) * table.places[a] + p) * table.places[b] + cell[b] - table.low[b];
  return values_of<S, F>(table) + table.first[Axis][Side] + at;
}
template <class S, int F, int Axis, int Side>
WW_FN RegisterType<S, F> function_value(const Held<S>& held, int level, int z, int y, int x) {
  return InRegister<S, F>::put(*value_at<S, F, Axis, Side>(held, level, z, y, x));
}

// Brings what levels from `Level` on read next to the first or last row of a lane to the cache, where that is at a face along y;
// `p` is the plane that the level takes in.
WW_FN void bring(const void* from) {
#if WW_DEVICE
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
#endif
}
template <class S, int Level>
WW_FN void bring_rows(const Held<S>& held, const LaneFaces& faces, bool above, bool below, int p) {
  if constexpr (Level < S::levels) {
    const int z = p - (S::delay == 0 ? S::high(Level % S::stages) : 0);
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      if constexpr (S::tall(Level % S::stages, F)) {
#pragma unroll
        for (int k = 1; k <= S::halo_rows; k++) {
          if constexpr (S::face(1, 0) == function_face) {
            if (above) bring(value_at<S, F, 1, 0>(held, Level, z, faces.y - k, faces.x));
          }
          if constexpr (S::face(1, 1) == function_face) {
            if (below) bring(value_at<S, F, 1, 1>(held, Level, z, faces.y + S::vy - 1 + k, faces.x));
          }
        }
      }
    });
    bring_rows<S, Level + 1>(held, faces, above, below, p - S::high(Level % S::stages) - S::delay);
  }
}

// Gives all of plane z, beyond a face along z, what its function says.
template <class S, int F, int Level, int Side, int Rows>
WW_FN void hold_by_function(LevelRowsOf<S, Rows, typename S::Fields>& plane, const LaneFaces& faces, const Held<S>& held, int z) {
  constexpr int before = (Rows - S::vy) / 2;
#pragma unroll
  for (int i = 0; i < Rows; i++) {
    const auto* row = value_at<S, F, 0, Side>(held, Level, z, faces.y + i - before, faces.x);
#pragma unroll
    for (int e = -S::margin; e < S::vx + S::margin; e++) plane.template of<F>().at(i, e) = InRegister<S, F>::put(row[e]);
  }
}

// Cells next to a lane's own along x that any stage reads of a field.
template <class S>
WW_FN constexpr int widest(int field, int side) {
  int most = 0;
  for (int n = 0; n < S::stages; n++) most = S::wide(n, field, side) > most ? S::wide(n, field, side) : most;
  return most;
}

// Reads the ghosts along x of what levels take in by the rounds s .. s + batch, the first of them plane s first, where the
// tile has such faces.
template <class S>
WW_FN void read_ahead(Held<S>& held, const LaneFaces& faces, int s) {
  const FaceTable& table = held.frame.table;
  const int z = s - held.late_by, farther = table.places[0] * table.places[1];
  const bool there = unsigned(z - table.low[0]) < unsigned(table.places[0]);
  each(typename S::Fields{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    auto& ahead = held.ahead.template of<F>();
    const auto* values = values_of<S, F>(table) + z * table.places[1] + held.base[F];
    if constexpr (S::face(2, 0) == function_face) {
#pragma unroll
      for (int k = 0; k < widest<S>(F, 0); k++) {
        if (faces.any_low && there) ahead.at(0, k) = InRegister<S, F>::put(values[table.first[2][0] + k * farther]);
      }
    }
    if constexpr (S::face(2, 1) == function_face) {
#pragma unroll
      for (int k = 0; k < widest<S>(F, 1); k++) {
        if (faces.any_high && there) ahead.at(1, k) = InRegister<S, F>::put(values[table.first[2][1] + k * farther]);
      }
    }
  });
}
// Begins to read for the rounds from s on.
template <class S>
WW_FN void begin_asking(Held<S>& held, const LaneFaces& faces, int lane, int s) {
  const FaceTable& table = held.frame.table;
  constexpr int rows = S::asked_rows, before = (rows - S::vy) / 2;
  const int level = lower(lane / (rows * S::batch), S::levels - 1);
  held.late_by = -(lane / rows % S::batch);
#pragma unroll
  for (int n = 0; n < S::levels; n++) {
    const int high = S::high(n % S::stages);
    held.late_by += n < level ? high + S::delay : 0;
    // A star is widened in the plane that it computes.
    held.late_by += n == level && S::delay == 0 && S::cross(n % S::stages) ? high : 0;
  }
  const int y = faces.y + lane % rows - before - table.low[1];
  const int column = higher(0, lower(y, table.places[1] - 1));
  each(typename S::Fields{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    const int row = table_row<S, F>(held, level) * table.deep[2];
    held.base[F] = (row * table.places[0] - table.low[0]) * table.places[1] + column;
#pragma unroll
    for (int k = 0; k < widest<S>(F, 0); k++) held.ahead.template of<F>().at(0, k) = 0;
#pragma unroll
    for (int k = 0; k < widest<S>(F, 1); k++) held.ahead.template of<F>().at(1, k) = 0;
  });
  read_ahead<S>(held, faces, s);
}
// Takes what was read for the rounds from s on, and reads for those after them.
template <class S>
WW_FN void ask_functions(Held<S>& held, const LaneFaces& faces, int s) {
  held.asked = held.ahead;
  read_ahead<S>(held, faces, s + S::batch);
}

// What a lane has read of the ghost `k` (from 1) along x.
template <class S, int F, int Side>
WW_FN RegisterType<S, F> asked_value(const Held<S>& held, int k, int lane) {
  return __shfl_sync(~0u, held.asked.template of<F>().at(Side, k - 1), lane);
}

}  // namespace ww::stencil
