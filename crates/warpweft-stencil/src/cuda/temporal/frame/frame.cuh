// Frame: where the cells of a pass are in the whole volume and in time, for functions of faces, for element functions that
// ask for their cell's index or the step, and for those that may fault or loop.
//
// A tile computes cells beyond those that it stores, some of them from garbage. Functions that may fault, or whose loops may
// go on for ever, are called only for cells that a stored one depends on: these have the values of single steps. A fault of an
// earlier level precedes one of a later level: threads note the first of each cell, and the last block of a pass reports the
// first of all, where nothing was reported before.
//
// `S` has, next to what levels.cuh says: `knows`, whether functions ask for index or step; `guarded`, whether they may fault or
// loop; `faults`; `reach(axis, side)`, how far a step reads; and `rest(stage, axis, side)`, how far the stages after it read.
// Invariant: passes follow one another on the device, which counts their steps.
#pragma once

namespace ww::stencil {

struct StepClock {
  u64 steps;    // done before the present pass
  u32 arrived;  // blocks of it that have read that
};

// Values beyond faces that are functions, in memory (functions.cuh): by face, step of a pass, distance from the face and place
// along the other axes.
struct FaceTable {
  char* values;          // of all fields, one after another
  i64 entries;           // of each
  int first[3][2];       // of each face
  int low[3], places[3]; // the first place along each axis, and how many there are
  int deep[3];           // distances
  int ends[3][2];        // the first cell inside a face, and the first beyond it; far away where there is none
};

// Along z, y and x.
struct Frame {
  i64 begin[3], period[3];  // where the first cell is in the whole volume, and its extent where indices wrap, else 0
  int low[3], high[3];      // cells that are right after the pass
  StepClock* clock;         // of functions of faces, where there are any
  StepClock* place;         // of functions that ask for the step, likewise
  u32* fault;               // the first site that faulted, or 0, where any can
  FaceTable table;          // where faces are functions
};

// Steps done before this pass of `depth` steps, where they are counted. The last block that asks counts the pass (as in
// NVIDIA's sample threadFenceReduction).
WW_FN u64 steps_done(StepClock* clock, int depth) {
  if (!clock) return 0;
  const u64 steps = *const_cast<const volatile u64*>(&clock->steps);
#if WW_DEVICE
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    const u32 last = gridDim.x * gridDim.y * gridDim.z - 1;
    if (atomicInc(&clock->arrived, last) == last) clock->steps = steps + depth;
  }
#endif
  return steps;
}

// What is known of held faces, and of the cells of a pass.
template <class S>
struct Framed {
  const HeldValues& values;
  const Frame& frame;
  u64 steps;                  // done before the warp's first level, where functions ask
  int before;                 // steps of the pass that other warps do before it
  int from[3], to[3];         // the cells that the tile stores, as far as they are right after the pass
};
template <class S>
WW_FN const HeldValues& held_values(const Framed<S>& held) {
  return held.values;
}

// What an element function is told of its cell.
template <class S>
struct CellPlace {
  const Frame& frame;
  int z, y, x;
  u64 step;
  template <int D>
  WW_FN array<usize, D> index() const {
    const int cell[] = {z, y, x};
    array<usize, D> index;
#pragma unroll
    for (int d = 0; d < D; d++) {
      const int axis = D == 1 ? 2 : D == 2 ? 2 * d : d;
      const i64 at = cell[axis] + frame.begin[axis], period = frame.period[axis];
      const i64 low = at < 0 ? at + period : at;
      index.items[d] = usize(period > 0 && low >= period ? low - period : low);
    }
    return index;
  }
};

// Whether a cell that a level makes is one that a stored cell depends on.
template <class S, int Level>
WW_FN bool is_needed(const Held<S>& held, const TimeBlock& block, int z, int y, int x) {
  constexpr int stage = Level % S::stages;
  const int later = S::depth - 1 - held.before - Level / S::stages;  // steps
  const int cell[] = {z, y, x};
  bool needed = true;
#pragma unroll
  for (int axis = 0; axis < 3; axis++) {
    const int low = held.from[axis] - later * S::reach(axis, 0) - S::rest(stage, axis, 0);
    const int high = held.to[axis] + later * S::reach(axis, 1) + S::rest(stage, axis, 1);
    needed &= cell[axis] >= higher(low, block.face_low[axis]) && cell[axis] < lower(high, block.face_high[axis]);
  }
  return needed;
}

// Says which level of the pass a thread computes.
template <class S>
WW_FN void begin_level(int level) {
#ifdef WW_SITES
  WW_OWN_LEVEL = level;
#endif
}
// Takes note of what it has faulted at.
template <class S>
WW_FN void note_fault(int level) {
#ifdef WW_SITES
  u32& site = WW_OWN_SITE;
  if (site == 0) return;
  const u32 fault = u32(level) << WW_SITE_BITS | site;
#if WW_DEVICE
  atomicMin(&ww_first, fault);
#else
  ww_first = fault < ww_first ? fault : ww_first;
#endif
  site = 0;
#endif
}
// Loops end after a fault that was reported before.
WW_FN void begin_faults(const Frame& frame) {
#ifdef WW_SITES
  WW_OWN_SITE = 0;
  if (*const_cast<const volatile u32*>(frame.fault) != 0) ww_over = 1;
#endif
}
// The last block of a pass that comes here reports its first fault.
WW_FN void end_faults(const Frame& frame) {
#ifdef WW_SITES
#if WW_DEVICE
  __syncthreads();
  if (threadIdx.x > 0 || threadIdx.y > 0) return;
  __threadfence();
  const u32 last = gridDim.x * gridDim.y * gridDim.z - 1;
  if (atomicInc(&ww_arrived, last) != last) return;
  const u32 first = atomicExch(&ww_first, ~0u);
  if (first != ~0u) atomicCAS(frame.fault, 0u, first & ((1u << WW_SITE_BITS) - 1));
#else
  // Blocks run one after another, in one pass.
  if (ww_first != ~0u) *frame.fault = ww_first & ((1u << WW_SITE_BITS) - 1);
#endif
#endif
}

}  // namespace ww::stencil
