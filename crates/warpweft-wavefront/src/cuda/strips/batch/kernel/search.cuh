// The greatest scores of many problems that have the same rows, such as a query in a database: two problems in a
// register, 16 bits each (Wozniak 1997, Rognes 2011; with the rows' scores in shared memory as in CUDASW++).
//
// Grid: a line of blocks, as many as the device holds; block: SEARCH_WARPS warps, each of which takes the next item, two
// problems, until none is left. A lane owns K rows, or K - 1 from lane `whole` on, and is one column behind the lane
// above. A launch goes over up to 32 * K rows; further rows are further launches, which read what the one before left
// in A.lines. Shared memory: for each symbol of the columns and each row what the two score, a byte; the 16 bytes c of lane
// L for symbol s lie at s * SYMBOL_BYTES + c * 512 + L * 16, so that lanes meet in no bank whatever their symbols.
#include "words.cuh"
#include "neighbours.cuh"

constexpr int K = WW_ROWS, SEARCH_WARPS = WW_WARPS, CHUNKS = (K + 15) / 16;
constexpr int SYMBOLS = 32, SYMBOL_BYTES = 512 * CHUNKS;

using near_t = ww_near;
using near_earlier = earlier_of<near_t>;

// A cell's numbers as pairs: cells are numbers of 32 bits.
__device__ __forceinline__ near_t near_cell(const ww_cell& cell) {
    static_assert(sizeof(near_t) == sizeof(ww_cell), "a pair for each number");
    constexpr int COUNT = sizeof(ww_cell) / 4;
    int numbers[COUNT];
    memcpy(numbers, &cell, sizeof(cell));
    ww::near pairs[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; i++) pairs[i] = ww::near(numbers[i]);
    near_t result;
    memcpy(&result, pairs, sizeof(result));
    return result;
}

template <class T> __device__ __forceinline__ T chosen(bool first, const T& a, const T& b) {
    constexpr int COUNT = sizeof(T) / 4;
    unsigned x[COUNT], y[COUNT];
    memcpy(x, &a, sizeof(T));
    memcpy(y, &b, sizeof(T));
#pragma unroll
    for (int i = 0; i < COUNT; i++) x[i] = first ? x[i] : y[i];
    T result;
    memcpy(&result, x, sizeof(T));
    return result;
}

// A byte of each of two words with its sign, byte I.
template <int I> __device__ __forceinline__ ww::near bytes_of(unsigned low, unsigned high) {
    constexpr unsigned SELECTOR = I | (8 + I) << 4 | (4 + I) << 8 | (12 + I) << 12;
    ww::near result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result.both) : "r"(low), "r"(high), "n"(SELECTOR));
    return result;
}

// Columns of the problem in the low or the high half, and where they begin.
__device__ __forceinline__ int count_of(const ww_item& item, int half) {
    return half == 0 ? item.count_low : item.count_high;
}
__device__ __forceinline__ unsigned long long first_of(const ww_item& item, int half) {
    return half == 0 ? item.columns_low : item.columns_high;
}

struct search_lane {
    const ww_search& A;
    const ww_element& f;
    const char* const scores;  // of this lane's rows with symbol 0
    const int lane;
    const bool has_last;  // whether row K - 1 is the lane's
    const near_t border;
    near_t h[K], corner, bottom, staged;
    unsigned column, staged_column;  // where the scores of both problems' symbols are
    unsigned best;

    __device__ __forceinline__ void begin() {
#pragma unroll
        for (int r = 0; r < K; r++) h[r] = border;
        corner = lane == 0 && A.first ? near_cell(A.borders[0]) : border;
        bottom = staged = border;
        column = 0;
        best = ww::near(-ww::NEAR_LEAST).both;
    }

    // Columns from `t` on of both problems, and the cells above them, one a lane.
    __device__ __forceinline__ void stage(const ww_item& item, const unsigned char* symbols, int t) {
        const int j = t + lane;
        unsigned at[2];
#pragma unroll
        for (int half = 0; half < 2; half++)
            at[half] = j < count_of(item, half)
                           ? symbols[A.columns[first_of(item, half) + j]] * SYMBOL_BYTES : 0;
        staged_column = at[0] | at[1] << 16;
        if (!A.first && j < item.count_low) staged = ((const near_t*)A.lines)[item.line + j];
    }

