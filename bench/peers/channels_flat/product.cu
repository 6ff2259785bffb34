// The product of two square matrices of n rows by tiles of 32 x 32 in shared memory, as in textbooks and in the samples of
// vendors.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call) if (cudaError_t e = (call)) std::printf("%s\n", cudaGetErrorString(e)), std::exit(1)

constexpr int TILE = 32;

__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int k = 0; k < n; k += TILE) {
    left[y][x] = a[(size_t)row * n + k + x];
    right[y][x] = b[(size_t)(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[(size_t)row * n + column] = sum;
}

int main(int count, char** arguments) {
  const int n = (count > 1 ? std::atoi(arguments[1]) : 1024) / TILE * TILE;
  const int repeats = count > 2 ? std::atoi(arguments[2]) : 5;
  std::vector<float> a((size_t)n * n), b(a.size()), c(a.size());
  unsigned seed = 1;
  for (auto* matrix : {&a, &b})
    for (float& cell : *matrix) cell = (seed = seed * 1664525u + 1013904223u) >> 31 ? 1.0f : -1.0f;
  float *there[3];
  for (float*& matrix : there) OK(cudaMalloc(&matrix, a.size() * sizeof(float)));
  OK(cudaMemcpy(there[0], a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
  OK(cudaMemcpy(there[1], b.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int k = 0; k <= repeats; ++k) {
    OK(cudaEventRecord(begin));
    product<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(there[0], there[1], there[2], n);
    OK(cudaEventRecord(end));
    OK(cudaMemcpy(c.data(), there[2], c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    float milliseconds;
    OK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (k > 0) times.push_back(milliseconds);
  }
  for (int i = 0; i < 64; ++i) {
    const int row = (i * 7919) % n, column = (i * 104729) % n;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[(size_t)row * n + k] * b[(size_t)k * n + column];
    if (sum != c[(size_t)row * n + column]) std::printf("a wrong product\n"), std::exit(1);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"peer\": \"flat kernel\", \"app\": \"product\", \"n\": %d, \"seconds\": %.9f, \"launches\": 1}\n",
              n, times[times.size() / 2] / 1e3);
}
