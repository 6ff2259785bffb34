// Calls that spawn calls, in one persistent kernel: every warp has a ring of items, of which it runs the 32
// newest, and gives of the oldest to warps that wait.
//
// Grid: a line of blocks, all resident (cooperative); block: WW_WARPS warps, none of which waits for another
// of its block. Shared memory: the rings, where they fit. Memory is bounded by the plan: rings and frames are
// each warp's own, in numbers fixed before the launch.
//
// The newest items are the deepest (Orr et al., section 5.2: deepest first), with batches filled across levels. A
// batch is as wide as leaves room for what it may take (section 3.1: a predicate over the channels' sizes) and
// beyond that for one path down to the last level; where not even two lanes leave that, one lane goes down
// alone and gives nothing away (scarce): its path needs one frame and `quota` places a level, and frees both. So no
// warp waits for room, ever: who waits has nothing to run, and whoever has something runs.
//
// Hand-over is the paper's array channel (section 3.2.1) at the size of a batch. States of slot t mod N, round r = t / N:
// word 2r: available, or reserved once ticket t is drawn; 2r + 1: ready; 2(r + 1): done. A waiting warp draws a
// ticket and polls the slot's word. Who has items claims a ticket that is drawn and whose slot is available, by
// compare and swap, and else gives nothing now: it never waits.
#include "call.cuh"
#include "watchdog.cuh"

constexpr u32 WARPS = WW_WARPS, ALL = 0xffffffffu;
constexpr u32 SLOT = 128 + 32 * ITEM;

struct ww_warp {
    const ww_arguments& a;
    const ww_watchdog& dog;
    unsigned char* ring;
    u32* shared_top;
    u32* free_frames;
    u32 lane, warp, low, top, free_top, ticket;
    bool has_ticket;
    u64 calls, given, turns, lanes;
    u32 deepest;

    __device__ __forceinline__ unsigned char* item(u32 place) const {
        return ring + (u64)(place & (a.ring - 1)) * ITEM;
    }
    __device__ __forceinline__ u32 below(u32 mask) const { return __popc(mask & ((1u << lane) - 1u)); }
    // Room for one path down, and for a batch.
    __device__ __forceinline__ bool scarce() const { return free_top < a.levels + 32u; }
    __device__ __forceinline__ bool over() const {
        return ww_load_relaxed(a.counters + STATUS) != 0 || WW_FAULTED;
    }

