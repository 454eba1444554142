"""Purification: one update against all pairs, the choice of scales, fresh samples, why it stops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.loop import Progress, run
from partwise.algorithms.purification import AVERAGED, Batched, Drawn, polish, purification
from partwise.algorithms.scaling import balanced, chosen_inverse, suggested_scale, unit_weights
from partwise.exceptions import InputError
from partwise.linalg import left_inverse
from partwise.sources import GeneratedSource, MemorySource, source_of

K, M = 5, 14
RNG = np.random.default_rng(0)
TRUTH = RNG.dirichlet(np.ones(M), size=K)
START = (np.eye(K) + RNG.uniform(-0.05, 0.05, (K, K))).T @ TRUTH
signs = pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])


def draw(n: int, rng: np.random.Generator) -> np.ndarray:
    """Binary weights: each component is in a third of the samples."""
    return (rng.random((n, K)) < 1 / 3) @ TRUTH


X = draw(80, np.random.default_rng(1)) + 0.002 * RNG.standard_normal((80, M))


def after(source: Any, iterations: int = 1, H0: np.ndarray = START, **options: Any) -> Progress:
    """The state after so many iterations."""
    return list(islice(purification(source_of(source), H0, **options), iterations + 1))[-1]


def by_all_pairs(X: np.ndarray, H: np.ndarray, alpha: float, eta: float, r: float, norm: Any, relu: bool) -> np.ndarray:
    """Algorithm 1, line by line in the paper's orientation: a sample is a column y, and A has a column a component."""
    A, dagger = H.T, left_inverse(H, norm=norm).T
    decoded = [np.maximum(dagger @ y - alpha, 0.0) if relu else dagger @ y for y in X]
    mean = np.zeros_like(A)
    for y, x in zip(X, decoded, strict=True):
        for y_other, x_other in zip(X, decoded, strict=True):
            mean += np.outer(y - y_other, x - x_other) / len(X) ** 2
    return ((1 - eta) * A + r * eta * mean).T


# --- one update ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relu", [True, False], ids=["relu", "identity"])
@pytest.mark.parametrize(("inverse", "norm"), [("least-inf", "inf"), ("pinv", "2")])
@signs
def test_update_is_that_of_all_pairs(inverse: str, norm: str, relu: bool, signed: bool) -> None:
    H = START * RNG.choice([-1.0, 1.0], M) if signed else START
    expected = by_all_pairs(X, H, 0.2, 0.4, 3.0, norm, relu)
    found = after(X, H0=H, threshold=0.2, step=0.4, scale=3.0, inverse=inverse, relu=relu)
    np.testing.assert_allclose(found.components, expected, rtol=0, atol=1e-13)
    further = by_all_pairs(X, expected, 0.2, 1.0, 3.0, norm, relu) - expected
    assert found.residual == pytest.approx(np.linalg.norm(further) / np.linalg.norm(expected))
    assert found.objective == found.residual
    assert not found.certified


def test_inverses_differ_and_the_least_is_shorter() -> None:
    least, pseudo = (after(X, inverse=inverse) for inverse in ("least-inf", "pinv"))
    assert least.details["inverse_norm"] < 0.99 * pseudo.details["inverse_norm"]
    assert max(least.details["gap"], pseudo.details["gap"]) < 1e-12
    assert np.abs(least.components - pseudo.components).max() > 1e-4


def test_details_belong_to_the_components_beside_them() -> None:
    state = after(X, 3, threshold=0.25)
    expected = np.abs(left_inverse(state.components)).sum(axis=0).max()
    assert state.details["inverse_norm"] == pytest.approx(expected)
    assert (state.details["threshold"], state.details["step"]) == (0.25, 0.5)


def test_start_comes_first_and_is_not_modified() -> None:
    H0 = START.copy()
    first = next(purification(MemorySource(X), H0))
    np.testing.assert_array_equal(first.components, START)
    after(X, 5, H0=H0)
    np.testing.assert_array_equal(H0, START)


def test_large_means_do_not_cancel() -> None:
    far = X + 1e7  # keeps nine digits of the samples
    found, expected = (after(data, scale=2.0, relu=False, inverse="pinv") for data in (far, X))
    # the covariance does not know the mean, and without a threshold neither do the weights' deviations
    np.testing.assert_allclose(found.components, expected.components, rtol=0, atol=1e-7)


# --- where rows live ----------------------------------------------------------------------------------------


