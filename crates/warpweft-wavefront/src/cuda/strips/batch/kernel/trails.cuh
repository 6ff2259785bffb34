// Paths read off recorded choices: a thread a problem, from the end of the path back to its start.
//
// Grid: a line of blocks, a thread for each problem; launched after wavefront_batch with the same arguments. A thread
// goes along its path twice: to count the runs of equal moves, for which it takes space, and to write them. A
// path has as many moves as its problem has rows and columns at most, so no thread runs on for ever.
//
// A move is the number of its vector (0: both letters, 1: a row, 2: a column). What a choice means depends on the
// state of the path: A.back[state << WW_DIRECTIONS | choice] is the move, and the next state times 4. Move 3: the
// path begins here, or, with a state that is not 0, the choice means nothing.
#pragma once

enum { WW_BEGINS = 3 };

__device__ __forceinline__ bool is_real(float) { return true; }
__device__ __forceinline__ bool is_real(double) { return true; }
template <class T> __device__ __forceinline__ bool is_real(T) { return false; }

struct choices_of {
    const directions_t* const words;
    const int columns;

    __device__ __forceinline__ unsigned at(int i, int j) const {
        const unsigned strip = (unsigned)i / K, r = (unsigned)i % K, lane = strip % 32;
        const size_t step = (size_t)(strip / 32) * (columns + 31) + j + lane;
        return words[step * 32 + lane] >> r * WW_DIRECTIONS & ((1u << WW_DIRECTIONS) - 1);
    }
};

// Where a path is, and its last run of moves.
struct walk {
    int i, j;
    unsigned state, move, length, runs;

    // Goes to the start; calls `ended(move, length)` for each run. Whether all choices mean something.
    template <class Ended>
    __device__ __forceinline__ bool go(const choices_of& choices, const unsigned short* back,
                                       Ended ended) {
        state = 0;
        move = WW_BEGINS;
        length = runs = 0;
        bool good = true;
        while (i >= 0 && j >= 0) {
            const unsigned next = back[state << WW_DIRECTIONS | choices.at(i, j)];
            const unsigned how = next & 3;
            state = next >> 2;
            if (how == WW_BEGINS) {
                good = state == 0;
                break;
            }
            if (how != move && length > 0) {
                ended(move, length);
                runs++;
                length = 0;
            }
            move = how;
            length++;
            i -= how != 2;
            j -= how != 1;
        }
        if (length > 0) {
            ended(move, length);
            runs++;
        }
        return good;
    }
};

extern "C" __global__ void __launch_bounds__(128) wavefront_trails(WW_PARAMETERS) {
    const unsigned k = blockIdx.x * 128 + threadIdx.x;
    if (k >= A.count) return;
    const ww_problem P = A.problems[k];
    ww_trail& trail = A.trails[P.kept];
    int row = P.row_count - 1, column = P.column_count - 1;
    if constexpr (WW_KEEP == WW_BEST) {
        const unsigned long long* end = A.candidates + 3 * P.kept;
        // The least integer has no rank: the first cell has it, and all others.
        const bool none = end[0] == 0;
        row = none ? 0 : (int)(end[2] >> 32);
        column = none ? 0 : (int)(unsigned)end[2];
        if (none && is_real(ww_score_type{})) {
            trail = ww_trail{0, 0, 0, 0, 1};
            return;
        }
    }
    const choices_of choices{(const directions_t*)A.directions + P.directions, P.column_count};
    walk counted{row, column};
    const bool good = counted.go(choices, A.back, [](unsigned, unsigned) {});
    const unsigned long long first = atomicAdd(A.cursor, (unsigned long long)counted.runs);
    unsigned* to = A.runs + first + counted.runs;
    walk written{row, column};
    // From the start on.
    written.go(choices, A.back, [&](unsigned move, unsigned length) { *--to = length << 2 | move; });
    trail = ww_trail{first, counted.runs, written.i, written.j, good};
}
