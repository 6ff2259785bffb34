// Wavefront by register strips: a lane owns WW_ROWS rows in registers and walks along them, one
// macro-step of WW_COLUMNS columns behind the lane above.
//
// Grid    persistent, all blocks resident (cooperative launch); block b computes tile-rows b,
//         b + gridDim.x, .. of WW_WARPS * 32 * WW_ROWS rows each.
// Block   WW_WARPS warps compute, one brings the row above and the columns' inputs in, one takes
//         the bottom row out.
// Shared  a ring of cells between neighbouring warps (ring w feeds warp w), a ring of column
//         inputs, per ring a count of columns ready and of columns consumed.
// Global  `border`, one cell a column, in place: a tile-row reads cell j before it overwrites it;
//         one flag a tile-row counts the columns of its bottom row that lie there.
// Lanes meet by shuffle, warps by rings (release/acquire in shared memory), blocks by flags.
// Invariants: ring w holds columns [consumed[w], ready[w]) at most WW_RING of them; what lies
// beyond the last row or column is computed and never kept.
// Rows to blocks, one-way flags and the skew: PeerWave (Belviranli et al. 2015). The best cell's
// position costs little on the way: a warp saves its registers every WINDOW columns, keeps those of the
// window with its record, and replays that window cell by cell when all is done.
//
// Expects: ww_element, ww_cell, ww_row_input, ww_column_input, ww_score_type, ww_score(cell).
#pragma once
#include "watchdog.cuh"
#include "words.cuh"
#include "rank.cuh"

enum { WW_BEST = 0, WW_LAST_ROW = 1, WW_LAST_COLUMN = 2, WW_MATRIX = 3 };

constexpr int K = WW_ROWS, SK = WW_COLUMNS, CHUNK = WW_CHUNK, WARPS = WW_WARPS;
constexpr int RING = 512, INPUTS = 4096;
constexpr int G = SK < 4 ? 4 : SK;                   // columns fetched together
constexpr int LAG = 31 * SK;                         // columns lane 31 is behind lane 0
constexpr int WARP_ROWS = 32 * K, BLOCK_ROWS = WARPS * WARP_ROWS;
constexpr int FLAG_STRIDE = 8;
constexpr int FAR = 0x7fffffff;
static_assert(CHUNK % G == 0 && RING % CHUNK == 0 && G % SK == 0, "chunks are whole groups");
// Columns between two looks for a new record: what a record costs is then seldom paid.
constexpr int WINDOW = CHUNK < 128 ? 128 : CHUNK, WINDOW_CHUNKS = WINDOW / CHUNK;
static_assert(WARPS * (LAG + 2 * CHUNK) + WINDOW + 2 * RING <= INPUTS,
              "column inputs outlive all warps");

using cell_t = ww_cell;
using row_t = typename ww_element::Row;
using column_t = typename ww_element::Column;

