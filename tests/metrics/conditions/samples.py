"""Weights whose moments are known, noise of several kinds, and the forms that data comes in."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw

FORMS = pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        lambda W: W.tolist(),
        lambda W: W.astype(np.float32),
        sp.csr_array,
        lambda W: pw.open_source(W, block_rows=7),
        lambda W: pw.open_source(sp.csr_array(W), block_rows=7),
        lambda W: da.from_array(W, chunks=(9, -1)),
    ],
    ids=["dense", "list", "float32", "csr", "blocks", "csr-blocks", "dask"],
)


def s_sparse(D: int, s: int) -> np.ndarray:
    """All binary weights with s ones among D: the uniform distribution over them, exactly."""
    W = np.zeros((len(list(combinations(range(D), s))), D))
    for row, ones in zip(W, combinations(range(D), s), strict=True):
        row[list(ones)] = 1.0
    return W


def independent(p: list[float], levels: int) -> np.ndarray:
    """Independent binary weights with the given probabilities, which are multiples of 1 / levels."""
    return np.array(list(product(*[[float(i < round(q * levels)) for i in range(levels)] for q in p])))


def draw_noise(kind: str, n: int, m: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        return rng.normal(size=(n, m)) / m
    if kind == "rank-one":
        return np.outer(rng.normal(size=n), rng.normal(size=m)) / m
    if kind == "few-records":
        return np.where(np.arange(n)[:, None] < 2, rng.normal(size=(n, m)) / m, 0.0)
    return rng.normal(size=(n, m)) * 0.01 ** rng.random(m) / m  # features of many sizes


def sets(found: Any) -> list[list[int]]:
    return [s.tolist() for s in getattr(found, "features", None) or found.records]


def found_numbers(result: Any) -> list[float]:
    return [line.found for line in result.conditions]


# constants of the Dominant NMF model with which every inequality holds
GOOD: dict[str, Any] = {
    "n_components": 2,
    "rho": 0.1,
    "gamma": 0.1,
    "p0": 0.5,
    "alpha": 0.9,
    "beta": 0.05,
    "w0": 0.5,
    "eps0": 0.4,
    "eps4": 5e-4,
}
