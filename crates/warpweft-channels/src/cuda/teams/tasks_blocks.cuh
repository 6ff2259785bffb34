// Calls of one block, where some are for all its warps: thread 0 holds them.
//
// Frames lie in shared memory, in a ring of slots: the newest is the present call, and a call that it spawns is written into the
// slot above it. So nothing is copied while calls come and go. The oldest frames go to chunks of global memory when slots run
// short. What waits for other blocks is in records of global memory, as in tasks_joins.cuh.
//
// A block without calls sets its bit among those of blocks that wait. One with frames that have calls left to spawn clears some such
// bits, so that it alone may give to those blocks, and writes its oldest such frame into the inbox of one of them. Half of the others
// now wait for that one: it can give at once what comes of the frame. Bits are set again when the block runs a team's call.
#pragma once

#if WW_BLOCK_TEAMS
// Words of a slot, which are copied four at a time, and slots.
constexpr u32 SLOT = RECORD;
static_assert(SLOT % 4 == 0, "slots are copied four words at a time");
__host__ __device__ constexpr u32 slots_that_fit() { return SLOT <= 128 ? 16 : 8; }
constexpr u32 SLOTS_OF_BLOCK = slots_that_fit();
// The label of a call that has not begun: its slot has its arguments.
constexpr u32 BEGIN_LABEL = 510;
// Bits of blocks that wait that are cleared at once.
constexpr u32 AT_ONCE = 8;
// Words with a bit for each record of a block that is free.
constexpr u32 FREE_WORDS = 32;

struct alignas(16) ww_four { u32 a, b, c, d; };
// Copies a slot. Words are many at once on their way.
WW_FN void copy_slot(u32* to, const u32* from) {
    constexpr u32 ALL_FOURS = SLOT / 4, COPIED = ALL_FOURS < 10 ? ALL_FOURS : 10;
    for (u32 first = 0; first < ALL_FOURS; first += COPIED) {
        ww_four held[COPIED];
#pragma unroll
        for (u32 i = 0; i < COPIED; ++i)
            if (first + i < ALL_FOURS) held[i] = ((const ww_four*)from)[first + i];
#pragma unroll
        for (u32 i = 0; i < COPIED; ++i)
            if (first + i < ALL_FOURS) ((ww_four*)to)[first + i] = held[i];
    }
}

// Functions of no value that end at their only wait: a bit each. The caller of one may wait for its calls in its place.
#define WW_ENDING(F) | (u64)(F::TAIL == WAITS) << F::NUMBER
constexpr u64 ENDING = 0 WW_FUNCTIONS(WW_ENDING);
#undef WW_ENDING

// Cycles after which thread 0 checks at once whether the run is over: about 50 us.
constexpr u32 LONG_STEP = 100000;

// What thread 0 holds, in shared memory.
struct alignas(16) ww_held {
    u32 slots[SLOTS_OF_BLOCK * SLOT];
    u32 value[(VALUE_WORDS + 3) / 4 * 4]; // the last
    u32 sums[WW_WARPS];                   // of teams
    u32 free[FREE_WORDS];                 // records
    u32 errand;                           // the function that all warps run; NONE: the run is over
    u32 at;                               // where the present call goes on; 0: there is none
    u32 push, low;                        // the present call's slot, or the next; the oldest frame's
    u32 newest, oldest, taken, spilled;   // chunks, as in tasks_frames.cuh
    u32 spare;
    u32 open;                             // frames with calls left to spawn
    u32 parent, parent_at, joined;        // as in tasks_joins.cuh
    u32 free_count, where;                // free records; where to look for blocks that wait
    u32 reserved, reserved_at;            // blocks that wait for this one: bits of a word, and its number
    u32 tokens;
    bool known, rootless;
    u32 calls, given, steps, rounds, spills;
};

struct ww_block {
    using Words = ww_values_as_words;
    const ww_arguments& a;
    const ww_watchdog& dog;
#if WW_UNIFORM
    const WW_ROOT& only_root;
    WW_FN const WW_ROOT& uniform() const { return only_root; }
#endif
    ww_held& held;
    u32 warp;
    u32 child_at, child_site;
    ww_clocks clocks;
    u32 before;               // when the last round began