struct ww_arguments {
    const ww_row_input* rows;        // [row_count]
    const ww_column_input* columns;  // [column_count]
    int row_count, column_count;
    cell_t* border;                  // [column_count]; row -1 at first, if has_lines
    const cell_t* left;              // [row_count], if has_lines
    ww_word* flags;                  // [tile-rows * FLAG_STRIDE], zero
    cell_t* kept;                    // last row, last column or matrix
    unsigned long long* record;      // greatest rank seen by any warp, zero
    unsigned long long* candidates;  // per compute warp: rank, score's bits, row << 32 | column
    int has_lines;
};
// What cells outside hold, where there are no lines of them; and the one above the first.
struct ww_edges {
    cell_t border, corner;
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

// Cells of a saved window: per lane its rows, the cell above-left and its last columns, all as the
// window finds them; then the window's row above.
constexpr int SAVED = WW_KEEP == WW_BEST ? 32 * (K + 1 + SK) + WINDOW : 1;

struct earlier {
    cell_t nw, n, w;
    template <int DI, int DJ> WW_FN const cell_t& at() const {
        static_assert(DI >= -1 && DJ >= -1 && DI <= 0 && DJ <= 0 && DI + DJ < 0, "not a neighbour");
        if constexpr (DI == 0) return w;
        else if constexpr (DJ == 0) return n;
        else return nw;
    }
};

struct __align__(16) shared_state {
    cell_t rings[WARPS + 1][RING];
    column_t inputs[INPUTS + CHUNK];  // the first CHUNK again behind the last: no wrap in a chunk
    int ready[WARPS + 1], consumed[WARPS + 1];
    cell_t saved[WARPS][2][SAVED];     // each warp's present window, and that of its record
    rank_t records[WARPS], others;     // each warp's record; the greatest of the grid, lately
};

// Shared-memory flags of one block. The store needs no fence: a warp's accesses to shared memory are
// performed in the order in which it issues them, data before flag. A fence would also wait for
// everything else on its way: two a chunk cost 600 cycles, as much as sixteen columns take.
__device__ __forceinline__ int load_acquire_shared(const int* flag) {
    int value;
    asm volatile("ld.acquire.cta.shared.b32 %0, [%1];"
                 : "=r"(value) : "r"((unsigned)__cvta_generic_to_shared(flag)) : "memory");
    return value;
}
__device__ __forceinline__ void store_in_order_shared(int* flag, int value) {
    asm volatile("st.relaxed.cta.shared.b32 [%0], %1;"
                 ::"r"((unsigned)__cvta_generic_to_shared(flag)), "r"(value) : "memory");
}

// Gives up, and reports, when a wait takes too long. Flags of the block itself are numbered from
// 1000 (ready) and 2000 (consumed) in reports.
struct patience {
    unsigned tries;
    unsigned long long start;
    __device__ __forceinline__ patience() : tries(0), start(0) {}
    __device__ __forceinline__ bool over(const ww_watchdog& dog, ww_word other, ww_word flag,
                                         ww_word wanted, ww_word seen) {
        if ((++tries & 0xfff) != 0) return false;
        const unsigned long long now = ww_nanoseconds();
        if (start == 0) start = now;
        if (now - start <= dog.nanoseconds) return false;
        ww_watchdog_report(dog, other, flag, wanted, seen);
        return true;
    }
};

// The flag's value once it is at least `wanted`, or -1.
template <int NAP>
__device__ __forceinline__ int wait_shared(const int* flag, int wanted, const ww_watchdog& dog,
                                           int number) {
    patience patience;
    for (;;) {
        const int seen = load_acquire_shared(flag);
        if (seen >= wanted) return seen;
        if constexpr (NAP > 0) __nanosleep(NAP);
        if (patience.over(dog, ww_block_index(), number, wanted, seen)) return -1;
    }
}

// What a saved window's replay needs; by value, so that nothing of the walker lives in memory.
struct saved_window {
    const cell_t* cells;
    const ww_row_input* rows;
    const ww_column_input* columns;
    int row_count, column_count;
    int first_row;  // this lane's
    int first_column;  // lane 0's
};

// The best cell of a saved window. Called by whole warps, seldom.
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
            top[u] = shuffle_up(bottom[u]);
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

// One compute warp's walk along its rows of one tile-row.
struct walker {
    const ww_arguments& A;
    const ww_watchdog& dog;
    const ww_edges& edges;
    const ww_element& f;
    shared_state& S;
    const int lane, warp;
    // This tile-row.
    int row0, chunks_in, chunks;
    bool ragged, publishes;
    row_t inputs[K];
    cell_t h[K], corner, bottom[SK];
    // The next group's cells above and column inputs.
    cell_t above[G];
    column_t column[G];
    int ready, room;
    bool fetched;  // whether `above` and `column` are the next chunk's
    // Per row the greatest score of the present window, and which half of `saved` is its.
    ww_score_type best[K];
    int half;
    // The record of this warp, the same in all lanes, and the column that its window begins at.
    rank_t record;
    int record_row, record_column;

