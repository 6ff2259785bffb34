// Fork-join tasks in one persistent kernel: every lane runs a tree of calls depth first on its own stack (lane.cuh), and
// shares its oldest calls with idle lanes.
//
// Grid: a line of blocks, all resident (cooperative); block: WW_WARPS warps, none of which waits for another
// of its block. Shared memory: the lanes' stacks, where they fit (WW_SHARED).
//
// Each warp has a ring of items in global memory. A lane with a full stack moves the older half of it to the ring; an
// idle lane takes the newest item of the ring. Where the ring is empty, lanes put their oldest items there for idle lanes
// of their warp, or for another warp. The newest items are the deepest (Orr et al., section 5.2: deepest first); the
// oldest have the largest trees below them. All accesses to global memory happen together, in a round of work sharing:
// when a quarter of the lanes that had calls have become idle, or after some steps. A round costs as much as many steps.
//
// Memory is bounded by the plan. A lane with a full stack moves items as long as the ring keeps room for one path to the
// last level (`quota` items a level) and the warp keeps frames for it (one a level). Where it does not, one lane alone
// uses that room: no other lane moves or takes items meanwhile, and it takes the newest itself, so what it has moved is
// never more than one path. Lanes with room on their stacks go on; the others pause until it is done. So every lane with
// calls runs in the end, and a lane that waits has none.
//
// Warps share work through the paper's array channel (section 3.2.1), with a batch of items as its element. States of
// slot t mod N in round r = t / N: word 2r: available, or reserved once ticket t is drawn; 2r + 1: ready; 2(r + 1): done.
// A warp with many idle lanes draws a ticket and polls the word of its slot, while it goes on and when all lanes are idle.
// A warp with enough items claims a drawn ticket whose slot is available, by compare and swap; if there is none it shares
// nothing now: it never waits. A batch may be empty. Claims of one word are serialised, 0.7 us each, so there are up to 32
// such channels. A warp draws its tickets from one; a warp that shares looks at all, one a lane, and claims one ticket
// for each batch that it has.
#include "lane.cuh"
#include "watchdog.cuh"

constexpr u32 WARPS = WW_WARPS;
constexpr u32 SLOT = 128 + 32 * ITEM;
// Batches that a warp gives at once, and what it takes to give one more.
constexpr u32 BATCHES = 8, BATCH = 8;

struct ww_warp {
    const ww_arguments& a;
    const ww_watchdog& dog;
    ww_lane own;
    unsigned char* ring;
    u32* free_frames;
    u32 lane, warp;
    u32 low, top;          // of the ring
    u32 free_top, ticket;
    u32 alone;             // the lane that may use the last room
    u32 seen, told;        // as of the look before: a channel's tickets that nobody has claimed; of lane 0 how the run
                           // ended, of lane 1 the word of the ticket's slot
    bool has_ticket;
    u32 most;              // steps until the next work sharing
    u64 given, moved;      // items
    u64 since = 0;         // when nothing moved for the first time
    u32 moved_last = 0;

    __device__ __forceinline__ u32* item(u32 place) const {
        return (u32*)(ring + (u64)(place & (a.ring - 1)) * ITEM);
    }
    __device__ __forceinline__ bool runs() const { return own.busy() & !own.owes & !own.full(); }
    __device__ __forceinline__ u32 below(u32 mask) const { return __popc(mask & ((1u << lane) - 1u)); }
    // Room beyond that for one path down.
    __device__ __forceinline__ u32 spare_frames() const { return free_top > a.levels ? free_top - a.levels : 0; }
    __device__ __forceinline__ u32 spare_places() const {
        const u32 room = a.ring - (top - low), path = a.quota * a.levels;
        return room > path ? room - path : 0;
    }