    WW_FN void begin() {
        before = (u32)clock64();
        held.at = held.push = held.low = held.taken = held.spilled = held.open = held.parent = held.parent_at = 0;
        held.calls = held.given = held.steps = held.rounds = held.spills = 0;
        held.newest = held.oldest = held.spare = held.joined = NONE;
        held.known = held.rootless = false;
        held.tokens = 1;
        held.reserved = 0;
        held.where = warp / 32;
        held.free_count = min(a.records_each, 32 * FREE_WORDS);
        for (u32 i = 0; i < FREE_WORDS; ++i) held.free[i] = 32 * i < held.free_count ? ALL : 0;
    }

    WW_FN u32* slot(u32 number) const { return held.slots + (number & (SLOTS_OF_BLOCK - 1)) * SLOT; }
    WW_FN u32 frames() const { return held.push - held.low + held.spilled; }
    WW_FN bool is_lowest() const { return held.joined != NONE && frames() == 0; }

    // What functions call. Values of calls arrive before a function goes on.
    static constexpr bool ARRIVES = false;
    static constexpr u32 ENDED = 0;
    WW_FN const u32* arrived() const { return held.value; }
    WW_FN bool stops() const { return child_at != 0; }
    WW_FN bool is_held() const { return false; }
    WW_FN u32 at_wait(u32 label) const { return label; }
    WW_FN void closes() {}
    template<class V> WW_FN void give(const V& given) { memcpy(held.value, &given, sizeof(V)); }
    WW_FN bool waits() const { return child_at != 0 || is_lowest(); }
    template<class G> static constexpr u32 first_label() { return (is_team<G>() ? TEAM_LABEL : BEGIN_LABEL) | G::NUMBER << FUNCTION; }
    template<class G> WW_FN void spawn(u32 site, const G& given) {
        ++held.calls;
        memcpy(slot(held.push + 1), &given, sizeof given);
        child_at = first_label<G>();
        child_site = site;
    }
    template<class G, u32 HOW, class T> WW_FN void spawn(u32 site, T& to, const G& given) {
        spawn<G>(site, given);
        // Bits that come later are added.
        if constexpr (HOW == 0) memset((void*)&to, 0, sizeof(T));
    }

    // The present call's first part.
    template<class F> WW_FN void begin_call() {
        if constexpr (!is_team<F>()) {
            F given;
            memcpy((void*)&given, slot(held.push), sizeof given);
            typename F::Joins frame;
            u32 label = 0;
            F::template joins<false>(*this, frame, label, given);
            F::template store<Words>(frame, 0, 0, slot(held.push));
            held.known = label == 0;
            held.at = label == 0 ? 0 : label | F::NUMBER << FUNCTION;
        }
    }
    // It goes on, up to the next call that it spawns, which is then the present one.
    template<class F> WW_FN void go_on() {
        if constexpr (!is_team<F>()) {
            typename F::Joins frame;
            F none;
            u32* const own = slot(held.push);
            F::template load<Words>(frame, own);
            u32 label = held.at & LABELS;
            child_at = 0;
            F::template joins<true>(*this, frame, label, none);
            F::template store<Words>(frame, 0, 0, own);
            held.known = label == 0;
            const u32 at = label == 0 ? 0 : label | child_site << SITE | F::NUMBER << FUNCTION;
            held.at = at;
            if (child_at != 0) {
                own[WORDS] = at;
                held.open += (at & WAITS) == 0 ? 1u : 0u;
                ++held.push;
                held.at = child_at;
            }
        }
    }
    template<class F> WW_FN void arrive() {
        if constexpr (!is_team<F>()) {
            typename F::Joins frame;
            F::template load<Words>(frame, slot(held.push));
            F::template arrive<Words>(frame, held.at >> SITE & SITES, held.value);
            F::template store<Words>(frame, 0, 0, slot(held.push));
        }
    }
    template<class F> WW_FN void merge(const u32* values) {
        if constexpr (F::SLOT_WORDS != 0 && !is_team<F>()) {
            typename F::Joins frame;
            F::template load<Words>(frame, slot(held.push));
            F::template merge<Words>(frame, values);
            F::template store<Words>(frame, 0, 0, slot(held.push));
        }
    }
    template<class F> WW_FN void deliver(u32* values, u32 site) {
        if constexpr (!is_team<F>()) F::template deliver<Words>(values, site, held.value);
    }
#define WW_EACH(what) switch (number) { WW_FUNCTIONS(what) }
#define WW_BEGIN(F) case F::NUMBER: begin_call<F>(); break;
#define WW_GO_ON(F) case F::NUMBER: go_on<F>(); break;
#define WW_ARRIVE(F) case F::NUMBER: arrive<F>(); break;
#define WW_MERGE(F) case F::NUMBER: merge<F>(values); break;
#define WW_DELIVER(F) case F::NUMBER: deliver<F>(values, site); break;
    WW_FN void step() {
        const u32 number = held.at >> FUNCTION;
        ++held.steps;
        if ((held.at & LABELS) == BEGIN_LABEL) {
            WW_EACH(WW_BEGIN)
            if (held.known) return;
        }
        // For the call that it spawns.
        if (held.push + 1 - held.low == SLOTS_OF_BLOCK) spill_chunk();
        WW_EACH(WW_GO_ON)
    }
    // The value goes to the newest frame, which is then the present call.
    WW_FN void pop() {
        if (held.push == held.low) refill();
        --held.push;
        held.known = false;
        const u32 at = slot(held.push)[WORDS], number = at >> FUNCTION;
        held.at = at;
        held.open -= (at & WAITS) == 0 ? 1u : 0u;
        WW_EACH(WW_ARRIVE)
    }
    WW_FN void merge_values(const u32* values) {
        const u32 number = held.at >> FUNCTION;
        WW_EACH(WW_MERGE)
    }
    WW_FN void deliver_value(u32* values) {
        const u32 number = held.parent_at >> FUNCTION, site = held.parent_at >> SITE & SITES;
        WW_EACH(WW_DELIVER)
    }
#undef WW_BEGIN
#undef WW_GO_ON
#undef WW_ARRIVE
#undef WW_MERGE
#undef WW_DELIVER
#undef WW_EACH

