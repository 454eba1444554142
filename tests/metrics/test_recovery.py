from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.exceptions import InputError
from partwise.metrics.recovery import (
    component_stability,
    match_components,
    spectral_angles,
    stability,
    total_correlation_error,
)

RNG = np.random.default_rng(0)


def brute_force(C, T):
    """The definition, every pair by least squares."""
    total = 0.0
    for t in T:
        total += min(np.linalg.norm(t - (t @ c) / (c @ c) * c) if (c @ c) > 0 else np.linalg.norm(t) for c in C)
    return total


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (8, 4), (20, 30)], ids=str)
def test_error_is_the_definition(shape):
    C, T = RNG.standard_normal(shape), RNG.standard_normal((6, shape[1]))
    C[0] = 0.0 if shape[0] > 1 else C[0]
    assert total_correlation_error(C, T) == pytest.approx(brute_force(C, T), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("size", [1e-4, 1e-8, 1e-12, 1e-14])
def test_small_errors_keep_their_digits(size):
    T = RNG.random((5, 40)) + 0.1
    D = RNG.standard_normal(T.shape)
    D -= (np.sum(D * T, axis=1) / np.sum(T * T, axis=1))[:, None] * T  # across T
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    C = (3.0 * (T + size * D))[::-1]
    tolerance = max(1e-6, 2e-16 * 20 / size)
    assert total_correlation_error(C, T) == pytest.approx(5 * size, rel=tolerance)
    match = match_components(C, T)
    np.testing.assert_array_equal(match.permutation, np.arange(5)[::-1])
    np.testing.assert_allclose(match.errors, size / np.linalg.norm(T, axis=1), rtol=tolerance)
    np.testing.assert_allclose(spectral_angles(C, T, degrees=False), match.errors, rtol=2 * tolerance, atol=size**2)


def test_the_nearest_of_near_copies_is_found():
    # cosines of all three are 1 to rounding; only residuals can tell them apart
    T = RNG.random((2, 50)) + 0.1
    step = RNG.standard_normal(50)
    C = np.vstack([T[0] + 1e-9 * step, T[0] + 1e-12 * step, T[0] + 1e-10 * step, T[1]])
    across = np.linalg.norm(step - (step @ T[0]) / (T[0] @ T[0]) * T[0])
    assert total_correlation_error(C, T) == pytest.approx(1e-12 * across, rel=0.01)
    assert match_components(C, T).permutation.tolist() == [1, 3]


def test_variant_of_the_authors_program():
    C, T = RNG.standard_normal((6, 9)), 5 * RNG.standard_normal((6, 9))
    A, G = C / np.linalg.norm(C, axis=1)[:, None], T / np.linalg.norm(T, axis=1)[:, None]
    expected = sum(min(np.sum((g - (g @ a) * a) ** 2) for a in A) for g in G)
    assert total_correlation_error(C, T, variant="and4nmf") == pytest.approx(expected)


@pytest.mark.parametrize("c_scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("t_scale", [1e-150, 1.0, 1e150])
def test_any_scale(c_scale, t_scale):
    C, T = RNG.random((4, 7)), RNG.random((4, 7))
    plain = total_correlation_error(C, T)
    assert total_correlation_error(C * c_scale, T * t_scale) == pytest.approx(plain * t_scale)
    match, reference = match_components(C * c_scale, T * t_scale), match_components(C, T)
    np.testing.assert_array_equal(match.permutation, reference.permutation)
    np.testing.assert_allclose(match.cosines, reference.cosines)
    np.testing.assert_allclose(match.errors, reference.errors)
    np.testing.assert_allclose(match.scales, reference.scales * (t_scale / c_scale))
    np.testing.assert_allclose(spectral_angles(C * c_scale, T * t_scale), spectral_angles(C, T))
    assert stability([C * c_scale, T * t_scale]) == pytest.approx(stability([C, T]))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**31))
def test_order_and_scale_do_not_matter(k, seed):
    rng = np.random.default_rng(seed)
    T = rng.random((k, 12)) + 0.01
    order, scales = rng.permutation(k), 2.0 ** rng.integers(-30, 30, k)
    C = scales[:, None] * T[order]
    assert total_correlation_error(C, T) < 1e-14 * k
    match = match_components(C, T)
    np.testing.assert_array_equal(order[match.permutation], np.arange(k))
    np.testing.assert_allclose(match.aligned(C), T)
    assert match.errors.max() < 1e-14
    assert spectral_angles(C, T).max() < 1e-12


def test_matching_is_optimal_and_not_greedy():
    # greedy gives the first truth its best (0), leaving the second with nothing; the sum decides
    T = np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0]])
    C = np.array([[1.0, 0.05, 0.0], [0.6, 0.0, 0.8]])
    match = match_components(C, T)
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    chosen = sum(cosine(T[i], C[j]) for i, j in enumerate(match.permutation))
    assert chosen == pytest.approx(max(sum(cosine(T[i], C[p[i]]) for i in range(2)) for p in ([0, 1], [1, 0])))


