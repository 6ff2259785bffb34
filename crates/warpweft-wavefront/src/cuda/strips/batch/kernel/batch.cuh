// Many problems of any sizes: a warp takes the next one and computes it alone, until none is left.
//
// Grid: a line of blocks, as many as the device holds; block: BATCH_WARPS warps, none of which waits
// for another. A lane owns K rows in registers and is one column behind the lane above, so that a pass
// goes over 32 * K rows; cells and column inputs go from lane to lane by shuffle. The last lane's
// bottom row goes to the warp's own line in global memory, which the next pass reads in pieces of 32.
// Steps in which all lanes have a column need no test; 31 at each end of a pass do.
//
// Where WW_DIRECTIONS says how many bits a choice takes (0: none is told), a lane's choices of a column are one
// word; what a warp stores in a step lies side by side: those of column j of lane L in pass p are
// words[((p * (columns + 31)) + j + L) * 32 + L] of the problem. trails.cuh reads the paths off them.
#include "words.cuh"
#include "rank.cuh"
#include "neighbours.cuh"
#include "tables.cuh"

enum { WW_BEST = 0, WW_LAST_ROW = 1, WW_LAST_COLUMN = 2, WW_CORNER = 3, WW_SCORE = 4 };

constexpr int DIRECTION_BITS = WW_DIRECTIONS * WW_ROWS;
static_assert(DIRECTION_BITS <= 32, "the rows of a lane fit a word");
#if WW_DIRECTIONS
template <int BYTES> struct direction_word { using type = unsigned; };
template <> struct direction_word<1> { using type = unsigned char; };
template <> struct direction_word<2> { using type = unsigned short; };
using directions_t = typename direction_word<
    DIRECTION_BITS <= 8 ? 1 : DIRECTION_BITS <= 16 ? 2 : 4>::type;
#endif

constexpr int K = WW_ROWS, BATCH_WARPS = WW_WARPS, PASS = 32 * K;
constexpr int NOWHERE = -1;
constexpr bool PLACED = WW_KEEP == WW_BEST, RANKED = PLACED || WW_KEEP == WW_SCORE;

using cell_t = ww_cell;
using row_t = typename ww_element::Row;
using column_t = typename ww_element::Column;
using earlier = earlier_of<cell_t>;

__device__ __forceinline__ bool beats(ww_score_type a, ww_score_type b) { return a > b || b != b; }

#if WW_DIRECTIONS
// What tells choices: the cells before, and the finished one.
struct finished : earlier {
    cell_t cell;
    __device__ __forceinline__ const cell_t& input() const { return cell; }
};
#define WW_CHOICE , const ww_choice& choice
#define WW_CHOICE_OF(c) , c
#else
#define WW_CHOICE
#define WW_CHOICE_OF(c)
#endif

// A problem, and what a warp computes it with.
struct problem {
    const ww_arguments& A;
    const ww_problem& P;
    const ww_element& f;
    const cell_t origin, border;
    cell_t* const line;
    const int lane;

    // What the cells above row 0 and to the west of column 0 hold.
    __device__ __forceinline__ cell_t above(int j) const {
#if WW_LINES
        return A.top[j];
#else
        return border;
#endif
    }
    __device__ __forceinline__ cell_t before(int i) const {
#if WW_LINES
        return i < 0 ? origin : i < P.row_count ? A.left[i] : border;
#else
        return i < 0 ? origin : border;
#endif
    }
};

