// Values of any functions: a call waits for the values of its calls.
//
// While all of a call's calls run on its own lane it needs nothing for that: a call that has spawned stays on the stack at
// the place where it goes on, below the call that it spawned, whose value arrives in its frame. A call whose value is known
// at once never becomes a frame.
//
// Another lane takes the oldest frame that has calls left to spawn. The frame gets a record in global memory: how many
// values are to come, where its own value goes, and words for values. What the giver goes on with gives its value to the
// record. The taker spawns what is left; at the next wait it puts the frame into the record too. The last to come there
// goes on with the frame. Older frames that wait for the frame that is given go to records as well, so that the lanes that have their
// values need not be found. A lane has one frame with a record at most, the oldest on its stack.
//
// Each warp has as many records as the host says. When they run short it gives nothing away, and all its calls are
// run by the lanes that have them: every lane goes on whatever the others do.
#pragma once

#define WW_SIZE(F) words = larger(words, F::SLOT_WORDS);
__host__ __device__ constexpr u32 largest_slots() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) words = larger(words, words_of(sizeof(typename F::Output)));
__host__ __device__ constexpr u32 largest_value() { u32 words = 1; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) fits = fits && 4 * F::JOIN_WORDS <= 4096 && alignof(F) <= 8 && alignof(typename F::Joins) <= 8;
__host__ __device__ constexpr bool all_fit() { bool fits = true; WW_FUNCTIONS(WW_SIZE) return fits; }
#undef WW_SIZE
static_assert(all_fit(), "variables that live while a call waits take 4096 bytes at most, aligned to 8 at most");

// Where the value of a lane's oldest call goes: to a root, or to a record, as its frame's label says.
constexpr u32 TO_ROOT = ALL;
// A record: values to come, where its own goes (two words), how deep the call is, values, the frame.
enum : u32 { PENDING = 0, BELOW = 1, BELOW_AT = 2, DEPTH = 3, SLOTS = 4 };
#if WW_BLOCK_TEAMS
constexpr u32 SLOT_WORDS = (largest_slots() + 3u) / 4u * 4u;
#else
constexpr u32 SLOT_WORDS = largest_slots();
#endif
constexpr u32 SAVED = SLOTS + SLOT_WORDS, VALUE_WORDS = largest_value();
constexpr u32 RECORD_WORDS = (SAVED + WORDS + 1u + 7u) / 8u * 8u;
// Records that a warp keeps for frames that wait below those that it gives.
constexpr u32 RESERVE = 64;
// The label of a call that all lanes of a warp run together.
constexpr u32 TEAM_LABEL = 511;
#if WW_TEAMS
#include "tasks_teams.cuh"
#endif

// Whether all lanes of a warp run the calls of a function together.
#if WW_TEAMS
template<class F> __host__ __device__ constexpr bool is_team() { return F::TEAM; }
#else
template<class F> __host__ __device__ constexpr bool is_team() { return false; }
#endif

// Values as words, for the functions' frames.
struct ww_values_as_words {
    template<class T> static WW_FN u32 put(u32* to, const T& value) {
        u32 words[words_of(sizeof(T))] = {};
        memcpy(words, &value, sizeof(T));
        for (u32 i = 0; i < words_of(sizeof(T)); ++i) to[i] = words[i];
        return words_of(sizeof(T));
    }
    template<class T> static WW_FN u32 get(const u32* from, T& value) {
        u32 words[words_of(sizeof(T))];
        for (u32 i = 0; i < words_of(sizeof(T)); ++i) words[i] = from[i];
        memcpy((void*)&value, words, sizeof(T));
        return words_of(sizeof(T));
    }
    // HOW: stored, added, or, exclusive or.
    template<u32 HOW, class T> static WW_FN T combined(const T& before, const T& value) {
        if constexpr (HOW == 0) return value;
        else {
            using U = typename ww_word_of<sizeof(T)>::type;
            const U a = (U)before, b = (U)value;
            return (T)(HOW == 1 ? a + b : HOW == 2 ? a | b : a ^ b);
        }
    }
    template<u32 HOW, class T> static WW_FN void combine(T& to, const u32* value) {
        T arrived;
        memcpy(&arrived, value, sizeof(T));
        to = combined<HOW, T>(to, arrived);
    }
    template<class T, u32 HOW> static WW_FN void deliver(u32* to, const u32* value) {
        if constexpr (HOW == 0) {
            for (u32 i = 0; i < words_of(sizeof(T)); ++i) to[i] = value[i];
        } else {
            using U = typename ww_word_of<sizeof(T)>::type;
            U known;
            memcpy(&known, value, sizeof(U));
            if (HOW == 1) atomicAdd((U*)to, known);
            if (HOW == 2) atomicOr((U*)to, known);
            if (HOW == 3) atomicXor((U*)to, known);
        }
    }
    template<u32 HOW, class T> static WW_FN void merge(T& to, const u32* from) {
        if constexpr (HOW != 0) return combine<HOW>(to, from);
        u32 words[words_of(sizeof(T))] = {};
        memcpy(words, &to, sizeof(T));
        for (u32 i = 0; i < words_of(sizeof(T)); ++i) words[i] |= from[i];
        memcpy((void*)&to, words, sizeof(T));
    }
};

