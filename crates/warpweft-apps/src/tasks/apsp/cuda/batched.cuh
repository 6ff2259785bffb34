// Distances from 32 * K sources at once, by sweeps over all vertices (Bellman and Ford): any weights.
//
// distances is [vertex][source]; a row is read by a warp at once. A sweep pulls: a warp takes a vertex and the
// rows of those predecessors that changed in the sweep before or in this one, in place.
//
// Invariants. A distance is that of a path that there is, or ALL, and only falls; so it may be read while another
// warp lowers it. stamps[v] is the last sweep that changed v's row (1: its sources were set). A row that changed
// in sweep k is read in sweep k + 1, whole. So a sweep that changes nothing leaves nothing to be changed, and
// after at most as many sweeps as there are vertices there is one. Sums saturate at ALL.
//
// Grid: a line of any number of blocks; block: any number of whole warps. No block waits for another.
#include "words.cuh"

constexpr int K = WW_K, SOURCES = 32 * K;

struct arguments {
    const unsigned* begins;   // [vertices + 1]: where the edges into a vertex begin
    const unsigned* from;     // [edges]
    const WW_WEIGHT* weights; // [edges], of bytes where all fit
    unsigned* distances;      // [vertices][SOURCES], ALL at first
    unsigned* stamps;         // [vertices], 0 at first
    unsigned* last;           // the last sweep that changed anything
    const unsigned* sources;  // [count]
    reach* reaches;           // [SOURCES], 0 at first
    unsigned* beyond;         // [SOURCES], 0 at first: whether some path may be longer than 32 bits hold
    unsigned* row;            // [vertices]: the distances from one source
    unsigned* spread;         // [counted][SOURCES], 0 at first
    unsigned vertices, count, counted, none;
};
static_assert(sizeof(arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

// Each source is at distance 0 from itself. One thread a source.
extern "C" __global__ void place_sources(const arguments A) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s == 0) *A.last = 1;
    if (s >= A.count) return;
    A.distances[(size_t)A.sources[s] * SOURCES + s] = 0;
    A.stamps[A.sources[s]] = 1;
}

// Sweep k, from 2 on.
extern "C" __global__ void sweep(const arguments A, unsigned k) {
    // The sweep before changed nothing. This one sets it to k, which is no less.
    if (*(volatile unsigned*)A.last + 1 < k) return;
    const unsigned lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    bool any = false;
    for (size_t v = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < A.vertices; v += warps) {
        const size_t end = A.begins[v + 1];
        words<K> best;
#pragma unroll
        for (int i = 0; i < K; i++) best.x[i] = ALL;
        bool active = false;
        for (size_t edge = A.begins[v]; edge < end; edge += 32) {
            const bool there = edge + lane < end;
            const unsigned from = there ? A.from[edge + lane] : 0;
            const unsigned weight = there ? A.weights[edge + lane] : 0;
            const bool changed = there && ((volatile unsigned*)A.stamps)[from] + 1 >= k;
            unsigned todo = __ballot_sync(ALL, changed);
            active |= todo != 0;
            while (todo != 0) {
                words<K> near[4];
                unsigned far[4];
                int at = 0;
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    // The last one again where there are fewer: a minimum has no second thoughts.
                    if (todo != 0) at = __ffs(todo) - 1;
                    todo &= todo - 1;
                    const unsigned u = __shfl_sync(ALL, from, at);
                    far[q] = __shfl_sync(ALL, weight, at);
                    near[q] = load<K>(A.distances + (size_t)u * SOURCES + lane * K);
                }
#pragma unroll
                for (int q = 0; q < 4; q++)
#pragma unroll
                    for (int i = 0; i < K; i++) {
                        const unsigned sum = near[q].x[i] + far[q];
                        best.x[i] = min(best.x[i], sum < far[q] ? ALL : sum);
                    }
            }
        }
        if (!active) continue;
        unsigned* row = A.distances + v * SOURCES + lane * K;
        words<K> own = load<K>(row);
        bool nearer = false;
#pragma unroll
        for (int i = 0; i < K; i++) {
            nearer |= best.x[i] < own.x[i];
            own.x[i] = min(best.x[i], own.x[i]);
        }
        if (!__any_sync(ALL, nearer)) continue;
        store<K>(row, own);
        if (lane == 0) ((volatile unsigned*)A.stamps)[v] = k;
        any = true;
    }
    if (any && lane == 0) atomicMax(A.last, k);
}

// How far each source reaches, over all rows.
extern "C" __global__ void sum(const arguments A) {
    const unsigned lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    unsigned reached[K] = {}, farthest[K] = {};
    unsigned long long total[K] = {};
    for (size_t v = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < A.vertices; v += warps) {
        const words<K> row = load<K>(A.distances + v * SOURCES + lane * K);
#pragma unroll
        for (int i = 0; i < K; i++) {
            if (row.x[i] == ALL) continue;
            reached[i]++;
            farthest[i] = max(farthest[i], row.x[i]);
            total[i] += row.x[i];
        }
    }
#pragma unroll
    for (int i = 0; i < K; i++) {
        reach* to = A.reaches + lane * K + i;
        if (reached[i] == 0) continue;
        atomicAdd(&to->reached, reached[i]);
        atomicMax(&to->farthest, farthest[i]);
        atomicAdd(&to->total, total[i]);
    }
}

// Of which sources some edge leads from a vertex that a path reaches to one that none does: beyond 32 bits.
extern "C" __global__ void look_beyond(const arguments A) {
    const unsigned lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (size_t v = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < A.vertices; v += warps) {
        const words<K> own = load<K>(A.distances + v * SOURCES + lane * K);
        bool none = false;
#pragma unroll
        for (int i = 0; i < K; i++) none |= own.x[i] == ALL;
        if (!__any_sync(ALL, none)) continue;
        for (size_t edge = A.begins[v], end = A.begins[v + 1]; edge < end; edge++) {
            const words<K> before =
                load<K>(A.distances + (size_t)A.from[edge] * SOURCES + lane * K);
#pragma unroll
            for (int i = 0; i < K; i++)
                if (own.x[i] == ALL && before.x[i] != ALL) A.beyond[lane * K + i] = 1;
        }
    }
}

// The distances from source s, one thread a vertex.
extern "C" __global__ void extract(const arguments A, unsigned s) {
    const size_t v = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (v < A.vertices) A.row[v] = A.distances[v * SOURCES + s];
}

// How many vertices are at each distance below `counted`, over all rows.
extern "C" __global__ void spread(const arguments A) {
    const unsigned lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (size_t v = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < A.vertices; v += warps) {
        const words<K> row = load<K>(A.distances + v * SOURCES + lane * K);
#pragma unroll
        for (int i = 0; i < K; i++)
            if (row.x[i] < A.counted) atomicAdd(A.spread + (size_t)row.x[i] * SOURCES + lane * K + i, 1u);
    }
}
