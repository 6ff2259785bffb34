// A channel-flow graph in one persistent kernel: every warp fires the deepest channel that it can, with 32 items at a time, or with 128
// where plenty are ready (ADR 94).
//
// Grid: a line of blocks; block: WW_WARPS warps, none of which waits for another of its block. Shared memory: counts, and a
// word for the fault of each thread.
//
// A firing (ADR 34): takes credits for all that its items may emit; dispatches them; calls the kernel, one lane an item; takes
// positions for what was emitted, with one atomic a channel and warp; writes, publishes; gives back unused credits. Without
// credits for one item the firing is put off and counted as a yield. Warps look at 32 queues at once, in service order: the
// deepest first, whole warps of items before the host's items before fewer than 32 (section 5.3, "deeper in the recursion").
//
// A warp stays with a channel without levels for some firings while whole warps of items are ready: it learns that when it
// dispatches its own, and does not search all queues. Where no channel has levels, warps begin with different ones.
//
// With WW_AGGREGATED 0 every lane reserves and dispatches its own position: what aggregation saves can be measured so.
//
// What a kernel emits into the channel that it consumes may stay with its warp (ADR 130): of a recursion in a ring in shared memory
// (private.cuh), of a kernel that emits one item at most in registers (`CHAINED`).
//
// The host ends the kernel, and starts it again, when what it consumes has filled its buffer: between firings all state is in
// memory. Nobody can fire: a warp that has found nothing for a while checks that no warp is firing, and that none has
// fired since.
//
// Generated with the graph: `ww_channel<C>`, `ww_node<K>`, `ww_fetch` and the macros (text.rs).
#include "queue.cuh"
#include "clocks.cuh"
#include "spans.cuh"

// From STUCK on nothing counts any more, and warps leave all waits.
enum : u32 { RUNNING = 0, DRAIN = 2, STUCK = 3, TOO_MANY = 4, TOO_DEEP = 5, FAULT = 6, STOPPED = 7 };
// Words of the record of an error: status, kernel, site, words of the item.
constexpr u32 RECORD = 4;
// Counts of a channel: items, firings, yields, least credits seen.
constexpr u32 COUNTS = 4;
constexpr u32 NONE = 0xffffffffu;
// A handle holds a number below this, and above it its graph's.
constexpr u32 HANDLES = 1u << 20;
// The word behind `pending` that counts requests of idle warps for private items.
constexpr u32 WANTED = 2;

struct ww_first { const unsigned char* items; u64 count; };
struct ww_words { void* words; u64 count; };

