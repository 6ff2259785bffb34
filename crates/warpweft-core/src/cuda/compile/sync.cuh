// How blocks, grids and GPUs wait for one another: flags with release and acquire, no locks, and one atomic
// in the barrier. Inline PTX, because <cuda/atomic> and cooperative_groups.h cost a second of compile time.
// Scopes: gpu = one device; sys = all devices and the host. For kernels whose waiting blocks are all resident
// (cooperative launches).
#pragma once

using ww_word = unsigned int;

#define WW_FLAG(scope)                                                                           \
    __device__ __forceinline__ void ww_store_release_##scope(ww_word* flag, ww_word value) {     \
        asm volatile("st.release." #scope ".global.u32 [%0], %1;" ::"l"(flag), "r"(value)        \
                     : "memory");                                                                \
    }                                                                                            \
    __device__ __forceinline__ ww_word ww_load_acquire_##scope(const ww_word* flag) {            \
        ww_word value;                                                                           \
        asm volatile("ld.acquire." #scope ".global.u32 %0, [%1];" : "=r"(value) : "l"(flag)      \
                     : "memory");                                                                \
        return value;                                                                            \
    }                                                                                            \
    __device__ __forceinline__ ww_word ww_add_acq_rel_##scope(ww_word* word, ww_word value) {    \
        ww_word before;                                                                          \
        asm volatile("atom.add.acq_rel." #scope ".global.u32 %0, [%1], %2;"                      \
                     : "=r"(before) : "l"(word), "r"(value) : "memory");                         \
        return before;                                                                           \
    }
WW_FLAG(gpu)
WW_FLAG(sys)
#undef WW_FLAG

__device__ __forceinline__ void ww_store_release(ww_word* flag, ww_word value) {
    ww_store_release_gpu(flag, value);
}
__device__ __forceinline__ ww_word ww_load_acquire(const ww_word* flag) {
    return ww_load_acquire_gpu(flag);
}

// Nanoseconds, the same clock on every SM; its step is device-dependent (32 ns to 1 us).
__device__ __forceinline__ unsigned long long ww_nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ ww_word ww_block_index() {
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
__device__ __forceinline__ ww_word ww_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
