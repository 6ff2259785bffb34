// Dial's algorithm for 1024 * K sources at once: a bit a source, a plane a distance. Whole weights from 1 to W.
//
// Bit s of row v of the plane of level d: the distance from source s to v is d. That is so if some edge u -> v of
// weight w has the bit in row u of the plane of level d - w, and no plane before had it in row v. W + 1 planes in a
// ring are all that a level reads and writes.
//
// A row has 32 * K words, K side by side a lane. Source s is bit s % 32 of word s / 32. Its counter is that of
// bit b of word k of a lane, (b * K + k) * 32 + lane: counters of a warp's 32 lanes lie side by side.
//
// Invariants before level d. seen: the OR of all planes before. any: a bit a row and plane, whether the row holds
// a bit; rows that hold none are not read, and may hold anything. dead: sources of which W levels in a row were
// empty, and slots without a source: they have no bit in any plane, nor ever will. done: a bit a row, set only if
// every source has seen it or is dead. reaches: what the levels before add up to; last: the last level that was
// not empty. Levels beyond last + W are empty, and return at once.
//
// With WW_BITS, distances are kept as well, bit by bit: bit s of row v of plane p of `distance` is bit p of the
// distance from s to v. A plane p is 0 before level 2^p, and a source with a distance of WW_BITS bits or more has none.
//
// Edges, rows of all planes and vertices are numbered in 32 bits, with room for a window more.
// Grid: a line of any number of blocks; block: WW_WARPS warps. A warp takes 32 vertices at a time and the edges into
// them in windows. No block waits for another, and every loop ends with the vertices or the edges.
#include "words.cuh"

constexpr int K = WW_K, ROW = 32 * K, SOURCES = 32 * ROW, WARPS = WW_WARPS, READS = WW_READS;
constexpr unsigned WINDOW = 256, NONE = ALL;

struct arguments {
    const unsigned* begins;        // [vertices + 1]: where the edges into a vertex begin
    const unsigned* from;          // [edges]
    const unsigned char* weights;  // [edges], 1 to heaviest
    unsigned* seen;                // [vertices][ROW], 0 at first
    unsigned* planes;              // [heaviest + 1][vertices][ROW]
    unsigned* any;                 // [heaviest + 1][chunks], 0 at first: chunks of 32 rows
    unsigned* done;                // [chunks], 0 at first
    unsigned* dead;                // [ROW], 0 at first
    unsigned* counts;              // [SOURCES], 0 between levels: bits of a level
    reach* reaches;                // [SOURCES], 0 at first
    unsigned* last;                // 0 at first
    const unsigned* sources;       // [count]
    unsigned* spread;              // [counted][SOURCES]: the counts of each level
    unsigned* distance;            // [WW_BITS][vertices][ROW]
    unsigned vertices, chunks, heaviest, count, counted, none;
};
static_assert(sizeof(arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

// The word and the bit of source s in a row.
__device__ __forceinline__ unsigned word_of(unsigned s) { return s / 32; }
__device__ __forceinline__ unsigned bit_of(unsigned s) { return 1u << s % 32; }
__device__ __forceinline__ unsigned counter_of(unsigned s) { return (s % 32 * K + s / 32 % K) * 32 + s / 32 / K; }

// Counts bits of rows, source by source: the b-th bit of x[p][k] has weight 2^p. Two rows add as half adders do.
template <int BITS> struct tally {
    unsigned x[BITS][K] = {};
    unsigned rows = 0;

    __device__ __forceinline__ void add(const words<K>& row, unsigned* counts, int lane) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            unsigned carry = row.x[k];
#pragma unroll
            for (int p = 0; p < BITS; p++) {
                const unsigned both = x[p][k] & carry;
                x[p][k] ^= carry;
                carry = both;
            }
        }
        if (++rows == (1u << BITS) - 1) flush(counts, lane);
    }

    // Adds what was counted to the block's counters.
    __device__ __forceinline__ void flush(unsigned* counts, int lane) {
        if (rows == 0) return;
#pragma unroll
        for (int k = 0; k < K; k++) {
            for (int b = 0; b < 32; b++) {
                unsigned count = 0;
#pragma unroll
                for (int p = 0; p < BITS; p++) count |= (x[p][k] >> b & 1u) << p;
                if (count != 0) atomicAdd(&counts[(b * K + k) * 32 + lane], count);
            }
#pragma unroll
            for (int p = 0; p < BITS; p++) x[p][k] = 0;
        }
        rows = 0;
    }
};

