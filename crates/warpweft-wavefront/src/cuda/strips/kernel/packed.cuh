// Two cells in the registers of one: a pair of 16-bit numbers for each number of a cell.
//
// A pair is two virtual lanes in one: the low halves are the rows of lane 2L, the high halves those
// of lane 2L + 1, one macro-step behind. A half is the cell's number less the warp's `base`, which
// moves with the cells every WINDOW columns: neighbours differ by little, the element says, and so
// all numbers that a warp holds at one time fit 16 bits (the host has checked) and nothing is
// rounded or saturated.
//
// Expects: ww_based, a cell whose numbers are ww::based (based.cuh), and of ww_element the members `pair` and `joined`.
#pragma once
#include "layout.cuh"

struct form {
    using word = pair_word;
    using score = unsigned;   // two of them
    using mask = unsigned;    // which of them are meant
    using row = uint2;
    using column = unsigned;

    int base;

    __device__ __forceinline__ form(int base) : base(base) {}
    __device__ __forceinline__ void rebase(int to) { base = to; }
    static __device__ __forceinline__ int low(unsigned pair) { return (short)pair; }
    static __device__ __forceinline__ int half(unsigned pair, int which) {
        return which == 0 ? low(pair) : (int)pair >> 16;
    }
    static __device__ __forceinline__ void numbers_of(int (&to)[NUMBERS], const cell_t& cell) {
        memcpy(to, &cell, sizeof(to));
    }
    __device__ __forceinline__ word pack(const cell_t& a, const cell_t& b) const {
        int x[NUMBERS], y[NUMBERS];
        numbers_of(x, a);
        numbers_of(y, b);
        word result;
#pragma unroll
        for (int i = 0; i < NUMBERS; i++)
            result.of[i] = __byte_perm((unsigned)(x[i] - base), (unsigned)(y[i] - base), 0x5410);
        return result;
    }
    __device__ __forceinline__ cell_t cell(const word& pair, int which) const {
        int numbers[NUMBERS];
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) numbers[i] = base + half(pair.of[i], which);
        cell_t result;
        memcpy(&result, numbers, sizeof(result));
        return result;
    }
    // Numbers relative to a base that is `by` greater.
    static __device__ __forceinline__ word moved(word pair, int by) {
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) pair.of[i] = __vsub2(pair.of[i], ww::twice(by));
        return pair;
    }
    // The cells above: of the low half those of the lane above, of the high half the low ones.
    __device__ __forceinline__ word above(const word& bottom, const cell_t& ring, int lane) const {
        int top[NUMBERS];
        numbers_of(top, ring);
        word result;
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) {
            if (!(HANDED >> i & 1)) { result.of[i] = 0; continue; }
            const unsigned shuffled = __shfl_up_sync(~0u, bottom.of[i], 1);
            const unsigned from = lane == 0 ? (unsigned)(top[i] - base) << 16 : shuffled;
            result.of[i] = __byte_perm(from, bottom.of[i], 0x5432);
        }
        return result;
    }
    static __device__ __forceinline__ mask inside(int first, int count) {
        return ((unsigned)first < (unsigned)count ? 0xffffu : 0u)
            | ((unsigned)(first - SK) < (unsigned)count ? 0xffff0000u : 0u);
    }
    static __device__ __forceinline__ mask all() { return ~0u; }
    static __device__ __forceinline__ unsigned select(mask m, unsigned a, unsigned b) {
        return (a & m) | (b & ~m);
    }
    static __device__ __forceinline__ word select(mask m, word a, const word& b) {
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) a.of[i] = select(m, a.of[i], b.of[i]);
        return a;
    }
    static __device__ __forceinline__ score lowest_score() { return 0x80008000u; }
    __device__ __forceinline__ score score_of(const word& pair) const {
        return ww_score(near_cell(pair)).both;
    }
    static __device__ __forceinline__ score greater_score(score a, score b) { return __vmaxs2(a, b); }
    static __device__ __forceinline__ score greater_score(score a, score b, score c) {
        return __vimax3_s16x2(a, b, c);
    }
    // One of two scores; the lowest half stands for none.
    __device__ __forceinline__ ww_score_type score_at(score pair, int which) const {
        const int found = half(pair, which);
        return found == -32768 ? lowest<ww_score_type>::value() : (ww_score_type)(base + found);
    }
    // The numbers of a pair with their base, and without it.
    __device__ __forceinline__ ww_based near_cell(const word& pair) const {
        ww::based numbers[NUMBERS];
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) numbers[i] = ww::based{pair.of[i], base};
        ww_based result;
        static_assert(sizeof(result) == sizeof(numbers), "a number with its base for each of a cell");
        memcpy(&result, numbers, sizeof(result));
        return result;
    }
    __device__ __forceinline__ word pair_of(const ww_based& cell) const {
        ww::based numbers[NUMBERS];
        memcpy(numbers, &cell, sizeof(numbers));
        word result;
#pragma unroll
        for (int i = 0; i < NUMBERS; i++) result.of[i] = numbers[i].from(base);
        return result;
    }
    __device__ __forceinline__ word next(const lane_element& f, const earlier_of<word>& before, row a,
                                         column b) const {
        ww::near pair;
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(pair.both) : "r"(a.x), "r"(a.y), "r"(b));
        const earlier_of<ww_based> near{near_cell(before.nw), near_cell(before.n), near_cell(before.w)};
        return pair_of(f.of.template joined<ww_based>(near, pair));
    }
    static __device__ __forceinline__ const ww_element& plain(const lane_element& f) { return f.of; }
    static __device__ __forceinline__ row rows(const lane_element&, row_t a, row_t b) {
        return uint2{a, b};
    }
    static __device__ __forceinline__ column columns(const lane_element&, column_t a, column_t b) {
        return (a & 0xff) | (b & 0xff00);
    }
};
