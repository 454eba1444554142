"""
A fit on a Dask cluster, out of core
====================================

The blocks are made on the workers, are never together in one place, and the weights are written where they are
computed. On a cluster give the address of its scheduler to ``Client``; here workers are started in this process.
"""

import tempfile
from pathlib import Path

import dask
import matplotlib.pyplot as plt
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

import partwise as pw

PARTS, FEATURES, ROWS, BLOCKS = 10, 200, 2000, 6


def true_parts() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(FEATURES, 0.05), PARTS)


def block(seed: int) -> np.ndarray:
    """Stands for reading a file or a table: called on a worker, in every pass if blocks are not kept."""
    weights = np.random.default_rng(seed).dirichlet(np.full(PARTS, 0.1), ROWS)
    return weights @ true_parts()


def write(weights: np.ndarray, file: Path) -> int:
    np.save(file, weights)
    return file.stat().st_size


# %%
# ``persist=False``: blocks are made anew in each pass, so all of them together need not fit into memory.

folder = Path(tempfile.mkdtemp())  # on a real cluster: one that all workers see
workers = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
with workers, Client(workers):
    X = pw.open_source([delayed(block)(seed) for seed in range(1, BLOCKS + 1)], persist=False)
    model = pw.Facets(PARTS).fit(X)
    print(f"{X.shape[0]} rows: {model.stop_reason_}")
    print(f"error against the truth: {pw.metrics.total_correlation_error(model.components_, true_parts()):.1e}")

    W = model.transform(X)  # a Dask array: nothing is computed or fetched yet
    parts = enumerate(W.to_delayed().ravel())
    (sizes,) = dask.compute([delayed(write)(part, folder / f"W{i}.npy") for i, part in parts])
    print(f"wrote {len(sizes)} blocks of weights, {sum(sizes)} bytes")

# %%
# The course of the fit.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
model.plot_history(column="residual", ax=ax)
plt.show()
