// Where a block's time goes: waiting at the corners of the run, waiting between, computing.
//
// A wait counts to the corner when, on the diagonal of the tile that follows, fewer tile-rows are
// at work than there are blocks (or all of them, if they are fewer), and to the middle otherwise:
// the two kinds of section 7.3 of Belviranli et al. 2015. Compiled in by WW_IDLE only. Waits are
// timed in cycles: reading the clock that all SMs share takes as long as many fronts.
#pragma once

struct idle_times {
#ifdef WW_IDLE
    const ww_arguments& A;
    unsigned long long began, first, since, corner, middle;  // `since` 0: not waiting
    __device__ __forceinline__ idle_times(const ww_arguments& A) : A(A), corner(0), middle(0) {
        began = ww_nanoseconds();
        first = since = clock64();
    }
    __device__ __forceinline__ void wait() {
        if (since == 0) since = clock64();
    }
    __device__ __forceinline__ void go(int unit, int c) {
        if (threadIdx.x != 0 || since == 0) return;
        const unsigned long long waited = clock64() - since;
        since = 0;
        const long long d = (long long)(unit % A.tile_rows) * A.lag
            + (long long)(unit / A.tile_rows) * A.sweep_lag + c;
        const int sweep = unit / A.tile_rows;
        long long busy = 0;
        // Of one sweep: the next begins long before this ends only where rows are many.
        const long long at = d - (long long)sweep * A.sweep_lag;
        const long long first = at < A.tiles ? 0 : (at - A.tiles) / A.lag + 1;
        busy = min((long long)A.tile_rows - 1, at / A.lag) - first + 1;
        if (busy < min((int)gridDim.x, A.tile_rows)) corner += waited;
        else middle += waited;
    }
    __device__ __forceinline__ void end() {
        if (threadIdx.x != 0) return;
        const unsigned long long now = clock64();
        if (since != 0) corner += now - since;
        unsigned long long* to = A.idle + 5 * (size_t)blockIdx.x;
        to[0] = began;
        to[1] = ww_nanoseconds();
        to[2] = corner;
        to[3] = middle;
        to[4] = now - first;
    }
#else
    __device__ __forceinline__ idle_times(const ww_arguments&) {}
    __device__ __forceinline__ void wait() {}
    __device__ __forceinline__ void go(int, int) {}
    __device__ __forceinline__ void end() {}
#endif
};
