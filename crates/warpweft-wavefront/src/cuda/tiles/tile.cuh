// One tile of a wavefront, PeerWave's way: a thread owns a row, the block goes through fronts, and
// the last fronts lie in shared memory.
//
// Block   HEIGHT threads compute, thread t the row t of a tile-row; on front s it is at column
//         x = s - SKEW * t. Columns are counted from the westernmost cell outside that a vector
//         reaches: LEFT of them come before the domain, RIGHT after, and hold the border.
// Shared  slots: the last DEPTH fronts, one cell a row; `above`: per row above the tile-row a ring
//         of its cells; `below`: the bottom rows, likewise, on their way out.
// Global  inputs and matrix in the hybrid layout: tile-rows one after another, fronts within a
//         tile-row, rows within a front. A front is one coalesced access, and a fixed offset from
//         a thread's cell leads to any neighbour's. Allocations are padded, so that loads of what
//         is not used need no test.
// Invariants: one barrier a front; a thread reads what others wrote one front ago or more, so
// DEPTH slots suffice; what a cell reads of a row above comes through a history in registers.
// Hyper-tiles are [first, first + WIDTH) of fronts, square tiles the same of columns.
// Source: Belviranli et al. 2015, sections 3.3 and 3.4.
//
// Expects: ww_element, ww_cell, ww_row_input, ww_column_input, ww_cell_input, ww_score_type,
// ww_score(cell), the WW_ numbers below, and ww_ahead, ww_reads, ww_old_index of the vectors.
#pragma once
#include "watchdog.cuh"
#include "words.cuh"
#include "rank.cuh"
#include "sum.cuh"

enum { WW_BEST = 0, WW_LAST_ROW = 1, WW_LAST_COLUMN = 2, WW_MATRIX = 3, WW_SUM = 4 };

constexpr int HEIGHT = WW_HEIGHT, SKEW = WW_SKEW, ABOVE = WW_ABOVE, HISTORY = WW_HISTORY;
constexpr int LEFT = WW_LEFT, RIGHT = WW_RIGHT, OLDS = WW_OLDS, GROUP = WW_GROUP, DEPTH = WW_DEPTH;
constexpr bool SQUARE = WW_SQUARE, RANKS = WW_KEEP == WW_BEST;
constexpr bool STORES = WW_KEEP == WW_MATRIX || OLDS > 0;
constexpr bool HAS_INPUT = WW_HAS_INPUT;
constexpr int PITCH = HEIGHT;
static_assert(GROUP % DEPTH == 0, "a group begins on slot 0");

using cell_t = ww_cell;
using row_t = typename ww_element::Row;
using column_t = typename ww_element::Column;

// What cells hold: outside the domain, if they are all the same; outside the band.
struct ww_edges {
    cell_t border, band;
};

extern __shared__ __align__(16) char ww_memory[];
struct __align__(16) shared_state {
    cell_t slots[DEPTH][PITCH];
    // Tiles computed, tiles brought out; one more than those before the one whose wait gave up, or 0.
    int done, taken, failed, reserved;
};
__device__ __forceinline__ shared_state& shared() { return *(shared_state*)ww_memory; }
__device__ __forceinline__ cell_t* ring_above(const ww_arguments& A, int v) {
    return (cell_t*)(ww_memory + sizeof(shared_state)) + (size_t)v * A.ring;
}
__device__ __forceinline__ cell_t* ring_below(const ww_arguments& A, int v) {
    return ring_above(A, ABOVE + v);
}

