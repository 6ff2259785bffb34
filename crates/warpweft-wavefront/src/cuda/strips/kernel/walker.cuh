// One compute warp's walk along its rows of one tile-row.
//
// The best cell's position costs little on the way: a warp saves its registers every WINDOW
// columns, keeps those of the window with its record, and replays that one in the end.
#pragma once
#include "directions.cuh"
#include "given.cuh"
#include "form.cuh"
#include "copy_warp.cuh"
#include "replay.cuh"

struct walker {
    const ww_arguments& A;
    const ww_watchdog& dog;
    const ww_edges& edges;
    const lane_element& f;
    shared_state& S;
    const int lane, warp;
    // This tile-row.
    int row0, chunks;
    bool ragged, publishes;
    form in_form;
    form::row inputs[K];
    form::word h[K], corner, bottom[SK];
    // Where this warp has the domain's last row: its lane, its number among this lane's rows or -1, and where its columns go.
    int last_lane, own_last;
    cell_t* tail;
#if WW_INPUTS
    ww_cell_input given[K][SK];  // of the next macro-step, valid if `brought` covers it
    int brought;                 // chunks, see copy_warp.cuh
#endif
    // The next group's cells above and column inputs, valid if `ready` covers them.
    cell_t above[G];
    column_t column[G], behind[SK];  // those of the last macro-step, which the high halves need
    int ready, space;
    bool given_up;
    int stage;  // where this lane's rows of the stage begin
    cell_t* kept_rows;  // where row 0 would be kept: a GPU keeps its own rows only
    // Per row the greatest score of the present window or tile-row, and which half of `saved` is
    // the window's.
    form::score best[K];
    int saved_half;
    // The record of this warp, the same in all lanes, and the column that its window begins at; for
    // the score alone, the lane's greatest.
    rank_t record;
    int record_row, record_column;
    ww_score_type greatest;
    exact_sum total;  // of the lane's scores, if they are summed
    recorder record_choices;

