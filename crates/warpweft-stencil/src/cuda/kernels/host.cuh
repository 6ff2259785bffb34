// Just enough of CUDA for the host's compiler to run the skeletons: a thread of the device is a thread
// of the host, blocks run one after another. For tests of indexing; says nothing about speed.
#include <pthread.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct int4 {
  int x, y, z, w;
};
struct dim3 {
  unsigned x, y, z;
};
static thread_local dim3 threadIdx;
static dim3 blockIdx, blockDim, gridDim;
static pthread_barrier_t block_barrier;
static std::vector<pthread_barrier_t> warp_barrier;
static std::vector<double> exchanged;

template <class T>
T __ldg(const T* from) {
  return *from;
}
inline void __syncthreads() { pthread_barrier_wait(&block_barrier); }
inline size_t __cvta_generic_to_shared(const void* at) { return reinterpret_cast<size_t>(at); }

// Every value a kernel exchanges fits a double exactly.
template <class T>
T exchange(T value, int from) {
  const unsigned warp = threadIdx.y;
  exchanged[warp * 32 + threadIdx.x] = value;
  pthread_barrier_wait(&warp_barrier[warp]);
  const double taken = exchanged[warp * 32 + from];
  pthread_barrier_wait(&warp_barrier[warp]);
  return T(taken);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int by) {
  const int from = int(threadIdx.x) - by;
  return exchange(value, from < 0 ? int(threadIdx.x) : from);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by) {
  const int from = int(threadIdx.x) + by;
  return exchange(value, from > 31 ? int(threadIdx.x) : from);
}

// The copy engine: a map is what `tensor_map` would encode, and copies are done when they are asked for.
struct host_map {
  const char* at;
  long size, stride[3];     // of an element; from a row, plane, volume to the next, all in bytes
  int extent[4], width, rows;  // along x, y, z, w; of a tile
};
// A barrier: the phases that were completed, above the bytes that the present one waits for.
inline void host_barrier_init(size_t barrier) { *reinterpret_cast<size_t*>(barrier) = 0; }
inline void host_barrier_expect(size_t barrier, unsigned bytes) {
  __atomic_fetch_add(reinterpret_cast<size_t*>(barrier), bytes, __ATOMIC_SEQ_CST);
}
inline void host_barrier_wait(size_t barrier, unsigned parity) {
  const auto phases = [&] {
    return __atomic_load_n(reinterpret_cast<size_t*>(barrier), __ATOMIC_SEQ_CST) >> 32;
  };
  while (phases() % 2 == parity) std::this_thread::yield();
}
inline void host_copy_plane(size_t to, const void* encoded, int x, int y, int z, int w, size_t barrier) {
  host_map map;
  memcpy(&map, encoded, sizeof map);
  if (x * map.size % 16 != 0) {
    fprintf(stderr, "a copy begins at element %d of a row, which is not on 16 bytes\n", x);
    exit(3);
  }
  const auto within = [&](int d, int at) { return at >= 0 && at < map.extent[d]; };
  char* next = reinterpret_cast<char*>(to);
  for (int row = y; row < y + map.rows; row++) {
    for (int column = x; column < x + map.width; column++, next += map.size) {
      memset(next, 0, map.size);
      if (!within(0, column) || !within(1, row) || !within(2, z) || !within(3, w)) continue;
      const long at = column * map.size + row * map.stride[0] + z * map.stride[1] + w * map.stride[2];
      memcpy(next, map.at + at, map.size);
    }
  }
  const size_t bytes = map.size * map.width * map.rows;
  const auto word = reinterpret_cast<size_t*>(barrier);
  if (unsigned(__atomic_sub_fetch(word, bytes, __ATOMIC_SEQ_CST)) == 0) {
    __atomic_fetch_add(word, size_t(1) << 32, __ATOMIC_SEQ_CST);
  }
}

// Runs `kernel` in every thread of a grid. Threads that do not wait for one another take turns.
static void run_grid(dim3 grid, dim3 block, bool waits, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = block;
  exchanged.resize(block.y * 32);
  for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++) {
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++) {
      for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) {
        if (waits) {
          pthread_barrier_init(&block_barrier, nullptr, block.x * block.y);
          warp_barrier.resize(block.y);
          for (auto& barrier : warp_barrier) pthread_barrier_init(&barrier, nullptr, 32);
        }
        std::vector<std::thread> threads;
        for (unsigned y = 0; y < block.y; y++) {
          for (unsigned x = 0; x < block.x; x++) {
            const auto body = [x, y, &kernel] {
              threadIdx = {x, y, 0};
              kernel();
            };
            if (waits) {
              threads.emplace_back(body);
            } else {
              body();
            }
          }
        }
        for (auto& thread : threads) thread.join();
      }
    }
  }
}
