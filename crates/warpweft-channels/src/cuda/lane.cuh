// The stack of one lane: calls to run (items) and calls that wait (frames), which no other lane touches.
//
// Items and frames lie apart; frames are a ring of fixed length. A lane follows one path of the tree: the frame of level l
// waits for what is below it, so there is one frame a level, from `first` to `level` - 1, and the newest items are
// children of the last frame. Where no such item is left, all calls of that frame have given their values and it goes on.
// So neither counters nor fences are needed. Items that one call spawns beyond the end of the stack go to `more`, in global
// memory; a lane with items there is full and does not go on. Values of calls of the first level go to `below`, a frame
// in global memory or a root. That costs as much as many steps, so the lane defers it (`owes`) until the next round of work
// sharing (stacks.cuh). The oldest items, with the frames that wait for them, may be moved to global memory too.
#pragma once
#include "call.cuh"

// Words of a stack, each lane's 32 from the next.
template<class T> __device__ __forceinline__ void put(u32* to, const T& value) {
    u32 words[words_of(sizeof(T))];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (u32 i = 0; i < words_of(sizeof(T)); ++i) to[32 * i] = words[i];
}
template<class T> __device__ __forceinline__ void get(const u32* from, T& value) {
    u32 words[words_of(sizeof(T))];
#pragma unroll
    for (u32 i = 0; i < words_of(sizeof(T)); ++i) words[i] = from[32 * i];
    memcpy(&value, words, sizeof(T));
}

// Gives `value` to the bytes from `offset` on, of words that only this lane touches.
template<class T> __device__ __forceinline__ void combine_own(u32 how, u32* live, u32 offset, const T& value) {
    if constexpr (sizeof(T) % 4 == 0 && alignof(T) >= 4) {
        u32* to = live + offset / 4 * 32;
        if (how == STORE) put(to, value);
        if constexpr (ww::num<T>::known && !ww::num<T>::real && sizeof(T) <= 8) {
            if (how == ADD || how == OR || how == XOR) {
                T held;
                get(to, held);
                const u64 a = (u64)held, b = (u64)value;
                put(to, (T)(how == ADD ? a + b : how == OR ? a | b : a ^ b));
            }
        }
    } else if (how == STORE) {
        unsigned char bytes[sizeof(T)];
        memcpy(bytes, &value, sizeof(T));
        for (u32 i = 0; i < sizeof(T); ++i) ((unsigned char*)(live + (offset + i) / 4 * 32))[(offset + i) % 4] = bytes[i];
    }
}

struct ww_lane {
    const ww_arguments& a;
    u32 *items, *frames;    // this lane's first words
    u32* more;              // items beyond the last, as many as one call may spawn
    u32 low, top;           // items: the oldest, 0 but while some are moved away, and one past the newest
    u32 first, level;       // frames: their levels
    u32 below, root;        // where values of level `first` go, and whether to a root
    u32 done;               // a frame in global memory that has nothing left to wait for
    bool owes;              // a value to what is below, which lies with its head where frame `level` would
    u32 calls, steps, deepest;

    __device__ __forceinline__ u32* item(u32 place) const {
        const bool here = place < a.stack_items;
        return (here ? items : more) + (here ? place : place - a.stack_items) * (32 * ITEM_WORDS);
    }
    __device__ __forceinline__ u32* frame(u32 level) const { return frames + (level & (a.stack_frames - 1)) * (32 * FRAME_WORDS); }
    __device__ __forceinline__ bool busy() const { return (top != 0) | (level != first); }
    // Whether there is little room left: what is beyond the end of the stack is slow to move.
    __device__ __forceinline__ bool full() const {
        return (top > a.stack_items - min(a.quota, a.stack_items / 4)) | (level - first >= a.stack_frames);
    }
    // The level of the oldest item; without one, of what the last frame waits for.
    __device__ __forceinline__ u32 oldest() const { return top != low ? last_of(*item(low)) : level; }
    // Whether there is something to run without the oldest item.
    __device__ __forceinline__ bool spares() const {
        return top - low >= 2 || (top - low == 1 && last_of(*item(low)) != level);
    }

