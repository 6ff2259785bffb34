// Copies: rows of every field in shared memory, and how they get there ahead of use.
//
// Units of up to 16 bytes of all 32 lanes lie together, so a lane's words of a row are 32 units apart.
#pragma once

namespace ww::stencil {

#if WW_DEVICE
using shared_at = unsigned;
template <int Bytes>
WW_FN void copy_ahead(shared_at to, const void* from) {
  if constexpr (Bytes > 16) {
    copy_ahead<16>(to, from);
    copy_ahead<Bytes - 16>(to + 16, static_cast<const char*>(from) + 16);
  } else if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(Bytes) : "memory");
  }
}
WW_FN void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
WW_FN void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#else
using shared_at = usize;
template <int Bytes>
WW_FN void copy_ahead(shared_at to, const void* from) {
  memcpy(reinterpret_cast<void*>(to), from, Bytes);
}
WW_FN void close_copies() {}
template <int N>
WW_FN void await_copies() {}
#endif

// Bytes of a row of every field in shared memory, and where field F's begin: as stored, or as in registers.
template <class S, bool Stored, int F>
WW_FN constexpr int field_bytes() {
  using T = typename S::template Type<F>;
  return 32 * S::vx * int(Stored ? sizeof(T) : sizeof(RegisterType<S, F>));
}
template <class S, bool Stored, int... F>
WW_FN constexpr int bytes_before(int field, indices<F...>) {
  int sum = 0;
  ((sum += F < field ? field_bytes<S, Stored, F>() : 0), ...);
  return sum;
}
template <class S, bool Stored>
WW_FN constexpr int row_bytes() {
  return bytes_before<S, Stored>(1 << 16, typename S::Fields{});
}

// Neighbouring cells of T that are loaded or stored at once.
template <class S, class T>
WW_FN constexpr int unit_of() {
  return vector_length<T, S::vx>();
}

// Whether rows are the same in shared memory as stored and as in registers.
template <class S, int... F>
WW_FN constexpr bool all_words(indices<F...>) {
  return ((sizeof(typename S::template Type<F>) == sizeof(RegisterType<S, F>)) && ...);
}

}  // namespace ww::stencil
