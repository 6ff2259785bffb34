// Sums of a rectangle by scans: recurrences h = n + w - nw + x, whose rows' differences
// h - n are running sums along the row, and whose cells are sums of those down the column.
//
// Grid    persistent, all blocks resident (cooperative launch); block b computes bands b,
//         b + gridDim.x, .. of WARPS * ROWS rows each, tile by tile from the west.
// Block   WARPS warps that compute: each owns ROWS rows, a lane 16 bytes of cells of each. Rows are scanned
//         by shuffles and carry over from tile to tile; columns are summed in registers. One more warp sums
//         columns across the warps and from band to band.
// Global  of each band's tile the sums of its columns, alone and with all rows above, in tagged words
//         (tagged.cuh). A band takes the latter from the band REACH above, and those of each band between alone:
//         so a sum passes REACH bands in the time that one takes. The order of additions is always the same.
// Shared  inputs of the next STAGES tiles, which arrive by asynchronous copies while earlier tiles are summed
//         (arriving.cuh); sums of columns, see `scan_shared`.
//
// Expects: ww_element (which gives x where all neighbours are 0), ww_cell, ww_cell_input, ww_row_input,
// ww_column_input, WW_SCAN_ROWS, WW_SCAN_WARPS, WW_SCAN_STAGES, WW_SCAN_SHARED.
#pragma once
#include "words.cuh"
#include "flags.cuh"
#include "tagged.cuh"
#include "arriving.cuh"
#include "lanes.cuh"

using cell_t = ww_cell;
constexpr int ROWS = WW_SCAN_ROWS, WARPS = WW_SCAN_WARPS, STAGES = WW_SCAN_STAGES;
constexpr int V = 16 / sizeof(cell_t), TILE = 32 * V, BAND = WARPS * ROWS;
constexpr int REACH = 4;
constexpr unsigned TAG = 1;  // words are written once

struct ww_edges {
    cell_t border, corner;
};

struct scan_shared {
    arriving_rows<ww_cell_input, ROWS, TILE> inputs[STAGES][WARPS];
    // Of the tile's columns each warp's sums, in whose place come those of all rows above the warp.
    alignas(16) cell_t columns[WARPS][TILE];
};
static_assert(sizeof(scan_shared) == WW_SCAN_SHARED, "the host has the same layout");

// Neighbours that are 0, and the cell's input.
struct nothing_earlier {
    ww_cell_input x;
    template <int DI, int DJ> WW_FN cell_t at() const { return cell_t{}; }
    WW_FN ww_cell_input input() const { return x; }
};

// What a lane has of a row of a tile.
struct lane_cells {
    cell_t of[V];
};
using tagged_cells = tagged<lane_cells>;

// What all warps know.
struct scan_warp {
    const ww_arguments& A;
    const ww_edges& edges;
    scan_shared& shared;
    const int lane, tiles, bands;

    static __device__ __forceinline__ void add_to(cell_t (&sums)[V], const cell_t (&more)[V]) {
#pragma unroll
        for (int v = 0; v < V; v++) sums[v] = ww::add(sums[v], more[v]);
    }
};

// A warp that computes.
struct scan_rows : scan_warp {
    using row_sums = sums_before<ROWS>;
    const ww_element& f;
    const int warp;
    int row0;  // this warp's first of the band
    cell_t carry[row_sums::CARRIES];
    int next_band, next_tile, stage;  // the tile to bring next; where this one's inputs are

    __device__ __forceinline__ cell_t left_of(int row) const {
        if (!A.has_lines) return edges.border;
        if (row < 0) return edges.corner;
        return row < A.row_count ? A.left[row] : cell_t{};
    }
    __device__ __forceinline__ void bring(int stage) {
        if (next_band < bands) {
            shared.inputs[stage][warp].bring(A.inputs, next_band * BAND + warp * ROWS, next_tile * TILE,
                                             A.row_count, A.column_count, A.wide_inputs, lane);
            if (++next_tile == tiles) {
                next_tile = 0;
                next_band += gridDim.x;
            }
        }
        copies_begun();
    }

    // sums[r][v]: of this tile's column v, rows of this warp up to r.
    __device__ __forceinline__ void scan(int column, const ww_cell_input (&x)[ROWS][V],
                                         cell_t (&sums)[ROWS][V]) {
        ww_column_input b[V];
#pragma unroll
        for (int v = 0; v < V; v++)
            b[v] = column + v < A.column_count ? A.columns[column + v] : ww_column_input{};
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const auto a = f.row(row0 + r < A.row_count ? A.rows[row0 + r] : ww_row_input{});
#pragma unroll
            for (int v = 0; v < V; v++) {
                const cell_t own = f(nothing_earlier{x[r][v]}, a, f.column(b[v]));
                sums[r][v] = v == 0 ? own : ww::add(sums[r][v - 1], own);
            }
        }
        cell_t before[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; r++) before[r] = sums[r][V - 1];
        row_sums::before(before, carry, lane);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int v = 0; v < V; v++) {
                sums[r][v] = ww::add(sums[r][v], before[r]);
                if (r > 0) sums[r][v] = ww::add(sums[r][v], sums[r - 1][v]);
            }
    }
    // The cells from their sums and those of all rows above.
    __device__ __forceinline__ void store(int column, cell_t (&sums)[ROWS][V]) const {
        cell_t above[V];
        load_vector<V>(above, &shared.columns[warp][lane * V]);
#pragma unroll
        for (int r = 0; r < ROWS; r++) add_to(sums[r], above);
        cell_t* to = A.kept + (size_t)row0 * A.column_count + column;
        if (A.wide_cells && row0 + ROWS <= A.row_count) {
            if (column < A.column_count)
#pragma unroll
                for (int r = 0; r < ROWS; r++, to += A.column_count) store_streaming<V>(to, sums[r]);
            return;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++, to += A.column_count)
#pragma unroll
            for (int v = 0; v < V; v++)
                if (row0 + r < A.row_count && column + v < A.column_count) to[v] = sums[r][v];
    }
    // Sums the rows of tile t, and leaves the last of them for the columns.
    __device__ __forceinline__ void sum(int t, cell_t (&sums)[ROWS][V]) {
        const int column = t * TILE + lane * V;
        ww_cell_input x[ROWS][V];
        copies_ended<STAGES - 1>();
        __syncwarp();
        shared.inputs[stage][warp].take(A.inputs, row0, column, A.column_count, A.wide_inputs, lane, x);
        __syncwarp();
        bring(stage);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        scan(column, x, sums);
        store_vector<V>(&shared.columns[warp][lane * V], sums[ROWS - 1]);
    }
    __device__ __forceinline__ void begin() {
        next_band = blockIdx.x;
        next_tile = stage = 0;
#pragma unroll
        for (int s = 0; s < STAGES; s++) bring(s);
    }
    __device__ __forceinline__ void begin_band(int band) {
        row0 = band * BAND + warp * ROWS;
        row_sums::begin(carry, lane, [&](int r) {
            return ww::sub(left_of(row0 + r), left_of(row0 + r - 1));
        });
    }
};

