"""Readings that end at one value are named, and others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import DegenerateDataWarning
from partwise.sources import source_of


def table(seed: int = 0, noise: float = 0.05) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(300, 4)) @ rng.gamma(0.5, size=(4, 40))
    return np.maximum(X + noise * X.mean() * rng.standard_normal(X.shape), 0.0)


COUNTS = np.random.default_rng(0).poisson(5.0 * table())


@pytest.mark.parametrize("how", [np.asarray, sp.csr_array, lambda X: source_of(X, block_rows=37)])
@pytest.mark.parametrize("rounded", [False, True])
def test_how_many_and_where(how: Any, rounded: bool):
    X = table()
    X = np.round(X * 20.0) if rounded else X
    ceiling = np.sort(X.ravel())[-200]
    X = np.minimum(X, ceiling)
    noise = pw.measure_noise(how(X))
    at = (ceiling == X).sum(axis=0)
    assert noise.clipped == at.sum() >= 200
    assert noise.ceiling == ceiling
    assert at[list(noise.clipped_features)].tolist() == sorted(at, reverse=True)[: len(noise.clipped_features)]
    assert "readings end at" in str(noise)


@pytest.mark.parametrize(
    "X",
    [
        table(),
        np.round(20.0 * table()),
        np.random.default_rng(0).poisson(table()),  # small counts have many of the largest
        (np.random.default_rng(0).random((300, 40)) < 0.4).astype(float),
        table() / table().max(axis=1, keepdims=True),
        table() / table().max(axis=0),
        np.r_[table(), table()],
        COUNTS / COUNTS.max(axis=0),  # some have their largest twice
        COUNTS / np.maximum(COUNTS.max(axis=1, keepdims=True), 1),
        np.c_[table() / table().max(axis=0), np.random.default_rng(0).random((300, 3)) < 0.3],
        np.random.default_rng(0).binomial(2, 0.9, (300, 40)),
    ],
    ids=["readings", "rounded", "counts", "yes or no", "by rows", "by columns", "twice"]
    + ["counts by columns", "counts by rows", "beside yes or no", "0, 1 and 2"],
)
def test_readings_that_do_not_end(X: Any):
    assert pw.measure_noise(X).clipped == 0


def test_who_says_so():
    X = table()
    X = np.minimum(X, np.sort(X.ravel())[-300])
    assert "300 entries are just that" in str(pw.choose_k(X, halves=False))
    with pytest.warns(DegenerateDataWarning, match="300 entries are just that") as told:
        pw.Parts(4, random_state=0, judge=False).fit(X)
    assert [one.message.kind for one in told if "readings" in str(one.message)] == ["clipped"]  # type: ignore[union-attr]