// Empties the rows of level 0 in which sources will be. A block a source, ROW threads.
extern "C" __global__ void clear(const arguments A) {
    A.planes[(size_t)A.sources[blockIdx.x] * ROW + threadIdx.x] = 0;
}

// Level 0: every source at itself. One thread a slot.
extern "C" __global__ void place_sources(const arguments A) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= SOURCES) return;
    if (s >= A.count) {
        atomicOr(A.dead + word_of(s), bit_of(s));
        return;
    }
    const unsigned v = A.sources[s];
    atomicOr(A.planes + (size_t)v * ROW + word_of(s), bit_of(s));
    atomicOr(A.seen + (size_t)v * ROW + word_of(s), bit_of(s));
    atomicOr(A.any + v / 32, 1u << v % 32);
    A.counts[counter_of(s)] = 1;
}

// Adds the counts of level d to what each source reaches. One thread a slot.
extern "C" __global__ void settle(const arguments A, unsigned d) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned count = s < A.count ? A.counts[counter_of(s)] : 0;
    if (d < A.counted && s < SOURCES) A.spread[(size_t)d * SOURCES + s] = count;
    if (count != 0) {
        reach& to = A.reaches[s];
        A.counts[counter_of(s)] = 0;
        to.reached += count;
        to.farthest = d;
        to.total += (unsigned long long)count * d;
    } else if (s < A.count && d - A.reaches[s].farthest >= A.heaviest) {
        atomicOr(A.dead + word_of(s), bit_of(s));
    }
    if (__any_sync(ALL, count != 0) && threadIdx.x % 32 == 0) atomicMax(A.last, d);
}

// The row, among those of all planes, that `edge` reads at level d, or NONE where that has no bits.
__device__ __forceinline__ unsigned row_of(const arguments& A, unsigned edge, unsigned d, unsigned here) {
    const unsigned w = A.weights[edge];
    if (w > d) return NONE;
    const unsigned u = A.from[edge], plane = here >= w ? here - w : here + A.heaviest + 1 - w;
    const bool any = A.any[(size_t)plane * A.chunks + u / 32] >> u % 32 & 1u;
    return any ? plane * A.vertices + u : NONE;
}

// Keeps that vertices of a lane's words at `at` are at distance d from the sources of `fresh`.
__device__ __forceinline__ void keep(const arguments& A, const words<K>& fresh, unsigned d, size_t at) {
#if WW_BITS
    const size_t plane = (size_t)A.vertices * ROW;
    for (unsigned left = d & ((1u << WW_BITS) - 1); left != 0; left &= left - 1) {
        unsigned* to = A.distance + (__ffs(left) - 1) * plane + at;
        words<K> row = load<K>(to);
#pragma unroll
        for (int k = 0; k < K; k++) row.x[k] |= fresh.x[k];
        store<K>(to, row);
    }
#endif
}

// Where a lane's words are of the first of the vertices `todo` of a chunk.
__device__ __forceinline__ size_t own(unsigned chunk, unsigned todo, int lane) {
    return ((size_t)(chunk * 32 + __ffs(todo) - 1) * 32 + lane) * K;
}

