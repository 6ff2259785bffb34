// Counts the leaves of the recursion of Fibonacci's numbers level by level: a launch for each level, whose threads append
// the calls of the next.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call) if (cudaError_t e = (call)) std::printf("%s\n", cudaGetErrorString(e)), std::exit(1)

constexpr int THREADS = 256;

__global__ void level(const unsigned* calls, unsigned many, unsigned* next, unsigned* appended, unsigned long long* leaves) {
  const unsigned number = blockIdx.x * THREADS + threadIdx.x;
  if (number >= many) return;
  const unsigned n = calls[number];
  if (n <= 2) {
    atomicAdd(leaves, 1ull);
    return;
  }
  const unsigned place = atomicAdd(appended, 2u);
  next[place] = n - 1;
  next[place + 1] = n - 2;
}

int main(int count, char** arguments) {
  const unsigned n = count > 1 ? std::atoi(arguments[1]) : 30;
  const int repeats = count > 2 ? std::atoi(arguments[2]) : 5;
  // Calls of each level: of each value, how many.
  std::vector<unsigned long long> now(n + 1, 0);
  unsigned long long widest = 1;
  for (now[n] = 1; ;) {
    std::vector<unsigned long long> next(n + 1, 0);
    unsigned long long width = 0;
    for (unsigned k = 3; k <= n; ++k) next[k - 1] += now[k], next[k - 2] += now[k], width += 2 * now[k];
    if (width == 0) break;
    widest = std::max(widest, width);
    now = next;
  }
  unsigned *calls, *next, *appended, many = 0;
  unsigned long long *leaves, found = 0;
  OK(cudaMalloc(&calls, widest * sizeof many));
  OK(cudaMalloc(&next, widest * sizeof many));
  OK(cudaMalloc(&appended, sizeof many));
  OK(cudaMalloc(&leaves, sizeof found));
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  std::vector<float> times;
  int launches = 0;
  for (int k = 0; k <= repeats; ++k) {
    OK(cudaMemset(leaves, 0, sizeof found));
    OK(cudaMemcpy(calls, &n, sizeof n, cudaMemcpyHostToDevice));
    OK(cudaEventRecord(begin));
    for (many = 1, launches = 0; many != 0; ++launches) {
      OK(cudaMemsetAsync(appended, 0, sizeof many));
      level<<<(many + THREADS - 1) / THREADS, THREADS>>>(calls, many, next, appended, leaves);
      OK(cudaMemcpy(&many, appended, sizeof many, cudaMemcpyDeviceToHost));
      std::swap(calls, next);
    }
    OK(cudaEventRecord(end));
    OK(cudaMemcpy(&found, leaves, sizeof found, cudaMemcpyDeviceToHost));
    float milliseconds;
    OK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (k > 0) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"peer\": \"flat kernel\", \"app\": \"fib\", \"n\": %u, \"value\": %llu, \"seconds\": %.9f, \"launches\": %d}\n",
              n, found, times[times.size() / 2] / 1e3, launches);
}
