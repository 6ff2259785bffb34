// The stack of each lane of a warp: frames as words, a window of the newest, chunks of the oldest.
#pragma once

// Frames of more words are copied in loops.
constexpr u32 LONG = 48, UNROLLED = larger(RECORD, WORDS) > LONG ? 1 : larger(RECORD, WORDS);

// Word `i` of a frame in a window: its label, if that is in the frame, then the words of the call.
WW_FN u32& word(u32 i, u32& at, u32* call) {
    constexpr u32 FIRST = LABEL_BITS == 0 ? 1 : 0;
    return i < FIRST ? at : call[i - FIRST];
}

// Frames on a stack. In shared memory, which is addressed by 32 bits, pushes and pops are predicated, not branched to:
// lanes of a warp that push and others that don't stay together. A frame's words are in groups of four, then of two, then of one;
// a group of a frame is together for each lane.
#if WW_SHARED
// Where a lane's groups of four words, of two and of one begin.
struct ww_place { u32 four, two, one; };
template<u32 AT> WW_FN void load_groups(const ww_place& from, u32& at, u32* call, u32 on) {
    constexpr u32 LEFT = STACKED - AT;
    if constexpr (LEFT >= 4) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%5]; }"
                     : "+r"(word(AT, at, call)), "+r"(word(AT + 1, at, call)), "+r"(word(AT + 2, at, call)), "+r"(word(AT + 3, at, call))
                     : "r"(on), "r"(from.four + 128 * AT) : "memory");
        load_groups<AT + 4>(from, at, call, on);
    } else if constexpr (LEFT >= 2) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared.v2.u32 {%0, %1}, [%3]; }"
                     : "+r"(word(AT, at, call)), "+r"(word(AT + 1, at, call)) : "r"(on), "r"(from.two + 128 * AT) : "memory");
        load_groups<AT + 2>(from, at, call, on);
    } else if constexpr (LEFT == 1) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u32 %0, [%2]; }"
                     : "+r"(word(AT, at, call)) : "r"(on), "r"(from.one + 128 * AT) : "memory");
    }
}
template<u32 AT> WW_FN void store_groups(const ww_place& to, u32& at, u32* call, u32 on) {
    constexpr u32 LEFT = STACKED - AT;
    if constexpr (LEFT >= 4) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v4.u32 [%1], {%2, %3, %4, %5}; }"
                     :: "r"(on), "r"(to.four + 128 * AT), "r"(word(AT, at, call)), "r"(word(AT + 1, at, call)),
                        "r"(word(AT + 2, at, call)), "r"(word(AT + 3, at, call)) : "memory");
        store_groups<AT + 4>(to, at, call, on);
    } else if constexpr (LEFT >= 2) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v2.u32 [%1], {%2, %3}; }"
                     :: "r"(on), "r"(to.two + 128 * AT), "r"(word(AT, at, call)), "r"(word(AT + 1, at, call)) : "memory");
        store_groups<AT + 2>(to, at, call, on);
    } else if constexpr (LEFT == 1) {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.u32 [%1], %2; }"
                     :: "r"(on), "r"(to.one + 128 * AT), "r"(word(AT, at, call)) : "memory");
    }
}
WW_FN void load_words(const ww_place& from, u32& at, u32* call, bool on) {
    if constexpr (STACKED <= LONG) load_groups<0>(from, at, call, (u32)on);
    else if (on)
        for (u32 i = 0; i < STACKED; ++i) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word(i, at, call)) : "r"(from.one + 128 * i) : "memory");
}
WW_FN void store_words(const ww_place& to, u32& at, u32* call, bool on) {
    if constexpr (STACKED <= LONG) store_groups<0>(to, at, call, (u32)on);
    else if (on)
        for (u32 i = 0; i < STACKED; ++i) asm volatile("st.shared.u32 [%0], %1;" :: "r"(to.one + 128 * i), "r"(word(i, at, call)) : "memory");
}
#else
using ww_place = u32*;
WW_FN void load_words(ww_place from, u32& at, u32* call, bool on) {
    if (on)
        for (u32 i = 0; i < STACKED; ++i) word(i, at, call) = from[32 * i];
}
WW_FN void store_words(ww_place to, u32& at, u32* call, bool on) {
    if (on)
        for (u32 i = 0; i < STACKED; ++i) to[32 * i] = word(i, at, call);
}
#endif
// The same of a frame with its label before the words of the call.
WW_FN void load_frame(const ww_place& from, u32 (&words)[RECORD], bool on) { load_words(from, words[0], words + 1, on); }
WW_FN void store_frame(const ww_place& to, u32 (&words)[RECORD], bool on) { store_words(to, words[0], words + 1, on); }

