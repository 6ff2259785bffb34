// Fork-join tasks in one persistent kernel: each lane runs calls depth first, and shares its oldest ones with idle lanes.
//
// Grid: a line of blocks, all resident (cooperative); block: WW_WARPS warps, none of which waits for another of its
// block. Shared memory: a window of each lane's stack, where it fits (WW_SHARED).
//
// A lane's present call is in registers; a step spawns one call of it, which becomes the present one. The older call goes to
// the lane's stack, as a frame: what its function needs to go on, and where. The newest frames are in a ring of fixed
// length in shared memory; the oldest are in chunks of global memory when there are too many (tasks_frames.cuh).
//
// What becomes of values is in one of two files. tasks_sums.cuh: functions whose values are proved to be one sum over all
// calls (or a product, minimum, maximum, `&`, `|`, `^`); no call waits for another. tasks_joins.cuh: all others; a call
// waits for the values of its calls.
//
// Functions with `#[spawning(team)]` are run by all lanes of a warp together, or by all of a block (tasks_teams.cuh). Where
// some are run by a block, its thread 0 alone holds calls, with a scheduler of its own (tasks_blocks.cuh).
//
// A warp makes some steps without a look at anything that others share, then counts its idle lanes. When enough are idle
// they take the oldest frames of the lanes that have most. A warp without work draws a ticket: it writes its number to a
// ring and adds one to the demand. A warp with work that sees demand claims exactly as much of it as it can meet, and
// writes frames into the inboxes of the warps whose tickets those are: a giver never waits for a place. The run is over
// when no warp holds a token: each warp begins with one, each batch of frames brings one, and a warp without work, frames
// or roots gives all of its back (tasks_sharing.cuh).
#include "words.cuh"
#include "clocks.cuh"
#include "watchdog.cuh"

using ww::u32;
using ww::u64;

constexpr u32 NONE = 0xffffffffu, ALL = 0xffffffffu;
// Why a run ends: the first is that memory for waiting calls is used up, the last that all is done.
enum : u32 { TOO_DEEP = 1, DONE = 255 };
// Where words that warps share lie in `counters`, 128 bytes apart.
enum : u32 { NEXT_ROOT = 0, DEMAND = 32, HEAD = 64, STATUS = 96, TAIL = 128, LIVE = 160, WAITING = 192, CHUNKS = 224 };
enum : u32 { CALLS = 0, GIVEN = 1, STEPS = 2, ROUNDS = 3, SPILLED = 4, CYCLES = 5 };

struct ww_arguments {
    const unsigned char* roots;    // calls, as they lie in Rust
    unsigned char* results;        // a value a root; of sums it begins with the operation's neutral one
    u32* ring;                     // [ring_size] warps that wait, each plus one; 0 is free
    u32* inbox;                     // [warps][RECORD + 2][32]
    u32* inbox_counts;              // [warps] frames in the inbox, plus one; 0: none
    u32* stacks;                   // [warps][window][RECORD][32 lanes], where windows are not in shared memory
    u32* pool;                     // [chunks][CHUNK_WORDS]
    u32* records;                  // [warps][records_each][RECORD_WORDS], calls that wait and are on no stack
    u32* free_records;             // [warps][records_each]
    u32* returned;                 // [warps][records_each / 32], a bit for each record that another warp freed
    u32* counters;
    u64* counts;
    u32 roots_count, roots_bytes, ring_size, window, chunks, every, idle, ramp, age, warps, records_each;
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

__host__ __device__ constexpr u32 larger(u32 a, u32 b) { return a > b ? a : b; }
__host__ __device__ constexpr u32 words_of(u32 bytes) { return (bytes + 3u) / 4u; }
#if WW_BLOCK_TEAMS
#define WW_SIZE(F) words = larger(words, larger(F::JOIN_WORDS, words_of(sizeof(F))));
#elif WW_JOINS
#define WW_SIZE(F) words = larger(words, F::JOIN_WORDS);
#else
#define WW_SIZE(F) words = larger(words, words_of(sizeof(typename F::Sum)));
#endif
__host__ __device__ constexpr u32 largest_call() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) + 1u
constexpr u32 FUNCTIONS = 0u WW_FUNCTIONS(WW_SIZE);
#undef WW_SIZE

template<u32 BYTES> struct ww_word_of { using type = u32; };
template<> struct ww_word_of<8> { using type = u64; };

