// Planes: the copy engine brings whole planes of a tile, ghosts included, into a ring in shared
// memory `prefetch` planes ahead; own columns sit in a register queue along z, all other neighbours
// are read from the ring. Needs compute capability 9.0 and three or four dimensions.
//
// Grid:   (tiles of x, tiles of y, chunks of z × extent of w).
// Block:  32 lanes along x, `warps` along y; every thread stays to the end, for the barriers.
// Shared: `slots` planes of every field that is read next to its own column, then one mbarrier a slot.
// Invariants: as Direct. Plane number k of the chunk lies in slot k mod slots and completes
// that slot's mbarrier in parity (k / slots) mod 2. Tiles begin at multiples of `S::start` cells: the
// engine stops the kernel where a copy begins in the middle of 16 bytes of a row. A slot is refilled only after a block barrier that
// follows the last read of its plane. Every requested plane is waited for before the block ends. The walk
// begins before the chunk, with planes that only fill the queue: filling it by code of its own took a fifth
// of the time to compile.
// Measured on an H200: 3D25 f32 768³ 409 to 416 Gcells/s (4 × 2 cells, 16 warps, chunks of 96, 4 planes
// ahead, all phases).
#pragma once

namespace ww::stencil {

struct alignas(64) TensorMap {
  u64 opaque[16];
};

// Whether field F comes through the ring: only if it is read next to its own column.
template <class S>
WW_FN constexpr bool ringed(int f) {
  return S::reach(f).off;
}
template <class S, int... F>
WW_FN constexpr int ring_low(indices<F...>) {
  int low = 0;
  ((low = ringed<S>(F) && S::reach(F).off_low < low ? S::reach(F).off_low : low), ...);
  return -low;
}
template <class S, int... F>
WW_FN constexpr int ring_high(indices<F...>) {
  int high = 0;
  ((high = ringed<S>(F) && S::reach(F).off_high > high ? S::reach(F).off_high : high), ...);
  return high;
}

// One field's plane in shared memory: rows of `width` elements, the tile's first cell `west` elements
// into a row and `north` rows down. Rows are whole 16-byte units, as the copy engine wants.
template <class S, int F>
struct Plane {
  using T = typename S::template Type<F>;
  static constexpr Reach reach = S::reach(F);
  static constexpr int unit = 16 / int(sizeof(T));
  static constexpr int west = (reach.x_low + unit - 1) / unit * unit;
  static constexpr int width = 32 * S::vx + west + (reach.x_high + unit - 1) / unit * unit;
  static constexpr int north = reach.y_low;
  static constexpr int rows = S::warps * S::vy + reach.y_low + reach.y_high;
  static constexpr int copied = width * rows * int(sizeof(T));
  static constexpr int bytes = (copied + 127) / 128 * 128;
};

// Bytes of the ringed fields before field `before` in a slot, and of all that the engine copies.
template <class S, int... F>
WW_FN constexpr int slot_bytes(int before, indices<F...>) {
  int sum = 0;
  ((sum += ringed<S>(F) && F < before ? Plane<S, F>::bytes : 0), ...);
  return sum;
}
template <class S, int... F>
WW_FN constexpr int copied_bytes(indices<F...>) {
  int sum = 0;
  ((sum += ringed<S>(F) ? Plane<S, F>::copied : 0), ...);
  return sum;
}

template <class S>
struct Ring {
  using M = Marching<S>;
  static constexpr int off_low = ring_low<S>(typename S::Reads{});
  static constexpr int off_high = ring_high<S>(typename S::Reads{});
  static constexpr int low = off_low > M::low ? off_low : M::low;
  static constexpr int high = off_high > M::high ? off_high : M::high;
  static constexpr int slots = off_low + high + 1 + S::prefetch;
  static constexpr int slot = slot_bytes<S>(1 << 30, typename S::Reads{});
  static constexpr unsigned copied = copied_bytes<S>(typename S::Reads{});
  template <int F>
  static constexpr int start = slot_bytes<S>(F, typename S::Reads{});
};

// --- the copy engine and its barriers (PTX ISA, "mbarrier" and "cp.async.bulk.tensor")

#if WW_DEVICE
#define WW_SHARED __shared__
using shared_at = unsigned;
WW_FN void barrier_init(shared_at barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}
WW_FN void barriers_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// What this thread knows to be in global memory is there for the engine too.
WW_FN void engine_sees() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
WW_FN void barrier_expect(shared_at barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// A plane that does not come ends the kernel with an error; a try waits for up to some microseconds.
constexpr unsigned PATIENCE = 1u << 24;
WW_FN void barrier_wait(shared_at barrier, unsigned parity) {
  unsigned done, tries = 0;
  do {
    if (++tries == PATIENCE) asm volatile("trap;");
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!done);
}
template <int Dims>
WW_FN void copy_plane(shared_at to, const TensorMap* map, int x, int y, int z, int w, shared_at barrier) {
  if constexpr (Dims == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
        : "memory");
  }
}
#else
// host.cuh has an engine that copies at once.
#define WW_SHARED static
using shared_at = usize;
WW_FN void barrier_init(shared_at barrier) { host_barrier_init(barrier); }
WW_FN void barriers_ready() {}
WW_FN void engine_sees() {}
WW_FN void barrier_expect(shared_at barrier, unsigned bytes) { host_barrier_expect(barrier, bytes); }
WW_FN void barrier_wait(shared_at barrier, unsigned parity) { host_barrier_wait(barrier, parity); }
template <int Dims>
WW_FN void copy_plane(shared_at to, const TensorMap* map, int x, int y, int z, int w, shared_at barrier) {
  host_copy_plane(to, map, x, y, z, w, barrier);
}
#endif
WW_FN shared_at shared_address(const void* at) { return shared_at(__cvta_generic_to_shared(at)); }

// Tensor maps of the ringed fields, and the coordinates of cell (0, 0, 0, 0) in them.
template <class S>
struct Maps {
  const TensorMap* map[32];
  int w, z, y, x;
};

template <class S>
WW_FN void request(const Maps<S>& maps, shared_at ring, shared_at barriers, int slot, int w, int z, int y,
                   int x) {
  using R = Ring<S>;
  const shared_at barrier = barriers + slot * 8;
  barrier_expect(barrier, R::copied);
  each(typename S::Reads{}, [&](auto f) {
    constexpr int F = decltype(f)::value;
    if constexpr (ringed<S>(F)) {
      using P = Plane<S, F>;
      static_assert(S::start % P::unit == 0, "tiles must begin on 16 bytes");
      copy_plane<S::dims>(ring + slot * R::slot + R::template start<F>, maps.map[F],
                          maps.x + x - P::west, maps.y + y - P::north, maps.z + z, maps.w + w,
                          barrier);
    }
  });
}

// The plane z of a field around a thread's columns, as far as a star reads it; corners are never set.
template <class S, int F, bool Crossed>
struct Cross {
  using P = Plane<S, F>;
  static constexpr int N = vector_length<typename P::T, S::vx>();
  static constexpr int north = P::reach.y_low, rows = north + S::vy + P::reach.y_high;
  static constexpr int west = (P::reach.x_low + N - 1) / N * N;
  static constexpr int columns = west + S::vx + (P::reach.x_high + N - 1) / N * N;
  typename P::T value[rows][columns];
};
template <class S, int F>
struct Cross<S, F, false> {};
template <class S>
WW_FN constexpr bool crossed(int f) {
  return ringed<S>(f) && S::reach(f).cross;
}
template <class S, class List>
struct CrossesOf;
template <class S, int... F>
struct CrossesOf<S, indices<F...>> : Cross<S, F, stencil::crossed<S>(F)>... {};

// All around a thread's columns, from the ring where the field is there; plane z + high is in slot
// `newest`. A star's arms are loaded once a plane, into registers: the compiler then meets a load for
// each vector of them, not one for each read, and needs half the time.
template <class S>
struct BesideRing : Beside<S> {
  const char* ring;
  int newest;
  CrossesOf<S, typename S::Reads> crosses;