struct ww_arguments {
    u32* queues;      // of each queue, in service order: tail and ready, head
    u32* states;
    u32* items;
    u32* credits;     // of each level of each group
    u32* taken;       // of each kernel: items of the host
    u32* drained;     // of each channel of the host: items
    u32* pending;     // items that are in channels, with warps or with the host; WANTED
    u32* record;
    u32* activity;    // of each warp: twice the firings, and 1 while it fires
    u64* counts;      // of kernels; all cycles of warps, those in functions, those in which nothing fired
    u64* spans;       // of each warp, for a timeline
    u64 patience;     // nanoseconds
    ww_first first[WW_KERNELS];      // of each kernel
    void* host[WW_CHANNELS];         // of each channel of the host
    ww_words buffers[WW_BUFFERS];
    alignas(16) unsigned char nodes[WW_NODE_BYTES];
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host passes as many bytes");

// Whether no channel has levels: then all queues are alike, and each warp begins to look at another.
__device__ constexpr bool ww_is_flat() {
    for (u32 k = 0; k < WW_QUEUES; ++k)
        if ((WW_SERVED[k] & 0xffffu) != 0) return false;
    return true;
}
// Firings of one channel without levels before a warp searches the others, and steps between two tests whether the run goes on.
constexpr u32 IN_A_ROW = 8, STEPS = 8;
// Of 32 items at once, where plenty are ready: four take one reservation and one fence, which made 8 channels twice as fast (H200,
// 2026-11-28).
constexpr u32 MOST_UNITS = 4;
// Calls in a row that items without levels stay with their warp at most: then it searches all queues again.
constexpr u32 CHAIN = 32;
// Cycles of a firing after which the warp tests at once whether the run goes on, and ends a chain: about 50 us.
constexpr u32 LONG_FIRING = 100000;

// Of each warp, so that none waits for another.
__shared__ u64 ww_counts[WW_WARPS][WW_KERNELS * COUNTS];
__shared__ u32 ww_private_words[WW_WARPS][WW_PRIVATE_WORDS];

// What a kernel's function sees. Its outputs are empty.
template<class Kernel> struct ww_firing {
    const ww_arguments& a;
    typename Kernel::Outs outs;
    template<class T> WW_FN ww::shared<T> buffer(u32 number) const {
        const ww_words& it = a.buffers[number % HANDLES];
        return {(T*)it.words, it.count};
    }
    // A buffer to which the kernel only adds.
    template<class T, u32 J> WW_FN ww::shared<T> sum(u32 number) const { return buffer<T>(number); }
};

// Where the items of a firing come from.
struct ww_source { u32 level; bool host; };

#include "private.cuh"

struct ww_warp {
    const ww_arguments& a;
    u32 lane, number;
    u32* activity;
    u32 acted;        // what it says
    u64* counts;      // of the warp
    u32 more;         // items of the channel that were ready when the last firing had taken its own
    u32 put_off;      // a bit for each of 32 kernels of which a firing was put off and none has been since
    ww_clocks clocks;
    ww_spans spans;

    __device__ __forceinline__ u32 below(u32 mask) const { return __popc(mask & ((1u << lane) - 1u)); }
    __device__ __forceinline__ u32* credit(u32 number) const { return a.credits + APART * number; }

    template<u32 C> __device__ __forceinline__ auto queue(u32 level) const {
        using Channel = ww_channel<C>;
        const u32 number = Channel::QUEUE + (Channel::LEVELS - 1 - level) * Channel::STRIDE;
        constexpr u64 elements = 1ull << Channel::SHIFT;
        using Queue = ww_queue<Channel::SHIFT, Channel::WORDS>;
        return Queue{a.queues + 2 * APART * number, a.states + Channel::STATES + level * elements * LINE,
            a.items + Channel::ITEMS + level * elements * Queue::PADDED_WORDS};
    }

    // Takes `each` credits for as many of `most` items as there are. For how many.
    __device__ __forceinline__ u32 reserve(u32 number, u32 each, u32 most) const {
        if (each == 0 || most == 0) return most;
        u32 got = 0;
        if (lane == 0) {
            i32 free = (i32)ww_load_relaxed(credit(number));
            while (true) {
                const u32 fit = free <= 0 ? 0 : min(most, (u32)free / each);
                if (fit == 0) break;
                free = (i32)ww_add_relaxed(credit(number), 0u - fit * each);
                if (free >= (i32)(fit * each)) {
                    got = fit;
                    break;
                }
                ww_add_relaxed(credit(number), fit * each);
            }
        }
        return __shfl_sync(ALL, got, 0);
    }
    __device__ __forceinline__ void give(u32 number, u32 count) const {
        if (lane == 0 && count > 0) ww_add_relaxed(credit(number), count);
    }

    __device__ __forceinline__ void count(u32 kernel, u32 what, u64 more) const {
        if (lane == 0) counts[kernel * COUNTS + what] += more;
    }

    // Ends the run; the first reason counts. What is wrong counts more than that the host is to drain: it would launch again.
    __device__ __forceinline__ bool end(u32 status, u32 kernel = 0, u32 site = 0) const {
        u32 before = ww_compare_relaxed(a.record, RUNNING, status);
        if (before == DRAIN && status > STUCK && ww_compare_relaxed(a.record, DRAIN, status) == DRAIN) before = RUNNING;
        if (before != RUNNING) return false;
        a.record[1] = kernel;
        a.record[2] = site;
        return true;
    }

