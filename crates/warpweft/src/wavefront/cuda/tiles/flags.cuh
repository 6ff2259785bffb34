// PeerWave: a block computes tile-rows b, b + gridDim.x, ..; one-way flags between neighbours.
//
// Grid    persistent, all blocks resident (cooperative launch).
// Block   HEIGHT threads compute; one warp waits for the tile-row above and brings its bottom rows
//         in, one takes this one's bottom rows out and says so. Both work a tile ahead of or behind
//         the rest, so that a flag's way through memory delays nobody who has a tile left.
// Flags   one word a block, used for all of its tile-rows one after another: it counts the fronts
//         (of square tiles, the tiles) that the block has finished since it began. The paper resets
//         its flags from row to row; a count needs none.
// Source: Belviranli et al. 2015, algorithm 2 and section 3.2.
#pragma once
#include "tile.cuh"
#include "idle.cuh"

constexpr int FLAG_STRIDE = 8, BRINGS = HEIGHT / 32, TAKES = BRINGS + 1;
enum { FULL = 2 };  // barriers 2 and 3: the halo of a tile of even or odd number is there

__device__ __forceinline__ int load_acquire_shared(const int* word) {
    int value;
    asm volatile("ld.acquire.cta.shared.b32 %0, [%1];"
                 : "=r"(value) : "r"((unsigned)__cvta_generic_to_shared(word)) : "memory");
    return value;
}
__device__ __forceinline__ void store_release_shared(int* word, int value) {
    asm volatile("st.release.cta.shared.b32 [%0], %1;"
                 ::"r"((unsigned)__cvta_generic_to_shared(word)), "r"(value) : "memory");
}
// Without a fence: accesses of one warp to shared memory are performed in order.
__device__ __forceinline__ void store_in_order_shared(int* word, int value) {
    asm volatile("st.relaxed.cta.shared.b32 [%0], %1;"
                 ::"r"((unsigned)__cvta_generic_to_shared(word)), "r"(value) : "memory");
}

// Waits until a count in shared memory is reached; false when the block gives up.
__device__ __forceinline__ bool wait_shared(const int* word, int wanted, const ww_watchdog& dog,
                                            ww_word number) {
    unsigned long long start = 0;
    for (unsigned tries = 1;; tries++) {
        const int seen = load_acquire_shared(word);
        if (seen - wanted >= 0) return true;
        if (load_acquire_shared(&shared().failed)) return false;
        __nanosleep(20);
        if (tries % 0x1000 == 0) {
            const unsigned long long now = ww_nanoseconds();
            if (start == 0) start = now;
            // Whoever waits for another block is to report first.
            if (now - start > 2 * dog.nanoseconds) {
                ww_watchdog_report(dog, blockIdx.x, number, wanted, seen);
                return false;
            }
        }
    }
}

// What a flag counts at the end of a tile, from the beginning of its tile-row.
__device__ __forceinline__ int counted(const ww_arguments& A, int tile) {
    return SQUARE ? tile : min(tile * A.tile, A.fronts);
}
// .. and in a whole tile-row.
__device__ __forceinline__ int counted_row(const ww_arguments& A) {
    return SQUARE ? A.tiles : A.fronts;
}
// Positions that a tile-row takes of a ring.
__device__ __forceinline__ int ring_row(const ww_arguments& A) { return A.tiles * A.tile + RIGHT + LEFT; }

__device__ __forceinline__ const ww_word* flag_of(const ww_arguments& A, int unit) {
    return A.flags + (size_t)(unit % gridDim.x) * FLAG_STRIDE;
}
// What the flag of `unit`'s block shows when the unit has counted to `wanted`.
__device__ __forceinline__ ww_word count_of(const ww_arguments& A, int unit, int wanted) {
    return (ww_word)(unit / gridDim.x) * counted_row(A) + min(wanted, counted_row(A));
}
__device__ __forceinline__ bool wait_for(const ww_arguments& A, const ww_watchdog& dog, int unit,
                                         int wanted) {
    return ww_wait(flag_of(A, unit), count_of(A, unit, wanted), dog, unit % gridDim.x, unit);
}

__device__ __forceinline__ cell_t* border_of(const ww_arguments& A, int unit, int v) {
    const int r = unit % A.tile_rows;
    return A.border + ((size_t)(A.borders > 1 ? r : 0) * ABOVE + v) * A.width;
}

