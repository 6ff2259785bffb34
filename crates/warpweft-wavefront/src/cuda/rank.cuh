// Scores as unsigned ranks: a greater score has a greater rank, equal scores the same, and 0 is
// "none": a NaN, and the lowest integer, which the host puts back.
#pragma once

__device__ __forceinline__ unsigned rank_of(int s) { return (unsigned)s ^ 0x80000000u; }
__device__ __forceinline__ unsigned rank_of(unsigned s) { return s; }
__device__ __forceinline__ unsigned rank_of(signed char s) { return (unsigned)((int)s + 128); }
__device__ __forceinline__ unsigned rank_of(unsigned char s) { return s; }
__device__ __forceinline__ unsigned rank_of(short s) { return (unsigned)((int)s + 32768); }
__device__ __forceinline__ unsigned rank_of(unsigned short s) { return s; }
__device__ __forceinline__ unsigned rank_of(bool s) { return s; }
__device__ __forceinline__ unsigned long long rank_of(long long s) {
    return (unsigned long long)s ^ (1ull << 63);
}
__device__ __forceinline__ unsigned long long rank_of(unsigned long long s) { return s; }
__device__ __forceinline__ unsigned rank_of(float s) {
    if (s != s) return 0;
    const unsigned bits = __float_as_uint(s + 0.0f);  // -0 equals +0
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ unsigned long long rank_of(double s) {
    if (s != s) return 0;
    const unsigned long long bits = __double_as_longlong(s + 0.0);
    return bits >> 63 ? ~bits : bits | (1ull << 63);
}
using rank_t = decltype(rank_of(ww_score_type{}));

// The same values in the opposite order, for the least score instead of the greatest.
template <class T> __device__ __forceinline__ T ww_reversed(T s) { return (T)~s; }
__device__ __forceinline__ bool ww_reversed(bool s) { return !s; }
__device__ __forceinline__ float ww_reversed(float s) { return -s; }
__device__ __forceinline__ double ww_reversed(double s) { return -s; }

// The greater of two; a NaN loses.
template <class T> __device__ __forceinline__ T greater(T a, T b) { return a > b ? a : b; }
__device__ __forceinline__ int greater(int a, int b) { return max(a, b); }
__device__ __forceinline__ unsigned greater(unsigned a, unsigned b) { return max(a, b); }
__device__ __forceinline__ float greater(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double greater(double a, double b) { return fmax(a, b); }

template <class T> struct lowest { static __device__ T value() { return (T)0; } };
template <> struct lowest<signed char> { static __device__ signed char value() { return -128; } };
template <> struct lowest<short> { static __device__ short value() { return -32768; } };
template <> struct lowest<int> { static __device__ int value() { return -2147483647 - 1; } };
template <> struct lowest<long long> { static __device__ long long value() { return 1ll << 63; } };
template <> struct lowest<float> { static __device__ float value() { return __uint_as_float(0x7fc00000u); } };
template <> struct lowest<double> {
    static __device__ double value() { return __longlong_as_double(0x7ff8000000000000ll); }
};

// A cell's rank, score and place.
struct candidate {
    rank_t rank;
    unsigned long long bits;
    int row, column;
    __device__ __forceinline__ bool beats(const candidate& other) const {
        if (rank != other.rank) return rank > other.rank;
        return row != other.row ? row < other.row : column < other.column;
    }
};

__device__ __forceinline__ candidate best_of_warp(candidate mine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        candidate other;
        other.rank = __shfl_xor_sync(~0u, mine.rank, distance);
        other.bits = __shfl_xor_sync(~0u, mine.bits, distance);
        other.row = __shfl_xor_sync(~0u, mine.row, distance);
        other.column = __shfl_xor_sync(~0u, mine.column, distance);
        if (other.beats(mine)) mine = other;
    }
    return mine;
}
__device__ __forceinline__ unsigned greatest_of_warp(unsigned rank) {
    return __reduce_max_sync(~0u, rank);
}
__device__ __forceinline__ unsigned long long greatest_of_warp(unsigned long long rank) {
    const unsigned high = rank >> 32, top = greatest_of_warp(high);
    return (unsigned long long)top << 32 | greatest_of_warp(high == top ? (unsigned)rank : 0u);
}
