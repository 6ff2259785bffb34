// The matrix on its way out: lanes write cells where they are computed, a warp's tile turns them
// into pieces of rows, CHUNK columns wide, which leave in wide stores.
//
// The tile holds two pieces of each row, or four. After a chunk, lane L has SK * L columns less than
// lane 0: lanes L / LANE_GROUP of one value have the same piece whole, and it goes out before the next chunk
// overwrites the one before it; with four pieces, within two chunks. Lanes are SK columns apart and
// their rows a multiple of 32 banks: the stores of one macro-step meet no bank twice.
#pragma once
#include "layout.cuh"

constexpr int LANE_GROUP = CHUNK / SK < 32 ? CHUNK / SK : 32, LANE_GROUPS = 32 / LANE_GROUP;  // lanes
constexpr int GROUP_ROWS = LANE_GROUP * K;

// Chunks of a walk along a tile-row.
__device__ __forceinline__ int chunks_of(const ww_arguments& A) {
    return (A.column_count + LAG + CHUNK - 1) / CHUNK;
}

// Where row 0 would be kept, seen from tile-row `s`: a GPU keeps its own rows only.
__device__ __forceinline__ cell_t* first_kept(const ww_arguments& A, int s) {
    cell_t* kept = A.kept;
    if constexpr (SEVERAL && (WW_KEEP == WW_MATRIX || LAST_COLUMN)) {
        const int round = s / A.all_blocks;
        const int hidden = (s - (round * (int)gridDim.x + (int)blockIdx.x)) * BLOCK_ROWS;
        kept -= (size_t)hidden * (WW_KEEP == WW_MATRIX ? A.column_count : 1);
    }
    return kept;
}

// `count` columns of piece `piece` of the rows from `first` on, in units of U. The first row is
// `row` in the domain, of whose rows there are `rows`.
template <class U>
__device__ __forceinline__ void unstage_as(const ww_arguments& A, cell_t* kept, const cell_t* first,
                                           int row, int rows, int piece, int count, int lane) {
    constexpr int UNITS = CHUNK * (int)sizeof(cell_t) / (int)sizeof(U);  // a row
    constexpr int PITCH = STAGE_COLUMNS * (int)sizeof(cell_t) / (int)sizeof(U);
    constexpr int STEP = UNITS < 32 ? 32 / UNITS : 1;
    const U* from = (const U*)(first + (piece & (STAGE_PIECES - 1)) * CHUNK);
    char* to = (char*)(kept + (size_t)row * A.column_count + CHUNK * piece);
    const size_t pitch = (size_t)A.column_count * sizeof(cell_t);
    if (32 % UNITS == 0 && GROUP_ROWS % STEP == 0 && rows == GROUP_ROWS && count == CHUNK) {
        from += lane / UNITS * PITCH + lane % UNITS;
        to += lane / UNITS * pitch + lane % UNITS * sizeof(U);
#pragma unroll
        for (int r = 0; r < GROUP_ROWS; r += STEP) {
            __stcs((U*)to, from[r * PITCH]);
            to += STEP * pitch;
        }
        return;
    }
    const int units = count * (int)sizeof(cell_t) / (int)sizeof(U);
#pragma unroll 1
    for (int i = lane; i < rows * UNITS; i += 32) {
        const int r = i / UNITS, unit = i % UNITS;
        if (unit < units) __stcs((U*)(to + r * pitch) + unit, from[r * PITCH + unit]);
    }
}

// What is whole of a warp's tile after chunk `c`, to the matrix, whose rows begin at `kept`.
__device__ __forceinline__ void unstage(const ww_arguments& A, cell_t* kept, const cell_t* tile,
                                        int warp_row, int c, int lane) {
    constexpr int UNIT = vector_of<cell_t, 1>::WIDTH < 4 ? vector_of<cell_t, 1>::WIDTH : 4;
    using narrow = typename vector_word<UNIT>::type;
    const bool even = (size_t)A.column_count * sizeof(cell_t) % 16 == 0;
#pragma unroll 1
    for (int group = 0; group < LANE_GROUPS; group++) {
        const int piece = c - 1 - group, first = group * GROUP_ROWS;
        const int count = min(CHUNK, A.column_count - CHUNK * piece);
        const int rows = min(GROUP_ROWS, A.row_count - warp_row - first);
        if (piece < 0 || count <= 0 || rows <= 0) continue;
        const cell_t* from = tile + first * STAGE_COLUMNS;
        if constexpr (CHUNK * sizeof(cell_t) % 16 == 0) {
            if (even) {
                unstage_as<uint4>(A, kept, from, warp_row + first, rows, piece, count, lane);
                continue;
            }
        }
        unstage_as<narrow>(A, kept, from, warp_row + first, rows, piece, count, lane);
    }
}
