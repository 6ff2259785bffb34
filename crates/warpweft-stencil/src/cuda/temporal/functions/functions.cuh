// Faces that are functions of position and time, for the kernels that fuse several steps. A kernel of its own asks the functions
// for all cells beyond their faces in all steps of a pass; levels read what they have said. (Levels that asked themselves
// spilled registers around the calls: 2,528 Gcells/s of 3,553 for 5 points at 16384^2 in f32, 512 of 1,019 for 7 at 768^3.)
//
// Beyond a face along z each lane reads its own cells. How values beyond other faces come to lanes: asked.cuh, and staged.cuh for
// volumes.cuh. `S` has, next to what levels.cuh says: `delay`, rounds from one level to the next; `late(n, f)`, whether stage n
// reads of field f beyond a face what the function says of step 0 (0), of the steps done when the step begins (1), or of one
// more (2).
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

// Whether any stage reads of any field beyond a face what `late` numbers so.
template <class S, int... F>
WW_FN constexpr bool any_late(int which, indices<F...>) {
  bool any = false;
  for (int n = 0; n < S::stages; n++) ((any |= S::late(n, F) == which), ...);
  return any;
}
// Whether any level reads row t of a table.
template <class S>
WW_FN bool is_read(int t) {
  using Fields = typename S::Fields;
  constexpr bool start = any_late<S>(0, Fields{}), now = any_late<S>(1, Fields{}), next = any_late<S>(2, Fields{});
  return t > S::depth ? start : (now && t < S::depth) || (next && t > 0);
}

// Asks the function of a face for the entries of its table that are read.
// Grid: (any number for the places along the face, faces, rows times distances).
template <class S, int Axis, int Side, class F>
WW_FN void fill_table(const Frame& frame, u64 steps, const F& put) {
  const FaceTable& table = frame.table;
  constexpr int a = first_along(Axis), b = second_along(Axis);
  const int t = int(blockIdx.z) / table.deep[Axis], k = int(blockIdx.z) - t * table.deep[Axis];
  if (t >= table_steps<S>() || !is_read<S>(t)) return;
  const int across = table.places[b], all = table.places[a] * across;
  const i64 first = table.first[Axis][Side] + i64(blockIdx.z) * all;
  const u64 step = t > S::depth ? 0 : steps + t;
  for (int place = blockIdx.x * 256 + threadIdx.x; place < all; place += gridDim.x * 256) {
    const int line = unsigned(place) / unsigned(across);
    int cell[3];
    cell[a] = table.low[a] + line;
    cell[b] = table.low[b] + place - line * across;
    cell[Axis] = Side == 0 ? table.ends[Axis][0] - 1 - k : table.ends[Axis][1] + k;
    array<i64, S::dims> at;
    at.items[0] = function_index<S, 0>(frame, cell[0]);
    if constexpr (S::dims == 3) at.items[1] = function_index<S, 1>(frame, cell[1]);
    at.items[S::dims - 1] = function_index<S, 2>(frame, cell[2]);
    put(first + place, at, step);
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

}  // namespace ww::stencil
