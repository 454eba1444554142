"""Proportions: rows sum to one, and parts have the size that makes samples of equal amounts equally large."""

from __future__ import annotations

import numpy as np
import pytest

import partwise as pw
from partwise.estimators.amounts import find_amounts, shares_of
from partwise.exceptions import DegenerateDataWarning, InputError

RNG = np.random.default_rng(0)
P = RNG.dirichlet([0.5] * 3, 300)
PARTS = RNG.gamma(0.5, size=(3, 40)) + 0.01
PARTS /= PARTS.sum(axis=1, keepdims=True)
AMOUNTS = np.array([1.0, 3.0, 0.5])  # counts of a whole cell of each kind


def test_cells_of_different_size_in_wells_of_as_many() -> None:
    depth = np.exp(0.1 * RNG.standard_normal(300))
    W = depth[:, None] * P * AMOUNTS  # counts of each part
    found = find_amounts(W, np.ones(3))
    np.testing.assert_allclose(found * AMOUNTS / (found * AMOUNTS).mean(), 1.0, rtol=0.1)
    np.testing.assert_allclose(shares_of(W, found), P, atol=0.03)
    W[:10] *= 50.0  # odd wells
    np.testing.assert_allclose(shares_of(W, find_amounts(W, np.ones(3))), P, atol=0.03)


def test_totals_that_say_nothing_leave_shares_of_counts() -> None:
    depth = np.exp(1.0 * RNG.standard_normal(300))  # totals differ, and not by the proportions
    W = depth[:, None] * P
    np.testing.assert_array_equal(find_amounts(W, np.full(3, 2.0)), np.full(3, 2.0))
    np.testing.assert_array_equal(find_amounts(P, np.ones(3)), np.ones(3))  # all of one size as they are


def test_of_a_model() -> None:
    X = (np.exp(0.05 * RNG.standard_normal(300))[:, None] * P * AMOUNTS) @ PARTS
    model = pw.Facets(3, random_state=0).fit(X)
    order = pw.metrics.match_components(model.components_, PARTS).permutation
    found = model.proportions(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found[:, order], P, atol=0.02)
    amounts = model.part_amounts(X)
    np.testing.assert_allclose(model.proportions(X[:5], amounts=amounts), found[:5], rtol=1e-9)


def test_empty_samples_are_named() -> None:
    W = np.vstack([P, np.zeros((2, 3))])
    with pytest.warns(DegenerateDataWarning, match=r"sample\(s\) 300, 301 use no part at all") as caught:
        shares = shares_of(W, np.ones(3))
    assert caught[0].message.place.row == 300
    assert np.isnan(shares[300:]).all()
    np.testing.assert_allclose(shares[:300].sum(axis=1), 1.0)


def test_wrong_amounts() -> None:
    model = pw.SPA(3).fit(P @ PARTS)
    for wrong in ([1.0, 2.0], [1.0, 0.0, 1.0], [np.nan, 1.0, 1.0]):
        with pytest.raises(InputError, match="amounts must be 3 positive numbers"):
            model.proportions(P @ PARTS, amounts=wrong)
