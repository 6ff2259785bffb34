// Private items of a warp (ADR 130): those that a recursive kernel emits into the channel that it consumes, if it emits into no other.
//
// Of each warp and kernel: a ring of entries in shared memory, an item with its level. The warp calls the kernel with up to 32 entries
// from the top, the last ones that were emitted. While warps are idle, it hands entries from the bottom over to them, through the channel:
// these are the oldest, so the largest subtrees.
//
// Room: a call of BOUND = MORE + 1 items at most adds MORE entries. Calls are together only if SERIAL = LEVELS * MORE entries stay free
// whatever they emit; else the topmost entry alone is consumed. All entries that then come above are its descendants, MORE at most
// of each level next to the one that goes on, so they fit: nothing waits for room. (Entries that go from the bottom leave more room.)
//
// The warp's items count in `pending` by at least 1 while it has any: `change` is what the count lacks.
#pragma once

// Additions of a lane to one word that are not in memory yet.
struct ww_partial { void* word; u64 value; };

template<class Kernel, u32 SUMS, u32 BUFFERS> struct ww_private_firing {
    const ww_arguments& a;
    ww_partial (&partials)[BUFFERS];
    typename Kernel::Outs outs;
    template<class T> WW_FN ww::shared<T> buffer(u32 number) const {
        const ww_words& it = a.buffers[number % HANDLES];
        return {(T*)it.words, it.count};
    }
    template<class T, u32 J> WW_FN auto sum(u32 number) {
        if constexpr ((SUMS >> J & 1) != 0) return ww::sum_of<T>{buffer<T>(number), partials[J].word, partials[J].value};
        else return buffer<T>(number);
    }
};

