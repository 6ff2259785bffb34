// Arrays of fields against one array of cells: a step of himeno and of seismic, f32, on one GPU.
//
//   nvcc -O3 -std=c++17 -fmad=false -arch=native -o layouts bench/peers/layouts.cu && ./layouts 256 384
//
// One cell a thread, blocks of 32 x 4 x 2, the same text for every layout. Both apps' fields lie as
//   fields   an array each (what Warpweft does);
//   cells    one array of structs, padded to whole vectors of 16 bytes, read and written field by field;
//   mixed    (himeno) the pressure apart, the twelve fields that never change as structs of 48 bytes.
// Himeno's pressure has two arrays; in `cells` it is two members of the struct, read and written by turns.
// Prints microseconds a step, least and median of 30 rounds of 4 steps, and a digest of all cells after 4 steps,
// in which the layouts must agree to the bit: which products are contracted is left to the compiler, so none are.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                                        \
  do {                                                                                  \
    const cudaError_t e = (call);                                                       \
    if (e != cudaSuccess) std::printf("%s: %s\n", #call, cudaGetErrorString(e)), std::exit(1); \
  } while (0)

// Where field `f` of cell `i` is among `n` cells.
struct Fields {
  static __host__ __device__ size_t at(int f, size_t i, size_t n) { return f * n + i; }
  static constexpr int words(int fields) { return fields; }
};
struct Cells16 {
  static __host__ __device__ size_t at(int f, size_t i, size_t) { return i * 16 + f; }
  static constexpr int words(int) { return 16; }
};
struct Cells12 {
  static __host__ __device__ size_t at(int f, size_t i, size_t) { return i * 12 + f; }
  static constexpr int words(int) { return 12; }
};
// The first two fields apart, twelve as structs.
struct Mixed {
  static __host__ __device__ size_t at(int f, size_t i, size_t n) {
    return f < 2 ? f * n + i : 2 * n + i * 12 + (f - 2);
  }
  static constexpr int words(int fields) { return fields; }
};

enum { P, Q, A0, A1, A2, A3, B0, B1, B2, C0, C1, C2, BND, WRK, HIMENO };

template <class L>
__global__ void jacobi(float* u, int n, int now) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  const int z = blockIdx.z * 2 + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  const size_t all = size_t(n) * n * n, i = (size_t(z) * n + y) * n + x;
  auto p = [&](int dz, int dy, int dx) {
    return u[L::at(now, i + (long long)dz * n * n + dy * n + dx, all)];
  };
  auto c = [&](int f) { return u[L::at(f, i, all)]; };
  const float s0 = c(A0) * p(1, 0, 0) + c(A1) * p(0, 1, 0) + c(A2) * p(0, 0, 1) +
                   c(B0) * (p(1, 1, 0) - p(1, -1, 0) - p(-1, 1, 0) + p(-1, -1, 0)) +
                   c(B1) * (p(0, 1, 1) - p(0, -1, 1) - p(0, 1, -1) + p(0, -1, -1)) +
                   c(B2) * (p(1, 0, 1) - p(-1, 0, 1) - p(1, 0, -1) + p(-1, 0, -1)) +
                   c(C0) * p(-1, 0, 0) + c(C1) * p(0, -1, 0) + c(C2) * p(0, 0, -1) + c(WRK);
  const float ss = (s0 * c(A3) - p(0, 0, 0)) * c(BND);
  u[L::at(1 - now, i, all)] = p(0, 0, 0) + 0.8f * ss;
}

enum { VX, VY, VZ, SXX, SYY, SZZ, SXY, SXZ, SYZ, UX, UY, UZ, SEISMIC };

template <class L>
struct At {
  float* u;
  size_t all, i;
  int n;
  __device__ float operator()(int f, int axis, int by) const {
    const long long step = axis == 0 ? 1 : axis == 1 ? n : (long long)n * n;
    return u[L::at(f, i + by * step, all)];
  }
  // The staggered difference from `first` on along an axis.
  __device__ float slope(int f, int axis, int first) const {
    const float a = (*this)(f, axis, first), b = (*this)(f, axis, first + 1);
    const float c = (*this)(f, axis, first + 2), d = (*this)(f, axis, first + 3);
    return 1.125f * (c - b) - d * (1 / 24.f) + a * (1 / 24.f);
  }
  __device__ float& own(int f) const { return u[L::at(f, i, all)]; }
};

template <class L>
__device__ bool place(At<L>& at, float* u, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  const int z = blockIdx.z * 2 + threadIdx.z;
  at = {u, size_t(n) * n * n, (size_t(z) * n + y) * n + x, n};
  return x >= 2 && y >= 2 && z >= 2 && x < n - 2 && y < n - 2 && z < n - 2;
}

