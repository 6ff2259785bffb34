// Every cell's choice, packed: a lane's rows of a column in one word, which it shifts together in a
// register and stores next to those of the other lanes.
//
// Lanes are SK columns apart, and so are the words that they store at one time: what a warp stores
// with one macro-step lies side by side, 32 * SK words, whatever column a lane is at. The words of
// lane L and column j of warp-row w are those of macro-step j / SK + L:
// words[((w * steps + j / SK + L) * 32 + L) * SK + j % SK], steps = chunks * CHUNK / SK. The place of
// columns outside the domain is kept, and what lies there is no choice.
//
// Expects: ww_choice, a struct that tells the choice of a finished cell, and WW_DIRECTIONS, the bits
// that it takes: 1, 2, 4 or 8.
#pragma once
#include "form.cuh"

#if WW_DIRECTIONS

constexpr int DIRECTION_BITS = WW_DIRECTIONS * K;
static_assert(DIRECTION_BITS <= 64 && 32 % WW_DIRECTIONS == 0, "the rows of a lane fit a word");
// A word, or the halves of one of 64 bits: no choice lies in both.
constexpr int HALVES_OF_WORD = DIRECTION_BITS <= 32 ? 1 : 2;
template <int BYTES> struct direction_word { using type = unsigned; };
template <> struct direction_word<1> { using type = unsigned char; };
template <> struct direction_word<2> { using type = unsigned short; };
using directions_t = typename direction_word<
    DIRECTION_BITS <= 8 ? 1 : DIRECTION_BITS <= 16 ? 2 : 4>::type;
constexpr int DIRECTIONS = SK * HALVES_OF_WORD;  // that a lane stores at one time

struct finished : earlier {
    cell_t cell;
    __device__ __forceinline__ const cell_t& input() const { return cell; }
};

struct recorder {
    const ww_choice& choice;
    directions_t* to;  // of the next macro-step
    unsigned words[DIRECTIONS];

    __device__ __forceinline__ recorder(const ww_choice& choice) : choice(choice), to(nullptr) {}

    __device__ __forceinline__ void begin(const ww_arguments& A, int warp_row, int chunks, int lane) {
        const size_t steps = (size_t)chunks * (CHUNK / SK);
        to = (directions_t*)A.kept + ((warp_row / WARP_ROWS) * steps * 32 + lane) * DIRECTIONS;
    }
    // The cell of row `r` and column `u` of the macro-step.
    __device__ __forceinline__ void tell(int r, int u, const cell_t& nw, const cell_t& n,
                                         const cell_t& w, const cell_t& cell, const row_t& a,
                                         const column_t& b) {
        finished all;
        all.nw = nw;
        all.n = n;
        all.w = w;
        all.cell = cell;
        const unsigned chosen = choice(all, a, b) & ((1u << WW_DIRECTIONS) - 1), bit = r * WW_DIRECTIONS;
        unsigned& word = words[u * HALVES_OF_WORD + bit / 32];
        word = bit % 32 == 0 ? chosen : word | chosen << bit % 32;
    }
    __device__ __forceinline__ void store() {
        using V = vector_of<directions_t, DIRECTIONS>;
        directions_t narrow[DIRECTIONS];
#pragma unroll
        for (int i = 0; i < DIRECTIONS; i++) narrow[i] = (directions_t)words[i];
        typename V::type parts[V::COUNT];
        memcpy(parts, narrow, V::BYTES);
#pragma unroll
        for (int i = 0; i < V::COUNT; i++) __stcs((typename V::type*)to + i, parts[i]);
        to += 32 * DIRECTIONS;
    }
};

#else

// Nothing is recorded.
struct recorder {
    __device__ __forceinline__ void begin(const ww_arguments&, int, int, int) {}
    __device__ __forceinline__ void tell(int, int, const form::word&, const form::word&,
                                         const form::word&, const form::word&, const form::row&,
                                         const form::column&) {}
    __device__ __forceinline__ void store() {}
};

#endif