// A lane's rows of one pass. FIRST: the pass begins at row 0.
template <bool FIRST> struct lane_rows {
    // Whether cells above the first lane's rows are read from memory.
    static constexpr bool READS_ABOVE = !FIRST || WW_LINES;
    const problem& Q;
    const int row0, first, columns;
    const bool last;
    row_t inputs[K];
    cell_t h[K], corner, bottom, staged;
    column_t column, staged_column;
    ww_score_type best[K];
    int at[K];

    __device__ __forceinline__ lane_rows(const problem& Q, int row0)
        : Q(Q), row0(row0), first(row0 + Q.lane * K), columns(Q.P.column_count),
          last(row0 + PASS >= Q.P.row_count), corner(Q.before(first - 1)), bottom(Q.border),
          staged(Q.border), column{}, staged_column{} {
#pragma unroll
        for (int r = 0; r < K; r++) {
            const bool some = first + r < Q.P.row_count;
            inputs[r] = Q.f.row(some ? Q.A.rows[Q.P.rows + first + r] : ww_row_input{});
            h[r] = Q.before(first + r);
            best[r] = lowest<ww_score_type>::value();
            at[r] = NOWHERE;
        }
    }

    // Inputs of the columns from `t` on, and the cells above them, one a lane.
    __device__ __forceinline__ void stage(int t) {
        const int j = t + Q.lane;
        const bool some = j < columns;
        staged_column = Q.f.column(some ? Q.A.columns[Q.P.columns + j] : ww_column_input{});
        if constexpr (READS_ABOVE) {
            // Of the pass before, lane 31 has written as far as the column before.
            if (some) staged = FIRST ? Q.above(j) : Q.line[j];
        }
    }

    // Step `t`, the `u`th of those staged: the lane's rows of one column. EDGE: it may have none.
    template <bool EDGE> __device__ __forceinline__ void step(int t, int u WW_CHOICE) {
        const cell_t above = shuffle_up<WW_SOUTH>(bottom);
        const column_t passed = shuffle_up(column), fresh = of_lane(staged_column, u);
        const cell_t top = READS_ABOVE ? of_lane<WW_SOUTH>(staged, u) : Q.border;
        const cell_t n = Q.lane == 0 ? top : above;
        column = Q.lane == 0 ? fresh : passed;
        const int j = t - Q.lane;
        if (EDGE && (unsigned)j >= (unsigned)columns) return;
        cell_t nw = corner, north = n;
        [[maybe_unused]] unsigned chosen = 0;
#pragma unroll
        for (int r = 0; r < K; r++) {
            const cell_t w = h[r], cell = Q.f(earlier{nw, north, w}, inputs[r], column);
#if WW_DIRECTIONS
            finished all;
            all.nw = nw;
            all.n = north;
            all.w = w;
            all.cell = cell;
            const unsigned bits = choice(all, inputs[r], column) & ((1u << WW_DIRECTIONS) - 1);
            chosen |= bits << r * WW_DIRECTIONS;
#endif
            nw = w;
            north = cell;
            h[r] = cell;
            if constexpr (PLACED) {
                const ww_score_type score = ww_score(cell);
                const bool better = beats(score, best[r]);
                best[r] = better ? score : best[r];
                at[r] = better ? j : at[r];
            } else if constexpr (RANKED) {
                best[r] = greater(best[r], ww_score(cell));
            }
        }
#if WW_DIRECTIONS
        directions_t* words = (directions_t*)Q.A.directions + Q.P.directions;
        words[((size_t)(row0 / PASS) * (columns + 31) + t) * 32 + Q.lane] = (directions_t)chosen;
#endif
        corner = n;
        bottom = north;
        if (!last) {
            if (Q.lane == 31) Q.line[j] = north;
        } else if constexpr (WW_KEEP == WW_LAST_ROW) {
#pragma unroll
            for (int r = 0; r < K; r++)
                if (first + r == Q.P.row_count - 1) Q.A.kept[Q.P.kept + j] = h[r];
        }
    }

    // All columns.
    __device__ __forceinline__ void run(candidate& mine WW_CHOICE) {
#pragma unroll 1
        for (int begin = 0; begin < columns + 31; begin += 32) {
            if (begin < columns) stage(begin);
            if (begin > 0 && begin + 32 <= columns) {
#pragma unroll 2
                for (int u = 0; u < 32; u++) step<false>(begin + u, u WW_CHOICE_OF(choice));
            } else {
                const int end = min(32, columns + 31 - begin);
#pragma unroll 1
                for (int u = 0; u < end; u++) step<true>(begin + u, u WW_CHOICE_OF(choice));
            }
        }
#pragma unroll
        for (int r = 0; r < K; r++) {
            const int row = first + r;
            if (row >= Q.P.row_count) continue;
            if constexpr (WW_KEEP == WW_LAST_COLUMN) Q.A.kept[Q.P.kept + row] = h[r];
            if constexpr (WW_KEEP == WW_CORNER)
                if (row == Q.P.row_count - 1) Q.A.kept[Q.P.kept] = h[r];
            if constexpr (RANKED) {
                candidate here{rank_of(best[r]), 0, PLACED ? row : 0, PLACED ? at[r] : 0};
                memcpy(&here.bits, &best[r], sizeof(best[r]));
                if (here.column != NOWHERE && here.beats(mine)) mine = here;
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * BATCH_WARPS)
    wavefront_batch(WW_PARAMETERS) {
    const int lane = threadIdx.x % 32;
    const unsigned warp = blockIdx.x * BATCH_WARPS + threadIdx.x / 32;
    cell_t* line = A.lines + warp * A.line;
    // All problems have one element and one border, or each its own: then a copy a warp.
    __shared__ __align__(16) char element_copies[BATCH_WARPS][copy_bytes<ww_element>];
#if WW_DIRECTIONS
    __shared__ __align__(16) char choice_copies[BATCH_WARPS][copy_bytes<ww_choice>];
#endif
    unsigned copied = ~0u;
    for (;;) {
        unsigned k = lane == 0 ? atomicAdd(A.next, 1u) : 0u;
        k = __shfl_sync(~0u, k, 0);
        if (k >= A.count) return;
        const ww_problem P = A.problems[k];
        const unsigned own = A.each ? k : 0;
        __syncwarp();  // all have read the tables of the problem before
        const unsigned from = copied == own ? ~0u : lane;  // no byte where the copy is there
        copied = own;
        passed<ww_element, has_tables<ww_element>>::type f =
            held(element_copies[threadIdx.x / 32], A.elements[own], from, 32);
#if WW_DIRECTIONS
        const ww_choice& choice = held(choice_copies[threadIdx.x / 32],
                                       ((const ww_choice*)A.choices)[own], from, 32);
#endif
        __syncwarp();
        const problem Q{A, P, f, A.borders[2 * own], A.borders[2 * own + 1], line, lane};
        candidate mine{0, 0, 0x7fffffff, 0x7fffffff};
        lane_rows<true>(Q, 0).run(mine WW_CHOICE_OF(choice));
#pragma unroll 1
        for (int row0 = PASS; row0 < P.row_count; row0 += PASS) {
            __syncwarp();
            lane_rows<false>(Q, row0).run(mine WW_CHOICE_OF(choice));
        }
        if constexpr (RANKED) {
            mine = best_of_warp(mine);
            if (lane == 0) {
                unsigned long long* to = A.candidates + 3 * P.kept;
                to[0] = mine.rank;
                to[1] = mine.bits;
                to[2] = (unsigned long long)(unsigned)mine.row << 32 | (unsigned)mine.column;
            }
        }
    }
}

#if WW_DIRECTIONS
#include "trails.cuh"
#endif
