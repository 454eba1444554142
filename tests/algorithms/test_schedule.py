"""How far thresholds fall, and what decoded weights say of their error, against sorted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.algorithms.schedule import FIRST_THRESHOLD, QUANTILE, Adaptive, look, relative_weights
from partwise.sources import MemorySource, source_of

RULE = Adaptive(slowest=1.25, fastest=8.0, share=0.5)


# --- the rule -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "error", "expected"),
    [
        pytest.param(None, 1.0, 0.1, id="first-as-in-the-paper"),
        pytest.param(None, 0.003, 0.006, id="first-is-twice-a-small-error"),
        pytest.param(None, 0.0, 0.1, id="first-where-nothing-is-known"),
        pytest.param(0.1, 0.1, 0.05, id="down-to-its-share-of-the-error"),
        pytest.param(0.1, 1e-5, 0.0125, id="as-fast-as-allowed"),
        pytest.param(0.1, 0.0, 0.0125, id="as-fast-as-allowed-without-any-error"),
        pytest.param(0.1, 5.0, 0.08, id="at-least-slowly"),
        pytest.param(0.1, 0.16, 0.08, id="slowly-where-its-share-is-just-that"),
    ],
)
def test_next(last: float | None, error: float, expected: float) -> None:
    before = None if last is None else np.array([last])
    np.testing.assert_allclose(RULE.next(before, np.array([error])), [expected], rtol=1e-15)


def test_every_component_has_its_own() -> None:
    errors = np.array([1.0, 1e-9, 0.1])
    np.testing.assert_allclose(RULE.next(None, errors), [FIRST_THRESHOLD, 2e-9, FIRST_THRESHOLD])
    np.testing.assert_allclose(RULE.next(np.full(3, 0.1), errors), [0.08, 0.0125, 0.05])


def test_always_falls() -> None:
    rng = np.random.default_rng(0)
    alpha = np.full(20, 0.1)
    for _ in range(30):
        new = RULE.next(alpha, 10.0 ** rng.uniform(-9, 2, 20))
        assert (new <= alpha / RULE.slowest).all()
        assert (new >= alpha / RULE.fastest * (1 - 1e-15)).all()
        alpha = new


# --- what is seen -------------------------------------------------------------------------------------------


def weights(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Half of them active, the others wrong by errors of another size in every component."""
    on = rng.random((n, k)) < 0.5
    return np.where(on, rng.random((n, k)), 10.0 ** -np.arange(1, k + 1) * rng.standard_normal((n, k)))


V = weights(np.random.default_rng(1), 700, 4)
SIZES = 10.0 ** np.random.default_rng(2).uniform(-2, 2, 700)
P = np.random.default_rng(3).standard_normal((4, 4))
Y = np.linalg.solve(P.T, (V * SIZES[:, None]).T).T  # so that rows decode to V
FORMS = pytest.mark.parametrize(
    "form",
    [source_of, lambda Y: MemorySource(Y, block_rows=31), lambda Y: MemorySource(sp.csr_array(Y), block_rows=64)],
    ids=["one-block", "blocks", "csr"],
)


def above(value: Any, truth: Any) -> None:
    """The upper edge of the bin of the truth: not below it, and not above it by more than a quarter."""
    assert (np.asarray(value) >= np.asarray(truth) * (1 - 1e-9)).all()
    assert (np.asarray(value) <= 1.25 * np.asarray(truth) * (1 + 1e-9)).all()


@FORMS
def test_unit_is_the_largest_weight(form: Any) -> None:
    np.testing.assert_allclose(look(form(Y), 1.0 / SIZES, P).unit, V.max(axis=0), rtol=1e-12)


@FORMS
def test_error_is_a_quantile_of_the_negative_parts(form: Any) -> None:
    truth = np.quantile(np.maximum(-V, 0.0), QUANTILE, axis=0, method="inverted_cdf") / V.max(axis=0)
    above(look(form(Y), 1.0 / SIZES, P).error, truth)


@pytest.mark.parametrize("share", [0.0, 0.005, 0.009, 0.011, 0.5, 1.0])
def test_error_where_few_weights_are_negative(share: float) -> None:
    """At most a hundredth: nothing to be seen. More: the size of the negative ones."""
    n, negative = 2000, round(2000 * share)
    column = np.concatenate([np.full(n - negative, 2.0), np.full(negative, -0.6)])
    error = look(source_of(column[:, None]), np.ones(n), np.eye(1)).error
    unit = 2.0 if negative < n else 1.0
    if share < 1.0 - QUANTILE:
        np.testing.assert_array_equal(error, 0.0)
    else:
        above(error * unit, 0.6)


@pytest.mark.parametrize("least", [1, 2, 37, 350, 700])
def test_level_has_so_many_weights_below(least: int) -> None:
    level = look(MemorySource(Y, block_rows=50), 1.0 / SIZES, P).level(least)
    truth = np.sort(V, axis=0)[least - 1]
    np.testing.assert_array_equal(level == 0.0, (V < 0.0).sum(axis=0) >= least)
    positive = truth >= 0.0
    above(level[positive], truth[positive])
    assert ((level >= V).sum(axis=0)[positive] >= least).all()


def test_level_of_more_weights_than_there_are_is_above_all_of_them() -> None:
    above(look(source_of(Y), 1.0 / SIZES, P).level(10_000), V.max(axis=0))


def test_a_component_without_positive_weights_has_unit_one() -> None:
    data = np.column_stack([np.linspace(0.0, 4.0, 50), -np.ones(50), np.zeros(50)])
    seen = look(source_of(data), np.ones(50), np.eye(3))
    np.testing.assert_array_equal(seen.unit, [4.0, 1.0, 1.0])
    assert seen.error[0] == seen.error[2] == 0.0
    above(seen.error[1], 1.0)
    np.testing.assert_array_equal(seen.level(1)[1], 0.0)
    assert 0.0 < seen.level(1)[2] < 1e-29


def test_weights_are_relative_to_the_size_of_their_sample() -> None:
    block = np.random.default_rng(4).random((6, 3)).astype(np.float32)
    M = np.random.default_rng(5).random((3, 2)).astype(np.float32)
    scale = np.arange(1.0, 7.0)
    for form in (np.asarray, sp.csr_array):
        found = relative_weights(form(block), scale, M)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, (block @ M) * scale[:, None], rtol=1e-6)


def test_the_most_negative_and_the_number_above() -> None:
    V = np.array([[1.0, -0.5], [0.25, 4.0], [-1e-3, 1e-6], [0.0, 2.0]])
    seen = look(source_of(V), np.ones(4), np.eye(2))
    assert 0.125 <= seen.worst <= 0.125 * 1.25
    assert seen.above(0.1) == 4
    assert seen.above(1e-8) == 5
    nothing = look(source_of(np.abs(V)), np.ones(4), np.eye(2))
    assert nothing.worst == 0.0