    // Items that a lane takes at once at most, one after the other: as many as registers hold, where no channel has levels.
    template<u32 K> __device__ static constexpr u32 units() {
        using Kernel = typename ww_node<K>::Kernel;
        constexpr u32 bytes = sizeof(typename Kernel::Item) + sizeof(typename Kernel::Outs);
        return !WW_AGGREGATED || ww_group<ww_node<K>::OWN>::LEVELS > 1 || bytes > 80 ? 1 : bytes > 40 ? 2 : MOST_UNITS;
    }
    // So many items are more than all warps take at once.
    __device__ __forceinline__ u32 plenty() const { return max(32 * MOST_UNITS, 32 * gridDim.x * WW_WARPS / WW_QUEUES); }

    // As `fire`, of a kernel that emits into its own channel only: the warp keeps the items, and calls the kernel until none is left.
    template<u32 K> __device__ __forceinline__ bool fire_private(ww_source from, u32 most) {
        using Node = ww_node<K>;
        using Item = typename Node::Kernel::Item;
        const u32 credits = ww_group<Node::OWN>::CREDITS + from.level;
        const auto in = queue<Node::INPUT>(from.level);
        most = min(most, 32u);
        u32 free = 0, first = 0, got = 0, left = 0;
        if (lane == 0) {
            free = ww_load_relaxed(credit(credits));
            if (from.host) got = of_host<K>(most, first);
            else got = in.dispatch(most, first, left);
        }
        got = __shfl_sync(ALL, got, 0);
        first = __shfl_sync(ALL, first, 0) + lane;
        if (got == 0) return false;
        if (lane == 0) {
            *(volatile u32*)activity = ++acted;
            counts[K * COUNTS + 3] = min(counts[K * COUNTS + 3], (u64)max((i32)free, 0));
        }
        ww_private<K, ww_warp> own{*this, ww_private_words[number % WW_WARPS] + Node::PRIVATE_AT};
        const u64 began = spans.now();
        bool there = true;
        if (lane < got) {
            Item item;
            if (from.host) item = ((const Item*)a.first[K].items)[first];
            else there = take(in, first, item);
            own.put(lane, item, from.level);
        }
        if (!__all_sync(ALL, there)) return ends();
        if (!from.host) {
            give(credits, got);
            ww_fence_gpu();
            if (lane < got) in.release(first);
        }
        const u32 consumed = own.run(got);
        if (lane == 0) {
            *(volatile u32*)activity = ++acted;
            spans.add(began, K, consumed);
        }
        more = 0;
        return true;
    }

    // By one lane: at most `most` items of the host.
    template<u32 K> __device__ __forceinline__ u32 of_host(u32 most, u32& first) const {
        first = ww_add_relaxed(a.taken + APART * K, most);
        const u32 all = (u32)a.first[K].count;
        return first < all ? min(most, all - first) : 0;
    }

