// Just enough of CUDA for the host's compiler to run the skeletons. Blocks run one after another. A thread of the
// device is a fiber: it runs until it waits, then the next does, in an order that is new for each block. So a read
// that no barrier separates from its write sees the wrong value in some block, the same in every run. For tests of
// indexing; says nothing about speed.
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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
static dim3 threadIdx, blockIdx, blockDim, gridDim;
static double exchanged[1024];

// How often all that are to meet here have met, and how many wait now.
struct host_barrier {
  unsigned of, waiting, meetings;
};
static host_barrier block_barrier;
static host_barrier warp_barrier[32];

// A thread of the device: where it goes on, and the meeting that it waits for.
struct fiber {
  static constexpr size_t STACK = 256 << 10;
  dim3 index;
  jmp_buf at;
  char* stack;
  const host_barrier* barrier;
  unsigned meetings;
  bool begun, ended;
};
static fiber* current;
static jmp_buf scheduler;
static ucontext_t scheduler_stack;
static void (*call)(const void*);
static const void* running;
// Rounds of all fibers since something was last done that others may wait for.
static unsigned idle_rounds;

// Lets the others run.
static void yield_fiber() {
  if (_setjmp(current->at) == 0) _longjmp(scheduler, 1);
}
static void wait_at(host_barrier& barrier) {
  if (++barrier.waiting == barrier.of) {
    barrier.waiting = idle_rounds = 0;
    barrier.meetings++;
    return;
  }
  current->barrier = &barrier;
  current->meetings = barrier.meetings;
  yield_fiber();
  current->barrier = nullptr;
}
static void fiber_body() {
  call(running);
  current->ended = true;
  idle_rounds = 0;
  _longjmp(scheduler, 1);
}
// Runs `one` until it waits.
static void resume(fiber& one) {
  current = &one;
  threadIdx = one.index;
  if (_setjmp(scheduler) != 0) return;
  if (one.begun) _longjmp(one.at, 1);
  one.begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = one.stack;
  context.uc_stack.ss_size = fiber::STACK;
  context.uc_link = nullptr;
  makecontext(&context, fiber_body, 0);
  swapcontext(&scheduler_stack, &context);
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
inline void __syncthreads() { wait_at(block_barrier); }
inline size_t __cvta_generic_to_shared(const void* at) { return reinterpret_cast<size_t>(at); }

// Every value a kernel exchanges fits a double exactly.
template <class T>
T exchange(T value, int from) {
  const unsigned warp = threadIdx.y;
  exchanged[warp * 32 + threadIdx.x] = value;
  wait_at(warp_barrier[warp]);
  const double taken = exchanged[warp * 32 + from];
  wait_at(warp_barrier[warp]);
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

template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return exchange(value, from & 31);
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
  *reinterpret_cast<size_t*>(barrier) += bytes;
}
inline void host_barrier_wait(size_t barrier, unsigned parity) {
  while ((*reinterpret_cast<volatile size_t*>(barrier) >> 32) % 2 == parity) yield_fiber();
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
  size_t& word = *reinterpret_cast<size_t*>(barrier);
  word -= bytes;
  idle_rounds = 0;
  if (unsigned(word) == 0) word += size_t(1) << 32;
}

// Runs the fibers of a block to their ends.
static void run_block(fiber* block, unsigned count) {
  static fiber* left[1024];
  static unsigned random = 17;
  for (unsigned n = 0; n < count; n++) {
    block[n].barrier = nullptr;
    block[n].begun = block[n].ended = false;
    random = random * 1664525 + 1013904223;
    const unsigned other = (random >> 8) % (n + 1);
    left[n] = left[other];
    left[other] = &block[n];
  }
  for (idle_rounds = 0; count > 0;) {
    if (idle_rounds++ == 2) {
      fprintf(stderr, "all threads of a block wait\n");
      exit(4);
    }
    unsigned kept = 0;
    for (unsigned n = 0; n < count; n++) {
      fiber& one = *left[n];
      if (!one.barrier || one.barrier->meetings != one.meetings) resume(one);
      if (!one.ended) left[kept++] = &one;
    }
    count = kept;
  }
}

// Runs `kernel` in every thread of a grid. Threads that do not wait for one another need no stacks of their own.
template <class Kernel>
static void run_grid(dim3 grid, dim3 block, bool waits, const Kernel& kernel) {
  static fiber fibers[1024];
  const unsigned count = block.x * block.y;
  if (count > 1024) exit(5);
  gridDim = grid;
  blockDim = block;
  running = &kernel;
  call = [](const void* kernel) { (*static_cast<const Kernel*>(kernel))(); };
  for (unsigned n = 0; n < count; n++) {
    fibers[n].index = {n % block.x, n / block.x, 0};
    if (waits && !fibers[n].stack) fibers[n].stack = static_cast<char*>(malloc(fiber::STACK));
  }
  for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++) {
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++) {
      for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) {
        block_barrier = {count, 0, 0};
        for (auto& barrier : warp_barrier) barrier = {32, 0, 0};
        if (waits) {
          run_block(fibers, count);
          continue;
        }
        for (unsigned n = 0; n < count; n++) {
          threadIdx = fibers[n].index;
          kernel();
        }
      }
    }
  }
}
