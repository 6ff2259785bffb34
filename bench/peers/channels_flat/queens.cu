// Solutions of the n-queens problem without recursion: the host places the queens of the first rows, and each thread counts
// the solutions below one such board by a loop with a stack in shared memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call) if (cudaError_t e = (call)) std::printf("%s\n", cudaGetErrorString(e)), std::exit(1)

constexpr int THREADS = 64, ROWS = 20;
struct Board { unsigned columns, left, right; };

__global__ void count(const Board* boards, int many, unsigned all, unsigned long long* found) {
  __shared__ unsigned columns[ROWS][THREADS], left[ROWS][THREADS], right[ROWS][THREADS], free_[ROWS][THREADS];
  const int number = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x;
  if (number >= many) return;
  const Board board = boards[number];
  unsigned long long solutions = 0;
  int row = 0;
  columns[0][t] = board.columns;
  left[0][t] = board.left;
  right[0][t] = board.right;
  free_[0][t] = all & ~(board.columns | board.left | board.right);
  while (row >= 0) {
    const unsigned free = free_[row][t];
    if (free == 0) {
      --row;
      continue;
    }
    const unsigned square = free & -free, next = columns[row][t] | square;
    free_[row][t] = free ^ square;
    if (next == all) {
      ++solutions;
      continue;
    }
    const unsigned l = (left[row][t] | square) << 1, r = (right[row][t] | square) >> 1;
    ++row;
    columns[row][t] = next;
    left[row][t] = l;
    right[row][t] = r;
    free_[row][t] = all & ~(next | l | r);
  }
  atomicAdd(found, solutions);
}

void place(const Board& board, unsigned all, int rows, std::vector<Board>& boards) {
  if (rows == 0) return boards.push_back(board);
  for (unsigned free = all & ~(board.columns | board.left | board.right); free != 0; free &= free - 1) {
    const unsigned square = free & -free;
    place({board.columns | square, (board.left | square) << 1, (board.right | square) >> 1}, all, rows - 1, boards);
  }
}

int main(int count_of_arguments, char** arguments) {
  const int n = count_of_arguments > 1 ? std::atoi(arguments[1]) : 13;
  const int repeats = count_of_arguments > 2 ? std::atoi(arguments[2]) : 5;
  const unsigned all = (1u << n) - 1;
  std::vector<Board> boards;
  place({0, 0, 0}, all, std::min(n / 2 - 1, 6), boards);
  Board* there;
  unsigned long long *found, solutions = 0;
  OK(cudaMalloc(&there, boards.size() * sizeof(Board)));
  OK(cudaMalloc(&found, sizeof solutions));
  OK(cudaMemcpy(there, boards.data(), boards.size() * sizeof(Board), cudaMemcpyHostToDevice));
  cudaEvent_t begin, end;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int k = 0; k <= repeats; ++k) {
    OK(cudaMemset(found, 0, sizeof solutions));
    OK(cudaEventRecord(begin));
    count<<<(boards.size() + THREADS - 1) / THREADS, THREADS>>>(there, boards.size(), all, found);
    OK(cudaEventRecord(end));
    OK(cudaMemcpy(&solutions, found, sizeof solutions, cudaMemcpyDeviceToHost));
    float milliseconds;
    OK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (k > 0) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"peer\": \"flat kernel\", \"app\": \"queens\", \"n\": %d, \"value\": %llu, \"seconds\": %.9f, \"launches\": 1}\n",
              n, solutions, times[times.size() / 2] / 1e3);
}