    // Fires kernel K with at most `most` items. Whether it did.
    template<u32 K> __device__ __forceinline__ bool fire(ww_source from, u32 most) {
        using Node = ww_node<K>;
        using Group = ww_group<Node::OWN>;
        constexpr u32 input = Node::INPUT;
        constexpr bool leveled = Group::LEVELS > 1;
        const u32 next = leveled ? from.level + 1 : 0;
        const bool deeper = next < Group::LEVELS;
        constexpr u32 UNITS = units<K>();
        most = min(most, 32 * UNITS);
        const u32 own_each = leveled || from.host ? Node::OWN_BOUND : Node::OWN_BOUND > 0 ? Node::OWN_BOUND - 1 : 0;

        // Room for what they may emit, everywhere.
        const u32 free = lane == 0 ? ww_load_relaxed(credit(Group::CREDITS + from.level)) : 0;
        u32 room = deeper ? reserve(Group::CREDITS + next, own_each, most) : most;
        u32 own_room = room;
        Node::others([&](u32 number, u32 bound, bool to_host) {
            if (room == 0) return;
            const u32 got = reserve(number, bound, room);
            if (to_host && got == 0 && lane == 0) end(DRAIN);
            if (got < room) Node::others([&](u32 earlier, u32 other, bool) {
                if (earlier < number) give(earlier, (room - got) * other);
            });
            room = got;
        });
        if (deeper) give(Group::CREDITS + next, (own_room - room) * own_each);
        own_room = room;
        if (room == 0) {
            if ((put_off >> K % 32 & 1) == 0) {
                count(K, 2, 1);
                spans.put_off();
            }
            put_off |= 1u << K % 32;
            return false;
        }

        // The items.
        const auto in = queue<input>(from.level);
        u32 first = 0, got = 0, left = 0;
        bool alone = false;
        if (!WW_AGGREGATED && !from.host) {
            alone = lane < room && in.dispatch(1, first, left) == 1;
            got = __popc(__ballot_sync(ALL, alone));
        } else if (lane == 0) {
            if (from.host) got = of_host<K>(room, first);
            else got = in.dispatch(room, first, left);
        }
        const bool together = WW_AGGREGATED || from.host;
        if (together) {
            got = __shfl_sync(ALL, got, 0);
            first = __shfl_sync(ALL, first, 0) + lane;
        }
        auto on = [&](u32 u) { return together ? 32 * u + lane < got : alone; };
        // Credits of the consumed items pass on to what they emit, or go back.
        const bool passes = !leveled && Node::OWN_BOUND > 0;
        const u32 held = deeper ? own_room * own_each + (passes && !from.host ? got : 0) : 0;
        if (got == 0) {
            if (deeper) give(Group::CREDITS + next, held);
            Node::others([&](u32 number, u32 bound, bool) { give(number, room * bound); });
            return false;
        }
        put_off &= ~(1u << K % 32);
        const u64 began = spans.now();
        if (lane == 0) *(volatile u32*)activity = ++acted;
        using Item = typename Node::Kernel::Item;
        Item items[UNITS];
        bool there = true;
#pragma unroll
        for (u32 u = 0; u < UNITS; ++u) {
            if (!on(u)) continue;
            if (from.host) items[u] = ((const Item*)a.first[K].items)[first + 32 * u];
            else there = take(in, first + 32 * u, items[u]) && there;
        }
        bool holds = !from.host;
        auto release = [&] {
#pragma unroll
            for (u32 u = 0; u < UNITS; ++u)
                if (holds && on(u)) in.release(first + 32 * u);
            holds = false;
        };
        if (!__all_sync(ALL, there)) return ends();
        if (!from.host && !passes) give(Group::CREDITS + from.level, got);

        // The calls.
        const typename Node::Kernel& kernel = *(const typename Node::Kernel*)(a.nodes + Node::OFFSET);
        typename Node::Kernel::Outs outs[UNITS];
        bool well = true, lives[UNITS];
#pragma unroll
        for (u32 u = 0; u < UNITS; ++u) lives[u] = on(u);
        u32 calls = got, consumed = 0, firings = 0;
        const u64 called = clocks.now();
        const u32 began_at = (u32)clock64();
        for (u32 round = 0;; ++round) {
#pragma unroll
            for (u32 u = 0; u < UNITS; ++u) {
                if (u > 0 && 32 * u >= got) break;
                ww_firing<typename Node::Kernel> firing{a};
                if (lives[u]) kernel(items[u], firing);
                __syncwarp();
                outs[u] = firing.outs;
                well = well && emitted_well<K>(kernel, outs[u], items[u], lives[u]);
            }
            consumed += calls;
            firings += (calls + 31) / 32;
            if constexpr (Node::CHAINED) {
                if (!well || round == CHAIN || (round % 4 == 0 && lasts(began_at)) || !stays(in, outs, calls)) break;
                if (holds) ww_fence_gpu();
                release();
#pragma unroll
                for (u32 u = 0; u < UNITS; ++u) {
                    lives[u] = outs[u]._0.count > 0;
                    items[u] = outs[u]._0.items[0];
                }
            } else break;
        }
        clocks.ran(called);
        more = 0;
        if (well) publish<K>(kernel, outs, from.level, deeper, got, room, held, release);
        // Also after a fault: another warp may wait for the elements.
        if (holds) ww_fence_gpu();
        release();
        if (well) {
            count(K, 0, consumed);
            count(K, 1, firings);
            if (lane == 0) counts[K * COUNTS + 3] = min(counts[K * COUNTS + 3], (u64)max((i32)free, 0));
        }
        if (lane == 0) {
            *(volatile u32*)activity = ++acted;
            spans.add(began, K, consumed);
        }
        if (!well) return true;
        if (!leveled) more = __shfl_sync(ALL, left, 0);
        return true;
    }

