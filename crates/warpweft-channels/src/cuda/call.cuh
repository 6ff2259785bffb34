// Calls as they lie in memory, and how a value goes to the call that waits for it.
//
// An item is a call that is to be run, a frame one that waits. Most are on the stack of one lane (lane.cuh), where 32
// lanes' words alternate. Here is what they are where others may reach them, in global memory: an item is
// 8 bytes that say where its value goes, then its arguments; a frame is the same 8 bytes, how many calls it
// waits for, the piece it goes on with, its `Live`, and its arguments if it needs them.
#pragma once
#include "words.cuh"

using ww::u32;
using ww::u64;

constexpr u32 NONE = 0xffffffffu, ALL = 0xffffffffu;
constexpr u32 FRAME_HEAD = 16;
// How the value of a call arrives.
enum : u32 { STORE = 0, ADD = 1, OR = 2, XOR = 3, NOWHERE = 4 };
// Why a run ends: the last of them is that all is done.
enum : u32 { TOO_DEEP = 1, TOO_MANY = 2, DONE = 255 };

// What stays the same wherever a call lies: offset in the Live that its value goes to, how it arrives there, the call's
// function. Then, of an item on a stack, its level, from 0; of a frame its piece.
__device__ __forceinline__ u32 make_head(u32 offset, u32 how, u32 number, u32 last) {
    return offset | how << 12 | number << 15 | last << 19;
}
__device__ __forceinline__ u32 offset_of(u32 head) { return head & 0xfffu; }
__device__ __forceinline__ u32 how_of(u32 head) { return head >> 12 & 7u; }
__device__ __forceinline__ u32 number_of(u32 head) { return head >> 15 & 15u; }
__device__ __forceinline__ u32 last_of(u32 head) { return head >> 19; }
__device__ __forceinline__ u32 with_last(u32 head, u32 last) { return (head & 0x7ffffu) | last << 19; }

// In global memory: a head with the level as its last, whether the value goes to a root, and to which root or frame.
__device__ __forceinline__ u64 make_back(u32 parent, u32 root, u32 head) {
    return parent | (u64)(head | root << 31) << 32;
}
__device__ __forceinline__ u32 parent_of(u64 back) { return (u32)back; }
__device__ __forceinline__ u32 head_of(u64 back) { return (u32)(back >> 32) & 0x7fffffffu; }
__device__ __forceinline__ u32 to_root(u64 back) { return (u32)(back >> 63); }

__host__ __device__ constexpr u32 larger(u32 a, u32 b) { return a > b ? a : b; }
__host__ __device__ constexpr u32 words_of(u32 bytes) { return (bytes + 3u) / 4u; }

// Sizes over all functions; the host asks for them.
#define WW_SIZE(F) words = larger(words, words_of(sizeof(F)));
__host__ __device__ constexpr u32 largest_call() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) words = larger(words, words_of(sizeof(typename F::Live)) + (F::KEEPS ? words_of(sizeof(F)) : 0u));
__host__ __device__ constexpr u32 largest_live() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) spawns = larger(spawns, F::SPAWNS);
__host__ __device__ constexpr u32 most_spawns() { u32 spawns = 0; WW_FUNCTIONS(WW_SIZE) return spawns; }
#undef WW_SIZE
#define WW_SIZE(F) loops = loops || F::LOOPS;
__host__ __device__ constexpr bool any_loops() { bool loops = false; WW_FUNCTIONS(WW_SIZE) return loops; }
#undef WW_SIZE
#define WW_SIZE(F) fits = fits && sizeof(typename F::Live) <= 4096 && alignof(F) <= 8 && alignof(typename F::Live) <= 8;
__host__ __device__ constexpr bool all_fit() { bool fits = true; WW_FUNCTIONS(WW_SIZE) return fits; }
#undef WW_SIZE
static_assert(all_fit(), "variables that live while a call waits take 4096 bytes at most, aligned to 8 at most");

#define WW_SIZE(F) words = larger(words, words_of(sizeof(typename F::Output)));
__host__ __device__ constexpr u32 largest_output() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE

constexpr u32 CALL_WORDS = largest_call(), LIVE_WORDS = larger(largest_live(), largest_output());
// Bytes in global memory; words on a lane's stack.
constexpr u32 ITEM = 8 + (CALL_WORDS + 1) / 2 * 8, FRAME = (FRAME_HEAD + 4 * LIVE_WORDS + 15u) / 16u * 16u;
constexpr u32 ITEM_WORDS = 1 + CALL_WORDS, FRAME_WORDS = 1 + LIVE_WORDS;
extern "C" __device__ u32 ww_sizes[6] = {ITEM, FRAME, ITEM_WORDS, FRAME_WORDS, most_spawns(), any_loops() ? 1u : 0u};

// What all warps share; the counters are 128 bytes apart.
struct ww_arguments {
    const unsigned char* roots;    // calls, as they lie in Rust
    unsigned char* results;        // a value a root
    unsigned char* frames;         // [warps][frames_each]
    u32* free_frames;              // [warps][frames_each]
    u32* returned;                 // [warps], a list of frames that others freed, each by its word `pending`
    unsigned char* rings;          // [warps][ring]
    u32* stacks;                   // [warps][stack words][32 lanes], where stacks are not in shared memory
    u32* more;                     // [warps][quota items of a stack][32 lanes]
    unsigned char* slots;          // [channels][slots]: word, count, 120 bytes of nothing, 32 items
    u32* counters;
    u64* counts;                   // calls, given, steps, lanes, levels, moved, rounds
    u32 roots_count, roots_bytes, levels, quota, frames_each, ring, slots_count, every, idle;
    u32 stack_items, stack_frames; // of a lane; frames a power of two
    u32 channels;                  // of batches, 32 at most
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");
// The last: of each channel of batches, how many tickets were drawn and how many claimed.
enum : u32 { NEXT_ROOT = 0, RUNNING = 32, ROOTS_LEFT = 64, STATUS = 96, CHANNELS = 128 };

__device__ __forceinline__ unsigned char* frame_at(const ww_arguments& a, u32 frame) {
    return a.frames + (u64)frame * FRAME;
}
__device__ __forceinline__ u32* pending_of(unsigned char* frame) { return (u32*)(frame + 8); }
// The piece that the frame goes on with.
__device__ __forceinline__ u32* piece_of(unsigned char* frame) { return (u32*)(frame + 12); }

// Ends the run: the first reason stays, with a number that belongs to it.
__device__ __noinline__ void ww_end(const ww_arguments& a, u32 why, u32 number) {
    ww_compare_relaxed(a.counters + STATUS, 0u, why | number << 8);
}

// Gives `value` to a place in global memory, where others may come as well.
template<class T> __device__ __forceinline__ void combine(u32 how, unsigned char* place, const T& value) {
    if (how == STORE) *(T*)place = value;
    if constexpr (ww::num<T>::known && !ww::num<T>::real && sizeof(T) == 4) {
        if (how == ADD) atomicAdd((u32*)place, (u32)value);
        if (how == OR) atomicOr((u32*)place, (u32)value);
        if (how == XOR) atomicXor((u32*)place, (u32)value);
    }
    if constexpr (ww::num<T>::known && !ww::num<T>::real && sizeof(T) == 8) {
        if (how == ADD) atomicAdd((u64*)place, (u64)value);
        if (how == OR) atomicOr((u64*)place, (u64)value);
        if (how == XOR) atomicXor((u64*)place, (u64)value);
    }
}
