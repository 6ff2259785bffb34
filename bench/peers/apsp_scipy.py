"""Shortest paths from a few sources by scipy's Dijkstra, on one core, in the graph of a file of edges.

    python3 apsp_scipy.py FILE SOURCES [VERTICES]

With VERTICES the file is written first: every vertex has 7 predecessors, weights are 1 to 10. Prints one JSON object with
sources a second and the sum of all distances, as `apsp_petgraph` and `warpweft apsp FILE --sources 0..SOURCES` have it.
"""

import json
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

DEGREE, WEIGHT = 7, 10


def written(path, vertices):
    random = np.random.default_rng(1)
    to = np.repeat(np.arange(vertices), DEGREE)
    edges = [random.integers(0, vertices, to.size), to, random.integers(1, WEIGHT + 1, to.size)]
    np.savetxt(path, np.stack(edges, axis=1), fmt="%d")


path, sources = sys.argv[1], int(sys.argv[2])
if len(sys.argv) > 3:
    written(path, int(sys.argv[3]))
begin, end, weight = np.loadtxt(path, dtype=np.int64, unpack=True)
vertices = int(max(begin.max(), end.max())) + 1
# Of parallel edges the shortest counts; a matrix would add them.
order = np.lexsort((weight, end, begin))
begin, end, weight = begin[order], end[order], weight[order]
first = np.ones(begin.size, dtype=bool)
first[1:] = (begin[1:] != begin[:-1]) | (end[1:] != end[:-1])
graph = csr_matrix((weight[first].astype(float), (begin[first], end[first])), (vertices, vertices))
start = time.perf_counter()
total = 0.0
for source in range(sources):
    row = dijkstra(graph, indices=source)
    total += row[np.isfinite(row)].sum()
seconds = time.perf_counter() - start
print(json.dumps({
    "peer": "scipy", "vertices": vertices, "sources": sources,
    "sources_per_second": sources / seconds, "total": int(total),
}))
