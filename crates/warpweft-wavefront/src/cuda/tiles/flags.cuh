// PeerWave: a block computes tile-rows b, b + gridDim.x, ..; one-way flags between neighbours.
//
// Grid    persistent, all blocks resident (cooperative launch).
// Block   HEIGHT threads compute; one warp waits for the tile-row above and brings its bottom rows
//         in, one takes this one's bottom rows out and says so. Both work tiles ahead of or behind
//         the rest, so that a flag's way through memory delays no warp that has a tile left.
// Flags   one word a block, used for all of its tile-rows one after another: it counts the fronts
//         (of square tiles, the tiles) that the block has finished since it began. The paper resets
//         its flags from row to row; a count needs none.
// Source: Belviranli et al. 2015, algorithm 2 and section 3.2.
#pragma once
#include "tile.cuh"
#include "idle.cuh"

constexpr int FLAG_STRIDE = 8, BRINGS = HEIGHT / 32, TAKES = BRINGS + 1;
enum { FULL = 2 };  // barriers from 2 on, in turn: the rows above a tile are there

__device__ __forceinline__ void store_release_shared(int* word, int value) {
    asm volatile("st.release.cta.shared.b32 [%0], %1;"
                 ::"r"((unsigned)__cvta_generic_to_shared(word)), "r"(value) : "memory");
}

