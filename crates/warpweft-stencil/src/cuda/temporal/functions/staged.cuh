// Staged faces: how values beyond faces along y and x that are functions (functions.cuh) come to the tiles of volumes.cuh. Threads
// of a tile at such a face read them from memory while they compute a plane, each a few, and then put them into shared memory
// for the next plane: rows beyond faces along y next to the rows that warps share, cells beyond faces along x by level and row
// of the tile. So a level at a face reads what others read, and waits for no memory.
//
// Shared: cells beyond faces along x: [slot][field][side][distance][level][row].
// Invariant: what is put in a plane is read in the next, from another slot; a barrier is between them.
#pragma once

namespace ww::stencil {

template <class S>
struct FunctionFaces : Framed<S> {
  char* beyond_x;  // the cells beyond faces along x
  int row;       // the lane's first in the tile
};

template <class S, int Axis>
WW_FN constexpr bool is_function_axis() {
  return S::face(Axis, 0) == function_face || S::face(Axis, 1) == function_face;
}
template <class S>
WW_FN constexpr int staged_rows() {
  return S::levels * S::warps * S::vy;
}
// Bytes of the cells of a slot, of the fields before one.
template <class S, int... F>
WW_FN constexpr int staged_before(int field, indices<F...>) {
  int sum = 0;
  ((sum += F < field ? 2 * S::margin * staged_rows<S>() * int(sizeof(RegisterType<S, F>)) : 0), ...);
  return sum;
}
template <class S>
WW_FN constexpr int staged_slot() {
  return is_function_axis<S, 2>() ? staged_before<S>(1 << 16, typename S::Fields{}) : 0;
}
// Where row 0 of level 0 is, `k` (from 0) cells beyond a face along x.
template <class S, int F>
WW_FN RegisterType<S, F>* staged_cells(char* beyond_x, int slot, int side, int k) {
  char* field = beyond_x + slot * staged_slot<S>() + staged_before<S>(F, typename S::Fields{});
  return reinterpret_cast<RegisterType<S, F>*>(field) + (side * S::margin + k) * staged_rows<S>();
}
template <class S, int F, int Side, int Level, int Phase, int Rows>
WW_FN void take_asked(RegisterType<S, F>& ghost, bool here, const Held<S>& held, int i, int k) {
  const auto* cells = staged_cells<S, F>(held.beyond_x, Phase, Side, k - 1) + Level * S::warps * S::vy;
  if (here) ghost = cells[held.row + i];
}

// What a thread brings of each plane.
template <class S>
struct Stager {
  static_assert(S::staged >= S::kept * staged_slot<S>(), "host and kernel disagree on shared memory");
  static_assert(staged_slot<S>() == 0 || S::kept > 1, "a plane is staged while the one before it is read");
  static constexpr int threads = 32 * S::warps, tall = S::warps * S::vy, sides = 2 * S::halo_rows;
  // Rows of a warp, and cells of a thread.
  static constexpr int rows = is_function_axis<S, 1>() ? (S::levels * sides + S::warps - 1) / S::warps : 0;
  static constexpr int cells = is_function_axis<S, 2>() ? (staged_rows<S>() + threads - 1) / threads : 0;
  static constexpr int of_level_rows = sides > 0 ? sides : 1;
  static constexpr int some_rows = rows > 0 ? rows : 1, some_cells = cells > 0 ? cells : 1;

  bool low, high;                  // whether the tile has these faces along x
  bool there[some_rows];           // whether a row is of a level, and beyond a face of the tile
  int row_at[some_rows][32], cell_at[some_cells][32];  // entries of tables, by field
  int row_to[some_rows], row_high[some_rows];
  LevelRowsOf<S, some_rows, typename S::Fields> row_values;
  LevelRowsOf<S, 2 * some_cells, typename S::Fields> cell_values;  // by side and distance

  // How many planes before a round's newest the one lies that a level computes then.
  WW_FN static int late(int level) {
    int sum = 0;
#pragma unroll
    for (int n = 0; n < S::levels; n++) sum += n <= level ? S::high(n % S::stages) : 0;
    return sum;
  }

