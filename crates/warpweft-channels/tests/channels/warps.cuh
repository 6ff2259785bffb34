// Warps on the host: every lane is a context of its own, all on one thread, and who goes on is drawn at random
// wherever lanes meet or words that warps share are touched. So a run can be repeated by its seed, and a run in which nobody can go on,
// or that goes on for ever, is found. The order of memory is not modelled: every access is seen at once.
#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static

struct host_dim { unsigned x = 0, y = 0, z = 0; };
static host_dim threadIdx, blockIdx, gridDim;

struct host_lane {
    // Where it begins; later it goes on from `jump`, since a switch of contexts asks the kernel each time.
    ucontext_t context;
    jmp_buf jump;
    bool begun = false, ended = false;
    unsigned waits = 0; // for so many
    unsigned slot = 0;
};
static std::vector<host_lane> host_lanes;
// Kept from run to run: fresh ones are pages that the kernel clears.
static std::vector<std::vector<char>> host_stacks;
static jmp_buf host_main;
static void (*host_body)();
static unsigned host_now = 0;
static unsigned long long host_seed = 1, host_steps = 0;

static unsigned host_draw(unsigned below) {
    host_seed ^= host_seed << 13;
    host_seed ^= host_seed >> 7;
    host_seed ^= host_seed << 17;
    return (unsigned)(host_seed % below);
}
// Lets another lane go on.
static void host_yield() {
    if (_setjmp(host_lanes[host_now].jump) == 0) _longjmp(host_main, 1);
}
// A lane goes on until it yields.
__attribute__((noinline)) static void host_resume(host_lane& lane) {
    if (_setjmp(host_main) != 0) return;
    if (lane.begun) _longjmp(lane.jump, 1);
    lane.begun = true;
    setcontext(&lane.context);
}
// What a lane does from its beginning to its end, after which nobody resumes it.
static void host_whole() {
    host_body();
    host_yield();
}
static void host_maybe_yield() { if (host_draw(4) == 0) host_yield(); }

// The lanes of a group of so many meet.
static void host_meet(unsigned count) {
    const unsigned first = host_now / count * count;
    host_lane& own = host_lanes[host_now];
    own.waits = count;
    bool all = true;
    for (unsigned i = 0; i < count; ++i) all = all && host_lanes[first + i].waits == count;
    if (all)
        for (unsigned i = 0; i < count; ++i) host_lanes[first + i].waits = 0;
    host_yield();
}
// All lanes of a warp, and all of a block where blocks have several warps and only the first holds calls.
static void __syncwarp() { host_meet(32); }
#ifdef HOST_BLOCK_WARPS
static void __syncthreads() { host_meet(32 * HOST_BLOCK_WARPS); }
static int __syncthreads_count(bool value) {
    const unsigned first = host_now / (32 * HOST_BLOCK_WARPS) * (32 * HOST_BLOCK_WARPS);
    host_lanes[host_now].slot = value;
    __syncthreads();
    int found = 0;
    for (unsigned i = 0; i < 32 * HOST_BLOCK_WARPS; ++i) found += (int)host_lanes[first + i].slot;
    __syncthreads();
    return found;
}
#endif
static unsigned __shfl_sync(unsigned mask, unsigned value, unsigned from) {
    if (mask != 0xffffffffu) return value;
    host_lanes[host_now].slot = value;
    __syncwarp();
    const unsigned found = host_lanes[host_now / 32 * 32 + from].slot;
    __syncwarp();
    return found;
}
static unsigned __ballot_sync(unsigned, bool value) {
    host_lanes[host_now].slot = value;
    __syncwarp();
    unsigned found = 0;
    for (unsigned i = 0; i < 32; ++i) found |= host_lanes[host_now / 32 * 32 + i].slot << i;
    __syncwarp();
    return found;
}
static bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
static bool __all_sync(unsigned mask, bool value) { return __ballot_sync(mask, !value) == 0; }
static unsigned __match_any_sync(unsigned, unsigned value) {
    host_lanes[host_now].slot = value;
    __syncwarp();
    unsigned found = 0;
    for (unsigned i = 0; i < 32; ++i) found |= (unsigned)(host_lanes[host_now / 32 * 32 + i].slot == value) << i;
    __syncwarp();
    return found;
}
static unsigned __activemask() { return 1u << (host_now % 32); }
static int __ffs(unsigned word) { return __builtin_ffs((int)word); }
static int __clz(unsigned word) { return word == 0 ? 32 : __builtin_clz(word); }
static int __popc(unsigned word) { return __builtin_popcount(word); }
static void __nanosleep(unsigned) { host_yield(); }
template<class T> static T max(T a, T b) { return a > b ? a : b; }
template<class T> static T min(T a, T b) { return a < b ? a : b; }
// What warps share is touched in one step, and others may come before it.
#define HOST_ATOMIC(name, now)                                       \
    template<class T> static T name(T* word, T value) {              \
        host_maybe_yield();                                          \
        const T before = *word;                                      \
        *word = (T)(now);                                            \
        return before;                                               \
    }
