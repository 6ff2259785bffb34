// Just enough of CUDA for the host's compiler to run kernels whose warps talk: a thread of the device is a
// context of one thread of the host, which goes on to the next where it would wait. Blocks run one after another.
// For tests of what kernels compute; a warp or block of which some never arrive ends the program.
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct dim3 {
    unsigned x;
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;

struct fiber {
    jmp_buf at;
    std::vector<char> stack;
    bool begun, done;
};
// Who meets whom: values of one meeting are read until the next but one.
struct meeting {
    std::vector<unsigned> given, taken[2];
    unsigned arrived = 0, count = 0;
};
static std::vector<fiber> fibers;
static std::vector<meeting> warps;
static meeting block_meeting;
static jmp_buf scheduler;
static ucontext_t scheduler_stack;
static unsigned idle;  // fibers in turn that only waited
static const std::function<void()>* body;

inline void wait_turn() {
    const unsigned me = threadIdx.x;
    if (++idle > 2 * fibers.size()) {
        fprintf(stderr, "thread %u of block %u waits for threads that never come\n", me, blockIdx.x);
        exit(3);
    }
    if (_setjmp(fibers[me].at) == 0) _longjmp(scheduler, 1);
    threadIdx.x = me;
}

// What all that meet gave, place by place.
inline const std::vector<unsigned>& meet(meeting& at, unsigned place, unsigned value) {
    const unsigned count = at.count;
    at.given[place] = value;
    if (++at.arrived == at.given.size()) {
        at.taken[count % 2] = at.given;
        at.arrived = 0;
        at.count++;
        idle = 0;
    } else {
        while (at.count == count) wait_turn();
        idle = 0;
    }
    return at.taken[count % 2];
}
inline const std::vector<unsigned>& meet_warp(unsigned value) {
    return meet(warps[threadIdx.x / 32], threadIdx.x % 32, value);
}

inline void __syncthreads() { meet(block_meeting, threadIdx.x, 0); }
inline void __syncwarp() { meet_warp(0); }
inline unsigned __shfl_sync(unsigned, unsigned value, int from) { return meet_warp(value)[from % 32]; }
inline unsigned __ballot_sync(unsigned, bool value) {
    const auto& all = meet_warp(value);
    unsigned bits = 0;
    for (int lane = 0; lane < 32; lane++) bits |= all[lane] << lane;
    return bits;
}
inline bool __any_sync(unsigned all, bool value) { return __ballot_sync(all, value) != 0; }
inline bool __all_sync(unsigned all, bool value) { return __ballot_sync(all, value) == 0xffffffffu; }
inline int __ffs(unsigned x) { return __builtin_ffs(int(x)); }
template <class T> T __ldg(const T* from) { return *from; }
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
template <class T> T atomicAdd(T* to, T value) { return (*to += value) - value; }
inline void atomicOr(unsigned* to, unsigned bits) { *to |= bits; }
inline void atomicMax(unsigned* to, unsigned value) { *to = max(*to, value); }

static void run_fiber(unsigned me) {
    threadIdx.x = me;
    (*body)();
    fibers[me].done = true;
    idle = 0;
    _longjmp(scheduler, 1);
}

// Runs a fiber until it waits. Its first turn needs its own stack, later ones only a jump: no call of the system.
static void resume(unsigned t) {
    threadIdx.x = t;
    if (_setjmp(scheduler) != 0) return;
    if (fibers[t].begun) _longjmp(fibers[t].at, 1);
    fibers[t].begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fibers[t].stack.data();
    context.uc_stack.ss_size = fibers[t].stack.size();
    context.uc_link = nullptr;
    makecontext(&context, reinterpret_cast<void (*)()>(run_fiber), 1, t);
    swapcontext(&scheduler_stack, &context);
}

// Runs `kernel` in every thread of `blocks` blocks of `threads`.
static void launch(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
    gridDim.x = blocks;
    blockDim.x = threads;
    body = &kernel;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        warps.assign((threads + 31) / 32, {});
        for (auto& warp : warps) warp.given.resize(32);
        block_meeting = {};
        block_meeting.given.resize(threads);
        fibers.resize(threads);
        for (unsigned t = 0; t < threads; t++) {
            fibers[t].begun = fibers[t].done = false;
            fibers[t].stack.resize(64 << 10);
        }
        for (bool some = true; some;) {
            some = false;
            for (unsigned t = 0; t < threads; t++) {
                if (fibers[t].done) continue;
                some = true;
                resume(t);
            }
        }
    }
}
