// Wavefront by register strips: a lane owns WW_ROWS rows in registers and walks along them, one
// macro-step of WW_COLUMNS columns behind the lane above.
//
// Grid    persistent, all blocks resident (cooperative launch); block b of the B blocks of all GPUs
//         computes tile-rows b, b + B, .. of WW_WARPS * 32 * WW_ROWS rows each.
// Block   WW_WARPS warps compute (walker.cuh); where cells have inputs as many carry tiles of these in
//         and of a kept matrix out (copy_warp.cuh); one brings the row above and the columns' inputs in,
//         one takes the bottom row out (movers.cuh).
// Shared  a ring of cells between neighbouring warps (ring w feeds warp w), a ring of column
//         inputs, per ring a count of columns ready and of columns consumed.
// Global  `border`, one cell a column, in place: a tile-row reads cell j before it overwrites it;
//         one flag a tile-row counts the columns of its bottom row that lie there. In the end it
//         holds the last row. Each GPU has its own, and the last block of one stores its bottom row
//         and flags into those of the next (the last GPU's into the first's). A cell is overwritten
//         by a tile-row that all tile-rows since the one that read it led to: no credit is needed.
// Lanes meet by shuffle, warps by rings (release/acquire in shared memory), blocks by flags.
// Invariants: ring w holds columns [consumed[w], ready[w]) at most WW_RING of them; what lies
// beyond the last row or column is computed and never kept.
// Rows to blocks, one-way flags and the skew: PeerWave (Belviranli et al. 2015).
//
// Expects: ww_element, ww_cell, ww_row_input, ww_column_input, ww_score_type, ww_score(cell), and
// ww_cell_input where WW_INPUTS says that cells have inputs, WW_SOUTH, a bit mask of a cell's 4-byte words that the cells of the row below read; of choices
// that are recorded, see directions.cuh. ww_arguments and WW_PARAMETERS are written by the host from
// the list that it launches with (text.rs).
#pragma once
#include "layout.cuh"
#include "tables.cuh"
#include "movers.cuh"
#include "walker.cuh"

// What the host must grant a launch.
extern "C" __device__ unsigned ww_shared_bytes = sizeof(shared_state);

extern "C" __global__ void __launch_bounds__(32 * (WARPS + COPY_WARPS + 2), WW_BLOCKS)
wavefront_strip(WW_PARAMETERS) {
    extern __shared__ __align__(16) char memory[];
    shared_state& S = *(shared_state*)memory;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int strips = (A.row_count + BLOCK_ROWS - 1) / BLOCK_ROWS;
    __shared__ __align__(16) char element_copy[copy_bytes<ww_element>];
    const ww_element& here = held(element_copy, f, threadIdx.x, blockDim.x);
#if WW_PACKED
    const lane_element g{here, A.symbols};
#else
    const lane_element& g = here;
#endif
#if WW_DIRECTIONS
    __shared__ __align__(16) char choice_copy[copy_bytes<ww_choice>];
    const recorder record_choices(held(choice_copy, choice, threadIdx.x, blockDim.x));
#else
    const recorder record_choices;
#endif
    walker walker(A, dog, edges, g, S, record_choices, lane, warp);
    movers movers(A, dog, edges, g, S, lane);
#if WW_INPUTS
    copy_warp copier(A, dog, S, lane, warp - WARPS);
#endif
    if (threadIdx.x < WARPS) S.records[threadIdx.x] = 0;
    if (threadIdx.x == 0) S.others = 0;
    const int first = SEVERAL ? A.first_block : 0, stride = SEVERAL ? A.all_blocks : gridDim.x;
    for (int s = first + blockIdx.x; s < strips; s += stride) {
        const bool last = s == strips - 1;
        const int active = min(WARPS, (A.row_count - s * BLOCK_ROWS + WARP_ROWS - 1) / WARP_ROWS);
        __syncthreads();
        if (threadIdx.x <= WARPS) {
            S.ready[threadIdx.x] = 0;
            S.consumed[threadIdx.x] = 0;
        }
#if WW_INPUTS
        if (threadIdx.x < WARPS) S.brought[threadIdx.x] = S.computed[threadIdx.x] = 0;
#endif
        __syncthreads();
        if (warp == WARPS + COPY_WARPS) movers.bring_in(s, active);
        else if (warp > WARPS + COPY_WARPS) { if (!last || LAST_ROW) movers.take_out(s, active, last); }
        else if (warp < active) walker.walk(s, last, active);
#if WW_INPUTS
        else if (warp >= WARPS && warp - WARPS < active) copier.carry(s);
#endif
    }
    if (warp < WARPS) walker.finish();
}
