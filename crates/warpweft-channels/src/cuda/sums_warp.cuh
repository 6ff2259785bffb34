// One warp of the kernel of sums.cuh, as each of its lanes has it.
#pragma once

struct ww_warp {
    const ww_arguments& a;
    const ww_watchdog& dog;
#if WW_UNIFORM
    const WW_ROOT& only_root;
#endif
    ww_place stack;             // of lane 0
    volatile unsigned char* givers;
    u32 lane, warp;

    u32 call[WORDS], at;        // the present call and where it goes on; 0: nowhere
    u32 child[WORDS], child_at; // the call it spawned
    u32 push, low;              // the newest and the oldest end of the window, in frames that there ever were
    u32 newest, oldest;         // chunks in global memory
    u32 taken, spilled;         // frames that are gone from the oldest; frames in all of them
    u32 spare;                  // chunks of this lane that are free
    Total total;                // of calls below `root`
    u32 root;
    u32 calls;

    u32 batches, last;          // the last in which frames were given or got
    u32 steps, clocked, since;
    u32 tokens, got, used;      // frames in the inbox, and how many have been taken
    bool has_ticket, rootless;
    u32 seen, told;             // of lane 0, as of the look before: demand; how the run ended
    u32 busy, donors, idle;
    u32 given, rounds, spills;
    u64 made;

#if WW_UNIFORM
    WW_FN const WW_ROOT& uniform() const { return only_root; }
#endif

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

    WW_FN ww_place place(u32 of, u32 frame) const {
        const u32 inside = (frame & (a.window - 1)) * FRAME_BYTES;
#if WW_SHARED
        return stack + of * (4 * VECTOR) + inside;
#else
        return (u32*)((unsigned char*)stack + inside) + of;
#endif
    }
    WW_FN u32 below(u32 mask) const { return __popc(mask & ((1u << lane) - 1u)); }

    // A frame as words, and back.
    WW_FN void pack(u32 (&words)[RECORD]) const {
#pragma unroll
        for (u32 i = 0; i < WORDS; ++i) words[i] = call[i];
        if constexpr (LABELLED) words[WORDS] = at;
    }
    WW_FN void unpack(const u32 (&words)[RECORD], bool on) {
#pragma unroll
        for (u32 i = 0; i < WORDS; ++i) call[i] = words[i];
        if constexpr (LABELLED) at = words[WORDS];
        else if (on) at = WW_ROOT::SUM_LATER;
    }

    // The newest frame if there is no present call, then one call of it.
    WW_FN void step() {
        const bool pops = (at == 0) & (push != low);
        if (pops) --push;
        u32 words[RECORD];
        pack(words);
        load_frame(place(lane, push), words, pops);
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
        store_frame(place(lane, push), words, pushes);
        if (pushes) ++push;
        if (child_at != 0) {
#pragma unroll
            for (u32 i = 0; i < WORDS; ++i) call[i] = child[i];
            at = child_at;
        }
    }

    WW_FN u32 frames() const { return push - low + spilled; }
    WW_FN bool works() const { return (at != 0) | (push != low) | (spilled != 0); }
    // Whether it has a frame to give and something left then.
    WW_FN bool can_give() const { return frames() + (at != 0 ? 1u : 0u) >= 2; }
    WW_FN void census() {
        busy = __ballot_sync(ALL, works());
        donors = __ballot_sync(ALL, can_give());
        idle = 32 - __popc(busy);
    }

