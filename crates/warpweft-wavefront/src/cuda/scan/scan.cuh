// Sums of a rectangle by scans: recurrences h = n + w - nw + x, whose rows' differences
// h - n are running sums along the row, and whose cells are sums of those down the column.
//
// Grid    persistent, all blocks resident (cooperative launch); block b computes bands b,
//         b + gridDim.x, .. of WW_SCAN_WARPS * WW_SCAN_ROWS rows each, tile by tile from the west.
// Block   a warp owns WW_SCAN_ROWS rows, a lane 16 bytes of cells of each. Rows are scanned by
//         shuffles and carry over from tile to tile; columns are summed in registers, then across
//         the warps through shared memory; the row above comes from the matrix itself.
// Global  one flag a band counts the tiles whose bottom row is in the matrix.
//
// Expects: ww_element (which gives x where all neighbours are 0), ww_cell, ww_cell_input, ww_row_input,
// ww_column_input, WW_SCAN_ROWS, WW_SCAN_WARPS.
#pragma once
#include "words.cuh"
#include "flags.cuh"

using cell_t = ww_cell;
constexpr int ROWS = WW_SCAN_ROWS, WARPS = WW_SCAN_WARPS;
constexpr int V = 16 / sizeof(cell_t), TILE = 32 * V, BAND = WARPS * ROWS;
constexpr int FLAG_STRIDE = 8;

struct ww_edges {
    cell_t border, corner;
};

// Neighbours that are 0, and the cell's input.
struct nothing_earlier {
    ww_cell_input x;
    template <int DI, int DJ> WW_FN cell_t at() const { return cell_t{}; }
    WW_FN ww_cell_input input() const { return x; }
};

__device__ __forceinline__ cell_t lane_value(cell_t value, int from) {
    constexpr int COUNT = sizeof(cell_t) / 4;
    unsigned words[COUNT];
    memcpy(words, &value, sizeof(cell_t));
#pragma unroll
    for (int i = 0; i < COUNT; i++) words[i] = __shfl_sync(~0u, words[i], from);
    memcpy(&value, words, sizeof(cell_t));
    return value;
}

struct scanner {
    const ww_arguments& A;
    const ww_watchdog& dog;
    const ww_edges& edges;
    const ww_element& f;
    cell_t (&totals)[2][WARPS][TILE];
    const int lane, warp;
    int row0;          // this warp's first
    int available;     // tiles of the band above
    bool given_up;
    cell_t carry[ROWS];

    __device__ __forceinline__ cell_t left_of(int row) const {
        if (!A.has_lines) return edges.border;
        if (row < 0) return edges.corner;
        return row < A.row_count ? A.left[row] : cell_t{};
    }
    template <class T> __device__ __forceinline__ void load(const T* row, int column, bool inside,
                                                            T (&to)[V]) const {
        if (A.wide && inside && column + V <= A.column_count) {
            using U = vector_of<T, V>;
            typename U::type words[U::COUNT];
#pragma unroll
            for (int i = 0; i < U::COUNT; i++)
                words[i] = __ldcs((const typename U::type*)(row + column) + i);
            memcpy(to, words, U::BYTES);
            return;
        }
#pragma unroll
        for (int v = 0; v < V; v++)
            to[v] = inside && column + v < A.column_count ? row[column + v] : T{};
    }
    __device__ __forceinline__ void load_inputs(int tile, ww_cell_input (&x)[ROWS][V]) const {
        const int column = tile * TILE + lane * V;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            load(A.inputs + (size_t)(row0 + r) * A.column_count, column, row0 + r < A.row_count, x[r]);
    }
    __device__ __forceinline__ void store(int row, int column, const cell_t (&cells)[V]) const {
        if (row >= A.row_count) return;
        cell_t* to = A.kept + (size_t)row * A.column_count + column;
        if (A.wide && column + V <= A.column_count) return store_vector<V>(to, cells);
#pragma unroll
        for (int v = 0; v < V; v++)
            if (column + v < A.column_count) to[v] = cells[v];
    }
    // The row above the band.
    __device__ __forceinline__ void load_top(int band, int tile, cell_t (&top)[V]) {
        const int column = tile * TILE + lane * V;
        if (band == 0) {
#pragma unroll
            for (int v = 0; v < V; v++)
                top[v] = A.has_lines && column + v < A.column_count ? A.top[column + v] : edges.border;
            return;
        }
        patience patience;
        while (available <= tile) {
            available = (int)ww_load_acquire(A.flags + (size_t)(band - 1) * FLAG_STRIDE);
            if (available <= tile
                && patience.over(dog, (band - 1) % gridDim.x, band - 1, tile + 1, available)) {
                available = FAR;
                given_up = true;
            }
        }
        const cell_t* row = A.kept + (size_t)(band * BAND - 1) * A.column_count;
#pragma unroll
        for (int v = 0; v < V; v++)
            top[v] = column + v < A.column_count ? load_global(row + column + v) : cell_t{};
    }

