"""Answers of numpy, scipy, parasail and dtaidistance, for tests of the wavefront applications.

    python3 -m pip install numpy scipy parasail dtaidistance && python3 bench/peers/recurrences.py

prints the constants in crates/warpweft-apps/tests/apps/recurrences.rs. Inputs come from splitmix64, as
in `warpweft_apps::soup::SplitMix`.
"""
import numpy as np
import parasail
from dtaidistance import dtw
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve_triangular

MASK = (1 << 64) - 1


def splitmix(seed):
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def image(seed, rows, columns):
    bits = splitmix(seed)
    return np.array([[next(bits) % 256 for _ in range(columns)] for _ in range(rows)])


def units(seed, count):
    bits = splitmix(seed)
    return np.array([(next(bits) >> 11) / (1 << 53) for _ in range(count)])


def sweep_by_triangular_solve(plate, top, omega, sweeps):
    """(D/omega - L) x' = ((1/omega - 1) D + U) x + b for the five-point Laplacian."""
    m, n = plate.shape
    lower, rest = lil_matrix((m * n, m * n)), lil_matrix((m * n, m * n))
    b = np.zeros(m * n)
    for i in range(m):
        for j in range(n):
            k = i * n + j
            lower[k, k] = 4 / omega
            rest[k, k] = (1 / omega - 1) * 4
            if i > 0:
                lower[k, k - n] = -1
            else:
                b[k] += top
            if j > 0:
                lower[k, k - 1] = -1
            if j + 1 < n:
                rest[k, k + 1] = 1
            if i + 1 < m:
                rest[k, k + n] = 1
    lower, rest, x = lower.tocsr(), rest.tocsr(), plate.reshape(-1)
    for _ in range(sweeps):
        x = spsolve_triangular(lower, rest @ x + b, lower=True)
    return x.reshape(m, n)


def main():
    pixels = image(1, 37, 53)
    table = pixels.cumsum(0).cumsum(1)
    print("SUMS", [int(table[i, j]) for i, j in [(0, 0), (0, 52), (36, 0), (17, 29), (36, 52)]])
    counts = [(pixels // 32 == bin).cumsum(0).cumsum(1) for bin in range(8)]
    print("COUNTS", [int(count[36, 52]) for count in counts], [int(count[17, 29]) for count in counts])
    plate = units(2, 12 * 9).reshape(12, 9)
    for omega, sweeps in ((1.0, 1), (1.0, 7), (1.5, 7)):
        x = sweep_by_triangular_solve(plate, 1.0, omega, sweeps)
        print("PLATE", omega, sweeps, [float(x[i, j]) for i, j in [(0, 0), (5, 4), (11, 8)]], float(x.sum()))
    a, b = units(3, 150), units(4, 170)
    print("WARPED", dtw.distance(a, b, inner_dist="euclidean"))
    print("BANDED", dtw.distance(a, b, window=26, inner_dist="euclidean"))
    bits = splitmix(5)
    texts = ["".join("ACGT"[next(bits) % 4] for _ in range(n)) for n in (700, 900)]
    # Matches are worth 1 and all else 0: the score is the length of the common subsequence.
    print("COMMON", parasail.nw_scan_32(*texts, 0, 0, parasail.matrix_create("ACGT", 1, 0)).score)


if __name__ == "__main__":
    main()
