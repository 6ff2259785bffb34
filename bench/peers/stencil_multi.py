"""Peers of the stencil pattern on several NVIDIA GPUs of one host: JAX and CuPy.

JAX is a sharded array whose halos travel by `ppermute` (NCCL), all steps in one compiled loop. CuPy is
NVIDIA's overlap pattern: a naive CUDA kernel advances the planes at the cuts first, in a stream of its
own, copies between GPUs bring them to the neighbours while another launch advances the rest, and events
order the steps. Both advance a single-precision heat equation between fixed faces. Each figure is the
median rate over all GPUs, in cells per second. Prints one JSON object a line.

    python3 bench/peers/stencil_multi.py [--gpus 4] [--size3 512,1024] [--size2 4096] [--steps 50]
"""

import argparse
import json
import os
import statistics
import threading
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# Rows of x, then y planes of them; two dimensions have one row a plane.
KERNEL = r"""
extern "C" __global__ void heat(const float* __restrict__ u, float* __restrict__ v, int nx, int ny,
                                int from, int to, int flat) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = from + blockIdx.z * blockDim.z + threadIdx.z;
  if (flat) { z = from + y; y = 0; }
  if (x < 1 || x >= nx - 1 || z >= to || (!flat && (y < 1 || y >= ny - 1))) return;
  long long p = (long long)nx * ny, i = z * p + (long long)y * nx + x;
  float here = u[i], around = u[i - p] + u[i + p] + u[i - 1] + u[i + 1];
  if (flat) { v[i] = here + 0.1f * (around - 4.0f * here); return; }
  v[i] = here + 0.1f * (around + u[i - nx] + u[i + nx] - 6.0f * here);
}
"""