    // Frames that a lane is done with: this warp's are free again, others' go back to their owners.
    __device__ __forceinline__ void release(u32 frame, bool on) {
        const bool mine = on && frame / a.frames_each == warp;
        const u32 mask = __ballot_sync(ALL, mine);
        if (mine) free_frames[free_top + below(mask)] = frame;
        free_top += __popc(mask);
        const bool other = on && !mine;
        if (__any_sync(ALL, other)) {
            // Those of one owner as a list, by its first lane: lanes that swap the word one after the other take a thousand cycles each.
            const u32 owner = frame / a.frames_each, all = __match_any_sync(ALL, other ? owner : NONE);
            const u32 after = all & ~((2u << lane) - 1u);
            const u32 next = __shfl_sync(ALL, frame, __ffs(after) - 1 & 31), last = __shfl_sync(ALL, frame, 31 - __clz(all));
            if (other && after != 0) *(volatile u32*)pending_of(frame_at(a, frame)) = next;
            __syncwarp();
            if (other && below(all) == 0) {
                u32* head = a.returned + owner;
                u32 before = ww_load_relaxed(head);
                while (true) {
                    *(volatile u32*)pending_of(frame_at(a, last)) = before;
                    // Release: the frames are read no more, and their list goes on. Acquire: nothing, but for the chain.
                    const u32 now = ww_compare_acq_rel(head, before, frame);
                    if (now == before) break;
                    before = now;
                }
            }
        }
        __syncwarp();
    }

    // Takes back what others freed.
    __device__ __forceinline__ void collect() {
        if (lane == 0 && ww_load_relaxed(a.returned + warp) != NONE) {
            u32 frame = ww_swap_acquire(a.returned + warp, NONE);
            while (frame != NONE) {
                free_frames[free_top++] = frame;
                frame = *(volatile u32*)pending_of(frame_at(a, frame));
            }
        }
        free_top = __shfl_sync(ALL, free_top, 0);
        __syncwarp();
    }

    // Frames whose last value has arrived come down to the lane that gave it.
    __device__ __forceinline__ void adopt() {
        const u32 frame = own.done;
        const bool on = frame != NONE;
        if (!__any_sync(ALL, on)) return;
        __syncwarp();
        if (on) own.adopt();
        release(frame, on);
    }

    // Roots that nobody has begun: as many as are this warp's share.
    __device__ __forceinline__ bool take_roots() {
        u32 first = 0, count = 0;
        if (lane == 0 && ww_load_relaxed(a.counters + NEXT_ROOT) < a.roots_count) {
            const u32 warps = gridDim.x * WARPS;
            const u32 share = min(32u, (a.roots_count + warps - 1) / warps);
            first = ww_add_relaxed(a.counters + NEXT_ROOT, share);
            if (first < a.roots_count) count = min(share, a.roots_count - first);
        }
        first = __shfl_sync(ALL, first, 0);
        count = __shfl_sync(ALL, count, 0);
        if (lane < count) {
            u32* to = item(top + lane);
            *(u64*)to = make_back(first + lane, 1, make_head(0, STORE, WW_ROOT::NUMBER, 0));
            *(WW_ROOT*)(to + 2) = *(const WW_ROOT*)(a.roots + (u64)(first + lane) * a.roots_bytes);
        }
        top += count;
        __syncwarp();
        return count > 0;
    }

    // The first words of a channel: tickets drawn, tickets claimed.
    __device__ __forceinline__ u32* drawn(u32 channel) const { return a.counters + CHANNELS + 32 * channel; }
    __device__ __forceinline__ u32* claimed(u32 channel) const { return drawn(channel) + 1; }
    __device__ __forceinline__ u32* slot_word(u32 channel, u32 t) const {
        return (u32*)(a.slots + ((u64)channel * a.slots_count + (t & (a.slots_count - 1))) * SLOT);
    }
    // The word of this warp's ticket.
    __device__ __forceinline__ u32* own_word() const { return slot_word(warp % a.channels, ticket); }

    __device__ __forceinline__ u32 ready_word() const { return 2 * (ticket / a.slots_count) + 1; }
    // Draws a ticket for a batch, if there are frames for a path down. Without them a warp waits for its frames alone, which
    // other warps return when they have run what those wait for.
    __device__ __forceinline__ void draw_ticket() {
        if (has_ticket || free_top < a.levels) return;
        if (lane == 0) ticket = ww_add_relaxed(drawn(warp % a.channels), 1);
        ticket = __shfl_sync(ALL, ticket, 0);
        has_ticket = true;
    }

