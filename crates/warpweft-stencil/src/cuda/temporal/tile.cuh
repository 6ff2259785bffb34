// Tile: what a block of the kernels in three dimensions computes and stores, whatever its warps keep of it.
//
// Grid:   (tiles of x, tiles of y, chunks of planes) in the order of `block_place`: neighbours run side by side and
//         meet in L2.
// Block:  32 lanes of `vx` cells along x, `warps` of `vy` rows along y.
// Invariant: tiles' overlap cells are computed from garbage at the ends and dropped; a tile that ends a closed axis ends
// at its last row.
#pragma once

namespace ww::stencil {

template <class S>
struct Tile {
  static constexpr int columns = 32 * S::vx, inner = columns - S::overlap_low - S::overlap_high;
  static constexpr int tall = S::warps * S::vy, inner_y = tall - S::overlap_above - S::overlap_below;

  const Pointers<S>& fields;
  const TimeBlock& block;
  Held<S> held;
  LaneFaces faces;
  bool face_above, face_below;  // the warp's first row is the first inside the low face along y; its last the last
  bool at_face;                 // whether the tile has a face along x or y
  int warp, lane, first, end;
  i64 corner;                   // the thread's first cell in a plane
  int x_read;                   // where its cells of a row are read
  int y;                        // its first row
  unsigned whole, part;    // a bit for each unit of cells of a row: it is stored; only its cells of the volume are
  unsigned rows;           // a bit for each row that is stored
  int cells;               // the lane's cells before the volume's end

  // The tile of block (x, y) over chunk z, of which the warp has the rows of its number.
  WW_FN void place_tile(int number) {
    lane = threadIdx.x;
    warp = number;
    const BlockPlace place = block_place<S>();
    first = block.low[0] + place.chunk * block.chunk;
    end = lower(first + block.chunk, block.high[0]);
    const int tile_x = block.origin[1] + place.x * inner, x = tile_x + lane * S::vx;
    const bool last_x = place.x == int(gridDim.x) - 1, last_y = place.y == int(gridDim.y) - 1;
    // The last tile along y ends where the axis does.
    int tile_y = block.origin[0] + place.y * inner_y;
    if (last_y) tile_y = lower(tile_y, block.last_tile);
    y = tile_y + warp * S::vy;
    faces = {x == block.face_low[2], x + S::last == block.face_high[2], tile_x <= block.face_low[2],
             tile_x + columns >= block.face_high[2], y, x};
    face_above = y == block.face_low[1];
    face_below = y + S::vy == block.face_high[1];
    // The outermost tiles have no overlap cells beyond a face.
    const int from = place.x == 0 ? block.low[2] : tile_x + S::overlap_low;
    const int to = last_x ? block.high[2] : tile_x + columns - S::overlap_high;
    whole = part = rows = 0;
    cells = block.high[2] - x;
    for (int u = 0; u < S::vx / S::unit; u++) {
      const int c = x + u * S::unit;
      if (c < from || c >= to) continue;
      (c + S::unit <= block.high[2] ? whole : part) |= 1u << u;
    }
    const int from_y = place.y == 0 ? block.low[1] : tile_y + S::overlap_above;
    const int to_y = last_y ? block.high[1] : tile_y + tall - S::overlap_below;
    for (int i = 0; i < S::vy; i++) rows |= unsigned(y + i >= from_y && y + i < to_y) << i;
    need<S>(held, 0, first, end);
    need<S>(held, 1, from_y, to_y);
    need<S>(held, 2, from, to);
    corner = y * block.y + x;
    x_read = higher(block.room_low[2], lower(x, block.room_high[2] - S::vx));
    at_face = tile_x <= block.face_low[2] || tile_x + columns >= block.face_high[2] ||
              tile_x + columns > block.high[2] || tile_y <= block.face_low[1] ||
              tile_y + tall >= block.face_high[1];
  }
  // The thread's first cell of plane p, or of the nearest that may be read.
  WW_FN i64 first_of(int p) const {
    return higher(block.room_low[0], lower(p, block.room_high[0] - 1)) * block.z + y * block.y + x_read;
  }
  // How far the next plane to read is from plane p: planes beyond the room of an array are the last within it.
  WW_FN i64 to_next(int p) const {
    return p >= block.room_low[0] && p < block.room_high[0] - 1 ? block.z : 0;
  }

  template <bool Parts>
  WW_FN void store(const Plane<S>& plane, i64 at_out) const {
    each(typename S::Writes{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
#pragma unroll
      for (int i = 0; i < S::vy; i++) {
        auto* to = fields.template out<F>() + at_out + i * block.y;
        if (rows >> i & 1) store_cells<S, F, Parts>(to, plane.template of<F>(), i, whole, part, cells);
      }
    });
  }
};

}  // namespace ww::stencil