#if !WW_BLOCK_TEAMS
// The present call of a lane and its stack.
struct ww_frames {
    const ww_arguments& a;
    const ww_watchdog& dog;
#if WW_UNIFORM
    const WW_ROOT& only_root;
#endif
#if WW_SHARED
    u32 stack;                  // of lane 0
#else
    u32* stack;
#endif
    u32 lane, warp;
#if WW_SHARED
    ww_place mine;              // this lane's groups of the window's first frame
#endif

    u32 call[WORDS], at;        // the present call and where it goes on; 0: nowhere
    u32 child[WORDS], child_at; // the call it spawned
    u32 labels;                 // of the frames in the window, the newest lowest, where they are few bits
    u32 push, low;              // the newest and the oldest end of the window, in frames that there ever were
    u32 newest, oldest;         // chunks in global memory
    u32 taken, spilled;         // frames that are gone from the oldest; frames in all of them
    u32 spare;                  // chunks of this lane that are free
    u32 spills, calls;

    WW_FN void begin_frames() {
        labels = 0;
        at = child_at = push = low = taken = spilled = spills = calls = 0;
        newest = oldest = spare = NONE;
#if WW_SHARED
        mine = {stack + 16 * lane, stack + 8 * lane, stack + 4 * lane};
#endif
    }

#if WW_UNIFORM
    WW_FN const WW_ROOT& uniform() const { return only_root; }
#endif

    WW_FN u32 inside(u32 frame) const { return (frame & (a.window - 1)) * FRAME_BYTES; }
    WW_FN ww_place place(u32 frame) const {
#if WW_SHARED
#if WW_JOINS
        return {mine.four + inside(frame), mine.two + inside(frame), mine.one + inside(frame)};
#else
        // Of sums a lane keeps fewer words: more warps fit.
        return place(lane, frame);
#endif
#else
        return (u32*)((unsigned char*)stack + inside(frame)) + lane;
#endif
    }
    // In the window of lane `of`.
    WW_FN ww_place place(u32 of, u32 frame) const {
#if WW_SHARED
        const u32 from = stack + inside(frame);
        return {from + 16 * of, from + 8 * of, from + 4 * of};
#else
        return (u32*)((unsigned char*)stack + inside(frame)) + of;
#endif
    }
    WW_FN u32 below(u32 mask) const { return __popc(mask & ((1u << lane) - 1u)); }

#if !WW_JOINS
    // A frame as words, and back.
    WW_FN void pack(u32 (&words)[RECORD]) const {
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) words[i] = call[i];
        if constexpr (LABELLED) words[WORDS] = at;
    }
    WW_FN void unpack(const u32 (&words)[RECORD], bool on) {
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) call[i] = words[i];
        if constexpr (LABELLED) at = words[WORDS];
        else if (on) at = WW_ROOT::SUM_LATER;
    }
#endif

#if WW_JOINS
    // A label as a number of few bits, and back. A number that is no other function's is the last one's.
#define WW_CASE(F)                                                                                                                \
    if (F::NUMBER + 1 == FUNCTIONS || number < before + F::PUSHED) return F::pushed_at(number - before) | F::NUMBER << FUNCTION;  \
    before += F::PUSHED;
    static WW_FN u32 unpacked_label(u32 number) {
        u32 before = 0;
        WW_FUNCTIONS(WW_CASE)
        return 0;
    }
#undef WW_CASE
#define WW_CASE(F)                                                                                                                  \
    if (F::NUMBER + 1 == FUNCTIONS || its_at >> FUNCTION == F::NUMBER) return before + F::pushed(its_at - (F::NUMBER << FUNCTION)); \
    before += F::PUSHED;
    static WW_FN u32 packed_label(u32 its_at) {
        u32 before = 0;
        WW_FUNCTIONS(WW_CASE)
        return 0;
    }