// Waits for what a tile needs of other blocks; then brings the rows above in.
__device__ __forceinline__ bool bring_tile(const ww_arguments& A, const ww_watchdog& dog, int unit,
                                           int c, int number, int base, int lane,
                                           ww_word& known) {
    shared_state& S = shared();
    // Two tiles fit the rings: the one being computed and this.
    if (!wait_shared(&S.done, number - 1, dog, 1000)) return false;
    if (!wait_shared(&S.taken, number - 1, dog, 1001)) return false;
    delay(A.delay, number);
    const int r = unit % A.tile_rows, first = c * A.tile;
    if (r > 0) {
        const int wanted = SQUARE ? c + 1 : first + A.tile + A.ahead + SKEW * (HEIGHT - 1);
        const ww_word count = count_of(A, unit - 1, wanted);
        if (c == 0) known = count - 1;
        if ((int)(known - count) < 0 && !wait_for(A, dog, unit - 1, wanted)) return false;
    }
    if (OLDS > 0 && unit >= A.tile_rows) {
        const int below = unit - A.tile_rows + (r + 1 < A.tile_rows);
        const int wanted = SQUARE ? c + 1 + (A.sweep_ahead + A.tile - 1) / A.tile
                                  : first + A.tile + A.sweep_ahead;
        if (!wait_for(A, dog, below, wanted)) return false;
    }
    const int from = c == 0 ? 0 : first + A.ahead, to = min(first + A.tile + A.ahead, A.width);
#pragma unroll
    for (int v = 0; v < ABOVE; v++) {
        const cell_t* cells = r == 0 ? A.top + (size_t)v * A.width : border_of(A, unit - 1, v);
        for (int x = from + lane; x < to; x += 128) {
            cell_t part[4];
#pragma unroll
            for (int q = 0; q < 4; q++) if (x + 32 * q < to) part[q] = load_global(cells + x + 32 * q);
            // On the way with the cells: often the next tile's flag is up by now.
            if (r > 0 && v == 0) known = ww_load_acquire(flag_of(A, unit - 1));
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (x + 32 * q < to) ring_above(A, v)[(base + x + 32 * q) & (A.ring - 1)] = part[q];
        }
    }
    return true;
}
__device__ __forceinline__ void bring(const ww_arguments& A, const ww_watchdog& dog, int lane) {
    int number = 0, base = 0;
    ww_word known = 0;
    for (int unit = blockIdx.x; unit < A.tile_rows * A.sweeps; unit += gridDim.x) {
        for (int c = 0; c < A.tiles; c++, number++) {
            const bool well = bring_tile(A, dog, unit, c, number, base, lane, known);
            if (!well && lane == 0) store_in_order_shared(&shared().failed, 1);
            asm volatile("bar.arrive %0, %1;" ::"r"(FULL + number % 2), "n"(HEIGHT + 32) : "memory");
            if (!well) return;
        }
        base += ring_row(A);
    }
}

// Takes the bottom rows out and raises the flag, tile by tile.
__device__ __forceinline__ void take(const ww_arguments& A, const ww_watchdog& dog, int lane) {
    int number = 0, base = 0, turn = 0;
    for (int unit = blockIdx.x; unit < A.tile_rows * A.sweeps; unit += gridDim.x, turn++) {
        for (int c = 0; c < A.tiles; c++, number++) {
            if (!wait_shared(&shared().done, number + 1, dog, 1002)) return;
            delay(A.delay, number + 0x10000);
#pragma unroll
            for (int v = 0; v < ABOVE; v++) {
                const int shift = SKEW * (HEIGHT - 1 - v);
                const int first = c * A.tile + (SQUARE ? shift : 0);
                cell_t* to = border_of(A, unit, v);
                for (int s = first + lane; s < first + A.tile; s += 32) {
                    const int x = s - shift;
                    if (x >= 0 && x < A.width)
                        store_global(to + x, ring_below(A, v)[(base + s) & (A.ring - 1)]);
                }
            }
            __syncwarp();
            if (lane == 0) {
                store_in_order_shared(&shared().taken, number + 1);
                ww_store_release(A.flags + (size_t)blockIdx.x * FLAG_STRIDE,
                                 (ww_word)turn * counted_row(A) + counted(A, c + 1));
            }
        }
        base += ring_row(A);
    }
}

extern "C" __global__ void __launch_bounds__(HEIGHT + 64)
wavefront_tiles(const __grid_constant__ ww_arguments A, const __grid_constant__ ww_watchdog dog,
                const __grid_constant__ ww_edges edges, const ww_element f) {
    shared_state& S = shared();
    if (threadIdx.x == 0) S.done = S.taken = S.failed = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == BRINGS) return bring(A, dog, lane);
    if (warp == TAKES) return take(A, dog, lane);
    walker walk(A, edges, f, threadIdx.x);
    idle_times idle(A);
    int number = 0, base = 0;
    for (int unit = blockIdx.x; unit < A.tile_rows * A.sweeps; unit += gridDim.x) {
        walk.begin(unit, base);
        // Inputs need no other block; old values do.
        if constexpr (OLDS == 0) walk.fetch(0);
        for (int c = 0; c < A.tiles; c++, number++) {
            idle.wait();
            asm volatile("bar.sync %0, %1;" ::"r"(FULL + number % 2), "n"(HEIGHT + 32) : "memory");
            idle.go(unit, c);
            if (load_acquire_shared(&S.failed)) return;
            delay(A.delay, number + 0x20000);
            const int first = c * A.tile;
            walk.tile(first, SQUARE ? A.tile : min(A.tile, A.fronts - first), OLDS > 0 && c == 0);
            // Other blocks read old values from memory: all threads' stores come before the flag.
            if constexpr (OLDS > 0) meet<1, HEIGHT>();
            if (threadIdx.x == 0) {
                if constexpr (OLDS > 0) store_release_shared(&S.done, number + 1);
                else store_in_order_shared(&S.done, number + 1);
            }
        }
        base += ring_row(A);
    }
    idle.end();
    walk.finish(HEIGHT / 32);
}
