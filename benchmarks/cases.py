"""The cases by the name they have on the command line."""

CASES = {
    "nnls": "benchmarks.nnls",
    "hals-dense": "benchmarks.hals_dense",
    "hals-sparse": "benchmarks.hals_sparse",
    "spa": "benchmarks.spa",
    "left-inverse": "benchmarks.left_inverse",
    "memory": "benchmarks.memory",
}
