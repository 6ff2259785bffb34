// Work sharing, within a warp and between warps, as each lane has it.
#pragma once

// Where teams run, one lane of a warp holds frames, and any demand is met at once.
constexpr bool TEAMS = WW_TEAMS;

#if !WW_BLOCK_TEAMS
struct ww_warp : ww_values {
    volatile unsigned char* givers;

    u32 batches, last;          // the last in which frames were given or got
    u32 steps, clocked, since;
    u32 apart;                  // batches between two checks, less one: 0 where calls are long, else 7
    u32 tokens, got, used;      // frames in the inbox, and how many have been taken
    bool has_ticket, rootless;
    u32 seen, told;             // of lane 0, as of the look before: demand; how the run ended
    u32 busy, donors, idle;
    u32 given, rounds;
    u64 made;
    ww_clocks clocks;

    WW_FN void begin_sharing() {
        batches = last = since = got = used = seen = told = given = rounds = 0;
        clocked = (u32)clock64();
        steps = WW_UNROLL;
        tokens = 1;
        apart = 7;
        has_ticket = rootless = false;
        made = 0;
    }

    WW_FN void census() {
        busy = __ballot_sync(ALL, holds());
        donors = __ballot_sync(ALL, can_give());
        idle = 32 - __popc(busy);
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
        if ((busy >> lane & 1) == 0 && rank < count) take_root(first + rank);
        __syncwarp();
        settle();
        census();
    }