    __device__ __forceinline__ walker(const ww_arguments& A, const ww_watchdog& dog,
                                      const ww_edges& edges, const ww_element& f, shared_state& S,
                                      int lane, int warp)
        : A(A), dog(dog), edges(edges), f(f), S(S), lane(lane), warp(warp), half(0), record(0), record_row(FAR), record_column(0) {}

    __device__ __forceinline__ row_t row_input(int row) const {
        return f.row(row < A.row_count ? A.rows[row] : ww_row_input{});
    }
    __device__ __forceinline__ cell_t left_of(int row) const {
        if (!A.has_lines) return edges.border;
        if (row < 0) return edges.corner;
        return row < A.row_count ? A.left[row] : cell_t{};
    }
    __device__ __forceinline__ void fetch(int chunk, int group) {
        const int at = CHUNK * chunk + G * group;
        load_vector<G>(above, &S.rings[warp][at & (RING - 1)]);
        const column_t* from = &S.inputs[(CHUNK * chunk - SK * lane) & (INPUTS - 1)] + G * group;
#pragma unroll
        for (int u = 0; u < G; u += SK) {
            column_t part[SK];
            load_vector<SK>(part, from + u);
#pragma unroll
            for (int z = 0; z < SK; z++) column[u + z] = part[z];
        }
    }
    // Columns that must be ready for a chunk.
    __device__ __forceinline__ int needed(int chunk) const {
        return min(CHUNK * (chunk + 1), A.column_count);
    }

    // SK columns from `first` on (this lane's); `top` is the row above. EDGE: some of the lane's
    // cells may be beyond the domain.
    template <bool EDGE>
    __device__ __forceinline__ void columns(int first, int first_in_group,
                                            const cell_t (&top)[SK],
                                            const column_t (&in)[SK]) {
#pragma unroll
        for (int u = 0; u < SK; u++) {
            cell_t nw = corner, n = top[u];
#pragma unroll
            for (int r = 0; r < K; r++) {
                const cell_t w = h[r], cell = f(earlier{nw, n, w}, inputs[r], in[u]);
                nw = w;
                h[r] = cell;
                n = cell;
                const bool kept = !EDGE || (row0 + r < A.row_count && first + u < A.column_count);
                if constexpr (WW_KEEP == WW_BEST) {
                    if constexpr (EDGE) {
                        if (kept) best[r] = greater(best[r], ww_score(cell));
                    } else if ((first_in_group + u) % 2 == 1) {
                        // Two columns at once: one instruction takes the maximum of three.
                        best[r] = greater(greater(best[r], ww_score(w)), ww_score(cell));
                    }
                } else if constexpr (WW_KEEP == WW_MATRIX) {
                    if (kept) A.kept[(size_t)(row0 + r) * A.column_count + first + u] = cell;
                } else if constexpr (EDGE && WW_KEEP == WW_LAST_ROW) {
                    if (kept && row0 + r == A.row_count - 1) A.kept[first + u] = cell;
                } else if constexpr (EDGE && WW_KEEP == WW_LAST_COLUMN) {
                    if (kept && first + u == A.column_count - 1) A.kept[row0 + r] = cell;
                }
            }
            corner = top[u];
            bottom[u] = n;
        }
    }

