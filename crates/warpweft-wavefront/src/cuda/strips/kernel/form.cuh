// What the registers of a lane hold: a cell, or with WW_PACKED two (packed.cuh).
#pragma once
#include "layout.cuh"
#if WW_PACKED
#include "packed.cuh"
#else

struct form {
    using word = cell_t;
    using score = ww_score_type;
    using mask = bool;
    using row = row_t;
    using column = column_t;

    static constexpr int base = 0;

    __device__ __forceinline__ form(int) {}
    __device__ __forceinline__ void rebase(int) {}
    static __device__ __forceinline__ word pack(cell_t a, cell_t) { return a; }
    static __device__ __forceinline__ cell_t cell(const word& cell, int) { return cell; }
    static __device__ __forceinline__ word above(const word& bottom, const cell_t& ring, int lane) {
        const word shuffled = shuffle_up<HANDED>(bottom);
        return lane == 0 ? ring : shuffled;
    }
    static __device__ __forceinline__ mask inside(int first, int count) {
        return (unsigned)first < (unsigned)count;
    }
    static __device__ __forceinline__ mask all() { return true; }
    static __device__ __forceinline__ word select(mask m, const word& a, const word& b) {
        return m ? a : b;
    }
    static __device__ __forceinline__ score lowest_score() { return lowest<score>::value(); }
    static __device__ __forceinline__ score score_of(const word& cell) { return ww_score(cell); }
    static __device__ __forceinline__ score greater_score(score a, score b) { return greater(a, b); }
    static __device__ __forceinline__ score greater_score(score a, score b, score c) {
        return greater(greater(a, b), c);
    }
    static __device__ __forceinline__ score score_at(score s, int) { return s; }
    template <class Before>
    static __device__ __forceinline__ word next(const lane_element& f, const Before& before, row a,
                                                column b) {
        return f(before, a, b);
    }
    static __device__ __forceinline__ const ww_element& plain(const lane_element& f) { return f; }
    static __device__ __forceinline__ row rows(const lane_element&, row_t a, row_t) { return a; }
    static __device__ __forceinline__ column columns(const lane_element&, column_t a, column_t) {
        return a;
    }
};

#endif
