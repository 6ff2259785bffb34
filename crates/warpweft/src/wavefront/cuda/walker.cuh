// One compute warp's walk along its rows of one tile-row.
//
// The best cell's position costs little on the way: a warp saves its registers every WINDOW
// columns, keeps those of the window with its record, and replays that one in the end.
#pragma once
#include "layout.cuh"
#include "replay.cuh"
#include "stage.cuh"

struct walker {
    const ww_arguments& A;
    const ww_watchdog& dog;
    const ww_edges& edges;
    const ww_element& f;
    shared_state& S;
    const int lane, warp;
    // This tile-row.
    int row0, chunks;
    bool ragged, publishes;
    row_t inputs[K];
    cell_t h[K], corner, bottom[SK];
    // The next group's cells above and column inputs, valid if `ready` covers them.
    cell_t above[G];
    column_t column[G];
    int ready, room;
    bool given_up;
    int stage;  // where this lane's rows of the stage begin
    // Per row the greatest score of the present window or tile-row, and which half of `saved` is
    // the window's.
    ww_score_type best[K];
    int half;
    // The record of this warp, the same in all lanes, and the column that its window begins at; for
    // the score alone, the lane's greatest.
    rank_t record;
    int record_row, record_column;
    ww_score_type greatest;

    __device__ __forceinline__ walker(const ww_arguments& A, const ww_watchdog& dog,
                                      const ww_edges& edges, const ww_element& f, shared_state& S,
                                      int lane, int warp)
        : A(A), dog(dog), edges(edges), f(f), S(S), lane(lane), warp(warp), given_up(false),
          stage(warp * STAGE + lane * K * STAGE_COLUMNS), half(0), record(0), record_row(FAR), record_column(0),
          greatest(lowest<ww_score_type>::value()) {
        // Or the compiler multiplies again for every cell.
        asm("" : "+r"(stage));
    }

    __device__ __forceinline__ row_t row_input(int row) const {
        return f.row(row < A.row_count ? A.rows[row] : ww_row_input{});
    }
    __device__ __forceinline__ cell_t left_of(int row) const {
        if (!A.has_lines) return edges.border;
        if (row < 0) return edges.corner;
        return row < A.row_count ? A.left[row] : cell_t{};
    }
    __device__ __forceinline__ int index() const { return blockIdx.x * WARPS + warp; }

    __device__ __forceinline__ void fetch(int chunk, int group) {
        load_vector<G>(above, &S.rings[warp][(CHUNK * chunk) & (RING - 1)] + G * group);
        const column_t* from = &S.inputs[(CHUNK * chunk - SK * lane) & (INPUTS - 1)] + G * group;
#pragma unroll
        for (int u = 0; u < G; u += SK) {
            column_t part[SK];
            load_vector<SK>(part, from + u);
#pragma unroll
            for (int z = 0; z < SK; z++) column[u + z] = part[z];
        }
    }
    // Where lane 31 puts the columns that it computes at offset `at` of chunk `c`.
    __device__ __forceinline__ cell_t* out(int c, int at) const {
        cell_t* ring = S.rings[warp + 1];
        // A chunk begins SK columns into one of the ring: only its last macro-step is in the next.
        if constexpr (32 * SK % CHUNK == 0) {
            if (at == CHUNK - SK) return ring + ((CHUNK * (c + 1) - 32 * SK) & (RING - 1));
            return ring + ((CHUNK * c - 32 * SK) & (RING - 1)) + (at + SK);
        }
        return ring + ((CHUNK * c + at - LAG) & (RING - 1));
    }
    // Columns that must be ready for a chunk.
    __device__ __forceinline__ int needed(int chunk) const {
        return min(CHUNK * (chunk + 1), A.column_count);
    }

