// The bounded queue of one channel, or of one level of a stack, in device memory: the array channel of Orr et al., section
// 3.2, with credits for its free elements.
//
// Arrays: items as structures of arrays in chunks of 32 elements, so that a warp's accesses coalesce; a word of state an
// element (in round r = position / elements: 2r available or reserved, 2r + 1 ready or dispatched, 2r + 2 done). Words that
// warps share: `tail`, positions reserved; `ready`, items published and not dispatched; `head`, positions dispatched.
//
// Every operation is one atomic addition a warp, by its lane 0: under contention compare and swap succeeds once in a
// memory latency. `ready` and credits are semaphores: who takes more than there is puts it back. A warp that has
// dispatched a position may wait until its item is published, and one that has reserved a position until the item of
// the round before has been copied. Both wait only for warps that already have smaller positions, which wait for no room: the
// chain ends.
#pragma once
#include "words.cuh"

using ww::u32;
using ww::u64;
using i32 = ww::i32;

constexpr u32 ALL = 0xffffffffu;
// Words between two that different warps add to.
constexpr u32 APART = 32;

// A queue: SHIFT is log2 of its elements, at least 5; an item has WORDS words.
template<u32 SHIFT, u32 WORDS> struct ww_queue {
    static constexpr u32 ELEMENTS = 1u << SHIFT;
    // Positions wrap, and with them rounds.
    static constexpr u32 ROUNDS = (u32)((1ull << (33 - SHIFT)) - 1);
    u32* control;  // tail, ready, head
    u32* states;
    u32* items;

    __device__ __forceinline__ static u32 available(u32 position) { return 2 * (position >> SHIFT); }
    __device__ __forceinline__ u32* state(u32 position) const { return states + (position & (ELEMENTS - 1)); }
    __device__ __forceinline__ u32* word(u32 position, u32 number) const {
        const u32 element = position & (ELEMENTS - 1);
        return items + ((u64)(element / 32) * WORDS + number) * 32 + element % 32;
    }
    __device__ __forceinline__ u32* tail() const { return control; }
    __device__ __forceinline__ u32* ready() const { return control + APART; }
    __device__ __forceinline__ u32* head() const { return control + 2 * APART; }

    // By one lane: dispatches at most `most` items. How many, the first position, and how many items are left then.
    __device__ __forceinline__ u32 dispatch(u32 most, u32& first, u32& left) const {
        const i32 before = (i32)ww_add_relaxed(ready(), 0u - most);
        const u32 got = before >= (i32)most ? most : before > 0 ? (u32)before : 0;
        if (got < most) ww_add_relaxed(ready(), most - got);
        left = before > (i32)most ? (u32)before - most : 0;
        if (got > 0) first = ww_add_relaxed(head(), got);
        return got;
    }

    // By the lane that has dispatched the position: the item. The element is free after `release`.
    template<class Item> __device__ __forceinline__ Item take(u32 position) const {
        u32* at = state(position);
        // Acquire: the item is written.
        while (((ww_load_acquire_gpu(at) ^ (available(position) + 1)) & ROUNDS) != 0) __nanosleep(20);
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