    // Frames that this warp or others have no use for any more go back to their owners.
    __device__ __forceinline__ void release(u32 frame, bool on) {
        const bool own = on && frame / a.frames_each == warp;
        const u32 mask = __ballot_sync(ALL, own);
        if (own) free_frames[free_top + below(mask)] = frame;
        free_top += __popc(mask);
        if (on && !own) {
            u32* head = a.returned + frame / a.frames_each;
            u32 before = ww_load_relaxed(head);
            while (true) {
                *(volatile u32*)pending_of(frame_at(a, frame)) = before;
                // Release: the frame is read no more, and its list goes on. Acquire: nothing, but for the chain.
                const u32 seen = ww_compare_acq_rel(head, before, frame);
                if (seen == before) break;
                before = seen;
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
            unsigned char* to = item(top + lane);
            *(u64*)to = make_back(first + lane, 0, STORE, 1, 0, WW_ROOT::NUMBER);
            *(WW_ROOT*)(to + 8) = *(const WW_ROOT*)(a.roots + (u64)(first + lane) * a.roots_bytes);
        }
        top += count;
        __syncwarp();
        return count > 0;
    }

    __device__ __forceinline__ u32* slot_word(u32 t) const {
        return (u32*)(a.slots + (u64)(t & (a.slots_count - 1)) * SLOT);
    }

    // Waits for items, from roots or from other warps. False: there will be none.
    __device__ __forceinline__ bool wait_for_items() {
        if (take_roots()) return true;
        if (lane == 0) ww_add_relaxed(a.counters + RUNNING, NONE);
        u64 since = 0;
        for (u32 tries = 1;; ++tries) {
            if (free_top < a.frames_each) collect();
            // Without room for what comes a warp waits for its frames alone: others run what they wait for.
            if (!has_ticket && !scarce()) {
                if (lane == 0) ticket = ww_add_relaxed(a.counters + HEAD, 1);
                ticket = __shfl_sync(ALL, ticket, 0);
                has_ticket = true;
            }
            u32 state = 0, wanted = 0, seen = 0;
            if (lane == 0) {
                wanted = 2 * (ticket / a.slots_count) + 1;
                // An acquire empties the SM's first-level cache: only for what is there.
                if (has_ticket) seen = ww_load_relaxed(slot_word(ticket));
                // The word that all look at, less often than this warp's own.
                state = has_ticket && seen == wanted ? 1 : (tries & 7u) == 0 && over() ? 2 : 0;
                if (state == 1) ww_load_acquire_gpu(slot_word(ticket));
                // All wait, and not all is done: that can't be.
                if (state == 0 && (tries & 0x3ff) == 0) {
                    if (ww_load_acquire_sys(dog.words) != WW_QUIET) state = 2;
                    const u64 now = ww_nanoseconds();
                    if (ww_load_relaxed(a.counters + RUNNING) != 0) since = 0;
                    else if (since == 0) since = now;
                    else if (now - since > dog.nanoseconds) {
                        ww_watchdog_report(dog, a.frames_each - free_top, warp, has_ticket ? wanted : 0, seen);
                        state = 2;
                    }
                }
            }
            state = __shfl_sync(ALL, state, 0);
            if (state == 2) return false;
            if (state == 1) break;
            __nanosleep(tries < 8 ? 100 : 1000);
        }
        // The giver counts this warp as running.
        u32* word = slot_word(ticket);
        const u32 count = word[1];
        const u32* from = (const u32*)((const unsigned char*)word + 128 + (u64)lane * ITEM);
        u32* to = (u32*)item(top + lane);
        if (lane < count)
            for (u32 i = 0; i < ITEM / 4; ++i) to[i] = from[i];
        top += count;
        __syncwarp();
        if (lane == 0) ww_store_release_gpu(word, 2 * (ticket / a.slots_count) + 2);
        has_ticket = false;
        return true;
    }

    // Marks the frames above an item as shared. What one lane has marked another need not go beyond: both are
    // done before the item is given.
    __device__ __forceinline__ void mark(u64 back) {
        while (!to_root(back)) {
            unsigned char* frame = frame_at(a, parent_of(back));
            const u32 piece = *piece_of(frame);
            if (piece & SHARED) return;
            *piece_of(frame) = piece | SHARED;
            back = *(const u64*)frame;
        }
    }

    // Gives the oldest items away, up to half of them, if a warp waits for some.
    __device__ __forceinline__ void give_away() {
        const u32 there = top - low;
        if (there < 2 || scarce()) return;
        u32 t = 0, claimed = 0;
        if (lane == 0) {
            t = ww_load_relaxed(a.counters + TAIL);
            const u32 drawn = ww_load_relaxed(a.counters + HEAD);
            // Acquire: who read this slot before has done so.
            if ((int)(drawn - t) > 0 && ww_load_acquire_gpu(slot_word(t)) == 2 * (t / a.slots_count))
                claimed = ww_compare_relaxed(a.counters + TAIL, t, t + 1) == t;
        }
        claimed = __shfl_sync(ALL, claimed, 0);
        if (!claimed) return;
        t = __shfl_sync(ALL, t, 0);
        const u32 count = min(32u, there / 2);
        u32* word = slot_word(t);
        u32* to = (u32*)((unsigned char*)word + 128 + (u64)lane * ITEM);
        const u32* from = (const u32*)item(low + lane);
        if (lane < count) {
            for (u32 i = 0; i < ITEM / 4; ++i) to[i] = from[i];
            mark(*(const u64*)from);
        }
        if (lane == 0) {
            word[1] = count;
            ww_add_relaxed(a.counters + RUNNING, 1);
        }
        __syncwarp();
        // Release: the items, and the frames that they give their values to.
        if (lane == 0) ww_store_release_gpu(word, 2 * (t / a.slots_count) + 1);
        low += count;
        given += count;
    }

    __device__ __forceinline__ ww_lane lane_for(u64 back, u32 frame) const {
        return ww_lane{a, ring, shared_top, low, back, frame, 0, 0, NONE, false, false};
    }

    // How many items the next batch takes.
    __device__ __forceinline__ u32 width() const {
        const u32 there = top - low, room = a.ring - there, path = a.quota * a.levels;
        const u32 places = room > path ? (room - path) / a.quota : 0;
        const u32 frames = free_top > a.levels ? free_top - a.levels : 0;
        return max(1u, min(min(32u, there), min(places, frames)));
    }

    // Runs one batch. False: the run is over.
    __device__ __forceinline__ bool turn() {
        if (scarce()) collect();
        const u32 count = width();
        const bool on = lane < count;
        alignas(8) u32 words[ITEM_WORDS > 0 ? ITEM_WORDS : 1];
        u64 back = 0;
        if (on) {
            const unsigned char* from = item(top - 1 - lane);
            back = *(const u64*)from;
            for (u32 i = 0; i < ITEM_WORDS; ++i) words[i] = ((const u32*)(from + 8))[i];
        }
        top -= count;
        const bool call = on && how_of(back) != AGAIN, again = on && !call;
        const u32 mask = __ballot_sync(ALL, call);
        if (free_top < __popc(mask)) {
            if (lane == 0) ww_end(a, NO_FRAME, 0);
            return false;
        }
        u32 frame = parent_of(back);
        if (call) frame = free_frames[free_top - 1 - below(mask)];
        free_top -= __popc(mask);
        if (lane == 0) *shared_top = top;
        __syncwarp();
        if (again) back = *(const u64*)frame_at(a, frame);
        ww_lane own = lane_for(back, frame);
        if (call) begin_call(own, words);
        else if (again) resume_call(own);
        __syncwarp();
        calls += __popc(mask);
        ++turns;
        lanes += count;
        if (on) deepest = max(deepest, level_of(back) + 1);
        release(frame, on && !own.waits);
        go_on(own.next);
        top = *shared_top;
        __syncwarp();
        return true;
    }

    // Frames whose last value has arrived: those that spawn no more go on here, the others when it is their turn.
    __device__ __forceinline__ void go_on(u32 next) {
        while (__any_sync(ALL, next != NONE)) {
            u64 back = 0;
            bool quiet = false;
            if (next != NONE) {
                unsigned char* frame = frame_at(a, next);
                back = *(const u64*)frame;
                quiet = is_quiet(number_of(back), piece_at(frame));
            }
            ww_lane own = lane_for(back, next);
            if (quiet) {
                resume_call(own);
            } else if (next != NONE) {
                const u32 place = own.claim();
                if (place == NONE) ww_end(a, TOO_MANY, number_of(back));
                else *(u64*)item(place) = make_back(next, 0, AGAIN, 0, level_of(back), number_of(back));
            }
            __syncwarp();
            release(next, quiet);
            next = own.next;
        }
    }
};

extern "C" __global__ void __launch_bounds__(32 * WARPS) channels_stacks(const __grid_constant__ ww_arguments a, const __grid_constant__ ww_watchdog dog) {
    extern __shared__ __align__(16) unsigned char ww_rings[];
    __shared__ u32 tops[WARPS];
    const u32 lane = threadIdx.x & 31u, number = threadIdx.x >> 5, warp = blockIdx.x * WARPS + number;
    unsigned char* ring = a.shared ? ww_rings + (u64)number * a.ring * ITEM : a.rings + (u64)warp * a.ring * ITEM;
    u32* free_frames = a.free_frames + (u64)warp * a.frames_each;
    for (u32 i = lane; i < a.frames_each; i += 32) free_frames[i] = warp * a.frames_each + i;
    __syncwarp();
    ww_warp own{a, dog, ring, &tops[number], free_frames, lane, warp, 0, 0, a.frames_each, 0, false, 0, 0, 0, 0, 0};
    for (u32 turns = 1;; ++turns) {
        if (own.top == own.low && !own.wait_for_items()) break;
        if (!own.turn()) break;
        if (turns % a.every == 0) {
            if (__any_sync(ALL, own.over())) break;
            own.give_away();
        }
    }
    atomicMax(a.counts + 4, (u64)own.deepest);
    if (lane == 0) {
        atomicAdd(a.counts, own.calls);
        atomicAdd(a.counts + 1, own.given);
        atomicAdd(a.counts + 2, own.turns);
        atomicAdd(a.counts + 3, own.lanes);
    }
}
