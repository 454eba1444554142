"""What one count is, and how much more than counting noise there is, against slow references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.noise.counts import Unit, biwhiten, left, unit_of, with_dispersion


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
