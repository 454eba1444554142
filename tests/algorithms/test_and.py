"""AND as published, against the paper's Algorithm 1 written out."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from partwise.algorithms.and_ import BatchState, batch_stages, gradient_stages, take_steps
from partwise.algorithms.loop import Progress, run
from partwise.algorithms.signal import Signal, find_signal
from partwise.algorithms.thresholds import Falling, Listed, adaptive
from partwise.datasets import make_topics
from partwise.metrics import total_correlation_error
from partwise.sources import MemorySource, RowSource, source_of
from partwise.starts import perturbed

K, M = 4, 40
TRUE = np.random.default_rng(0).random((K, M))
WEIGHTS = np.random.default_rng(1).dirichlet(np.full(K, 0.2), 120)
EXACT = WEIGHTS @ TRUE
NOISY = EXACT + 0.02 * np.random.default_rng(2).standard_normal(EXACT.shape)
INSIDE = perturbed(TRUE, 0.1, random_state=3)
OUTSIDE = INSIDE + 0.02 * np.random.default_rng(4).random(INSIDE.shape)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def signal_of(source: RowSource, k: int = K) -> Signal:
    squared_norm = float(sum(np.sum(np.square(b.toarray() if sp.issparse(b) else b)) for b in source.batches(999)))
    return find_signal(source, k, squared_norm=squared_norm, rng=np.random.default_rng(0))


def stages(X: Any, H0: np.ndarray, count: int | None = None, **options: Any) -> list[Progress]:
    """The start and so many stages."""
    source = X if isinstance(X, RowSource) else source_of(X)
    options = {"steps": 50, "thresholds": Falling(), "floor": 0.0, "tol": 0.0, **options}
    squared = float(sum(np.sum(np.square(b.toarray() if sp.issparse(b) else b)) for b in source.batches(999)))
    found = gradient_stages(source, H0, signal=signal_of(source), squared_norm=squared, **options)
    return list(found if count is None else islice(found, count + 1))


def algorithm_1(
    X: np.ndarray, H: np.ndarray, thresholds: Falling, steps: int, stages: int, eta: float = 1.0
) -> list[np.ndarray]:
    """The paper, in its orientation: samples y and components A in columns, both products in every step."""
    Y, A = X.T, H.T.copy()
    found = []
    for alpha in map(thresholds.at, range(stages)):
        dagger = np.linalg.pinv(A)
        for _ in range(steps):
            Z = dagger @ Y
            Z = np.where(alpha > Z, 0.0, Z)  # a hard threshold: survivors keep their value
            A = A + eta / np.linalg.norm(Z @ Z.T, 2) * (Y - A @ Z) @ Z.T
        found.append(A.T.copy())
    return found


# --- steps --------------------------------------------------------------------------------------------------


def problem(seed: int, rank: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    W = rng.random((30, 5)) if rank is None else rng.random((30, rank)) @ rng.random((rank, 5))
    return W, rng.random((30, 8)), rng.random((5, 8))


def literal_steps(H: np.ndarray, W: np.ndarray, X: np.ndarray, steps: int, step_size: float) -> np.ndarray:
    eta = step_size / np.linalg.norm(W.T @ W, 2)
    for _ in range(steps):
        H = H + eta * W.T @ (X - W @ H)
    return H


@pytest.mark.parametrize("rank", [None, 3, 1], ids=["full-rank", "rank-3", "rank-1"])
@pytest.mark.parametrize("step_size", [0.1, 1.0, 1.9])
@pytest.mark.parametrize("steps", [1, 7, 50])
def test_steps_at_once_are_steps_one_by_one(steps: int, step_size: float, rank: int | None) -> None:
    W, X, H = problem(0, rank)
    found = take_steps(H, W.T @ W, W.T @ X, steps=steps, step_size=step_size)
    assert relative(found, literal_steps(H, W, X, steps, step_size)) < 1e-11


def test_the_limit_is_least_squares() -> None:
    W, X, H = problem(1)
    found = take_steps(H, W.T @ W, W.T @ X, steps=None, step_size=1.0)
    assert relative(found, np.linalg.lstsq(W, X, rcond=None)[0]) < 1e-11
    many = take_steps(H, W.T @ W, W.T @ X, steps=100_000, step_size=1.0)
    assert relative(many, found) < 1e-11


@pytest.mark.parametrize("rank", [1, 3])
def test_nothing_moves_where_nothing_is_known(rank: int) -> None:
    """The limit of gradient steps is the solution nearest to where they began."""
    W, X, H = problem(2, rank)
    found = take_steps(H, W.T @ W, W.T @ X, steps=None, step_size=1.0)
    nearest = H + np.linalg.pinv(W) @ (X - W @ H)
    assert relative(found, nearest) < 1e-9


def test_components_without_weights_stay() -> None:
    W, X, H = problem(3)
    W[:, [1, 4]] = 0.0
    found = take_steps(H, W.T @ W, W.T @ X, steps=50, step_size=1.0)
    np.testing.assert_allclose(found[[1, 4]], H[[1, 4]], rtol=1e-12)
    assert relative(found, literal_steps(H, W, X, 50, 1.0)) < 1e-11
    np.testing.assert_array_equal(take_steps(H, np.zeros((5, 5)), np.zeros((5, 8)), steps=50, step_size=1.0), H)


# --- stages with all the data -------------------------------------------------------------------------------

CASES = {
    "projected": (EXACT, INSIDE),
    "projected-start-outside": (EXACT, OUTSIDE),
    "not-projected": (NOISY, INSIDE),
    "not-projected-start-outside": (NOISY, OUTSIDE),
    "few-features": (EXACT[:, :6], OUTSIDE[:, :6]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("steps", "step_size"), [(1, 1.0), (50, 1.0), (20, 0.3)], ids=["T=1", "T=50", "eta=0.3"])
def test_stages_are_the_papers(case: str, steps: int, step_size: float) -> None:
    X, H0 = CASES[case]
    expected = algorithm_1(X, H0, Falling(), steps, 12, step_size)
    found = stages(X, H0, 12, steps=steps, step_size=step_size)
    np.testing.assert_allclose(found[0].components, H0, rtol=1e-12)
    for progress, H in zip(found[1:], expected, strict=True):
        assert relative(progress.components, H) < 1e-9


@pytest.mark.parametrize(
    "form",
    [
        sp.csr_array,
        lambda X: MemorySource(X, block_rows=13),
        lambda X: source_of(da.from_array(X, chunks=(50, 20)), scheduler="synchronous"),
    ],
    ids=["csr", "blocks", "dask"],
)
@pytest.mark.parametrize("case", ["projected", "not-projected"])
def test_stages_on_any_source(form: Any, case: str) -> None:
    X, H0 = CASES[case]
    for progress, expected in zip(stages(form(X), H0, 6), stages(X, H0, 6), strict=True):
        assert relative(progress.components, expected.components) < 1e-11
        assert progress.objective == pytest.approx(expected.objective, rel=1e-8, abs=1e-12)


def test_what_a_stage_records() -> None:
    found = stages(NOISY, OUTSIDE, 3, steps=7)
    H = OUTSIDE
    for j, progress in enumerate(found[1:]):
        alpha = 0.1 / 1.1**j
        W = NOISY @ np.linalg.pinv(H)
        W[alpha > W] = 0.0
        new = progress.components
        assert progress.objective == pytest.approx(0.5 * np.linalg.norm(NOISY - W @ new) ** 2, rel=1e-9)
        assert progress.residual == pytest.approx(np.abs(new - H).max() / np.abs(new).max(), rel=1e-9)
        assert progress.details["threshold"] == pytest.approx(alpha)
        assert progress.details["active"] == pytest.approx(np.count_nonzero(W) / len(NOISY))
        assert not progress.certified
        H = new
    start = NOISY @ np.linalg.pinv(OUTSIDE)
    start[start < 0.1] = 0.0
    assert found[0].objective == pytest.approx(0.5 * np.linalg.norm(NOISY - start @ OUTSIDE) ** 2, rel=1e-9)


def test_exact_steps_are_the_limit_of_many() -> None:
    exact, many = stages(NOISY, OUTSIDE, 5, steps=None), stages(NOISY, OUTSIDE, 5, steps=10**6)
    for a, b in zip(exact, many, strict=True):
        assert relative(a.components, b.components) < 1e-9
    W = NOISY @ np.linalg.pinv(OUTSIDE)
    W[W < 0.1] = 0.0
    assert relative(exact[1].components, np.linalg.lstsq(W, NOISY, rcond=None)[0]) < 1e-10


def test_start_is_left_alone() -> None:
    before = OUTSIDE.copy()
    stages(NOISY, OUTSIDE, 3)
    np.testing.assert_array_equal(OUTSIDE, before)


# --- thresholds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [1.1, 2.0])
def test_thresholds_of_the_paper(decay: float) -> None:
    np.testing.assert_allclose(
        [Falling(decay=decay).at(j) for j in range(9)], 0.1 / decay ** np.arange(9.0), rtol=1e-14
    )


def test_a_sequence_ends_the_run() -> None:
    source = source_of(NOISY)
    options: dict[str, Any] = {"signal": signal_of(source), "squared_norm": 1.0, "floor": 0.0, "tol": 0.0}
    result = run(
        gradient_stages(source, OUTSIDE, thresholds=Listed((0.1, 0.05, 0.0)), steps=50, **options), max_iter=99, tol=0.0
    )
    assert (result.n_iter, result.stop.kind, result.stop.cause) == (3, "done", "thresholds")
    np.testing.assert_allclose(result.history["threshold"][1:], [0.1, 0.05, 0.0])


def test_a_threshold_of_zero_is_no_reason_to_stop() -> None:
    """Without a floor there is no level that it could have reached."""
    found = stages(NOISY, OUTSIDE, 8, thresholds=Falling(0.0, 1.0))
    assert len(found) == 9
    for progress, H in zip(found[1:], algorithm_1(NOISY, OUTSIDE, Falling(0.0, 1.0), 50, 8), strict=True):
        assert relative(progress.components, H) < 1e-9


def test_the_floor_holds_thresholds_up_and_ends_the_run() -> None:
    source = source_of(NOISY)
    signal = signal_of(source)
    squared_norm = float(np.vdot(NOISY, NOISY))
    found = list(
        gradient_stages(
            source,
            INSIDE,
            thresholds=Falling(decay=1.5),
            steps=50,
            signal=signal,
            floor=2.0,
            squared_norm=squared_norm,
            tol=0.0,
        )
    )
    H = INSIDE
    for j, progress in enumerate(found[1:]):
        P = np.linalg.pinv(H)
        level = 2.0 * signal.row_noise[:, None] * np.linalg.norm(P, axis=0)
        W = NOISY @ P
        W[np.maximum(0.1 / 1.5**j, level) > W] = 0.0
        expected = take_steps(H, W.T @ W, W.T @ NOISY, steps=50, step_size=1.0)
        assert relative(progress.components, expected) < 1e-9
        typical = 2.0 * np.median(np.linalg.norm(P, axis=0)) * np.median(signal.row_noise)
        assert progress.details["floor"] == pytest.approx(typical, rel=1e-9)
        reached = 0.1 / 1.5**j <= typical
        assert reached == (progress is found[-1])
        H = progress.components


@pytest.mark.parametrize("threshold", [0.0, 1e-4])
def test_a_constant_below_the_floor_is_held_there_until_nothing_changes(threshold: float) -> None:
    source = source_of(NOISY)
    result = run(
        gradient_stages(
            source,
            OUTSIDE,
            thresholds=Falling(threshold, 1.0),
            steps=50,
            signal=signal_of(source),
            floor=2.0,
            squared_norm=1.0,
            tol=1e-9,
        ),
        max_iter=500,
        tol=0.0,
    )
    assert (result.stop.kind, result.stop.measure) == ("converged", "change")
    assert result.n_iter > 3
    np.testing.assert_array_equal(result.history["threshold"][1:], result.history["floor"][1:])


def test_tolerance_ends_the_run() -> None:
    source = source_of(EXACT)
    result = run(
        gradient_stages(
            source,
            INSIDE,
            thresholds=Falling(),
            steps=50,
            signal=signal_of(source),
            floor=0.0,
            squared_norm=1.0,
            tol=1e-3,
        ),
        max_iter=500,
        tol=1e-3,
    )
    assert result.converged
    assert (result.stop.kind, result.stop.measure) == ("converged", "change")
    assert result.history["residual"][-1] <= 1e-3 < result.history["residual"][1:-1].min()


# --- recovery -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dir", "ctm", "neg"])
@pytest.mark.parametrize("steps", [50, None], ids=["T=50", "exact"])
@pytest.mark.parametrize("rule", ["paper", "adaptive"])
def test_recovers_from_a_perturbed_truth(kind: str, steps: int | None, rule: str) -> None:
    data = make_topics(kind, n_samples=500, n_features=60, n_components=6, random_state=0)
    source = source_of(data.X)
    result = run(
        gradient_stages(
            source,
            data.warm_start(0.05, random_state=0),
            thresholds=adaptive() if rule == "adaptive" else Falling(decay=1.2),
            steps=steps,
            signal=signal_of(source, 6),
            floor=0.0,
            squared_norm=1.0,
            tol=1e-10,
        ),
        max_iter=250,
        tol=0.0,
    )
    assert total_correlation_error(result.components, data.components) < 1e-6


def test_adaptive_thresholds_make_the_largest_weight_one() -> None:
    """Components may come in any scale then."""
    factors = np.array([2.0**-7, 1.0, 32.0, 4.0])[:, None]  # bins of sizes are cut at powers of two
    plain, scaled = (stages(EXACT, H0, 6, thresholds=adaptive()) for H0 in (INSIDE, factors * INSIDE))
    for a, b in zip(plain, scaled, strict=True):
        assert relative(a.components, b.components) < 1e-7
    assert (EXACT @ np.linalg.pinv(plain[0].components)).max(axis=0) == pytest.approx(np.ones(K), rel=1e-9)


# --- batches ------------------------------------------------------------------------------------------------


def literal_batch(H: np.ndarray, P: np.ndarray, alpha: float, X: np.ndarray, step_size: float) -> np.ndarray:
    W = X @ P
    W[alpha > W] = 0.0
    largest = np.linalg.norm(W.T @ W, 2)
    return H if largest == 0.0 else H + step_size / largest * W.T @ (X - W @ H)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_step_is_the_formula(form: Any) -> None:
    state = BatchState(OUTSIDE, Listed((0.1, 0.07, 0.05)), 3, 0.7)
    H = OUTSIDE
    for number in range(8):
        batch = NOISY[10 * number : 10 * (number + 1)]
        if number % 3 == 0:
            P, alpha = np.linalg.pinv(H), [0.1, 0.07, 0.05][number // 3]
        W = batch @ P
        W[alpha > W] = 0.0
        objective = state.step(form(batch))
        assert objective == pytest.approx(0.5 * np.linalg.norm(batch - W @ H) ** 2, rel=1e-9)
        H = literal_batch(H, P, alpha, batch, 0.7)
        assert relative(state.H, H) < 1e-11
        assert (state.stage, state.taken, state.alpha) == (number // 3, number % 3 + 1, alpha)


def test_a_batch_without_anything_above_the_threshold_changes_nothing() -> None:
    state = BatchState(OUTSIDE, Falling(), 3, 1.0)
    state.step(np.zeros((5, M)))
    state.step(1e-9 * NOISY[:5])
    np.testing.assert_array_equal(state.H, OUTSIDE)
    assert state.taken == 2


def test_one_batch_of_all_the_data_is_a_stage_of_the_paper() -> None:
    state = BatchState(OUTSIDE, Falling(), 5, 1.0)
    for _ in range(15):
        state.step(NOISY)
    assert relative(state.H, stages(NOISY, OUTSIDE, 3, steps=5)[-1].components) < 1e-10


def test_stages_of_shuffled_batches() -> None:
    def states(seed: int) -> list[Progress]:
        state = BatchState(INSIDE, Falling(), 4, 1.0)
        source = MemorySource(NOISY, block_rows=50)
        return list(islice(batch_stages(source, state, batch_size=32, rng=np.random.default_rng(seed), tol=0.0), 4))

    # by hand: the same batches one after the other, epoch after epoch
    rng = np.random.default_rng(5)
    source = MemorySource(NOISY, block_rows=50)
    batches = [b for _ in range(4) for b in source.batches(32, rng)][:12]
    assert [len(b) for b in batches[:4]] == [32, 32, 32, 24]
    state = BatchState(INSIDE, Falling(), 4, 1.0)
    values = [state.step(batch) for batch in batches]
    found = states(5)
    np.testing.assert_array_equal(found[0].components, INSIDE)
    np.testing.assert_array_equal(found[3].components, state.H)
    assert [p.objective for p in found] == pytest.approx([values[0], *np.reshape(values, (3, 4)).mean(axis=1)])
    assert [p.details["threshold"] for p in found[1:]] == pytest.approx([0.1, 0.1 / 1.1, 0.1 / 1.21])
    assert not np.array_equal(states(6)[3].components, state.H)


def test_batches_end_with_the_sequence_or_the_tolerance() -> None:
    source, rng = source_of(NOISY), np.random.default_rng(0)
    state = BatchState(INSIDE, Listed((0.1, 0.05)), 7, 1.0)
    result = run(batch_stages(source, state, batch_size=50, rng=rng, tol=0.0), max_iter=99, tol=0.0)
    assert (result.n_iter, result.stop.cause) == (2, "thresholds")
    state = BatchState(INSIDE, Falling(), 7, 1.0)
    result = run(batch_stages(source, state, batch_size=50, rng=rng, tol=1e3), max_iter=99, tol=0.0)
    assert result.n_iter == 1
    assert (result.stop.kind, result.stop.measure) == ("converged", "change")


def test_batches_are_the_same_from_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", NOISY)

    def final(source: RowSource) -> np.ndarray:
        state = BatchState(INSIDE, Falling(), 4, 1.0)
        return list(islice(batch_stages(source, state, batch_size=32, rng=np.random.default_rng(1), tol=0.0), 4))[
            -1
        ].components

    expected = final(MemorySource(NOISY, block_rows=50))
    np.testing.assert_array_equal(final(source_of(tmp_path / "X.npy", block_rows=50)), expected)
    lazy = source_of(da.from_array(NOISY, chunks=(50, M)), scheduler="synchronous")
    np.testing.assert_array_equal(final(lazy), expected)
