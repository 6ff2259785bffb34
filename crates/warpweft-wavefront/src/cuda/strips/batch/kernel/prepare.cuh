// What a search asks before its launches: whether 16 bits hold its numbers, and which symbols there are.
#include "words.cuh"
#include "neighbours.cuh"

// Sets *wide if a row and a symbol of the columns score more than a byte holds, or the function makes a number that leaves
// 16 bits. Grid: a line of blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    wavefront_width(const ww_row_input* rows, unsigned long long row_count, const unsigned char* alphabet,
                    unsigned symbol_count, unsigned* wide, const __grid_constant__ ww_element f) {
    const unsigned long long thread = blockIdx.x * 256ull + threadIdx.x, threads = gridDim.x * 256ull;
    bool leaves = thread == 0 && ww::leaves_pairs<ww_reach, earlier_of<ww_reach>>(f);
    for (unsigned long long i = thread; i < row_count * symbol_count; i += threads) {
        const int score = f.pair(f.row(rows[i / symbol_count]), f.column(alphabet[i % symbol_count]));
        leaves = leaves || score != (signed char)score;
    }
    if (leaves) *wide = 1;
}

// Which of the 256 symbols there are in the columns: a bit each of eight words.
extern "C" __global__ void __launch_bounds__(256)
    wavefront_symbols(const unsigned char* columns, unsigned long long count, unsigned* present) {
    __shared__ unsigned here[8];
    if (threadIdx.x < 8) here[threadIdx.x] = 0;
    __syncthreads();
    unsigned mine[8] = {};
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
        const unsigned symbol = columns[i];
#pragma unroll
        for (int w = 0; w < 8; w++) mine[w] |= symbol >> 5 == w ? 1u << (symbol & 31) : 0u;
    }
#pragma unroll
    for (int w = 0; w < 8; w++) if (mine[w] & ~here[w]) atomicOr(&here[w], mine[w]);
    __syncthreads();
    if (threadIdx.x < 8 && here[threadIdx.x]) atomicOr(&present[threadIdx.x], here[threadIdx.x]);
}