    // Whether so much time has passed that the warp is to look whether the run goes on; the same for all lanes.
    __device__ __forceinline__ bool lasts(u32 since) const { return __shfl_sync(ALL, (u32)clock64() - since, 0) > LONG_FIRING; }

    // Whether a warp calls the kernel again with what `calls` calls have emitted, one at most each: all have, or no others are ready.
    // Then `calls` is how many there are.
    template<class Queue, class Outs, u32 UNITS> __device__ __forceinline__ bool stays(Queue in, const Outs (&outs)[UNITS], u32& calls) const {
        u32 emitted = 0;
#pragma unroll
        for (u32 u = 0; u < UNITS; ++u) emitted += __popc(__ballot_sync(ALL, outs[u]._0.count > 0));
        if (emitted == 0) return false;
        if (emitted < calls) {
            const i32 ready = lane == 0 ? (i32)ww_load_relaxed(in.control + 1) : 0;
            if ((i32)__shfl_sync(ALL, (u32)ready, 0) > 0) return false;
        }
        calls = emitted;
        return true;
    }

    // Whether no call faulted or emitted more than the kernel declares.
    template<u32 K, class Kernel, class Outs, class Item>
    __device__ __forceinline__ bool emitted_well(const Kernel& kernel, Outs& outs, const Item& item, bool on) {
        u32 emitted = 0;
        bool fits = true;
        kernel.each(outs, [&](auto, auto& out) {
            emitted += out.count;
            fits = fits && !out.overflowed();
        });
        fits = fits && emitted <= ww_node<K>::TOTAL;
        const u32 fault = on ? ww_fetch_fault() : 0;
        if (!__any_sync(ALL, !fits || fault != 0)) return true;
        if (fault != 0 && end(FAULT, K, fault)) {
            u32 words[(sizeof(Item) + 3) / 4];
            memcpy(words, &item, sizeof(Item));
            for (u32 k = 0; k < sizeof(words) / 4; ++k) a.record[RECORD + k] = words[k];
        }
        if (!fits) end(TOO_MANY, K);
        __syncwarp();
        return false;
    }

