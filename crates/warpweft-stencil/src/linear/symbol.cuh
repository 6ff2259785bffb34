// Multiplies every mode of a spectrum by its factor of all steps: the symbol of a linear stencil to the power `steps`.
//
// Grid:   rows times chunks of `chunk` modes, all along x, where there may be most blocks.
// Block:  256 threads along a row.
// Shared: the weights by offset along x, turned by what the row's modes turn along z and y: `columns` complex numbers.
//         `ww_complex` is the spectrum's type of number, from the host.
#pragma once

struct SymbolTap {
  double weight;
  long long z, y;
  int column, unused;
};

struct SymbolBox {
  long long nz, ny, nx, modes;  // values along each axis; complex numbers of a row
  long long first;              // the offset of column 0 along x
  unsigned long long steps;
  double scale;
  int taps, columns, chunk, even;
};

// exp(2 pi i k offset / n).
__device__ inline double2 symbol_turn(long long k, long long offset, long long n) {
  long long turned = (k * (offset % n)) % n;
  if (turned < 0) turned += n;
  double2 turn;
  sincospi(2.0 * ((double)turned / (double)n), &turn.y, &turn.x);
  return turn;
}

__device__ inline double2 symbol_product(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

extern "C" __global__ void __launch_bounds__(256) ww_symbol(ww_complex* spectrum, const SymbolTap* taps, SymbolBox box) {
  extern __shared__ double2 weights[];
  const long long chunks = (box.modes + box.chunk - 1) / box.chunk;
  const long long row = blockIdx.x / chunks, z = row / box.ny, y = row % box.ny;
  for (int column = threadIdx.x; column < box.columns; column += blockDim.x) {
    double2 sum = {0.0, 0.0};
    for (int n = 0; n < box.taps; n++) {
      if (taps[n].column != column) continue;
      const double2 turn = symbol_product(symbol_turn(z, taps[n].z, box.nz), symbol_turn(y, taps[n].y, box.ny));
      sum.x += taps[n].weight * turn.x;
      sum.y += taps[n].weight * turn.y;
    }
    weights[column] = sum;
  }
  __syncthreads();
  const long long begin = blockIdx.x % chunks * box.chunk;
  const long long end = begin + box.chunk < box.modes ? begin + box.chunk : box.modes;
  for (long long k = begin + threadIdx.x; k < end; k += blockDim.x) {
    double2 turn;
    sincospi(2.0 * ((double)k / (double)box.nx), &turn.y, &turn.x);
    double2 factor = weights[box.columns - 1];
    for (int column = box.columns - 2; column >= 0; column--) {
      factor = symbol_product(factor, turn);
      factor.x += weights[column].x;
      factor.y += weights[column].y;
    }
    if (box.first < -8 || box.first > 8) {
      factor = symbol_product(factor, symbol_turn(k, box.first, box.nx));
    } else {
      // Cheaper than an angle: a few cells at most.
      if (box.first < 0) turn.y = -turn.y;
      for (long long left = box.first < 0 ? -box.first : box.first; left > 0; left--) factor = symbol_product(factor, turn);
    }
    double2 all = {box.scale, 0.0};
    if (box.even) {
      for (unsigned long long left = box.steps; left != 0; left >>= 1) {
        if (left & 1) all.x *= factor.x;
        factor.x *= factor.x;
      }
    } else {
      for (unsigned long long left = box.steps; left != 0; left >>= 1) {
        if (left & 1) all = symbol_product(all, factor);
        factor = symbol_product(factor, factor);
      }
    }
    ww_complex& mode = spectrum[row * box.modes + k];
    const double2 value = {mode.x, mode.y};
    const double2 result = symbol_product(all, value);
    mode.x = result.x;
    mode.y = result.y;
  }
}