// Level d, from 1 on.
extern "C" __global__ void __launch_bounds__(32 * WARPS, WW_BLOCKS) level(const arguments A, unsigned d) {
    if (d > *A.last + A.heaviest) return;
    __shared__ unsigned windows[WARPS][WINDOW];
    __shared__ unsigned counts[SOURCES];
    for (unsigned i = threadIdx.x; i < SOURCES; i += 32 * WARPS) counts[i] = 0;
    __syncthreads();
    const int lane = threadIdx.x % 32;
    unsigned* window = windows[threadIdx.x / 32];
    const unsigned here = d % (A.heaviest + 1);
    unsigned* plane = A.planes + (size_t)here * A.vertices * ROW;
    const words<K> dead = fixed<K>(A.dead + lane * K);
    tally<7> counter;
    for (unsigned chunk = blockIdx.x * WARPS + threadIdx.x / 32; chunk < A.chunks; chunk += gridDim.x * WARPS) {
        unsigned done = A.done[chunk], some = 0;
        if (done != ALL) {
            const unsigned v = min(chunk * 32 + lane, A.vertices);
            const unsigned begin = A.begins[v], end = A.begins[min(v + 1, A.vertices)];
            const unsigned last = __shfl_sync(ALL, end, 31);
            for (unsigned base = __shfl_sync(ALL, begin, 0); base < last; base += WINDOW) {
                const unsigned top = min(base + WINDOW, last);
#pragma unroll 4
                for (unsigned edge = base + lane; edge < top; edge += 32)
                    window[edge - base] = row_of(A, edge, d, here);
                __syncwarp();
                // The part of this lane's own vertex.
                const unsigned first = min(max(begin, base), top) - base;
                const unsigned stop = min(max(end, base), top) - base;
                bool active = false;
                for (unsigned i = first; i < stop; i++) active |= window[i] != NONE;
                unsigned todo = __ballot_sync(ALL, active) & ~done;
                // What the next vertex has seen is on its way while the one before is computed.
                words<K> next = todo == 0 ? words<K>{} : load<K>(A.seen + own(chunk, todo, lane));
                while (todo != 0) {
                    const int i = __ffs(todo) - 1;
                    const size_t at = own(chunk, todo, lane);
                    words<K> seen = next, fresh{};
                    todo &= todo - 1;
                    if (todo != 0) next = load<K>(A.seen + own(chunk, todo, lane));
                    const unsigned from = __shfl_sync(ALL, first, i), to = __shfl_sync(ALL, stop, i);
                    bool needs = false;
#pragma unroll
                    for (int k = 0; k < K; k++) needs |= (seen.x[k] | dead.x[k]) != ALL;
                    if (!__any_sync(ALL, needs)) {
                        done |= 1u << i;
                        continue;
                    }
                    for (unsigned j = from; j < to; j += READS) {
                        words<K> read[READS] = {};
#pragma unroll
                        for (int q = 0; q < READS; q++) {
                            const unsigned row = j + q < to ? window[j + q] : NONE;
                            if (row != NONE && needs)
                                read[q] = fixed<K>(A.planes + ((size_t)row * 32 + lane) * K);
                        }
#pragma unroll
                        for (int q = 0; q < READS; q++)
#pragma unroll
                            for (int k = 0; k < K; k++) fresh.x[k] |= read[q].x[k];
                    }
                    bool bits = false, full = true;
#pragma unroll
                    for (int k = 0; k < K; k++) {
                        fresh.x[k] &= ~seen.x[k];
                        bits |= fresh.x[k] != 0;
                        seen.x[k] |= fresh.x[k];
                        full &= (seen.x[k] | dead.x[k]) == ALL;
                    }
                    if (!__any_sync(ALL, bits)) continue;
                    counter.add(fresh, counts, lane);
                    keep(A, fresh, d, at);
                    store<K>(A.seen + at, seen);
                    if (some >> i & 1u) {
                        // A window before this one had edges into the same vertex.
                        const words<K> before = load<K>(plane + at);
#pragma unroll
                        for (int k = 0; k < K; k++) fresh.x[k] |= before.x[k];
                    }
                    store<K>(plane + at, fresh);
                    some |= 1u << i;
                    if (__all_sync(ALL, full)) done |= 1u << i;
                }
                __syncwarp();
            }
            if (lane == 0) A.done[chunk] = done;
        }
        if (lane == 0) A.any[(size_t)here * A.chunks + chunk] = some;
    }
    counter.flush(counts, lane);
    __syncthreads();
    for (unsigned s = threadIdx.x; s < SOURCES; s += 32 * WARPS)
        if (counts[s] != 0) atomicAdd(A.counts + s, counts[s]);
}

