"""The cases by the name they have on the command line."""

CASES = {
    "nnls": "benchmarks.nnls",
    "hals-dense": "benchmarks.hals_dense",
    "hals-sparse": "benchmarks.hals_sparse",
    "spa": "benchmarks.spa",
    "separable": "benchmarks.separable",
    "left-inverse": "benchmarks.left_inverse",
    "memory": "benchmarks.memory",
    "and-recovery": "benchmarks.and_recovery",
    "and-noise": "benchmarks.and_noise",
    "purification": "benchmarks.purification",
    "and-dense": "benchmarks.and_dense",
    "tsvdnmf-table2": "benchmarks.tsvdnmf_table2",
    "tsvdnmf-clusters": "benchmarks.tsvdnmf_clusters",
    "tsvdnmf-speed": "benchmarks.tsvdnmf_speed",
    "and-speed": "benchmarks.and_speed",
    "and-scaling": "benchmarks.and_scaling",
    "conservative": "benchmarks.conservative",
    "topics": "benchmarks.topics",
    "archetypes": "benchmarks.archetypes",
    "minvol": "benchmarks.minvol",
}