    __device__ __forceinline__ void tile(int band, int t, const ww_cell_input (&x)[ROWS][V]) {
        const int column = t * TILE + lane * V;
        ww_column_input b[V];
#pragma unroll
        for (int v = 0; v < V; v++)
            b[v] = column + v < A.column_count ? A.columns[column + v] : ww_column_input{};
        cell_t sums[ROWS][V];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const auto a = f.row(row0 + r < A.row_count ? A.rows[row0 + r] : ww_row_input{});
#pragma unroll
            for (int v = 0; v < V; v++) {
                const cell_t own = f(nothing_earlier{x[r][v]}, a, f.column(b[v]));
                sums[r][v] = v == 0 ? own : ww::add(sums[r][v - 1], own);
            }
            // The lanes before, and the tiles before.
            cell_t before = sums[r][V - 1];
#pragma unroll
            for (int d = 1; d < 32; d *= 2) {
                const cell_t other = lane_value(before, lane - d);
                if (lane >= d) before = ww::add(before, other);
            }
            const cell_t total = ww::add(lane_value(before, 31), carry[r]);
            before = lane_value(before, lane - 1);
            before = lane == 0 ? carry[r] : ww::add(before, carry[r]);
            carry[r] = total;
#pragma unroll
            for (int v = 0; v < V; v++) {
                sums[r][v] = ww::add(sums[r][v], before);
                if (r > 0) sums[r][v] = ww::add(sums[r][v], sums[r - 1][v]);
            }
        }
        store_vector<V>(&totals[t & 1][warp][lane * V], sums[ROWS - 1]);
        __syncthreads();
        cell_t above[V];
        load_top(band, t, above);
        for (int w = 0; w < warp; w++) {
            cell_t part[V];
            load_vector<V>(part, &totals[t & 1][w][lane * V]);
#pragma unroll
            for (int v = 0; v < V; v++) above[v] = ww::add(above[v], part[v]);
        }
        // The bottom row first: the next band waits for it.
#pragma unroll
        for (int r = ROWS - 1; r >= 0; r--) {
            cell_t cells[V];
#pragma unroll
            for (int v = 0; v < V; v++) cells[v] = ww::add(above[v], sums[r][v]);
            store(row0 + r, column, cells);
            if (r == ROWS - 1 && warp == WARPS - 1) {
                __syncwarp();
                if (lane == 0)
                    ww_store_release(A.flags + (size_t)band * FLAG_STRIDE, (ww_word)(t + 1));
            }
        }
    }

    __device__ __forceinline__ void band(int band) {
        row0 = band * BAND + warp * ROWS;
        available = given_up ? FAR : 0;
#pragma unroll
        for (int r = 0; r < ROWS; r++) carry[r] = ww::sub(left_of(row0 + r), left_of(row0 + r - 1));
        const int tiles = (A.column_count + TILE - 1) / TILE;
        ww_cell_input x[ROWS][V], next[ROWS][V];
        load_inputs(0, x);
        for (int t = 0; t < tiles; t++) {
            load_inputs(min(t + 1, tiles - 1), next);
            tile(band, t, x);
            memcpy(x, next, sizeof(x));
        }
        __syncthreads();
    }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
wavefront_scan(WW_PARAMETERS) {
    __shared__ __align__(16) cell_t totals[2][WARPS][TILE];
    scanner scanner{A, dog, edges, f, totals, (int)threadIdx.x & 31, (int)threadIdx.x >> 5};
    scanner.given_up = false;
    const int bands = (A.row_count + BAND - 1) / BAND;
    for (int band = blockIdx.x; band < bands; band += gridDim.x) scanner.band(band);
}
