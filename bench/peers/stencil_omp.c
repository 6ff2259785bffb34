/* Heat conduction in plain C with OpenMP: what a careful user gets from a compiler.
 *
 *   gcc -O3 -march=native -fopenmp -o stencil_omp stencil_omp.c
 *   ./stencil_omp N STEPS ORDER THREADS
 *
 * N^3 cells of f32, fixed boundary, two arrays that take turns, planes shared between threads, rows
 * vectorised. Prints one JSON object; the rate counts the cells that are updated, and is the best of
 * three runs. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum at distance k along all axes. */
#define AROUND(k) (a[x - k * s] + a[x + k * s] + a[x - k * m] + a[x + k * m] + a[x - k] + a[x + k])

/* Footprints are written out: left a loop over k, gcc does not vectorise order 8. */
#define SUM1 3 * -2.0f * a[x] + AROUND(1)
#define SUM2 3 * (-5.0f / 2) * a[x] + 4.0f / 3 * AROUND(1) + -1.0f / 12 * AROUND(2)
#define SUM3                                                                                       \
    3 * (-49.0f / 18) * a[x] + 3.0f / 2 * AROUND(1) + -3.0f / 20 * AROUND(2) +                     \
        1.0f / 90 * AROUND(3)
#define SUM4                                                                                       \
    3 * (-205.0f / 72) * a[x] + 8.0f / 5 * AROUND(1) + -1.0f / 5 * AROUND(2) +                     \
        8.0f / 315 * AROUND(3) + -1.0f / 560 * AROUND(4)

#define SWEEP(R)                                                                                   \
    static void sweep##R(int n, float rate, const float *restrict u, float *restrict v) {          \
        const long m = n + 2 * R, s = m * m;                                                       \
        _Pragma("omp parallel for schedule(static)") for (int z = R; z < n + R; z++) {             \
            for (int y = R; y < n + R; y++) {                                                      \
                const float *restrict a = u + z * s + y * m + R;                                   \
                float *restrict b = v + z * s + y * m + R;                                         \
                _Pragma("omp simd") for (int x = 0; x < n; x++) b[x] = a[x] + rate * (SUM##R);     \
            }                                                                                      \
        }                                                                                          \
    }
SWEEP(1)
SWEEP(2)
SWEEP(3)
SWEEP(4)

static void sweep(int radius, int n, float rate, const float *u, float *v) {
    switch (radius) {
    case 1: sweep1(n, rate, u, v); break;
    case 2: sweep2(n, rate, u, v); break;
    case 3: sweep3(n, rate, u, v); break;
    case 4: sweep4(n, rate, u, v); break;
    }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s N STEPS ORDER THREADS\n", argv[0]);
        return 2;
    }
    int n = atoi(argv[1]), steps = atoi(argv[2]), order = atoi(argv[3]), threads = atoi(argv[4]);
    int radius = order / 2;
    if (n < 1 || steps < 1 || threads < 1 || radius < 1 || radius > 4 || order % 2) {
        fprintf(stderr, "N, STEPS and THREADS from 1, ORDER 2, 4, 6 or 8\n");
        return 2;
    }
    omp_set_num_threads(threads);
    long m = n + 2 * radius, len = m * m * m;
    float *arrays[2];
    for (int i = 0; i < 2; i++) {
        arrays[i] = aligned_alloc(64, (len * sizeof(float) + 63) / 64 * 64);
        if (!arrays[i]) {
            fprintf(stderr, "not enough memory for %ld cells\n", len);
            return 1;
        }
        float *a = arrays[i];
        /* Touched first by the thread that will sweep it. */
#pragma omp parallel for schedule(static)
        for (long z = 0; z < m; z++)
            for (long c = 0; c < m * m; c++) a[z * m * m + c] = 0;
    }
    arrays[0][(n / 2 + radius) * m * m + (n / 2 + radius) * m + n / 2 + radius] = 100;
    double best = 0;
    for (int run = 0; run < 3; run++) {
        double start = omp_get_wtime();
        for (int t = 0; t < steps; t++) sweep(radius, n, 0.02f, arrays[t % 2], arrays[1 - t % 2]);
        double rate = (double)n * n * n * steps / (omp_get_wtime() - start);
        if (rate > best) best = rate;
    }
    printf("{\"peer\": \"gcc -O3 OpenMP\", \"order\": %d, \"n\": %d, \"steps\": %d, \"threads\": %d, "
           "\"cells_per_second\": %.4e}\n",
           order, n, steps, threads, best);
    return 0;
}
