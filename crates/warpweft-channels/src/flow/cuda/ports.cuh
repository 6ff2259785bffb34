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

// A buffer to which all kernels of a graph only add: what a lane adds to one word is put together.
template<class T> struct sum_of {
  shared<T> all;
  void*& word;
  u64& value;
};
template<class T> WW_FN usize shared_len(const sum_of<T>& of) { return of.all.count; }
template<class T> WW_FN T shared_add(const sum_of<T>& to, usize index, T value, u32 site) {
  if (to.all.misses(index, site)) return T();
  T* const word = to.all.words + index;
  if (word != to.word) {
    if (to.word != nullptr) shared_add(to.all, (usize)((T*)to.word - to.all.words), (T)to.value, site);
    to.word = word;
    to.value = 0;
  }
  to.value += (u64)value;
  return T();
}
}  // namespace ww