    __device__ __forceinline__ walker(const ww_arguments& A, const ww_watchdog& dog,
                                      const ww_edges& edges, const lane_element& f, shared_state& S,
                                      const recorder& record_choices, int lane, int warp)
        : A(A), dog(dog), edges(edges), f(f), S(S), lane(lane), warp(warp), in_form(0),
          given_up(false),
          stage(warp * STAGE + lane * K * STAGE_COLUMNS), kept_rows(A.kept), saved_half(0), record(0), record_row(FAR), record_column(0),
          greatest(lowest<ww_score_type>::value()), total{0, 0},
          record_choices(record_choices) {
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
        const column_t* from = &S.inputs[(CHUNK * chunk - HALVES * SK * lane) & (INPUTS - 1)] + G * group;
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
        if constexpr (LANES * SK % CHUNK == 0) {
            if (at == CHUNK - SK) return ring + ((CHUNK * (c + 1) - LANES * SK) & (RING - 1));
            return ring + ((CHUNK * c - LANES * SK) & (RING - 1)) + (at + SK);
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
    __device__ __forceinline__ void columns(int first, int first_in_group,
                                            const form::word (&top)[SK],
                                            const form::column (&in)[SK]) {
        const form::mask inside = EDGE ? form::inside(first, A.column_count) : form::all();
        form::word to[K], above_left = corner, below[SK];
        form::word staged[STAGED ? K : 1][SK];
        typename sum_of_few<ww_score_type>::type sum{};
#if WW_INPUTS
        ww_cell_input x[K][SK];
        memcpy(x, given, sizeof(x));
        look_ahead(first + SK);
#endif
#pragma unroll
        for (int r = 0; r < K; r++) to[r] = h[r];
#pragma unroll
        for (int u = 0; u < SK; u++) {
            const form::mask kept =
                EDGE ? inside & form::inside(first + u, A.column_count) : form::all();
            form::word nw = above_left, n = top[u];
#pragma unroll
            for (int r = 0; r < K; r++) {
                const form::word w = to[r];
#if WW_INPUTS
                const with_input before{{nw, n, w}, x[r][u]};
#else
                const earlier_of<form::word> before{nw, n, w};
#endif
                const form::word cell = in_form.next(f, before, inputs[r], in[u]);
                record_choices.tell(r, u, nw, n, w, cell, inputs[r], in[u]);
                nw = w;
                to[r] = cell;
                n = cell;
                // A store for each row, of which one is done: choosing the row first takes longer.
                if constexpr (TAIL && LEAVES) store_shared_where(own_last, r, tail + u, in_form.cell(cell, 0));
                if constexpr (BEST) {
                    if constexpr (EDGE) {
                        const form::score score =
                            kept_score(kept, in_form.score_of(cell));
                        best[r] = form::greater_score(best[r], score);
                    } else if ((first_in_group + u) % 2 == 1) {
                        // Two columns at once: one instruction takes the maximum of three.
                        best[r] = form::greater_score(best[r], in_form.score_of(w),
                                                      in_form.score_of(cell));
                    }
                }
                if constexpr (WW_KEEP == WW_SUM) {
                    if (!EDGE || (kept && row0 + r < A.row_count)) sum += in_form.score_of(cell);
                }
                if constexpr (STAGED) staged[r][u] = cell;
                else keep_cell<EDGE>(kept, r, first + u, cell);
            }
            above_left = top[u];
            below[u] = n;
            if constexpr (TAIL && !LEAVES) {
                const int own = A.row_count - row0;
                if (own <= 0) below[u] = top[u];
#pragma unroll
                for (int r = 0; r + 1 < K; r++) if (own == r + 1) below[u] = to[r];
            }
        }
        // Of maxima over tens of columns of 15 rows and more, NVRTC 13.0 ends in a segmentation fault:
        // it sees those of one macro-step.
        if constexpr (BEST) {
#pragma unroll
            for (int r = 0; r < K; r++) opaque(best[r]);
        }
        record_choices.store();
        if constexpr (STAGED) {
            // Columns outside the domain too: they meet no cell that is not out yet.
            form::word* at =
                (form::word*)S.stage[0] + (stage + (first & (STAGE_COLUMNS - 1)));
#pragma unroll
            for (int r = 0; r < K; r++) store_vector<SK>(at + r * STAGE_COLUMNS, staged[r]);
        }
#pragma unroll
        for (int r = 0; r < K; r++) h[r] = form::select(inside, to[r], h[r]);
#pragma unroll
        for (int u = 0; u < SK; u++) bottom[u] = form::select(inside, below[u], bottom[u]);
        corner = form::select(inside, above_left, corner);
        if constexpr (WW_KEEP == WW_SUM) total += sum;
    }

    // A cell that is kept as such, if it is.
    template <bool EDGE>
    __device__ __forceinline__ void keep_cell(bool kept, int r, int column, const form::word& cell) {
#if !WW_PACKED
        if constexpr (WW_KEEP == WW_MATRIX) {
            if (kept && (!EDGE || row0 + r < A.row_count))
                kept_rows[(size_t)(row0 + r) * A.column_count + column] = cell;
        } else if constexpr (EDGE && LAST_COLUMN) {
            if (row0 + r < A.row_count && column == A.column_count - 1) kept_rows[row0 + r] = cell;
        }
#endif
    }
    static __device__ __forceinline__ form::score kept_score(form::mask kept, form::score score) {
#if WW_PACKED
        return form::select(kept, score, form::lowest_score());
#else
        return kept ? score : form::lowest_score();
#endif
    }

    // Waits for what chunk `c` needs: cells above it, space for `written` columns below.
    __device__ __forceinline__ void await(int c, int written) {
        if (publishes && written > space) {
            const int consumed =
                wait_shared<40>(&S.consumed[warp + 1], written - RING, dog, 2001 + warp);
            given_up |= consumed == FAR;
            space = given_up ? FAR : consumed + RING;
        }
        if (ready < needed(c)) {
            ready = wait_shared<0>(&S.ready[warp], needed(c), dog, 1000 + warp);
            given_up |= ready == FAR;
            fetch(c, 0);
        }
    }

#if WW_INPUTS
    // The inputs of the SK columns from `first` on.
    __device__ __forceinline__ void look_ahead(int first) {
        const ww_cell_input* from =
            &S.given[warp][lane * K * GIVEN_COLUMNS + (first & (GIVEN_COLUMNS - 1))];
#pragma unroll
        for (int r = 0; r < K; r++) load_vector<SK>(given[r], from + r * GIVEN_COLUMNS);
    }
    // Waits until the inputs of chunk `c` are in, and so until there is space for its cells.
    __device__ __forceinline__ void await_copy_warp(int c) {
        brought = wait_shared<0>(&S.brought[warp], c + 1, dog, 3000 + warp);
        given_up |= brought == FAR;
        look_ahead(CHUNK * c - SK * lane);
    }
#endif

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
            form::word top[SK];
            form::column in[SK];
#pragma unroll
            for (int u = 0; u < SK; u++) {
                top[u] = in_form.above(bottom[u], tops[m * SK + u], lane);
                in[u] = form::columns(f, ins[m * SK + u], behind[u]);
                behind[u] = ins[m * SK + u];
            }
            const int first = CHUNK * c + G * g + SK * (m - HALVES * lane);
            if constexpr (TAIL && LEAVES)
                tail = S.rings[warp + 1] + ((CHUNK * c + G * g + SK * (m - last_lane)) & (RING - 1));
            columns<EDGE, TAIL>(first, m * SK, top, in);
            if (!(TAIL && LEAVES) && lane == 31) {
                cell_t last[SK];
#pragma unroll
                for (int u = 0; u < SK; u++) last[u] = in_form.cell(bottom[u], HALVES - 1);
                store_vector<SK>(out(c, G * g + SK * m), last);
            }
        }
    }

