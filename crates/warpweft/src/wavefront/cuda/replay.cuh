// A saved window computed again, cell by cell, to find the place of its best one.
#pragma once
#include "layout.cuh"

// What a replay needs; by value, so that nothing of the walker lives in memory.
struct saved_window {
    const cell_t* cells;
    const ww_row_input* rows;
    const ww_column_input* columns;
    int row_count, column_count;
    int first_row;  // this lane's
    int first_column;  // lane 0's
};

// The best cell of a saved window. Called by whole warps, once a run.
__device__ __noinline__ candidate replay(const saved_window saved, const ww_element f, int lane) {
    cell_t h[K], corner = saved.cells[32 * K + lane], bottom[SK];
    row_t inputs[K];
#pragma unroll
    for (int r = 0; r < K; r++) {
        const int row = saved.first_row + r;
        h[r] = saved.cells[32 * r + lane];
        inputs[r] = f.row(row < saved.row_count ? saved.rows[row] : ww_row_input{});
    }
#pragma unroll
    for (int u = 0; u < SK; u++) bottom[u] = saved.cells[32 * (K + 1 + u) + lane];
    candidate best{0, 0, FAR, FAR};
#pragma unroll 1
    for (int m = 0; m < WINDOW / SK; m++) {
        const int first = saved.first_column + SK * (m - lane);
        cell_t top[SK];
#pragma unroll
        for (int u = 0; u < SK; u++) {
            top[u] = shuffle_up<HANDED>(bottom[u]);
            if (lane == 0) top[u] = saved.cells[32 * (K + 1 + SK) + m * SK + u];
        }
        if (first < 0 || first >= saved.column_count) continue;
#pragma unroll
        for (int u = 0; u < SK; u++) {
            const bool inside = first + u < saved.column_count;
            const column_t in = f.column(inside ? saved.columns[first + u] : ww_column_input{});
            cell_t nw = corner, n = top[u];
#pragma unroll
            for (int r = 0; r < K; r++) {
                const cell_t cell = f(earlier{nw, n, h[r]}, inputs[r], in);
                nw = h[r];
                h[r] = cell;
                n = cell;
                const ww_score_type score = ww_score(cell);
                candidate here{rank_of(score), 0, saved.first_row + r, first + u};
                memcpy(&here.bits, &score, sizeof(score));
                if (inside && here.row < saved.row_count && here.rank != 0 && here.beats(best))
                    best = here;
            }
            corner = top[u];
            bottom[u] = n;
        }
    }
    return best_of_warp(best);
}