    // Chunks.
    WW_FN u32* chunk(u32 number) const { return a.pool + (u64)number * CHUNK_WORDS; }
    WW_FN void free_chunk(u32 number) {
        chunk(number)[0] = spare;
        spare = number;
    }
    // The oldest frames of the window go to global memory.
    WW_FN void spill_chunk() {
        u32 number = spare;
        if (number != NONE) {
            spare = chunk(number)[0];
        } else {
            number = ww_add_relaxed(a.counters + CHUNKS, 1);
            if (number >= a.chunks) {
                ww_end(a, TOO_DEEP);
                low = push;
                return;
            }
        }
        u32* to = chunk(number);
        to[0] = newest;
        to[1] = NONE;
        for (u32 i = 0; i < CHUNK; ++i) {
            u32 words[RECORD];
            load_frame(place(lane, low), words, true);
            for (u32 k = 0; k < RECORD; ++k) to[2 + i * RECORD + k] = words[k];
            ++low;
        }
        if (newest != NONE) {
            chunk(newest)[1] = number;
        } else {
            oldest = number;
            taken = 0;
        }
        newest = number;
        spilled += CHUNK;
        spills += CHUNK;
    }
    // The newest chunk comes back into the window, which is empty.
    WW_FN void refill() {
        const u32 number = newest;
        const u32* from = chunk(number);
        push = low = 0;
        for (u32 i = number == oldest ? taken : 0; i < CHUNK; ++i) {
            u32 words[RECORD];
            for (u32 k = 0; k < RECORD; ++k) words[k] = from[2 + i * RECORD + k];
            store_frame(place(lane, push), words, true);
            ++push;
            --spilled;
        }
        newest = number == oldest ? NONE : from[0];
        if (newest == NONE) oldest = NONE;
        else chunk(newest)[1] = NONE;
        free_chunk(number);
    }
    WW_FN void keep_window() {
        const bool over = push - low > a.window - a.every;
        const bool dry = spilled != 0 && push == low;
        if (!__any_sync(ALL, over || dry)) return;
        while (push - low > a.window - a.every) spill_chunk();
        if (dry) refill();
        __syncwarp();
    }
    // The oldest frame of lane `of`, whose window and chunks are these.
    WW_FN void read_oldest(u32 of, u32 its_low, u32 its_oldest, u32 its_taken, u32 (&words)[RECORD], bool on) {
        if (on && its_oldest != NONE) {
            const u32* from = chunk(its_oldest) + 2 + its_taken * RECORD;
            for (u32 k = 0; k < RECORD; ++k) words[k] = from[k];
        }
        load_frame(place(of, its_low), words, on && its_oldest == NONE);
    }
    // It is gone.
    WW_FN void drop_oldest() {
        if (oldest == NONE) {
            ++low;
            return;
        }
        --spilled;
        if (++taken < CHUNK) return;
        const u32 number = oldest;
        taken = 0;
        oldest = number == newest ? NONE : chunk(number)[1];
        if (oldest == NONE) newest = NONE;
        free_chunk(number);
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

    // Idle lanes take roots.
    WW_FN void take_roots() {
        u32 first = 0, count = 0;
        if (lane == 0) {
            const u32 next = ww_load_relaxed(a.counters + NEXT_ROOT), left = next < a.roots_count ? a.roots_count - next : 0;
            count = min(idle, max(left / a.warps, 1u));
            if (left == 0) count = 0;
            else first = ww_add_relaxed(a.counters + NEXT_ROOT, count);
            if (first >= a.roots_count) count = 0;
            count = min(count, a.roots_count - first);
        }
        first = __shfl_sync(ALL, first, 0);
        count = __shfl_sync(ALL, count, 0);
        rootless = count == 0;
        const u32 rank = below(~busy);
        if ((busy >> lane & 1) == 0 && rank < count) {
            belong(first + rank);
            const WW_ROOT given = *(const WW_ROOT*)(a.roots + (u64)(first + rank) * a.roots_bytes);
            child_at = 0;
            spawn<WW_ROOT>(0, given);
            memcpy(call, child, sizeof call);
            at = child_at;
        }
        __syncwarp();
        census();
    }

    // Idle lanes of the warp take the oldest frames of lanes with many.
    WW_FN void hand_over() {
        const u32 height = can_give() ? frames() : 0, most = tallest(height);
        const u32 tall = __ballot_sync(ALL, height > 0 && 2 * height >= most);
        const u32 from = (u32)__popc(tall) >= idle ? tall : donors;
        const u32 count = min(idle, (u32)__popc(from)), rank = below(from);
        const bool gives = (from >> lane & 1) != 0 && rank < count;
        const bool takes = (busy >> lane & 1) == 0 && below(~busy) < count;
        if (gives) givers[rank] = (unsigned char)lane;
        __syncwarp();
        const u32 of = takes ? givers[below(~busy)] : lane;
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
        given += count;
        census();
    }
    WW_FN u32 tallest(u32 height) const {
#pragma unroll
        for (u32 apart = 16; apart != 0; apart /= 2) height = max(height, __shfl_sync(ALL, height, lane ^ apart));
        return height;
    }

    // Demand for at most `most` batches that this warp alone is to meet.
    WW_FN u32 claim(u32 most) {
        const int there = (int)ww_add_relaxed(a.counters + DEMAND, 0u - most);
        const u32 claimed = there <= 0 ? 0 : min(most, (u32)there);
        if (claimed < most) ww_add_relaxed(a.counters + DEMAND, most - claimed);
        return claimed;
    }
    // Waits until a word of the ring is free, or is taken; what it was then. 0xffffffff: the run is over.
    WW_FN u32 await_ring(u32 number, bool free) {
        const u32* word = a.ring + (number & (a.ring_size - 1));
        u64 start = 0;
        for (u32 tries = 1;; ++tries) {
            const u32 found = ww_load_acquire_gpu(word);
            if ((found == 0) == free) return found;
            if ((tries & 0x3ff) == 0) {
                const u64 now = ww_nanoseconds();
                if (start == 0) start = now;
                if (now - start > dog.nanoseconds) {
                    ww_watchdog_report(dog, warp, number, free ? 0 : 1, found);
                    ww_end(a, DONE);
                }
                if (ww_load_relaxed(a.counters + STATUS) != 0) return NONE;
            }
            __nanosleep(20);
        }
    }

    // Frames go to warps that wait.
    WW_FN void donate() {
        const int wait = (int)__shfl_sync(ALL, seen, 0);
        if (wait <= 0 || donors == 0) return;
        const bool ramp = (u32)wait >= a.ramp;
        if (!ramp && batches - last < a.age) return;
        const u32 height = can_give() ? frames() : 0, most = tallest(height);
        const u32 from = ramp ? donors : __ballot_sync(ALL, height > 0 && 2 * height >= most);
        const u32 each = ramp ? 4 : 16;
        u32 count = __popc(from), parts = min((u32)wait, (count + each - 1) / each), tail = 0;
        if (lane == 0) {
            parts = claim(parts);
            if (parts != 0) {
                ww_add_relaxed(a.counters + LIVE, parts);
                tail = ww_add_relaxed(a.counters + TAIL, parts);
            }
        }
        parts = __shfl_sync(ALL, parts, 0);
        tail = __shfl_sync(ALL, tail, 0);
        last = batches;
        if (parts == 0) return;
        count = min(count, parts * each);
        u32 to = 0;
        if (lane < parts) {
            to = await_ring(tail + lane, false);
            if (to != NONE) {
                ww_store_release_gpu(a.ring + ((tail + lane) & (a.ring_size - 1)), 0u);
                --to;
            }
        }
        __syncwarp();
        const u32 rank = below(from), warp_of = __shfl_sync(ALL, to, rank / each & 31u);
        const bool gives = (from >> lane & 1) != 0 && rank < count && warp_of != NONE;
        u32 words[RECORD];
        if (gives) {
            read_oldest(lane, low, oldest, taken, words, true);
            u32* inbox = a.inbox + (u64)warp_of * ((RECORD + 1) * 32) + rank % each;
            for (u32 k = 0; k < RECORD; ++k) inbox[32 * k] = words[k];
            inbox[32 * RECORD] = root;
            drop_oldest();
        }
        __syncwarp();
        // Release: the frames.
        if (lane < parts && to != NONE) ww_store_release_gpu(a.inbox_counts + to, min(each, count - lane * each) + 1);
        given += count;
        census();
    }

    WW_FN void draw_ticket() {
        if (has_ticket) return;
        has_ticket = true;
        if (lane == 0) {
            const u32 number = ww_add_relaxed(a.counters + HEAD, 1);
            if (await_ring(number, true) == 0) {
                ww_store_release_gpu(a.ring + (number & (a.ring_size - 1)), warp + 1);
                ww_add_relaxed(a.counters + DEMAND, 1);
            }
        }
        __syncwarp();
    }
    // How many frames are in the inbox, plus one; waits for them if the warp has nothing else. NONE: the run is over.
    WW_FN u32 look_into_inbox() {
        u32* word = a.inbox_counts + warp;
        if (busy != 0) return ww_load_relaxed(word) != 0 ? ww_load_acquire_gpu(word) : 0;
        u64 still = 0;
        u32 found = 0;
        ww_add_relaxed(a.counters + WAITING, 1);
        for (u32 tries = 1;; ++tries) {
            found = ww_load_relaxed(word);
            if (found != 0) {
                found = ww_load_acquire_gpu(word);
                break;
            }
            if ((tries & 3) == 0 && ww_load_relaxed(a.counters + STATUS) != 0) {
                found = NONE;
                break;
            }
            if ((tries & 0xfff) == 0) {
                // All wait, and not all is done: that can't be.
                const u64 now = ww_nanoseconds();
                if (ww_load_relaxed(a.counters + WAITING) != a.warps) still = 0;
                else if (still == 0) still = now;
                else if (now - still > dog.nanoseconds) {
                    ww_watchdog_report(dog, warp, ww_load_relaxed(a.counters + LIVE), 0, ww_load_relaxed(a.counters + DEMAND));
                    ww_end(a, DONE);
                }
            }
            __nanosleep(tries < 64 ? 40 : 200);
        }
        ww_add_relaxed(a.counters + WAITING, NONE);
        return found;
    }
    // Asks other warps for frames. False: the run is over.
    WW_FN bool receive() {
        if (busy == 0 && tokens != 0) {
            if (lane == 0 && ww_add_acq_rel_gpu(a.counters + LIVE, 0u - tokens) == tokens) ww_end(a, DONE);
            tokens = 0;
        }
        if (got == 0) {
            draw_ticket();
            u32 found = 0;
            if (lane == 0) found = look_into_inbox();
            found = __shfl_sync(ALL, found, 0);
            if (found == NONE) return false;
            if (busy == 0) clocked = 0;
            if (found == 0) return true;
            // The giver counted the batch's token.
            got = found - 1;
            used = 0;
            ++tokens;
            last = batches;
        }
        const u32 count = min(got - used, idle), rank = below(~busy);
        if ((busy >> lane & 1) == 0 && rank < count) {
            const u32* inbox = a.inbox + (u64)warp * ((RECORD + 1) * 32) + used + rank;
            u32 words[RECORD];
            for (u32 k = 0; k < RECORD; ++k) words[k] = inbox[32 * k];
            unpack(words, true);
            belong(inbox[32 * RECORD]);
            push = low = 0;
        }
        used += count;
        __syncwarp();
        if (used == got) {
            if (lane == 0) ww_store_release_gpu(a.inbox_counts + warp, 0u);
            got = 0;
            has_ticket = false;
        }
        return true;
    }

    // As many steps between two looks as take about 2,000 cycles.
    WW_FN void adapt() {
        const u32 now = (u32)clock64(), passed = batches - since;
        if (passed < 4 || clocked == 0) {
            if (passed >= 4 || clocked == 0) since = batches, clocked = now;
            return;
        }
        const u32 each = (now - clocked) / passed;
        if (each < 2000 && 2 * steps <= a.every) steps *= 2;
        else if (each > 8000 && steps > WW_UNROLL) steps /= 2;
        steps = __shfl_sync(ALL, steps, 0);
        clocked = now;
        since = batches;
    }

    // A round of work sharing, within the warp and with other warps. False: the run is over.
    WW_FN bool share() {
        ++rounds;
        __syncwarp();
        if (__shfl_sync(ALL, told, 0) != 0) return false;
        if ((rounds & 15) == 0 && __any_sync(ALL, WW_FAULTED)) return false;
        const bool looks = (batches & 7) == 0;
        census();
        if (idle != 0 && !rootless) take_roots();
        if (idle != 0 && donors != 0) hand_over();
        donate();
        if (lane == 0) {
            seen = ww_load_relaxed(a.counters + DEMAND);
            told = ww_load_relaxed(a.counters + STATUS);
        }
        if ((busy != 0 || rootless) && ((idle >= 16 && donors == 0) || (has_ticket && looks && idle != 0)))
            if (!receive()) return false;
        if (calls >> 30) {
            made += calls;
            calls = 0;
        }
        adapt();
        return true;
    }

    WW_FN void run() {
        while (share()) {
            do {
                for (u32 k = 0; k < steps; k += WW_UNROLL) {
#pragma unroll
                    for (u32 i = 0; i < WW_UNROLL; ++i) step();
                }
                ++batches;
                keep_window();
            } while (32 - __popc(__ballot_sync(ALL, works())) < (int)a.idle && (batches & 7) != 0);
        }
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
    // What it did, into the whole grid's.
    WW_FN void finish() {
        sum_up();
        made += calls;
        u64 all = 0;
        for (u32 i = 0; i < 32; ++i) all += __shfl_sync(ALL, (u32)made, i) + ((u64)__shfl_sync(ALL, (u32)(made >> 32), i) << 32);
        if (lane == 0) {
            atomicAdd(a.counts + CALLS, all);
            atomicAdd(a.counts + GIVEN, (u64)given);
            atomicAdd(a.counts + STEPS, (u64)batches * steps);
            atomicAdd(a.counts + ROUNDS, (u64)rounds);
        }
        if (spills != 0) atomicAdd(a.counts + SPILLED, (u64)spills);
    }
};

extern "C" __global__ void __launch_bounds__(32 * WW_WARPS) channels_sums(const __grid_constant__ ww_arguments a, const __grid_constant__ ww_watchdog dog
#if WW_UNIFORM
    , const __grid_constant__ WW_ROOT only_root
#endif
) {
    const u32 lane = threadIdx.x & 31u, number = threadIdx.x >> 5, warp = blockIdx.x * WW_WARPS + number;
    __shared__ unsigned char givers[WW_WARPS][32];
#if WW_SHARED
    extern __shared__ __align__(16) unsigned char ww_windows[];
    const ww_place stack = (u32)__cvta_generic_to_shared(ww_windows) + number * (a.window * FRAME_BYTES);
#else
    const ww_place stack = a.stacks + (u64)warp * (a.window * (FRAME_BYTES / 4));
#endif
    ww_warp own{a, dog,
#if WW_UNIFORM
        only_root,
#endif
        stack, givers[number], lane, warp};
    own.at = own.push = own.low = own.taken = own.spilled = own.calls = 0;
    own.newest = own.oldest = own.spare = own.root = NONE;
    own.total = neutral<Total>();
    own.batches = own.last = own.since = own.got = own.used = own.seen = own.told = 0;
    own.clocked = (u32)clock64();
    own.steps = WW_UNROLL;
    own.tokens = 1;
    own.has_ticket = own.rootless = false;
    own.given = own.rounds = own.spills = 0;
    own.made = 0;
    own.run();
    own.finish();
}