    // Puts what was emitted into the channels, and gives back credits.
    template<u32 K, class Kernel, class Outs, u32 UNITS, class Release>
    __device__ __forceinline__ void publish(const Kernel& kernel, Outs (&outs)[UNITS], u32 level, bool deeper, u32 got, u32 room, u32 held, Release& release) {
        using Node = ww_node<K>;
        using Group = ww_group<Node::OWN>;
        u32 totals[Kernel::OUTS + 1] = {}, own = 0, inside = 0;
#pragma unroll
        for (u32 u = 0; u < UNITS; ++u) kernel.each(outs[u], [&](auto number, auto& out) {
            constexpr u32 J = decltype(number)::value;
            u32 total = 0;
            for (u32 k = 0; k < out.BOUND; ++k) {
                const u32 mask = __ballot_sync(ALL, out.count > k);
                if (mask == 0) break;
                total += __popc(mask);
            }
            using Channel = ww_channel<Node::target(J)>;
            totals[J] += total;
            if (Channel::GROUP == Node::OWN) own += total;
            if (!Channel::HOST) inside += total;
        });
        if (!deeper && own > 0) {
            if (lane == 0) end(TOO_DEEP, K);
            return;
        }
        // Before others can consume what comes.
        if (lane == 0 && inside != got) ww_add_relaxed(a.pending, inside - got);
        // One output after the other: a warp that waited for room with positions in two channels could wait for one that waits for it.
        kernel.each(outs[0], [&](auto number, auto& out) {
            constexpr u32 J = decltype(number)::value;
            constexpr u32 C = Node::target(J);
            if (totals[J] == 0) return;
            auto walk = [&](auto&& put) {
                u32 at = 0;
#pragma unroll
                for (u32 u = 0; u < UNITS; ++u) kernel.each(outs[u], [&](auto other, auto& its) {
                    if constexpr (decltype(other)::value == J) at += placed(its, [&](u32 k, const auto& item) { put(at + k, item); });
                });
            };
            if constexpr (ww_channel<C>::HOST) to_host<C>(out, walk, totals[J]);
            else to_queue(queue<C>(ww_channel<C>::GROUP == Node::OWN && Group::LEVELS > 1 ? level + 1 : 0), walk, totals[J], release);
        });
        if (deeper) give(Group::CREDITS + (Group::LEVELS > 1 ? level + 1 : 0), held - own);
        Node::others([&](u32 number, u32 bound, bool) {
            u32 used = 0;
            kernel.each(outs[0], [&](auto other, auto&) {
                constexpr u32 J = decltype(other)::value;
                if (ww_group<ww_channel<Node::target(J)>::GROUP>::CREDITS == number) used += totals[J];
            });
            give(number, room * bound - used);
        });
    }

    // Calls `put` for each item with its place: first items of all lanes, then second ones. How many they are.
    template<class Out, class Put> __device__ __forceinline__ u32 placed(Out& out, Put&& put) const {
        u32 at = 0;
        auto one = [&](u32 k) {
            const u32 mask = __ballot_sync(ALL, out.count > k);
            if (out.count > k) put(at + below(mask), out.items[k]);
            at += __popc(mask);
            return mask != 0;
        };
        if constexpr (Out::BOUND <= 8) {
#pragma unroll
            for (u32 k = 0; k < Out::BOUND; ++k) one(k);
        } else {
            for (u32 k = 0; k < Out::BOUND && one(k); ++k) {}
        }
        __syncwarp();
        return at;
    }

    // Waits for the item of a dispatched position. False: the run has failed, and it may never come, since `await` leaves then too.
    template<class Queue, class Item> __device__ __forceinline__ bool take(Queue from, u32 position, Item& item) const {
        for (u32 tries = 1; !from.is_ready(position); ++tries) {
            if (tries % 64 == 0 && ww_load_relaxed(a.record) >= STUCK) return false;
            __nanosleep(20);
        }
        item = from.template read<Item>(position);
        return true;
    }
    // A firing without a call: the run has failed. That something fired.
    __device__ __forceinline__ bool ends() {
        if (lane == 0) *(volatile u32*)activity = ++acted;
        more = 0;
        return true;
    }

    // Waits until the element of the position is free, or the run has failed: then what is written there does not count.
    template<class Queue> __device__ __forceinline__ void await(Queue to, u32 position) const {
        while (!to.is_free(position) && ww_load_relaxed(a.record) < STUCK) __nanosleep(20);
    }

