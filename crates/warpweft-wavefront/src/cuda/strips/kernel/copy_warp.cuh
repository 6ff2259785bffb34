// The copy warp, one for each warp that computes: brings tiles of cells' inputs in and takes tiles of a kept matrix
// out, so that the other touches shared memory alone.
//
// Chunks are counted. The inputs of chunk c may overwrite those of chunk c - GIVEN_PIECES, which the
// chunk after that is the last to read:
//   computed >= c + 2 - GIVEN_PIECES   before the copy warp brings chunk c's inputs,
//   brought > c                        before chunk c is computed.
// Chunk c's cells overwrite those of chunk c - STAGE_PIECES, which are whole a chunk later. The copy warp
// says that chunk c is brought after it took what was whole of chunk c - 2: that needs no count.
#pragma once
#include "given.cuh"

#if WW_INPUTS

static_assert(STAGE_PIECES >= 3, "cells of chunk c - STAGE_PIECES are out when chunk c is brought");

struct copy_warp {
    const ww_arguments& A;
    const ww_watchdog& dog;
    shared_state& S;
    const int lane, warp;  // the one that computes
    bool given_up;

    __device__ __forceinline__ copy_warp(const ww_arguments& A, const ww_watchdog& dog, shared_state& S,
                                      int lane, int warp)
        : A(A), dog(dog), S(S), lane(lane), warp(warp), given_up(false) {}

    // All chunks of the warp's rows of tile-row `s`.
    __device__ __forceinline__ void carry(int s) {
        constexpr int AHEAD = GIVEN_PIECES - 2;
        const int warp_row = (s * WARPS + warp) * WARP_ROWS, chunks = chunks_of(A);
        cell_t* kept = first_kept(A, s);
#pragma unroll 1
        for (int c = 0; c < AHEAD; c++) bring(A, S.given[warp], warp_row, c, lane);
#pragma unroll 1
        for (int c = 0; c < chunks; c++) {
            await_inputs<AHEAD - 1>();
            delay(A.delays, warp_row * 0x10001u + c + 0x100000u);
            if (lane == 0) store_in_order_shared(&S.brought[warp], c + 1);
            // The chunk before this one is computed: its cells go, and there is space for inputs.
            await_computed(c);
            delay(A.delays, warp_row * 0x10001u + c + 0x200000u);
            if (STAGED && c > 0) unstage(A, kept, S.stage[warp], warp_row, c - 1, lane);
            delay(A.delays, warp_row * 0x10001u + c + 0x300000u);
            bring(A, S.given[warp], warp_row, c + AHEAD, lane);
        }
        await_inputs<0>();
        await_computed(chunks);
        if constexpr (STAGED)
            for (int c = chunks - 1; CHUNK * (c - LANE_GROUPS) < A.column_count; c++)
                unstage(A, kept, S.stage[warp], warp_row, c, lane);
    }

    __device__ __forceinline__ void await_computed(int chunks) {
        if (!given_up)
            given_up = wait_shared<20>(&S.computed[warp], chunks, dog, 4000 + warp) == FAR;
    }
};

#endif