#if !WW_BLOCK_TEAMS
// What the start of a call calls.
struct ww_start {
    u32 value[VALUE_WORDS];
#if WW_UNIFORM
    const WW_ROOT& only_root;
    WW_FN explicit ww_start(const ww_frames& of) : only_root(of.only_root) {}
    WW_FN const WW_ROOT& uniform() const { return only_root; }
#else
    WW_FN explicit ww_start(const ww_frames&) {}
#endif
    static constexpr u32 ENDED = 0;
    template<class V> WW_FN void give(const V& given) { memcpy(value, &given, sizeof(V)); }
};

// A lane's calls and the value of the last of them.
struct ww_values : ww_frames {
    using Words = ww_values_as_words;
    u32 value[VALUE_WORDS];
    u32 child_site;             // of the call that the present one spawned, as in a label
    u32 open;                   // frames on the stack that have calls left to spawn
    u32 parent, parent_at;      // where the value of the oldest call goes, unless that has a record
    u32 joined, floor;          // the record of the oldest; `push` while it is the present call, or never
    u32 depth;                  // of the oldest call: how many calls are above it
    u32 free_top;               // of the warp's free records
    unsigned char* room;        // of the warp's teams, or of the block's

    WW_FN void begin_values() {
        open = parent = parent_at = depth = 0;
        joined = floor = NONE;
        for (u32 i = lane; i < a.records_each; i += 32) a.free_records[(u64)warp * a.records_each + i] = warp * a.records_each + i;
        free_top = a.records_each;
        __syncwarp();
    }
    WW_FN void end_values() {}

    // What routines call. Values of calls arrive where a routine goes on.
    static constexpr bool ARRIVES = true;
    static constexpr u32 ENDED = KNOWN;
    template<class V> WW_FN void give(const V& given) { memcpy(value, &given, sizeof(V)); }
    WW_FN const u32* arrived() const { return value; }
    // At a stop before a call: whether one runs already.
    WW_FN bool stops() const { return child_at != 0; }
    // At a wait; and at one to which a call's value has just come.
    WW_FN bool waits() const { return (child_at != 0) | (push == floor); }
    WW_FN bool is_held() const { return push == floor; }
    WW_FN u32 at_wait(u32 label) const { return child_at != 0 ? label : label | BLOCKED; }
    // A frame with calls left to spawn is no longer on the stack.
    WW_FN void closes() { --open; }
    template<class G, u32 HOW, class T> WW_FN void spawn(u32 site, T& to, const G& given) {
        ww_start start(*this);
        if (begin<G>(start, site, given)) Words::template combine<HOW>(to, start.value);
    }
    template<class G> WW_FN void spawn(u32 site, const G& given) {
        ww_start start(*this);
        begin<G>(start, site, given);
    }
    // Whether the call's value is known at once.
    template<class G> WW_FN bool begin(ww_start& start, u32 site, const G& given) {
        u32 label = 0;
        ++calls;
        if constexpr (is_team<G>()) {
            label = TEAM_LABEL;
            memcpy(child, &given, sizeof given);
        } else {
            typename G::Joins frame;
            G::template joins<false>(start, frame, label, given);
            // A call that is over needs no frame; but few words are copied faster than selected.
            constexpr bool FEW = G::START_WORDS <= 8;
            if constexpr (FEW) G::template start<Words>(frame, child);
            if (label == 0) return true;
            if constexpr (!FEW) G::template start<Words>(frame, child);
        }
        child_at = label | G::NUMBER << FUNCTION;
        child_site = site << SITE;
        return false;
    }

