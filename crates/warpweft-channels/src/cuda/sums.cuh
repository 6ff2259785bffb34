// Functions whose values are proved to be one sum over all calls (or a product, minimum, maximum, `&`, `|`, `^`), in one
// persistent kernel: no call waits for another, and each lane sums what it meets.
//
// Grid: a line of blocks, all resident (cooperative); block: WW_WARPS warps, none of which waits for another of its
// block. Shared memory: a window of each lane's stack, where it fits (WW_SHARED).
//
// A lane goes depth first. Its present call is in registers; a step spawns one call of it. If both have calls to spawn
// afterwards, the older goes to the lane's stack, as a frame: what its function needs to go on, and where. A call that has
// nothing left to spawn is dropped at once. The newest frames are in a ring of fixed length in shared memory; the oldest
// are in chunks of global memory when there are too many (`spill`).
//
// A warp makes some steps without a look at anything that others share, then counts its idle lanes. When enough are idle
// they take the oldest frames of the lanes that have most. A warp without work draws a ticket: it writes its number to a
// ring and adds one to the demand. A warp with work that sees demand claims exactly as much of it as it can meet, and
// writes frames into the inboxes of the warps whose tickets those are: a giver never waits for a place. The run is over
// when no warp holds a token: each warp begins with one, each batch of frames brings one, and a warp without work, frames
// or roots gives all of its back.
#include "words.cuh"
#include "watchdog.cuh"

using ww::u32;
using ww::u64;

constexpr u32 NONE = 0xffffffffu, ALL = 0xffffffffu;
// Why a run ends: the first is that memory for waiting calls is used up, the last that all is done.
enum : u32 { TOO_DEEP = 1, DONE = 255 };
// Where words that warps share lie in `counters`, 128 bytes apart.
enum : u32 { NEXT_ROOT = 0, DEMAND = 32, HEAD = 64, STATUS = 96, TAIL = 128, LIVE = 160, WAITING = 192, CHUNKS = 224 };
enum : u32 { CALLS = 0, GIVEN = 1, STEPS = 2, ROUNDS = 3, SPILLED = 4 };

struct ww_arguments {
    const unsigned char* roots;    // calls, as they lie in Rust
    unsigned char* results;        // a value a root, which begins with the operation's neutral one
    u32* ring;                     // [ring_size] warps that wait, each plus one; 0 is free
    u32* inbox;                     // [warps][RECORD + 1][32]
    u32* inbox_counts;              // [warps] frames in the inbox, plus one; 0: none
    u32* stacks;                   // [warps][window][RECORD][32 lanes], where windows are not in shared memory
    u32* pool;                     // [chunks][CHUNK_WORDS]
    u32* counters;
    u64* counts;
    u32 roots_count, roots_bytes, ring_size, window, chunks, every, idle, ramp, age, warps;
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

__host__ __device__ constexpr u32 larger(u32 a, u32 b) { return a > b ? a : b; }
#define WW_SIZE(F) words = larger(words, (u32)(sizeof(typename F::Sum) + 3) / 4);
__host__ __device__ constexpr u32 largest_call() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) + 1u
constexpr u32 FUNCTIONS = 0u WW_FUNCTIONS(WW_SIZE);
#undef WW_SIZE

using Total = typename WW_ROOT::Output;
// A frame says where it goes on only if that may differ.
constexpr bool LABELLED = FUNCTIONS > 1 || WW_ROOT::SUM_LATER == 0;
constexpr u32 WORDS = largest_call(), RECORD = WORDS + (LABELLED ? 1u : 0u);
constexpr u32 FRAME_BYTES = 128 * RECORD;
// Frames that go to global memory at once, after the chunk before and the one after.
constexpr u32 CHUNK = 4, CHUNK_WORDS = 2 + CHUNK * RECORD;
extern "C" __device__ u32 ww_sizes[1] = {RECORD};