template <class L>
__global__ void velocity(float* u, int n, float push, float dt) {
  At<L> at;
  if (!place(at, u, n)) return;
  const float vx = at.own(VX) + push * (at.slope(SXX, 0, -1) + at.slope(SXY, 1, -2) + at.slope(SXZ, 2, -2));
  const float vy = at.own(VY) + push * (at.slope(SXY, 0, -2) + at.slope(SYY, 1, -1) + at.slope(SYZ, 2, -2));
  const float vz = at.own(VZ) + push * (at.slope(SXZ, 0, -2) + at.slope(SYZ, 1, -2) + at.slope(SZZ, 2, -1));
  at.own(VX) = vx, at.own(UX) += dt * vx;
  at.own(VY) = vy, at.own(UY) += dt * vy;
  at.own(VZ) = vz, at.own(UZ) += dt * vz;
}

template <class L>
__global__ void stress(float* u, int n, float lambda, float mu) {
  At<L> at;
  if (!place(at, u, n)) return;
  const float ex = at.slope(VX, 0, -2), ey = at.slope(VY, 1, -2), ez = at.slope(VZ, 2, -2);
  const float spread = lambda * (ex + ey + ez);
  at.own(SXX) += spread + 2 * mu * ex;
  at.own(SYY) += spread + 2 * mu * ey;
  at.own(SZZ) += spread + 2 * mu * ez;
  at.own(SXY) += mu * (at.slope(VX, 1, -1) + at.slope(VY, 0, -1));
  at.own(SXZ) += mu * (at.slope(VX, 2, -1) + at.slope(VZ, 0, -1));
  at.own(SYZ) += mu * (at.slope(VY, 2, -1) + at.slope(VZ, 1, -1));
}

template <class L>
__global__ void fill(float* u, size_t all, int fields) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= all) return;
  for (int f = 0; f < fields; ++f) {
    const unsigned hash = (unsigned(i) * 2654435761u) ^ (unsigned(f / 2 * 2 + (fields == SEISMIC ? f % 2 : 0)) * 40503u);
    u[L::at(f, i, all)] = float(hash >> 8 & 0xffff) / 65536.f * (fields == HIMENO ? 0.1f : 1.f);
  }
}

// One number that depends on every cell of the fields below `fields`.
template <class L>
double digest(const float* u, size_t all, int fields, int words) {
  std::vector<float> host(all * words);
  OK(cudaMemcpy(host.data(), u, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (size_t i = 0; i < all; ++i)
    for (int f = 0; f < fields; ++f) sum += host[L::at(f, i, all)] * double(1 + (i * 31 + f) % 97);
  return sum;
}

template <class L>
double measure(const char* app, const char* layout, int n, int fields, double bytes) {
  const size_t all = size_t(n) * n * n;
  const int words = L::words(fields);
  float* u;
  OK(cudaMalloc(&u, all * words * sizeof(float)));
  OK(cudaMemset(u, 0, all * words * sizeof(float)));
  fill<L><<<unsigned((all + 255) / 256), 256>>>(u, all, fields);
  const dim3 block(32, 4, 2), grid((n + 31) / 32, (n + 3) / 4, (n + 1) / 2);
  auto step = [&](int now) {
    if (fields == HIMENO) {
      jacobi<L><<<grid, block>>>(u, n, now);
    } else {
      velocity<L><<<grid, block>>>(u, n, 0.1f, 0.01f);
      stress<L><<<grid, block>>>(u, n, 0.1f, 0.1f);
    }
  };
  for (int s = 0; s < 4; ++s) step(s % 2);
  OK(cudaGetLastError());
  const double sum = digest<L>(u, all, fields, words);
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  std::vector<float> micros;
  for (int round = 0; round < 30; ++round) {
    OK(cudaEventRecord(begin));
    for (int s = 0; s < 4; ++s) step(s % 2);
    OK(cudaEventRecord(end));
    OK(cudaEventSynchronize(end));
    float ms;
    OK(cudaEventElapsedTime(&ms, begin, end));
    micros.push_back(ms * 1000 / 4);
  }
  OK(cudaFree(u));
  std::sort(micros.begin(), micros.end());
  std::printf("%-8s %d^3 %-7s %9.1f us a step, median %9.1f, %6.0f GB/s of the fields that a step must move, digest %.17g\n",
              app, n, layout, micros[0], micros[15], bytes * all / micros[0] * 1e-3, sum);
  return sum;
}

int main(int count, char** sizes) {
  cudaDeviceProp device;
  OK(cudaGetDeviceProperties(&device, 0));
  std::printf("%s\n", device.name);
  for (int i = 1; i < count; ++i) {
    const int n = std::atoi(sizes[i]);
    // Himeno reads 13 fields and writes one; seismic reads 12 and writes 6, then reads 9 and writes 6.
    const double himeno = measure<Fields>("himeno", "fields", n, HIMENO, 14 * 4);
    bool same = measure<Cells16>("himeno", "cells", n, HIMENO, 14 * 4) == himeno;
    same &= measure<Mixed>("himeno", "mixed", n, HIMENO, 14 * 4) == himeno;
    const double seismic = measure<Fields>("seismic", "fields", n, SEISMIC, 33 * 4);
    same &= measure<Cells12>("seismic", "cells", n, SEISMIC, 33 * 4) == seismic;
    std::printf("%s\n", same ? "all layouts agree" : "LAYOUTS DIFFER");
    if (!same) return 1;
  }
}
