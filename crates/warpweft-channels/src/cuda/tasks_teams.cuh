// Calls that all lanes of a warp run together: functions with `#[spawning(team)]`.
//
// Such a call is the present call of one lane, as any other. At the next step the warp runs all calls of teams that its lanes
// have, one after the other, and each lane goes on with the value of its own. So that teams are spread over warps, one lane of a
// warp holds frames: lanes of a warp give one another nothing, and other warps get one frame at a time.
#pragma once

#define WW_SIZE(F) bytes = larger(bytes, F::TEAM_BYTES);
__host__ __device__ constexpr u32 largest_room() { u32 bytes = 16; WW_FUNCTIONS(WW_SIZE) return bytes; }
#undef WW_SIZE
// Bytes that a warp's lanes share.
constexpr u32 ROOM_BYTES = largest_room();
static_assert(ROOM_BYTES <= 11264, "the arrays of a team take 11264 bytes at most");

// The team as a lane has it.
struct ww_team {
    u32 lane;
    WW_FN void barrier() const { __syncwarp(); }
    WW_FN u32 count(bool condition) const { return __popc(__ballot_sync(ALL, condition)); }
};

// All lanes run the call of lane `of`, whose words are `words`.
template<class F, class Lane> WW_FN void run_team(Lane& own, const u32 (&words)[WORDS], u32 of) {
    if constexpr (F::TEAM) {
        F given;
        memcpy((void*)&given, words, sizeof given);
        // What lanes wrote before is there for all lanes of the team, and the other way round.
        __syncwarp();
        const typename F::Output made = given.team(ww_team{own.lane}, own.room);
        __syncwarp();
        u32 value[words_of(sizeof(typename F::Output))] = {};
        memcpy(value, &made, sizeof made);
#pragma unroll
        for (u32 i = 0; i < words_of(sizeof(typename F::Output)); ++i) {
            const u32 word = __shfl_sync(ALL, value[i], 0);
            if (own.lane == of) own.value[i] = word;
        }
        if (own.lane == of) {
            own.known = true;
            own.at = 0;
        }
    }
}
template<class Lane> WW_FN void run_teams(Lane& own) {
    const bool calls = own.at != 0 && (own.at & LABELS) == TEAM_LABEL;
    for (u32 left = __ballot_sync(ALL, calls); left != 0; left &= left - 1) {
        const u32 of = __ffs(left) - 1, number = __shfl_sync(ALL, own.at, of) >> FUNCTION;
        u32 words[WORDS];
#pragma unroll UNROLLED
        for (u32 i = 0; i < WORDS; ++i) words[i] = __shfl_sync(ALL, own.call[i], of);
#define WW_CASE(F) case F::NUMBER: run_team<F>(own, words, of); break;
        switch (number) { WW_FUNCTIONS(WW_CASE) }
#undef WW_CASE
    }
}