template<u32 BYTES> struct ww_word_of { using type = u32; };
template<> struct ww_word_of<8> { using type = u64; };
template<class T> struct ww_order {
    using U = typename ww_word_of<sizeof(T)>::type;
    static constexpr bool SIGNED = (T)-1 < (T)0;
    static constexpr T most = SIGNED ? (T)((U)~(U)0 >> 1) : (T)~(U)0, least = (T)~(U)most;
};
template<class T> WW_FN T neutral() {
    if constexpr (WW_OPERATION == 2) return (T)1;
    if constexpr (WW_OPERATION == 3) return ww_order<T>::most;
    if constexpr (WW_OPERATION == 4) return ww_order<T>::least;
    if constexpr (WW_OPERATION == 5) return (T)-1;
    return (T)0;
}
template<class T> WW_FN T combine(const T& a, const T& b) {
    if constexpr (WW_OPERATION == 1) return ww::add(a, b);
    if constexpr (WW_OPERATION == 2) return ww::wrapping_mul(a, b);
    if constexpr (WW_OPERATION == 3) return a < b ? a : b;
    if constexpr (WW_OPERATION == 4) return a < b ? b : a;
    if constexpr (WW_OPERATION == 5) return (T)(a & b);
    if constexpr (WW_OPERATION == 6) return (T)(a | b);
    return (T)(a ^ b);
}
// The same into a word that others combine into as well.
template<class T> WW_FN void combine_shared(unsigned char* to, T value) {
    using U = typename ww_word_of<sizeof(T)>::type;
    U* place = (U*)to;
    if constexpr (WW_OPERATION == 1) {
        atomicAdd(place, (U)value);
    } else if constexpr (WW_OPERATION == 6) {
        atomicOr(place, (U)value);
    } else if constexpr (WW_OPERATION == 7) {
        atomicXor(place, (U)value);
    } else {
        U before = *(volatile U*)place;
        while (true) {
            const U after = (U)combine<T>((T)before, value);
            if (after == before) break;
            const U now = atomicCAS(place, before, after);
            if (now == before) break;
            before = now;
        }
    }
}

// Ends the run: the first reason stays.
__device__ __noinline__ void ww_end(const ww_arguments& a, u32 why) { ww_compare_relaxed(a.counters + STATUS, 0u, why); }

// Frames on a stack. In shared memory, which is addressed by 32 bits, pushes and pops are predicated, not branched to:
// lanes of a warp that push and others that don't stay together.
#if WW_SHARED
constexpr u32 VECTOR = RECORD % 4 == 0 ? 4 : RECORD % 2 == 0 ? 2 : 1;
using ww_place = u32;
WW_FN void load_frame(ww_place from, u32 (&words)[RECORD], bool on) {
#pragma unroll
    for (u32 i = 0; i < RECORD; i += VECTOR) {
        const u32 at = from + 128 * i;
        if constexpr (VECTOR == 4)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%5]; }"
                         : "+r"(words[i]), "+r"(words[i + 1]), "+r"(words[i + 2]), "+r"(words[i + 3])
                         : "r"((u32)on), "r"(at) : "memory");
        else if constexpr (VECTOR == 2)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared.v2.u32 {%0, %1}, [%3]; }"
                         : "+r"(words[i]), "+r"(words[i + 1]) : "r"((u32)on), "r"(at) : "memory");
        else
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u32 %0, [%2]; }"
                         : "+r"(words[i]) : "r"((u32)on), "r"(at) : "memory");
    }
}
WW_FN void store_frame(ww_place to, const u32 (&words)[RECORD], bool on) {
#pragma unroll
    for (u32 i = 0; i < RECORD; i += VECTOR) {
        const u32 at = to + 128 * i;
        if constexpr (VECTOR == 4)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v4.u32 [%1], {%2, %3, %4, %5}; }"
                         :: "r"((u32)on), "r"(at), "r"(words[i]), "r"(words[i + 1]), "r"(words[i + 2]), "r"(words[i + 3])
                         : "memory");
        else if constexpr (VECTOR == 2)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v2.u32 [%1], {%2, %3}; }"
                         :: "r"((u32)on), "r"(at), "r"(words[i]), "r"(words[i + 1]) : "memory");
        else
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.u32 [%1], %2; }"
                         :: "r"((u32)on), "r"(at), "r"(words[i]) : "memory");
    }
}
#else
constexpr u32 VECTOR = 1;
using ww_place = u32*;
WW_FN void load_frame(ww_place from, u32 (&words)[RECORD], bool on) {
    if (on)
        for (u32 i = 0; i < RECORD; ++i) words[i] = from[32 * i];
}
WW_FN void store_frame(ww_place to, const u32 (&words)[RECORD], bool on) {
    if (on)
        for (u32 i = 0; i < RECORD; ++i) to[32 * i] = words[i];
}
#endif
#include "sums_warp.cuh"