    // An item from global memory, for an idle lane.
    __device__ __forceinline__ void take(const u32* from) {
        const u64 back = *(const u64*)from;
        below = parent_of(back);
        root = to_root(back);
        first = level = last_of(head_of(back));
        low = 0;
        top = 1;
        u32* to = item(0);
        *to = head_of(back);
        for (u32 i = 0; i < CALL_WORDS; ++i) to[32 * (i + 1)] = from[2 + i];
    }
    // The oldest item goes to global memory.
    __device__ __forceinline__ void move_item(u32* to) {
        const u32* from = item(low);
        *(u64*)to = make_back(below, root, *from);
        for (u32 i = 0; i < CALL_WORDS; ++i) to[2 + i] = from[32 * (i + 1)];
        ++low;
    }
    // Items left behind move to where the oldest were.
    __device__ __forceinline__ void close_up() {
        for (u32 i = low; i < top; ++i) {
            u32 words[ITEM_WORDS];
            for (u32 k = 0; k < ITEM_WORDS; ++k) words[k] = item(i)[32 * k];
            for (u32 k = 0; k < ITEM_WORDS; ++k) item(i - low)[32 * k] = words[k];
        }
        top -= low;
        low = 0;
    }
    // The first frame goes to global memory, to be number `id` there; no item is older.
    __device__ __forceinline__ void move_frame(u32 id) {
        const u32* from = frame(first);
        unsigned char* to = frame_at(a, id);
        const u32 head = *from;
        *(u64*)to = make_back(below, root, with_last(head, first));
        // It waits for the items of the next level, and for the next frame.
        u32 waits = level != first + 1;
        for (u32 i = low; i != top && last_of(*item(i)) == first + 1; ++i) ++waits;
        *pending_of(to) = waits;
        *piece_of(to) = last_of(head);
        for (u32 i = 0; i < LIVE_WORDS; ++i) ((u32*)(to + FRAME_HEAD))[i] = from[32 * (i + 1)];
        below = id;
        root = 0;
        ++first;
    }
    // The frame `done` comes from global memory; the lane has nothing else.
    __device__ __forceinline__ void adopt() {
        unsigned char* from = frame_at(a, done);
        const u64 back = *(const u64*)from;
        below = parent_of(back);
        root = to_root(back);
        first = last_of(head_of(back));
        level = first + 1;
        u32* to = frame(first);
        *to = with_last(head_of(back), *piece_of(from));
        for (u32 i = 0; i < LIVE_WORDS; ++i) to[32 * (i + 1)] = ((const u32*)(from + FRAME_HEAD))[i];
        done = NONE;
    }

    // The value of a call of level `level`.
    template<class T> __device__ __forceinline__ void deliver(u32 head, const T& value) {
        owes = level == first;
        if (owes) {
            *frame(level) = head;
            put(frame(level) + 32, value);
        } else {
            combine_own(how_of(head), frame(level - 1) + 32, offset_of(head), value);
        }
    }
    // Gives what is owed.
    template<class T> __device__ __forceinline__ void settle_as(u32 head) {
        T value;
        get(frame(level) + 32, value);
        if (root) {
            ((T*)a.results)[below] = value;
            if (ww_add_acq_rel_gpu(a.counters + ROOTS_LEFT, NONE) == 1) ww_end(a, DONE, 0);
        } else {
            unsigned char* to = frame_at(a, below);
            combine(how_of(head), to + FRAME_HEAD + offset_of(head), value);
            // Release: the value is there; acquire, for the last: so are all others'.
            if (ww_add_acq_rel_gpu(pending_of(to), NONE) == 1) done = below;
        }
    }
    __device__ __forceinline__ void settle() {
        owes = false;
        const u32 head = *frame(level);
#define WW_CASE(F) case F::NUMBER: settle_as<typename F::Output>(head); break;
        switch (number_of(head)) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
    }

    // Adds what it did to the whole grid's.
    __device__ __forceinline__ void count() {
        atomicAdd(a.counts, (u64)calls);
        atomicAdd(a.counts + 3, (u64)steps);
        calls = steps = 0;
    }