  // For the rounds from s on; rows of `row_bytes` go behind those of `of_level` bytes of all warps.
  WW_FN void begin(const Held<S>& held, const TimeBlock& block, const LaneFaces& faces, int warp, int lane, int s,
                   int row_bytes, int of_level) {
    const FaceTable& table = held.frame.table;
    const int y = faces.y - warp * S::vy;
    low = S::face(2, 0) == function_face && faces.any_low;
    high = S::face(2, 1) == function_face && faces.any_high;
#pragma unroll
    for (int r = 0; r < rows; r++) {
      const int n = warp + r * S::warps, m = n % of_level_rows, side = m < S::halo_rows, k = side ? m : sides - 1 - m;
      const bool above = S::face(1, 0) == function_face && y == block.face_low[1];
      const bool below = S::face(1, 1) == function_face && y + tall == block.face_high[1];
      there[r] = n < S::levels * sides && (side ? below : above);
      const int level = lower(n / of_level_rows, S::levels - 1), z = s - late(level) - table.low[0];
      row_high[r] = S::high(level % S::stages);
      row_to[r] = (level + 1) * of_level + (m - sides) * row_bytes;
      each(typename S::Fields{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        const int plane = (table_row<S, F>(held, level) * table.deep[1] + k) * table.places[0] + z;
        row_at[r][F] = table.first[1][side] + plane * table.places[2] + faces.x - table.low[2];
      });
    }
#pragma unroll
    for (int c = 0; c < cells; c++) {
      const int q = lower(warp * 32 + lane + c * threads, staged_rows<S>() - 1), level = q / tall;
      const int column = y + q % tall - table.low[1], z = s - late(level) - table.low[0];
      each(typename S::Fields{}, [&](auto f) {
        constexpr int F = decltype(f)::value;
        const int plane = table_row<S, F>(held, level) * table.deep[2] * table.places[0] + z;
        cell_at[c][F] = plane * table.places[1] + higher(0, lower(column, table.places[1] - 1));
      });
    }
  }

  // Reads what the next round needs.
  WW_FN void read(const Held<S>& held) {
    const FaceTable& table = held.frame.table;
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      const auto* values = values_of<S, F>(table);
#pragma unroll
      for (int r = 0; r < rows; r++) {
#pragma unroll
        for (int j = 0; j < S::vx; j++) {
          if (there[r]) row_values.template of<F>().at(r, j) = InRegister<S, F>::put(values[row_at[r][F] + j]);
        }
        row_at[r][F] += table.places[2];
      }
#pragma unroll
      for (int c = 0; c < cells; c++) {
        const int farther = table.places[0] * table.places[1];
#pragma unroll
        for (int side = 0; side < 2; side++) {
#pragma unroll
          for (int k = 0; k < widest<S>(F, side); k++) {
            auto& value = cell_values.template of<F>().at(2 * c + side, k);
            const int at = table.first[2][side] + k * farther + cell_at[c][F];
            if (side ? high : low) value = InRegister<S, F>::put(values[at]);
          }
        }
        cell_at[c][F] += table.places[1];
      }
    });
  }

  // Puts it where that round, of phase `Phase`, reads it: rows from `edges` on, the lane's place there, in slots of `edge_slot`
  // bytes.
  template <int Phase>
  WW_FN void put(const Held<S>& held, char* edges, int edge_slot, int warp, int lane) const {
    each(typename S::Fields{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      using C = RegisterType<S, F>;
      constexpr int U = unit_of<S, C>();
#pragma unroll
      for (int r = 0; r < rows; r++) {
        const int high = S::stages == 1 ? S::high(0) : row_high[r], slot = (Phase - high + S::kept) % S::kept;
        char* to = edges + slot * edge_slot + row_to[r] + bytes_before<S, false>(F, typename S::Fields{});
        C* own = reinterpret_cast<C*>(to + (U * int(sizeof(C)) - 16) * lane);
#pragma unroll
        for (int q = 0; q < S::vx / U; q++) {
          if (there[r]) store_vector<U>(own + q * 32 * U, &row_values.template of<F>().at(r, q * U));
        }
      }
#pragma unroll
      for (int c = 0; c < cells; c++) {
        const int q = warp * 32 + lane + c * threads;
#pragma unroll
        for (int side = 0; side < 2; side++) {
#pragma unroll
          for (int k = 0; k < widest<S>(F, side); k++) {
            if (q < staged_rows<S>() && (side ? high : low)) {
              staged_cells<S, F>(held.beyond_x, Phase, side, k)[q] = cell_values.template of<F>().at(2 * c + side, k);
            }
          }
        }
      }
    });
  }
};

}  // namespace ww::stencil
