// What a translated kernel of a channel-flow graph sees: its outputs. Buffers are the core's (words.cuh).
namespace ww {
// The number of an output.
template<u32 N> struct number { static constexpr u32 value = N; };

// An output of one firing: at most N items of each lane, which the scheduler moves to the channel after the call.
template<class T, u32 N> struct out {
  using Item = T;
  static constexpr u32 BOUND = N;
  T items[N];
  u32 count = 0;
  WW_FN void put(const T& item) {
    // A few are kept in registers.
    if constexpr (N <= 8) {
#pragma unroll
      for (u32 k = 0; k < N; ++k)
        if (k == count) items[k] = item;
    } else {
      if (count < N) items[count] = item;
    }
    ++count;
  }
  WW_FN bool overflowed() const { return count > N; }
};
template<class T, u32 N> WW_FN unit emit(out<T, N>& to, T item) {
  to.put(item);
  return {};
}
}  // namespace ww