    // SK columns from `first` on (this lane's); `top` is the row above. EDGE: the lane may be outside
    // the domain's columns, and then keeps what it has. TAIL: the last row, which is in this warp,
    // goes to the bottom.
    template <bool EDGE, bool TAIL>
    __device__ __forceinline__ void columns(int first, int first_in_group, const cell_t (&top)[SK],
                                            const column_t (&in)[SK]) {
        const bool inside = !EDGE || (unsigned)first < (unsigned)A.column_count;
        cell_t to[K], above_left = corner, below[SK];
#pragma unroll
        for (int r = 0; r < K; r++) to[r] = h[r];
#pragma unroll
        for (int u = 0; u < SK; u++) {
            const bool kept = !EDGE || (inside && first + u < A.column_count);
            cell_t* staged = S.stage[0] + (stage + ((first + u) & (STAGE_COLUMNS - 1)));
            cell_t nw = above_left, n = top[u];
#pragma unroll
            for (int r = 0; r < K; r++) {
                const cell_t w = to[r], cell = f(earlier{nw, n, w}, inputs[r], in[u]);
                nw = w;
                to[r] = cell;
                n = cell;
                if constexpr (WW_KEEP == WW_BEST || WW_KEEP == WW_ONLY_SCORE) {
                    if constexpr (EDGE) {
                        best[r] = greater(best[r], kept ? ww_score(cell)
                                                        : lowest<ww_score_type>::value());
                    } else if ((first_in_group + u) % 2 == 1) {
                        // Two columns at once: one instruction takes the maximum of three.
                        best[r] = greater(greater(best[r], ww_score(w)), ww_score(cell));
                    }
                } else if constexpr (STAGED) {
                    if (kept) staged[r * STAGE_COLUMNS] = cell;
                } else if constexpr (WW_KEEP == WW_MATRIX) {
                    if (kept && (!EDGE || row0 + r < A.row_count))
                        A.kept[(size_t)(row0 + r) * A.column_count + first + u] = cell;
                } else if constexpr (EDGE && WW_KEEP == WW_LAST_COLUMN) {
                    if (row0 + r < A.row_count && first + u == A.column_count - 1)
                        A.kept[row0 + r] = cell;
                }
            }
            above_left = top[u];
            below[u] = n;
            if constexpr (TAIL) {
                const int own = A.row_count - row0;
                if (own <= 0) below[u] = top[u];
#pragma unroll
                for (int r = 0; r + 1 < K; r++) if (own == r + 1) below[u] = to[r];
            }
        }
#pragma unroll
        for (int r = 0; r < K; r++) h[r] = inside ? to[r] : h[r];
#pragma unroll
        for (int u = 0; u < SK; u++) bottom[u] = inside ? below[u] : bottom[u];
        corner = inside ? above_left : corner;
    }

    // Waits for what chunk `c` needs: cells above it, room for `written` columns below.
    __device__ __forceinline__ void await(int c, int written) {
        if (publishes && written > room) {
            const int consumed =
                wait_shared<40>(&S.consumed[warp + 1], written - RING, dog, 2001 + warp);
            given_up |= consumed == FAR;
            room = given_up ? FAR : consumed + RING;
        }
        if (ready < needed(c)) {
            ready = wait_shared<0>(&S.ready[warp], needed(c), dog, 1000 + warp);
            given_up |= ready == FAR;
            fetch(c, 0);
        }
    }

    // One group of G columns of chunk `c`, with what was fetched for it; `next` fetches for the
    // group after it.
    template <bool EDGE, bool TAIL, class Next>
    __device__ __forceinline__ void group(int c, int g, Next next) {
        cell_t tops[G];
        column_t ins[G];
#pragma unroll
        for (int u = 0; u < G; u++) {
            tops[u] = above[u];
            ins[u] = column[u];
        }
        next();
#pragma unroll
        for (int m = 0; m < G / SK; m++) {
            cell_t top[SK];
            column_t in[SK];
#pragma unroll
            for (int u = 0; u < SK; u++) {
                const cell_t shuffled = shuffle_up<HANDED>(bottom[u]);
                top[u] = lane == 0 ? tops[m * SK + u] : shuffled;
                in[u] = ins[m * SK + u];
            }
            const int first = CHUNK * c + G * g + SK * (m - lane);
            columns<EDGE, TAIL>(first, m * SK, top, in);
            if (lane == 31) store_vector<SK>(out(c, G * g + SK * m), bottom);
        }
    }

