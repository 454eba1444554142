"""The cases by the name they have on the command line."""

CASES = {
    "nnls": "benchmarks.nnls",
    "hals-dense": "benchmarks.hals_dense",
    "hals-sparse": "benchmarks.hals_sparse",
    "spa": "benchmarks.spa",
    "left-inverse": "benchmarks.left_inverse",
    "memory": "benchmarks.memory",
    "and-recovery": "benchmarks.and_recovery",
    "and-noise": "benchmarks.and_noise",
    "purification": "benchmarks.purification",
    "and-dense": "benchmarks.and_dense",
    "and-speed": "benchmarks.and_speed",
    "and-scaling": "benchmarks.and_scaling",
}
