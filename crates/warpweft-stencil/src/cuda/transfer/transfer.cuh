// Transfer: a field brought to a grid of twice or half the spacing: what plan/transfer.rs says, to the bit.
//
// Grid:   (blocks along x, along y, planes); planes beyond the grid's are taken in a loop.
// Block:  32 cells along x, some along y, a cell each of the grid that is written.
// Shared: none.
// Invariants: compiled without contraction; both pointers are at cell (0, 0, 0) of their arrays.
#pragma once

namespace ww::stencil {

// Strides of a plane and a row, and cells along z, y and x.
struct Mesh {
  i64 z, y;
  int n[3], unused;
};

template <class T>
WW_FN f64 restricted(const T* fine, const Mesh& of_fine, const Mesh& of_coarse, int z, int y, int x) {
  const int at[3] = {z, y, x};
  int first[3], count[3];
#pragma unroll
  for (int d = 0; d < 3; d++) {
    const bool refined = of_fine.n[d] > of_coarse.n[d];
    first[d] = refined ? 2 * at[d] : at[d];
    count[d] = refined ? 3 : 1;
  }
  const auto weight = [&](int d, int k) { return count[d] == 1 ? 1.0 : k == 1 ? 0.5 : 0.25; };
  f64 sum = 0.0;
#pragma unroll
  for (int k = 0; k < 3; k++) {
#pragma unroll
    for (int j = 0; j < 3; j++) {
#pragma unroll
      for (int i = 0; i < 3; i++) {
        if (k >= count[0] || j >= count[1] || i >= count[2]) continue;
        const f64 value = fine[(first[0] + k) * of_fine.z + (first[1] + j) * of_fine.y + first[2] + i];
        sum += weight(0, k) * weight(1, j) * weight(2, i) * value;
      }
    }
  }
  return sum;
}

template <class T>
WW_FN f64 prolonged(const T* coarse, const Mesh& of_fine, const Mesh& of_coarse, int z, int y, int x) {
  const int at[3] = {z, y, x};
  f64 sum = 0.0;
#pragma unroll
  for (int corner = 0; corner < 8; corner++) {
    int vertex[3];
    bool inside = true;
#pragma unroll
    for (int d = 0; d < 3; d++) {
      const bool refined = of_fine.n[d] > of_coarse.n[d];
      // Counted from 1.
      const int number = refined ? (at[d] + 1 + (corner >> (2 - d) & 1)) / 2 : at[d] + 1;
      inside = inside && number >= 1 && number <= of_coarse.n[d];
      vertex[d] = number - 1;
    }
    if (inside) sum += f64(coarse[vertex[0] * of_coarse.z + vertex[1] * of_coarse.y + vertex[2]]);
  }
  return sum * 0.125;
}

template <class T>
WW_FN void transfer(int prolong, const T* from, T* to, const Mesh& of_from, const Mesh& of_to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= of_to.n[2] || y >= of_to.n[1]) return;
  for (int z = blockIdx.z; z < of_to.n[0]; z += gridDim.z) {
    T& cell = to[z * of_to.z + y * of_to.y + x];
    if (prolong) {
      cell = T(f64(cell) + prolonged(from, of_to, of_from, z, y, x));
    } else {
      cell = T(restricted(from, of_from, of_to, z, y, x));
    }
  }
}

}  // namespace ww::stencil

extern "C" __global__ void __launch_bounds__(256)
    ww_transfer_f32(int prolong, const ww::f32* __restrict__ from, ww::f32* __restrict__ to,
                    ww::stencil::Mesh of_from, ww::stencil::Mesh of_to) {
  ww::stencil::transfer(prolong, from, to, of_from, of_to);
}

extern "C" __global__ void __launch_bounds__(256)
    ww_transfer_f64(int prolong, const ww::f64* __restrict__ from, ww::f64* __restrict__ to,
                    ww::stencil::Mesh of_from, ww::stencil::Mesh of_to) {
  ww::stencil::transfer(prolong, from, to, of_from, of_to);
}