    template <bool EDGE, bool TAIL> __device__ __forceinline__ void chunk(int c) {
        const int written = CHUNK * (c + 1) - LAG;  // columns of the bottom row after this chunk
        if (written > room || ready < needed(c)) await(c, written);
        constexpr int GROUPS = CHUNK / G;
        constexpr int UNROLL = G * K >= 32 ? 2 : GROUPS;
#pragma unroll UNROLL
        for (int g = 0; g < GROUPS - 1; g++) group<EDGE, TAIL>(c, g, [&] { fetch(c, g + 1); });
        // The next chunk's first group is fetched whether it is there or not: `ready`, read before
        // it, tells. Past the last column lagging lanes still need the inputs; the cells above
        // are whatever the ring holds, and unused.
        group<EDGE, TAIL>(c, GROUPS - 1, [&] {
            if (!given_up) ready = load_acquire_shared(&S.ready[warp]);
            fetch(c + 1, 0);
        });
        if (lane == 31 && written > 0)
            store_in_order_shared(&S.ready[warp + 1], min(written, A.column_count));
        // The ring keeps the window's row above until the window is closed.
        if (WW_KEEP != WW_BEST && lane == 0)
            store_in_order_shared(&S.consumed[warp], CHUNK * (c + 1));
        if constexpr (STAGED) {
            __syncwarp();
            unstage(A, S.stage[warp], row0 - lane * K, c - STAGE_BEHIND, lane);
            __syncwarp();
        }
    }

    // Chunks `c` up to `end`, window by window.
    template <bool EDGE, bool TAIL> __device__ __forceinline__ void span(int& c, int end) {
        if constexpr (WW_KEEP == WW_BEST) {
            while (c < end) {
                if (c % WINDOW_CHUNKS == 0) open_window();
                const int window = c / WINDOW_CHUNKS, stop = min(end, (window + 1) * WINDOW_CHUNKS);
                for (; c < stop; c++) chunk<EDGE, TAIL>(c);
                if (c % WINDOW_CHUNKS != 0 && c != chunks) continue;
                close_window(window * WINDOW);
                if (lane == 0) store_in_order_shared(&S.consumed[warp], CHUNK * c);
            }
        } else {
            for (; c < end; c++) chunk<EDGE, TAIL>(c);
        }
    }

    // All chunks; those from `ramp` to `full` have no cell outside the domain's columns.
    template <bool TAIL> __device__ __forceinline__ void spans(int ramp, int full) {
        int c = 0;
        span<true, TAIL>(c, ramp);
        span<false, TAIL>(c, full);
        span<true, TAIL>(c, chunks);
    }

    __device__ __forceinline__ void forget_scores() {
        // A maximum a row, which costs no more than one in all and tells the row.
#pragma unroll
        for (int r = 0; r < K; r++) best[r] = lowest<ww_score_type>::value();
    }
    // The greatest score of the rows in the domain.
    __device__ __forceinline__ ww_score_type greatest_score() {
        if (ragged) {
#pragma unroll
            for (int r = 0; r < K; r++)
                if (row0 + r >= A.row_count) best[r] = lowest<ww_score_type>::value();
        }
        ww_score_type greatest = best[0];
#pragma unroll
        for (int r = 1; r < K; r++) greatest = greater(greatest, best[r]);
        return greatest;
    }
    // The first row with this score.
    __device__ __forceinline__ int row_of(ww_score_type score) const {
        int row = row0;
#pragma unroll
        for (int r = K - 1; r >= 0; r--)
            if (best[r] == score) row = row0 + r;
        return row;
    }

    // Saves what replaying the window takes, should it hold the record.
    __device__ __forceinline__ void open_window() {
        cell_t* saved = S.saved[warp][half];
#pragma unroll
        for (int r = 0; r < K; r++) saved[32 * r + lane] = h[r];
        saved[32 * K + lane] = corner;
#pragma unroll
        for (int u = 0; u < SK; u++) saved[32 * (K + 1 + u) + lane] = bottom[u];
        forget_scores();
    }

