// What every stencil skeleton shares: how the cells of a volume lie in device memory, vector loads
// and stores, the registers that an element function assigns, and the plain cell-by-cell loop.
//
// Coordinates are (w, z, y, x) with x contiguous. D = 1 uses x; D = 2 z (its rows) and x; D = 3 z, y
// and x. Per field there is one array with ghost cells around all axes; all arrays share strides.
// Invariants the host keeps: cell x = 0 of every row is on a 128-byte line, strides are multiples of
// 128 bytes, and a row may be read from 16 cells below its first ghost to 16 above its last.
//
// `S` is the stage's shape, a struct the host writes: `dims`; `Type<f>`, the scalar of field f;
// `Used`, `Reads` and `Writes`, index lists; `reach(f)`, how far field f is read; `in_place(f)`, whether
// its new values go where the old ones are; and the policy's numbers.
#pragma once

namespace ww::stencil {

template <int... I>
struct indices {};

template <int I, class T, class... More>
struct pick_type {
  using type = typename pick_type<I - 1, More...>::type;
};
template <class T, class... More>
struct pick_type<0, T, More...> {
  using type = T;
};
template <int I, class... T>
using pick = typename pick_type<I, T...>::type;

template <int I>
struct index_t {
  static constexpr int value = I;
};

// Calls `body(index_t<i>{})` for every index, in order.
template <int... I, class Body>
WW_FN void each(indices<I...>, const Body& body) {
  (body(index_t<I>{}), ...);
}

WW_FN int lower(int a, int b) { return a < b ? a : b; }
WW_FN int higher(int a, int b) { return a > b ? a : b; }

// An offset as the element function writes it, slowest axis first, as (w, z, y, x).
template <int... O>
struct offset {
  static constexpr int n = sizeof...(O);
  WW_FN static constexpr int axis(int back) {
    const int o[] = {O...};
    return back < n ? o[n - 1 - back] : 0;
  }
  static constexpr int x = axis(0);
  static constexpr int y = n == 2 ? 0 : axis(1);
  static constexpr int z = n == 2 ? axis(1) : axis(2);
  static constexpr int w = axis(3);
};

// How far a field is read around a cell. Own: at dw = dy = dx = 0, along z alone. Off: at other dy or
// dx (dw = 0), where `off_low ..= off_high` are the planes this happens in. Cross: off only along y or
// along x in the cell's own plane, as a star is.
struct Reach {
  bool own;
  int own_low, own_high;
  bool off;
  int off_low, off_high;
  int y_low, y_high, x_low, x_high;
  bool cross;
};

// The cells to advance, [low, high), and the strides in elements; x has stride 1. `wrap` is the volume's extent along x
// where kernels read across periodic faces themselves, else 0.
struct Box {
  int low[4], high[4];
  i64 w, z, y;
  int wrap, unused;
};

// What to add to `x`, beyond a face or not, so that it is inside.
WW_FN int across(const Box& box, int x) { return x < 0 ? box.wrap : x >= box.wrap ? -box.wrap : 0; }

// --- pointers, one pair a field

template <int F, class T>
struct Pointer {
  const T* in;
  T* out;
};

template <class S, class List>
struct PointersOf;
template <class S, int... F>
struct PointersOf<S, indices<F...>> : Pointer<F, typename S::template Type<F>>... {
  template <int G>
  WW_FN const typename S::template Type<G>* in() const {
    return static_cast<const Pointer<G, typename S::template Type<G>>&>(*this).in;
  }
  template <int G>
  WW_FN typename S::template Type<G>* out() const {
    return static_cast<const Pointer<G, typename S::template Type<G>>&>(*this).out;
  }
};
template <class S>
struct PointersType {
  using type = PointersOf<S, typename S::Used>;
};
template <class S>
using Pointers = typename PointersType<S>::type;

// --- vectors

template <int Bytes>
struct word;
template <>
struct word<1> {
  using type = unsigned char;
};
template <>
struct word<2> {
  using type = unsigned short;
};
template <>
struct word<4> {
  using type = unsigned int;
};
template <>
struct word<8> {
  using type = uint2;
};
template <>
struct word<16> {
  using type = uint4;
};

// Of packed cells (temporal/packed.cuh).
struct two_vectors {
  uint4 low, high;
};
template <>
struct word<32> {
  using type = two_vectors;
};

// Elements of one vector access to a field of T by a thread that owns `Cells` cells along x.
template <class T, int Cells>
WW_FN constexpr int vector_length() {
  constexpr int most = sizeof(T) > 16 ? 1 : 16 / int(sizeof(T));
  return most < Cells ? most : Cells;
}

// Where a load goes. What a launch does not write takes the read-only path: those loads are also
// opaque to the compiler, which else narrows a vector to the elements used before it merges vectors
// (183 narrow loads instead of 36 wide and 39 narrow ones for 64 cells of 3D7). What another device
// wrote while the launch was running has `arrived` and must not take that path.
enum class memory { read_only, plain, arrived };

WW_FN void load_arrived(const void* from, unsigned char& bits) {
  unsigned wide;
  asm("ld.global.u8 %0, [%1];" : "=r"(wide) : "l"(from));
  bits = (unsigned char)wide;
}
WW_FN void load_arrived(const void* from, unsigned short& bits) {
  asm("ld.global.u16 %0, [%1];" : "=h"(bits) : "l"(from));
}
WW_FN void load_arrived(const void* from, unsigned int& bits) {
  asm("ld.global.u32 %0, [%1];" : "=r"(bits) : "l"(from));
}
WW_FN void load_arrived(const void* from, uint2& bits) {
  asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(bits.x), "=r"(bits.y) : "l"(from));
}
WW_FN void load_arrived(const void* from, uint4& bits) {
  asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
      : "l"(from));
}

