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

// Where a lane's words of a row are whose first byte is `at`; that is the lane's 16 bytes of the first 512.
template <class S, class T>
WW_FN T* lane_place(char* at, int lane) {
  constexpr int bytes = unit_of<S, T>() * int(sizeof(T));
  return reinterpret_cast<T*>(at + (bytes - 16) * lane);
}

// A lane's cells of a row: copied ahead from memory, and between shared memory and row i in registers, as stored or as there.
template <class S, class T>
WW_FN void copy_cells(T* own, const T* from) {
  constexpr int N = unit_of<S, T>(), bytes = N * int(sizeof(T));
#pragma unroll
  for (int q = 0; q < S::vx / N; q++) {
    copy_ahead<bytes>(shared_at(__cvta_generic_to_shared(own)) + q * 32 * bytes, from + q * N);
  }
}
template <class S, int F, bool Stored, class T, class Rows>
WW_FN void load_cells(const T* own, Rows& rows, int i) {
  constexpr int N = unit_of<S, T>();
  T cells[S::vx];
#pragma unroll
  for (int q = 0; q < S::vx / N; q++) load_vector<N, memory::plain>(own + q * 32 * N, cells + q * N);
#pragma unroll
  for (int j = 0; j < S::vx; j++) {
    if constexpr (Stored && S::packed == 32) {
      rows.at(i, j) = bits_of(cells[j]);
    } else if constexpr (Stored) {
      rows.at(i, j) = InRegister<S, F>::put(cells[j]);
    } else {
      rows.at(i, j) = cells[j];
    }
  }
}
template <class S, class C, class Rows>
WW_FN void put_cells(C* own, const Rows& rows, int i) {
  constexpr int N = unit_of<S, C>();
#pragma unroll
  for (int q = 0; q < S::vx / N; q++) store_vector<N>(own + q * 32 * N, &rows.at(i, q * N));
}
// Stores a lane's cells of row i: of `whole` units all, and with Parts of `part` ones those before cell number `cells`.
template <class S, int F, bool Parts, class T, class Rows>
WW_FN void store_cells(T* to, const Rows& rows, int i, unsigned whole, unsigned part, int cells) {
  constexpr int N = unit_of<S, T>();
#pragma unroll
  for (int q = 0; q < S::vx / N; q++) {
    T values[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
      const auto cell = rows.at(i, q * N + j);
      if constexpr (S::packed == 32) {
        values[j] = cells_of(cell);
      } else {
        values[j] = InRegister<S, F>::get(cell);
      }
    }
    if (whole >> (q * N / S::unit) & 1) {
      store_vector<N>(to + q * N, values);
    } else if (Parts && (part >> (q * N / S::unit) & 1)) {
#pragma unroll
      for (int j = 0; j < N; j++) {
        if (q * N + j < cells) to[q * N + j] = values[j];
      }
    }
  }
}

// Whether rows are the same in shared memory as stored and as in registers.
template <class S, int... F>
WW_FN constexpr bool all_words(indices<F...>) {
  return ((sizeof(typename S::template Type<F>) == sizeof(RegisterType<S, F>)) && ...);
}

}  // namespace ww::stencil
