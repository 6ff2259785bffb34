// Wavefronts with barriers across the grid: the tiles of a diagonal, then all blocks meet.
//
// Grid    all blocks resident (cooperative launch): one launch, and a barrier in memory that costs
//         one atomic a block, in place of a launch or a device-side synchronisation a diagonal.
// Block   HEIGHT threads. On step d, tile d - start of each of its tile-rows.
// A tile leaves what the next of its row needs in global memory, unless no block has two tile-rows.
// Source: the baseline of Belviranli et al. 2015 (methods 1 and 3 of section 7).
#pragma once
#include "tile.cuh"
#include "idle.cuh"

// The last fronts and the history of every thread.
constexpr int CARRY = DEPTH + (ABOVE + 1) * HISTORY;

__device__ __forceinline__ cell_t* carry_of(const ww_arguments& A, int unit) {
    return A.carry + (size_t)(unit % A.states) * CARRY * HEIGHT + threadIdx.x;
}
__device__ __forceinline__ void restore(const ww_arguments& A, walker& walk, int unit) {
    const cell_t* from = carry_of(A, unit);
#pragma unroll
    for (int d = 0; d < DEPTH; d++) shared().slots[d][walk.t] = load_global(from + d * HEIGHT);
#pragma unroll
    for (int u = 0; u <= ABOVE; u++)
#pragma unroll
        for (int k = 0; k < HISTORY; k++)
            walk.past.cells[u][k] = load_global(from + (DEPTH + u * HISTORY + k) * HEIGHT);
}
__device__ __forceinline__ void save(const ww_arguments& A, const walker& walk, int unit) {
    cell_t* to = carry_of(A, unit);
#pragma unroll
    for (int d = 0; d < DEPTH; d++) store_global(to + d * HEIGHT, shared().slots[d][walk.t]);
#pragma unroll
    for (int u = 0; u <= ABOVE; u++)
#pragma unroll
        for (int k = 0; k < HISTORY; k++)
            store_global(to + (DEPTH + u * HISTORY + k) * HEIGHT, walk.past.cells[u][k]);
}

__device__ __forceinline__ cell_t* border_of(const ww_arguments& A, int unit, int v) {
    const int r = unit % A.tile_rows;
    return A.border + ((size_t)(A.borders > 1 ? r : 0) * ABOVE + v) * A.width;
}
__device__ __forceinline__ void bring(const ww_arguments& A, int unit, int c) {
    const int r = unit % A.tile_rows, first = c * A.tile;
    const int from = max(0, SQUARE ? first : first - SKEW * ABOVE);
    const int to = min(first + A.tile + A.ahead, A.width);
#pragma unroll
    for (int v = 0; v < ABOVE; v++) {
        const cell_t* cells = r == 0 ? A.top + (size_t)v * A.width : border_of(A, unit - 1, v);
        for (int x = from + threadIdx.x; x < to; x += HEIGHT)
            ring_above(A, v)[x & (A.ring - 1)] = load_global(cells + x);
    }
}
__device__ __forceinline__ void take(const ww_arguments& A, int unit, int c) {
#pragma unroll
    for (int v = 0; v < ABOVE; v++) {
        const int shift = SKEW * (HEIGHT - 1 - v);
        const int first = c * A.tile + (SQUARE ? shift : 0);
        cell_t* to = border_of(A, unit, v);
        for (int s = first + threadIdx.x; s < first + A.tile; s += HEIGHT) {
            const int x = s - shift;
            if (x >= 0 && x < A.width) store_global(to + x, ring_below(A, v)[s & (A.ring - 1)]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(HEIGHT)
wavefront_tiles(WW_PARAMETERS) {
    walker walk(A, edges, f, threadIdx.x);
    idle_times idle(A);
    const int units = A.tile_rows * A.sweeps;
    const bool stays = units <= gridDim.x;  // a tile-row's state stays in its block
    const int last = (A.tile_rows - 1) * A.lag + (A.sweeps - 1) * A.sweep_lag + A.tiles;
    for (int step = 0; step < last; step++) {
        for (int unit = blockIdx.x; unit < units; unit += gridDim.x) {
            const int c = step - unit % A.tile_rows * A.lag - unit / A.tile_rows * A.sweep_lag;
            if (c < 0 || c >= A.tiles) continue;
            delay(A.delay, step);
            __syncthreads();
            if (c == 0 || !stays) walk.begin(unit, 0);
            if (c > 0 && !stays) restore(A, walk, unit);
            bring(A, unit, c);
            __syncthreads();
            idle.go(unit, c);
            const int first = c * A.tile;
            walk.tile(first, SQUARE ? A.tile : min(A.tile, A.fronts - first), c == 0 || !stays);
            take(A, unit, c);
            if (!stays) save(A, walk, unit);
        }
        idle.wait();
        if (!ww_grid_barrier(A.flags, dog)) return;
    }
    idle.end();
    walk.finish(HEIGHT / 32);
}
