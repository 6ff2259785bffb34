// Rows of 32 * K words, of which each lane of a warp has K side by side: one access a lane.
#pragma once

constexpr unsigned ALL = 0xffffffffu;

template <int K> struct alignas(4 * K) words {
    unsigned x[K];
};

// Words that no kernel writes while this one runs.
template <int K> __device__ __forceinline__ words<K> fixed(const unsigned* from) {
    words<K> w;
    if constexpr (K == 1) {
        w.x[0] = __ldg(from);
    } else if constexpr (K == 2) {
        const uint2 t = __ldg(reinterpret_cast<const uint2*>(from));
        w.x[0] = t.x, w.x[1] = t.y;
    } else {
        static_assert(K == 4, "one access of 4, 8 or 16 bytes");
        const uint4 t = __ldg(reinterpret_cast<const uint4*>(from));
        w.x[0] = t.x, w.x[1] = t.y, w.x[2] = t.z, w.x[3] = t.w;
    }
    return w;
}

template <int K> __device__ __forceinline__ words<K> load(const unsigned* from) {
    return *reinterpret_cast<const words<K>*>(from);
}

template <int K> __device__ __forceinline__ void store(unsigned* to, const words<K>& w) {
    *reinterpret_cast<words<K>*>(to) = w;
}

// What a source reaches; the host has the same layout.
struct reach {
    unsigned reached, farthest;
    unsigned long long total;
};
static_assert(sizeof(reach) == 16, "the host reads four words each");