    // Rows 16 * C .. of one column.
    template <bool EDGE, int C>
    __device__ __forceinline__ void rows(near_t& nw, near_t& north, unsigned mask) {
        if constexpr (C < CHUNKS) {
            const uint4 low = *(const uint4*)(scores + (column & 0xffff) + C * 512);
            const uint4 high = *(const uint4*)(scores + (column >> 16) + C * 512);
            word<EDGE, 16 * C>(nw, north, mask, low.x, high.x);
            word<EDGE, 16 * C + 4>(nw, north, mask, low.y, high.y);
            word<EDGE, 16 * C + 8>(nw, north, mask, low.z, high.z);
            word<EDGE, 16 * C + 12>(nw, north, mask, low.w, high.w);
            rows<EDGE, C + 1>(nw, north, mask);
        }
    }
    template <bool EDGE, int R>
    __device__ __forceinline__ void word(near_t& nw, near_t& north, unsigned mask, unsigned low,
                                         unsigned high) {
        two<EDGE, R>(nw, north, mask, bytes_of<0>(low, high), bytes_of<1>(low, high));
        two<EDGE, R + 2>(nw, north, mask, bytes_of<2>(low, high), bytes_of<3>(low, high));
    }
    template <bool EDGE, int R>
    __device__ __forceinline__ void two(near_t& nw, near_t& north, unsigned mask, ww::near a,
                                        ww::near b) {
        const unsigned none = ww::near(-ww::NEAR_LEAST).both;
        unsigned first = none, second = none;
        if constexpr (R < K) first = one<R>(nw, north, a);
        if constexpr (R + 1 < K) second = one<R + 1>(nw, north, b);
        if constexpr (EDGE) {
            best = __vmaxs2(best, (__vmaxs2(first, second) & mask) | (none & ~mask));
        } else if constexpr (R + 1 < K) {
            best = __vimax3_s16x2(best, first, second);
        } else if constexpr (R < K) {
            best = __vmaxs2(best, first);
        }
    }
    // Row R: its score, if the lane has it.
    template <int R>
    __device__ __forceinline__ unsigned one(near_t& nw, near_t& north, ww::near pair) {
        const near_t w = h[R];
        const near_t cell = f.template joined<near_t>(near_earlier{nw, north, w}, pair);
        unsigned score = ww_near_score(cell).both;
        nw = w;
        h[R] = cell;
        if constexpr (R == K - 1) {
            north = chosen(has_last, cell, north);
            score = has_last ? score : ww::near(-ww::NEAR_LEAST).both;
        } else {
            north = cell;
        }
        return score;
    }

    // Step `t`, the `u`th of those staged. EDGE: one of the problems, or both, may have no such column.
    template <bool EDGE> __device__ __forceinline__ void step(const ww_item& item, int t, int u) {
        const near_t above = shuffle_up<WW_SOUTH>(bottom);
        const unsigned passed = __shfl_up_sync(~0u, column, 1);
        const unsigned fresh = __shfl_sync(~0u, staged_column, u);
        const near_t top = A.first ? border : of_lane<WW_SOUTH>(staged, u);
        const near_t n = chosen(lane == 0, top, above);
        column = lane == 0 ? fresh : passed;
        const int j = t - lane;
        unsigned mask = ~0u;
        if constexpr (EDGE) {
            const unsigned at = j < 0 ? ~0u : j;
            mask = (at < (unsigned)item.count_low ? 0xffffu : 0u)
                   | (at < (unsigned)item.count_high ? 0xffff0000u : 0u);
            if (mask == 0) return;
        }
        near_t nw = corner, north = n;
        rows<EDGE, 0>(nw, north, mask);
        corner = n;
        bottom = north;
        if (!A.last && lane == 31) ((near_t*)A.lines)[item.line + j] = north;
    }
};

extern "C" __global__ void __launch_bounds__(32 * SEARCH_WARPS)
    wavefront_search(const __grid_constant__ ww_search A, const __grid_constant__ ww_element f) {
    extern __shared__ __align__(16) char scores[];
    __shared__ unsigned char symbols[256];
    const int lane = threadIdx.x % 32, whole = A.row_count - 32 * (K - 1);
    for (int i = threadIdx.x; i < 256; i += 32 * SEARCH_WARPS) symbols[i] = A.symbols[i];
    for (int i = threadIdx.x; i < A.symbol_count * SYMBOL_BYTES; i += 32 * SEARCH_WARPS) {
        const int symbol = i / SYMBOL_BYTES, at = i % SYMBOL_BYTES;
        const int of = at % 512 / 16, r = at / 512 * 16 + at % 16;
        const int row = of * (K - 1) + min(of, whole) + r;
        int score = 0;
        if (r < K - 1 || (r == K - 1 && of < whole))
            score = f.pair(f.row(A.rows[row]), f.column(A.alphabet[symbol]));
        scores[i] = (char)score;
    }
    __syncthreads();
    search_lane L{A, f, scores + lane * 16, lane, lane < whole, near_cell(A.borders[1])};
    for (;;) {
        unsigned k = lane == 0 ? atomicAdd(A.next, 1u) : 0u;
        k = __shfl_sync(~0u, k, 0);
        if (k >= A.count) return;
        const ww_item item = A.items[k];
        L.begin();
        const int longer = item.count_low, shorter = item.count_high;
#pragma unroll 1
        for (int begin = 0; begin < longer + 31; begin += 32) {
            if (begin < longer) L.stage(item, symbols, begin);
            if (begin > 0 && begin + 32 <= shorter) {
#pragma unroll 2
                for (int u = 0; u < 32; u++) L.step<false>(item, begin + u, u);
            } else {
                const int end = min(32, longer + 31 - begin);
#pragma unroll 1
                for (int u = 0; u < end; u++) L.step<true>(item, begin + u, u);
            }
        }
        unsigned best = L.best;
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2)
            best = __vmaxs2(best, __shfl_xor_sync(~0u, best, distance));
        if (lane < 2) {
            int& to = A.found[lane == 0 ? item.result_low : item.result_high];
            const int score = lane == 0 ? (short)best : (short)(best >> 16);
            if (count_of(item, lane) > 0) to = A.first ? score : max(to, score);
        }
        __syncwarp();
    }
}
