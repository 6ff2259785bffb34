// Inputs of cells on their way in: as stage.cuh the other way round. Pieces of rows, CHUNK columns wide,
// are copied into a tile before the lanes that read them come there.
//
// The tile holds four pieces of each row: those that its lanes are in, at most two for lanes of one
// group, and the next two, which are copied meanwhile (cp.async where rows begin at 16 bytes).
#pragma once
#include "stage.cuh"

#if WW_INPUTS

struct with_input : earlier {
    ww_cell_input x;
    __device__ __forceinline__ const ww_cell_input& input() const { return x; }
};

__device__ __forceinline__ void copy_ahead(uint4* to, const uint4* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
template <class U> __device__ __forceinline__ void copy_ahead(U* to, const U* from) { *to = *from; }

// `count` columns of piece `piece` of `rows` rows from `row` on, in units of U.
template <class U>
__device__ __forceinline__ void bring_as(const ww_arguments& A, ww_cell_input* first, int row, int rows,
                                         int piece, int count, int lane) {
    constexpr int UNITS = CHUNK * (int)sizeof(ww_cell_input) / (int)sizeof(U);  // a row
    constexpr int PITCH = GIVEN_COLUMNS * (int)sizeof(ww_cell_input) / (int)sizeof(U);
    U* to = (U*)(first + (piece & (GIVEN_PIECES - 1)) * CHUNK);
    const char* from = (const char*)(A.inputs + (size_t)row * A.column_count + CHUNK * piece);
    const size_t pitch = (size_t)A.column_count * sizeof(ww_cell_input);
    constexpr int STEP = UNITS < 32 ? 32 / UNITS : 1;
    if (32 % UNITS == 0 && GROUP_ROWS % STEP == 0 && rows == GROUP_ROWS && count == CHUNK) {
        to += lane / UNITS * PITCH + lane % UNITS;
        from += lane / UNITS * pitch + lane % UNITS * sizeof(U);
#pragma unroll
        for (int r = 0; r < GROUP_ROWS; r += STEP) {
            copy_ahead(to + r * PITCH, (const U*)from);
            from += STEP * pitch;
        }
        return;
    }
    const int units = count * (int)sizeof(ww_cell_input) / (int)sizeof(U);
#pragma unroll 4
    for (int i = lane; i < rows * UNITS; i += 32) {
        const int r = i / UNITS, unit = i % UNITS;
        if (unit < units) copy_ahead(to + r * PITCH + unit, (const U*)(from + r * pitch) + unit);
    }
}

// What chunk `c` is the first to read, into a warp's tile.
__device__ __forceinline__ void bring(const ww_arguments& A, ww_cell_input* tile, int warp_row, int c,
                                      int lane) {
    using V = vector_of<ww_cell_input, 1>;
    static_assert(V::COUNT == 1, "an input has 1, 2, 4, 8 or 16 bytes");
    const bool even = (size_t)A.column_count * sizeof(ww_cell_input) % 16 == 0;
#pragma unroll 1
    for (int group = 0; group < LANE_GROUPS; group++) {
        const int piece = c - group, first = group * GROUP_ROWS;
        const int count = min(CHUNK, A.column_count - CHUNK * piece);
        const int rows = min(GROUP_ROWS, A.row_count - warp_row - first);
        if (piece < 0 || count <= 0 || rows <= 0) continue;
        ww_cell_input* to = tile + first * GIVEN_COLUMNS;
        if constexpr (CHUNK * sizeof(ww_cell_input) % 16 == 0) {
            if (even && count * sizeof(ww_cell_input) % 16 == 0) {
                bring_as<uint4>(A, to, warp_row + first, rows, piece, count, lane);
                continue;
            }
        }
        bring_as<typename V::type>(A, to, warp_row + first, rows, piece, count, lane);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for all copies but those of the latest `LATER` calls.
template <int LATER> __device__ __forceinline__ void await_inputs() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
    __syncwarp();
}

#endif