    // Chunks.
    WW_FN u32* chunk(u32 number) const { return a.pool + (u64)number * CHUNK_WORDS; }
    WW_FN void free_chunk(u32 number) {
        chunk(number)[0] = held.spare;
        held.spare = number;
    }
    // The oldest frames go to global memory.
    WW_FN void spill_chunk() {
        u32 number = held.spare;
        if (number != NONE) {
            held.spare = chunk(number)[0];
        } else {
            number = ww_add_relaxed(a.counters + CHUNKS, 1);
            if (number >= a.chunks) {
                ww_end(a, TOO_DEEP);
                held.low = held.push;
                held.open = 0;
                return;
            }
        }
        u32* to = chunk(number);
        to[0] = held.newest;
        to[1] = NONE;
        for (u32 i = 0; i < CHUNK; ++i, ++held.low) {
            const u32* from = slot(held.low);
            for (u32 k = 0; k < SLOT; ++k) to[2 + i * SLOT + k] = from[k];
        }
        if (held.newest != NONE) {
            chunk(held.newest)[1] = number;
        } else {
            held.oldest = number;
            held.taken = 0;
        }
        held.newest = number;
        held.spilled += CHUNK;
        held.spills += CHUNK;
    }
    // The newest chunk comes back: there are no frames in slots.
    WW_FN void refill() {
        const u32 number = held.newest;
        const u32* from = chunk(number);
        held.push = held.low = 0;
        for (u32 i = number == held.oldest ? held.taken : 0; i < CHUNK; ++i, ++held.push, --held.spilled) {
            u32* to = slot(held.push);
            for (u32 k = 0; k < SLOT; ++k) to[k] = from[2 + i * SLOT + k];
        }
        held.newest = number == held.oldest ? NONE : from[0];
        if (held.newest == NONE) held.oldest = NONE;
        else chunk(held.newest)[1] = NONE;
        free_chunk(number);
    }
    // The oldest frame, and its end.
    WW_FN void copy_oldest(u32* to) const {
        if (held.oldest == NONE) return copy_slot(to, slot(held.low));
        const u32* from = chunk(held.oldest) + 2 + held.taken * SLOT;
        for (u32 k = 0; k < SLOT; ++k) to[k] = from[k];
    }
    WW_FN u32 label_of_oldest() const {
        return held.oldest == NONE ? slot(held.low)[WORDS] : chunk(held.oldest)[2 + held.taken * SLOT + WORDS];
    }
    WW_FN void drop_oldest() {
        if (held.oldest == NONE) {
            ++held.low;
            return;
        }
        --held.spilled;
        if (++held.taken < CHUNK) return;
        const u32 number = held.oldest;
        held.taken = 0;
        held.oldest = number == held.newest ? NONE : chunk(number)[1];
        if (held.oldest == NONE) held.newest = NONE;
        free_chunk(number);
    }

