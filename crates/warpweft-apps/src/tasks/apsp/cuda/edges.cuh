// Turns a graph around: from the edges out of each vertex to those into each, in any order among those of a vertex.
//
// First the edges into each vertex are counted; the host adds up where they begin; then each goes to the next place
// of where it leads. Grid: a line of any number of blocks; block: any number of whole warps.

struct arguments {
    const unsigned* begins;  // [vertices + 1]: where the edges out of a vertex begin
    const uint2* edges;      // [edges]: where to, how long
    unsigned* next;          // [vertices]: 0 before `count`, which adds; where the edges into each begin before `turn`
    unsigned* from;          // [edges]
    WW_WEIGHT* weights;      // [edges]
    unsigned vertices, count;
};
static_assert(sizeof(arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");

extern "C" __global__ void count(const arguments A) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x; e < A.count; e += step)
        atomicAdd(A.next + A.edges[e].x, 1u);
}

// A warp takes a vertex at a time.
extern "C" __global__ void turn(const arguments A) {
    const size_t warps = gridDim.x * (blockDim.x / 32);
    for (size_t v = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; v < A.vertices; v += warps)
        for (size_t e = A.begins[v] + threadIdx.x % 32; e < A.begins[v + 1]; e += 32) {
            const unsigned at = atomicAdd(A.next + A.edges[e].x, 1u);
            A.from[at] = (unsigned)v;
            A.weights[at] = (WW_WEIGHT)A.edges[e].y;
        }
}
