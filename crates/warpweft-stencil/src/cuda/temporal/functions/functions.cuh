// Faces that are functions of position and time, for the kernels that fuse several steps.
//
// Beyond a face along z or y each lane asks for its own cells. Ghosts along x are of one lane alone, so lanes ask for one
// another: of `batch` rounds, lane ((level * batch + round) * asked_rows + row) asks for what that level needs there, and
// gets it by a shuffle. `S` has, next to what levels.cuh says: `batch`; `asked_rows`, the rows that are widened, a lane's own
// in their middle; `delay`, rounds from one level to the next; `late(n, f)`, whether stage n reads of field f beyond a face
// what the function says of step 0 (0), of the steps done when the step begins (1), or of one more (2); and
// `face_value<axis, side, f>(functions, at, step)`.
// Invariant: levels * batch * asked_rows is 32 at most.
#pragma once

// What is called in many places, by few lanes. Compiled into its callers it made kernels that took 20 s to compile.
#if WW_DEVICE
#define WW_OUTLINE __device__ __noinline__
#else
#define WW_OUTLINE
#endif

namespace ww::stencil {

template <class S>
struct FunctionFaces : Framed<S> {
  const typename S::Functions& functions;
  LevelRowsOf<S, 2, typename S::Fields> asked;  // by side and distance: what this lane has asked for
};

// The index that a function is told of cell `at` of an axis.
template <class S, int Axis>
WW_FN i64 function_index(const TimeBlock& block, const Frame& frame, int at) {
  constexpr int below = S::face(Axis, 0), above = S::face(Axis, 1);
  int from = at;
  if constexpr (below == neumann_face || below == mirror_face) {
    const int low = block.face_low[Axis];
    if (at < low) from = 2 * low - at - (below == neumann_face);
  }
  if constexpr (above == neumann_face || above == mirror_face) {
    const int high = block.face_high[Axis];
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

// What the function of a face says of a cell beyond it after so many steps.
template <class S, int F, int Axis, int Side>
WW_OUTLINE typename S::template Type<F> function_cell(const typename S::Functions& functions, const TimeBlock& block,
                                                      const Frame& frame, u64 step, int z, int y, int x) {
  array<i64, S::dims> at;
  at.items[0] = function_index<S, 0>(block, frame, z);
  if constexpr (S::dims == 3) at.items[1] = function_index<S, 1>(block, frame, y);
  at.items[S::dims - 1] = function_index<S, 2>(block, frame, x);
  return S::template face_value<Axis, Side, F>(functions, at, step);
}
// The same as a level reads it.
template <class S, int F, int Axis, int Side>
WW_FN RegisterType<S, F> function_value(const Held<S>& held, const TimeBlock& block, int level, int z, int y, int x) {
  const int late = S::late(level % S::stages, F);
  const u64 step = late == 0 ? 0 : held.steps + u64(level / S::stages + late - 1);
  return InRegister<S, F>::put(function_cell<S, F, Axis, Side>(held.functions, block, held.frame, step, z, y, x));
}

// Gives all of plane z, beyond a face along z, what its function says. A loop, with one call: the cells are in registers.
template <class S, int F, int Level, int Side, int Rows>
WW_FN void hold_by_function(LevelRowsOf<S, Rows, typename S::Fields>& plane, const LaneFaces& faces, const TimeBlock& block,
                            const Held<S>& held, int z) {
  constexpr int width = S::vx + 2 * S::margin, before = (Rows - S::vy) / 2;
#pragma unroll 1
  for (int n = 0; n < Rows * width; n++) {
    const int row = n / width, at = n % width - S::margin;
    const auto value = function_value<S, F, 0, Side>(held, block, Level, z, faces.y + row - before, faces.x + at);
#pragma unroll
    for (int i = 0; i < Rows; i++) {
#pragma unroll
      for (int e = -S::margin; e < S::vx + S::margin; e++) {
        auto& cell = plane.template of<F>().at(i, e);
        cell = i == row && e == at ? value : cell;
      }
    }
  }
}

// Cells next to a lane's own along x that any stage reads of a field.
template <class S>
WW_FN constexpr int widest(int field, int side) {
  int most = 0;
  for (int n = 0; n < S::stages; n++) most = S::wide(n, field, side) > most ? S::wide(n, field, side) : most;
  return most;
}

// Asks for the ghosts along x of what levels take in by the rounds s .. s + batch, the first of them plane s first, where
// the tile has such faces.
template <class S>
WW_FN void ask_functions(Held<S>& held, const TimeBlock& block, const LaneFaces& faces, int lane, int s) {
  constexpr int rows = S::asked_rows, before = (rows - S::vy) / 2;
  const int y = faces.y + lane % rows - before, round = lane / rows % S::batch, level = lane / (rows * S::batch);
  int z = s + round;
#pragma unroll
  for (int n = 0; n < S::levels; n++) {
    const int high = S::high(n % S::stages);
    z -= n < level ? high + S::delay : 0;
    // A star is widened in the plane that it computes.
    z -= n == level && S::delay == 0 && S::cross(n % S::stages) ? high : 0;
  }
  each(typename S::Fields{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    auto& asked = held.asked.template of<F>();
    if constexpr (S::face(2, 0) == function_face) {
#pragma unroll
      for (int k = 1; k <= widest<S>(F, 0); k++) {
        asked.at(0, k - 1) = 0;
        if (faces.any_low) {
          asked.at(0, k - 1) = function_value<S, F, 2, 0>(held, block, level, z, y, block.face_low[2] - k);
        }
      }
    }
    if constexpr (S::face(2, 1) == function_face) {
#pragma unroll
      for (int k = 1; k <= widest<S>(F, 1); k++) {
        asked.at(1, k - 1) = 0;
        if (faces.any_high) {
          asked.at(1, k - 1) = function_value<S, F, 2, 1>(held, block, level, z, y, block.face_high[2] - 1 + k);
        }
      }
    }
  });
}

// What a lane has asked for of the ghost `k` (from 1) along x.
template <class S, int F, int Side>
WW_FN RegisterType<S, F> asked_value(const Held<S>& held, int k, int lane) {
  return __shfl_sync(~0u, held.asked.template of<F>().at(Side, k - 1), lane);
}

}  // namespace ww::stencil
