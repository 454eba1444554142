"""How far parts can move: against the formula for two parts, Borgen's construction for three, and a proof."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.belief.span import span_of
from partwise.belief.tolerance import Tolerant, scores
from partwise.exceptions import InputError
from partwise.sources import source_of

borgen = pytest.importorskip("benchmarks.borgen")


def mixture(seed: int, k: int, n: int, m: int, concentration: float, noise: float = 0.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    H = rng.dirichlet([0.5] * m, k)
    H[0.2 / m > H] = 0.0
    H /= H.sum(axis=1, keepdims=True)
    W = rng.dirichlet([concentration] * k, n)
    X = W @ H
    return X + noise * np.sqrt((X**2).mean()) * rng.standard_normal(X.shape), W, H


@pytest.mark.parametrize("seed", range(3))
def test_two_parts_as_the_formula_says(seed: int):
    X, W, H = mixture(seed, 2, 60, 12, 1.5)
    bands = pw.feasible_bands(X, H, starts=0)
    for i, j in ((0, 1), (1, 0)):
        # H_i + a (H_j - H_i): the weights of part j stay non-negative up to w_j / w_i = a / (1 - a)
        ratio = (W[:, j] / W[:, i]).min()
        rising = H[j] > H[i]
        ends = [ratio / (1.0 + ratio), -(H[i, rising] / (H[j] - H[i])[rising]).min()]
        values = np.array([H[i] + a * (H[j] - H[i]) for a in ends])
        np.testing.assert_allclose(bands.lower[i], values.min(axis=0), atol=1e-9)
        np.testing.assert_allclose(bands.upper[i], values.max(axis=0), atol=1e-9)


@pytest.mark.parametrize("seed", [103, 108, 112])
def test_three_parts_as_borgens_construction_says(seed: int):
    X, W, H = mixture(seed, 3, 80, 8, 1.5)
    region = borgen.Regions(W, H, points=100)
    lower, upper, separate = region.extremes(np.eye(3))
    assert separate
    bands = pw.feasible_bands(X, H, starts=0)
    height = np.maximum(H.max(axis=0), 1e-3)
    assert bands.done == 1.0
    short = np.concatenate([(bands.lower - lower) / height, (upper - bands.upper) / height])
    assert short.max() < 1e-3


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.45])
def test_laurbergs_family_is_proved_rigid(alpha: float):
    data = pw.datasets.make_laurberg(alpha)
    bands = pw.feasible_bands(data.X, data.components, starts=2)
    assert bands.verdict == "rigid"
    assert bands.bound < 1e-5
    assert len(bands.others) == 0
    assert "proved rigid" in str(bands)
    assert "locally" in str(bands)


def test_another_solution_is_found_where_there_is_one():
    data = pw.datasets.make_laurberg(0.8)
    bands = pw.feasible_bands(data.X, data.components, starts=2)
    assert bands.verdict == "moves"
    assert len(bands.others) >= 1
    assert np.isnan(bands.bound)  # what moves is not called rigid, though no path leads there
    assert "other solution" in str(bands)


def test_alternatives_are_factorizations():
    X, W, H = mixture(5, 4, 100, 8, 1.5)
    bands = pw.feasible_bands(X, 3.0 * H, starts=0, seconds=30)
    assert bands.verdict == "moves"
    for i in range(4):
        other = bands.alternative(i)
        weights = pw.nnls(other, X)
        assert np.abs(X - weights @ other).max() < 1e-8
        assert other.min() > -1e-8
        moved = np.abs(other[i] - bands.parts[i]).sum() / (2.0 * bands.parts[i].sum())
        assert moved == pytest.approx(bands.shift[i])
        assert (bands.lower <= other + 1e-12).all()
        assert (other <= bands.upper + 1e-12).all()
    np.testing.assert_allclose(bands.parts, 3.0 * H, atol=1e-9)
    share = W.sum(axis=0) / W.sum()
    np.testing.assert_allclose(bands.share[:, 0], share, atol=1e-9)
    assert (bands.share[:, 1] <= share + 1e-12).all()
    assert (share <= bands.share[:, 2] + 1e-12).all()


def test_parts_by_themselves_where_they_are_many():
    X, _, H = mixture(6, 12, 200, 40, 3.0)
    bands = pw.feasible_bands(X, H, seconds=120)
    assert not bands.whole
    assert bands.shift.max() > 1e-3
    T = bands.mixings[0]
    assert (T[1:] == np.eye(12)[1:]).all() or np.count_nonzero((np.eye(12) != T).any(axis=1)) == 1
    assert "by itself" in str(bands)


def test_negatives_of_zeros_seen_through_noise_have_squares_of_one():
    y = np.random.default_rng(0).standard_normal((200_000, 3)) + [0.0, 0.5, 2.0]
    v = np.random.default_rng(1).gamma(1.0, size=(200_000, 2))  # whatever the samples count
    v[:, 0] = 1.0
    score = scores(y, v)[0]
    assert (abs(score[:, 0]) < 4.0).all()
    assert (score[:, 1:] < -10.0).all()  # positive weights have smaller ones
    assert (scores(y[:, :1] - 0.2, v)[0] > 10.0).all()  # and a wrong part larger ones


def test_what_a_part_takes_from_another_shows_where_that_is():
    rng = np.random.default_rng(0)
    y, v = rng.standard_normal((4000, 1)), np.c_[np.ones(4000), rng.random(4000) < 0.05]
    wrong = scores(y - 0.7 * v[:, 1:], v)[0][:, 0] - scores(y, v)[0][:, 0]
    assert wrong[1] > 3.0 * wrong[0]


@pytest.mark.parametrize("kind", ["white", "counts"])
def test_slopes_of_the_scores(kind: str):
    X, _, H = mixture(7, 3, 80, 20, 0.5, 0.1)
    if kind == "counts":
        X = np.random.default_rng(0).poisson(np.maximum(X, 0.0) * 200.0).astype(float)
    span = span_of(source_of(X), H, None, np.random.default_rng(0))
    tolerant = Tolerant(span)
    T = np.eye(3) + 0.05 * np.random.default_rng(1).standard_normal((3, 3))
    assert tolerant._missed(T)[0] > 1.0
    slope = tolerant._missed(T)[1]
    for a in range(3):
        for b in range(3):
            step = np.zeros((3, 3))
            step[a, b] = 1e-6
            up, down = tolerant._missed(T + step)[0], tolerant._missed(T - step)[0]
            assert (up - down) / 2e-6 == pytest.approx(slope[a, b], rel=1e-4, abs=1e-3)


def test_noise_is_measured():
    X, _, H = mixture(8, 3, 400, 40, 0.5, 0.1)
    white = pw.feasible_bands(X, H, starts=0, seconds=0)
    assert np.sqrt(white.noise[0]) == pytest.approx(0.1 * np.sqrt((X**2).mean()), rel=0.1)
    counts = np.random.default_rng(0).poisson(np.maximum(X, 0.0) * 500.0).astype(float)
    assert pw.feasible_bands(counts, H, starts=0, seconds=0).noise[1] == pytest.approx(1.0, rel=0.35)


def test_the_truth_is_within_the_bands():
    inside = []
    for seed in range(3):
        X, _, H = mixture(seed, 3, 300, 30, 0.4, 0.05)
        fit = pw.ANLS(3, random_state=0).fit(np.maximum(X, 0.0))
        bands = pw.feasible_bands(X, fit, starts=0)
        lower, upper = bands.interval(0.99)
        truth = pw.metrics.match_components(H, bands.parts).aligned(H)
        truth *= bands.parts.sum(axis=1, keepdims=True) / truth.sum(axis=1, keepdims=True)
        inside.append(((lower - 1e-9 <= truth) & (truth <= upper + 1e-9)).mean())
        assert bands.verdict == "moves"
        assert (bands.error > 0.0).all()
    assert np.mean(inside) > 0.95


def test_a_part_that_is_negative_does_not_fit():
    X, _, H = mixture(9, 3, 300, 30, 0.4, 0.05)
    wrong = H.copy()
    wrong[0] = 2.0 * H[0] - 1.0 * H[1]
    bands = pw.feasible_bands(X, wrong, starts=0, seconds=0)
    assert bands.misfit > 4.0
    exact = pw.feasible_bands(np.maximum(X, 0.0), H, noise=0.0, starts=0, seconds=0)
    assert exact.verdict == "misfit"
    assert "does not fit" in str(exact)


def test_interrupted_leaves_what_was_found():
    X, _, H = mixture(5, 4, 100, 15, 1.5)

    def stop(done: float) -> None:
        if done > 0.1:
            raise KeyboardInterrupt

    bands = pw.feasible_bands(X, H, starts=0, progress=stop)
    assert bands.stop.kind == "interrupted"
    assert 0.1 < bands.done < 0.2
    assert bands.shift.max() > 0.0
    assert "interrupted" in str(bands)


def test_out_of_time():
    X, _, H = mixture(5, 4, 100, 15, 1.5)
    bands = pw.feasible_bands(X, H, starts=0, seconds=0)
    assert bands.stop.kind == "time"
    assert bands.done < 0.1


def test_any_source():
    X, _, H = mixture(2, 3, 60, 5, 1.5)
    X = np.where(X < 1e-12, 0.0, X)
    scales = SimpleNamespace(row_scale=np.linspace(1.0, 2.0, 60), column_scale=np.linspace(1.0, 3.0, 5))
    dense, other = (pw.feasible_bands(x, H, starts=0) for x in (X, sp.csr_array(X)))
    np.testing.assert_allclose(other.upper, dense.upper, atol=1e-7)
    scaled = pw.feasible_bands(source_of(X, block_rows=17), H, noise=scales, starts=0)
    np.testing.assert_allclose(scaled.upper, dense.upper, atol=1e-6)  # without noise scales change nothing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -1.0}, "noise must be None, a deviation"),
        ({"noise": "poisson"}, "noise must be None, a deviation"),
        ({"noise": object()}, "row_scale and column_scale"),
        ({"noise": SimpleNamespace(row_scale=np.ones(3), column_scale=None)}, "row_scale must be 60 positive"),
        ({"starts": -1}, "starts must not be negative"),
        ({"starts": [np.ones((3, 12))]}, "starts has a fit of 3 parts"),
        ({"seconds": -1.0}, "seconds must be"),
        ({"model": np.ones((2, 5))}, "model has 5 features"),
        ({"model": np.ones((2, 12))}, "do not span 2 dimensions"),
        ({"model": np.r_[np.ones((1, 12)), np.zeros((1, 12))]}, "Part 2 sum to 0"),
        ({"model": pw.HALS(2)}, "fit it first"),
    ],
)
def test_refused_by_name(options: dict[str, Any], message: str):
    X, _, H = mixture(0, 2, 60, 12, 1.5)
    with pytest.raises(InputError, match=message):
        pw.feasible_bands(X, **({"model": H} | options))


def test_level_is_a_chance():
    X, _, H = mixture(0, 2, 60, 12, 1.5)
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        pw.feasible_bands(X, H, starts=0, seconds=0).interval(95)


@pytest.mark.filterwarnings("ignore")
def test_starts_outside_the_span_of_the_parts_are_left_out():
    """Fits of other samples may find parts that have nothing in common with those of the model."""
    X = np.eye(30, 6)
    found = pw.feasible_bands(X, pw.HALS(2, max_iter=20, random_state=0).fit(X))
    assert np.isfinite(found.lower).all()
    assert np.isfinite(found.upper).all()


@pytest.mark.parametrize("i", [0, 1, 2])
def test_one_part_alone_goes_as_far_as_a_grid_finds(i: int):
    X, _, H = mixture(8, 3, 120, 15, 0.8, noise=0.05)
    span = span_of(source_of(X), H, None, np.random.default_rng(0))
    noise = Tolerant(span)
    start = noise.base()
    others = [j for j in range(3) if j != i]
    steps = np.linspace(-0.15, 0.15, 41)
    grid = []
    for r in np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2):
        T = start.copy()
        T[i] = (start[i] + r @ start[others]) / (1.0 + r.sum())
        if noise.violation(T) <= 0.0:
            grid.append(T[i])
    assert len(grid) > 3
    for direction in np.vstack([span.shapes[:, :4].T, -span.shapes[:, :4].T]):
        found = noise.alone(i, direction)
        assert noise.violation(found) <= 2e-3
        assert found[i] @ direction >= np.max(np.array(grid) @ direction) - 1e-4 * np.abs(direction).max()
