// Single words of global memory that warps of all blocks share: what sync.cuh's flags don't do. Scope: one
// device. "relaxed" says nothing about other memory.
#pragma once
#include "sync.cuh"

__device__ __forceinline__ ww_word ww_load_relaxed(const ww_word* word) {
    ww_word value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
__device__ __forceinline__ void ww_store_relaxed(ww_word* word, ww_word value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(word), "r"(value) : "memory");
}
// All that this thread has read and written comes before what it does next, for all that see the latter.
__device__ __forceinline__ void ww_fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ __forceinline__ ww_word ww_add_relaxed(ww_word* word, ww_word value) {
    ww_word before;
    asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(word), "r"(value) : "memory");
    return before;
}
__device__ __forceinline__ unsigned long long ww_add_long_relaxed(unsigned long long* word, unsigned long long value) {
    unsigned long long before;
    asm volatile("atom.add.relaxed.gpu.global.u64 %0, [%1], %2;"
                 : "=l"(before) : "l"(word), "l"(value) : "memory");
    return before;
}
__device__ __forceinline__ ww_word ww_swap_acquire(ww_word* word, ww_word value) {
    ww_word before;
    asm volatile("atom.exch.acquire.gpu.global.b32 %0, [%1], %2;"
                 : "=r"(before) : "l"(word), "r"(value) : "memory");
    return before;
}
__device__ __forceinline__ ww_word ww_and_acquire(ww_word* word, ww_word bits) {
    ww_word before;
    asm volatile("atom.and.acquire.gpu.global.b32 %0, [%1], %2;"
                 : "=r"(before) : "l"(word), "r"(bits) : "memory");
    return before;
}
__device__ __forceinline__ ww_word ww_compare_relaxed(ww_word* word, ww_word from, ww_word to) {
    ww_word before;
    asm volatile("atom.cas.relaxed.gpu.global.b32 %0, [%1], %2, %3;"
                 : "=r"(before) : "l"(word), "r"(from), "r"(to) : "memory");
    return before;
}
__device__ __forceinline__ ww_word ww_compare_acq_rel(ww_word* word, ww_word from, ww_word to) {
    ww_word before;
    asm volatile("atom.cas.acq_rel.gpu.global.b32 %0, [%1], %2, %3;"
                 : "=r"(before) : "l"(word), "r"(from), "r"(to) : "memory");
    return before;
}
__device__ __forceinline__ void ww_or_release(ww_word* word, ww_word bits) {
    asm volatile("red.release.gpu.global.or.b32 [%0], %1;" :: "l"(word), "r"(bits) : "memory");
}
