// The bounded queue of one channel, or of one level of a stack, in device memory: the array channel of Orr et al., section
// 3.2, with credits for its free elements.
//
// Arrays: items as structures of arrays in chunks of 32 elements, so that a warp's accesses coalesce; a word of state an
// element (in round r = position / elements: 2r available or reserved, 2r + 1 ready or dispatched, 2r + 2 done). Words that
// warps share: `tail`, positions reserved; `ready`, positions reserved and not dispatched; `head`, positions dispatched. The
// first two are one word of 64 bits, so that one addition does for both.
//
// Every operation is one atomic addition a warp, by its lane 0: under contention compare and swap succeeds once in a
// memory latency. `ready` and credits are semaphores: who takes more than there is puts it back. A warp that has
// dispatched a position may wait until its item is published, and one that has reserved a position until the item of
// the round before has been copied. Both wait only for warps that already have smaller positions, or the same, which wait for no
// room: the chain ends.
#pragma once
#include "words.cuh"

using ww::u32;
using ww::u64;
using i32 = ww::i32;

constexpr u32 ALL = 0xffffffffu;
// Words between two that different warps add to. The parts of the second-level cache take turns with addresses that are far apart: at
// 128 bytes all these words were in one part, and cost a third of the rate of eight channels (H200, 2026-11-28).
constexpr u32 APART = 1056;

// Words between two elements' states, and between words of items: 1, unless each element has cache lines of its own (figure 17).
#if WW_PADDED
constexpr u32 LINE = 32;
#else
constexpr u32 LINE = 1;
#endif

// A queue: SHIFT is log2 of its elements, at least 5; an item has WORDS words.
template<u32 SHIFT, u32 WORDS> struct ww_queue {
    static constexpr u32 ELEMENTS = 1u << SHIFT;
    // Of an element, where it has lines of its own.
    static constexpr u32 PADDED_WORDS = (WORDS + LINE - 1) / LINE * LINE;
    // Positions are those modulo 2^31, and rounds too.
    static constexpr u32 HALF = 1u << 31, ROUNDS = (u32)((1ull << (32 - SHIFT)) - 1);
    u32* control;  // tail and ready, head
    u32* states;
    u32* items;

    __device__ __forceinline__ static u32 available(u32 position) { return 2 * (position >> SHIFT); }
    __device__ __forceinline__ u32* state(u32 position) const { return states + LINE * (u64)(position & (ELEMENTS - 1)); }
    __device__ __forceinline__ u32* word(u32 position, u32 number) const {
        const u32 element = position & (ELEMENTS - 1);
        if constexpr (LINE > 1) return items + ((u64)element * PADDED_WORDS + number);
        return items + ((u64)(element / 32) * WORDS + number) * 32 + element % 32;
    }
    // Adds to both; what they were, `tail` in the lower half.
    __device__ __forceinline__ u64 add(u32 tail, u32 ready) const { return ww_add_long_relaxed((u64*)control, (u64)ready << 32 | tail); }
    __device__ __forceinline__ u32* head() const { return control + APART; }

    // By one lane: `count` positions, for items that are published later. The first.
    __device__ __forceinline__ u32 reserve(u32 count) const {
        const u32 first = (u32)add(count, count);
        // Long before the lower half overflows into the upper one.
        if (first < HALF && first + count >= HALF) ww_add_long_relaxed((u64*)control, 0ull - HALF);
        return first;
    }

    // By one lane: dispatches at most `most` items. How many, the first position, and how many items are left then.
    __device__ __forceinline__ u32 dispatch(u32 most, u32& first, u32& left) const {
        const i32 before = (i32)(add(0, 0u - most) >> 32);
        const u32 got = before >= (i32)most ? most : before > 0 ? (u32)before : 0;
        if (got < most) add(0, most - got);
        left = before > (i32)most ? (u32)before - most : 0;
        if (got > 0) first = ww_add_relaxed(head(), got);
        return got;
    }

    // Whether the lane that has dispatched the position may read: acquire, the item is written.
    __device__ __forceinline__ bool is_ready(u32 position) const {
        return ((ww_load_acquire_gpu(state(position)) ^ (available(position) + 1)) & ROUNDS) == 0;
    }
    // By the lane that has dispatched the position and seen that it is ready: the item. The element is free after `release`.
    template<class Item> __device__ __forceinline__ Item read(u32 position) const {
        u32 words[WORDS];
#pragma unroll
        for (u32 k = 0; k < WORDS; ++k) words[k] = *(volatile u32*)word(position, k);
        Item item;
        memcpy(&item, words, sizeof(Item));
        return item;
    }
    // After a fence, which says that the item has been read.
    __device__ __forceinline__ void release(u32 position) const { ww_store_relaxed(state(position), available(position) + 2); }

    // Whether the lane that has the position may write: the item of the round before has been read.
    __device__ __forceinline__ bool is_free(u32 position) const {
        return ((ww_load_acquire_gpu(state(position)) ^ available(position)) & ROUNDS) == 0;
    }

    // By the lane that has the position: the item, which nobody sees before `publish`.
    template<class Item> __device__ __forceinline__ void write(u32 position, const Item& item) const {
        u32 words[WORDS];
        words[WORDS - 1] = 0;
        memcpy(words, &item, sizeof(Item));
#pragma unroll
        for (u32 k = 0; k < WORDS; ++k) *(volatile u32*)word(position, k) = words[k];
    }

    // After a fence, which says that the item has been written.
    __device__ __forceinline__ void publish(u32 position) const { ww_store_relaxed(state(position), available(position) + 1); }
};
