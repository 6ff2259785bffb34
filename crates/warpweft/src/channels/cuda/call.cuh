// Calls as they lie in memory, and what a lane does for the one that it runs.
//
// An item is a call that is to be run: 8 bytes that say where its value goes, then its arguments. A frame is
// a call that waits: the same 8 bytes, how many calls it waits for, the piece it goes on with, its `Live`, and
// its arguments if it needs them. Frames lie in global memory, so that any warp may give a frame a value.
//
// A frame that isn't marked as SHARED waits for calls of one warp alone, and so do all below it: giving an item
// away marks the frames above it, as far up as none is marked. The values of such a frame need no fence: who
// gives them and who reads them meet at a __syncwarp in between.
#pragma once
#include "words.cuh"

using ww::u32;
using ww::u64;

constexpr u32 NONE = 0xffffffffu;
constexpr u32 FRAME_HEAD = 16, SHARED = 1u << 31;
// How the value of a call arrives. AGAIN is no call, but a frame that goes on.
enum : u32 { STORE = 0, ADD = 1, OR = 2, XOR = 3, NOWHERE = 4, AGAIN = 5 };
// Why a run ends: the last of them is that all is done.
enum : u32 { TOO_DEEP = 1, TOO_MANY = 2, NO_FRAME = 3, DONE = 255 };

// Where a value goes: frame or root, offset in the frame's Live, how, whether to a root; and of the call
// itself its level, from 0, and its function.
__device__ __forceinline__ u64 make_back(u32 parent, u64 offset, u32 how, u32 root, u32 level, u32 number) {
    return parent | offset << 32 | (u64)how << 44 | (u64)root << 47 | (u64)level << 48 | (u64)number << 60;
}
__device__ __forceinline__ u32 parent_of(u64 back) { return (u32)back; }
__device__ __forceinline__ u32 offset_of(u64 back) { return (u32)(back >> 32) & 0xfffu; }
__device__ __forceinline__ u32 how_of(u64 back) { return (u32)(back >> 44) & 7u; }
__device__ __forceinline__ bool to_root(u64 back) { return (back >> 47 & 1u) != 0; }
__device__ __forceinline__ u32 level_of(u64 back) { return (u32)(back >> 48) & 0xfffu; }
__device__ __forceinline__ u32 number_of(u64 back) { return (u32)(back >> 60); }

__host__ __device__ constexpr u32 larger(u32 a, u32 b) { return a > b ? a : b; }
__host__ __device__ constexpr u32 whole(u32 bytes) { return (bytes + 7u) / 8u * 8u; }

// Sizes over all functions; the host asks for them.
#define WW_SIZE(F) item = larger(item, whole(sizeof(F)));
__host__ __device__ constexpr u32 largest_call() { u32 item = 0; WW_FUNCTIONS(WW_SIZE) return item; }
#undef WW_SIZE
#define WW_SIZE(F) live = larger(live, whole(sizeof(typename F::Live)) + (F::KEEPS ? whole(sizeof(F)) : 0u));
__host__ __device__ constexpr u32 largest_live() { u32 live = 0; WW_FUNCTIONS(WW_SIZE) return live; }
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

constexpr u32 ITEM = 8 + largest_call(), ITEM_WORDS = largest_call() / 4;
constexpr u32 FRAME = (FRAME_HEAD + largest_live() + 15u) / 16u * 16u;
extern "C" __device__ u32 ww_sizes[4] = {ITEM, FRAME, most_spawns(), any_loops() ? 1u : 0u};

// What all warps share; the counters are 128 bytes apart.
struct ww_arguments {
    const unsigned char* roots;    // calls, as items have them
    unsigned char* results;        // a value a root
    unsigned char* frames;         // [warps][frames_each]
    u32* free_frames;              // [warps][frames_each]
    u32* returned;                 // [warps], a list of frames that others freed, each by its word `pending`
    unsigned char* rings;          // [warps][ring], where rings are not in shared memory
    unsigned char* slots;          // [slots]: word, count, 120 bytes of nothing, 32 items
    u32* counters;
    u64* counts;                   // calls, given, turns, lanes, levels
    u32 roots_count, roots_bytes, levels, quota, frames_each, ring, slots_count, every, shared;
    u32 reserved;
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");
enum : u32 { NEXT_ROOT = 0, HEAD = 32, TAIL = 64, RUNNING = 96, ROOTS_LEFT = 128, STATUS = 160 };

__device__ __forceinline__ unsigned char* frame_at(const ww_arguments& a, u32 frame) {
    return a.frames + (u64)frame * FRAME;
}
__device__ __forceinline__ u32* pending_of(unsigned char* frame) { return (u32*)(frame + 8); }
// The piece that the frame goes on with, and its mark.
__device__ __forceinline__ u32* piece_of(unsigned char* frame) { return (u32*)(frame + 12); }
__device__ __forceinline__ u32 piece_at(unsigned char* frame) { return *piece_of(frame) & ~SHARED; }

// Ends the run: the first reason stays, with a number that belongs to it.
__device__ __noinline__ void ww_end(const ww_arguments& a, u32 why, u32 number) {
    ww_compare_relaxed(a.counters + STATUS, 0u, why | number << 8);
}

// Gives `value` to the place where it goes.
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

// What the pieces of a function ask for. Nothing in it is done by the warp together: lanes go different ways.
struct ww_lane {
    const ww_arguments& a;
    unsigned char* ring;
    u32* top;             // of the ring, in shared memory
    u32 low;              // the ring's oldest item
    u64 back;             // of the call that runs
    u32 frame;            // where it waits if it must
    u32 spawned, at;
    u32 next;             // the frame that has nothing left to wait for, if this was its last value
    bool waits, gave;

