// A saved window computed again, cell by cell, to find the place of its best one.
#pragma once
#include "given.cuh"
#include "form.cuh"
#include "tables.cuh"

// What a replay needs; by value, so that nothing of the walker lives in memory.
struct saved_window {
    const window_t& window;
    const ww_row_input* rows;
    const ww_column_input* columns;
#if WW_INPUTS
    const ww_cell_input* inputs;
#endif
    int row_count, column_count;
    int first_row;  // this lane's
    int first_column;  // lane 0's
};

// The best cell of a saved window. Called by whole warps, once a run.
__device__ __noinline__ candidate replay(const saved_window saved,
                                         passed<ww_element, has_tables<ww_element>>::type f, int lane) {
    const window_t& window = saved.window;
    const form in_form(window.base);
    cell_t h[HALVES][K], corner[HALVES], bottom[HALVES][SK];
    typename ww_element::Row inputs[HALVES][K];
#pragma unroll
    for (int p = 0; p < HALVES; p++) {
#pragma unroll
        for (int r = 0; r < K; r++) {
            const int row = saved.first_row + p * K + r;
            h[p][r] = in_form.cell(window.held[32 * r + lane], p);
            inputs[p][r] = f.row(row < saved.row_count ? saved.rows[row] : ww_row_input{});
        }
        corner[p] = in_form.cell(window.held[32 * K + lane], p);
#pragma unroll
        for (int u = 0; u < SK; u++) bottom[p][u] = in_form.cell(window.held[32 * (K + 1 + u) + lane], p);
    }
    candidate best{0, 0, FAR, FAR};
#pragma unroll 1
    for (int m = 0; m < WINDOW / SK; m++) {
        cell_t tops[HALVES][SK];
#pragma unroll
        for (int u = 0; u < SK; u++) {
            tops[0][u] = shuffle_up<HANDED>(bottom[HALVES - 1][u]);
            if (lane == 0) tops[0][u] = window.above[m * SK + u];
            if (HALVES == 2) tops[HALVES - 1][u] = bottom[0][u];
        }
#pragma unroll
        for (int p = 0; p < HALVES; p++) {
            const int first = saved.first_column + SK * (m - HALVES * lane - p);
            if (first < 0 || first >= saved.column_count) continue;
#pragma unroll
            for (int u = 0; u < SK; u++) {
                const bool inside = first + u < saved.column_count;
                const auto in = f.column(inside ? saved.columns[first + u] : ww_column_input{});
                cell_t nw = corner[p], n = tops[p][u];
#pragma unroll
                for (int r = 0; r < K; r++) {
                    const earlier before{nw, n, h[p][r]};
#if WW_INPUTS
                    const int row = min(saved.first_row + r, saved.row_count - 1);
                    const int column = min(first + u, saved.column_count - 1);
                    const size_t at = (size_t)row * saved.column_count + column;
                    const cell_t cell = f(with_input{before, saved.inputs[at]}, inputs[p][r], in);
#else
                    const cell_t cell = f(before, inputs[p][r], in);
#endif
                    nw = h[p][r];
                    h[p][r] = cell;
                    n = cell;
                    const ww_score_type score = ww_score(cell);
                    candidate here{rank_of(score), 0, saved.first_row + p * K + r, first + u};
                    memcpy(&here.bits, &score, sizeof(score));
                    if (inside && here.row < saved.row_count && here.rank != 0 && here.beats(best))
                        best = here;
                }
                corner[p] = tops[p][u];
                bottom[p][u] = n;
            }
        }
    }
    return best_of_warp(best);
}