// A count in shared memory once it has reached `wanted`; less when the block gives up.
__device__ __forceinline__ int wait_shared(const int* word, int wanted, const ww_watchdog& dog,
                                            ww_word number) {
    unsigned long long start = 0;
    for (unsigned tries = 1;; tries++) {
        const int seen = load_acquire_shared(word);
        if (seen >= wanted) return seen;
        if (tries % 16 == 0 && load_acquire_shared(&shared().failed)) return seen;
        if (tries % 0x1000 == 0) {
            const unsigned long long now = ww_nanoseconds();
            if (start == 0) start = now;
            // The warp that waits for another block is to report first.
            if (now - start > 2 * dog.nanoseconds) {
                ww_watchdog_report(dog, blockIdx.x, number, wanted, seen);
                return seen;
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
// Where the next tile-row begins in a ring if this one does at `base`.
__device__ __forceinline__ int next_row(const ww_arguments& A, int base) {
    return (base + A.tiles * A.tile + RIGHT + LEFT) & (A.ring - 1);
}

__device__ __forceinline__ const ww_word* flag_of(const ww_arguments& A, int unit) {
    return A.flags + (size_t)(unit % gridDim.x) * FLAG_STRIDE;
}
// What the flag of `unit`'s block shows when the unit has counted to `wanted`.
__device__ __forceinline__ ww_word count_of(const ww_arguments& A, int unit, int wanted) {
    return (ww_word)(unit / gridDim.x) * counted_row(A) + min(wanted, counted_row(A));
}

__device__ __forceinline__ cell_t* border_of(const ww_arguments& A, int unit, int v) {
    const int r = unit % A.tile_rows;
    return A.border + ((size_t)(A.borders > 1 ? r : 0) * ABOVE + v) * A.width;
}

// The count that another block's flag has shown, of one unit after another.
struct watched {
    int unit;
    ww_word known;
    __device__ __forceinline__ watched() : unit(-1), known(0) {}
    __device__ __forceinline__ bool reached(const ww_arguments& A, int wanted) const {
        return (int)(known - count_of(A, unit, wanted)) >= 0;
    }
    __device__ __forceinline__ void look(const ww_arguments& A) {
        known = ww_load_acquire(flag_of(A, unit));
    }
    // Waits until `other` has counted to `wanted`.
    __device__ __forceinline__ bool wait(const ww_arguments& A, const ww_watchdog& dog, int other,
                                         int wanted) {
        if (unit != other) {
            unit = other;
            look(A);
        }
        if (reached(A, wanted)) return true;
        const ww_word count = count_of(A, unit, wanted);
        if (!ww_wait(flag_of(A, unit), count, dog, unit % gridDim.x, unit)) return false;
        known = count;
        return true;
    }
};

// Waits for what tiles need of other blocks, and brings the rows above in: of as many tiles at once
// as are ready and fit the rings, so that a slow way through memory costs lag, not time.
struct bringer {
    const ww_arguments& A;
    const ww_watchdog& dog;
    const int lane;
    watched above, below;
    __device__ __forceinline__ bringer(const ww_arguments& A, const ww_watchdog& dog, int lane)
        : A(A), dog(dog), lane(lane) {}

    // What tile c wants of the unit above, and of the one below in the sweep before.
    __device__ __forceinline__ int of_above(int c) const {
        return SQUARE ? c + 1 : (c + 1) * A.tile + A.ahead + SKEW * (HEIGHT - 1);
    }
    __device__ __forceinline__ int of_below(int c) const {
        return SQUARE ? c + 1 + (A.sweep_ahead + A.tile - 1) / A.tile
                      : (c + 1) * A.tile + A.sweep_ahead;
    }
    // Tiles brought from tile c of `unit` on, the `number`th of this block; 0: a wait gave up.
    __device__ __forceinline__ int tiles(int unit, int c, int number, int base) {
        shared_state& S = shared();
        const int full = number + 1 - A.buffered;
        const int done = wait_shared(&S.done, full, dog, 1000);
        const int taken = wait_shared(&S.taken, full, dog, 1001);
        delay(A.delay, number);
        const int r = unit % A.tile_rows, next = unit - A.tile_rows + (r + 1 < A.tile_rows);
        const bool again = OLDS > 0 && unit >= A.tile_rows;
        bool well = done >= full && taken >= full;
        if (well && r > 0) well = above.wait(A, dog, unit - 1, of_above(c));
        if (well && again) well = below.wait(A, dog, next, of_below(c));
        if (!__all_sync(~0u, well)) return 0;
        const int most = min(min(done, taken) + A.buffered - number, A.tiles - c);
        int count = 1;
        while (count < most && (r == 0 || above.reached(A, of_above(c + count)))
               && (!again || below.reached(A, of_below(c + count))))
            count++;
        // Lanes that looked at different times may have seen different counts.
        count = __shfl_sync(~0u, count, 0);
        __syncwarp();
        const int from = c == 0 ? 0 : c * A.tile + A.ahead;
        const int to = min((c + count) * A.tile + A.ahead, A.width);
#pragma unroll
        for (int v = 0; v < ABOVE; v++) {
            const cell_t* cells = r == 0 ? A.top + (size_t)v * A.width : border_of(A, unit - 1, v);
            for (int x = from + lane; x < to; x += 128) {
                cell_t part[4];
#pragma unroll
                for (int q = 0; q < 4; q++)
                    if (x + 32 * q < to) part[q] = load_global(cells + x + 32 * q);
                // On the way with the cells: often the next tiles' flags are up by now.
                if (v == 0 && x == from + lane) {
                    if (r > 0) above.look(A);
                    if (again) below.look(A);
                }
#pragma unroll
                for (int q = 0; q < 4; q++)
                    if (x + 32 * q < to) ring_above(A, v)[(base + x + 32 * q) & (A.ring - 1)] = part[q];
            }
        }
        return count;
    }
};
__device__ __forceinline__ void arrive(const ww_arguments& A, int number) {
    __syncwarp();
    asm volatile("bar.arrive %0, %1;" ::"r"(FULL + number % A.buffered), "n"(HEIGHT + 32) : "memory");
}
__device__ __forceinline__ void bring(const ww_arguments& A, const ww_watchdog& dog, int lane) {
    bringer bringer(A, dog, lane);
    int number = 0, base = 0;
    for (int unit = blockIdx.x; unit < A.tile_rows * A.sweeps; unit += gridDim.x) {
        for (int c = 0; c < A.tiles;) {
            int count = bringer.tiles(unit, c, number, base);
            if (count == 0) {
                if (lane == 0) store_in_order_shared(&shared().failed, number + 1);
                return arrive(A, number);
            }
            for (c += count; count > 0; count--) arrive(A, number++);
        }
        base = next_row(A, base);
    }
}

// Takes the bottom rows out and raises the flag, of all tiles that are done by then.
__device__ __forceinline__ void take(const ww_arguments& A, const ww_watchdog& dog, int lane) {
    int number = 0, base = 0, turn = 0;
    for (int unit = blockIdx.x; unit < A.tile_rows * A.sweeps; unit += gridDim.x, turn++) {
        for (int c = 0; c < A.tiles;) {
            const int done = wait_shared(&shared().done, number + 1, dog, 1002);
            if (!__all_sync(~0u, done > number)) return;
            const int count = __shfl_sync(~0u, min(done - number, A.tiles - c), 0);
            // A shuffle orders no memory: lanes meet before they read what lane 0 saw.
            __syncwarp();
            delay(A.delay, number + 0x10000);
#pragma unroll
            for (int v = 0; v < ABOVE; v++) {
                const int shift = SKEW * (HEIGHT - 1 - v);
                const int first = c * A.tile + (SQUARE ? shift : 0);
                cell_t* to = border_of(A, unit, v);
                for (int s = first + lane; s < first + count * A.tile; s += 32) {
                    const int x = s - shift;
                    if (x >= 0 && x < A.width)
                        store_global(to + x, ring_below(A, v)[(base + s) & (A.ring - 1)]);
                }
            }
            number += count;
            c += count;
            __syncwarp();
            if (lane == 0) {
                store_in_order_shared(&shared().taken, number);
                ww_store_release(A.flags + (size_t)blockIdx.x * FLAG_STRIDE,
                                 (ww_word)turn * counted_row(A) + counted(A, c));
            }
        }
        base = next_row(A, base);
    }
}

extern "C" __global__ void __launch_bounds__(HEIGHT + 64)
wavefront_tiles(WW_PARAMETERS) {
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
            asm volatile("bar.sync %0, %1;" ::"r"(FULL + number % A.buffered), "n"(HEIGHT + 32) : "memory");
            idle.go(unit, c);
            // All threads or none: those of the tile before still meet in it.
            const int failed = load_acquire_shared(&S.failed);
            if (failed != 0 && failed <= number + 1) return;
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
        base = next_row(A, base);
    }
    idle.end();
    walk.finish(HEIGHT / 32);
}
