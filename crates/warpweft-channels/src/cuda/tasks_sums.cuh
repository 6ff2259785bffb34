// Values that are one sum over all calls, or what is like it: each lane combines what it meets, and a call that has nothing
// left to spawn is dropped at once.
#pragma once

using Total = typename WW_ROOT::Output;
// No call waits.
constexpr u32 RECORD_WORDS = 0;

#include "operations.cuh"

// A lane's calls, and the sum of what they give.
struct ww_values : ww_frames {
    Total total;                // of calls below `root`
    u32 root;

    WW_FN void begin_values() {
        root = NONE;
        total = neutral<Total>();
    }

    // What routines call.
    WW_FN void give(const Total& value) { total = combine(total, value); }
    template<class G> WW_FN void spawn(u32, const G& given) {
        typename G::Sum frame;
        u32 label = 0;
        ++calls;
        G::template sum<false>(*this, frame, label, given);
        memcpy(child, &frame, sizeof frame);
        child_at = label == 0 ? 0 : make_at<G>(label);
    }

    template<class F> static WW_FN u32 make_at(u32 label) { return FUNCTIONS > 1 ? label | F::NUMBER << 16 : label; }
    template<class F> WW_FN void go_on() {
        typename F::Sum frame;
        F none;
        memcpy(&frame, call, sizeof frame);
        u32 label = FUNCTIONS > 1 ? at & 0xffffu : at;
        F::template sum<true>(*this, frame, label, none);
        memcpy(call, &frame, sizeof frame);
        at = label == 0 ? 0 : make_at<F>(label);
    }

    // The newest frame if there is no present call, then one call of it.
    WW_FN void step() {
        const bool pops = (at == 0) & (push != low);
        if (pops) --push;
        u32 words[RECORD];
        pack(words);
        load_frame(place(push), words, pops);
        unpack(words, pops);
        child_at = 0;
#define WW_CASE(F) case F::NUMBER: go_on<F>(); break;
        if (at != 0) {
            if constexpr (FUNCTIONS == 1) go_on<WW_ROOT>();
            else switch (at >> 16) { WW_FUNCTIONS(WW_CASE) }
        }
#undef WW_CASE
        // Lanes that took different ways push together.
        __syncwarp();
        const bool pushes = (child_at != 0) & (at != 0);
        pack(words);
        store_frame(place(push), words, pushes);
        if (pushes) ++push;
        if (child_at != 0) become_child();
    }

    WW_FN bool works() const { return (at != 0) | (push != low) | (spilled != 0); }
    // Whether it has anything that no other lane has: it can take no frame.
    WW_FN bool holds() const { return works(); }
    // Whether it has a frame to give and something left then.
    WW_FN bool can_give() const { return frames() + (at != 0 ? 1u : 0u) >= 2; }
    // A lane's oldest frame is worth the more the more frames it has; `most`: of the warp's lanes.
    WW_FN u32 worth() const { return frames(); }
    static constexpr bool TALL_ONLY = false;
    static WW_FN bool is_tall(u32 worth, u32 most) { return 2 * worth >= most; }
    // The window may have changed.
    WW_FN void rebase() {}
    // Values that wait for a look: none.
    WW_FN void settle() {}

    // Lanes that are `free`, of which `rank` come before, take the oldest frames of lanes that give; how many do.
    WW_FN u32 hand(bool gives, bool free, u32 rank, volatile unsigned char* givers) {
        const u32 from = __ballot_sync(ALL, gives), count = __popc(from);
        const bool takes = free && rank < count;
        if (gives) givers[below(from)] = (unsigned char)lane;
        __syncwarp();
        const u32 of = takes ? givers[rank] : lane;
        const u32 its_low = __shfl_sync(ALL, low, of), its_oldest = __shfl_sync(ALL, oldest, of);
        const u32 its_taken = __shfl_sync(ALL, taken, of), its_root = __shfl_sync(ALL, root, of);
        u32 words[RECORD];
        pack(words);
        read_oldest(of, its_low, its_oldest, its_taken, words, takes);
        unpack(words, takes);
        if (takes) {
            belong(its_root);
            push = low = 0;
        }
        __syncwarp();
        if (gives) drop_oldest();
        __syncwarp();
        return count;
    }
    // A lane that gives takes its oldest frame from its stack; what else a lane needs to go on with it.
    WW_FN u32 part(bool& gives, u32 (&words)[RECORD], u32&) {
        read_oldest(lane, low, oldest, taken, words, gives);
        if (gives) drop_oldest();
        __syncwarp();
        return root;
    }
    // An idle lane goes on with such a frame.
    WW_FN void take(const u32 (&words)[RECORD], u32 of_root, u32, bool on) {
        u32 own[RECORD];
        pack(own);
#pragma unroll UNROLLED
        for (u32 i = 0; i < RECORD; ++i) own[i] = on ? words[i] : own[i];
        unpack(own, on);
        if (!on) return;
        belong(of_root);
        push = low = 0;
    }
    // Or with a root.
    WW_FN void take_root(u32 number) {
        belong(number);
        const WW_ROOT given = *(const WW_ROOT*)(a.roots + (u64)number * a.roots_bytes);
        child_at = 0;
        spawn<WW_ROOT>(0, given);
        become_child();
    }

    // The lane, which is idle, goes on with a frame of `of_root`.
    WW_FN void belong(u32 of_root) {
        if (of_root == root) return;
        flush();
        root = of_root;
    }
    WW_FN void flush() {
        if (root != NONE) combine_shared<Total>(a.results + (u64)root * sizeof(Total), total);
        total = neutral<Total>();
    }

    // The lanes' totals, at once where they are of one root: all lanes of a grid at one word take long.
    WW_FN void sum_up() {
        const u32 known = __ballot_sync(ALL, root != NONE), first = __shfl_sync(ALL, root, __ffs(known) - 1 & 31);
        if (known == 0) return;
        if (__any_sync(ALL, root != NONE && root != first)) {
            flush();
            return;
        }
#pragma unroll
        for (u32 apart = 16; apart != 0; apart /= 2) {
            const u64 mine = (u64)total;
            const u64 other = __shfl_sync(ALL, (u32)mine, lane ^ apart) | (u64)__shfl_sync(ALL, (u32)(mine >> 32), lane ^ apart) << 32;
            total = combine(total, (Total)other);
        }
        root = first;
        if (lane == 0) flush();
    }
    WW_FN void end_values() { sum_up(); }
};