template<u32 K, class Warp> struct ww_private {
    using Node = ww_node<K>;
    using Group = ww_group<Node::OWN>;
    using Kernel = typename Node::Kernel;
    using Item = typename Kernel::Item;
    static constexpr u32 WORDS = ww_channel<Node::INPUT>::WORDS, ENTRIES = Node::ENTRIES, MORE = Node::OWN_BOUND - 1;
    static constexpr u32 SERIAL = Group::LEVELS * MORE;
    static_assert(ENTRIES >= SERIAL + 32 + MORE && (ENTRIES & (ENTRIES - 1)) == 0, "room for the items that come");
    // Firings between two checks whether the run goes on and others want items, and the cycles of a call after which the next firing checks: all
    // warps read the same words, about one in a cycle of the whole GPU at most.
    static constexpr u32 CHECK = 4, LONG = 4096;

    Warp& warp;
    u32* words;
    u32 bottom = 0, top = 0;
    i32 change = 0;

    __device__ __forceinline__ u32& word(u32 at, u32 number) const { return words[number * ENTRIES + (at & (ENTRIES - 1))]; }
    __device__ __forceinline__ void put(u32 at, const Item& item, u32 level) const {
        u32 all[WORDS];
        all[WORDS - 1] = 0;
        memcpy(all, &item, sizeof(Item));
#pragma unroll
        for (u32 k = 0; k < WORDS; ++k) word(at, k) = all[k];
        word(at, WORDS) = level;
    }
    __device__ __forceinline__ Item get(u32 at) const {
        u32 all[WORDS];
#pragma unroll
        for (u32 k = 0; k < WORDS; ++k) all[k] = word(at, k);
        Item item;
        memcpy(&item, all, sizeof(Item));
        return item;
    }

    // Calls the kernel with the first `count` entries and all that come of them, unless others take those, or the run ends. How often.
    __device__ __forceinline__ u32 run(u32 count) {
        const Kernel& kernel = *(const Kernel*)(warp.a.nodes + Node::OFFSET);
        ww_partial partials[Node::BUFFERS] = {};
        u64 items = 0;
        u32 firings = 0;
        bool slow = false;
        top = count;
        while (top != bottom) {
            const bool checks = slow || firings % CHECK == 0;
            const u32 began = (u32)clock64();
            u32 status = RUNNING, wanted = 0;
            // They arrive while the kernel runs.
            if (checks && warp.lane == 0) {
                status = ww_load_relaxed(warp.a.record);
                wanted = ww_load_relaxed(warp.a.pending + WANTED);
            }
            const u32 calls = together();
            if (!call(kernel, partials, calls)) return (u32)items;
            items += calls;
            ++firings;
            slow = __shfl_sync(ALL, (u32)clock64() - began, 0) > LONG;
            if (!checks) continue;
            if (__shfl_sync(ALL, status, 0) != RUNNING) return (u32)items;
            if ((i32)__shfl_sync(ALL, wanted, 0) > 0) hand_over();
        }
        add_partials(partials);
        warp.count(K, 0, items);
        warp.count(K, 1, firings);
        settle();
        return (u32)min(items, (u64)~0u);
    }

    // Entries to consume at once.
    __device__ __forceinline__ u32 together() const {
        const u32 held = top - bottom;
        if (MORE == 0) return min(held, 32u);
        const u32 free = ENTRIES - SERIAL - min(held, ENTRIES - SERIAL);
        return min(min(held, 32u), max(free / max(MORE, 1u), 1u));
    }

    // Whether all is well after `calls` calls.
    __device__ __forceinline__ bool call(const Kernel& kernel, ww_partial (&partials)[Node::BUFFERS], u32 calls) {
        top -= calls;
        const bool on = warp.lane < calls;
        const u32 next = on ? word(top + warp.lane, WORDS) + 1 : 0;
        Item item;
        if (on) item = get(top + warp.lane);
        const u64 called = warp.clocks.now();
        ww_private_firing<Kernel, Node::SUMS, Node::BUFFERS> firing{warp.a, partials};
        if (on) kernel(item, firing);
        __syncwarp();
        warp.clocks.ran(called);
        if (!warp.template emitted_well<K>(kernel, firing.outs, item, on)) return false;
        u32 at = top;
        bool deep = false;
        kernel.each(firing.outs, [&](auto, auto& out) {
            deep = deep || (out.count > 0 && next >= Group::LEVELS);
            at += warp.placed(out, [&](u32 k, const auto& its) { put(at + k, its, next); });
        });
        if (__any_sync(ALL, deep)) {
            if (warp.lane == 0) warp.end(TOO_DEEP, K);
            return false;
        }
        change += (i32)(at - top) - (i32)calls;
        top = at;
        return true;
    }

    // What the warp holds counts in `pending`.
    __device__ __forceinline__ void settle() {
        if (change != 0 && warp.lane == 0) ww_add_relaxed(warp.a.pending, (u32)change);
        change = 0;
    }

    // Puts the oldest entries of one level into the channel, at most half of all, if a request for them is left.
    __device__ __forceinline__ void hand_over() {
        const u32 held = top - bottom, half = min(held / 2, 32u);
        if (half == 0) return;
        bool claims = false;
        if (warp.lane == 0) {
            claims = (i32)ww_add_relaxed(warp.a.pending + WANTED, ~0u) > 0;
            if (!claims) ww_add_relaxed(warp.a.pending + WANTED, 1);
        }
        if (!__any_sync(ALL, claims)) return;
        const u32 own = warp.lane < half ? word(bottom + warp.lane, WORDS) : NONE, level = __shfl_sync(ALL, own, 0);
        const u32 others = __ballot_sync(ALL, own != level);
        const u32 count = warp.reserve(Group::CREDITS + level, 1, others == 0 ? 32 : __ffs(others) - 1);
        if (count == 0) return;
        // Before others can consume what comes.
        settle();
        const auto to = warp.template queue<Node::INPUT>(level);
        u32 first = 0;
        if (warp.lane == 0) first = to.reserve(count);
        first = __shfl_sync(ALL, first, 0) + warp.lane;
        if (warp.lane < count) {
            warp.await(to, first);
            to.write(first, get(bottom + warp.lane));
        }
        ww_fence_gpu();
        if (warp.lane < count) to.publish(first);
        bottom += count;
        __syncwarp();
    }

    // Adds what lanes have to memory: by one addition where all have the same word.
    __device__ __forceinline__ void add_partials(ww_partial (&partials)[Node::BUFFERS]) const {
#pragma unroll
        for (u32 j = 0; j < Node::BUFFERS; ++j) {
            if ((Node::SUMS >> j & 1) == 0) continue;
            const u64 word = (u64)partials[j].word;
            const u32 mask = __ballot_sync(ALL, word != 0);
            if (mask == 0) continue;
            const u32 leader = __ffs(mask) - 1;
            const u32 low = __shfl_sync(ALL, (u32)word, leader), high = __shfl_sync(ALL, (u32)(word >> 32), leader);
            u64 value = partials[j].value;
            const bool same = __all_sync(ALL, word == 0 || word == ((u64)high << 32 | low));
            if (same)
                for (u32 k = 16; k > 0; k /= 2)
                    value += (u64)__shfl_sync(ALL, (u32)(value >> 32), warp.lane ^ k) << 32 | __shfl_sync(ALL, (u32)value, warp.lane ^ k);
            if (word == 0 || (same && warp.lane != leader)) continue;
            if ((Node::WIDE >> j & 1) != 0) atomicAdd((u64*)word, value);
            else atomicAdd((u32*)word, (u32)value);
        }
    }
};