// Where a frame goes on: a label, which is at least WAITS for a wait; from bit 10 the call of which it has no value yet;
// from bit 20 its function.
constexpr u32 WAITS = 512, LABELS = 1023, SITE = 10, SITES = 1023, FUNCTION = 20;
// `at` of a lane that has a value on its way and no present call; the bit of one whose call waits for other lanes.
constexpr u32 KNOWN = ALL, BLOCKED = 1u << 31;
// A frame says where it goes on only if that may differ.
#if WW_JOINS
constexpr bool LABELLED = true;
#else
constexpr bool LABELLED = FUNCTIONS > 1 || WW_ROOT::SUM_LATER == 0;
#endif
#if WW_JOINS && !WW_BLOCK_TEAMS
#define WW_SIZE(F) words = larger(words, F::STACK_WORDS);
__host__ __device__ constexpr u32 largest_frame() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) words = larger(words, F::START_WORDS);
__host__ __device__ constexpr u32 largest_start() { u32 words = 0; WW_FUNCTIONS(WW_SIZE) return words; }
#undef WW_SIZE
#define WW_SIZE(F) + F::PUSHED
constexpr u32 STATES = 0u WW_FUNCTIONS(WW_SIZE);
#undef WW_SIZE
// Bits of a label where there are few and frames are long: a lane has those of its window in a register. 0: each is in its frame.
constexpr u32 LABEL_BITS = largest_frame() < 4 ? 0 : STATES <= 2 ? 1 : STATES <= 4 ? 2 : 0;
constexpr u32 FRAME_WORDS = largest_frame() + (LABEL_BITS == 0 ? 1 : 0);
// Words of a frame in a window, where three take as long as four, and elsewhere, where it has its label.
constexpr u32 STACKED = FRAME_WORDS == 3 ? 4 : larger(FRAME_WORDS, 1u), RECORD = STACKED + (LABEL_BITS == 0 ? 0 : 1);
// Words of a call.
constexpr u32 WORDS = larger(largest_call(), STACKED);
#else
constexpr u32 LABEL_BITS = 0, WORDS = larger(largest_call(), 1u), FILLED = WORDS + (LABELLED ? 1u : 0u);
#if WW_BLOCK_TEAMS
constexpr u32 RECORD = (FILLED + 3) / 4 * 4;
#else
constexpr u32 RECORD = FILLED;
#endif
constexpr u32 STACKED = RECORD;
#endif
constexpr u32 FRAME_BYTES = 128 * STACKED;
// Frames that go to global memory at once, after the chunk before and the one after.
constexpr u32 CHUNK = 4, CHUNK_WORDS = 2 + CHUNK * RECORD;

// Ends the run: the first reason stays.
__device__ __noinline__ void ww_end(const ww_arguments& a, u32 why) { ww_compare_relaxed(a.counters + STATUS, 0u, why); }

#include "tasks_frames.cuh"
#if WW_JOINS
#include "tasks_joins.cuh"
#else
#include "tasks_sums.cuh"
#endif
#include "tasks_sharing.cuh"
#include "tasks_blocks.cuh"

#if WW_BLOCK_TEAMS
constexpr u32 ROOM = ROOM_BYTES;
#else
constexpr u32 ROOM = 0;
#endif
extern "C" __device__ u32 ww_sizes[5] = {RECORD, RECORD_WORDS, ROOM, STACKED, LABEL_BITS};

// Blocks of an SM for which registers are to suffice: 24 warps of sums. Where calls wait: as many as the policy says, or as have
// room for windows, up to 24 warps, as many for each of the SM's four schedulers. Functions that are long need registers more
// than warps.
#if WW_JOINS && WW_SHARED && !WW_BLOCK_TEAMS && WW_UNROLL > 1
#if __CUDA_ARCH__ == 800
constexpr u32 SM_BYTES = 167936;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890
constexpr u32 SM_BYTES = 102400;
#else
constexpr u32 SM_BYTES = 232448;
#endif
constexpr u32 WINDOW = FRAME_BYTES * 16 <= 16384 ? 16 : 8;
constexpr u32 FITTING_WARPS = (SM_BYTES / (WW_WARPS * WINDOW * FRAME_BYTES + 1100) * WW_WARPS + 3) / 4 * 4;
constexpr u32 RESIDENT = WW_RESIDENT != 0 ? WW_RESIDENT : larger(FITTING_WARPS < 24 ? FITTING_WARPS : 24, 4u) / WW_WARPS;
#elif WW_BLOCK_TEAMS && WW_DEVICE
constexpr u32 RESIDENT = larger(WW_RESIDENT, 1u);
#elif !WW_JOINS && WW_UNROLL > 1 && WW_DEVICE
constexpr u32 RESIDENT = 24 / WW_WARPS;
#elif WW_DEVICE
constexpr u32 RESIDENT = 1;
#endif

extern "C" __global__ void __launch_bounds__(32 * WW_WARPS, RESIDENT) channels_tasks(const __grid_constant__ ww_arguments a, const __grid_constant__ ww_watchdog dog
#if WW_UNIFORM
    , const __grid_constant__ WW_ROOT only_root
#endif
) {
#if WW_BLOCK_TEAMS
#if WW_DEVICE
    __shared__ ww_held held;
#else
    static ww_held holders[HOST_BLOCKS];
    ww_held& held = holders[blockIdx.x];
#endif
    ww_block own{a, dog,
#if WW_UNIFORM
        only_root,
#endif
        held, blockIdx.x};
    run_blocks(own, ww_block_room());
#else
    const u32 lane = threadIdx.x & 31u, number = threadIdx.x >> 5, warp = blockIdx.x * WW_WARPS + number;
#if WW_TEAMS
    alignas(16) __shared__ unsigned char rooms[WW_WARPS][ROOM_BYTES];
#endif
    __shared__ unsigned char givers[WW_WARPS][32];
#if WW_SHARED
    extern __shared__ __align__(16) unsigned char ww_windows[];
    const u32 stack = (u32)__cvta_generic_to_shared(ww_windows) + number * (a.window * FRAME_BYTES);
#else
    u32* const stack = a.stacks + (u64)warp * (a.window * (FRAME_BYTES / 4));
#endif
    ww_warp own{{{a, dog,
#if WW_UNIFORM
        only_root,
#endif
        stack, lane, warp}}, givers[number]};
#if WW_TEAMS
    own.room = rooms[number];
#endif
    own.begin_frames();
    own.begin_values();
    own.begin_sharing();
    own.run();
    own.finish();
#endif
}
