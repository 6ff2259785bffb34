// Sums of integer scores without overflow: 128 bits, two's complement.
#pragma once

struct exact_sum {
    unsigned long long low, high;
    __device__ __forceinline__ exact_sum& operator+=(const exact_sum& other) {
        low += other.low;
        high += other.high + (low < other.low);
        return *this;
    }
    template <class T> __device__ __forceinline__ exact_sum& operator+=(T number) {
        const unsigned long long extended = (unsigned long long)(long long)number;
        return *this += exact_sum{extended, number < (T)0 ? ~0ull : 0ull};
    }
};

// The sum of a few, up to 2^31: 64 bits hold it of numbers of 32.
template <class T, bool SMALL = (sizeof(T) <= 4)> struct sum_of_few { using type = long long; };
template <class T> struct sum_of_few<T, false> { using type = exact_sum; };

__device__ __forceinline__ exact_sum sum_of_warp(exact_sum mine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        mine += exact_sum{__shfl_xor_sync(~0u, mine.low, distance),
                          __shfl_xor_sync(~0u, mine.high, distance)};
    return mine;
}

// What a warp leaves for the host, in place of a candidate.
__device__ __forceinline__ void leave_sum(unsigned long long* to, const exact_sum& mine, int lane) {
    const exact_sum all = sum_of_warp(mine);
    if (lane != 0) return;
    to[0] = all.low;
    to[1] = all.high;
}