  template <int F>
  static constexpr bool crossed = stencil::crossed<S>(F);
  template <int F>
  using CrossOf = Cross<S, F, crossed<F>>;

  template <int F>
  static constexpr memory source = ringed<S>(F) ? memory::plain : memory_of<S, F>;
  template <int F>
  WW_FN const typename S::template Type<F>* row(int dz, int i) const {
    if constexpr (ringed<S>(F)) {
      using R = Ring<S>;
      using P = Plane<S, F>;
      int slot = newest + dz - R::high;
      slot += (slot >> 31) & R::slots;  // no branch: it would split the loads that follow
      return reinterpret_cast<const typename P::T*>(ring + slot * R::slot + R::template start<F>) +
             (int(threadIdx.y) * S::vy + P::north + i) * P::width + P::west + int(threadIdx.x) * S::vx;
    } else {
      return Beside<S>::template row<F>(dz, i);
    }
  }
  template <int F, int DW, int DZ>
  WW_FN typename S::template Type<F> element(int r, int e) const {
    if constexpr (ringed<S>(F) && DW == 0) {
      return element_of<S::vx, memory::plain>(row<F>(DZ, 0) + r * Plane<S, F>::width, e);
    } else {
      return Beside<S>::template element<F, DW, DZ>(r, e);
    }
  }
  template <int F>
  WW_FN typename S::template Type<F> beside(int r, int e) const {
    using C = CrossOf<F>;
    return static_cast<const C&>(crosses).value[r + C::north][e + C::west];
  }
  // Loads the arms in plane z; the thread's own cells come from the queue's phase u where they are there.
  WW_FN void load_crosses(const typename Marching<S>::Queue& queue, int u) {
    each(typename S::Reads{}, [&](auto f) {
      constexpr int F = decltype(f)::value;
      if constexpr (crossed<F>) {
        using C = CrossOf<F>;
        using M = Marching<S>;
        C& cross = static_cast<C&>(crosses);
#pragma unroll
        for (int r = -C::north; r < C::rows - C::north; r++) {
#pragma unroll
          for (int e = -C::west; e < C::columns - C::west; e += C::N) {
            const bool own_row = r >= 0 && r < S::vy, own_column = e >= 0 && e < S::vx;
            auto* to = &cross.value[r + C::north][e + C::west];
            if (own_row && own_column && queued<S>(F)) {
#pragma unroll
              for (int k = 0; k < C::N; k++) {
                to[k] = queue.template of<F>()[queued<S>(F) ? (u + M::low) % M::phases : 0][r][e + k];
              }
            } else if (own_row || own_column) {
              load_vector<C::N, memory::plain>(row<F>(0, r) + e, to);
            }
          }
        }
      }
    });
  }
};

// The chunk from plane `first` of volume w on, of the tile whose first row is `tile_y`.
template <class S, class E>
WW_FN void planes_chunk(const Pointers<S>& fields, const Maps<S>& maps, const Box& box, const E& element,
                        int w, int first, int tile_y) {
  using M = Marching<S>;
  using R = Ring<S>;
  static_assert(S::dims >= 3, "planes need three or four dimensions");
  static_assert(R::slots * R::slot == S::ring_bytes, "host and kernel disagree on the ring");
  extern __shared__ __align__(128) char shared_memory[];
  WW_SHARED __align__(8) u64 barrier[R::slots];
  const int end = lower(first + S::chunk, box.high[1]);
  const int tile_x = box.low[3] / S::start * S::start + int(blockIdx.x) * 32 * S::vx;
  const int x = tile_x + int(threadIdx.x) * S::vx, y = tile_y + int(threadIdx.y) * S::vy;
  const bool whole = inside(box, 2, y, S::vy) && inside(box, 3, x, S::vx);
  const bool leader = threadIdx.x == 0 && threadIdx.y == 0;
  const shared_at ring = shared_address(shared_memory), barriers = shared_address(barrier);
  const int last = end + R::high;  // one past the last plane needed

  if (leader) {
    for (int s = 0; s < R::slots; s++) barrier_init(barriers + s * 8);
    barriers_ready();
    if constexpr (meets<S>) engine_sees();
  }
  __syncthreads();
  if (leader) {
    for (int s = 0; s < R::slots && first - R::low + s < last; s++) {
      request<S>(maps, ring, barriers, s, w, first - R::low + s, tile_y, tile_x);
    }
  }

  typename M::Queue queue;
  int newest = 0;  // the slot of plane z + high
  unsigned parity = 0;
  BesideRing<S> around{{fields, box, w * box.w + first * box.z + y * box.y + x}, shared_memory, 0, {}};
  // Plane z + high arrives, which ends what plane z needs: from `first` on, planes are advanced.
  around.at -= (R::low + R::high) * box.z;
  int z = first - R::low - R::high;
  while (z < end) {
#pragma unroll
    for (int u = 0; u < M::turn; u++) {
      if (z < end) {
        barrier_wait(barriers + newest * 8, parity);
        around.newest = newest;
        if (whole) {
          // Other fields may need planes from further below: these are not read before they are there.
          constexpr bool at_once = R::low == M::low && R::high == M::high;
          if (at_once || z + M::high >= first - M::low) {
            load_plane<S>(around, queue, M::high, (u + M::low + M::high) % M::phases);
          }
          if (z >= first) {
            around.load_crosses(queue, u);
            advance_columns<S>(fields, box, around, around.at, queue, u, element);
          }
        }
        // Plane z - off_low has been read for the last time.
        if (z - R::off_low >= first - R::low) {
          __syncthreads();
          const int wanted = z - R::off_low + R::slots;
          if (leader && wanted < last) {
            const int oldest = newest - R::high - R::off_low;
            request<S>(maps, ring, barriers, oldest + ((oldest >> 31) & R::slots), w, wanted, tile_y,
                       tile_x);
          }
        }
        newest = newest + 1 == R::slots ? 0 : newest + 1;
        parity ^= newest == 0;
        around.at += box.z;
        z++;
      }
    }
    turn_back<S>(queue);
  }
  if (!whole) {
    each_cell<S>(fields, box, element, w, first, end - first, y, S::vy, x, S::vx);
  }
}

template <class S, class E>
WW_FN void planes(const Pointers<S>& fields, const Maps<S>& maps, const Box& box, const E& element) {
  const int chunks = (box.high[1] - box.low[1] + S::chunk - 1) / S::chunk;
  const int w = S::dims == 4 ? box.low[0] + int(blockIdx.z) / chunks : 0;
  planes_chunk<S>(fields, maps, box, element, w, box.low[1] + int(blockIdx.z) % chunks * S::chunk,
                  box.low[2] + int(blockIdx.y) * S::warps * S::vy);
}

}  // namespace ww::stencil
