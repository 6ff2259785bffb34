// What the products with bands cannot do: cells next to fixed faces, by single steps in shared memory, and the ghost cells
// of periodic axes and of those whose cells are continued beyond fixed faces by images.
#pragma once

constexpr int RADIUS = WW_RADIUS, DIMS = WW_DIMS;     // of a single step
constexpr int SIDE = DIMS == 3 ? 16 : 64;             // output cells along a face
constexpr int DEEP = 2 * REACH + RADIUS, WIDE = SIDE + 2 * REACH;  // cells of a box across a face and along it

struct Single {  // weights of a single step
  double x[2 * RADIUS + 1], y[2 * RADIUS + 1], z[2 * RADIUS + 1];
};

struct Box {  // where a box begins, and the cells that it writes
  int from[3], low[3], high[3];  // x, y, z
  int across;                    // the axis that its face is across, 0 to 2
};

// Takes `steps` steps in a box of BX x BY x BZ cells. Where the box reaches beyond a fixed face, cells outside keep their
// value; at its other sides the cells that are right become RADIUS fewer in each step.
template <int BX, int BY, int BZ>
__device__ void steps_in_box(const double* from, double* to, int steps, const Volume& v, const Single& weights, const Box& box) {
  extern __shared__ double cells[];
  constexpr int CELLS = BX * BY * BZ, ALONG = DIMS == 3 ? BZ : BY, COLUMN = DIMS == 3 ? BX * BY : BX;
  // A thread takes a segment of a column at a time, whose sums across the column it has in registers.
  constexpr int SEGMENT = ALONG <= 12 ? ALONG : 8, PARTS = (ALONG + SEGMENT - 1) / SEGMENT;
  const int extent[3] = {BX, BY, BZ}, size[3] = {v.nx, v.ny, v.nz}, fixed[3] = {v.skip_x, v.skip_y, v.skip_z};
  double *now = cells, *then = cells + CELLS;
  for (int i = threadIdx.x; i < CELLS; i += blockDim.x) {
    const int at[3] = {i % BX + box.from[0], i / BX % BY + box.from[1], i / (BX * BY) + box.from[2]};
    bool inside = true;
#pragma unroll
    for (int axis = 0; axis < DIMS; axis++) inside &= fixed[axis] == 0 || (at[axis] >= 0 && at[axis] < size[axis]);
    // A box next to the last face of an axis may reach beyond the ghost cells of another, with cells that nobody needs.
#pragma unroll
    for (int axis = 0; axis < DIMS; axis++) inside &= at[axis] >= -(REACH + RADIUS) && at[axis] < size[axis] + REACH + RADIUS;
    now[i] = then[i] = inside ? from[v.origin + at[2] * v.plane + at[1] * v.pitch + at[0]] : v.outside;
  }
  __syncthreads();
  for (int step = 1; step <= steps; step++) {
    int low[3], high[3];
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
      const bool before = fixed[axis] && -box.from[axis] >= RADIUS;
      const bool after = fixed[axis] && box.from[axis] + extent[axis] - size[axis] >= RADIUS;
      low[axis] = axis >= DIMS ? 0 : before ? -box.from[axis] : step * RADIUS;
      high[axis] = axis >= DIMS ? 1 : after ? size[axis] - box.from[axis] : extent[axis] - step * RADIUS;
    }
    const int first = low[DIMS - 1], last = high[DIMS - 1];
    for (int i = threadIdx.x; i < COLUMN * PARTS; i += blockDim.x) {
      const int column = i % COLUMN, begin = i / COLUMN * SEGMENT, x = column % BX, y = column / BX;
      const bool needed = x >= low[0] && x < high[0] && (DIMS == 2 || (y >= low[1] && y < high[1]));
      if (!needed || begin >= last || begin + SEGMENT <= first) continue;
      double sums[SEGMENT + 2 * RADIUS];
#pragma unroll
      for (int k = 0; k < SEGMENT + 2 * RADIUS; k++) {
        const int at = begin + k - RADIUS;
        double sum = 0.0;
        if (at >= 0 && at < ALONG) {
          const double* middle = now + column + at * COLUMN;
          if constexpr (DIMS == 3) {
#pragma unroll
            for (int dy = -RADIUS; dy <= RADIUS; dy++) {
              double row = 0.0;
#pragma unroll
              for (int dx = -RADIUS; dx <= RADIUS; dx++) row = fma(weights.x[dx + RADIUS], middle[dy * BX + dx], row);
              sum = fma(weights.y[dy + RADIUS], row, sum);
            }
          } else {
#pragma unroll
            for (int dx = -RADIUS; dx <= RADIUS; dx++) sum = fma(weights.x[dx + RADIUS], middle[dx], sum);
          }
        }
        sums[k] = sum;
      }
#pragma unroll
      for (int k = 0; k < SEGMENT; k++) {
        if (begin + k < first || begin + k >= last) continue;
        double sum = 0.0;
#pragma unroll
        for (int d = 0; d <= 2 * RADIUS; d++) sum = fma(DIMS == 3 ? weights.z[d] : weights.y[d], sums[k + d], sum);
        then[column + (begin + k) * COLUMN] = sum;
      }
    }
    __syncthreads();
    double* const other = now;
    now = then;
    then = other;
  }
  for (int i = threadIdx.x; i < CELLS; i += blockDim.x) {
    const int at[3] = {i % BX + box.from[0], i / BX % BY + box.from[1], i / (BX * BY) + box.from[2]};
    bool own = true;
#pragma unroll
    for (int axis = 0; axis < DIMS; axis++) own &= at[axis] >= box.low[axis] && at[axis] < box.high[axis];
    if (own) to[v.origin + at[2] * v.plane + at[1] * v.pitch + at[0]] = now[i];
  }
}