    template<class F> WW_FN void go_on() {
        if constexpr (!is_team<F>()) {
            typename F::Joins frame;
            F none;
            F::template load<Words>(frame, call);
            u32 label = FUNCTIONS == 1 ? at : at & (LABELS | SITES << SITE);
            child_at = child_site = 0;
            F::template joins<true>(*this, frame, label, none);
            F::template store<Words>(frame, child_site >> SITE, label & LABELS, call);
            at = label | child_site | F::NUMBER << FUNCTION;
        }
    }
    template<class F> WW_FN void merge(const u32* slots) {
        if constexpr (!is_team<F>()) {
            typename F::Joins frame;
            F::template load<Words>(frame, call);
            F::template merge<Words>(frame, slots);
            F::template store<Words>(frame, 0, at & LABELS, call);
        }
    }
    // The words of a frame on a stack that waits, for a record: the value that it waits for comes there.
    template<class F> static WW_FN void widen(const u32 (&words)[RECORD], u32* to) {
        if constexpr (!is_team<F>()) {
            typename F::Joins frame;
            const u32 none[VALUE_WORDS] = {};
            // Variables that are on no stack begin with anything.
            u32 own[larger(WORDS, RECORD)] = {};
#pragma unroll UNROLLED
            for (u32 i = 1; i < RECORD; ++i) own[i - 1] = words[i];
            F::template load<Words>(frame, own);
            F::template arrive<Words>(frame, words[0] >> SITE & SITES, none);
            F::template store<Words>(frame, 0, words[0] & LABELS, to);
        }
    }

    // A value goes to the newest frame; then the present call goes on, up to the next call that it spawns.
    WW_FN void step() {
#if WW_TEAMS
        run_teams(*this);
#endif
        const bool pops = (at == KNOWN) & (push != low);
        if (pops) --push;
        const ww_place newest = place(push);
        load_words(newest, at, call, pops);
        if constexpr (LABEL_BITS != 0) {
            if (pops) {
                at = unpacked_label(labels & ((1u << LABEL_BITS) - 1));
                labels >>= LABEL_BITS;
            }
        }
        child_at = 0;
#define WW_CASE(F) case F::NUMBER: go_on<F>(); break;
        if ((int)at > 0) {
            if constexpr (FUNCTIONS == 1) go_on<WW_ROOT>();
            else switch (at >> FUNCTION) { WW_FUNCTIONS(WW_CASE) }
        }
#undef WW_CASE
        // Lanes that took different ways push together.
        __syncwarp();
        const bool pushes = child_at != 0;
        store_words(newest, at, call, pushes);
        if (pushes) {
            ++push;
            open += (at & WAITS) == 0 ? 1u : 0u;
            if constexpr (LABEL_BITS != 0) labels = labels << LABEL_BITS | packed_label(at);
            become_child();
        }
    }

    // Its last value is to go to another lane, or its oldest call waits for one of another lane.
    WW_FN bool owes() const { return (at == KNOWN) & (frames() == 0); }
    WW_FN bool blocked() const { return (at & BLOCKED) != 0 && at != KNOWN; }
    WW_FN bool works() const { return ((int)at > 0) | ((at == KNOWN) & (frames() != 0)); }
    // A lane that has given away what its value goes to keeps the value until the next look.
    WW_FN bool holds() const { return at != 0; }
    WW_FN bool can_give() const { return (open != 0) & (frames() != 0) & (free_top >= RESERVE); }
    // A frame is worth the more the fewer calls are above it: more are likely to be below. Only frames that are worth most of the
    // warp's are given, since each costs a record. `most`: of the warp's frames.
    WW_FN u32 worth() const { return (1u << 24) - min(depth, (1u << 24) - 1); }
    static constexpr bool TALL_ONLY = true;
    static WW_FN bool is_tall(u32 worth, u32 most) { return worth == most; }
    // The window may have changed.
    WW_FN void rebase() { floor = joined != NONE && spilled == 0 ? low : NONE; }