    // `walk` calls what it is given for each item that was emitted, with its place.
    template<class Queue, class Walk, class Release> __device__ __forceinline__ void to_queue(Queue to, Walk& walk, u32 total, Release& release) const {
        if (!WW_AGGREGATED) {
            ww_fence_gpu();
            release();
            walk([&](u32, const auto& item) {
                const u32 at = to.reserve(1);
                await(to, at);
                to.write(at, item);
                ww_fence_gpu();
                to.publish(at);
            });
            return;
        }
        u32 first = 0;
        if (lane == 0) first = to.reserve(total);
        first = __shfl_sync(ALL, first, 0);
        // A warp that has to wait gives its own elements back first: others may wait for those.
        bool free = true;
        walk([&](u32 at, const auto&) { free = free && to.is_free(first + at); });
        if (!__all_sync(ALL, free)) {
            ww_fence_gpu();
            release();
            walk([&](u32 at, const auto&) { await(to, first + at); });
        }
        walk([&](u32 at, const auto& item) { to.write(first + at, item); });
        // What was read and what was written.
        ww_fence_gpu();
        release();
        walk([&](u32 at, const auto&) { to.publish(first + at); });
    }

    template<u32 C, class Out, class Walk> __device__ __forceinline__ void to_host(Out&, Walk& walk, u32 total) const {
        u32 first = 0;
        if (lane == 0) first = ww_add_relaxed(a.drained + APART * C, total);
        first = __shfl_sync(ALL, first, 0);
        using Item = typename Out::Item;
        walk([&](u32 at, const auto& item) { ((Item*)a.host[C])[first + at] = item; });
    }

    __device__ __forceinline__ bool dispatch(u32 kernel, ww_source from, u32 most) {
        switch (kernel) {
#define WW_CASE(k)                                                              \
    case k:                                                                     \
        if constexpr (ww_node<k>::ENTRIES > 0) return fire_private<k>(from, most); \
        else return fire<k>(from, most);
            WW_EACH_KERNEL(WW_CASE)
#undef WW_CASE
        }
        return false;
    }

    // The queue to serve of those in `mask`, of 32 from `base` on.
    __device__ __forceinline__ u32 first_of(u32 mask, u32 base) const {
        if constexpr (ww_is_flat()) {
            const u32 queues = base >= WW_QUEUES ? 0 : min(WW_QUEUES - base, 32u);
            const u32 own = queues == 0 ? 0 : mask & ~((1u << number % queues) - 1u) & (queues == 32 ? ALL : (1u << queues) - 1u);
            if (own != 0) return __ffs(own) - 1;
        }
        return __ffs(mask) - 1;
    }

    // Fires, if anything can: some times in a row where whole warps of items are ready.
    __device__ __forceinline__ bool step(u32 since) {
        constexpr u32 all = WW_QUEUES + WW_KERNELS;
        for (u32 least = 32; least > 0; least = least == 32 ? 1 : 0) {
            for (u32 base = 0; base < all; base += 32) {
                const u32 mine = base + lane;
                i32 items = 0;
                u32 kernel = 0, level = 0;
                if (mine < WW_QUEUES) {
                    items = (i32)ww_load_relaxed(a.queues + 2 * APART * mine + 1);
                    kernel = WW_SERVED[mine] >> 16;
                    level = WW_SERVED[mine] & 0xffffu;
                } else if (mine < all) {
                    kernel = mine - WW_QUEUES;
                    const u32 count = (u32)a.first[kernel].count;
                    items = count > 0 ? (i32)(count - min(count, ww_load_relaxed(a.taken + APART * kernel))) : 0;
                }
                u32 mask = __ballot_sync(ALL, items >= (i32)least);
                while (mask != 0) {
                    const u32 best = first_of(mask, base);
                    mask &= ~(1u << best);
                    const u32 there = __shfl_sync(ALL, (u32)items, best);
                    u32 most = there >= plenty() ? 32 * MOST_UNITS : min(there, 32u), fired = 0;
                    const ww_source from{__shfl_sync(ALL, level, best), base + best >= WW_QUEUES};
                    const u32 its = __shfl_sync(ALL, kernel, best);
                    while (dispatch(its, from, most)) {
                        most = more >= plenty() ? 32 * MOST_UNITS : 32;
                        if (++fired == IN_A_ROW || more < 32 || lasts(since)) return true;
                    }
                    if (fired > 0) return true;
                }
            }
        }
        return false;
    }