    // Waits for a batch. False: there will be none.
    __device__ __forceinline__ bool wait() {
        if (lane == 0) ww_add_relaxed(a.counters + RUNNING, NONE);
        u64 since = 0, looked = 0;
        for (u32 tries = 1;; ++tries) {
            if (free_top < a.levels) collect();
            draw_ticket();
            u32 state = 0;
            if (lane == 0) {
                // An acquire empties the SM's first-level cache: only for what is there.
                const u32 word = has_ticket ? ww_load_relaxed(own_word()) : 0;
                if (has_ticket && word == ready_word()) state = 1;
                // The words that all look at, seldom.
                else if ((tries & 7u) == 0 && over()) state = 2;
                else if ((tries & 0x3ff) == 0) {
                    // The host's memory is far: all waiting warps at it stand still for milliseconds.
                    const u64 now = ww_nanoseconds();
                    if (looked == 0) looked = now;
                    if (now - looked > dog.nanoseconds / 8) {
                        looked = now;
                        if (ww_load_acquire_sys(dog.words) != WW_QUIET) state = 2;
                    }
                    // All wait, and not all is done: that can't be.
                    if (ww_load_relaxed(a.counters + RUNNING) != 0) since = 0;
                    else if (since == 0) since = now;
                    else if (now - since > dog.nanoseconds) {
                        ww_watchdog_report(dog, a.frames_each - free_top, warp, has_ticket ? ready_word() : 0, word);
                        state = 2;
                    }
                }
            }
            state = __shfl_sync(ALL, state, 0);
            if (state != 0) return state == 1;
            __nanosleep(tries < 32 ? 100 : 400);
        }
    }

    // Takes the batch that was given for the ticket. The giver has counted this warp as running.
    __device__ __forceinline__ void receive() {
        u32* word = own_word();
        if (lane == 0) ww_load_acquire_gpu(word);
        __syncwarp();
        const u32 count = word[1];
        const u32* from = word + 32 + lane * (ITEM / 4);
        u32* to = item(top + lane);
        if (lane < count)
            for (u32 i = 0; i < ITEM / 4; ++i) to[i] = from[i];
        top += count;
        __syncwarp();
        // The next round's, also where tickets begin again at 0.
        if (lane == 0) ww_store_release_gpu(word, 2 * ((ticket + a.slots_count) / a.slots_count));
        has_ticket = false;
    }

    // Tickets of warps that wait for batches, `most` at most, one a lane; NONE for lanes without one. `waits`: the
    // channels where there were some.
    __device__ __forceinline__ u32 claim(u32 waits, u32 most) {
        // Not all begin with the same channel.
        const u32 turn = warp % 32, turned = waits >> turn | waits << (32 - turn) % 32;
        u32 t = NONE;
        if ((waits >> lane & 1) != 0 && (u32)__popc(turned & ((1u << (lane - turn) % 32) - 1u)) < most) {
            t = ww_load_relaxed(claimed(lane));
            // Acquire: the warp that read this slot before has finished.
            if ((int)(ww_load_relaxed(drawn(lane)) - t) <= 0 || ww_load_acquire_gpu(slot_word(lane, t)) != 2 * (t / a.slots_count)
                || ww_compare_relaxed(claimed(lane), t, t + 1) != t)
                t = NONE;
        }
        return t;
    }

    // Gives the oldest items of the ring, of those before `end`, for the tickets that lanes have claimed.
    __device__ __forceinline__ void give(u32 t, u32 end) {
        // What a lane acquired with its ticket, all have.
        __syncwarp();
        u32 count = 0, parts = __popc(__ballot_sync(ALL, t != NONE));
        if (lane == 0) ww_add_relaxed(a.counters + RUNNING, parts);
        for (u32 left = __ballot_sync(ALL, t != NONE); left != 0; left &= left - 1, --parts) {
            const u32 channel = __ffs(left) - 1, items = min(32u, (end - low + parts - 1) / parts);
            u32* to = slot_word(channel, __shfl_sync(ALL, t, channel)) + 32 + lane * (ITEM / 4);
            const u32* from = item(low + lane);
            if (lane < items)
                for (u32 i = 0; i < ITEM / 4; ++i) to[i] = from[i];
            if (lane == channel) count = items;
            low += items;
            given += items;
        }
        __syncwarp();
        if (t != NONE) {
            u32* word = slot_word(lane, t);
            word[1] = count;
            // Release: the items, and the frames that they give their values to.
            ww_store_release_gpu(word, 2 * (t / a.slots_count) + 1);
        }
        __syncwarp();
    }