__device__ __forceinline__ void into_l2(const void* address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

template <int ID, int THREADS> __device__ __forceinline__ void meet() {
    if constexpr (THREADS == 32) __syncwarp();
    else asm volatile("bar.sync %0, %1;" ::"n"(ID), "n"(THREADS) : "memory");
}

// What a thread remembers of its own row and of the rows above: of stream u, newest first, the
// cells of row i - u from column x + ww_ahead(u) on westward.
struct history {
    cell_t cells[ABOVE + 1][HISTORY];
    __device__ __forceinline__ void push(int u, const cell_t& cell) {
#pragma unroll
        for (int k = HISTORY - 1; k > 0; k--) cells[u][k] = cells[u][k - 1];
        cells[u][0] = cell;
    }
};

// What of memory a group of fronts needs, fetched one group before.
struct fetched {
    ww_column_input columns[GROUP];
    ww_cell_input inputs[HAS_INPUT ? GROUP : 1];
    cell_t old[OLDS > 0 ? GROUP : 1][OLDS > 0 ? OLDS : 1];
};

// What the element function sees.
struct view {
    const history& past;
    const fetched& now;
    int k;
    template <int DI, int DJ> WW_FN const cell_t& at() const {
        static_assert(ww_reads(-DI) && ww_ahead(-DI) - DJ < HISTORY, "not a dependence");
        return past.cells[-DI][ww_ahead(-DI) - DJ];
    }
    template <int DI, int DJ> WW_FN const cell_t& old() const {
        static_assert(ww_old_index(DI, DJ) >= 0, "not an old value it reads");
        return now.old[OLDS > 0 ? k : 0][ww_old_index(DI, DJ)];
    }
    WW_FN const ww_cell_input& input() const { return now.inputs[HAS_INPUT ? k : 0]; }
};

// A thread's walk along its row.
struct walker {
    // Groups that memory is asked ahead: a group is shorter than its latency.
    static constexpr int FAR = 4;
    const ww_arguments& A;
    const ww_edges& edges;
    const ww_element& f;
    const int t;
    // This tile-row.
    int i, first_row, sweep;
    bool row_inside, counts;
    row_t a;
    cell_t sides[LEFT + RIGHT > 0 ? LEFT + RIGHT : 1];  // what is outside, west and east
    int base;  // of positions in rings
    size_t cell0;  // this thread's place in the layout, front 0
    history past;
    fetched next;
    const cell_t* old_from[OLDS > 0 ? OLDS : 1];
    candidate best;
    exact_sum total;

    __device__ __forceinline__ walker(const ww_arguments& A, const ww_edges& edges,
                                      const ww_element& f, int t)
        : A(A), edges(edges), f(f), t(t), best{0, 0, 0, 0}, total{0, 0} {}

    // `unit`: sweep after sweep of tile-rows.
    __device__ __forceinline__ void begin(int unit, int ring_base) {
        sweep = unit / A.tile_rows;
        const int r = unit % A.tile_rows;
        first_row = r * HEIGHT;
        i = first_row + t;
        row_inside = i < A.row_count;
        counts = sweep == A.sweeps - 1;
        a = f.row(row_inside ? A.rows[i] : ww_row_input{});
        base = ring_base;
#pragma unroll
        for (int q = 0; q < LEFT + RIGHT; q++) {
            sides[q] = edges.border;
            if (A.sides != nullptr && row_inside) sides[q] = A.sides[(size_t)i * (LEFT + RIGHT) + q];
        }
        cell0 = (size_t)r * A.fronts * HEIGHT + t;
#pragma unroll
        for (int q = 0; q < OLDS; q++) {
            const int di = ww_old_row(q), to = t + di;
            const long long lines = to < HEIGHT ? (long long)r * A.fronts + ww_old_column(q) + SKEW * di
                : (long long)(r + 1) * A.fronts + ww_old_column(q) + SKEW * (di - HEIGHT);
            old_from[q] = A.matrix + (lines * HEIGHT + (to < HEIGHT ? to : to - HEIGHT));
        }
    }
    // The first group of a tile-row, or of a tile whose fetch was not made by the tile before.
    __device__ __forceinline__ void fetch(int s) {
        const ww_column_input* columns = A.columns + (s - SKEW * t - LEFT);
#pragma unroll
        for (int k = 0; k < GROUP; k++) next.columns[k] = columns[k];
        if constexpr (HAS_INPUT) {
            const ww_cell_input* inputs = A.inputs + (cell0 + (size_t)s * HEIGHT);
#pragma unroll
            for (int k = 0; k < GROUP; k++) next.inputs[k] = inputs[k * HEIGHT];
#pragma unroll
            for (int k = 0; k < GROUP; k++) into_l2(inputs + (k + FAR * GROUP) * HEIGHT);
        }
        // Past the L1: other SMs wrote these.
#pragma unroll
        for (int q = 0; q < OLDS; q++)
#pragma unroll
            for (int k = 0; k < GROUP; k++)
                next.old[OLDS > 0 ? k : 0][q] = load_global(old_from[q] + ((size_t)s + k) * HEIGHT);
        if constexpr (OLDS > 0) {
            const cell_t* own = A.matrix + (cell0 + (size_t)s * HEIGHT);
#pragma unroll
            for (int k = 0; k < GROUP; k++) into_l2(own + (k + FAR * GROUP) * HEIGHT);
        }
    }
    __device__ __forceinline__ cell_t f_of(const view& h, const ww_column_input& b, bool computed) {
        if (WW_FAULTS && !computed) return cell_t{};
        return f(h, a, f.column(b));
    }
    __device__ __forceinline__ bool in_band(int j) const {
        return !WW_BAND || (j - i >= A.band_lower && j - i <= A.band_upper);
    }
    __device__ __forceinline__ void rank(const cell_t& cell, int j) {
        const ww_score_type score = ww_score(cell);
        const rank_t here = rank_of(score);
        // Later rows come later, and columns of a row in order: the first of equals stays.
        if (here <= best.rank) return;
        best.rank = here;
        best.row = i;
        best.column = j;
        memcpy(&best.bits, &score, sizeof(score));
    }

    // Front s + k. EDGE: cells may be outside the domain, the tile, or the last ones. HALO: some
    // threads of the warp read rows above the tile-row.
    template <bool EDGE, bool HALO>
    __device__ __forceinline__ void front(const fetched& now, int s, int k, int begin, int end) {
        shared_state& S = shared();
        const int x = s + k - SKEW * t, j = x - LEFT;
        const bool mine = !SQUARE || (x >= begin && x < end);
        const bool inside =
            mine && (!EDGE || (row_inside && (unsigned)j < (unsigned)A.column_count));
        const bool computed = inside && in_band(j);
        cell_t cell;
        if (mine) {
#pragma unroll
            for (int u = 1; u <= ABOVE; u++) {
                if (!ww_reads(u)) continue;
                const cell_t* from = &S.slots[(k + GROUP * DEPTH - (SKEW * u - ww_ahead(u))) % DEPTH][t - u];
                if (HALO && t < u)
                    from = ring_above(A, u - t - 1) + ((base + x + ww_ahead(u)) & (A.ring - 1));
                past.push(u, *from);
            }
            // Cells that are never read are computed like any, where that can do no harm: a branch
            // would cost the front more.
            cell = f_of(view{past, now, k}, now.columns[k], computed);
            if (WW_BAND && inside && !computed) cell = edges.band;
            if constexpr (EDGE) {
#pragma unroll
                for (int q = 0; q < LEFT + RIGHT; q++)
                    if (j == (q < LEFT ? q - LEFT : A.column_count + q - LEFT)) cell = sides[q];
            }
            past.push(0, cell);
            S.slots[k % DEPTH][t] = cell;
            if (t >= HEIGHT - ABOVE)
                ring_below(A, HEIGHT - 1 - t)[(base + s + k) & (A.ring - 1)] = cell;
        }
        meet<1, HEIGHT>();
        // Others need not wait for what follows.
        if (!inside) return;
        // The last sweep's cells are read only where the matrix is kept.
        if constexpr (STORES) {
            cell_t* to = A.matrix + (cell0 + ((size_t)s + k) * HEIGHT);
            if (WW_KEEP == WW_MATRIX || !counts) store_global(to, cell);
        }
        if constexpr (RANKS) {
            if (computed && counts) rank(cell, j);
        } else if constexpr (WW_KEEP == WW_SUM) {
            if (computed && counts) total += ww_score(cell);
        } else if constexpr (EDGE && WW_KEEP == WW_LAST_ROW) {
            if (counts && i == A.row_count - 1) A.kept[j] = cell;
        } else if constexpr (EDGE && WW_KEEP == WW_LAST_COLUMN) {
            if (counts && j == A.column_count - 1) A.kept[i] = cell;
        }
    }
    template <bool EDGE, bool HALO>
    __device__ __forceinline__ void groups(int s, int count, int begin, int end) {
#pragma unroll 1
        for (int g = 0; g < count; g++, s += GROUP) {
            const fetched now = next;
            fetch(s + GROUP);
#pragma unroll
            for (int k = 0; k < GROUP; k++) front<EDGE, HALO>(now, s, k, begin, end);
        }
    }
    // Fronts (or, of square tiles, columns) [first, first + count); `count` is whole groups. `fresh`:
    // no tile of this row went just before, and fetched the first group.
    __device__ __forceinline__ void tile(int first, int count, bool fresh) {
        if (SQUARE || fresh) fetch(first);
        const int fronts = SQUARE ? (count + SKEW * (HEIGHT - 1) + GROUP - 1) / GROUP * GROUP : count;
        const bool last = WW_KEEP == WW_LAST_ROW || WW_KEEP == WW_LAST_COLUMN;
        const bool edge = SQUARE || WW_BAND || first - SKEW * (HEIGHT - 1) < LEFT
            || first + count + last > LEFT + A.column_count
            || first_row + HEIGHT + last > A.row_count;
        const int begin = first, end = first + count, n = fronts / GROUP;
        if (edge) {
            if (t < 32) groups<true, true>(first, n, begin, end);
            else groups<true, HEIGHT < 32>(first, n, begin, end);
        } else {
            if (t < 32) groups<false, true>(first, n, begin, end);
            else groups<false, HEIGHT < 32>(first, n, begin, end);
        }
    }
    // The warps' best cells or sums for the host; all threads that compute.
    __device__ __forceinline__ void finish(int warps) {
        unsigned long long* to = A.candidates + 3 * ((size_t)blockIdx.x * warps + t / 32);
        if constexpr (WW_KEEP == WW_SUM) leave_sum(to, total, t % 32);
        if constexpr (RANKS) {
            const candidate winner = best_of_warp(best);
            if (t % 32 != 0) return;
            to[0] = winner.rank;
            to[1] = winner.bits;
            to[2] = (unsigned long long)(unsigned)winner.row << 32 | (unsigned)winner.column;
        }
    }
};