// The warp that sums columns across the warps and bands.
struct scan_columns : scan_warp {
    const ww_watchdog& dog;
    bool given_up;

    // Of tile t of `band`: the sums of its own rows, or of all rows up to there.
    __device__ __forceinline__ ww_tagged* words(int band, int t, bool all) const {
        return A.words + ((((size_t)band * tiles + t) * 2 + all) * 32 + lane) * tagged_cells::WORDS;
    }
    static __device__ __forceinline__ void leave(ww_tagged* to, const cell_t (&cells)[V]) {
        lane_cells own;
        memcpy(own.of, cells, sizeof(own));
        tagged_cells::leave(to, TAG, own);
    }
    static __device__ __forceinline__ void take(const tagged_cells& from, cell_t (&cells)[V]) {
        const lane_cells found = from.value();
        memcpy(cells, found.of, sizeof(found));
    }
    __device__ __forceinline__ void top(int t, cell_t (&cells)[V]) const {
        const int column = t * TILE + lane * V;
#pragma unroll
        for (int v = 0; v < V; v++)
            cells[v] = A.has_lines && column + v < A.column_count ? A.top[column + v] : edges.border;
    }
    // Asks for what is missing of the REACH bands above; whether all is there.
    __device__ __forceinline__ bool ask(int band, int t, tagged_cells (&above)[REACH]) const {
        bool there = true;
#pragma unroll
        for (int k = 0; k < REACH; k++) {
            const int from = band - REACH + k;
            if (from >= 0) above[k].ask(words(from, t, k == 0), !above[k].there(TAG));
        }
#pragma unroll
        for (int k = 0; k < REACH; k++) there &= band - REACH + k < 0 || above[k].there(TAG);
        return there;
    }
    // After `ask` and with all warps' sums there: those of all rows above each warp in their place.
    __device__ __forceinline__ void sum(int band, int t, bool there, tagged_cells (&above)[REACH]) {
        cell_t* columns = &shared.columns[0][lane * V];
        cell_t sums[V], own[V], part[V];
        load_vector<V>(own, columns);
#pragma unroll
        for (int w = 1; w < WARPS; w++) {
            load_vector<V>(part, columns + w * TILE);
            add_to(own, part);
        }
        if (band + 1 < bands) leave(words(band, t, false), own);
        patience patience;
        while (!there && !given_up) {
            there = ask(band, t, above);
            if (!there && patience.over(dog, (band - 1) % gridDim.x, band - 1, t, 0)) given_up = true;
        }
        __syncwarp();
        if (band < REACH) top(t, sums);
        else take(above[0], sums);
#pragma unroll
        for (int k = 1; k < REACH; k++) {
            if (band - REACH + k < 0) continue;
            take(above[k], part);
            add_to(sums, part);
        }
        add_to(own, sums);
        if (band + REACH < bands) leave(words(band, t, true), own);
#pragma unroll
        for (int w = 0; w < WARPS; w++) {
            load_vector<V>(part, columns + w * TILE);
            store_vector<V>(columns + w * TILE, sums);
            add_to(sums, part);
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * (WARPS + 1), 1)
wavefront_scan(WW_PARAMETERS) {
    extern __shared__ __align__(16) unsigned char bytes[];
    const int warp = threadIdx.x >> 5;
    const scan_warp common{A,
                           edges,
                           *(scan_shared*)bytes,
                           (int)threadIdx.x & 31,
                           (A.column_count + TILE - 1) / TILE,
                           (A.row_count + BAND - 1) / BAND};
    const bool computes = warp < WARPS;
    scan_rows rows{common, f, warp};
    scan_columns columns{common, dog, false};
    if (computes) rows.begin();
    for (int band = blockIdx.x; band < common.bands; band += gridDim.x) {
        if (computes) rows.begin_band(band);
        // All warps meet at the same two instructions.
        for (int t = 0; t < common.tiles; t++) {
            cell_t sums[ROWS][V];
            tagged_cells above[REACH];
            bool there = false;
            if (computes) rows.sum(t, sums);
            else there = columns.ask(band, t, above);
            __syncthreads();  // all warps' sums are there
            if (!computes) columns.sum(band, t, there, above);
            __syncthreads();  // those of all rows above are there
            if (computes) rows.store(t * TILE + rows.lane * V, sums);
        }
    }
}
