// What a register of a lane holds: a cell, or with WW_PACKED two 16-bit numbers.
//
// A pair is two virtual lanes in one: the low halves are the rows of lane 2L, the high halves those
// of lane 2L + 1, one macro-step behind. A half is the cell's number less the warp's `base`, which
// moves with the cells every WINDOW columns: neighbours differ by little, the element says, and so
// all numbers that a warp holds at one time fit 16 bits (the host has checked) and nothing is
// rounded or saturated. The base enters the element as `zero`, the pair that stands for 0.
#pragma once
#include "layout.cuh"

#if WW_PACKED

struct form {
    using word = unsigned;    // two cells
    using score = unsigned;   // their scores
    using mask = unsigned;    // which of them are meant
    using row = typename lane_element::PackedRow;
    using column = typename lane_element::PackedColumn;

    int base;
    word zero;

    __device__ __forceinline__ form(int base) { rebase(base); }
    __device__ __forceinline__ void rebase(int to) {
        base = to;
        // Below what any cell can be from here, 0 is as good as the least.
        zero = both(max(-to, -32768));
    }
    static __device__ __forceinline__ word both(int half) {
        return __byte_perm((unsigned)half, 0, 0x1010);
    }
    static __device__ __forceinline__ int low(word pair) { return (short)pair; }
    static __device__ __forceinline__ int high(word pair) { return (int)pair >> 16; }
    static __device__ __forceinline__ int half(word pair, int which) {
        return which == 0 ? low(pair) : high(pair);
    }
    __device__ __forceinline__ word pack(cell_t a, cell_t b) const {
        return __byte_perm((unsigned)((int)a - base), (unsigned)((int)b - base), 0x5410);
    }
    __device__ __forceinline__ cell_t cell(word pair, int which) const {
        return (cell_t)(base + half(pair, which));
    }
    // Numbers relative to a base that is `by` greater.
    static __device__ __forceinline__ word moved(word pair, int by) {
        return __vsub2(pair, both(by));
    }
    // The cells above: of the low half those of the lane above, of the high half the low ones.
    __device__ __forceinline__ word above(word bottom, cell_t ring, int lane) const {
        const word shuffled = __shfl_up_sync(~0u, bottom, 1);
        const word from = lane == 0 ? (unsigned)((int)ring - base) << 16 : shuffled;
        return __byte_perm(from, bottom, 0x5432);
    }
    static __device__ __forceinline__ mask inside(int first, int count) {
        return ((unsigned)first < (unsigned)count ? 0xffffu : 0u)
            | ((unsigned)(first - SK) < (unsigned)count ? 0xffff0000u : 0u);
    }
    static __device__ __forceinline__ mask all() { return ~0u; }
    static __device__ __forceinline__ word select(mask m, word a, word b) {
        return (a & m) | (b & ~m);
    }
    static __device__ __forceinline__ score lowest_score() { return 0x80008000u; }
    static __device__ __forceinline__ score score_of(word pair) { return pair; }
    static __device__ __forceinline__ score greater_score(score a, score b) { return __vmaxs2(a, b); }
    static __device__ __forceinline__ score greater_score(score a, score b, score c) {
        return __vimax3_s16x2(a, b, c);
    }
    // One of two scores; the lowest half stands for none.
    __device__ __forceinline__ ww_score_type score_at(score pair, int which) const {
        const int found = half(pair, which);
        return found == -32768 ? lowest<ww_score_type>::value() : (ww_score_type)(base + found);
    }
    template <class Before>
    __device__ __forceinline__ word next(const lane_element& f, const Before& before, row a,
                                         column b) const {
        return f(before, a, b, zero);
    }
    static __device__ __forceinline__ const ww_element& plain(const lane_element& f) { return f.of; }
    static __device__ __forceinline__ row rows(const lane_element& f, row_t a, row_t b) {
        return f.rows(a, b);
    }
    static __device__ __forceinline__ column columns(const lane_element& f, column_t a, column_t b) {
        return f.columns(a, b);
    }
};

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
