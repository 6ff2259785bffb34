// One pass over a volume: x and y as in a plane, by the half-rate m8n8k4, whose operands leave registers for the sums along z.
//
// Grid:   (tiles of COLUMNS along x, tiles of TILE_ROWS along y, chunks of `chunk` planes).
// Block:  WARPS warps side by side along x, 16 columns each; every thread stays to the end, for the barriers.
// Shared: SLOTS parts of planes, then one mbarrier a slot.
// Invariants: as of a plane's pass, with planes in place of groups of rows.
#pragma once

constexpr int WARPS = 8, SLOTS = 5;
constexpr int COLUMNS = 16 * WARPS, TILE_ROWS = 16;
constexpr int READ = COLUMNS + 2 * REACH, READ_ROWS = TILE_ROWS + 2 * REACH;
constexpr int ROW = READ % 16 == 8 ? READ : READ + 8;
constexpr int TAPS = 2 * REACH + 1, HALVES = TILE_ROWS / 8;

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
    ww_volume(const double* __restrict__ from, double* __restrict__ to, int chunk, Volume v, const __grid_constant__ Bands weights) {
  extern __shared__ __align__(128) double planes[];
  __shared__ unsigned long long arrived[SLOTS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pair = lane % 4, own = lane / 4;
  const int left = blockIdx.x * COLUMNS, x = left + 16 * warp, top = blockIdx.y * TILE_ROWS;
  const int front = blockIdx.z * chunk, begin = max(front, v.skip_z), end = min(front + chunk, v.nz - v.skip_z);
  // The loop below is unrolled over as many planes as there are weights along z.
  const int count = (max(0, end - front) + 2 * REACH + TAPS - 1) / TAPS * TAPS;
  if (threadIdx.x < SLOTS) barrier_init(arrived + threadIdx.x);
  barriers_ready();
  __syncthreads();

  const double* next = from + v.origin + (front - REACH) * v.plane + (top - REACH + lane) * v.pitch + left - REACH;
  auto request = [&](int slot) {
    if (warp == 0) {
      if (lane == 0) barrier_expect(arrived + slot, READ_ROWS * READ * 8);
      __syncwarp();
      if (lane < READ_ROWS) copy_row(planes + (slot * READ_ROWS + lane) * ROW, next, READ * 8, arrived + slot);
      next += v.plane;
    }
  };
  for (int plane = 0; plane < SLOTS && plane < count; plane++) request(plane);

  double along_x[WINDOWS][2], along_y[WINDOWS][2], sums[TAPS][HALVES][2][2];
  band(along_x, weights.x, lane);
  band(along_y, weights.y, lane);
  int z = front - 2 * REACH, slot = 0;
  double* out = to + v.origin + z * v.plane + (top + own) * v.pitch + x + 2 * pair;
  unsigned stored = 0, parity = 0;
#pragma unroll
  for (int half = 0; half < HALVES; half++) {
#pragma unroll
    for (int block = 0; block < 2; block++) {
#pragma unroll
      for (int c = 0; c < 2; c++) {
        const int at_x = x + 8 * block + 2 * pair + c, at_y = top + 8 * half + own;
        if (at_x >= v.skip_x && at_x < v.nx - v.skip_x && at_y >= v.skip_y && at_y < v.ny - v.skip_y) {
          stored |= 1u << (half * 4 + block * 2 + c);
        }
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) sums[tap][half][block][c] = 0.0;
      }
    }
  }
#pragma unroll 1
  for (int plane = 0; plane < count;) {
#pragma unroll
    for (int turn = 0; turn < TAPS; turn++) {
      double in_plane[HALVES][2][2] = {};
      barrier_wait(arrived + slot, parity);
      const double* part = planes + (slot * READ_ROWS + own) * ROW + 16 * warp + 2 * pair;
#pragma unroll
      for (int group = 0; group < HALVES + WINDOWS - 1; group++) {
        double product[2][2] = {}, cells[WINDOWS + 1][2];
#pragma unroll
        for (int window = 0; window <= WINDOWS; window++) {
          const double2 two = *(const double2*)(part + 8 * group * ROW + 8 * window);
          cells[window][0] = two.x;
          cells[window][1] = two.y;
        }
#pragma unroll
        for (int window = 0; window < WINDOWS; window++) {
#pragma unroll
          for (int j = 0; j < 2; j++) {
#pragma unroll
            for (int block = 0; block < 2; block++) multiply_8(product[block], along_x[window][j], cells[block + window][j]);
          }
        }
#pragma unroll
        for (int window = 0; window < WINDOWS; window++) {
          if (group - window < 0 || group - window >= HALVES) continue;
#pragma unroll
          for (int j = 0; j < 2; j++) {
#pragma unroll
            for (int block = 0; block < 2; block++) {
              multiply_8(in_plane[group - window][block], along_y[window][j], product[block][j]);
            }
          }
        }
      }
      __syncthreads();
      if (plane + SLOTS < count) request(slot);
      plane++;
      if (++slot == SLOTS) {
        slot = 0;
        parity ^= 1;
      }
      // Plane `turn` is tap (turn - k) of sum k, which begins with tap 0.
#pragma unroll
      for (int k = 0; k < TAPS; k++) {
        const int tap = (turn - k + TAPS) % TAPS;
#pragma unroll
        for (int n = 0; n < 4 * HALVES; n++) {
          double& sum = sums[k][n / 4][n / 2 % 2][n % 2];
          const double value = in_plane[n / 4][n / 2 % 2][n % 2];
          sum = tap == 0 ? weights.z[0] * value : fma(weights.z[tap], value, sum);
        }
      }
      if (z >= begin && z < end) {
        const int whole = (turn + 1) % TAPS;
#pragma unroll
        for (int n = 0; n < 2 * HALVES; n++) {
          double* at = out + n / 2 * 8 * v.pitch + n % 2 * 8;
          const double(&two)[2] = sums[whole][n / 2][n % 2];
          if ((stored >> 2 * n & 3) == 3) {
            *(double2*)at = make_double2(two[0], two[1]);
          } else {
            if (stored >> 2 * n & 1) at[0] = two[0];
            if (stored >> 2 * n & 2) at[1] = two[1];
          }
        }
      }
      z++;
      out += v.plane;
    }
  }
}
