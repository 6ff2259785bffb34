// The matrix on its way out: lanes write cells where they are computed, a warp's tile turns them
// into whole rows of CHUNK columns, which leave in wide stores. Lanes are SK columns apart and their
// rows a multiple of 32 banks: the stores of one macro-step meet no bank twice.
#pragma once
#include "layout.cuh"

// `count` columns from `column` on of the tile's rows that are in the domain, in units of U.
template <class U>
__device__ __forceinline__ void unstage_as(const ww_arguments& A, const cell_t* tile, int warp_row,
                                           int column, int count, int lane) {
    constexpr int UNITS = CHUNK * (int)sizeof(cell_t) / (int)sizeof(U);  // a row
    constexpr int PITCH = STAGE_COLUMNS * (int)sizeof(cell_t) / (int)sizeof(U);
    const U* from = (const U*)(tile + (column & (STAGE_COLUMNS - 1)));
    char* to = (char*)(A.kept + (size_t)warp_row * A.column_count + column);
    const size_t pitch = (size_t)A.column_count * sizeof(cell_t);
    const int rows = min(WARP_ROWS, A.row_count - warp_row);
    if (32 % UNITS == 0 && rows == WARP_ROWS && count == CHUNK) {
        constexpr int STEP = UNITS < 32 ? 32 / UNITS : 1;
        from += lane / UNITS * PITCH + lane % UNITS;
        to += lane / UNITS * pitch + lane % UNITS * sizeof(U);
#pragma unroll 8
        for (int row = 0; row < WARP_ROWS; row += STEP) {
            __stcs((U*)to, from[row * PITCH]);
            to += STEP * pitch;
        }
        return;
    }
    const int units = count * (int)sizeof(cell_t) / (int)sizeof(U);
#pragma unroll 1
    for (int i = lane; i < WARP_ROWS * UNITS; i += 32) {
        const int row = i / UNITS, unit = i % UNITS;
        if (row < rows && unit < units) __stcs((U*)(to + row * pitch) + unit, from[row * PITCH + unit]);
    }
}

// Chunk `c` of the tile, written by all lanes, to the matrix.
__device__ __forceinline__ void unstage(const ww_arguments& A, const cell_t* tile, int warp_row,
                                        int c, int lane) {
    const int column = CHUNK * c, count = min(CHUNK, A.column_count - column);
    if (column < 0 || count <= 0) return;
    using narrow = typename vector_word<vector_of<cell_t, 1>::WIDTH < 4 ? vector_of<cell_t, 1>::WIDTH : 4>::type;
    constexpr bool CAN = CHUNK * sizeof(cell_t) % 16 == 0;
    if (CAN && (size_t)A.column_count * sizeof(cell_t) % 16 == 0)
        unstage_as<uint4>(A, tile, warp_row, column, count, lane);
    else unstage_as<narrow>(A, tile, warp_row, column, count, lane);
}