HOST_ATOMIC(atomicAdd, before + value)
HOST_ATOMIC(atomicOr, before | value)
HOST_ATOMIC(atomicXor, before ^ value)
HOST_ATOMIC(atomicMax, max(before, value))
template<class T> static T atomicCAS(T* word, T from, T to) {
    host_maybe_yield();
    const T before = *word;
    if (before == from) *word = to;
    return before;
}

using ww_word = unsigned;
static ww_word ww_load_relaxed(const ww_word* word) { host_maybe_yield(); return *word; }
static ww_word ww_load_acquire_gpu(const ww_word* word) { return ww_load_relaxed(word); }
static ww_word ww_load_acquire_sys(const ww_word* word) { return ww_load_relaxed(word); }
static void ww_store_release_gpu(ww_word* word, ww_word value) { host_maybe_yield(); *word = value; }
static void ww_store_relaxed(ww_word* word, ww_word value) { ww_store_release_gpu(word, value); }
static void ww_fence_gpu() { host_maybe_yield(); }
static ww_word ww_add_relaxed(ww_word* word, ww_word value) { return atomicAdd(word, value); }
static unsigned long long ww_add_long_relaxed(unsigned long long* word, unsigned long long value) { return atomicAdd(word, value); }
static ww_word ww_add_acq_rel_gpu(ww_word* word, ww_word value) { return atomicAdd(word, value); }
static ww_word ww_swap_acquire(ww_word* word, ww_word value) {
    host_maybe_yield();
    const ww_word before = *word;
    *word = value;
    return before;
}
static ww_word ww_and_acquire(ww_word* word, ww_word bits) {
    host_maybe_yield();
    const ww_word before = *word;
    *word &= bits;
    return before;
}
static void ww_or_release(ww_word* word, ww_word bits) { atomicOr(word, bits); }
static ww_word ww_compare_relaxed(ww_word* word, ww_word from, ww_word to) {
    host_maybe_yield();
    const ww_word before = *word;
    if (before == from) *word = to;
    return before;
}
static ww_word ww_compare_acq_rel(ww_word* word, ww_word from, ww_word to) {
    return ww_compare_relaxed(word, from, to);
}

// Time goes by as lanes go on.
static long long clock64() { return (long long)host_steps; }
static unsigned long long ww_nanoseconds() { return host_steps; }
struct ww_watchdog { ww_word* words; unsigned long long nanoseconds; };
enum : ww_word { WW_QUIET = 0 };
static void ww_watchdog_report(const ww_watchdog& dog, ww_word frames, ww_word warp, ww_word wanted, ww_word seen) {
    printf("warp %u waits for %u, sees %u, has %u frames out\n", warp, wanted, seen, frames);
    dog.words[0] = 1;
}

// Runs `body` for all lanes of so many warps. False: nobody can go on, or it takes too long.
static bool host_run(unsigned warps, void (*body)()) {
    host_lanes.clear();
    host_lanes.resize(32 * warps);
    host_steps = 0;
    host_body = body;
    while (host_stacks.size() < host_lanes.size()) host_stacks.emplace_back(256 << 10);
    for (size_t i = 0; i < host_lanes.size(); ++i) {
        ucontext_t& context = host_lanes[i].context;
        getcontext(&context);
        context.uc_stack.ss_sp = host_stacks[i].data();
        context.uc_stack.ss_size = host_stacks[i].size();
        context.uc_link = nullptr;
        makecontext(&context, host_whole, 0);
    }
    while (true) {
        std::vector<unsigned> able;
        bool ended = true;
        for (unsigned i = 0; i < host_lanes.size(); ++i) {
            ended = ended && host_lanes[i].ended;
            if (!host_lanes[i].ended && host_lanes[i].waits == 0) able.push_back(i);
        }
        if (ended) return true;
        if (able.empty() || host_steps > 40000000ull) {
            printf("%s after %llu steps\n", able.empty() ? "nobody can go on" : "no end", host_steps);
            return false;
        }
        // Some steps of one warp, then another's.
        const unsigned first = able[host_draw((unsigned)able.size())] / 32 * 32;
        for (unsigned round = 0; round < 64; ++round) {
            bool any = false;
            for (unsigned i = first; i < first + 32; ++i) {
                if (host_lanes[i].ended || host_lanes[i].waits != 0) continue;
                any = true;
                ++host_steps;
                host_now = i;
#ifdef HOST_BLOCK_WARPS
                threadIdx.x = i % (32 * HOST_BLOCK_WARPS);
                blockIdx.x = i / (32 * HOST_BLOCK_WARPS);
#else
                threadIdx.x = i;
#endif
                host_resume(host_lanes[i]);
            }
            if (!any || host_draw(2) == 0) break;
        }
    }
}