def sources(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    np.save(tmp_path / "X.npy", X)
    yield "csr", sp.csr_array(X)
    yield "memmap", tmp_path / "X.npy"
    yield "dask", da.from_array(X, chunks=(30, M))
    for rows in (1, 7, 79):
        yield f"blocks of {rows}", MemorySource(X, block_rows=rows)
        yield f"csr, blocks of {rows}", MemorySource(sp.csr_array(X), block_rows=rows)


def test_every_kind_of_source_gives_the_same(tmp_path: Path) -> None:
    expected = after(X, 10).components
    for name, source in sources(tmp_path):
        np.testing.assert_allclose(after(source, 10).components, expected, rtol=0, atol=1e-12, err_msg=name)


def test_same_partition_gives_the_same_bits() -> None:
    in_memory = after(MemorySource(X, block_rows=30), 5).components
    np.testing.assert_array_equal(after(da.from_array(X, chunks=(30, M)), 5).components, in_memory)


def test_sparse_blocks_are_not_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sp.csr_array, name, None)
    H, _ = unit_weights(MemorySource(sp.csr_array(X)), START)
    after(sp.csr_array(X), 2, H0=balanced(MemorySource(sp.csr_array(X)), H)[0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_single_precision(form: Any) -> None:
    found = after(form(X.astype(np.float32)), 10)
    assert found.components.dtype == np.float32
    np.testing.assert_allclose(found.components, after(X, 10).components, rtol=0, atol=1e-5)


# --- scales -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("relu", "alpha"), [(True, 0.3), (False, 0.0)], ids=["relu", "identity"])
def test_scale_is_estimated_once(relu: bool, alpha: float) -> None:
    V = X @ left_inverse(START)
    W = np.maximum(V - 0.3, 0.0) if relu else V
    states = list(islice(purification(MemorySource(X), START, relu=relu), 8))
    scales = [state.details["scale"] for state in states]
    np.testing.assert_allclose(scales, (1 - alpha) / (2 * np.median(W.var(axis=0))), rtol=1e-12)


def test_given_scale_is_used() -> None:
    assert {state.details["scale"] for state in islice(purification(MemorySource(X), START, scale=2.5), 4)} == {2.5}


@pytest.mark.parametrize(
    ("variances", "scale"), [([0.0, 0.0, 2.0], 0.175), ([0.0, 0.0], None), ([1.0, 2.0, 9.0], 0.175)]
)
def test_suggested_scale(variances: list[float], scale: float | None) -> None:
    assert suggested_scale(np.array(variances), 0.3) == (None if scale is None else pytest.approx(scale))


def test_binary_weights_have_their_components_as_a_fixed_point() -> None:
    W = np.array(np.meshgrid(*[[0.0, 1.0]] * K)).reshape(K, -1).T  # exactly independent
    state = after(W @ TRUTH, 1, H0=TRUTH)
    assert state.residual < 1e-13
    np.testing.assert_allclose(state.components, TRUTH, atol=1e-14)


@pytest.mark.parametrize("units", [1.0, 1e-150, 1e150])
@signs
def test_typical_large_weights_become_one(units: float, signed: bool) -> None:
    H = TRUTH * (RNG.choice([-1.0, 1.0], (K, M)) if signed else 1.0)
    W = np.random.default_rng(2).random((300, K)) < 0.2
    wrong = np.array([0.01, 0.3, 1.0, 5.0, 1e4])
    scaled, factors = unit_weights(MemorySource(units * (W @ H)), H * wrong[:, None])
    np.testing.assert_allclose(scaled / units, H, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(factors * wrong / units, 1.0, rtol=1e-9)


def test_uniform_weights_become_four_fifths_of_the_largest() -> None:
    W = np.random.default_rng(2).random((5000, K)) * 3.0
    _, factors = unit_weights(MemorySource(W @ TRUTH), TRUTH)
    np.testing.assert_allclose(factors, 0.8 * 3.0, rtol=0.02)


def test_balanced_weights_have_equal_moments() -> None:
    odds = np.array([0.05, 0.1, 0.2, 0.3, 0.5])
    W = (np.random.default_rng(3).random((5000, K)) < odds).astype(float)
    H, factors = balanced(MemorySource(W @ TRUTH), START)
    np.testing.assert_allclose(H, factors[:, None] * START)
    assert factors.max() == 1.0
    moments = ((W / factors) ** 2).mean(axis=0)
    assert moments.max() < 2.0 * moments.min()
    assert (W.mean(axis=0).max() / W.mean(axis=0).min()) > 8.0


@pytest.mark.parametrize("concentration", [1.0, 0.02], ids=["dense", "concentrated"])
def test_the_inverse_is_chosen_by_what_it_makes_of_the_noise(concentration: float) -> None:
    clean = pw.datasets.make_binary_mixtures(
        n_samples=1500, n_features=200, n_components=10, n_active=2, concentration=concentration, random_state=0
    )
    H = clean.start(0.1, random_state=0)
    bounds = pw.metrics.noise_tolerance(clean.components)
    unbiased = pw.datasets.add_unbiased_noise(clean, 2.0 / 200, random_state=0)  # as large as the signal
    adversarial = pw.datasets.add_adversarial_noise(clean, bounds.theorem_1)

    def noise(data: Any, inverse: str) -> float:
        """What is decoded of the noise alone, which nobody knows."""
        P = np.asarray(left_inverse(H, norm="2" if inverse == "pinv" else "inf"))
        return float(np.linalg.norm(data.noise @ P))

    assert noise(unbiased, "pinv") < noise(unbiased, "least-inf")
    assert chosen_inverse(source_of(unbiased.X), H) == "pinv"
    assert chosen_inverse(source_of(clean.X), H) == "least-inf"
    assert chosen_inverse(source_of(adversarial.X), H) == "least-inf"


# --- fresh samples ------------------------------------------------------------------------------------------


def test_fresh_samples_are_drawn_for_every_iteration() -> None:
    seen: list[np.ndarray] = []

    def drawn(n: int, rng: np.random.Generator) -> np.ndarray:
        seen.append(draw(n, rng))
        return seen[-1]

    source = GeneratedSource(drawn, 500, random_state=0)
    list(islice(purification(source, START, fresh=Drawn(source, np.random.default_rng(1))), 5))
    assert len(seen) == 6  # the first is the source itself
    assert not np.array_equal(seen[1], seen[2])


def test_averaging_fresh_samples_beats_their_sampling_error() -> None:
    source, rng = GeneratedSource(draw, 2000, random_state=0), np.random.default_rng(1)

    def error(state: Any) -> float:
        return pw.metrics.recovery_measures(state.components, TRUTH)["E_s"]

    on_one_sample = run(purification(source, START, tol=1e-9), max_iter=200, tol=0.0)
    fresh = run(purification(source, START, fresh=Drawn(source, rng)), max_iter=300, tol=0.0)
    assert error(fresh) < 0.4 * error(on_one_sample)
    assert (fresh.stop.kind, fresh.stop.cause) == ("floor", "sampling")
    assert fresh.stop.details == {"samples": 2000, "averaged": AVERAGED}
    steps = fresh.history["step"][-AVERAGED:]
    np.testing.assert_allclose(1.0 / steps, 2.0 + np.arange(1, AVERAGED + 1))


@pytest.mark.parametrize(("size", "expected"), [(30, [30, 30, 30, 30]), (80, [80] * 4), (1000, [80] * 4)])
def test_batches_have_the_size_asked_for(size: int, expected: list[int]) -> None:
    stream = Batched(MemorySource(X, block_rows=25), size, np.random.default_rng(0))
    assert [next(stream).shape[0] for _ in range(4)] == expected


# --- why it stops -------------------------------------------------------------------------------------------


def test_stops_at_the_tolerance() -> None:
    result = run(purification(MemorySource(X), START, tol=1e-6), max_iter=500, tol=1.0)
    assert result.converged
    assert result.residual <= 1e-6 < result.history["residual"][-2]
    assert (result.stop.measure, result.stop.value, result.stop.tolerance) == ("fixed-point", result.residual, 1e-6)


def test_stops_when_the_residual_no_longer_falls() -> None:
    result = run(purification(MemorySource(X), START), max_iter=2000, tol=0.0)
    assert result.stop.kind == "stalled"
    assert result.residual < 1e-12


def test_endless_is_algorithm_1_to_the_letter() -> None:
    H = START
    for _ in range(80):  # far beyond where it settles
        H = by_all_pairs(X[:12], H, 0.2, 0.4, 3.0, "inf", relu=True)
    found = after(X[:12], 80, threshold=0.2, step=0.4, scale=3.0, endless=True)
    np.testing.assert_allclose(found.components, H, rtol=0, atol=1e-13)
    source = GeneratedSource(draw, 50, random_state=0)
    fresh = after(source, 60, fresh=Drawn(source, np.random.default_rng(1)), endless=True)
    assert fresh.details["step"] == 0.5


@pytest.mark.parametrize("data", [np.zeros((6, M)), np.ones((1, M)), np.tile(X[0], (9, 1))], ids=["0", "one", "same"])
def test_without_variance_there_is_nothing_to_do(data: np.ndarray) -> None:
    result = run(purification(MemorySource(data), START), max_iter=5, tol=0.0)
    assert result.n_iter == 0
    assert (result.stop.kind, result.stop.cause) == ("degenerate", "constant-weights")


def test_too_long_steps_end_with_the_last_components_that_decode() -> None:
    result = run(purification(MemorySource(X), START, step=1.0, scale=1e308), max_iter=500, tol=0.0)
    assert result.stop.kind == "diverged"
    assert np.isfinite(result.components).all()


def test_dependent_start_is_refused() -> None:
    H0 = START.copy()
    H0[2] = H0[0] + H0[1]
    with pytest.raises(InputError, match=r"components 0, 1 and 2 of H are linearly dependent"):
        next(purification(MemorySource(X), H0))


# --- the finish ---------------------------------------------------------------------------------------------


@signs
def test_exact_steps_have_no_sampling_error(signed: bool) -> None:
    H = TRUTH * np.random.default_rng(4).choice([-1.0, 1.0], (K, M)) if signed else TRUTH
    W = np.random.default_rng(2).random((200, K)) < 1 / 3
    H0 = pw.starts.perturbed(H, 0.1, random_state=0)
    result = run(polish(MemorySource(W @ H), H0, threshold=0.3), max_iter=50, tol=0.0)
    assert pw.metrics.total_correlation_error(result.components, H) < 1e-9
    assert (result.stop.kind, result.stop.measure) == ("converged", "change")


def test_components_without_weights_stay() -> None:
    H0 = START.copy()
    H0[1] *= 1e3  # its weights are now far below the threshold
    assert (list(islice(polish(MemorySource(X), H0, threshold=0.3), 3))[-1].components[1] == H0[1]).all()