    // Lanes move their oldest items into the ring, and first the frames that those are to give values to: `count` items;
    // with `half`, until half of a stack is free, as far as there is room.
    __device__ __forceinline__ void shed(u32 count, bool half) {
        const u32 items = max(1u, a.stack_items / 2), frames = a.stack_frames / 2;
        bool on = count > 0 || half;
        // The next 32 free frames, one a lane: one load, and not one an iteration.
        u32 kept = 0, used = 32;
        while (true) {
            on = on && (half ? own.top - own.low > items || own.level - own.first > frames : count > 0 && own.spares());
            const u32 oldest = on ? own.oldest() : 0;
            bool frame = on && own.first < oldest && (own.top != own.low || own.first + 1 < own.level);
            bool item = on && !frame && own.spares();
            u32 frame_mask = __ballot_sync(ALL, frame), item_mask = __ballot_sync(ALL, item);
            if ((frame_mask | item_mask) == 0) break;
            const u32 frames_free = alone == NONE ? spare_frames() : free_top;
            const u32 places_free = alone == NONE ? spare_places() : a.ring - (top - low);
            on = (frame && below(frame_mask) < frames_free) || (item && below(item_mask) < places_free);
            frame = frame && on;
            item = item && on;
            frame_mask = __ballot_sync(ALL, frame);
            item_mask = __ballot_sync(ALL, item);
            if (used + __popc(frame_mask) > 32) {
                used = 0;
                kept = lane < free_top ? free_frames[free_top - 1 - lane] : NONE;
            }
            const u32 id = __shfl_sync(ALL, kept, used + below(frame_mask) & 31u);
            if (frame) own.move_frame(id);
            used += __popc(frame_mask);
            if (item) {
                own.move_item(this->item(top + below(item_mask)));
                --count;
            }
            free_top -= __popc(frame_mask);
            top += __popc(item_mask);
            moved += __popc(item_mask);
        }
        if (own.low != 0) own.close_up();
        __syncwarp();
    }

    __device__ __forceinline__ bool over() const {
        return ww_load_relaxed(a.counters + STATUS) != 0 || WW_FAULTED;
    }

    // Lanes with full stacks get room; if none are full, lanes move `count` items each to the ring.
    __device__ __forceinline__ void make_room(u32 busy, u32 count) {
        const u32 full = __ballot_sync(ALL, own.busy() && own.full());
        // The lane that was alone is done with its path, or there is room for all again.
        const bool done = alone != NONE && (busy >> alone & 1) == 0 && low == top;
        if (done || (spare_frames() > 0 && spare_places() > 0)) alone = NONE;
        if (full != 0) {
            count = 0;
        } else if (__ballot_sync(ALL, count > 0) == 0) {
            return;
        }
        if (free_top < a.frames_each / 2) collect();
        bool half = (full >> lane & 1) != 0 && (alone == NONE || alone == lane);
        u32 still = 0;
        while (true) {
            shed(count, half);
            still = __ballot_sync(ALL, own.busy() && own.full());
            if (still == 0 || alone != NONE) break;
            alone = __ffs(still) - 1;
            half = lane == alone;
            count = 0;
        }
    }

    // A round of work sharing, within the warp and with other warps. False: the run is over.
    __device__ __forceinline__ bool share() {
        __syncwarp();
        if (own.owes) own.settle();
        adopt();
        const u32 busy = __ballot_sync(ALL, own.busy()), idle = 32 - __popc(busy);
        const u32 waits = __ballot_sync(ALL, (int)seen > 0);
        if (__shfl_sync(ALL, told, 0) != 0) return false;
        // Not while a lane is alone: it would take what comes on top of what its own frames wait for.
        bool ready = has_ticket && __shfl_sync(ALL, told, 1) == ready_word() && alone == NONE && spare_places() >= 32;
        if (ready && lane == 0) ww_add_relaxed(a.counters + RUNNING, NONE);
        if (busy == 0 && low == top && !ready) {
            alone = NONE;
            if (free_top < a.levels || !take_roots()) {
                if (!wait()) return false;
                ready = true;
            }
        }
        if (ready) receive();
        // A warp with enough items shares them; one with few draws a ticket.
        u32 claims = NONE, count = 0, gives = 0;
        if (alone == NONE && busy != 0) {
            if (idle < a.idle) {
                const u32 items = top - low + __popc(__ballot_sync(ALL, own.spares()));
                if (waits != 0 && items != 0) {
                    claims = claim(waits, min(BATCHES, (items + BATCH - 1) / BATCH));
                    gives = __popc(__ballot_sync(ALL, claims != NONE));
                }
                count = top - low < BATCH * gives;
            } else if (low == top) {
                count = min((own.top + 1) / 2, (31 + idle) / __popc(busy));
                if (idle >= 16) draw_ticket();
            }
        }
        const u32 before = top;
        make_room(busy, count);
        // What a lane moves into the last room stays here: its frames come back when that is done.
        if (gives != 0) give(claims, alone == NONE ? top : before);
        if (lane < a.channels) seen = ww_load_relaxed(drawn(lane)) - ww_load_relaxed(claimed(lane));
        if (lane == 0) told = ww_load_relaxed(a.counters + STATUS);
        if (lane == 1 && has_ticket) told = ww_load_relaxed(own_word());
        // The newest go to lanes that have nothing.
        const bool takes = !own.busy() && (alone == NONE || alone == lane);
        const u32 mask = __ballot_sync(ALL, takes), taken = min((u32)__popc(mask), top - low);
        if (takes && below(mask) < taken) own.take(item(top - 1 - below(mask)));
        top -= taken;
        most = idle >= 16 ? min(a.every, 2u) : idle >= a.idle || __popc(waits) >= 8 ? min(a.every, 8u) : a.every;
        if ((own.calls | own.steps) >> 31) own.count();
        __syncwarp();
        return !stands();
    }

