// Asked faces: how values beyond faces that are functions (functions.cuh) come to lanes that ask for them one by one.
//
// Beyond a face along y each lane reads its own cells. Ghosts along x are of one lane alone, so lanes read for one
// another, a round ahead: of `batch` rounds, lane ((level * batch + round) * asked_rows + row) reads what that level needs
// there, and gets it by a shuffle. `S` has `batch`, and `asked_rows`, the rows that are widened, a lane's own in their middle.
// Invariant: levels * batch * asked_rows is 32 at most.
#pragma once

namespace ww::stencil {

template <class S>
struct FunctionFaces : Framed<S> {
  // What this lane reads for others: of the plane so many before a round's newest, by field the entry of plane 0, and the values
  // by side and distance.
  int late_by, base[32];
  LevelRowsOf<S, 2, typename S::Fields> asked, ahead;
};

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

// Gives the ghost `k` (from 1) along x of row i of a level what a lane has read for it.
template <class S, int F, int Side, int Level, int Phase, int Rows>
WW_FN void take_asked(RegisterType<S, F>& ghost, bool here, const Held<S>& held, int i, int k) {
  const int lane = (Level * S::batch + Phase % S::batch) * Rows + i;
  const auto asked = __shfl_sync(~0u, held.asked.template of<F>().at(Side, k - 1), lane);
  ghost = here ? asked : ghost;
}

}  // namespace ww::stencil
