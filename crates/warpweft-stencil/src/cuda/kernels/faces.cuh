// Faces: gives the ghost cells beyond faces that are functions their values.
//
// Grid:   (blocks over the ghost cells of the largest slab, slabs).
// Block:  256 threads, a ghost cell each.
// Shared: none.
// Invariants: slabs do not overlap and hold just the ghosts that their face decides. Launches are
// replayed from graphs, so the number of steps done is in memory: the launch after a step's last stage
// adds one when its last block has read it (blocks count themselves, as in NVIDIA's sample
// threadFenceReduction).
#pragma once

namespace ww::stencil {

struct Clock {
  u64 steps;    // done before the present step
  u32 arrived;  // blocks of the present launch that have read it
};

struct FaceSlab {
  int low[4];
  u32 size[4];
  int face;  // number of the function
};

struct Faces {
  i64 stride[4];     // of w, z, y, x
  i64 begin[4];      // where cell (0, 0, 0, 0) is in the whole volume
  i64 period[4];     // its extent where indices wrap, else 0
  u64 steps;         // where there is no clock
  Clock* clock;
  void* field[32];   // at cell (0, 0, 0, 0)
  int extent[4];
  int boundary[4][2];  // as in copied.cuh
  FaceSlab slab[8];
  u32 now, next;  // fields that get the value after so many steps, and after one more
  int tick;       // whether a step ends with this launch
};

// Two values, not one of two places: the compiler took the parameter's place for one in global memory.
WW_FN u64 face_steps(const Faces& g) {
  u64 steps = g.steps;
  if (g.clock) steps = *const_cast<const volatile u64*>(&g.clock->steps);
  return steps;
}

// The ghost of this thread: its element, and the position that the function is given.
WW_FN bool face_cell(const Faces& g, i64& to, i64 (&told)[4]) {
  const FaceSlab& slab = g.slab[blockIdx.y];
  u32 rest = blockIdx.x * 256 + threadIdx.x;
  to = 0;
#pragma unroll
  for (int d = 3; d >= 0; d--) {
    const int at = slab.low[d] + int(rest % slab.size[d]);
    rest /= slab.size[d];
    i64 source = at;
    if (at < 0 || at >= g.extent[d]) {
      const int kind = g.boundary[d][at < 0 ? 0 : 1];
      if (!held(kind) && kind != shared) source = copied(kind, at, g.extent[d]);
    }
    source += g.begin[d];
    if (g.period[d] > 0) {
      source %= g.period[d];
      if (source < 0) source += g.period[d];
    }
    told[d] = source;
    to += at * g.stride[d];
  }
  return rest == 0;
}

WW_FN void face_tick(const Faces& g) {
#if WW_DEVICE
  if (!g.clock || !g.tick) return;
  __syncthreads();
  if (threadIdx.x > 0) return;
  __threadfence();
  const u32 last = gridDim.x * gridDim.y - 1;
  if (atomicInc(&g.clock->arrived, last) == last) g.clock->steps += 1;
#endif
}

}  // namespace ww::stencil
