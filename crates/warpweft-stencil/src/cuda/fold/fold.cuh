// Reductions by a function of two cells, in the tree of spec/reduction/fold.rs.
//
// Grid:   a line of blocks, each for a subtree of 4 cells a thread.
// Block:  a power of two of threads.
// Shared: a cell for each thread.
#pragma once

namespace ww::stencil {

// The cells of a volume in row-major order: extents along z, y and x, and strides along w, z and y.
struct FoldBox {
  i64 sw, sz, sy, count;
  int nz, ny, nx, unused;
};

// Where cell `index` is in an array.
WW_FN i64 place_of(const FoldBox& box, i64 index) {
  const i64 row = index / box.nx, plane = row / box.ny, block = plane / box.nz;
  return block * box.sw + (plane - block * box.nz) * box.sz + (row - plane * box.ny) * box.sy + (index - row * box.nx);
}

// What a thread's cells from `at` on make, of which there are `have`, at most 4.
template <class S, class F, class Load>
WW_FN S fold_four(const F& f, i64 at, i64 have, const Load& load) {
  const S first = load(at);
  if (have == 1) return first;
  const S low = f(first, load(at + 1));
  if (have == 2) return low;
  const S third = load(at + 2);
  return f(low, have == 3 ? third : f(third, load(at + 3)));
}

template <class S, int threads, class F, class Load>
WW_FN void fold_block(const F& f, i64 count, const Load& load, S* out) {
  __shared__ __align__(16) unsigned char room[threads * sizeof(S)];
  S* values = reinterpret_cast<S*>(room);
  const int thread = threadIdx.x;
  const i64 base = i64(blockIdx.x) * threads * 4, at = base + thread * 4;
  if (at < count) values[thread] = fold_four<S>(f, at, count - at < 4 ? count - at : 4, load);
  const i64 left = (count - base + 3) / 4;
  const int live = left < threads ? int(left) : threads;
  for (int apart = 1; apart < threads; apart *= 2) {
    __syncthreads();
    if (thread % (2 * apart) == 0 && thread + apart < live) {
      values[thread] = f(values[thread], values[thread + apart]);
    }
  }
  if (thread == 0) out[blockIdx.x] = values[0];
}

}  // namespace ww::stencil
