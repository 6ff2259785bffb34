"""Peers of the stencil pattern on one NVIDIA GPU: a naive CUDA kernel (CuPy), JAX and PyTorch.

Each figure is the median rate of one-step updates of a single-precision heat equation, in cells
per second. The naive kernel is one thread a cell with the best of seven block shapes; JAX is what
XLA makes of shifted sums; PyTorch is its convolution. A missing package gives an error entry, not
a number. Prints one JSON object a line.

    python3 bench/peers/stencil_gpu.py [--size3 768] [--size2 16384] [--steps 20]
"""

import argparse
import json
import statistics
import time

NAIVE = r"""
extern "C" __global__ void heat3(const float* __restrict__ u, float* __restrict__ v, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return;
  long long p = (long long)n * n, i = z * p + (long long)y * n + x;
  float around = u[i - p] + u[i + p] + u[i - n] + u[i + n] + u[i - 1] + u[i + 1];
  v[i] = u[i] + 0.1f * (around - 6.0f * u[i]);
}
extern "C" __global__ void heat2(const float* __restrict__ u, float* __restrict__ v, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  long long i = (long long)y * n + x;
  v[i] = u[i] + 0.1f * (u[i - n] + u[i + n] + u[i - 1] + u[i + 1] - 4.0f * u[i]);
}
"""

BLOCKS = {
    "heat3": [(32, 4, 2), (32, 8, 1), (64, 4, 1), (64, 4, 2), (128, 2, 1), (128, 2, 2), (256, 1, 1)],
    "heat2": [(32, 8, 1), (32, 16, 1), (64, 4, 1), (64, 8, 1), (128, 2, 1), (128, 4, 1), (256, 1, 1)],
}


def naive(dimensions, size, steps):
    """Best median rate of the naive kernel over its block shapes."""
    import cupy

    name = f"heat{dimensions}"
    kernel = cupy.RawModule(code=NAIVE, options=("-std=c++17",)).get_function(name)
    u = cupy.random.random((size,) * dimensions, dtype=cupy.float32)
    v = u.copy()
    best = 0.0
    for block in BLOCKS[name]:
        grid = tuple(-(-size // b) if d < dimensions else 1 for d, b in enumerate(block))
        seconds = []
        for _ in range(5):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(steps):
                kernel(grid, block, (u, v, size))
                u, v = v, u
            end.record()
            end.synchronize()
            seconds.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3 / steps)
        best = max(best, size**dimensions / statistics.median(seconds[1:]))
    return best


def jax_rate(dimensions, size, steps):
    """Rate of XLA's code for the same update, interior cells only, in a fori_loop."""
    import jax
    import jax.numpy as jnp

    def step(_, u):
        inner = u[(slice(1, -1),) * dimensions]
        around = -2.0 * dimensions * inner
        for axis in range(dimensions):
            for shift in (slice(0, -2), slice(2, None)):
                index = [slice(1, -1)] * dimensions
                index[axis] = shift
                around = around + u[tuple(index)]
        return u.at[(slice(1, -1),) * dimensions].set(inner + 0.1 * around)

    run = jax.jit(lambda u: jax.lax.fori_loop(0, steps, step, u), donate_argnums=0)
    u = run(jax.random.uniform(jax.random.PRNGKey(0), (size,) * dimensions)).block_until_ready()
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        u = run(u).block_until_ready()
        seconds.append((time.perf_counter() - begin) / steps)
    return size**dimensions / statistics.median(seconds)


def torch_rate(dimensions, size, steps):
    """Rate of the convolution with the same stencil."""
    import torch

    convolve = torch.nn.functional.conv3d if dimensions == 3 else torch.nn.functional.conv2d
    weight = torch.zeros((1, 1) + (3,) * dimensions, device="cuda")
    centre = (0, 0) + (1,) * dimensions
    weight[centre] = 1.0 - 0.1 * 2 * dimensions
    for axis in range(dimensions):
        for shift in (0, 2):
            index = list(centre)
            index[2 + axis] = shift
            weight[tuple(index)] = 0.1
    u = torch.rand((1, 1) + (size,) * dimensions, device="cuda")
    seconds = []
    with torch.no_grad():
        for _ in range(4):
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            begin.record()
            for _ in range(steps):
                u = convolve(u, weight, padding=1)
            end.record()
            end.synchronize()
            seconds.append(begin.elapsed_time(end) / 1e3 / steps)
    return size**dimensions / statistics.median(seconds[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size3", type=int, default=768)
    parser.add_argument("--size2", type=int, default=16384)
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    for dimensions, size in ((3, arguments.size3), (2, arguments.size2)):
        for peer, rate in (("naive CUDA", naive), ("JAX", jax_rate), ("PyTorch", torch_rate)):
            steps = arguments.steps if peer != "PyTorch" else 3
            entry = {"peer": peer, "dims": dimensions, "size": size, "dtype": "f32", "steps": steps}
            try:
                entry["cells_per_second"] = rate(dimensions, size, steps)
            except Exception as error:  # a peer that can't run is reported, never guessed
                entry["error"] = f"{type(error).__name__}: {error}"[:300]
            print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