    template <bool EDGE> __device__ __forceinline__ bool chunk(int c) {
        if (WW_KEEP == WW_BEST && c % WINDOW_CHUNKS == 0) open_window();
        const int written = CHUNK * (c + 1) - LAG;  // columns of the bottom row after this chunk
        if (publishes && written > room) {
            room = wait_shared<40>(&S.consumed[warp + 1], written - RING, dog, 2001 + warp);
            if (room < 0) return false;
            room += RING;
        }
        if (!fetched) {
            if (ready < needed(c)) {
                ready = wait_shared<0>(&S.ready[warp], needed(c), dog, 1000 + warp);
                if (ready < 0) return false;
            }
            fetch(c, 0);
        }
        // If the next chunk is there by now, its first group is fetched before this one's last is
        // computed; waiting for that would add a chunk to the lag.
        if (ready < needed(c + 1)) ready = load_acquire_shared(&S.ready[warp]);
        constexpr int GROUPS = CHUNK / G;
        constexpr int UNROLL = G * K >= 32 ? 2 : GROUPS;
#pragma unroll UNROLL
        for (int g = 0; g < GROUPS; g++) {
            cell_t tops[G];
            column_t ins[G];
#pragma unroll
            for (int u = 0; u < G; u++) {
                tops[u] = above[u];
                ins[u] = column[u];
            }
            if (g + 1 < GROUPS) {
                fetch(c, g + 1);
            } else {
                // Past the last column lagging lanes still need the inputs; the cells above are
                // whatever the ring holds, and unused.
                fetched = ready >= needed(c + 1);
                if (fetched) fetch(c + 1, 0);
            }
#pragma unroll
            for (int m = 0; m < G / SK; m++) {
                cell_t top[SK];
                column_t in[SK];
#pragma unroll
                for (int u = 0; u < SK; u++) {
                    const cell_t shuffled = shuffle_up(bottom[u]);
                    top[u] = lane == 0 ? tops[m * SK + u] : shuffled;
                    in[u] = ins[m * SK + u];
                }
                const int first = CHUNK * c + G * g + SK * (m - lane);
                if (!EDGE || (first >= 0 && first < A.column_count))
                    columns<EDGE>(first, m * SK, top, in);
                if (lane == 31)
                    store_vector<SK>(&S.rings[warp + 1][first & (RING - 1)], bottom);
            }
        }
        if (lane == 31 && written > 0)
            store_in_order_shared(&S.ready[warp + 1], min(written, A.column_count));
        const bool closes = WW_KEEP == WW_BEST
            && (c % WINDOW_CHUNKS == WINDOW_CHUNKS - 1 || c + 1 == chunks);
        if (closes) close_window(c / WINDOW_CHUNKS * WINDOW);
        // The ring keeps the window's row above until the window is closed.
        if (lane == 0 && (WW_KEEP != WW_BEST || closes))
            store_in_order_shared(&S.consumed[warp], CHUNK * (c + 1));
        return true;
    }

    __device__ __forceinline__ int index() const { return blockIdx.x * WARPS + warp; }

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
        // A maximum a row, which costs no more than one in all and tells the row.
#pragma unroll
        for (int r = 0; r < K; r++) best[r] = lowest<ww_score_type>::value();
    }

