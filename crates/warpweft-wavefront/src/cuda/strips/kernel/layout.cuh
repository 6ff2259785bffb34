// The strip kernel's shape, its arguments and what its blocks share.
#pragma once
#include "words.cuh"
#include "neighbours.cuh"
#include "rank.cuh"
#include "sum.cuh"
#include "flags.cuh"

enum {
    WW_BEST = 0, WW_LAST_ROW = 1, WW_LAST_COLUMN = 2, WW_MATRIX = 3, WW_ONLY_SCORE = 4, WW_SUM = 5
};

constexpr int K = WW_ROWS, SK = WW_COLUMNS, CHUNK = WW_CHUNK, WARPS = WW_WARPS;
constexpr int RING = 512, INPUTS = WW_PACKED ? 8192 : 4096;
constexpr int G = SK < 4 ? 4 : SK;                   // columns fetched together
constexpr int HALVES = WW_PACKED ? 2 : 1;              // cells a register
constexpr int LANES = 32 * HALVES;                   // that own K rows each
constexpr int LAG = (LANES - 1) * SK;                // columns the last is behind the first
constexpr int WARP_ROWS = LANES * K, BLOCK_ROWS = WARPS * WARP_ROWS;
constexpr int FLAG_STRIDE = 8;
constexpr bool SEVERAL = WW_SEVERAL;                 // GPUs share the tile-rows
static_assert(CHUNK % G == 0 && RING % CHUNK == 0 && G % SK == 0, "chunks are whole groups");
// Columns between two looks for a new record: what a record costs is then seldom paid.
constexpr int WINDOW = CHUNK < 128 ? 128 : CHUNK, WINDOW_CHUNKS = WINDOW / CHUNK;
static_assert(WARPS * (LAG + 2 * CHUNK) + WINDOW + 2 * RING <= INPUTS,
              "column inputs outlive all warps");

// Last row and last column are kept in addition to the winner or the sum where WW_EDGES says so.
constexpr bool BEST = WW_KEEP == WW_BEST || WW_KEEP == WW_ONLY_SCORE;
constexpr bool LAST_ROW = WW_KEEP == WW_LAST_ROW || WW_EDGES;
constexpr bool LAST_COLUMN = WW_KEEP == WW_LAST_COLUMN || WW_EDGES;
// Whether the lane that has the last row hands it on itself. A cell of several words takes a store for each of them in each row:
// then the row passes through the lanes below.
constexpr bool LEAVES = LAST_ROW && sizeof(ww_cell) == 4;
// Whether waits are outside of the loop over chunks. On an H200 at 100,000 squared this is faster for cells of one word (score of
// Smith-Waterman 1.96 TCUPS instead of 1.91) and slower for others (score with affine gaps 1.12 instead of 1.16), and where windows
// of a few chunks are kept (position of the best cell 1.78 instead of 1.86).
constexpr bool STREAMS = WW_KEEP != WW_BEST && sizeof(ww_cell) == 4;
// The words of a cell that go from lane to lane: all, where the last row passes through lanes below, or where another function
// than the element's reads them.
constexpr unsigned HANDED = (LAST_ROW && !LEAVES) || WW_DIRECTIONS ? ~0u : WW_SOUTH;

using cell_t = ww_cell;
// What lanes compute with: the element, or its form for packed cells.
#if WW_PACKED
// What a row and a column give is looked up: a row holds what it gives with each of four symbols of the
// columns, a byte each, and a column the selectors of a byte and of its sign.
struct packed_element {
    const ww_element& of;
    unsigned symbols;  // of the columns, a byte each

    using Row = unsigned;
    using Column = unsigned short;

    __device__ __forceinline__ ww_column_input symbol(int k) const {
        const unsigned char byte = symbols >> (8 * k);
        ww_column_input input;
        static_assert(sizeof(input) == 1, "a symbol is a byte");
        memcpy(&input, &byte, 1);
        return input;
    }
    __device__ __forceinline__ Row row(const ww_row_input& input) const {
        const auto row = of.row(input);
        unsigned all = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) all |= ((unsigned)of.pair(row, of.column(symbol(k))) & 0xff) << (8 * k);
        return all;
    }
    __device__ __forceinline__ Column column(const ww_column_input& input) const {
        unsigned char byte;
        memcpy(&byte, &input, 1);
        unsigned k = 0;
#pragma unroll
        for (int other = 1; other < 4; other++) if (byte == (symbols >> (8 * other) & 0xff)) k = other;
        // Of the low row's bytes and of the high row's.
        return (Column)((0x80 + 0x11 * k) | (0xc4 + 0x11 * k) << 8);
    }
};
using lane_element = packed_element;
constexpr int NUMBERS = sizeof(cell_t) / 4;
struct pair_word {
    unsigned of[NUMBERS];  // two numbers each
};
using held_t = pair_word;
#else
using held_t = cell_t;
using lane_element = ww_element;
#endif
using row_t = typename lane_element::Row;
using column_t = typename lane_element::Column;

// What cells outside hold, where there are no lines of them; and the one above the first.
struct ww_edges {
    cell_t border, corner;
};

using earlier = earlier_of<cell_t>;

// What a window is computed from.
constexpr bool SAVES = WW_KEEP == WW_BEST;
struct window_t {
    held_t held[SAVES ? 32 * (K + 1 + SK) : 1];  // per lane its rows, the cell above-left, its last columns
    cell_t above[SAVES ? WINDOW : 1];            // its row above
    int base;                                    // of packed cells
};

// A kept matrix goes out by way of a tile a warp, where the host says that it fits (stage.cuh): pieces
// of a chunk of each row, two, or four where a copy warp takes them out (copy_warp.cuh).
constexpr bool STAGED = WW_STAGED;
constexpr int STAGE_PIECES = WW_INPUTS ? 4 : 2;
constexpr int STAGE_COLUMNS = STAGE_PIECES * CHUNK;
constexpr int STAGE = STAGED ? WARP_ROWS * STAGE_COLUMNS : 1;
// Inputs of cells come in by another, of four: see given.cuh.
constexpr int GIVEN_PIECES = 4;
constexpr int GIVEN_COLUMNS = GIVEN_PIECES * CHUNK;
// Warps that carry both: one a warp that computes.
constexpr int COPY_WARPS = WW_INPUTS ? WARPS : 0;

struct __align__(16) shared_state {
    cell_t rings[WARPS + 1][RING];
    column_t inputs[INPUTS + CHUNK];  // the first CHUNK again behind the last: no wrap in a chunk
    int ready[WARPS + 1], consumed[WARPS + 1];
    window_t saved[WARPS][2];          // each warp's present window, and that of its record
    rank_t records[WARPS], others;     // each warp's record; the greatest of the grid, lately
    __align__(16) cell_t stage[WARPS][STAGE];
#if WW_INPUTS
    __align__(16) ww_cell_input given[WARPS][WARP_ROWS * GIVEN_COLUMNS];
    // Chunks whose inputs are in, and that are computed.
    int brought[WARPS], computed[WARPS];
#endif
};
static_assert(sizeof(shared_state) <= WW_SHARED_BYTES,
              "the host counts the same: what is made of a column's input has 4 bytes at most");