    // Whether lanes have something and none runs for longer than can be: one of them always has room.
    __device__ __forceinline__ bool stands() {
        const u32 moves = top + low + free_top;
        if (__any_sync(ALL, runs() || own.owes) || !__any_sync(ALL, own.busy()) || moves != moved_last) {
            moved_last = moves;
            since = 0;
            return false;
        }
        const u64 now = ww_nanoseconds();
        if (since == 0) since = now;
        const bool over = __shfl_sync(ALL, (u32)(now - since > dog.nanoseconds), 0) != 0;
        // Even, unlike a slot's word.
        if (over && lane == 0) ww_watchdog_report(dog, a.frames_each - free_top, warp, 2 * a.levels, free_top);
        return over;
    }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS) channels_stacks(const __grid_constant__ ww_arguments a, const __grid_constant__ ww_watchdog dog) {
    const u32 lane = threadIdx.x & 31u, number = threadIdx.x >> 5, warp = blockIdx.x * WARPS + number;
    const u32 items = 32 * a.stack_items * ITEM_WORDS, words = items + 32 * a.stack_frames * FRAME_WORDS;
#if WW_SHARED
    extern __shared__ u32 ww_stacks[];
    u32* stack = ww_stacks + number * words + lane;
#else
    u32* stack = a.stacks + (u64)warp * words + lane;
#endif
    u32* free_frames = a.free_frames + (u64)warp * a.frames_each;
    for (u32 i = lane; i < a.frames_each; i += 32) free_frames[i] = warp * a.frames_each + i;
    __syncwarp();
    ww_warp own{a, dog, {a, stack, stack + items, a.more + (u64)warp * (32 * a.quota * ITEM_WORDS) + lane, 0, 0, 0, 0, 0, 0, NONE, false, 0, 0, 0}, a.rings + (u64)warp * a.ring * ITEM,
        free_frames, lane, warp, 0, 0, a.frames_each, 0, NONE, 0, 0, false, a.every, 0, 0};
    u64 steps = 0;
    u32 rounds = 1;
    for (; own.share(); ++rounds) {
        const u32 at_first = __popc(__ballot_sync(ALL, own.runs()));
        const u32 enough = at_first - (at_first + 3) / 4;
        u32 left = own.most;
        for (; left != 0; --left) {
            const bool runs = own.runs();
            if (__popc(__ballot_sync(ALL, runs)) <= enough) break;
            if (runs) own.own.step();
        }
        steps += own.most - left;
        if (rounds % 16 == 0 && __any_sync(ALL, WW_FAULTED)) break;
    }
    // The warp's, and not each lane's: all at the same words take as long as a small run.
    u64 calls = 0, lanes = 0;
    u32 deepest = 0;
    for (u32 i = 0; i < 32; ++i) {
        calls += __shfl_sync(ALL, own.own.calls, i);
        lanes += __shfl_sync(ALL, own.own.steps, i);
        deepest = max(deepest, __shfl_sync(ALL, own.own.deepest, i));
    }
    if (lane == 0) {
        atomicAdd(a.counts, calls);
        atomicAdd(a.counts + 1, own.given);
        atomicAdd(a.counts + 2, steps);
        atomicAdd(a.counts + 3, lanes);
        atomicMax(a.counts + 4, (u64)deepest);
        atomicAdd(a.counts + 5, own.moved);
        atomicAdd(a.counts + 6, (u64)rounds);
    }
}
