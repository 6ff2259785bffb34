// Calls that all lanes of a warp run together, or all of a block: functions with `#[spawning(team)]`.
//
// Such a call is the present call of one lane, as any other. At the next step the warp runs all calls of teams that its lanes
// have, one after the other, and each lane goes on with the value of its own. So that teams are spread over warps, one lane of a
// warp holds frames: lanes of a warp give one another nothing, and other warps get one frame at a time.
//
// Where a function wants more than a warp (WW_BLOCK_TEAMS), thread 0 of a block holds its calls (tasks_blocks.cuh). It goes on until it
// has one for the block; the others wait for that at a barrier. All warps are in one loop, so that they meet at the same
// instructions.
#pragma once

#define WW_SIZE(F) bytes = larger(bytes, F::TEAM_BYTES);
__host__ __device__ constexpr u32 largest_room() { u32 bytes = 16; WW_FUNCTIONS(WW_SIZE) return bytes; }
#undef WW_SIZE
// Bytes that a team's lanes share.
constexpr u32 ROOM_BYTES = largest_room();
#if WW_BLOCK_TEAMS
static_assert(ROOM_BYTES <= 98304, "the arrays of a team take 98304 bytes at most");
#else
static_assert(ROOM_BYTES <= 11264, "the arrays of a team of 32 lanes take 11264 bytes at most");
#endif

// Of the lanes' numbers, the sum of those before a lane, and of all.
struct ww_sums { u32 before, all; };
WW_FN ww_sums sums_of_warp(u32 number, u32 lane) {
    u32 up_to = number;
#pragma unroll
    for (u32 apart = 1; apart < 32; apart *= 2) {
        const u32 other = __shfl_sync(ALL, up_to, lane < apart ? lane : lane - apart);
        up_to += lane < apart ? 0 : other;
    }
    return {up_to - number, __shfl_sync(ALL, up_to, 31)};
}

// The team as a lane has it: a warp.
struct ww_team {
    static constexpr u32 LANES = 32;
    u32 lane;
    WW_FN void barrier() const { __syncwarp(); }
    WW_FN u32 count(bool condition) const { return __popc(__ballot_sync(ALL, condition)); }
    WW_FN ww_sums sums(u32 number) const { return sums_of_warp(number, lane); }
};

#if WW_BLOCK_TEAMS
// All lanes of a block.
struct ww_block_team {
    static constexpr u32 LANES = 32 * WW_WARPS;
    u32 lane;
    u32* of_warps; // a word of each warp that all share
    // A block's barrier is for whole warps.
    WW_FN void barrier() const {
        __syncwarp();
        __syncthreads();
    }
    WW_FN u32 count(bool condition) const {
        __syncwarp();
        return (u32)__syncthreads_count(condition);
    }
    WW_FN ww_sums sums(u32 number) const {
        const u32 own = lane / 32;
        const ww_sums here = sums_of_warp(number, lane % 32);
        if (lane % 32 == 0) of_warps[own] = here.all;
        barrier();
        ww_sums found{here.before, 0};
        for (u32 k = 0; k < WW_WARPS; ++k) {
            found.before += k < own ? of_warps[k] : 0;
            found.all += of_warps[k];
        }
        barrier();
        return found;
    }
};
#if WW_DEVICE
WW_FN unsigned char* ww_block_room() {
    extern __shared__ __align__(16) unsigned char ww_room[];
    return ww_room;
}
#else
WW_FN unsigned char* ww_block_room() {
    alignas(16) static unsigned char rooms[HOST_BLOCKS][ROOM_BYTES];
    return rooms[blockIdx.x];
}
#endif

WW_FN void meet() {
    __syncwarp();
    __syncthreads();
}
#else
// Lane `of` goes on with the value that a team made.
template<class Output, class Lane> WW_FN void take_value(Lane& own, const Output& made, u32 of) {
    u32 value[words_of(sizeof(Output))] = {};
    memcpy(value, &made, sizeof made);
#pragma unroll
    for (u32 i = 0; i < words_of(sizeof(Output)); ++i) {
        const u32 word = __shfl_sync(ALL, value[i], 0);
        if (own.lane == of) own.value[i] = word;
    }
    if (own.lane == of) {
        own.at = KNOWN;
    }
}

// All lanes of the warp run the call of lane `of`, whose words are `words`.
template<class F, class Lane> WW_FN void run_team(Lane& own, const u32 (&words)[WORDS], u32 of) {
    if constexpr (F::LANES == 32) {
        F given;
        memcpy((void*)&given, words, sizeof given);
        __syncwarp();
        const typename F::Output made = given.team(ww_team{own.lane}, own.room);
        __syncwarp();
        take_value(own, made, of);
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
#endif
