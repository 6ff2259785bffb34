// The stack of each lane of a warp: frames as words, a window of the newest, chunks of the oldest.
#pragma once

constexpr u32 UNROLLED = RECORD > 48 ? 1 : RECORD;

// Frames on a stack. In shared memory, which is addressed by 32 bits, pushes and pops are predicated, not branched to:
// lanes of a warp that push and others that don't stay together.
#if WW_SHARED
constexpr u32 VECTOR = RECORD % 4 == 0 ? 4 : RECORD % 2 == 0 ? 2 : 1;
using ww_place = u32;
WW_FN void load_frame(ww_place from, u32 (&words)[RECORD], bool on) {
#pragma unroll UNROLLED
    for (u32 i = 0; i < RECORD; i += VECTOR) {
        const u32 at = from + 128 * i;
        if constexpr (VECTOR == 4)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%5]; }"
                         : "+r"(words[i]), "+r"(words[i + 1]), "+r"(words[i + 2]), "+r"(words[i + 3])
                         : "r"((u32)on), "r"(at) : "memory");
        else if constexpr (VECTOR == 2)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared.v2.u32 {%0, %1}, [%3]; }"
                         : "+r"(words[i]), "+r"(words[i + 1]) : "r"((u32)on), "r"(at) : "memory");
        else
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u32 %0, [%2]; }"
                         : "+r"(words[i]) : "r"((u32)on), "r"(at) : "memory");
    }
}
WW_FN void store_frame(ww_place to, const u32 (&words)[RECORD], bool on) {
#pragma unroll UNROLLED
    for (u32 i = 0; i < RECORD; i += VECTOR) {
        const u32 at = to + 128 * i;
        if constexpr (VECTOR == 4)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v4.u32 [%1], {%2, %3, %4, %5}; }"
                         :: "r"((u32)on), "r"(at), "r"(words[i]), "r"(words[i + 1]), "r"(words[i + 2]), "r"(words[i + 3])
                         : "memory");
        else if constexpr (VECTOR == 2)
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v2.u32 [%1], {%2, %3}; }"
                         :: "r"((u32)on), "r"(at), "r"(words[i]), "r"(words[i + 1]) : "memory");
        else
            asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.u32 [%1], %2; }"
                         :: "r"((u32)on), "r"(at), "r"(words[i]) : "memory");
    }
}
#else
constexpr u32 VECTOR = 1;
using ww_place = u32*;
WW_FN void load_frame(ww_place from, u32 (&words)[RECORD], bool on) {
    if (on)
        for (u32 i = 0; i < RECORD; ++i) words[i] = from[32 * i];
}
WW_FN void store_frame(ww_place to, const u32 (&words)[RECORD], bool on) {
    if (on)
        for (u32 i = 0; i < RECORD; ++i) to[32 * i] = words[i];
}
#endif

// The present call of a lane and its stack.
struct ww_frames {
    const ww_arguments& a;
    const ww_watchdog& dog;
#if WW_UNIFORM
    const WW_ROOT& only_root;
#endif
    ww_place stack;             // of lane 0
    u32 lane, warp;

    u32 call[WORDS], at;        // the present call and where it goes on; 0: nowhere
    u32 child[WORDS], child_at; // the call it spawned
    u32 push, low;              // the newest and the oldest end of the window, in frames that there ever were
    u32 newest, oldest;         // chunks in global memory
    u32 taken, spilled;         // frames that are gone from the oldest; frames in all of them
    u32 spare;                  // chunks of this lane that are free
    u32 spills, calls;

    WW_FN void begin_frames() {
        at = child_at = push = low = taken = spilled = spills = calls = 0;
        newest = oldest = spare = NONE;
    }

#if WW_UNIFORM
    WW_FN const WW_ROOT& uniform() const { return only_root; }
#endif

    WW_FN ww_place place(u32 of, u32 frame) const {
        const u32 inside = (frame & (a.window - 1)) * FRAME_BYTES;
#if WW_SHARED
        return stack + of * (4 * VECTOR) + inside;
#else
        return (u32*)((unsigned char*)stack + inside) + of;
#endif
    }
    WW_FN u32 below(u32 mask) const { return __popc(mask & ((1u << lane) - 1u)); }

    // A frame as words, and back.
    WW_FN void pack(u32 (&words)[RECORD]) const {
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) words[i] = call[i];
        if constexpr (LABELLED) words[WORDS] = at;
#if WW_JOINS
        if constexpr (RECORD > FILLED) words[RECORD - 1] = 0;
#endif
    }
    WW_FN void unpack(const u32 (&words)[RECORD], bool on) {
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) call[i] = words[i];
#if WW_JOINS
        at = words[WORDS];
#else
        if constexpr (LABELLED) at = words[WORDS];
        else if (on) at = WW_ROOT::SUM_LATER;
#endif
    }

    WW_FN u32 frames() const { return push - low + spilled; }
    WW_FN void become_child() {
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) call[i] = child[i];
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
            load_frame(place(lane, low), words, true);
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
            store_frame(place(lane, push), words, true);
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
