// Kernels that measure a GPU's limits. One or more blocks an SM for bandwidths; two blocks for the latency of
// a flag; all blocks resident for the barrier. No shared memory.
#include "watchdog.cuh"

extern "C" __global__ void __launch_bounds__(512)
copy(const uint4* __restrict__ from, uint4* __restrict__ to, unsigned long long count) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count;
         i += step)
        to[i] = from[i];
}

extern "C" __global__ void __launch_bounds__(512)
read(const uint4* __restrict__ from, unsigned* __restrict__ to, unsigned long long count) {
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    unsigned any = 0;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count;
         i += step) {
        uint4 value = from[i];
        any |= value.x ^ value.y ^ value.z ^ value.w;
    }
    // Never true for the host's data, but the compiler can't know.
    if (any == 0x12345678u) *to = any;
}

// Two blocks set flags for each other in turn, each in its own 128-byte line.
extern "C" __global__ void hop(ww_word* flags, unsigned rounds, const ww_watchdog dog) {
    if (threadIdx.x != 0) return;
    ww_word *mine = flags + 32 * blockIdx.x, *other = flags + 32 * (1 - blockIdx.x);
    for (unsigned round = 1; round <= rounds; round++) {
        if (blockIdx.x == 0) ww_store_release(mine, round);
        if (!ww_wait(other, round, dog, 1 - blockIdx.x, 0)) return;
        if (blockIdx.x == 1) ww_store_release(mine, round);
    }
}

// The same between two GPUs: this one writes `mine`, in the other's memory; `other` is in this one's memory.
// Gives up after `patience` nanoseconds.
extern "C" __global__ void hop_peer(ww_word* mine, const ww_word* other, unsigned first,
                                    unsigned rounds, unsigned long long patience) {
    unsigned long long start = ww_nanoseconds();
    for (unsigned round = 1; round <= rounds; round++) {
        if (first) ww_store_release_sys(mine, round);
        for (unsigned tries = 1; ww_load_acquire_sys(other) < round; tries++)
            if ((tries & 0xfff) == 0 && ww_nanoseconds() - start > patience) return;
        if (!first) ww_store_release_sys(mine, round);
    }
}

extern "C" __global__ void barrier(ww_word* word, unsigned rounds, const ww_watchdog dog) {
    for (unsigned round = 0; round < rounds; round++)
        if (!ww_grid_barrier(word, dog)) return;
}

extern "C" __global__ void nothing() {}