    // Columns of the bottom row after chunk `c`.
    template <bool TAIL> __device__ __forceinline__ int written(int c) const {
        return CHUNK * (c + 1) - (TAIL && LEAVES ? SK * last_lane : LAG);
    }
    // Whether all that chunk `c` needs is there, as far as is known.
    template <bool TAIL> __device__ __forceinline__ bool flows(int c) const {
#if WW_INPUTS
        if (brought <= c) return false;
#endif
        return written<TAIL>(c) <= space && ready >= needed(c);
    }

    // Chunks `c` up to `end`. Where cells stream, waits are outside of the inner loop: a loop in it would cost every chunk 40 cycles.
    template <bool EDGE, bool TAIL> __device__ __forceinline__ void chunks_until(int& c, int end) {
        if constexpr (!STREAMS) {
            for (; c < end; c++) {
#if WW_INPUTS
                if (brought <= c) await_copy_warp(c);
#endif
                if (written<TAIL>(c) > space || ready < needed(c)) await(c, written<TAIL>(c));
                chunk<EDGE, TAIL>(c);
            }
            return;
        }
        while (c < end) {
#if WW_INPUTS
            if (brought <= c) await_copy_warp(c);
#endif
            await(c, written<TAIL>(c));
            do chunk<EDGE, TAIL>(c++);
            while (c < end && flows<TAIL>(c));
        }
    }

    template <bool EDGE, bool TAIL> __device__ __forceinline__ void chunk(int c) {
        delay(A.delays, (row0 - lane * HALVES * K) * 0x10001u + c + 0x400000u);
        constexpr int GROUPS = CHUNK / G;
        // A warp alone on its scheduler has no other to fill the gap at a loop's end.
        constexpr int UNROLL = WARPS > 4 && G * K >= 32 ? 2 : 4;
#pragma unroll UNROLL
        for (int g = 0; g < GROUPS - 1; g++) group<EDGE, TAIL>(c, g, [&] { fetch(c, g + 1); });
        // The next chunk's first group is fetched whether it is there or not: `ready`, read before
        // it, tells. Past the last column lagging lanes still need the inputs; the cells above
        // are whatever the ring holds, and unused.
        group<EDGE, TAIL>(c, GROUPS - 1, [&] {
            if (!given_up) ready = load_acquire_shared(&S.ready[warp]);
#if WW_INPUTS
            if (!given_up) brought = load_acquire_shared(&S.brought[warp]);
#endif
            fetch(c + 1, 0);
        });
        const int columns = written<TAIL>(c);
        if constexpr (STREAMS)
            store_in_order_shared_if(lane == (TAIL && LEAVES ? last_lane : 31) && columns > 0,
                                     &S.ready[warp + 1], min(columns, A.column_count));
        else if (lane == (TAIL && LEAVES ? last_lane : 31) && columns > 0)
            store_in_order_shared(&S.ready[warp + 1], min(columns, A.column_count));
        // The ring keeps the window's row above until the window is closed.
        if (WW_KEEP != WW_BEST && lane == 0)
            store_in_order_shared(&S.consumed[warp], CHUNK * (c + 1));
        if constexpr (COPY_WARPS > 0) {
#if WW_INPUTS
            __syncwarp();
            if (lane == 0) store_in_order_shared(&S.computed[warp], c + 1);
#endif
        } else if constexpr (STAGED) {
            __syncwarp();
            unstage(A, kept_rows, S.stage[warp], row0 - lane * K, c, lane);
            __syncwarp();
        }
    }

