// Sums over the lanes before, of several values of each lane at once.
//
// Of N values lanes exchange halves with a neighbour, so that each holds N / 2 sums of two lanes, and so on until
// each holds one value of 32 / N groups of lanes; those are scanned, and the sums go back the same way. N = 8 takes
// 18 shuffles instead of 56.
#pragma once

template <class T> __device__ __forceinline__ T lane_xor(const T& value, int mask) {
    constexpr int COUNT = sizeof(T) / 4;
    unsigned words[COUNT];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < COUNT; i++) words[i] = __shfl_xor_sync(~0u, words[i], mask);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}
template <class T> __device__ __forceinline__ T lane_value(const T& value, int from) {
    constexpr int COUNT = sizeof(T) / 4;
    unsigned words[COUNT];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < COUNT; i++) words[i] = __shfl_sync(~0u, words[i], from);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// By value: a choice between elements of an array would be one between addresses.
template <class T> __device__ __forceinline__ T chosen(bool first, T a, T b) { return first ? a : b; }

// N is a power of two. `carry` is the sum before lane 0, of the value with the number `held_value(lane)`; afterwards
// that before lane 0 of the next values. D: distance of lanes that hold the same values.
template <int N, int D = 1> struct lane_sums {
    static constexpr int HALF = N / 2;
    template <class T>
    static __device__ __forceinline__ void before(T (&x)[N], T& carry, int lane) {
        const bool late = lane & D;
        T early[HALF], sums[HALF];
#pragma unroll
        for (int i = 0; i < HALF; i++) {
            const T own = chosen(late, x[HALF + i], x[i]);
            const T other = lane_xor(chosen(late, x[i], x[HALF + i]), D);
            early[i] = chosen(late, other, own);
            sums[i] = ww::add(own, other);
        }
        lane_sums<HALF, 2 * D>::before(sums, carry, lane);
#pragma unroll
        for (int i = 0; i < HALF; i++) {
            const T after = ww::add(sums[i], early[i]);
            const T other = lane_xor(chosen(late, sums[i], after), D);
            x[i] = chosen(late, other, sums[i]);
            x[HALF + i] = chosen(late, after, other);
        }
    }
    static __device__ __forceinline__ int held_value(int lane) {
        return (lane & D ? HALF : 0) + lane_sums<HALF, 2 * D>::held_value(lane);
    }
};
template <int D> struct lane_sums<1, D> {
    template <class T> static __device__ __forceinline__ void before(T (&x)[1], T& carry, int lane) {
        T sum = x[0];
#pragma unroll
        for (int d = D; d < 32; d *= 2) {
            const T other = lane_value(sum, lane - d);
            if (lane >= d) sum = ww::add(sum, other);
        }
        const T other = lane_value(sum, lane - D), all = lane_value(sum, lane | (31 & ~(D - 1)));
        x[0] = lane < D ? carry : ww::add(carry, other);
        carry = ww::add(carry, all);
    }
    static __device__ __forceinline__ int held_value(int) { return 0; }
};

// The same of any number of values: as powers of two, greatest first.
template <int N, int AT = 0> struct sums_before {
    static constexpr int FIRST = N >= 16 ? 16 : N >= 8 ? 8 : N >= 4 ? 4 : N >= 2 ? 2 : 1;
    using first = lane_sums<FIRST>;
    using rest = sums_before<N - FIRST, AT + FIRST>;
    static constexpr int CARRIES = 1 + rest::CARRIES;
    template <class T, class Of> static __device__ __forceinline__ void begin(T* carry, int lane, Of of) {
        carry[0] = of(AT + first::held_value(lane));
        rest::begin(carry + 1, lane, of);
    }
    template <class T, int ALL>
    static __device__ __forceinline__ void before(T (&x)[ALL], T* carry, int lane) {
        T some[FIRST];
#pragma unroll
        for (int i = 0; i < FIRST; i++) some[i] = x[AT + i];
        first::before(some, carry[0], lane);
#pragma unroll
        for (int i = 0; i < FIRST; i++) x[AT + i] = some[i];
        rest::before(x, carry + 1, lane);
    }
};
template <int AT> struct sums_before<0, AT> {
    static constexpr int CARRIES = 0;
    template <class T, class Of> static __device__ __forceinline__ void begin(T*, int, Of) {}
    template <class T, int ALL> static __device__ __forceinline__ void before(T (&)[ALL], T*, int) {}
};
