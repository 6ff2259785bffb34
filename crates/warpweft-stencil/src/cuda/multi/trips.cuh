// Trips: Pipeline over several devices. The chunks at a cut come first, wait for the neighbour and store
// the planes of its ghost zone there, as many as the trip has steps; flags and order as in edges.cuh.
//
// Grid, block, shared: as Pipeline, with chunks in the launch order of layers.
// Invariants: as Pipeline and Edges. Ghosts of a ghost zone that lie beyond periodic faces come with
// the cells that they copy, since those are the neighbour's. Planes are read by cp.async.cg, which goes
// past L1, so none is stale once the wait is over.
// Tried on two H200s, heat of order 2: to wait for the cut above only when a march gets there, 3 to 6 % slower in 3D
// and 1 to 6 % in 2D; to tell below as soon as that is stored, 17 to 30 % and 4 to 11 %, since a fence amid a march
// waits for all that is on its way; to tell once a launch, from the next one, instead of once a tile, the same within 2 %.
#pragma once

namespace ww::stencil {

struct CutTrip : Trip {
  i64 to[2];                // from a cell here to its place with the neighbour below and above
  int low_end, high_start;  // planes before this one go below, planes from this one on above
  int around;               // as in Edges
  int unused;
};
template <class S>
struct TripType<Edged<S>> {
  using type = CutTrip;
};

template <class S>
struct Passed<Edged<S>> {
  WW_FN static int low(const CutTrip& trip) { return trip.low_end; }
  WW_FN static int high(const CutTrip& trip) { return lower(trip.high_start, Trip::far); }
  template <class Store>
  WW_FN static void plane(const CutTrip& trip, int z, const Store& store) {
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      if (side == 0 ? z < trip.low_end : z >= trip.high_start) store(trip.to[side]);
    }
  }
};

// Copies a ghost zone's ghosts beyond periodic faces to the neighbour, of the cells that the block's
// threads have stored: each takes what it stored itself, a cell at a time, since few blocks have any.
template <class S, class T>
WW_FN void pass_images(T* out, const CutTrip& trip, int chunk) {
  using G = Tile<S>;
  if (trip.around == 0) return;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int tile = G::flat ? blockIdx.x * S::warps + warp : blockIdx.x;
  const int x0 = tile * G::inner_x, y0 = G::flat ? 0 : blockIdx.y * G::inner_y;
  const int x1 = lower(x0 + G::inner_x, trip.extent[2]);
  const int y1 = G::flat ? 1 : lower(y0 + G::inner_y, trip.extent[1]);
  const bool near_x = x0 < S::depth || x1 > trip.extent[2] - S::depth;
  const bool near_y = y0 < S::depth || y1 > trip.extent[1] - S::depth;
  const int first = chunk * trip.chunk, end = lower(first + trip.chunk, trip.extent[0]);
  if (!(near_x && (trip.around & 1)) && !(near_y && (trip.around & 2))) return;
  if (!G::flat) __syncthreads();
  __syncwarp();
  // Rows and columns of the tile are dealt anew: what a warp (2D) or block (3D) stored is seen by it.
  const int from_y = G::flat ? 0 : y0 + warp, step_y = G::flat ? 1 : S::warps;
#pragma unroll 1
  for (int z = first; z < end; z++) {
    if (z >= trip.low_end && z < trip.high_start) continue;
#pragma unroll 1
    for (int y = from_y; y < y1; y += step_y) {
#pragma unroll 1
      for (int x = x0 + lane; x < x1; x += 32) {
#pragma unroll 1
        for (int image = 0; image < 9; image++) {
          const int by_y = image / 3 - 1, by_x = image % 3 - 1;
          if (image == 4 || (by_x != 0 && !(trip.around & 1)) || (by_y != 0 && !(trip.around & 2))) continue;
          const int row = y + by_y * trip.extent[1], column = x + by_x * trip.extent[2];
          if (row < -S::depth || row >= trip.extent[1] + S::depth) continue;
          if (column < -S::depth || column >= trip.extent[2] + S::depth) continue;
          const T* cell = out + z * trip.z + y * trip.y + x;
          T* to = out + z * trip.z + row * trip.y + column;
          const T value = *static_cast<const volatile T*>(cell);
          if (z < trip.low_end) to[trip.to[0]] = value;
          if (z >= trip.high_start) to[trip.to[1]] = value;
        }
      }
    }
  }
}

// The block's tiles of a trip.
template <class S, class T, class E>
WW_FN void cut_pipeline(const T* in, T* out, const CutTrip& trip, const Edges& edges, const E& element) {
  take_turn();
  Turn turn = turn_of(edges.layers, edges.groups);
  Count count;
  if (turn.edge() && !begin<S>(edges, turn, count)) return;
  pipeline_chunk<Edged<S>>(in, out, trip, element, turn.layer);
  if (!turn.edge()) return;
  pass_images<S>(out, trip, turn.layer);
  end(edges, turn, count);
}

}  // namespace ww::stencil
