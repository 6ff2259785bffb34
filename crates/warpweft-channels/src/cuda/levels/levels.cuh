// Fork-join tasks level by level: a launch runs all calls of one depth, and appends the calls that they spawn to those of the
// next. For functions whose values are one sum over all calls.
//
// Grid: a line of blocks, any number; block: WW_WARPS warps, none of which waits for another. Shared memory: none. Calls lie as
// arrays of words, one a word of a call, so that the lanes of a warp read neighbours; a warp reserves places for all calls that
// its lanes spawn in a step with one atomic addition.
//
// Source: levels of channels in Orr et al., "Fine-grain task aggregation and coordination on GPUs" (ISCA 2014), section 5.
#include "words.cuh"

using ww::u32;
using ww::u64;

constexpr u32 ALL = 0xffffffffu;

struct ww_level_arguments {
    const u32* from;        // [CALL][capacity] calls of this level
    u32* to;                // [CALL][capacity] calls of the next
    unsigned char* results; // a value a root, which begins with the operation's neutral one
    u64* appended;          // calls of the next level, also those that had no place
    u32* status;            // not 0: the run is over
    u64 count, capacity;
};
static_assert(sizeof(ww_level_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

template<u32 BYTES> struct ww_word_of { using type = u32; };
template<> struct ww_word_of<8> { using type = u64; };
#include "operations.cuh"

__host__ __device__ constexpr u32 larger(u32 a, u32 b) { return a > b ? a : b; }
__host__ __device__ constexpr u32 words_of(u64 bytes) { return (u32)((bytes + 3) / 4); }
#define WW_SIZE(F) words = larger(words, words_of(sizeof(F)));
__host__ __device__ constexpr u32 largest_call() { u32 words = 1; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) words = larger(words, words_of(sizeof(typename F::Sum)));
__host__ __device__ constexpr u32 largest_frame() { u32 words = 1; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) + 1u
constexpr u32 FUNCTIONS = 0u WW_FUNCTIONS(WW_SIZE);
#undef WW_SIZE
// Words of a call: its arguments, then its function's number and its root's, where they may differ.
constexpr u32 WORDS = largest_call(), FRAME = largest_frame();
constexpr u32 NUMBERED = WORDS, ROOTED = NUMBERED + (FUNCTIONS > 1 ? 1 : 0), CALL = ROOTED + (WW_ONE_ROOT ? 0 : 1);

using Total = typename WW_ROOT::Output;
extern "C" __device__ u32 ww_sizes[1] = {CALL};

struct ww_level_lane {
    const ww_level_arguments& a;
#if WW_UNIFORM
    const WW_ROOT& only_root;
    WW_FN const WW_ROOT& uniform() const { return only_root; }
#endif
    u32 frame[FRAME], at, number; // of the present call; at 0: it has ended
    u32 child[WORDS], child_of;   // the call that it spawned; 0: none, else one more than its function's number
    u32 root;
    Total total;                  // of calls below `root`

    // What functions call.
    WW_FN void give(const Total& value) { total = combine(total, value); }
    template<class G> WW_FN void spawn(u32, const G& given) {
        memcpy(child, &given, sizeof given);
        child_of = G::NUMBER + 1;
    }

    template<class F> WW_FN void begin(const u32* words) {
        F given;
        typename F::Sum made;
        memcpy((void*)&given, words, sizeof given);
        F::template sum<false>(*this, made, at, given);
        memcpy(frame, &made, sizeof made);
    }
    template<class F> WW_FN void go_on() {
        typename F::Sum made;
        F none;
        memcpy((void*)&made, frame, sizeof made);
        F::template sum<true>(*this, made, at, none);
        memcpy(frame, &made, sizeof made);
    }

    // Call `place` of the level becomes the present one.
    WW_FN void take(u64 place) {
        u32 words[WORDS];
#pragma unroll
        for (u32 k = 0; k < WORDS; ++k) words[k] = a.from[k * a.capacity + place];
        number = FUNCTIONS > 1 ? a.from[NUMBERED * a.capacity + place] : 0;
        const u32 its = WW_ONE_ROOT ? 0 : a.from[ROOTED * a.capacity + place];
        if (its != root) {
            flush();
            root = its;
        }
        at = 0;
#define WW_CASE(F) case F::NUMBER: begin<F>(words); break;
        if constexpr (FUNCTIONS == 1) begin<WW_ROOT>(words);
        else switch (number) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
    }
    WW_FN void step() {
#define WW_CASE(F) case F::NUMBER: go_on<F>(); break;
        if constexpr (FUNCTIONS == 1) go_on<WW_ROOT>();
        else switch (number) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
    }
    // The calls that lanes spawned go to the next level.
    WW_FN void append(u32 lane) {
        const u32 mask = __ballot_sync(ALL, child_of != 0);
        if (mask == 0) return;
        u64 first = 0;
        if (lane == 0) first = ww_add_long_relaxed(a.appended, (u64)__popc(mask));
        first = (u64)__shfl_sync(ALL, (u32)first, 0) | (u64)__shfl_sync(ALL, (u32)(first >> 32), 0) << 32;
        const u64 place = first + __popc(mask & ((1u << lane) - 1u));
        if (child_of != 0 && place < a.capacity) {
#pragma unroll
            for (u32 k = 0; k < WORDS; ++k) a.to[k * a.capacity + place] = child[k];
            if constexpr (FUNCTIONS > 1) a.to[NUMBERED * a.capacity + place] = child_of - 1;
            if constexpr (!WW_ONE_ROOT) a.to[ROOTED * a.capacity + place] = root;
        }
        child_of = 0;
    }
    WW_FN void flush() {
        if (total != neutral<Total>()) combine_shared<Total>(a.results + (u64)root * sizeof(Total), total);
        total = neutral<Total>();
    }

    WW_FN void run(u32 lane, u64 warp, u64 warps) {
        root = at = child_of = 0;
        total = neutral<Total>();
        for (u64 first = 32 * warp; first < a.count; first += 32 * warps) {
            u32 ended = 0;
            if (lane == 0) ended = ww_load_relaxed(a.status);
            if (__shfl_sync(ALL, ended, 0) != 0 || __any_sync(ALL, WW_FAULTED)) break;
            if (first + lane < a.count) take(first + lane);
            __syncwarp();
            append(lane);
            while (__any_sync(ALL, at != 0)) {
                if (at != 0) step();
                __syncwarp();
                append(lane);
            }
        }
        sum_up(lane);
    }
    // The lanes' totals, at once where they are of one root.
    WW_FN void sum_up(u32 lane) {
        if (__any_sync(ALL, root != __shfl_sync(ALL, root, 0))) return flush();
#pragma unroll
        for (u32 apart = 16; apart != 0; apart /= 2) {
            const u64 mine = (u64)total;
            const u64 other = __shfl_sync(ALL, (u32)mine, lane ^ apart) | (u64)__shfl_sync(ALL, (u32)(mine >> 32), lane ^ apart) << 32;
            total = combine(total, (Total)other);
        }
        if (lane == 0) flush();
    }
};

extern "C" __global__ void __launch_bounds__(32 * WW_WARPS) channels_level(const __grid_constant__ ww_level_arguments a
#if WW_UNIFORM
    , const __grid_constant__ WW_ROOT only_root
#endif
) {
    ww_level_lane own{a
#if WW_UNIFORM
        , only_root
#endif
    };
    own.run(threadIdx.x & 31u, (u64)blockIdx.x * WW_WARPS + (threadIdx.x >> 5), (u64)gridDim.x * WW_WARPS);
}