// Reads or writes N neighbouring elements at an address aligned to all of them.
template <int N, memory M, class T>
WW_FN void load_vector(const T* from, T* to) {
  using W = typename word<sizeof(T) * N>::type;
  W bits;
  if constexpr (M == memory::read_only) {
    bits = __ldg(reinterpret_cast<const W*>(from));
  } else if constexpr (M == memory::arrived) {
    load_arrived(from, bits);
  } else {
    bits = *reinterpret_cast<const W*>(from);
  }
  memcpy(to, &bits, sizeof(W));
}
template <int N, class T>
WW_FN void store_vector(T* to, const T* from) {
  using W = typename word<sizeof(T) * N>::type;
  W bits;
  memcpy(&bits, from, sizeof(W));
  *reinterpret_cast<W*>(to) = bits;
}

// Element e (any sign) of a row whose element 0 is `row`, through the aligned vector that holds it:
// neighbours then share their loads.
template <int Cells, memory M, class T>
WW_FN T element_of(const T* row, int e) {
  constexpr int N = vector_length<T, Cells>();
  const int first = e >= 0 ? e / N * N : -((-e + N - 1) / N * N);
  T values[N];
  load_vector<N, M>(row + first, values);
  return values[e - first];
}
// The same of the row whose element 0 is cell x, across periodic faces.
template <int Cells, memory M, class T>
WW_FN T element_across(const Box& box, const T* row, int x, int e) {
  constexpr int N = vector_length<T, Cells>();
  const int first = e >= 0 ? e / N * N : -((-e + N - 1) / N * N);
  T values[N];
  // The thread's own cells are inside.
  load_vector<N, M>(row + first + (first < 0 || first >= Cells ? across(box, x + first) : 0), values);
  return values[e - first];
}

// How a launch may load field F: as written by it or not.
template <class S, int F>
constexpr memory memory_of = S::in_place(F) ? memory::plain : memory::read_only;

// --- registers that the element function assigns: `Cells` neighbouring cells of every written field

template <int F, class T, int Cells>
struct Lane {
  T value[Cells];
};

template <class S, int Cells, class List>
struct RowOf;
template <class S, int Cells, int... F>
struct RowOf<S, Cells, indices<F...>> : Lane<F, typename S::template Type<F>, Cells>... {
  template <int G>
  WW_FN typename S::template Type<G>* of() {
    return static_cast<Lane<G, typename S::template Type<G>, Cells>&>(*this).value;
  }
};
template <class S, int Cells>
using Row = RowOf<S, Cells, typename S::Writes>;

// Cell j of a row, as the element function sees what it assigns.
template <class S, int Cells>
struct Next {
  Row<S, Cells>& row;
  int j;
  template <int F>
  WW_FN typename S::template Type<F>& ref() {
    return row.template of<F>()[j];
  }
};

