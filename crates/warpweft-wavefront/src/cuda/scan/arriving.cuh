// Inputs of a warp's rows of a tile, in shared memory, by asynchronous copies of 16 bytes. Where rows do not
// begin at multiples of 16 bytes, the copies begin up to 15 bytes before them.
#pragma once

__device__ __forceinline__ void copies_begun() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All but the last PENDING that were begun.
template <int PENDING> __device__ __forceinline__ void copies_ended() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

template <class T, int ROWS, int TILE> struct arriving_rows {
    static constexpr int BYTES = TILE * sizeof(T), PITCH = BYTES + 16, LANE = TILE / 32;
    static_assert(BYTES % 16 == 0, "tiles are whole copies");
    alignas(16) unsigned char rows[ROWS][PITCH];

    // Bytes before the first input of a tile that its first copy begins with.
    static __device__ __forceinline__ int skipped(const T* first) { return (unsigned long long)first & 15; }

    // `count` bytes, the rest zeros.
    __device__ __forceinline__ void copy(unsigned char* to, const void* from, int count) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                     ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(count) : "memory");
    }

    // Begins to bring the inputs of rows row0.. and columns column.., by all lanes of the warp; zeros for rows
    // and columns outside.
    __device__ __forceinline__ void bring(const T* inputs, int row0, int column, int row_count,
                                          int column_count, bool wide, int lane) {
        if constexpr (__is_empty(T)) return;  // there are none
        if (wide) {
            constexpr int CHUNKS = BYTES / 16;
            const int columns = (int)sizeof(T) * min(column_count - column, TILE);  // bytes of a row
            const char* const first = (const char*)(inputs + (size_t)row0 * column_count + column);
            const size_t pitch = sizeof(T) * (size_t)column_count;
            if (row0 + ROWS <= row_count && columns == BYTES) {
#pragma unroll
                for (int k = 0; k < (ROWS * CHUNKS + 31) / 32; k++) {
                    const int i = lane + 32 * k, row = i / CHUNKS, at = i % CHUNKS * 16;
                    if (ROWS * CHUNKS % 32 == 0 || i < ROWS * CHUNKS)
                        copy(rows[row] + at, first + row * pitch + at, 16);
                }
                return;
            }
            for (int i = lane; i < ROWS * CHUNKS; i += 32) {
                const int row = i / CHUNKS, at = i % CHUNKS * 16;
                const bool inside = row0 + row < row_count && at < columns;
                copy(rows[row] + at, inside ? first + row * pitch + at : (const char*)inputs, inside ? 16 : 0);
            }
            return;
        }
        // Of the next row too, which has inputs of other cells.
        constexpr int CHUNKS = PITCH / 16;
        const char* const end = (const char*)(inputs + (size_t)row_count * column_count);
        for (int i = lane; i < ROWS * CHUNKS; i += 32) {
            const int row = i / CHUNKS, at = i % CHUNKS * 16;
            const T* first = inputs + (size_t)(row0 + row) * column_count + column;
            const char* from = (const char*)first - skipped(first) + at;
            const bool inside = row0 + row < row_count && from < end;
            if (inside && end - from < 16) {
                // A copy would be one of 16 bytes, whose end is not there.
                for (int i = 0; i < 16; i++) rows[row][at + i] = from + i < end ? from[i] : 0;
            } else {
                copy(rows[row] + at, inside ? from : (const char*)inputs, inside ? 16 : 0);
            }
        }
    }

    // What was brought, of this lane, whose first column is `column`.
    template <int V>
    __device__ __forceinline__ void take(const T* inputs, int row0, int column, int column_count, bool wide,
                                         int lane, T (&x)[ROWS][V]) const {
        static_assert(V == LANE, "a lane takes its part");
        if constexpr (__is_empty(T)) return;
        if (wide) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) load_vector<V>(x[r], (const T*)rows[r] + lane * V);
            return;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const T* first = inputs + (size_t)(row0 + r) * column_count + (column - lane * V);
            const T* from = (const T*)(rows[r] + skipped(first)) + lane * V;
#pragma unroll
            for (int v = 0; v < V; v++) x[r][v] = from[v];
        }
    }
};
