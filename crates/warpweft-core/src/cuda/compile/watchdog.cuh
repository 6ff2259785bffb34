// A wait with a time-out: it writes which block waits for what to host memory, so that a kernel that would
// hang reports the reason and ends. The host reads it as `Watchdog` (watchdog.rs), which has the same layout.
#pragma once
#include "sync.cuh"

// A kernel takes it by value. `words` is mapped host memory; at most one report.
struct ww_watchdog {
    ww_word* words;                  // [0] state, [1] block, [2] block waited for, [3] flag,
                                     // [4] value wanted, [5] value seen
    unsigned long long nanoseconds;  // how long a wait may take
};
static_assert(sizeof(ww_watchdog) == 16, "the host passes 16 bytes");

// The number of another GPU in a report: some block of GPU `number`.
__device__ __forceinline__ ww_word ww_elsewhere(int number) { return 0x80000000u | (ww_word)number; }

enum : ww_word { WW_QUIET = 0, WW_WRITING = 1, WW_REPORTED = 2 };

__device__ __noinline__ void ww_watchdog_report(const ww_watchdog& dog, ww_word other, ww_word flag,
                                                ww_word wanted, ww_word seen) {
    ww_word before = WW_QUIET;
    asm volatile("atom.cas.relaxed.sys.global.b32 %0, [%1], %2, %3;"
                 : "=r"(before) : "l"(dog.words), "r"(WW_QUIET), "r"(WW_WRITING) : "memory");
    if (before != WW_QUIET) return;
    volatile ww_word* words = dog.words;
    words[1] = ww_block_index();
    words[2] = other;
    words[3] = flag;
    words[4] = wanted;
    words[5] = seen;
    ww_store_release_sys(dog.words, WW_REPORTED);
}

// Waits until the flag has reached `wanted` (as a counter that may wrap). `other` and `index` are the numbers
// in the report of the block waited for and of its flag. Returns false if the wait took too long, or another
// block has already reported; the kernel should then end.
template <bool SYS = false>
__device__ __forceinline__ bool ww_wait(const ww_word* flag, ww_word wanted, const ww_watchdog& dog,
                                        ww_word other, ww_word index) {
    unsigned long long start = 0;
    for (ww_word tries = 1;; tries++) {
        ww_word seen = SYS ? ww_load_acquire_sys(flag) : ww_load_acquire_gpu(flag);
        if ((int)(seen - wanted) >= 0) return true;
        // The clock and host memory are slow to read, so they are read rarely.
        if ((tries & 0x3ff) == 0) {
            unsigned long long now = ww_nanoseconds();
            if (start == 0) start = now;
            if (now - start > dog.nanoseconds) {
                ww_watchdog_report(dog, other, index, wanted, seen);
                return false;
            }
            if ((tries & 0xffff) == 0 && ww_load_acquire_sys(dog.words) != WW_QUIET) return false;
        }
    }
}

// All blocks of a cooperative launch meet; what each wrote before is visible to all afterwards. `barrier` is
// one word, zero before its first use and reusable without a reset: every meeting adds 2^31 in total, so the
// top bit flips when the last block arrives. Returns false, to all threads of the block, if some block did
// not arrive in time; the kernel should then end.
__device__ __forceinline__ bool ww_grid_barrier(ww_word* barrier, const ww_watchdog& dog) {
    bool met = true;
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        ww_word share = ww_block_index() == 0 ? 0x80000000u - (ww_blocks() - 1) : 1u;
        ww_word before = ww_add_acq_rel_gpu(barrier, share), seen;
        unsigned long long start = 0;
        for (ww_word tries = 1; ((before ^ (seen = ww_load_acquire_gpu(barrier))) & 0x80000000u) == 0;
             tries++) {
            if ((tries & 0x3ff) != 0) continue;
            unsigned long long now = ww_nanoseconds();
            if (start == 0) start = now;
            if (now - start > dog.nanoseconds) {
                ww_watchdog_report(dog, 0, 0, before ^ 0x80000000u, seen);
                met = false;
                break;
            }
        }
    }
    return __syncthreads_and(met);
}
