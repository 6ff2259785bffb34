// Warps that put items into one queue of queue.cuh and take them out, and note when. Every operation of a warp begins and ends with a
// tick of one clock that all share, so that "before" is exact.
//
// Grid: a line of blocks of WW_WARPS warps. A warp never waits for room or for items: it tries the other operation.
enum : u32 { BEGUN_IN, ENDED_IN, BEGUN_OUT, ENDED_OUT, NOTES };
struct history_arguments {
    u32* control;  // of the queue
    u32* states;
    u32* items;
    u32* shared;   // [0] clock, [32] credits, [64] items that are left, [96] wrong items
    u32* notes;    // [items][NOTES]
    u32 each, seed;
};
struct history_item { u32 number, inverse, rest[2]; };
using history_queue = ww_queue<WW_SHIFT, 4>;

static __device__ __forceinline__ u32 history_draw(u32& seed) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}
// Acquire and release: what comes before a tick comes before all that comes after a later one. One tick a warp, by the lane that
// reserves and dispatches: a tick of another lane might come after what it is to come before. So there are at most two ticks a turn
// and warp, which 32 bits hold.
static __device__ __forceinline__ u32 history_tick(const history_arguments& a, u32 lane) {
    __syncwarp();
    const u32 now = lane == 0 ? ww_add_acq_rel_gpu(a.shared, 1u) + 1 : 0;
    return __shfl_sync(ALL, now, 0);
}

static __device__ __forceinline__ u32 history_put(const history_arguments& a, const history_queue& queue, u32 lane, u32 number, u32 count) {
    const u32 begun = history_tick(a, lane);
    u32 first = 0, fits = 0;
    if (lane == 0) {
        fits = (i32)ww_add_relaxed(a.shared + 32, 0u - count) >= (i32)count;
        if (!fits) ww_add_relaxed(a.shared + 32, count);
        else first = queue.reserve(count);
    }
    if (__shfl_sync(ALL, fits, 0) == 0) return 0;
    first = __shfl_sync(ALL, first, 0) + lane;
    const bool on = lane < count;
    if (on) {
        while (!queue.is_free(first)) __nanosleep(20);
        queue.write(first, history_item{number + lane, ~(number + lane), {first, a.seed}});
    }
    ww_fence_gpu();
    if (on) queue.publish(first);
    __syncwarp();
    const u32 ended = history_tick(a, lane);
    if (on) {
        a.notes[(number + lane) * NOTES + BEGUN_IN] = begun;
        a.notes[(number + lane) * NOTES + ENDED_IN] = ended;
    }
    return count;
}
static __device__ __forceinline__ void history_take(const history_arguments& a, const history_queue& queue, u32 lane, u32 most) {
    const u32 begun = history_tick(a, lane);
    u32 first = 0, got = 0, left = 0;
    if (lane == 0) got = queue.dispatch(most, first, left);
    got = __shfl_sync(ALL, got, 0);
    first = __shfl_sync(ALL, first, 0) + lane;
    if (got == 0) return;
    const bool on = lane < got;
    history_item item{};
    if (on) {
        while (!queue.is_ready(first)) __nanosleep(20);
        item = queue.read<history_item>(first);
    }
    ww_fence_gpu();
    if (on) queue.release(first);
    __syncwarp();
    if (lane == 0) ww_add_relaxed(a.shared + 32, got);
    const u32 ended = history_tick(a, lane);
    if (on) {
        const bool right = item.inverse == ~item.number && item.number < a.each * gridDim.x * WW_WARPS && (item.rest[0] - first) % history_queue::HALF == 0 && item.rest[1] == a.seed;
        if (!right || atomicAdd(a.notes + item.number * NOTES + BEGUN_OUT, begun) != 0) ww_add_relaxed(a.shared + 96, 1u);
        else a.notes[item.number * NOTES + ENDED_OUT] = ended;
    }
    __syncwarp();
    if (lane == 0) ww_add_relaxed(a.shared + 64, 0u - got);
}

extern "C" __global__ void __launch_bounds__(32 * WW_WARPS) history(const __grid_constant__ history_arguments a) {
    const u32 lane = threadIdx.x % 32, warp = blockIdx.x * WW_WARPS + threadIdx.x / 32;
    const history_queue queue{a.control, a.states, a.items};
    u32 seed = a.seed * 31 + warp * 747796405u, made = 0;
    // A run in which items are lost ends too.
    for (u32 turn = 0; turn < 1u << 20; ++turn) {
        const u32 what = history_draw(seed) % 64, count = min(history_draw(seed) % 32 + 1, a.each - made);
        if (what < 32 && count > 0) made += history_put(a, queue, lane, warp * a.each + made, count);
        else history_take(a, queue, lane, history_draw(seed) % 32 + 1);
        const u32 left = lane == 0 ? ww_load_relaxed(a.shared + 64) : 0;
        if (__shfl_sync(ALL, left, 0) == 0) return;
        for (u32 wait = what % 8; wait > 0; --wait) __nanosleep(50);
    }
}
