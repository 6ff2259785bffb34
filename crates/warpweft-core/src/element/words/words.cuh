// Buffers of words that threads share: loads, stores and atomic operations. Indices outside fault, as in Rust.
namespace ww {
// A buffer: its words and how many there are. Indices outside fault, as in Rust.
template<class T> struct shared {
  T* words;
  u64 count;
  WW_FN bool misses(u64 index, u32 site) const {
    if (index < count) return false;
    fail(site);
    return true;
  }
};
template<class T> WW_FN usize shared_len(const shared<T>& of) { return of.count; }
template<class T> WW_FN T shared_load(const shared<T>& of, usize index, u32 site) {
  if (of.misses(index, site)) return T();
  return *(volatile T*)(of.words + index);
}
template<class T> WW_FN unit shared_store(const shared<T>& of, usize index, T value, u32 site) {
  if (!of.misses(index, site)) *(volatile T*)(of.words + index) = value;
  return {};
}
#if WW_DEVICE
// CUDA has these for unsigned 64-bit words where the sign does not matter.
template<class T> struct atomic_word { using type = T; };
template<> struct atomic_word<i64> { using type = u64; };
#define WW_ATOMIC(name, function, word)                                                          \
  template<class T> WW_FN T name(const shared<T>& of, usize index, T value, u32 site) {          \
    if (of.misses(index, site)) return T();                                                      \
    using W = word;                                                                              \
    return (T)function((W*)(of.words + index), (W)value);                                        \
  }
WW_ATOMIC(shared_add, atomicAdd, typename atomic_word<T>::type)
WW_ATOMIC(shared_min, atomicMin, T)
WW_ATOMIC(shared_max, atomicMax, T)
WW_ATOMIC(shared_exchange, atomicExch, typename atomic_word<T>::type)
#undef WW_ATOMIC
template<class T>
WW_FN T shared_compare_exchange(const shared<T>& of, usize index, T expected, T value, u32 site) {
  if (of.misses(index, site)) return T();
  using W = typename atomic_word<T>::type;
  return (T)atomicCAS((W*)(of.words + index), (W)expected, (W)value);
}
#else
// On the host threads are played one at a time.
#define WW_ATOMIC(name, now)                                                                     \
  template<class T> WW_FN T name(const shared<T>& of, usize index, T value, u32 site) {          \
    if (of.misses(index, site)) return T();                                                      \
    const T before = of.words[index];                                                            \
    of.words[index] = now;                                                                       \
    return before;                                                                               \
  }
WW_ATOMIC(shared_add, add(before, value))
WW_ATOMIC(shared_min, value < before ? value : before)
WW_ATOMIC(shared_max, value > before ? value : before)
WW_ATOMIC(shared_exchange, value)
#undef WW_ATOMIC
template<class T>
WW_FN T shared_compare_exchange(const shared<T>& of, usize index, T expected, T value, u32 site) {
  if (of.misses(index, site)) return T();
  const T before = of.words[index];
  if (before == expected) of.words[index] = value;
  return before;
}
#endif
}  // namespace ww