#if WW_BITS
// Distances of two vertices side by side, from one source, and whether there are any.
template <int BITS> struct pair {
    unsigned x[2][BITS], seen[2];

    // Of the sources of a word, by the first `bits` planes.
    __device__ __forceinline__ void load(const arguments& A, unsigned v, unsigned word, unsigned bits) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const bool there = v + i < A.vertices;
            const size_t at = (size_t)(there ? v + i : v) * ROW + word;
            seen[i] = __ldg(A.seen + at);
#pragma unroll
            for (int p = 0; p < BITS; p++)
                x[i][p] = unsigned(p) < bits ? __ldg(A.distance + p * (size_t)A.vertices * ROW + at) : 0;
        }
    }

    // From source `bit` of the word to vertex i of the two; ALL where no path leads.
    __device__ __forceinline__ unsigned of(int i, unsigned bit) const {
        unsigned distance = 0;
#pragma unroll
        for (int p = 0; p < BITS; p++) distance |= (x[i][p] >> bit & 1u) << p;
        return seen[i] >> bit & 1u ? distance : ALL;
    }
};

template <int BITS>
__device__ __forceinline__ void write_rows(const arguments& A, unsigned char* to, unsigned first, unsigned count,
                                           unsigned bits, unsigned bytes) {
    // The words of a vertex one after another, since they lie side by side.
    const unsigned words = (first + count - 1) / 32 - first / 32 + 1, word = first / 32 + blockIdx.x % words;
    const unsigned v = 2 * (blockIdx.x / words * blockDim.x + threadIdx.x);
    if (v >= A.vertices) return;
    pair<BITS> from;
    from.load(A, v, word, bits);
    const unsigned end = min(word * 32 + 32, first + count);
    const bool two = v + 1 < A.vertices;
    for (unsigned s = max(word * 32, first); s < end; s++) {
        unsigned char* row = to + (size_t)(s - first) * (24 + (size_t)A.vertices * bytes);
        if (v == 0) {
            // How far it reaches, and the length of the list, as `Packed` has them.
            const unsigned* reaches = reinterpret_cast<const unsigned*>(A.reaches + s);
            unsigned short* head = reinterpret_cast<unsigned short*>(row);
            for (int i = 0; i < 4; i++) head[2 * i] = reaches[i] & 0xffff, head[2 * i + 1] = reaches[i] >> 16;
            head[8] = A.vertices & 0xffff, head[9] = A.vertices >> 16, head[10] = 0, head[11] = 0;
        }
        row += 24 + (size_t)v * bytes;
        const unsigned a = from.of(0, s % 32), b = from.of(1, s % 32);
        if (two && (size_t)row % (2 * bytes) == 0) {
            // One access for both.
            if (bytes == 4)
                *reinterpret_cast<uint2*>(row) = uint2{a, b};
            else
                *reinterpret_cast<unsigned*>(row) = (a & 0xffff) | b << 16;
        } else if (bytes == 4) {
            reinterpret_cast<unsigned*>(row)[0] = a;
            if (two) reinterpret_cast<unsigned*>(row)[1] = b;
        } else {
            reinterpret_cast<unsigned short*>(row)[0] = a;
            if (two) reinterpret_cast<unsigned short*>(row)[1] = b;
        }
    }
}

// Rows of `count` sources from the first on, as the host packs them: how far the source reaches, the number of vertices
// in 8 bytes, and the distance of each in 4 bytes or in 2, all of it 1 where no path leads. A thread two vertices and
// the sources of a word; grid: a line, vertices times words.
extern "C" __global__ void rows(const arguments A, unsigned char* to, unsigned first, unsigned count, unsigned bits,
                                unsigned bytes) {
    if (bits <= 8)
        write_rows<8>(A, to, first, count, bits, bytes);
    else
        write_rows<WW_BITS>(A, to, first, count, bits, bytes);
}
#endif