    // Chunks `c` up to `end`, window by window.
    template <bool EDGE, bool TAIL> __device__ __forceinline__ void span(int& c, int end) {
        if constexpr (WW_KEEP == WW_BEST) {
            while (c < end) {
                open_window(c);
                const int window = c / WINDOW_CHUNKS, stop = min(end, (window + 1) * WINDOW_CHUNKS);
                chunks_until<EDGE, TAIL>(c, stop);
                if (c % WINDOW_CHUNKS != 0 && c != chunks) continue;
                close_window(window * WINDOW);
                if (lane == 0) store_in_order_shared(&S.consumed[warp], CHUNK * c);
            }
        } else if constexpr (WW_PACKED) {
            while (c < end) {
                open_window(c);
                const int stop = min(end, (c / WINDOW_CHUNKS + 1) * WINDOW_CHUNKS);
                chunks_until<EDGE, TAIL>(c, stop);
            }
        } else {
            chunks_until<EDGE, TAIL>(c, end);
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
        for (int r = 0; r < K; r++) best[r] = form::lowest_score();
    }
    __device__ __forceinline__ int row_at(int r, int half) const { return row0 + half * K + r; }
    // The greatest score of the rows in the domain.
    __device__ __forceinline__ ww_score_type greatest_score() const {
        ww_score_type found = lowest<ww_score_type>::value();
#pragma unroll
        for (int half = 0; half < HALVES; half++) {
            if (!ragged) {
                form::score greatest = best[0];
#pragma unroll
                for (int r = 1; r < K; r++) greatest = form::greater_score(greatest, best[r]);
                found = greater(found, in_form.score_at(greatest, half));
                continue;
            }
#pragma unroll
            for (int r = 0; r < K; r++)
                if (row_at(r, half) < A.row_count)
                    found = greater(found, in_form.score_at(best[r], half));
        }
        return found;
    }
    // The first row with this score.
    __device__ __forceinline__ int row_of(ww_score_type score) const {
        int row = row0;
#pragma unroll
        for (int half = HALVES - 1; half >= 0; half--)
#pragma unroll
            for (int r = K - 1; r >= 0; r--)
                if (row_at(r, half) < A.row_count && in_form.score_at(best[r], half) == score)
                    row = row_at(r, half);
        return row;
    }

    // At the first chunk of a window: saves what replaying it takes, should it hold the record, and
    // moves the base of packed cells to where the cells are.
    __device__ __forceinline__ void open_window(int c) {
        if (c % WINDOW_CHUNKS != 0) return;
        if constexpr (WW_KEEP == WW_BEST) {
            window_t& saved = S.saved[warp][saved_half];
#pragma unroll
            for (int r = 0; r < K; r++) saved.held[32 * r + lane] = h[r];
            saved.held[32 * K + lane] = corner;
#pragma unroll
            for (int u = 0; u < SK; u++) saved.held[32 * (K + 1 + u) + lane] = bottom[u];
            if (lane == 0) saved.base = in_form.base;
        }
#if WW_PACKED
        if constexpr (WW_KEEP == WW_ONLY_SCORE) greatest = greater(greatest, greatest_score());
        const int by = __shfl_sync(~0u, form::low(in_form.score_of(h[0])), 16);
        in_form.rebase(in_form.base + by);
#pragma unroll
        for (int r = 0; r < K; r++) h[r] = form::moved(h[r], by);
#pragma unroll
        for (int u = 0; u < SK; u++) bottom[u] = form::moved(bottom[u], by);
        corner = form::moved(corner, by);
#endif
        if (WW_KEEP == WW_BEST || WW_PACKED) forget_scores();
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
            S.saved[warp][saved_half].above[j] = S.rings[warp][(column + j) & (RING - 1)];
        // All have read the ring when lane 0 says that it may be overwritten.
        __syncwarp();
        saved_half ^= 1;
        if (lane == 0) *(volatile rank_t*)&S.records[warp] = record;
    }

    // All chunks of tile-row `s`, of which this warp has rows inside the domain.
    __device__ __forceinline__ void walk(int s, bool last_strip, int active) {
        const int warp_row = (s * WARPS + warp) * WARP_ROWS;
        row0 = warp_row + lane * HALVES * K;
        kept_rows = first_kept(A, s);
        // Warps above hand their bottom row on; so does the last of a tile-row that is not the last,
        // and of the last if that row is kept.
        publishes = warp + 1 < active || !last_strip || LAST_ROW;
        ragged = warp_row + WARP_ROWS > A.row_count;
        last_lane = (A.row_count - 1 - warp_row) / K;
        own_last = lane == last_lane ? (A.row_count - 1 - warp_row) % K : -1;
        in_form.rebase(0);
#pragma unroll
        for (int r = 0; r < K; r++) {
            inputs[r] = form::rows(f, row_input(row_at(r, 0)), row_input(row_at(r, HALVES - 1)));
            h[r] = in_form.pack(left_of(row_at(r, 0)), left_of(row_at(r, HALVES - 1)));
        }
        corner = in_form.pack(left_of(row0 - 1), left_of(row_at(0, HALVES - 1) - 1));
#pragma unroll
        for (int u = 0; u < SK; u++) {
            bottom[u] = form::word{};
            behind[u] = column_t{};
        }
        ready = given_up ? FAR : 0;
        space = publishes && !given_up ? RING : FAR;
        chunks = chunks_of(A);
        record_choices.begin(A, warp_row, chunks, lane);
#if WW_INPUTS
        brought = given_up ? FAR : 0;
#endif
        const int ramp = min((LAG + CHUNK - 1) / CHUNK, chunks);
        // Whole chunks without a cell that is checked: not the last column, if it is kept.
        const int checked = LAST_COLUMN;
        const bool checks = ragged && (WW_KEEP == WW_SUM || (WW_KEEP == WW_MATRIX && !STAGED));
        const int full = checks ? 0 : (A.column_count - checked) / CHUNK;
        if (WW_KEEP == WW_ONLY_SCORE) forget_scores();
        if (ragged && LAST_ROW) spans<LAST_ROW>(ramp, full);
        else spans<false>(ramp, full);
        if constexpr (STAGED && COPY_WARPS == 0)
            for (int c = chunks; CHUNK * (c - LANE_GROUPS) < A.column_count; c++)
                unstage(A, kept_rows, S.stage[warp], warp_row, c, lane);
        if (WW_KEEP == WW_ONLY_SCORE) greatest = greater(greatest, greatest_score());
    }

    // Leaves the warp's best cell, its score, or the sum for the host.
    __device__ __forceinline__ void finish() {
        unsigned long long* to = A.candidates + 3 * (size_t)index();
        candidate best{0, 0, 0, 0};
        if constexpr (WW_KEEP == WW_ONLY_SCORE) {
            best.rank = rank_of(greatest);
            memcpy(&best.bits, &greatest, sizeof(greatest));
            best = best_of_warp(best);
        } else if constexpr (WW_KEEP == WW_BEST) {
            if (record != 0 && record >= *(volatile rank_t*)&S.others) {
                const int first_row = record_row / WARP_ROWS * WARP_ROWS + lane * HALVES * K;
                const saved_window saved{S.saved[warp][saved_half ^ 1], A.rows, A.columns,
#if WW_INPUTS
                                         A.inputs,
#endif
                                         A.row_count, A.column_count, first_row, record_column};
                __syncwarp();
                best = replay(saved, form::plain(f), lane);
            }
        } else {
            if constexpr (WW_KEEP == WW_SUM) leave_sum(to, total, lane);
            return;
        }
        if (lane != 0) return;
        to[0] = best.rank;
        to[1] = best.bits;
        to[2] = (unsigned long long)(unsigned)best.row << 32 | (unsigned)best.column;
    }
};