// What becomes of stored cells beyond the store, by shape: `Cells` cells from element index `at` on.
template <class S>
struct Stored {
  // Whether a tile is stored when all of it is computed: loads that the compiler can't move up across a
  // store would else wait for one another's.
  static constexpr bool last = false;
  template <int Cells>
  WW_FN static void row(const Pointers<S>&, i64, Row<S, Cells>&) {}
};

// Whether tiles of this shape meet those of another device within a launch.
template <class S>
constexpr bool meets = false;

// Stores a full row of registers at element index `at`.
template <class S>
WW_FN void store_row(const Pointers<S>& fields, i64 at, Row<S, S::vx>& row) {
  each(typename S::Writes{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    using T = typename S::template Type<F>;
    constexpr int N = vector_length<T, S::vx>();
#pragma unroll
    for (int c = 0; c < S::vx; c += N) {
      store_vector<N>(fields.template out<F>() + at + c, row.template of<F>() + c);
    }
  });
  Stored<S>::template row<S::vx>(fields, at, row);
}

// --- the plain loop, for what is left where a tile is cut by the region's end

// The index of cell (w, z, y, x) in the whole volume, slowest axis first, for functions that ask for it.
template <class S, usize D>
WW_FN array<usize, D> index_of(int w, int z, int y, int x) {
  const int cell[4] = {w, z, y, x};
  array<usize, D> index;
#pragma unroll
  for (int d = 0; d < int(D); d++) {
    const int axis = D == 1 ? 3 : D == 2 ? 1 + 2 * d : D == 3 ? 1 + d : d;
    index.items[d] = S::index(axis, cell[axis]);
  }
  return index;
}

// The neighbourhood of the cell with element index `at`.
template <class S>
struct CellNear {
  const Pointers<S>& fields;
  const Box& box;
  i64 at_;
  int w, z, y, x;
  template <usize D>
  WW_FN array<usize, D> index() const {
    return index_of<S, D>(w, z, y, x);
  }
  WW_FN u64 step() const { return S::step(); }
  template <int F, int... O>
  WW_FN typename S::template Type<F> at() const {
    using o = offset<O...>;
    const auto* from =
        fields.template in<F>() + at_ + o::w * box.w + o::z * box.z + o::y * box.y + o::x;
    if (o::x != 0) from += across(box, x + o::x);
    if constexpr (memory_of<S, F> == memory::arrived) {
      typename S::template Type<F> value;
      load_vector<1, memory::arrived>(from, &value);
      return value;
    } else {
      return *from;
    }
  }
};

// Whether [first, first + count) along an axis (0 w, 1 z, 2 y, 3 x) is wholly inside the region.
WW_FN bool inside(const Box& box, int axis, int first, int count) {
  return first >= box.low[axis] && first + count <= box.high[axis];
}

// The compiler can't see through it: addresses from `at` on are then sums, not a pointer a tap that
// every loop around moves along, which took an eighth of the time to compile a star of 25.
WW_FN void opaque(i64& at) {
#if WW_DEVICE
  asm volatile("" : "+l"(at));
#endif
}

// Advances the cells of a thread's block that are in the region, one by one.
template <class S, class E>
WW_FN void each_cell(const Pointers<S>& fields, const Box& box, const E& element, int w, int z, int nz,
                     int y, int ny, int x, int nx) {
  const int z0 = higher(z, box.low[1]), z1 = lower(z + nz, box.high[1]);
  const int y0 = higher(y, box.low[2]), y1 = lower(y + ny, box.high[2]);
  const int x0 = higher(x, box.low[3]), x1 = lower(x + nx, box.high[3]);
#pragma unroll 1
  for (int k = z0; k < z1; k++) {
#pragma unroll 1
    for (int i = y0; i < y1; i++) {
#pragma unroll 1
      for (int j = x0; j < x1; j++) {
        i64 at = w * box.w + k * box.z + i * box.y + j;
        opaque(at);
        Row<S, 1> row;
        each(typename S::Writes{}, [&](auto f) {
          constexpr int F = decltype(f)::value;
          row.template of<F>()[0] = fields.template in<F>()[at];
        });
        Next<S, 1> next{row, 0};
        element(CellNear<S>{fields, box, at, w, k, i, j}, next);
        each(typename S::Writes{}, [&](auto f) {
          constexpr int F = decltype(f)::value;
          fields.template out<F>()[at] = row.template of<F>()[0];
        });
        Stored<S>::template row<1>(fields, at, row);
      }
    }
  }
}

}  // namespace ww::stencil