def by_jax(dimensions, size, gpus, steps):
    """Seconds a step of a sharded array."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    try:
        from jax import shard_map
    except ImportError:
        from jax.experimental.shard_map import shard_map

    mesh = Mesh(jax.devices()[:gpus], "g")
    spec = PartitionSpec("g")
    up = [(i, i + 1) for i in range(gpus - 1)]
    down = [(i + 1, i) for i in range(gpus - 1)]

    def step(_, u):
        below = jax.lax.ppermute(u[-1:], "g", up)
        above = jax.lax.ppermute(u[:1], "g", down)
        p = jnp.concatenate([below, u, above])
        p = jnp.pad(p, [(0, 0)] + [(1, 1)] * (dimensions - 1))
        inner = [slice(1, -1)] * dimensions
        around = 0.0
        for axis in range(dimensions):
            for shift in (slice(0, -2), slice(2, None)):
                around = around + p[tuple(inner[:axis] + [shift] + inner[axis + 1 :])]
        return u + 0.1 * (around - 2.0 * dimensions * u)

    local = lambda u: jax.lax.fori_loop(0, steps, step, u)
    run = jax.jit(shard_map(local, mesh=mesh, in_specs=spec, out_specs=spec), donate_argnums=0)
    make = jax.jit(
        lambda: jax.random.uniform(jax.random.key(1), (size,) * dimensions, dtype=jnp.float32),
        out_shardings=NamedSharding(mesh, spec),
    )
    u = run(make()).block_until_ready()
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        u = run(u).block_until_ready()
        seconds.append((time.perf_counter() - begin) / steps)
    return statistics.median(seconds)


def by_cupy(dimensions, size, gpus, steps):
    """Seconds a step with planes at the cuts first and copies beside the rest."""
    import cupy

    cuda = cupy.cuda
    nx, ny = size, size if dimensions == 3 else 1
    flat = dimensions == 2
    plane = nx * ny
    bounds = [g * size // gpus for g in range(gpus + 1)]
    parts = []
    for g in range(gpus):
        with cuda.Device(g):
            for other in range(gpus):
                if other != g:
                    try:
                        cuda.runtime.deviceEnablePeerAccess(other)
                    except cuda.runtime.CUDARuntimeError:
                        pass  # already enabled
            planes = bounds[g + 1] - bounds[g]
            kernel = cupy.RawModule(code=KERNEL, options=("-std=c++17",)).get_function("heat")
            arrays = [cupy.random.random((planes + 2) * plane, dtype=cupy.float32) for _ in range(2)]
            streams = [cuda.Stream(non_blocking=True) for _ in range(2)]
            events = [[cuda.Event(disable_timing=True) for _ in range(2)] for _ in range(2)]
            parts.append((planes, kernel, arrays, streams, events))

    def launch(g, stream, arrays, first, last):
        block = (128, 4, 1)
        rows = last - first if flat else ny
        grid = (-(-nx // 128), -(-rows // 4), 1 if flat else last - first)
        args = (arrays[0], arrays[1], nx, ny, first, last, int(flat))
        parts[g][1](grid, block, tuple(cupy.int32(a) if isinstance(a, int) else a for a in args), stream=stream)

    def step(n):
        now = n % 2
        for g in range(gpus):
            planes, _, arrays, (edge, rest), events = parts[g]
            with cuda.Device(g):
                pair = (arrays[now], arrays[1 - now])
                # The step before is done here, and its planes have come from the neighbours.
                for other in (g - 1, g, g + 1):
                    if 0 <= other < gpus:
                        edge.wait_event(parts[other][4][1 - now][0])
                edge.wait_event(events[1 - now][1])
                rest.wait_event(events[1 - now][0])
                low, high = (2 if g == 0 else 1), planes + (0 if g == gpus - 1 else 1)
                first, last = low + (g > 0), high - (g < gpus - 1)
                if g > 0:
                    launch(g, edge, pair, low, low + 1)
                if g < gpus - 1:
                    launch(g, edge, pair, high - 1, high)
                launch(g, rest, pair, first, last)
                events[now][1].record(rest)
                size_bytes = plane * 4
                if g > 0:
                    to = parts[g - 1][2][1 - now].data.ptr + (parts[g - 1][0] + 1) * size_bytes
                    cuda.runtime.memcpyPeerAsync(to, g - 1, pair[1].data.ptr + size_bytes, g, size_bytes, edge.ptr)
                if g < gpus - 1:
                    cuda.runtime.memcpyPeerAsync(
                        parts[g + 1][2][1 - now].data.ptr, g + 1, pair[1].data.ptr + planes * size_bytes, g, size_bytes, edge.ptr
                    )
                events[now][0].record(edge)

    def finish():
        for g in range(gpus):
            with cuda.Device(g):
                cuda.runtime.deviceSynchronize()

    seconds = []
    for _ in range(4):
        finish()
        begin = time.perf_counter()
        for n in range(steps):
            step(n)
        finish()
        seconds.append((time.perf_counter() - begin) / steps)
    return statistics.median(seconds[1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=0, help="0 for all")
    parser.add_argument("--size3", default="512,1024")
    parser.add_argument("--size2", default="4096")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=50.0, help="what is not done by then is left out")
    options = parser.parse_args()
    # A collective that hangs must not keep whoever waits for these figures.
    limit = threading.Timer(options.seconds, lambda: os._exit(0))
    limit.daemon = True
    limit.start()
    gpus = options.gpus
    if gpus == 0:
        try:
            import cupy

            gpus = cupy.cuda.runtime.getDeviceCount()
        except Exception:
            gpus = 1
    sizes = [(3, int(n)) for n in options.size3.split(",") if n]
    sizes += [(2, int(n)) for n in options.size2.split(",") if n]
    for name, peer in (("CuPy, peer copies", by_cupy), ("JAX, NCCL", by_jax)):
        for dimensions, size in sizes:
            entry = {"peer": name, "dims": dimensions, "size": size, "dtype": "f32", "gpus": gpus}
            try:
                seconds = peer(dimensions, size, gpus, options.steps)
                entry["cells_per_second"] = size**dimensions / seconds
            except Exception as error:  # a missing package, or too little memory
                entry["error"] = f"{type(error).__name__}: {error}"[:300]
            print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