    WW_FN u32* record(u32 number) const { return a.records + (u64)number * RECORD_WORDS; }
    // Values go to records and roots, frames that wait go to records; then lanes go on with the frames that have all.
    WW_FN void settle() {
        collect();
        while (true) {
            const bool gives = owes(), saves = blocked();
            if (!__any_sync(ALL, gives || saves)) return;
            u32 to = NONE;
            if (gives) {
                at = 0;
                if (parent_at == TO_ROOT) answer();
                else deliver(to = parent);
            } else if (saves) {
                save(to = joined, at & ~BLOCKED);
                at = 0;
                joined = floor = NONE;
            }
            __syncwarp();
            // Release: the value or frame is there; acquire, for the last: so is all else.
            if (to != NONE && ww_add_acq_rel_gpu(record(to) + PENDING, NONE) != 1) to = NONE;
            if (to != NONE) resume(to);
            __syncwarp();
            release(to);
        }
    }
    WW_FN void answer() {
        typename WW_ROOT::Output last;
        memcpy((void*)&last, value, sizeof last);
        ((typename WW_ROOT::Output*)a.results)[parent] = last;
    }
    template<class F> WW_FN void deliver_to(u32* slots, u32 site) {
        if constexpr (!is_team<F>()) F::template deliver<Words>(slots, site, value);
    }
    WW_FN void deliver(u32 to) {
        u32* slots = record(to) + SLOTS;
        const u32 site = parent_at >> SITE & SITES;
#define WW_CASE(F) case F::NUMBER: deliver_to<F>(slots, site); break;
        switch (parent_at >> FUNCTION) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
    }
    WW_FN void save(u32 to, u32 its_at) {
        u32* saved = record(to) + SAVED;
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) saved[i] = call[i];
        saved[WORDS] = its_at;
    }
    WW_FN void resume(u32 number) {
        const u32* from = record(number);
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) call[i] = from[SAVED + i];
        at = from[SAVED + WORDS];
        parent = from[BELOW];
        parent_at = from[BELOW_AT];
        depth = from[DEPTH];
