// Many problems of any sizes: a warp takes the next one and computes it alone, until none is left.
//
// Grid: a line of blocks, as many as the device holds; block: BATCH_WARPS warps, none of which waits
// for another. A lane owns K rows in registers and is one column behind the lane above, so that a pass
// goes over 32 * K rows; cells and column inputs go from lane to lane by shuffle. The last lane's
// bottom row goes to the warp's own line in global memory, which the next pass reads in pieces of 32.
//
// Where WW_DIRECTIONS says how many bits a choice takes (0: none is told), a lane's choices of a column are one
// word; what a warp stores in a step lies side by side: those of column j of lane L in pass p are
// words[((p * (columns + 31)) + j + L) * 32 + L] of the problem.
#include "words.cuh"
#include "rank.cuh"
#include "neighbours.cuh"
#include "tables.cuh"

enum { WW_BEST = 0, WW_LAST_ROW = 1, WW_LAST_COLUMN = 2 };

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

using cell_t = ww_cell;
using row_t = typename ww_element::Row;
using column_t = typename ww_element::Column;
using earlier = earlier_of<cell_t>;

// The value of another lane.
template <class T> __device__ __forceinline__ T of_lane(const T& value, int lane) {
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < COUNT; i++) words[i] = __shfl_sync(~0u, words[i], lane);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

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

// One pass: the rows from `row0` on, over all columns.
__device__ __forceinline__ void pass(const ww_arguments& A, const ww_problem& P, const ww_element& f,
                                     cell_t origin, cell_t border, cell_t* line, int row0,
                                     int lane, candidate& mine WW_CHOICE) {
    const int first = row0 + lane * K, columns = P.column_count;
    const bool last = row0 + PASS >= P.row_count;
    row_t inputs[K];
    cell_t h[K], corner = row0 + lane == 0 ? origin : border, bottom = border, staged = border;
    column_t column{}, staged_column{};
    ww_score_type best[K];
    int at[K];
#pragma unroll
    for (int r = 0; r < K; r++) {
        inputs[r] = f.row(first + r < P.row_count ? A.rows[P.rows + first + r] : ww_row_input{});
        h[r] = border;
        best[r] = lowest<ww_score_type>::value();
        at[r] = NOWHERE;
    }
#pragma unroll 1
    for (int t = 0; t < columns + 31; t++) {
        if (t % 32 == 0 && t < columns) {
            const bool some = t + lane < columns;
            staged_column = f.column(some ? A.columns[P.columns + t + lane] : ww_column_input{});
            // Lane 31 has written as far as the column before.
            if (row0 > 0 && some) staged = line[t + lane];
        }
        const cell_t above = shuffle_up(bottom), top = of_lane(staged, t % 32);
        const column_t passed = shuffle_up(column), fresh = of_lane(staged_column, t % 32);
        const cell_t n = lane == 0 ? top : above;
        column = lane == 0 ? fresh : passed;
        const int j = t - lane;
        if ((unsigned)j < (unsigned)columns) {
            cell_t nw = corner, north = n;
            [[maybe_unused]] unsigned chosen = 0;
#pragma unroll
            for (int r = 0; r < K; r++) {
                const cell_t w = h[r], cell = f(earlier{nw, north, w}, inputs[r], column);
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
                if constexpr (WW_KEEP == WW_BEST) {
                    const ww_score_type score = ww_score(cell);
                    const bool better = beats(score, best[r]);
                    best[r] = better ? score : best[r];
                    at[r] = better ? j : at[r];
                }
            }
#if WW_DIRECTIONS
            directions_t* words = (directions_t*)A.directions + P.directions;
            words[((size_t)(row0 / PASS) * (columns + 31) + t) * 32 + lane] = (directions_t)chosen;
#endif
            corner = n;
            bottom = north;
            if (!last) {
                if (lane == 31) line[j] = north;
            } else if constexpr (WW_KEEP == WW_LAST_ROW) {
#pragma unroll
                for (int r = 0; r < K; r++)
                    if (first + r == P.row_count - 1) A.kept[P.kept + j] = h[r];
            }
        }
    }
#pragma unroll
    for (int r = 0; r < K; r++) {
        if (first + r >= P.row_count) continue;
        if constexpr (WW_KEEP == WW_LAST_COLUMN) A.kept[P.kept + first + r] = h[r];
        if constexpr (WW_KEEP == WW_BEST) {
            candidate here{rank_of(best[r]), 0, first + r, at[r]};
            memcpy(&here.bits, &best[r], sizeof(best[r]));
            if (at[r] != NOWHERE && here.beats(mine)) mine = here;
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * BATCH_WARPS)
    wavefront_batch(WW_PARAMETERS) {
    const int lane = threadIdx.x % 32;
    const unsigned warp = blockIdx.x * BATCH_WARPS + threadIdx.x / 32;
    cell_t* line = A.lines + warp * A.line;
    __shared__ __align__(16) char element_copies[BATCH_WARPS][copy_bytes<ww_element>];
#if WW_DIRECTIONS
    __shared__ __align__(16) char choice_copies[BATCH_WARPS][copy_bytes<ww_choice>];
#endif
    for (;;) {
        unsigned k = lane == 0 ? atomicAdd(A.next, 1u) : 0u;
        k = __shfl_sync(~0u, k, 0);
        if (k >= A.count) return;
        const ww_problem P = A.problems[k];
        __syncwarp();  // all have read the tables of the problem before
        passed<ww_element, has_tables<ww_element>>::type f =
            held(element_copies[threadIdx.x / 32], A.elements[k], lane, 32);
#if WW_DIRECTIONS
        const ww_choice& choice =
            held(choice_copies[threadIdx.x / 32], ((const ww_choice*)A.choices)[k], lane, 32);
#endif
        __syncwarp();
        const cell_t origin = A.borders[2 * k], border = A.borders[2 * k + 1];
        candidate mine{0, 0, 0x7fffffff, 0x7fffffff};
        for (int row0 = 0; row0 < P.row_count; row0 += PASS) {
            pass(A, P, f, origin, border, line, row0, lane, mine WW_CHOICE_OF(choice));
            __syncwarp();
        }
        if constexpr (WW_KEEP == WW_BEST) {
            mine = best_of_warp(mine);
            if (lane == 0) {
                unsigned long long* to = A.candidates + 3 * (size_t)k;
                to[0] = mine.rank;
                to[1] = mine.bits;
                to[2] = (unsigned long long)(unsigned)mine.row << 32 | (unsigned)mine.column;
            }
        }
    }
}
