// Flags in shared memory: how the warps of one block wait for one another.
#pragma once
#include "watchdog.cuh"
#include "words.cuh"

// The same, if `does` says so: without a branch.
__device__ __forceinline__ void store_in_order_shared_if(bool does, int* flag, int value) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p st.relaxed.cta.shared.b32 [%0], %1; }"
                 ::"r"((unsigned)__cvta_generic_to_shared(flag)), "r"(value), "r"((int)does) : "memory");
}
// A value into shared memory where both numbers are the same: without a branch, if it is made of words.
template <class T>
__device__ __forceinline__ void store_shared_where(int one, int other, T* to, const T& value) {
    if constexpr (sizeof(T) % 4 == 0) {
        unsigned words[sizeof(T) / 4];
        memcpy(words, &value, sizeof(T));
#pragma unroll
        for (int i = 0; i < (int)(sizeof(T) / 4); i++)
            asm volatile("{ .reg .pred p; setp.eq.s32 p, %2, %3; @p st.shared.b32 [%0], %1; }"
                         ::"r"((unsigned)__cvta_generic_to_shared(to) + 4 * i), "r"(words[i]), "r"(one),
                         "r"(other));
    } else if (one == other) *to = value;
}

// Gives up, and reports, when a wait takes too long. Flags of the block itself are numbered from
// 1000 (ready), 2000 (consumed), 3000 (brought) and 4000 (computed) in reports.
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

// A value that no wait is longer than. A warp that has given up takes every flag to say it: the kernel then
// ends without another wait, and the host, which has the report, drops its results.
constexpr int FAR = 0x7fffffff;

// The flag's value once it is at least `wanted`, or FAR.
template <int NAP>
__device__ __forceinline__ int wait_shared(const int* flag, int wanted, const ww_watchdog& dog,
                                           int number) {
    patience patience;
    for (;;) {
        const int seen = load_acquire_shared(flag);
        if (seen >= wanted) return seen;
        if constexpr (NAP > 0) __nanosleep(NAP);
        if (patience.over(dog, ww_block_index(), number, wanted, seen)) return FAR;
    }
}