#undef WW_CASE
    // That of a frame in the window.
    WW_FN u32 label_of(u32 frame) const {
        return unpacked_label(labels >> LABEL_BITS * (push - 1 - frame) & ((1u << LABEL_BITS) - 1));
    }
#else
    static WW_FN u32 packed_label(u32) { return 0; }
    WW_FN u32 label_of(u32) const { return 0; }
#endif
    WW_FN u32 frames() const { return push - low + spilled; }
    WW_FN void become_child() {
#if WW_JOINS
        constexpr u32 STARTS = largest_start();
#else
        constexpr u32 STARTS = WORDS;
#endif
#pragma unroll UNROLLED
        for (u32 i = 0; i < STARTS; ++i) call[i] = child[i];
        at = child_at;
    }

    // Chunks.
    WW_FN u32* chunk(u32 number) const { return a.pool + (u64)number * CHUNK_WORDS; }
    WW_FN void free_chunk(u32 number) {
        chunk(number)[0] = spare;
        spare = number;
    }
    // The oldest frames of the window go to global memory.
    WW_FN void spill_chunk() {
        u32 number = spare;
        if (number != NONE) {
            spare = chunk(number)[0];
        } else {
            number = ww_add_relaxed(a.counters + CHUNKS, 1);
            if (number >= a.chunks) {
                ww_end(a, TOO_DEEP);
                low = push;
                return;
            }
        }
        u32* to = chunk(number);
        to[0] = newest;
        to[1] = NONE;
        for (u32 i = 0; i < CHUNK; ++i) {
            u32 words[RECORD];
            load_frame(place(low), words, true);
            if constexpr (LABEL_BITS != 0) words[0] = label_of(low);
            for (u32 k = 0; k < RECORD; ++k) to[2 + i * RECORD + k] = words[k];
            ++low;
        }
        if (newest != NONE) {
            chunk(newest)[1] = number;
        } else {
            oldest = number;
            taken = 0;
        }
        newest = number;
        spilled += CHUNK;
        spills += CHUNK;
    }
    // The newest chunk comes back into the window, which is empty.
    WW_FN void refill() {
        const u32 number = newest;
        const u32* from = chunk(number);
        push = low = 0;
        for (u32 i = number == oldest ? taken : 0; i < CHUNK; ++i) {
            u32 words[RECORD];
            for (u32 k = 0; k < RECORD; ++k) words[k] = from[2 + i * RECORD + k];
            store_frame(place(push), words, true);
            if constexpr (LABEL_BITS != 0) labels = labels << LABEL_BITS | packed_label(words[0]);
            ++push;
            --spilled;
        }
        newest = number == oldest ? NONE : from[0];
        if (newest == NONE) oldest = NONE;
        else chunk(newest)[1] = NONE;
        free_chunk(number);
    }
    // There is room for the frames of the next steps. False: there was already.
    WW_FN bool keep_window() {
        const bool over = push - low > a.window - a.every;
        const bool dry = spilled != 0 && push == low;
        if (!__any_sync(ALL, over || dry)) return false;
        while (push - low > a.window - a.every) spill_chunk();
        if (dry) refill();
        __syncwarp();
        return true;
    }
    // The oldest frame of lane `of`, whose window and chunks are these.
    WW_FN void read_oldest(u32 of, u32 its_low, u32 its_oldest, u32 its_taken, u32 (&words)[RECORD], bool on) {
        if (on && its_oldest != NONE) {
            const u32* from = chunk(its_oldest) + 2 + its_taken * RECORD;
            for (u32 k = 0; k < RECORD; ++k) words[k] = from[k];
        }
        load_frame(place(of, its_low), words, on && its_oldest == NONE);
        if constexpr (LABEL_BITS != 0)
            if (on && its_oldest == NONE) words[0] = label_of(its_low);
    }
    // It is gone.
    WW_FN void drop_oldest() {
        if (oldest == NONE) {
            ++low;
            return;
        }
        --spilled;
        if (++taken < CHUNK) return;
        const u32 number = oldest;
        taken = 0;
        oldest = number == newest ? NONE : chunk(number)[1];
        if (oldest == NONE) newest = NONE;
        free_chunk(number);
    }
};
#endif
