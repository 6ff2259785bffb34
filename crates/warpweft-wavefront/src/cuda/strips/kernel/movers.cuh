// The two warps of a block that move cells between the rings and global memory.
#pragma once
#include "layout.cuh"

struct movers {
    const ww_arguments& A;
    const ww_watchdog& dog;
    const ww_edges& edges;
    const lane_element& f;
    shared_state& S;
    const int lane;
    bool given_up;

    static constexpr int BATCH = 128, PART = BATCH / 32;
    static_assert(CHUNK <= BATCH, "a batch is a chunk at least");

    __device__ __forceinline__ movers(const ww_arguments& A, const ww_watchdog& dog,
                                      const ww_edges& edges, const lane_element& f, shared_state& S,
                                      int lane)
        : A(A), dog(dog), edges(edges), f(f), S(S), lane(lane), given_up(false) {}

    // The row above and the columns' inputs, into ring 0 and the input ring, for tile-row `s`.
    __device__ __forceinline__ void bring_in(int s, int active) {
        constexpr int KEEP_BEHIND = (LAG + CHUNK + 63) / 64 * 64;
        const int count = A.column_count;
        int at = 0, available = s > 0 && !given_up ? 0 : count;
        const ww_word* flag = A.flags + (size_t)(s - 1) * FLAG_STRIDE;
        // The block above a GPU's first is another GPU's.
        const bool afar = SEVERAL && blockIdx.x == 0;
        const ww_word above = afar ? ww_elsewhere(A.gpu_above) : (blockIdx.x + gridDim.x - 1) % gridDim.x;
        unsigned long long known = 0;
        while (at < count) {
            ww_column_input raw[PART];
#pragma unroll
            for (int q = 0; q < PART; q++) {
                const int j = at + 32 * q + lane;
                raw[q] = j < count ? A.columns[j] : ww_column_input{};
            }
            delay(A.delays, s * 0x10001u + at);
            // A whole chunk at least, or the rest.
            const int wanted = min(at + CHUNK, count);
            patience patience_above;
            while (available < wanted) {
                available = (int)(afar ? ww_load_acquire_sys(flag) : ww_load_acquire(flag));
                if (available < wanted
                    && patience_above.over(dog, above, s - 1, wanted, available)) {
                    available = count;
                    given_up = true;
                }
            }
            int space = space_below(active, KEEP_BEHIND);
            patience patience_below;
            while (space < wanted && !given_up) {
                __nanosleep(40);
                space = space_below(active, KEEP_BEHIND);
                given_up |= patience_below.over(dog, ww_block_index(), 2000, wanted, space);
            }
            int n = min(given_up ? BATCH : space - at, min(available - at, BATCH));
            if (at + n < count) n = n / CHUNK * CHUNK;
            // Lanes that looked at different times may have seen different counts; a shuffle orders no
            // memory, so they meet before they read what lane 0 saw.
            n = __shfl_sync(~0u, n, 0);
            __syncwarp();
            cell_t cells[PART];
#pragma unroll
            for (int q = 0; q < PART; q++) {
                const int j = at + 32 * q + lane;
                cells[q] = edges.border;
                if (32 * q + lane < n && (s > 0 || A.has_lines))
                    cells[q] = load_global(A.border + j);
            }
#pragma unroll
            for (int q = 0; q < PART; q++) {
                const int j = at + 32 * q + lane;
                if (32 * q + lane >= n) continue;
                S.rings[0][j & (RING - 1)] = cells[q];
                const int p = j & (INPUTS - 1);
                const column_t input = f.column(raw[q]);
                S.inputs[p] = input;
                if (p < CHUNK) S.inputs[p + INPUTS] = input;
            }
            __syncwarp();
            at += n;
            if (lane == 0) store_in_order_shared(&S.ready[0], at);
            if constexpr (WW_KEEP == WW_BEST) known = exchange_records(known);
        }
    }

    __device__ __forceinline__ int space_below(int active, int keep_behind) const {
        return min(load_acquire_shared(&S.consumed[0]) + RING,
                   load_acquire_shared(&S.consumed[active - 1]) + INPUTS - keep_behind);
    }

    // The block's record to the grid, and the grid's of one batch ago to the block: no compute warp
    // waits for global memory.
    __device__ __forceinline__ unsigned long long exchange_records(unsigned long long known) {
        if (lane != 0) return known;
        rank_t mine = (rank_t)known;
        for (int w = 0; w < WARPS; w++) {
            const rank_t record = *(volatile rank_t*)&S.records[w];
            if (record > mine) mine = record;
        }
        *(volatile rank_t*)&S.others = mine;
        return atomicMax(A.record, (unsigned long long)mine);
    }

    // The last active warp's ring to the border, for the block of the next tile-row.
    __device__ __forceinline__ void take_out(int s, int ring, bool last) {
        int at = 0;
        // The block below a GPU's last is the next GPU's, in whose memory it looks.
        const bool afar = SEVERAL && !last && blockIdx.x == gridDim.x - 1;
        cell_t* border = afar ? A.border_below : A.border;
        ww_word* flag = (afar ? A.flags_below : A.flags) + (size_t)s * FLAG_STRIDE;
        while (at < A.column_count) {
            const int wanted = min(at + CHUNK, A.column_count);
            const int ready = given_up
                ? FAR : wait_shared<20>(&S.ready[ring], wanted, dog, 1000 + ring);
            given_up |= ready == FAR;
            const int n = __shfl_sync(~0u, min(min(ready, A.column_count) - at, BATCH), 0);
            __syncwarp();
            for (int j = lane; j < n; j += 32)
                store_global(border + at + j, S.rings[ring][(at + j) & (RING - 1)]);
            __syncwarp();
            at += n;
            delay(A.delays, s * 0x10001u + at + 0x8000u);
            if (lane == 0) {
                store_in_order_shared(&S.consumed[ring], at);
                if (afar) ww_store_release_sys(flag, (ww_word)at);
                else ww_store_release(flag, (ww_word)at);
            }
        }
    }
};