    // Records.
    WW_FN u32* record(u32 number) const { return a.records + (u64)number * RECORD_WORDS; }
    WW_FN u32 take_record() {
        if (held.free_count == 0) return NONE;
        for (u32 i = 0;; ++i) {
            const u32 bits = held.free[i];
            if (bits == 0) continue;
            held.free[i] = bits & (bits - 1);
            --held.free_count;
            return warp * a.records_each + 32 * i + __ffs(bits) - 1;
        }
    }
    WW_FN void free_record(u32 number) {
        const u32 first = warp * a.records_each, own = number - first;
        if (own < a.records_each) {
            held.free[own / 32] |= 1u << own % 32;
            ++held.free_count;
        } else {
            // Release: it is read no more.
            ww_or_release(a.returned + number / 32, 1u << number % 32);
        }
    }
    // Takes back what others freed.
    WW_FN void collect() {
#pragma unroll 1
        for (u32 i = 0; i < min(a.records_each / 32, FREE_WORDS); ++i) {
            u32* word = a.returned + (u64)warp * (a.records_each / 32) + i;
            if (ww_load_relaxed(word) == 0) continue;
            const u32 bits = ww_swap_acquire(word, 0u);
            held.free[i] |= bits;
            held.free_count += __popc(bits);
        }
    }

    // The value of the oldest call goes to a record, which it says, or is a root's.
    WW_FN u32 hand_in() {
        held.known = false;
        if (held.parent_at != TO_ROOT) {
            deliver_value(record(held.parent) + SLOTS);
            return held.parent;
        }
        typename WW_ROOT::Output last;
        memcpy((void*)&last, held.value, sizeof last);
        ((typename WW_ROOT::Output*)a.results)[held.parent] = last;
        return NONE;
    }
    // The oldest call waits for calls of other blocks, in its record.
    WW_FN u32 put_away() {
        const u32 to = held.joined;
        slot(held.push)[WORDS] = held.at;
        copy_slot(record(to) + SAVED, slot(held.push));
        held.at = 0;
        held.joined = NONE;
        return to;
    }
    // The last to come to a record goes on with its call.
    WW_FN void arrived(u32 number) {
        // Release: the value or frame is there; acquire, for the last: so is all else.
        u32* from = record(number);
        if (ww_add_acq_rel_gpu(from + PENDING, NONE) != 1) return;
        held.push = held.low = held.open = 0;
        held.joined = NONE;
        held.known = false;
        const ww_four head = *(const ww_four*)from;
        copy_slot(slot(0), from + SAVED);
        held.at = slot(0)[WORDS];
        held.parent = head.b;
        held.parent_at = head.c;
        merge_values(from + SLOTS);
        free_record(number);
    }

