"""What one count is, and how much more than counting noise there is, against slow references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.noise.counts import Unit, biwhiten, least_steps, left, unit_of, with_dispersion


def slow_step(row: np.ndarray) -> float:
    values = np.unique(np.append(np.round(row, 12), 0.0))
    return float(np.diff(values).min()) if len(values) > 1 else 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_least_step_of_a_row(form: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, (40, 25)) * (rng.random((40, 25)) < 0.7) / rng.integers(2, 900, (40, 1))
    X[5] = 0.0
    X[6] = 0.25
    expected = [slow_step(row) for row in X]
    np.testing.assert_allclose(least_steps(form(X.astype(dtype))), expected, rtol=1e-6)


def test_rows_of_nothing() -> None:
    assert least_steps(sp.csr_array((3, 4))).tolist() == [1.0, 1.0, 1.0]
    assert least_steps(np.zeros((0, 4))).shape == (0,)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda X: X, "one"),
        (lambda X: X * 0.125, "table"),
        (lambda X: X / X.sum(axis=1, keepdims=True), "rows"),
        (lambda X: (X / X.sum(axis=1, keepdims=True)).astype(np.float32).astype(float), "rows"),
        (lambda X: X - 1.0, None),
        (lambda X: X + np.random.default_rng(1).random(X.shape), None),
        (lambda X: np.log1p(X), None),
    ],
    ids=["counts", "scaled", "shares", "shares of single precision", "negative", "continuous", "logarithms"],
)
def test_what_one_count_is(change: Any, kind: str | None) -> None:
    X = change(np.random.default_rng(0).poisson(6.0, (60, 50)).astype(float))
    unit = unit_of(X, X)
    assert (None if unit is None else unit.kind) == kind


@pytest.mark.parametrize("phi", [0.01, 0.1, 1.0])
def test_extra_dispersion(phi: float) -> None:
    rng = np.random.default_rng(0)
    means = 30.0 * rng.random((150, 3)) @ rng.random((3, 120))
    X = rng.poisson(means * rng.gamma(1.0 / phi, phi, means.shape)).astype(float)
    unit = Unit("one", np.ones(150))
    found, state = with_dispersion(X, unit, None, biwhiten(X, unit, 0.0, None))
    # the search ends within 1% of the variance, of which the least phi makes a fifth: 5%, and as much by chance
    assert found == pytest.approx(phi, rel=0.15)
    assert left(state) == pytest.approx(1.0, abs=0.011)


def test_biwhitening_makes_the_true_variance_one() -> None:
    rng = np.random.default_rng(0)
    means = 30.0 * rng.random((150, 3)) @ rng.random((3, 120)) + 1.0
    state = biwhiten(rng.poisson(means).astype(float), Unit("one", np.ones(150)), 0.0, None)
    variance = means / state.row_scale[:, None] ** 2 / state.column_scale**2
    # sums of 120 and 150 counts of about 20: errors of 2%
    np.testing.assert_allclose(variance.mean(axis=0), 1.0, atol=0.1)
    np.testing.assert_allclose(variance.mean(axis=1), 1.0, atol=0.1)