#define WW_CASE(F) case F::NUMBER: merge<F>(from + SLOTS); break;
        switch (at >> FUNCTION) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
        push = low = open = 0;
        joined = floor = NONE;
    }

    // Records that lanes are done with: this warp's are free again, others' go back to their owners.
    WW_FN void release(u32 number) {
        const bool on = number != NONE;
        const u32 owner = on ? number / a.records_each : warp;
        const u32 mine = __ballot_sync(ALL, on && owner == warp);
        if (on && owner == warp) a.free_records[(u64)warp * a.records_each + free_top + below(mine)] = number;
        free_top += __popc(mine);
        // Release: they are read no more.
        if (on && owner != warp) ww_or_release(a.returned + number / 32, 1u << number % 32);
        __syncwarp();
    }
    // Takes back what others freed.
    WW_FN void collect() {
        if (free_top >= a.records_each / 2) return;
        for (u32 first = 0; first < a.records_each / 32; first += 32) {
            u32* word = a.returned + (u64)warp * (a.records_each / 32) + first + lane;
            u32 bits = 0;
            if (first + lane < a.records_each / 32 && ww_load_relaxed(word) != 0) bits = ww_swap_acquire(word, 0u);
            for (u32 left = __ballot_sync(ALL, bits != 0); left != 0; left &= left - 1) {
                const u32 of = __ffs(left) - 1, its = __shfl_sync(ALL, bits, of);
                if ((its >> lane & 1) != 0)
                    a.free_records[(u64)warp * a.records_each + free_top + below(its)] = warp * a.records_each + 32 * (first + of) + lane;
                free_top += __popc(its);
            }
        }
        __syncwarp();
    }

    // A lane that gives takes the oldest frame with calls left to spawn from its stack; the frame's record. Older frames go to
    // records. Lanes for which no record is free give nothing.
    WW_FN u32 part(bool& gives, u32 (&words)[RECORD], u32& its_depth) {
        u32 home = NONE;
        bool gives_now = gives;
        while (__any_sync(ALL, gives_now)) {
            read_oldest(lane, low, oldest, taken, words, gives_now);
            const u32 its_at = gives_now ? words[0] : 0;
            const bool opens = (its_at & WAITS) == 0, needs = gives_now && joined == NONE;
            const u32 mask = __ballot_sync(ALL, needs), count = __popc(mask);
            if (count > free_top) break;
            free_top -= count;
            if (gives_now) {
                u32 number = joined;
                if (needs) {
                    number = a.free_records[(u64)warp * a.records_each + free_top + below(mask)];
                    u32* made = record(number);
                    made[PENDING] = opens ? 2u : 1u;
                    made[BELOW] = parent;
                    made[BELOW_AT] = parent_at;
                    made[DEPTH] = depth;
                    for (u32 i = 0; i < SLOT_WORDS; ++i) made[SLOTS + i] = 0;
                } else if (opens) {
                    ww_add_relaxed(record(number) + PENDING, 1u);
                }
                if (!opens) {
                    u32* saved = record(number) + SAVED;
#define WW_CASE(F) case F::NUMBER: widen<F>(words, saved); break;
                    switch (its_at >> FUNCTION) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
                    saved[WORDS] = its_at & ~(SITES << SITE);
                }
                parent = number;
                parent_at = its_at;
                joined = NONE;
                its_depth = depth++;
                drop_oldest();
                if (opens) {
                    home = number;
                    --open;
                    gives_now = false;
                }
            }
            __syncwarp();
        }
        rebase();
        gives = home != NONE;
        __syncwarp();
        return home;
    }
    // Lanes that are `free`, of which `rank` come before, take such frames of lanes that give; how many do.
    WW_FN u32 hand(bool gives, bool free, u32 rank, volatile unsigned char* givers) {
        u32 words[RECORD], given = 0;
        const u32 home = part(gives, words, given);
        // Some may have failed.
        const u32 from = __ballot_sync(ALL, gives), count = __popc(from);
        if (gives) givers[below(from)] = (unsigned char)lane;
        __syncwarp();
        const bool takes = free && rank < count;
        const u32 of = takes ? givers[rank] : lane, its_home = __shfl_sync(ALL, home, of);
        const u32 its_depth = __shfl_sync(ALL, given, of);
#pragma unroll UNROLLED
        for (u32 i = 0; i < RECORD; ++i) words[i] = __shfl_sync(ALL, words[i], of);
        take(words, its_home, its_depth, takes);
        __syncwarp();
        return count;
    }
    // An idle lane goes on with such a frame.
    WW_FN void take(const u32 (&words)[RECORD], u32 its_record, u32 its_depth, bool on) {
        if (!on) return;
        at = words[0];
        for (u32 i = 1; i < RECORD; ++i) call[i - 1] = words[i];
        // The value of the call that another lane runs comes to the record; here it is 0.
#pragma unroll UNROLLED
        for (u32 i = 0; i < VALUE_WORDS; ++i) value[i] = 0;
        open = 1;
        push = low = 0;
        joined = its_record;
        depth = its_depth;
        floor = 0;
    }
    // Or with a root.
    WW_FN void take_root(u32 number) {
        const WW_ROOT given = *(const WW_ROOT*)(a.roots + (u64)number * a.roots_bytes);
        parent = number;
        parent_at = TO_ROOT;
        depth = 0;
        child_at = 0;
        ww_start start(*this);
        if (begin<WW_ROOT>(start, 0, given)) {
            at = KNOWN;
            for (u32 i = 0; i < VALUE_WORDS; ++i) value[i] = start.value[i];
        } else {
            become_child();
        }
    }
};
#endif