    // Keeps the window that begins at `column` if it holds a new record, or an old one further up.
    __device__ __forceinline__ void close_window(int column) {
        const rank_t others = *(volatile rank_t*)&S.others;
        if (ragged) {
#pragma unroll
            for (int r = 0; r < K; r++)
                if (row0 + r >= A.row_count) best[r] = lowest<ww_score_type>::value();
        }
        ww_score_type greatest = best[0];
#pragma unroll
        for (int r = 1; r < K; r++) greatest = greater(greatest, best[r]);
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
    __device__ __forceinline__ bool walk(int s, bool last_strip, int active) {
        const int warp_row = (s * WARPS + warp) * WARP_ROWS;
        row0 = warp_row + lane * K;
        // Warps above hand their bottom row on; so does the last of a tile-row that is not the last.
        publishes = warp + 1 < active || !last_strip;
        ragged = warp_row + WARP_ROWS > A.row_count;
#pragma unroll
        for (int r = 0; r < K; r++) {
            inputs[r] = row_input(row0 + r);
            h[r] = left_of(row0 + r);
        }
        corner = left_of(row0 - 1);
#pragma unroll
        for (int u = 0; u < SK; u++) bottom[u] = cell_t{};
        ready = 0;
        room = RING;
        chunks_in = (A.column_count + CHUNK - 1) / CHUNK;
        chunks = (A.column_count + LAG + CHUNK - 1) / CHUNK;
        const int ramp = min((LAG + CHUNK - 1) / CHUNK, chunks);
        // Whole chunks without a cell that is checked: not the last column, if it is kept.
        const int checked = WW_KEEP == WW_LAST_COLUMN;
        const bool checks = (ragged && WW_KEEP != WW_BEST && WW_KEEP != WW_LAST_COLUMN)
            || (WW_KEEP == WW_LAST_ROW && warp_row + WARP_ROWS == A.row_count);
        const int full = checks ? 0 : (A.column_count - checked) / CHUNK;
        fetched = false;
        int c = 0;
        for (; c < ramp; c++) if (!chunk<true>(c)) return false;
        for (; c < full; c++) if (!chunk<false>(c)) return false;
        for (; c < chunks; c++) if (!chunk<true>(c)) return false;
        return true;
    }

    // Leaves the warp's best cell for the host.
    __device__ __forceinline__ void finish() {
        unsigned long long* to = A.candidates + 3 * (size_t)index();
        candidate best{0, 0, 0, 0};
        if (record != 0 && record >= *(volatile rank_t*)&S.others) {
            const int first_row = record_row / WARP_ROWS * WARP_ROWS + lane * K;
            const saved_window saved{S.saved[warp][half ^ 1], A.rows, A.columns, A.row_count,
                                     A.column_count, first_row, record_column};
            __syncwarp();
            best = replay(saved, f, lane);
        }
        if (lane != 0) return;
        to[0] = best.rank;
        to[1] = best.bits;
        to[2] = (unsigned long long)(unsigned)best.row << 32 | (unsigned)best.column;
    }
};

// The row above and the columns' inputs, into ring 0 and the input ring.
__device__ __forceinline__ bool bring_in(const ww_arguments& A, const ww_watchdog& dog,
                                         const ww_edges& edges, const ww_element& f, shared_state& S, int s, int lane, int active) {
    constexpr int BATCH = 128, PART = BATCH / 32;
    static_assert(CHUNK <= BATCH, "a batch is a chunk at least");
    constexpr int KEEP_BEHIND = (LAG + CHUNK + 63) / 64 * 64;
    const int count = A.column_count;
    int at = 0, available = s > 0 ? 0 : count;
    const ww_word* flag = A.flags + (size_t)(s - 1) * FLAG_STRIDE;
    unsigned long long known = 0;
    while (at < count) {
        ww_column_input raw[PART];
#pragma unroll
        for (int q = 0; q < PART; q++) {
            const int j = at + 32 * q + lane;
            raw[q] = j < count ? A.columns[j] : ww_column_input{};
        }
        // A whole chunk at least, or the rest.
        const int wanted = min(at + CHUNK, count);
        patience patience_above;
        while (available < wanted) {
            available = (int)ww_load_acquire(flag);
            if (available < wanted
                && patience_above.over(dog, (s - 1) % gridDim.x, s - 1, wanted, available))
                return false;
        }
        patience patience_below;
        int space;
        for (;;) {
            space = min(load_acquire_shared(&S.consumed[0]) + RING,
                        load_acquire_shared(&S.consumed[active - 1]) + INPUTS - KEEP_BEHIND);
            if (space >= wanted) break;
            __nanosleep(40);
            if (patience_below.over(dog, ww_block_index(), 2000, wanted, space)) return false;
        }
        int n = min(min(available, space) - at, BATCH);
        if (at + n < count) n = n / CHUNK * CHUNK;
        // Lanes that looked at different times may have seen different counts.
        n = __shfl_sync(~0u, n, 0);
        cell_t cells[PART];
#pragma unroll
        for (int q = 0; q < PART; q++) {
            const int j = at + 32 * q + lane;
            cells[q] = edges.border;
            if (32 * q + lane < n && (s > 0 || A.has_lines)) cells[q] = load_global(A.border + j);
        }
#pragma unroll
        for (int q = 0; q < PART; q++) {
            const int j = at + 32 * q + lane;
            if (32 * q + lane >= n) continue;
            S.rings[0][j & (RING - 1)] = cells[q];
            const int p = j & (INPUTS - 1);
            const column_t input = f.column(raw[q]);
            S.inputs[p] = input;
            if (p < CHUNK) S.inputs[p + INPUTS] = input;
        }
        __syncwarp();
        at += n;
        if (lane == 0) store_in_order_shared(&S.ready[0], at);
        if constexpr (WW_KEEP == WW_BEST) {
            // The block's record to the grid, and the grid's of one batch ago to the block: no
            // compute warp waits for global memory.
            if (lane == 0) {
                rank_t mine = 0;
                for (int w = 0; w < WARPS; w++) {
                    const rank_t record = *(volatile rank_t*)&S.records[w];
                    if (record > mine) mine = record;
                }
                if ((rank_t)known > mine) mine = (rank_t)known;
                *(volatile rank_t*)&S.others = mine;
                known = atomicMax(A.record, (unsigned long long)mine);
            }
        }
    }
    return true;
}

// The last warp's ring to the border, for the block of the next tile-row.
__device__ __forceinline__ bool take_out(const ww_arguments& A, const ww_watchdog& dog,
                                         shared_state& S, int s, int lane) {
    constexpr int BATCH = 128;
    int at = 0;
    while (at < A.column_count) {
        const int wanted = min(at + CHUNK, A.column_count);
        const int ready = wait_shared<20>(&S.ready[WARPS], wanted, dog, 1000 + WARPS);
        if (ready < 0) return false;
        const int n = __shfl_sync(~0u, min(ready - at, BATCH), 0);
        for (int j = lane; j < n; j += 32)
            store_global(A.border + at + j, S.rings[WARPS][(at + j) & (RING - 1)]);
        __syncwarp();
        at += n;
        if (lane == 0) {
            store_in_order_shared(&S.consumed[WARPS], at);
            ww_store_release(A.flags + (size_t)s * FLAG_STRIDE, (ww_word)at);
        }
    }
    return true;
}

// What the host must grant a launch.
extern "C" __device__ unsigned ww_shared_bytes = sizeof(shared_state);

extern "C" __global__ void __launch_bounds__(32 * (WARPS + 2), WW_BLOCKS)
wavefront_strip(const __grid_constant__ ww_arguments A, const __grid_constant__ ww_watchdog dog,
                const __grid_constant__ ww_edges edges, const ww_element f) {
    extern __shared__ __align__(16) char memory[];
    shared_state& S = *(shared_state*)memory;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int strips = (A.row_count + BLOCK_ROWS - 1) / BLOCK_ROWS;
    walker walker(A, dog, edges, f, S, lane, warp);
    if (threadIdx.x < WARPS) S.records[threadIdx.x] = 0;
    if (threadIdx.x == 0) S.others = 0;
    for (int s = blockIdx.x; s < strips; s += gridDim.x) {
        const bool last = s == strips - 1;
        const int active = min(WARPS, (A.row_count - s * BLOCK_ROWS + WARP_ROWS - 1) / WARP_ROWS);
        __syncthreads();
        if (threadIdx.x <= WARPS) {
            S.ready[threadIdx.x] = 0;
            S.consumed[threadIdx.x] = 0;
        }
        __syncthreads();
        bool well = true;
        if (warp == WARPS) well = bring_in(A, dog, edges, f, S, s, lane, active);
        else if (warp == WARPS + 1) well = last || take_out(A, dog, S, s, lane);
        else if (warp < active) well = walker.walk(s, last, active);
        if (!well) return;
    }
    if (WW_KEEP == WW_BEST && warp < WARPS) walker.finish();
}