    // How many blocks wait, and some words of their bits: on their way while the block does something else.
    struct ww_look { u32 demand, bits[4]; };
    WW_FN ww_look look() const {
        ww_look seen{ww_load_relaxed(a.counters + DEMAND)};
        u32 place = held.where;
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            seen.bits[k] = ww_load_relaxed(a.ring + place);
            place = after(place);
        }
        return seen;
    }
    WW_FN u32 after(u32 place) const { return place + 1 < (a.warps + 31) / 32 ? place + 1 : 0; }
    // A block that waits, which this one alone is to give a frame; NONE: there is none.
    WW_FN u32 claim(const ww_look& seen) {
        if (held.reserved == 0 && !reserve(seen)) return NONE;
        const u32 number = __ffs(held.reserved) - 1;
        held.reserved &= held.reserved - 1;
        return 32 * held.reserved_at + number;
    }
    // Some blocks that wait are this one's to give frames to. False: there is none.
    WW_FN bool reserve(ww_look seen) {
        for (u32 looked = 0; looked < a.warps && (int)seen.demand > 0; looked += 128) {
            u32 bits = 0, place = held.where;
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                if (bits == 0) bits = seen.bits[k], held.where = place;
                place = after(place);
            }
            if (bits != 0) {
                const u32 turn = (warp + held.given) & 31, turned = bits >> turn | bits << ((32 - turn) & 31);
                u32 some = first_of(turned, AT_ONCE);
                some = some << turn | some >> ((32 - turn) & 31);
                const u32 got = ww_and_acquire(a.ring + held.where, ~some) & some;
                if (got != 0) {
                    ww_add_relaxed(a.counters + DEMAND, 0u - __popc(got));
                    held.reserved = got;
                    held.reserved_at = held.where;
                    return true;
                }
            } else {
                held.where = place;
            }
            seen = look();
        }
        return false;
    }
    // The lowest `count` of the bits that are set.
    static WW_FN u32 first_of(u32 bits, u32 count) {
        u32 left = bits;
        for (; count != 0 && left != 0; --count) left &= left - 1;
        return bits ^ left;
    }
    // Others may give frames to them.
    WW_FN void give_up() {
        if (held.reserved == 0) return;
        ww_or_release(a.ring + held.reserved_at, held.reserved);
        ww_add_relaxed(a.counters + DEMAND, __popc(held.reserved));
        held.reserved = 0;
    }
    WW_FN void wait_for_frame(u32 of) {
        ww_or_release(a.ring + of / 32, 1u << of % 32);
        ww_add_relaxed(a.counters + DEMAND, 1);
    }
    WW_FN u32* inbox(u32 of) const { return a.inbox + (u64)of * (32 * (RECORD + 2)); }
    // Gives the oldest frame with calls left to spawn to a block that waits. Older frames go to records, or are dropped where their
    // callers wait in their place.
    WW_FN bool share(const ww_look& seen) {
        if (held.free_count < RESERVE) {
            collect();
            if (held.free_count < RESERVE) return false;
        }
        const u32 to = claim(seen);
        if (to == NONE) return false;
        while (true) {
            const u32 at = label_of_oldest();
            const bool opens = (at & WAITS) == 0;
            const bool ends = held.joined == NONE && held.parent_at != TO_ROOT && (ENDING >> (at >> FUNCTION) & 1) != 0;
            u32 number = held.joined;
            if (ends) {
                if (opens) ww_add_relaxed(record(held.parent) + PENDING, 1u);
            } else if (number == NONE) {
                number = take_record();
                if (number == NONE) {
                    wait_for_frame(to);
                    return false;
                }
                u32* made = record(number);
                *(ww_four*)made = ww_four{opens ? 2u : 1u, held.parent, held.parent_at, 0};
                for (u32 i = 0; i < SLOT_WORDS; ++i) made[SLOTS + i] = 0;
            } else if (opens) {
                ww_add_relaxed(record(number) + PENDING, 1u);
            }
            if (opens) {
                // Half of the blocks that wait for this one wait for that one now.
                const u32 half = first_of(held.reserved, __popc(held.reserved) / 2);
                held.reserved ^= half;
                *(ww_four*)(inbox(to) + SLOT) = ww_four{number, held.parent, held.parent_at, half};
            }
            if (opens || !ends) copy_oldest(opens ? inbox(to) : record(number) + SAVED);
            drop_oldest();
            held.joined = NONE;
            if (!ends) {
                held.parent = number;
                held.parent_at = at;
            }
            if (opens) break;
        }
        --held.open;
        ++held.given;
        ww_add_relaxed(a.counters + LIVE, 1);
        // Release: the frame.
        ww_store_release_gpu(a.inbox_counts + to, 1u);
        return true;
    }

    WW_FN bool is_over() const { return ww_load_relaxed(a.counters + STATUS) != 0; }
    WW_FN bool take_root() {
        if (ww_load_relaxed(a.counters + NEXT_ROOT) >= a.roots_count) return false;
        const u32 number = ww_add_relaxed(a.counters + NEXT_ROOT, 1);
        if (number >= a.roots_count) return false;
        const WW_ROOT given = *(const WW_ROOT*)(a.roots + (u64)number * a.roots_bytes);
        memcpy(slot(0), &given, sizeof given);
        ++held.calls;
        held.at = first_label<WW_ROOT>();
        held.push = held.low = 0;
        held.parent = number;
        held.parent_at = TO_ROOT;
        return true;
    }
    // A root, or a frame of another block. False: the run is over.
    WW_FN bool find_call() {
        if (!held.rootless && take_root()) return true;
        held.rootless = true;
        give_up();
        if (held.tokens != 0 && ww_add_acq_rel_gpu(a.counters + LIVE, 0u - held.tokens) == held.tokens) ww_end(a, DONE);
        held.tokens = 0;
        const u64 start = clocks.now();
        const bool found = wait();
        clocks.waited(start);
        if (!found) return false;
        // The giver counted the token.
        held.tokens = 1;
        copy_slot(slot(0), inbox(warp));
        const ww_four tail = *(const ww_four*)(inbox(warp) + SLOT);
        held.joined = tail.a;
        held.parent = tail.b;
        held.parent_at = tail.c;
        held.reserved = tail.d;
        held.reserved_at = warp / 32;
        ww_store_relaxed(a.inbox_counts + warp, 0u);
        held.at = slot(0)[WORDS];
        held.push = held.low = held.open = 0;
        return true;
    }
    WW_FN bool wait() {
        const u32* word = a.inbox_counts + warp;
        wait_for_frame(warp);
        ww_add_relaxed(a.counters + WAITING, 1);
        u64 still = 0;
        for (u32 tries = 1; ww_load_acquire_gpu(word) == 0; ++tries) {
            if ((tries & 3) == 1 && is_over()) return false;
            if ((tries & 0xfff) == 0) {
                // All wait, and not all is done: that can't be.
                const u64 now = ww_nanoseconds();
                if (ww_load_relaxed(a.counters + WAITING) != a.warps) still = 0;
                else if (still == 0) still = now;
                else if (now - still > dog.nanoseconds) {
                    ww_watchdog_report(dog, warp, ww_load_relaxed(a.counters + LIVE), 0, ww_load_relaxed(a.counters + DEMAND));
                    ww_end(a, DONE);
                }
            }
            __nanosleep(40);
        }
        ww_add_relaxed(a.counters + WAITING, NONE);
        return true;
    }

    // Goes on until a call is for all warps, whose function it says, or the run is over.
    WW_FN u32 advance() {
        ww_look seen{};
        while (true) {
            // What this block has just done took long: others, or the host, may have ended the run.
            const u32 now = (u32)clock64();
            const bool slow = now - before > LONG_STEP;
            before = now;
            const bool asked = ((int)seen.demand > 0 || held.reserved != 0) && held.open != 0, gave = asked && share(seen);
            // On its way during the step.
            seen.demand = 0;
            if (held.open != 0) seen = look();
            if ((++held.rounds & 15) == 0 || slow) {
                if ((held.calls | held.steps | held.rounds) >> 30) flush();
                // This block's token is never given back, so those that wait must be told.
                if (WW_FAULTED) ww_end(a, DONE);
                if (is_over()) return NONE;
            }
            u32 to = NONE;
            if (held.known) {
                if (frames() != 0) pop();
                else to = hand_in();
            } else if (held.at == 0) {
                if (!find_call()) return NONE;
            } else if ((held.at & LABELS) == TEAM_LABEL) {
                if ((asked && !gave) || ((int)seen.demand <= 0 && (held.reserved == 0 || held.open == 0))) {
                    give_up();
                    return held.at >> FUNCTION;
                }
            } else if ((held.at & WAITS) != 0 && is_lowest()) {
                to = put_away();
            } else {
                const u64 start = clocks.now();
                step();
                clocks.ran(start);
            }
            if (to != NONE) arrived(to);
        }
    }

    // What it did, into the whole grid's, before 32 bits overflow and at the end.
    WW_FN void flush() {
        atomicAdd(a.counts + CALLS, (u64)held.calls);
        atomicAdd(a.counts + GIVEN, (u64)held.given);
        atomicAdd(a.counts + STEPS, (u64)held.steps);
        atomicAdd(a.counts + ROUNDS, (u64)held.rounds);
        held.calls = held.given = held.steps = held.rounds = 0;
    }
    WW_FN void finish() {
        flush();
        clocks.add_to(a.counts + CYCLES);
        if (held.spills != 0) atomicAdd(a.counts + SPILLED, (u64)held.spills);
    }
};