    // Keeps the window that begins at `column` if it holds a new record, or an old one further up.
    __device__ __forceinline__ void close_window(int column) {
        const rank_t others = *(volatile rank_t*)&S.others;
        const ww_score_type greatest = greatest_score();
        rank_t rank = rank_of(greatest);
        bool better = rank > record;
        if (rank == record && rank != 0 && row0 < record_row)
            better = row_of(greatest) < record_row;
        if (!__any_sync(~0u, better && rank >= others)) return;
        if (!better) rank = 0;
        record = greatest_of_warp(rank);
        // Rows ascend with lanes.
        const int first_lane = __ffs(__ballot_sync(~0u, rank == record)) - 1;
        record_row = __shfl_sync(~0u, row_of(greatest), first_lane);
        record_column = column;
        for (int j = lane; j < WINDOW; j += 32)
            S.saved[warp][half][32 * (K + 1 + SK) + j] = S.rings[warp][(column + j) & (RING - 1)];
        half ^= 1;
        if (lane == 0) *(volatile rank_t*)&S.records[warp] = record;
    }

    // All chunks of tile-row `s`, of which this warp has rows inside the domain.
    __device__ __forceinline__ void walk(int s, bool last_strip, int active) {
        const int warp_row = (s * WARPS + warp) * WARP_ROWS;
        row0 = warp_row + lane * K;
        // Warps above hand their bottom row on; so does the last of a tile-row that is not the last,
        // and of the last if that row is kept.
        publishes = warp + 1 < active || !last_strip || WW_KEEP == WW_LAST_ROW;
        ragged = warp_row + WARP_ROWS > A.row_count;
#pragma unroll
        for (int r = 0; r < K; r++) {
            inputs[r] = row_input(row0 + r);
            h[r] = left_of(row0 + r);
        }
        corner = left_of(row0 - 1);
#pragma unroll
        for (int u = 0; u < SK; u++) bottom[u] = cell_t{};
        ready = given_up ? FAR : 0;
        room = publishes && !given_up ? RING : FAR;
        chunks = (A.column_count + LAG + CHUNK - 1) / CHUNK;
        const int ramp = min((LAG + CHUNK - 1) / CHUNK, chunks);
        // Whole chunks without a cell that is checked: not the last column, if it is kept.
        const int checked = WW_KEEP == WW_LAST_COLUMN;
        const bool checks = ragged && WW_KEEP == WW_MATRIX && !STAGED;
        const int full = checks ? 0 : (A.column_count - checked) / CHUNK;
        if (WW_KEEP == WW_ONLY_SCORE) forget_scores();
        if (ragged && WW_KEEP == WW_LAST_ROW) spans<WW_KEEP == WW_LAST_ROW>(ramp, full);
        else spans<false>(ramp, full);
        if constexpr (STAGED)
            for (int w = chunks - STAGE_BEHIND; CHUNK * w < A.column_count; w++)
                unstage(A, S.stage[warp], warp_row, w, lane);
        if (WW_KEEP == WW_ONLY_SCORE) greatest = greater(greatest, greatest_score());
    }

    // Leaves the warp's best cell, or its score, for the host.
    __device__ __forceinline__ void finish() {
        candidate best{0, 0, 0, 0};
        if constexpr (WW_KEEP == WW_ONLY_SCORE) {
            best.rank = rank_of(greatest);
            memcpy(&best.bits, &greatest, sizeof(greatest));
            best = best_of_warp(best);
        } else if constexpr (WW_KEEP == WW_BEST) {
            if (record != 0 && record >= *(volatile rank_t*)&S.others) {
                const int first_row = record_row / WARP_ROWS * WARP_ROWS + lane * K;
                const saved_window saved{S.saved[warp][half ^ 1], A.rows, A.columns, A.row_count,
                                         A.column_count, first_row, record_column};
                __syncwarp();
                best = replay(saved, f, lane);
            }
        } else return;
        if (lane != 0) return;
        unsigned long long* to = A.candidates + 3 * (size_t)index();
        to[0] = best.rank;
        to[1] = best.bits;
        to[2] = (unsigned long long)(unsigned)best.row << 32 | (unsigned)best.column;
    }
};
