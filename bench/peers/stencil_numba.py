"""Heat conduction with numba: what a careful user gets in Python.

    python stencil_numba.py N STEPS ORDER THREADS

N^3 cells of f32, fixed boundary, two arrays that take turns, planes shared between threads by prange.
Prints one JSON object; the rate counts the cells that are updated, compilation excluded, and is the
best of
three runs of either form.
"""

import json
import sys
import time

import numba
import numpy as np

WEIGHTS = {
    2: (-2, 1),
    4: (-5 / 2, 4 / 3, -1 / 12),
    6: (-49 / 18, 3 / 2, -3 / 20, 1 / 90),
    8: (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560),
}


def sweep_of(order, buffered):
    """The sweep with its footprint written out, in one of two forms.

    Straight into the array, or by way of a row of its own, which numba knows to overlap nothing: from
    order 4 on only that form vectorises.
    """
    radius = order // 2
    f = [f"np.float32({w!r})" for w in WEIGHTS[order]]
    terms = [f"np.float32(3) * {f[0]} * u[z, y, x]"]
    for k in range(1, radius + 1):
        taps = [f"u[z{s}{k}, y, x]" for s in "-+"]
        taps += [f"u[z, y{s}{k}, x]" for s in "-+"]
        taps += [f"u[z, y, x{s}{k}]" for s in "-+"]
        terms.append(f"{f[k]} * ({' + '.join(taps)})")
    to = "row[x]" if buffered else "v[z, y, x]"
    source = f"""
def sweep(u, v, rate):
    n = u.shape[0] - 2 * {radius}
    for z in numba.prange({radius}, n + {radius}):
        row = np.empty(n + 2 * {radius}, np.float32)
        for y in range({radius}, n + {radius}):
            for x in range({radius}, n + {radius}):
                {to} = u[z, y, x] + rate * ({' + '.join(terms)})
            if {buffered}:
                v[z, y, {radius}:n + {radius}] = row[{radius}:n + {radius}]
"""
    names = {"np": np, "numba": numba}
    exec(source, names)
    return numba.njit(parallel=True, fastmath=True, error_model="numpy")(names["sweep"])


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    n, steps, order, threads = map(int, sys.argv[1:])
    if order not in WEIGHTS or min(n, steps, threads) < 1:
        sys.exit("N, STEPS and THREADS from 1, ORDER 2, 4, 6 or 8")
    numba.set_num_threads(threads)
    radius = order // 2
    shape = (n + 2 * radius,) * 3
    arrays = [np.zeros(shape, np.float32) for _ in range(2)]
    arrays[0][(n // 2 + radius,) * 3] = 100
    rate, best = np.float32(0.02), 0.0
    for buffered in [True, False]:
        sweep = sweep_of(order, buffered)
        sweep(arrays[1].copy(), arrays[0].copy(), rate)
        for _ in range(3):
            # A form that is three times slower needs no long run to show it.
            start = time.perf_counter()
            sweep(arrays[0], arrays[1], rate)
            if n**3 / (time.perf_counter() - start) < best / 3:
                break
            start = time.perf_counter()
            for t in range(steps):
                sweep(arrays[t % 2], arrays[1 - t % 2], rate)
            best = max(best, n**3 * steps / (time.perf_counter() - start))
    result = {"peer": f"numba {numba.__version__}", "order": order, "n": n, "steps": steps}
    print(json.dumps(result | {"threads": threads, "cells_per_second": float(f"{best:.4e}")}))


main()