// Thread 0 has the value of a call that all warps of its block, or its first, ran. What lanes wrote before is there for all lanes
// of the team, and the other way round.
template<class F> WW_FN void run_block(ww_held& held, unsigned char* room) {
    if constexpr (is_team<F>()) {
        F given;
        memcpy((void*)&given, held.slots + (held.push & (SLOTS_OF_BLOCK - 1)) * SLOT, sizeof given);
        typename F::Output made;
        if constexpr (F::LANES > 32) made = given.team(ww_block_team{threadIdx.x, held.sums}, room);
        else if (threadIdx.x < 32) made = given.team(ww_team{threadIdx.x}, room);
        meet();
        if (threadIdx.x == 0) {
            memcpy(held.value, &made, sizeof made);
            held.known = true;
            held.at = 0;
        }
    }
}
// All that a block does.
WW_FN void run_blocks(ww_block& own, unsigned char* room) {
    if (threadIdx.x == 0) own.begin();
    own.clocks.begin();
    while (true) {
        if (threadIdx.x == 0) own.held.errand = own.advance();
        meet();
        if (own.held.errand == NONE) break;
        const u64 start = own.clocks.now();
#define WW_CASE(F) case F::NUMBER: run_block<F>(own.held, room); break;
        switch (own.held.errand) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
        own.clocks.ran(start);
    }
    if (threadIdx.x == 0) own.finish();
}
#endif