    // Idle lanes of the warp take the oldest frames of lanes with many.
    WW_FN void hand_over() {
        const u32 height = can_give() ? worth() : 0, most = tallest(height);
        const u32 tall = __ballot_sync(ALL, height > 0 && is_tall(height, most));
        const u32 from = TALL_ONLY || (u32)__popc(tall) >= idle ? tall : donors;
        const bool gives = (from >> lane & 1) != 0 && below(from) < idle;
        const u32 count = hand(gives, (busy >> lane & 1) == 0, below(~busy), givers);
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
        const bool ramp = TEAMS || (u32)wait >= a.ramp;
        if (!ramp && batches - last < a.age) return;
        const u32 height = can_give() ? worth() : 0, most = tallest(height);
        const u32 from = ramp ? donors : __ballot_sync(ALL, height > 0 && is_tall(height, most));
        const u32 each = TEAMS ? 1 : ramp ? 4 : 16;
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
        const u32 place = below(from), warp_of = __shfl_sync(ALL, to, place / each & 31u);
        bool gives = (from >> lane & 1) != 0 && place < count && warp_of != NONE;
        u32 words[RECORD], its_depth = 0;
        const u32 home = part(gives, words, its_depth);
        // Where some have failed a batch is shorter, and may be empty.
        const u32 done = __ballot_sync(ALL, gives);
        const u32 mates = __match_any_sync(ALL, gives ? warp_of : NONE) & done, rank = __popc(mates & ((1u << lane) - 1u));
        if (gives) {
            u32* inbox = a.inbox + (u64)warp_of * ((RECORD + 2) * 32) + rank;
            for (u32 k = 0; k < RECORD; ++k) inbox[32 * k] = words[k];
            inbox[32 * RECORD] = home;
            inbox[32 * RECORD + 32] = its_depth;
        }
        u32 sent = 0;
        for (u32 i = 0; i < parts; ++i) {
            const u32 number = __popc(__ballot_sync(ALL, gives && place / each == i));
            if (lane == i) sent = number;
        }
        __syncwarp();
        // Release: the frames.
        if (lane < parts && to != NONE) ww_store_release_gpu(a.inbox_counts + to, sent + 1);
        given += __popc(done);
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
        // Frames that are left in the inbox are run under the tokens that the warp holds.
        if (busy == 0 && got == 0 && tokens != 0) {
            if (lane == 0 && ww_add_acq_rel_gpu(a.counters + LIVE, 0u - tokens) == tokens) ww_end(a, DONE);
            tokens = 0;
        }
        if (got == 0) {
            draw_ticket();
            u32 found = 0;
            const u64 start = clocks.now();
            if (lane == 0) found = look_into_inbox();
            found = __shfl_sync(ALL, found, 0);
            if (busy == 0) clocks.waited(start);
            // All lanes read what lane 0 acquired.
            __syncwarp();
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
        const bool takes = (busy >> lane & 1) == 0 && rank < count;
        const u32* inbox = a.inbox + (u64)warp * ((RECORD + 2) * 32) + used + rank;
        u32 words[RECORD], home = NONE, its_depth = 0;
        if (takes) {
            for (u32 k = 0; k < RECORD; ++k) words[k] = inbox[32 * k];
            home = inbox[32 * RECORD];
            its_depth = inbox[32 * RECORD + 32];
        }
        take(words, home, its_depth, takes);
        used += count;
        __syncwarp();
        if (used == got) {
            if (lane == 0) ww_store_release_gpu(a.inbox_counts + warp, 0u);
            got = 0;
            has_ticket = false;
        }
        return true;
    }

    // As many steps between two rounds of sharing as take about 2,000 cycles; a round after each batch where that takes longer than about
    // 50 us: the host may have ended the run.
    static constexpr u32 LONG_BATCH = 100000;
    WW_FN void adapt() {
        // Of one lane, so that all decide alike.
        const u32 now = __shfl_sync(ALL, (u32)clock64(), 0), passed = batches - since;
        if (passed < 4 || clocked == 0) {
            if (passed >= 4 || clocked == 0) since = batches, clocked = now;
            return;
        }
        const u32 each = (now - clocked) / passed;
        if (each < 2000 && 2 * steps <= a.every) steps *= 2;
        else if (each > 8000 && steps > WW_UNROLL) steps /= 2;
        steps = __shfl_sync(ALL, steps, 0);
        apart = each > LONG_BATCH ? 0 : 7;
        clocked = now;
        since = batches;
    }

    // A round of work sharing, within the warp and with other warps. False: the run is over.
    WW_FN bool share() {
        ++rounds;
        __syncwarp();
        if (__shfl_sync(ALL, told, 0) != 0) return false;
        if ((rounds & 15) == 0 && __any_sync(ALL, WW_FAULTED)) {
            // This warp's tokens are never given back, so the warps that wait must be told.
            if (lane == 0) ww_end(a, DONE);
            return false;
        }
        const bool may_receive = (batches & 7) == 0;
        settle();
        census();
        if (idle != 0 && !rootless) take_roots();
        if (!TEAMS && idle != 0 && donors != 0) hand_over();
        donate();
        if (lane == 0) {
            seen = ww_load_relaxed(a.counters + DEMAND);
            told = ww_load_relaxed(a.counters + STATUS);
        }
        const bool wants = TEAMS ? busy == 0 : (idle >= 16 && donors == 0) || (has_ticket && may_receive && idle != 0);
        if ((busy != 0 || rootless) && wants)
            if (!receive()) return false;
        if (calls >> 30) {
            made += calls;
            calls = 0;
        }
        adapt();
        return true;
    }

    // Ends a batch of steps; whether the warp now shares work with others.
    WW_FN bool ends_batch() {
        ++batches;
        if (keep_window()) rebase();
        return 32 - __popc(__ballot_sync(ALL, works())) >= (int)a.idle || (batches & apart) == 0;
    }
    WW_FN void run() {
        clocks.begin();
        while (share()) {
            do {
                const u64 start = clocks.now();
                for (u32 k = 0; k < steps; k += WW_UNROLL) {
#pragma unroll
                    for (u32 i = 0; i < WW_UNROLL; ++i) step();
                }
                clocks.ran(start);
            } while (!ends_batch());
        }
    }
    // What it did, into the whole grid's.
    WW_FN void finish() {
        end_values();
        made += calls;
        u64 all = 0;
        for (u32 i = 0; i < 32; ++i) all += __shfl_sync(ALL, (u32)made, i) + ((u64)__shfl_sync(ALL, (u32)(made >> 32), i) << 32);
        if (lane == 0) {
            atomicAdd(a.counts + CALLS, all);
            atomicAdd(a.counts + GIVEN, (u64)given);
            atomicAdd(a.counts + STEPS, (u64)batches * steps);
            atomicAdd(a.counts + ROUNDS, (u64)rounds);
            clocks.add_to(a.counts + CYCLES);
        }
        if (spills != 0) atomicAdd(a.counts + SPILLED, (u64)spills);
    }
};
#endif