    // Whether no warp fires, and how often all have, by all lanes.
    __device__ __forceinline__ bool idle(u64& fired) const {
        const u32 warps = gridDim.x * WW_WARPS;
        bool firing = false;
        u32 sum = 0;
        for (u32 warp = lane; warp < warps; warp += 32) {
            const u32 seen = ww_load_relaxed(a.activity + warp);
            firing = firing || seen % 2 == 1;
            sum += seen;
        }
        for (u32 k = 16; k > 0; k /= 2) sum += __shfl_sync(ALL, sum, lane ^ k);
        fired = sum;
        return !__any_sync(ALL, firing);
    }

    __device__ __forceinline__ void run() {
        u64 since = 0, fired = 0;
        u32 turns = 0, steps = 0;
        while (true) {
            u32 status = RUNNING, left = 1;
            if (steps % STEPS == 0 && lane == 0) {
                status = ww_load_relaxed(a.record);
                left = ww_load_relaxed(a.pending);
            }
            if (__shfl_sync(ALL, status, 0) != RUNNING || __shfl_sync(ALL, left, 0) == 0) return;
            const u64 searched = clocks.now();
            const u32 since_step = (u32)clock64();
            if (step(since_step)) {
                if (lane == 0) spans.ends_wait(WW_KERNELS);
                turns = 0;
                steps = lasts(since_step) ? 0 : steps + 1;
                continue;
            }
            steps = 0;
            turns = min(turns + 1, 64u);
            // At once, and less and less often: others may have taken what was handed over.
            if (WW_PRIVATE_WORDS > 1 && (turns & (turns - 1)) == 0 && lane == 0 &&
                (i32)ww_load_relaxed(a.pending + WANTED) < (i32)(gridDim.x * WW_WARPS))
                ww_add_relaxed(a.pending + WANTED, 1);
            __nanosleep(64 * turns);
            clocks.waited(searched);
            spans.waits();
            // By one warp, and only now and then: it reads a word of every warp.
            if (turns < 64 || blockIdx.x > 0 || threadIdx.x >= 32) continue;
            u64 now = lane == 0 ? ww_nanoseconds() : 0;
            now = ww_from_lane_0(now);
            u64 seen = 0;
            if (!idle(seen) || since == 0 || seen != fired) {
                since = now;
                fired = seen;
            } else if (now - since > a.patience) {
                if (lane == 0) end(STUCK);
                return;
            }
        }
    }

    __device__ __forceinline__ u64 ww_from_lane_0(u64 value) const {
        const u32 low = __shfl_sync(ALL, (u32)value, 0), high = __shfl_sync(ALL, (u32)(value >> 32), 0);
        return (u64)high << 32 | low;
    }
};

extern "C" __global__ void __launch_bounds__(32 * WW_WARPS, WW_RESIDENT) channels_flow(const __grid_constant__ ww_arguments a) {
    ww_begin_faults();
    const u32 own = threadIdx.x / 32, lane = threadIdx.x % 32, number = blockIdx.x * WW_WARPS + own;
    for (u32 k = lane; k < WW_KERNELS * COUNTS; k += 32) ww_counts[own][k] = k % COUNTS == 3 ? ~0ull : 0;
    __syncwarp();
    ww_warp warp{a, lane, number, a.activity + number, a.activity[number], ww_counts[own], 0, 0};
    warp.clocks.begin();
    warp.spans.begin(a.spans, number);
    warp.run();
    if (lane == 0) warp.spans.end();
    if (lane == 0) warp.clocks.add_to(a.counts + WW_KERNELS * COUNTS);
    __syncwarp();
    for (u32 k = lane; k < WW_KERNELS * COUNTS; k += 32) {
        if (k % COUNTS == 3) atomicMin(a.counts + k, ww_counts[own][k]);
        else if (ww_counts[own][k] > 0) atomicAdd(a.counts + k, ww_counts[own][k]);
    }
}