    template<class F> __device__ __forceinline__ void begin(u32 head, const u32* from);
    template<class F> __device__ __forceinline__ void resume(u32 head);

    // Whether the newest item is a child of the last frame, or of what is below.
    __device__ __forceinline__ bool has_item() const {
        return top != 0 && last_of(items[(top - 1) * (32 * ITEM_WORDS)]) == level;
    }
    // Runs the newest item; then, or without one, the last frame goes on if all that it waited for is done.
    __device__ __forceinline__ void step() {
        ++steps;
        if (has_item()) {
            --top;
            ++calls;
            const u32* from = items + top * (32 * ITEM_WORDS);
            const u32 head = *from;
            deepest = max(deepest, level + 1);
            if (level >= a.levels) {
                ww_end(a, TOO_DEEP, number_of(head));
                top = 0;
                level = first;
                return;
            }
#define WW_CASE(F) case F::NUMBER: begin<F>(head, from); break;
            const u32 before = level;
            switch (number_of(head)) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
            // What it spawned may lie beyond the end of the stack.
            if (level != before) return;
        }
        if (level != first && !has_item()) {
            --level;
            const u32 head = *frame(level);
#define WW_CASE(F) case F::NUMBER: resume<F>(head); break;
            switch (number_of(head)) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
        }
    }
};

// What the pieces of a function call. No warp-wide operation is allowed here: lanes diverge.
template<class F> struct ww_activation {
    ww_lane& lane;
    u32 before, end, at;    // items before it spawned; where its place for them ends
    u32* to;                // where the next one goes
    bool waits;
    typename F::Output value;

    template<class G, int HOW> __device__ __forceinline__ void spawn(u64 offset, const G& given) {
        *to = make_head((u32)offset, HOW, G::NUMBER, lane.level + 1);
        put(to + 32, given);
        to += 32 * ITEM_WORDS;
        // Beyond the end of the stack, and again from its start where there are too many.
        if (++lane.top == end) {
            to = lane.more;
            end += lane.a.quota;
        }
    }
    // Whether the call must wait before it goes on with piece `piece`.
    __device__ __forceinline__ bool wait(u32 piece) {
        if (lane.top == before) return false;
        if (F::LOOPS && lane.top - before > lane.a.quota) {
            ww_end(lane.a, TOO_MANY, F::NUMBER);
            lane.top = before;
            return false;
        }
        at = piece;
        return waits = true;
    }
    __device__ __forceinline__ void give(const typename F::Output& given) { value = given; }
};

// A call of level `level`, which has neither item nor frame meanwhile: it begins.
template<class F> __device__ __forceinline__ void ww_lane::begin(u32 head, const u32* from) {
    constexpr u32 GIVEN = 32 * (1 + words_of(sizeof(typename F::Live)));
    u32* to = frame(level);
    ww_activation<F> own{*this, top, a.stack_items, 0, items + top * (32 * ITEM_WORDS), false};
    F given;
    typename F::Live live;
    get(from + 32, given);
    given.run(own, 0, live);
    if (own.waits) {
        put(to + 32, live);
        if (F::KEEPS) put(to + GIVEN, given);
        *to = with_last(head, own.at);
        ++level;
    } else {
        deliver(head, own.value);
    }
}

// It goes on.
template<class F> __device__ __forceinline__ void ww_lane::resume(u32 head) {
    constexpr u32 GIVEN = 32 * (1 + words_of(sizeof(typename F::Live)));
    u32* to = frame(level);
    const u32 end = top < a.stack_items ? a.stack_items : a.stack_items + a.quota;
    ww_activation<F> own{*this, top, end, 0, item(top), false};
    F given;
    typename F::Live live;
    get(to + 32, live);
    if (F::KEEPS) get(to + GIVEN, given);
    const u32 piece = last_of(head);
    // It has begun.
    if (piece == 0 || piece >= F::PIECES) __builtin_unreachable();
    given.run(own, piece, live);
    if (own.waits) {
        put(to + 32, live);
        *to = with_last(head, own.at);
        ++level;
    } else {
        deliver(head, own.value);
    }
}
