// Place: where cells are in the whole volume, and which step it is, for element functions that ask for it.
//
// Launches are replayed from graphs, so both are in memory. After the last stage of a step `ww_tick` counts it.
// Grid, block: one thread.
#pragma once

namespace ww::stencil {

struct Place {
  i64 begin[4];   // index of cell (0, 0, 0, 0), along w, z, y, x
  i64 period[4];  // the whole volume's extent where indices wrap, else 0
  u64 step;       // steps done before the present one
  u32 arrived;    // of fused steps: blocks of a pass that have read that (frame.cuh)
};

}  // namespace ww::stencil

#if WW_DEVICE
extern "C" __device__ ww::stencil::Place ww_place;
#endif
__device__ ww::stencil::Place ww_place = {};

extern "C" __global__ void ww_tick() { ww_place.step++; }

namespace ww::stencil {

// The index along an axis of the cell that is number `cell` here.
WW_FN usize whole_index(int axis, int cell) {
  const i64 index = cell + ww_place.begin[axis], period = ww_place.period[axis];
  const i64 low = index < 0 ? index + period : index;
  return usize(period > 0 && low >= period ? low - period : low);
}

}  // namespace ww::stencil