// Grid: boxes. Block: any number of threads. Shared: two boxes.
extern "C" __global__ void __launch_bounds__(256)
    ww_rim(const double* __restrict__ from, double* __restrict__ to, int steps, Volume v, Single weights, const Box* boxes) {
  const Box box = boxes[blockIdx.x];
  if constexpr (DIMS == 3) {
    if (box.across == 0) steps_in_box<DEEP, WIDE, WIDE>(from, to, steps, v, weights, box);
    if (box.across == 1) steps_in_box<WIDE, DEEP, WIDE>(from, to, steps, v, weights, box);
    if (box.across == 2) steps_in_box<WIDE, WIDE, DEEP>(from, to, steps, v, weights, box);
  } else {
    if (box.across == 0) steps_in_box<DEEP, WIDE, 1>(from, to, steps, v, weights, box);
    if (box.across == 1) steps_in_box<WIDE, DEEP, 1>(from, to, steps, v, weights, box);
  }
}

// Fills the ghost cells along `axis`, REACH + RADIUS to each side, over all cells of the other axes, their ghost cells
// included: periodic ones, or where `ratio` is not 0 those by which the first cell beyond a face keeps its value in every step:
// `ratio` is the weight before a cell over that after it. Axes are filled one after another, so that corners are right after the last.
// Grid: a thread for each ghost cell. Block: 256 threads.
extern "C" __global__ void __launch_bounds__(256) ww_ghosts(double* cells, int axis, double ratio, Volume v) {
  constexpr int GHOSTS = REACH + RADIUS;
  const int size[3] = {v.nx, v.ny, v.nz};
  unsigned long long rest = blockIdx.x * 256ull + threadIdx.x;
  int at[3];
#pragma unroll
  for (int n = 0; n < 3; n++) {
    const unsigned width = n == axis ? 2 * GHOSTS : n < DIMS ? size[n] + 2 * GHOSTS : 1;
    at[n] = (int)(rest % width) - (n < DIMS ? GHOSTS : 0);
    rest /= width;
  }
  if (rest != 0) return;
  if (at[axis] >= 0) at[axis] += size[axis];
  int from[3] = {at[0], at[1], at[2]};
  double* const ghost = cells + v.origin + at[2] * v.plane + at[1] * v.pitch + at[0];
  if (ratio == 0.0) {
    from[axis] = (at[axis] % size[axis] + size[axis]) % size[axis];
    *ghost = cells[v.origin + from[2] * v.plane + from[1] * v.pitch + from[0]];
    return;
  }
  // From the cell before the first on: that, the cells, the one after the last, then the cells backwards.
  const int period = 2 * (size[axis] + 1), place = ((at[axis] + 1) % period + period) % period;
  const bool back = place > size[axis] + 1;
  from[axis] = (back ? period - place : place) - 1;
  if (place == 0 || place == size[axis] + 1) {
    *ghost = v.outside;
    return;
  }
  const double cell = cells[v.origin + from[2] * v.plane + from[1] * v.pitch + from[0]];
  // Places and their sources are an even number of cells apart.
  const double share = pow(ratio, (double)((at[axis] - from[axis]) / 2));
  *ghost = v.outside + (back ? -share : share) * (cell - v.outside);
}
