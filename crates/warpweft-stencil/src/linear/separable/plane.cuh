// One pass over a plane.
//
// Grid:   (tiles of COLUMNS along x, chunks of `chunk` rows).
// Block:  WARPS warps side by side along x, 16 columns each; every thread stays to the end, for the barriers.
// Shared: SLOTS groups of 8 rows, then one mbarrier a slot.
// Invariants: group k of the chunk lies in slot k mod SLOTS and completes its mbarrier in parity (k / SLOTS) mod 2. A slot
// is refilled only after a block barrier that follows the last read of its group.
#pragma once

constexpr int WARPS = 8, SLOTS = 4;
constexpr int COLUMNS = 16 * WARPS;
constexpr int READ = COLUMNS + 2 * REACH;
constexpr int ROW = READ % 16 == 8 ? READ : READ + 8;  // apart by half of the banks: neighbouring rows do not collide

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
    ww_plane(const double* __restrict__ from, double* __restrict__ to, int chunk, Volume v, const __grid_constant__ Bands weights) {
  extern __shared__ __align__(128) double rows[];
  __shared__ unsigned long long arrived[SLOTS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pair = lane % 4, own = lane / 4;
  const int left = blockIdx.x * COLUMNS, x = left + 16 * warp, top = blockIdx.y * chunk;
  const int begin = max(top, v.skip_y), end = min(top + chunk, v.ny - v.skip_y);
  // Outputs of a group are whole once WINDOWS groups were read; the loop below is unrolled over as many.
  const int groups = ((max(0, end - top) + 7) / 8 + WINDOWS - 1 + WINDOWS - 1) / WINDOWS * WINDOWS;
  if (threadIdx.x < SLOTS) barrier_init(arrived + threadIdx.x);
  barriers_ready();
  __syncthreads();

  const double* next = from + v.origin + (top - REACH + lane) * v.pitch + left - REACH;
  auto request = [&](int slot) {
    if (warp == 0) {
      if (lane == 0) barrier_expect(arrived + slot, 8 * READ * 8);
      __syncwarp();
      if (lane < 8) copy_row(rows + (slot * 8 + lane) * ROW, next, READ * 8, arrived + slot);
      next += 8 * v.pitch;
    }
  };
  for (int group = 0; group < SLOTS && group < groups; group++) request(group);

  double along_x[WINDOWS][2], along_y[WINDOWS][2], sums[WINDOWS][4] = {};
  band(along_x, weights.x, lane);
  band(along_y, weights.y, lane);
  bool stored[2];
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int at = x + own + 8 * half;
    stored[half] = at >= v.skip_x && at < v.nx - v.skip_x;
  }
  int y = top - 8 * (WINDOWS - 1), slot = 0;
  double* out = to + v.origin + (y + 2 * pair) * v.pitch + x + own;
  unsigned parity = 0;
#pragma unroll 1
  for (int group = 0; group < groups;) {
#pragma unroll
    for (int turn = 0; turn < WINDOWS; turn++) {
      double cells[WINDOWS + 1][2], product[4] = {};
      barrier_wait(arrived + slot, parity);
      const double* row = rows + (slot * 8 + own) * ROW + 16 * warp + 2 * pair;
#pragma unroll
      for (int window = 0; window <= WINDOWS; window++) {
        const double2 two = *(const double2*)(row + 8 * window);
        cells[window][0] = two.x;
        cells[window][1] = two.y;
      }
      // 16 outputs: the second 8 begin a window later.
#pragma unroll
      for (int window = 0; window <= WINDOWS; window++) {
        const bool first = window < WINDOWS, second = window > 0;
        multiply_16(product, first ? along_x[window % WINDOWS][0] : 0.0, second ? along_x[(window + WINDOWS - 1) % WINDOWS][0] : 0.0,
                    first ? along_x[window % WINDOWS][1] : 0.0, second ? along_x[(window + WINDOWS - 1) % WINDOWS][1] : 0.0,
                    cells[window][0], cells[window][1]);
      }
      __syncthreads();
      if (group + SLOTS < groups) request(slot);
      group++;
      if (++slot == SLOTS) {
        slot = 0;
        parity ^= 1;
      }
#pragma unroll
      for (int window = WINDOWS - 1; window >= 0; window--) {
        multiply_16(sums[(turn - window + 2 * WINDOWS) % WINDOWS], product[0], product[2], product[1], product[3],
                    along_y[window][0], along_y[window][1]);
      }
      double(&whole)[4] = sums[(turn + 1) % WINDOWS];
      if (y + 7 >= begin && y < end) {
#pragma unroll
        for (int c = 0; c < 4; c++) {
          const int at = y + 2 * pair + c % 2;
          if (stored[c / 2] && at >= begin && at < end) out[c % 2 * v.pitch + c / 2 * 8] = whole[c];
        }
      }
#pragma unroll
      for (int c = 0; c < 4; c++) whole[c] = 0.0;
      y += 8;
      out += 8 * v.pitch;
    }
  }
}
