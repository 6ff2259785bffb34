// Kernels of the device tests; each says what the host expects of it.
#include "watchdog.cuh"

__device__ int ww_fault;
__constant__ float factor;

struct Line {
    float scale;
    unsigned char plus;
    double times;
};

// y[i] = x[i] * scale + plus, times `times`, by a struct passed by value.
extern "C" __global__ void line(const float* x, double* y, Line line, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (x[i] * line.scale + line.plus) * line.times;
}

extern "C" __global__ void increment(int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}

extern "C" __global__ void fault(int code) { ww_fault = code; }

extern "C" __global__ void scale_by_constant(float* x) { x[threadIdx.x] *= factor; }

// Sums the block's indices through dynamic shared memory of `words` words, its last word included.
extern "C" __global__ void shared_sum(int* out, int words) {
    extern __shared__ int memory[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) memory[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < words; i++) sum += memory[i];
        out[blockIdx.x] = sum;
    }
}

// In every round each block adds 1, all meet, and each must see the sum of all; wrong[0] counts
// those that don't.
extern "C" __global__ void meet(ww_word* barrier, int* sum, int* wrong, int rounds, ww_watchdog dog) {
    for (int round = 1; round <= rounds; round++) {
        if (threadIdx.x == blockDim.x - 1) atomicAdd(sum, 1);
        if (!ww_grid_barrier(barrier, dog)) return;
        if (*(volatile int*)sum != round * (int)gridDim.x) atomicAdd(wrong, 1);
        if (!ww_grid_barrier(barrier, dog)) return;
    }
}

// Block b > 0 waits for the flag of block b - 1 and then sets its own; `skip` never sets its own.
extern "C" __global__ void chain(ww_word* flags, ww_watchdog dog, unsigned skip) {
    unsigned b = blockIdx.x;
    if (threadIdx.x != 0) return;
    if (b > 0 && !ww_wait(flags + 32 * (b - 1), 5, dog, b - 1, 3)) return;
    if (b != skip) ww_store_release(flags + 32 * b, 5);
}

// Blocks meet three times; block `absent` does not come.
extern "C" __global__ void absence(ww_word* word, ww_watchdog dog, unsigned absent) {
    if (blockIdx.x == absent) return;
    for (int round = 0; round < 3; round++)
        if (!ww_grid_barrier(word, dog)) return;
}

// Waits until the host sets words[0], then answers in words[1].
extern "C" __global__ void answer(ww_word* words, ww_watchdog dog) {
    if (!ww_wait<true>(words, 1, dog, 0, 0)) return;
    ww_store_release_sys(words + 1, ww_load_acquire_sys(words) + 41);
}

extern "C" __global__ void spin(unsigned long long nanoseconds) {
    unsigned long long start = ww_nanoseconds();
    while (ww_nanoseconds() - start < nanoseconds) {
    }
}

extern "C" __global__ void wild(int* nowhere) { *nowhere = 1; }

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// Each block's rank in its cluster.
extern "C" __global__ void cluster_rank(unsigned* ranks) {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) ranks[blockIdx.x] = rank;
}

// As `increment`, started while the launch before may still run.
extern "C" __global__ void increment_early(int* x, int n) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

struct alignas(64) CUtensorMap {
    unsigned long long opaque[16];
};

// One tile of 16 x 4 x 2 elements at (x, y, z), by the copy engine, to `out` in row-major order.
extern "C" __global__ void tile(const __grid_constant__ CUtensorMap map, float* out, int x, int y,
                                int z) {
    __shared__ alignas(128) float memory[2 * 4 * 16];
    __shared__ alignas(8) unsigned long long arrived;
    unsigned to = (unsigned)__cvta_generic_to_shared(memory);
    unsigned bar = (unsigned)__cvta_generic_to_shared(&arrived);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar),
                     "r"((unsigned)sizeof memory)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
            "{%2, %3, %4}], [%5];" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(bar)
            : "memory");
    }
    __syncthreads();
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(bar) : "memory");
    for (int i = threadIdx.x; i < 2 * 4 * 16; i += blockDim.x) out[i] = memory[i];
}
#endif
