"""One core's rate of Smith-Waterman by parasail: one JSON object a routine.

    python3 -m pip install parasail && python3 bench/peers/wavefront_parasail.py 20000

Random DNA, match 2, mismatch -1, linear gap -1, score only; the median of three runs.
"""
import json
import random
import sys
import time


def main():
    size = int(sys.argv[1])
    try:
        import parasail
    except ImportError as error:
        print(json.dumps({"peer": "parasail", "size": size, "error": str(error)}))
        return
    generator = random.Random(1)
    a, b = ("".join(generator.choice("ACGT") for _ in range(size)) for _ in range(2))
    matrix = parasail.matrix_create("ACGT", 2, -1)
    for dtype, routine in (("i32", parasail.sw_scan_32), ("i32", parasail.sw_striped_32), ("i16", parasail.sw_scan_16),
                           ("i16", parasail.sw_striped_16)):
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            routine(a, b, 1, 1, matrix)
            seconds.append(time.perf_counter() - start)
        rate = size * size / sorted(seconds)[1]
        print(json.dumps({"peer": f"parasail {routine.__name__}", "dims": 2, "size": size,
                          "dtype": dtype, "order": 0, "cells_per_second": rate}))


if __name__ == "__main__":
    main()