    // A place of the ring for each lane that comes here now; NONE if there are too few.
    __device__ __forceinline__ u32 claim() {
        const u32 mask = __activemask(), lane = threadIdx.x & 31u, leader = __ffs(mask) - 1;
        u32 first = 0;
        if (lane == leader) first = atomicAdd(top, (u32)__popc(mask));
        const u32 place = __shfl_sync(mask, first, leader) + __popc(mask & ((1u << lane) - 1u));
        return place - low < a.ring ? place : NONE;
    }

    template<class G, int HOW> __device__ __forceinline__ void spawn(u64 offset, const G& given) {
        const u32 level = level_of(back) + 1;
        if (level >= a.levels) { ww_end(a, TOO_DEEP, G::NUMBER); return; }
        const u32 place = claim();
        if (place == NONE) { ww_end(a, TOO_MANY, number_of(back)); return; }
        unsigned char* to = ring + (u64)(place & (a.ring - 1)) * ITEM;
        *(u64*)to = make_back(frame, offset, HOW, 0, level, G::NUMBER);
        *(G*)(to + 8) = given;
        ++spawned;
    }

    // Whether the call must wait before it goes on with piece `piece`.
    __device__ __forceinline__ bool wait(u32 piece) {
        if (spawned == 0) return false;
        at = piece;
        return waits = true;
    }

    template<class T> __device__ __forceinline__ void give(const T& value) {
        gave = true;
        const u32 parent = parent_of(back);
        if (to_root(back)) {
            ((T*)a.results)[parent] = value;
            if (ww_add_acq_rel_gpu(a.counters + ROOTS_LEFT, NONE) == 1) ww_end(a, DONE, 0);
            return;
        }
        unsigned char* to = frame_at(a, parent);
        combine(how_of(back), to + FRAME_HEAD + offset_of(back), value);
        // Release: the value is there; acquire, for the last: so are all others'.
        const u32 before = *piece_of(to) & SHARED ? ww_add_acq_rel_gpu(pending_of(to), NONE)
                                                  : ww_add_relaxed(pending_of(to), NONE);
        if (before == 1) next = parent;
    }

    // The state of a call that waits goes into its frame. Those it waits for run after this turn.
    template<class F> __device__ __forceinline__ void keep(const F& given, const typename F::Live& live, bool first) {
        unsigned char* to = frame_at(a, frame);
        if (first) {
            *(u64*)to = back;
            if (F::KEEPS) *(F*)(to + FRAME_HEAD + whole(sizeof(live))) = given;
        }
        *pending_of(to) = spawned;
        // Not marked: all that it waits for is in this warp's ring.
        *piece_of(to) = at;
        *(typename F::Live*)(to + FRAME_HEAD) = live;
    }

    template<class F> __device__ __forceinline__ void begin(const u32* words) {
        F given;
        memcpy(&given, words, sizeof(F));
        typename F::Live live;
        given.run(*this, 0, live);
        if (waits) keep<F>(given, live, true);
    }

    template<class F> __device__ __forceinline__ void resume() {
        unsigned char* from = frame_at(a, frame);
        typename F::Live live = *(const typename F::Live*)(from + FRAME_HEAD);
        F given;
        if (F::KEEPS) given = *(const F*)(from + FRAME_HEAD + whole(sizeof(live)));
        given.run(*this, piece_at(from), live);
        if (waits) keep<F>(given, live, false);
    }
};

// The function of a number, by name.
__device__ __forceinline__ void begin_call(ww_lane& lane, const u32* words) {
#define WW_CASE(F) case F::NUMBER: lane.begin<F>(words); break;
    switch (number_of(lane.back)) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
}
__device__ __forceinline__ void resume_call(ww_lane& lane) {
#define WW_CASE(F) case F::NUMBER: lane.resume<F>(); break;
    switch (number_of(lane.back)) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
}
// Whether neither this piece nor any after it spawns: then it may run where the last value arrived.
__device__ __forceinline__ bool is_quiet(u32 number, u32 at) {
#define WW_CASE(F) case F::NUMBER: return (F::SPAWNING >> at) == 0;
    switch (number) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
    return false;
}
