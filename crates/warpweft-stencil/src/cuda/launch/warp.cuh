// What reduce.cuh needs of CUDA beyond host.cuh, for blocks of one warp: every 64-bit value is exchanged whole.
#include <vector>

#define __noinline__
using u64_t = unsigned long long;
static u64_t lanes[32];
inline u64_t exchange_whole(u64_t value, int from) {
  lanes[threadIdx.x] = value;
  wait_at(warp_barrier[0]);
  const u64_t taken = lanes[from > 31 ? int(threadIdx.x) : from];
  wait_at(warp_barrier[0]);
  return taken;
}
inline u64_t __shfl_down_sync(unsigned, u64_t value, int by) { return exchange_whole(value, int(threadIdx.x) + by); }
inline long long __shfl_down_sync(unsigned, long long value, int by) {
  return (long long)exchange_whole(u64_t(value), int(threadIdx.x) + by);
}
inline unsigned long __shfl_down_sync(unsigned, unsigned long value, int by) {
  return exchange_whole(value, int(threadIdx.x) + by);
}
inline long __shfl_down_sync(unsigned, long value, int by) {
  return long(exchange_whole(u64_t(value), int(threadIdx.x) + by));
}
inline int __shfl_sync(unsigned, int value, int from) { return int(exchange_whole(u64_t(value), from)); }
inline unsigned __ballot_sync(unsigned, bool mine) {
  unsigned all = 0;
  for (int lane = 0; lane < 32; lane++) all |= unsigned(exchange_whole(mine, lane)) << lane;
  return all;
}
inline bool __any_sync(unsigned mask, bool mine) { return __ballot_sync(mask, mine) != 0; }
inline bool __all_sync(unsigned mask, bool mine) { return __ballot_sync(mask, mine) == ~0u; }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
template <class T>
T atomicAdd(T* to, T value) {
  return __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicMax(T* to, T value) {
  T old = __atomic_load_n(to, __ATOMIC_SEQ_CST);
  while (old < value && !__atomic_compare_exchange_n(to, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
inline double __ll2double_rn(long long a) { return double(a); }
inline double __ull2double_rn(u64_t a) { return double(a); }
inline long long __double_as_longlong(double value) {
  long long bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