def test_numbers_of_components_may_differ():
    T = np.eye(4)
    few = match_components(T[[2, 0]] * 3, T)
    assert few.permutation.tolist() == [1, -1, 0, -1]
    assert few.scales.tolist() == pytest.approx([1 / 3, 0, 1 / 3, 0])
    assert few.cosines.tolist() == [1, 0, 1, 0]
    assert few.errors.tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(few.aligned(T[[2, 0]] * 3), np.diag([1, 0, 1, 0]))
    np.testing.assert_allclose(spectral_angles(T[[2, 0]], T), [0, 90, 0, 90])
    many = match_components(np.vstack([np.ones(4), T[::-1]]), T)
    assert many.permutation.tolist() == [4, 3, 2, 1]


def test_zero_components_match_nothing():
    match = match_components([[0.0, 0.0], [0.0, 2.0]], np.eye(2))
    assert match.cosines.tolist() == [0.0, 1.0]
    assert match.errors.tolist() == [1.0, 0.0]
    assert total_correlation_error(np.zeros((2, 2)), 3 * np.eye(2)) == 6.0
    assert spectral_angles([[0.0, 0.0]], [[1.0, 0.0]]).tolist() == [90.0]


def test_signs():
    T, C = np.array([[1.0, 2.0]]), np.array([[-2.0, -4.0]])
    away = match_components(C, T)
    assert (away.scales[0], away.errors[0]) == (0.0, 1.0)
    assert away.cosines[0] == pytest.approx(-1.0)
    assert spectral_angles(C, T)[0] == pytest.approx(180.0)
    both = match_components(C, T, absolute=True)
    assert both.scales[0] == -0.5
    assert both.errors[0] == 0.0
    assert total_correlation_error(C, T) == 0.0  # any real scale


def test_result_unpacks_as_documented():
    permutation, scales, cosines = match_components(np.eye(2), np.eye(2))
    assert permutation.tolist() == [0, 1]
    assert scales.tolist() == cosines.tolist() == [1.0, 1.0]


def test_lists_and_float32():
    T = RNG.random((3, 6)).astype(np.float32)
    assert total_correlation_error(T[::-1], T.tolist()) < 1e-6
    assert match_components(T, T).errors.dtype == np.float64


def test_stability():
    T = RNG.random((4, 10))
    assert stability([T, T[::-1] * 5, T[[1, 0, 3, 2]]]) == pytest.approx(1.0)
    assert stability([np.eye(2), np.eye(2)[:1]]) == pytest.approx(0.5)
    assert stability([np.eye(3)[:1], np.eye(3)[1:2]]) == 0.0
    assert stability([np.zeros((1, 2)), [[1.0, 0.0]]]) == 0.0
    with pytest.raises(InputError, match="runs"):
        stability([T])
    with pytest.raises(InputError, match="features"):
        stability([T, T[:, :5]])


@pytest.mark.parametrize("measure", [total_correlation_error, match_components, spectral_angles])
@pytest.mark.parametrize(
    ("components", "truth", "word"),
    [
        (np.eye(2), np.eye(3), "features"),
        (np.ones(3), np.eye(3), "components has shape"),
        (np.eye(3), np.ones((0, 3)), "truth has shape"),
        ([[np.nan, 1.0]], [[1.0, 1.0]], "components has NaN"),
        ([[1.0, 1.0]], [[np.inf, 1.0]], "truth has NaN"),
        (np.eye(2), [[1.0, 0.0], [0.0, 0.0]], "row 1"),
        ([["a", "b"]], np.eye(2), "components is not"),
        ([[1, 2], [1]], np.eye(2), "components is not"),
        ([[1j, 2]], np.eye(2), "components is not"),
    ],
)
def test_bad_input_is_named(measure, components, truth, word):
    with pytest.raises(InputError, match=word):
        measure(components, truth)


def test_unknown_variant():
    with pytest.raises(InputError, match="variant"):
        total_correlation_error(np.eye(2), np.eye(2), variant="best")


def test_published_size_is_quick():
    from time import perf_counter

    T = RNG.random((100, 2000))
    C = np.repeat(T[:1], 100, axis=0)  # the worst case: every component is a candidate
    start = perf_counter()
    total_correlation_error(T + 1e-9 * RNG.random(T.shape), T)
    total_correlation_error(C, T)
    match_components(C, T)
    assert perf_counter() - start < 5


def test_component_stability_counts_the_other_runs() -> None:
    rng = np.random.default_rng(0)
    shared, own = np.eye(8)[:3], lambda: np.abs(rng.standard_normal(8)) * np.r_[np.zeros(3), np.ones(5)]
    runs = [rng.permutation(np.vstack([shared * (1 + i), own()])) for i in range(4)]
    runs[3] = np.delete(runs[3], np.argmax(runs[3] @ shared[2]), axis=0)
    expected = [1.0, 1.0, 2 / 3]
    for run, shares in zip(runs, component_stability(runs, cosine=0.999), strict=True):
        for part, share in zip(shared, expected, strict=True):
            mine = np.flatnonzero(run @ part)
            assert shares[mine] == pytest.approx([share] * len(mine))
        assert (shares[(run @ shared.T).max(axis=1) == 0.0] == 0.0).all()


def test_equal_components_are_nothing_to_find_again() -> None:
    """Constant or zero components agree in all runs and say nothing."""
    for runs in ([np.ones((4, 6))] * 3, [np.zeros((4, 6))] * 3):
        assert all((shares == 0.0).all() for shares in component_stability(runs))
    with pytest.raises(InputError, match="two runs or more"):
        component_stability([np.eye(3)])
