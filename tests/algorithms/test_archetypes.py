"""Trimmed archetypes: the feasible means against enumeration, steps that never raise, parts that come back."""

from __future__ import annotations

import warnings
from itertools import combinations, permutations

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms import archetypes as module
from partwise.algorithms import directions as looking
from partwise.algorithms import minvol as minimum
from partwise.algorithms.archetypes import (
    Minimum,
    Point,
    extreme,
    nearest,
    ordering,
    search,
    shares,
)
from partwise.algorithms.directions import Directions, find_directions
from partwise.algorithms.pureness import variation
from partwise.exceptions import DataNotFoundError
from partwise.sources import source_of

K = 4


def scene(seed: int = 0, n: int = 600, variability: float = 0.1, odd: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures whose parts differ a little in shape from sample to sample, and their parts."""
    rng = np.random.default_rng(seed)
    parts = rng.gamma(1.0, size=(K, 40))
    W = rng.dirichlet([0.2] * K, size=n)
    modes = rng.standard_normal((K, 3, 40))
    amounts = variability * rng.standard_normal((n, K, 3))
    X = np.einsum("ij,jm,ijm->im", W, parts, np.exp(np.einsum("ijt,jtm->ijm", amounts, modes)))
    X[:odd] = rng.gamma(1.0, size=(odd, 40))
    return X, parts


def directions(X: np.ndarray) -> Directions:
    return find_directions(source_of(X), K, np.random.default_rng(0))


def test_farthest_mean_is_that_of_all_subsets():
    rng = np.random.default_rng(0)
    points, direction = rng.standard_normal((9, 3)), rng.standard_normal(3)
    best = max(float(points[list(some)].mean(axis=0) @ direction) for some in combinations(range(9), 4))
    assert extreme(points, direction, 4) @ direction == pytest.approx(best, rel=1e-14)
    np.testing.assert_allclose(extreme(points, direction, 20), points.mean(axis=0))


def test_nearest_mean_solves_its_quadratic_program():
    """At the point of a convex set next to a target no feasible mean lies beyond the plane through it."""
    rng = np.random.default_rng(1)
    points, target = rng.standard_normal((60, 5)), 3.0 * rng.standard_normal(5)
    E, atoms = nearest(points, target, 6, extreme(points, target, 6)[None], 200)
    d = target - E
    means = [points[list(rng.choice(60, 6, replace=False))].mean(axis=0) for _ in range(500)]
    assert max((mean - E) @ d for mean in [*means, extreme(points, d, 6)]) <= 2e-4 * (d @ d)
    assert len(atoms) <= 6  # Caratheodory, in five dimensions


def test_directions_have_unit_length_whatever_the_size():
    X, _ = scene()
    X = X * np.random.default_rng(1).permutation(np.geomspace(0.2, 20.0, len(X)))[:, None]
    np.testing.assert_allclose(np.linalg.norm(directions(X).points, axis=1), 1.0, rtol=1e-9)


def test_samples_of_nothing_but_noise_are_not_drawn_out():
    X, _ = scene()
    rng = np.random.default_rng(2)
    X = np.abs(X + 0.01 * rng.standard_normal(X.shape))
    X[:50] = 1e-4 * rng.random((50, 40))
    assert np.linalg.norm(directions(X).points[:50], axis=1).max() < 0.1


def test_steps_never_raise_the_objective_and_end_at_a_stationary_point():
    X, _ = scene(variability=0.2)
    model = pw.Archetypes(K, starts=4, tol=1e-5, max_iter=500, random_state=0).fit(X)
    assert np.diff(model.history_["objective"]).max() <= 1e-15
    assert model.converged_
    assert model.residual_ <= 1e-5
    assert "relative gap" in model.stop_reason_


def test_a_descent_that_stands_says_so():
    X, _ = scene(variability=0.0)
    model = pw.Archetypes(K, starts=4, tol=0.0, max_iter=2000, random_state=0).fit(X)
    assert model.stop_.kind == "stalled"
    assert model.stop_reason_.endswith("has stopped falling")


def test_gap_bounds_what_any_feasible_change_gains():
    """f is convex in a part, so the gap is above the gain of moving parts to feasible means, one by one or together."""
    X, _ = scene(variability=0.3)
    data = directions(X)
    found = search(data, K, trim=0.1, starts=2, rng=np.random.default_rng(0)).best
    counts = module.counts_of(found.weights, 0.1)
    now, rounded = Point.of(data, found.parts, found.weights), 1e-3
    gap = now.gap(data, counts, rounded) * now.objective(rounded)
    rng = np.random.default_rng(1)
    for _ in range(100):
        E = np.array([extreme(data.points, rng.standard_normal(data.points.shape[1]), count) for count in counts])
        share = rng.random()
        other = Point.of(data, (1 - share) * found.parts + share * E, found.weights)
        assert now.objective(rounded) - other.objective(rounded) <= gap + 1e-12


@pytest.mark.filterwarnings("ignore:.*unlike all others")
def test_parts_come_back_though_they_vary_and_some_samples_are_odd():
    for seed in range(3):
        X, parts = scene(seed, odd=12)
        model = pw.Archetypes(K, random_state=seed).fit(X)
        assert set(model.odd_samples_) <= set(range(12))
        assert pw.metrics.spectral_angles(model.components_, parts).max() < 3.0
        assert (model.components_ >= 0.0).all()


def test_size_of_samples_and_features_left_out_do_not_matter():
    X, _ = scene()
    sizes = np.random.default_rng(0).uniform(0.5, 2.0, len(X))[:, None]
    one, other = (pw.Archetypes(K, random_state=0).fit(x).components_ for x in (X, X * sizes))
    assert pw.metrics.spectral_angles(one, other).max() < 0.5


def test_says_how_sure_it_is():
    X, _ = scene()
    model = pw.Archetypes(K, random_state=0).fit(X)
    assert model.mass_.sum() == pytest.approx(1.0)
    assert model.rival_ > 0.0
    rng = np.random.default_rng(0)
    W = 0.15 + rng.dirichlet([0.5] * K, size=600)  # no sample is pure
    mixed = pw.Archetypes(K, random_state=0).fit(W @ rng.gamma(1.0, size=(K, 40)))
    assert np.median(mixed.moved_) > 2.0 * np.median(model.moved_)


def test_many_samples_are_looked_at_in_part(monkeypatch: pytest.MonkeyPatch):
    X, parts = scene(n=3000)
    monkeypatch.setattr(looking, "SAMPLES", 1000)
    monkeypatch.setattr(looking, "SKETCH", 300)
    model = pw.Archetypes(K, random_state=0).fit(X)
    assert pw.metrics.spectral_angles(model.components_, parts).max() < 4.0


def test_shares_sum_to_one():
    np.testing.assert_allclose(shares(np.array([[1.0, 3.0], [2.0, 0.0], [0.0, 0.0]])), [1.25 / 3, 0.75 / 3])


def spectra(shape, purity=0.8, concentration=0.5, n=1500, seed=0):
    """Smooth spectra, weights up to a purity, shapes that vary from sample to sample."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, 80)
    places = (0.15, 0.4, 0.65, 0.9)
    parts = np.array([0.3 + np.exp(-0.5 * ((x - place) / 0.12) ** 2) for place in places])
    W = rng.dirichlet([concentration] * 4, size=20 * n)
    W = W[W.max(axis=1) <= purity][:n]
    modes = np.cos(np.pi * np.outer([1, 2, 3], x))
    variants = np.exp(shape * rng.standard_normal((n, 4, 3)) @ modes)
    X = np.einsum("ij,ijm->im", W, parts * variants)
    return X + 0.01 * rng.random(X.shape), parts


@pytest.mark.parametrize("shape", [0.0, 0.05])
def test_where_no_sample_is_pure_the_smallest_simplex_is_taken(shape):
    X, parts = spectra(shape)
    model = pw.Archetypes(4, starts=8, random_state=0).fit(X)
    assert model.refined_
    assert np.median(model.moved_) > 0.03
    assert pw.metrics.spectral_angles(model.components_, parts).mean() < 3.0
    assert model.components_.min() >= 0.0
    again = pw.Archetypes(4, starts=8, random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_, again.components_)


def test_that_hardly_any_part_moves_says_nothing():
    """Where mixtures end at a purity, as wide means as narrow ones lie at that end."""
    mixed = {"abundances": "dirichlet", "concentration": 0.5, "purity": 0.7, "snr": 35.0}
    made = pw.datasets.make_scene(n_samples=1000, n_features=60, n_components=3, random_state=2, **mixed)
    model = pw.Archetypes(3, starts=8, random_state=0).fit(made.X)
    assert np.median(model.moved_) < 0.03
    assert model.refined_
    assert pw.metrics.spectral_angles(model.components_, made.components).mean() < 2.0


def test_with_pure_samples_it_is_not():
    X, parts = spectra(0.05, purity=1.0, concentration=0.1)
    model = pw.Archetypes(4, starts=8, random_state=0).fit(X)
    assert not model.refined_
    assert pw.metrics.spectral_angles(model.components_, parts).mean() < 3.0


def test_no_simplex_is_sought_where_the_span_itself_is_no_nearer(monkeypatch: pytest.MonkeyPatch):
    def fail(*args: object, **options: object) -> None:
        raise AssertionError("it cannot pay")

    made = pw.datasets.make_scene(n_samples=1000, n_features=60, n_components=3, snr=40.0, random_state=0)
    monkeypatch.setattr(minimum, "minvol", fail)
    assert not pw.Archetypes(3, starts=4, random_state=0).fit(made.X).refined_


def test_jasper_ridge_from_a_cold_start():
    try:
        image = pw.datasets.load_jasper_ridge()
    except DataNotFoundError as error:
        pytest.skip(str(error))
    for seed in range(2):
        found = pw.Archetypes(4, random_state=seed).fit(image.X).components_
        assert pw.metrics.spectral_angles(found, image.components).mean() < 4.0


@pytest.mark.parametrize("seed", [0, 2, 6])
def test_tissues_mixed_by_design_come_back_from_every_start(seed: int):
    # 42 arrays: whether parts vary cannot be told of so few, whatever the start
    try:
        data = pw.datasets.load_shen_orr()
    except DataNotFoundError as error:
        pytest.skip(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pw.Archetypes(3, random_state=seed).fit(data.X)
        found = np.asarray(model.proportions(data.X))
    truth = data.weights / data.weights.sum(axis=1, keepdims=True)
    assert model.refined_
    assert min(np.abs(found[:, list(order)] - truth).mean() for order in permutations(range(3))) < 0.04


PURE, MIXED = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.5], [0.6, 0.4]])


def test_of_minima_that_are_as_good_the_purest_is_taken():
    def of(objective: float, weights: np.ndarray) -> Minimum:
        return Minimum(np.eye(2), weights, objective)

    near, far = 1.0 + 0.9 * module.TOSS, 1.0 + 1.6 * module.TOSS  # objectives are rounded to four digits
    assert ordering([of(1.0, MIXED), of(near, PURE)]) == [1, 0]
    assert ordering([of(1.0, MIXED), of(far, PURE)]) == [0, 1]
    assert ordering([of(far, PURE), of(near, MIXED), of(1.0, PURE)]) == [2, 1, 0]
    assert ordering([of(1.0 + 1e-9 * i, PURE) for i in (2, 0, 1)]) == [0, 1, 2], "rounding does not choose"


def test_a_far_purer_minimum_is_taken_though_it_fits_worse():
    """Halves of a part that varies fit better than a rare part, and make mixtures of many samples."""
    mixed, pure = (np.column_stack([np.full(10, share), np.full(10, 1.0 - share)]) for share in (0.7, 0.9))
    of = {
        name: [Minimum(np.eye(2), w, 0.05 * f) for w, f in pairs]
        for name, pairs in {"far": [(mixed, 1.0), (pure, 1.1)], "too much worse": [(mixed, 1.0), (pure, 2.0)]}.items()
    }
    assert ordering(of["far"]) == [1, 0]
    assert ordering(of["too much worse"]) == [0, 1]
    assert ordering([Minimum(np.eye(2), mixed, 0.0), Minimum(np.eye(2), np.eye(2), 0.0)]) == [1, 0]


def test_a_rare_material_is_not_lost_for_halves_of_a_frequent_one():
    rng = np.random.default_rng([1202, *b"shapes, rare"])
    made = pw.datasets.make_scene(scale=0.3, shape=0.04, snr=35.0, rare=0.02, random_state=rng)
    model = pw.Archetypes(4, random_state=0).fit(made.X)
    assert model.rival_ == 0.0  # the halves fit better
    assert pw.metrics.spectral_angles(model.components_, made.components).mean() < 3.0


def test_purity_counts_lengths():
    assert Minimum(np.eye(2), MIXED, 1.0).purity == pytest.approx(0.55)
    assert Minimum(np.diag([1.0, 3.0]), MIXED, 1.0).purity == pytest.approx((0.75 + 1.2 / 1.8) / 2)


def test_parts_are_equally_long():
    rng = np.random.default_rng(0)
    parts = rng.gamma(0.3, size=(3, 30)) * np.array([[1.0], [10.0], [100.0]])
    X = rng.dirichlet([0.1] * 3, size=300) @ parts
    H = pw.Archetypes(3, starts=4, random_state=0).fit(X).components_
    lengths = np.linalg.norm(H, axis=1)
    # entries below zero, which the leading dimensions leave of rounding, are cut
    np.testing.assert_allclose(lengths, np.linalg.norm(X, axis=1).mean(), rtol=1e-2)


def varied(pure: bool, shapes: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mixtures of parts that vary, without that, and the parts."""
    rng = np.random.default_rng(0)
    parts, modes = rng.gamma(1.0, size=(K, 40)), rng.standard_normal((K, 40))
    W = rng.dirichlet([0.5] * K, size=2000)
    if pure:
        W[:800] = np.eye(K)[rng.integers(K, size=800)]
    else:
        W = 0.6 * W + 0.4 * rng.dirichlet([1.0] * K, size=2000)
    return (
        np.einsum("ij,ijm->im", W, parts * np.exp(shapes * rng.standard_normal((2000, K, 1)) * modes)),
        W @ parts,
        parts,
    )


@pytest.mark.parametrize("pure", [True, False])
def test_what_varies_inside_and_outside_at_once_is_the_parts_own(pure: bool):
    X, mixed, parts = varied(pure, 0.1)
    data = directions(X)
    E = parts @ data.basis.T
    found = variation(data, E, module.decoded(data, E).weights, 0.1)
    basis = np.linalg.qr(parts.T)[0].T
    away, told = (X - mixed) @ basis.T, found.along(X, basis)  # inside the span, and what of it is told
    U = X @ basis.T / np.linalg.norm(X @ basis.T, axis=1)[:, None]
    away, told = (D - (D * U).sum(axis=1)[:, None] * U for D in (away, told))  # but for sizes, which are not asked
    assert np.square(away - told).sum() < (0.1 if pure else 0.8) * np.square(away).sum()


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_where_nothing_varies_no_variation_is_found(noise: float):
    X = varied(False, 0.0)[0]
    X = X + noise * np.random.default_rng(1).standard_normal(X.shape)
    data = directions(X)
    E = search(data, K, trim=0.1, starts=2, rng=np.random.default_rng(0)).best
    found = variation(data, E.parts, E.weights, 0.1).along(X, data.basis)
    assert np.square(found).sum() < 2e-4 * np.square(X).sum()


def test_parts_of_a_handful_of_samples_have_no_variation_to_tell():
    data = directions(scene(n=60)[0])
    E = search(data, K, trim=0.1, starts=2, rng=np.random.default_rng(0)).best
    assert not variation(data, E.parts, E.weights, 0.1).told


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_parts_that_vary_are_found_where_no_sample_is_pure(seed: int):
    mixed = {"abundances": "dirichlet", "concentration": 0.5, "purity": 0.8}
    made = pw.datasets.make_scene(scale=0.2, shape=0.06, snr=35.0, **mixed, random_state=seed)
    model = pw.Archetypes(4, random_state=0).fit(made.X)
    assert model.refined_
    # what parts vary by is in the smallest simplex else: 3.3, 4.1 (not refined), 2.9
    assert pw.metrics.spectral_angles(model.components_, made.components).mean() < 2.6


def test_samples_like_none_of_the_parts_are_counted():
    X, _ = scene(variability=0.02, odd=30)
    model = pw.Archetypes(K, random_state=0).fit(X)
    assert 0.04 < model.unlike_ < 0.06  # 30 of 600
    assert pw.Archetypes(K, random_state=0).fit(X[30:]).unlike_ < 0.01


@pytest.mark.parametrize("noise", [0.0, 1e-4, 5e-3])
def test_samples_that_are_purer_than_the_parts_are_like_them(noise: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.dirichlet([1.0, 1.0, 1.0], size=400) @ rng.random((3, 30))
    X = np.abs(X + noise * rng.standard_normal(X.shape))
    assert pw.Archetypes(3, max_iter=20, tol=1.0, random_state=0).fit(X).unlike_ == 0.0


def test_a_start_that_no_step_moves_has_converged() -> None:
    """Among pure samples the search ends at the minimum: a gap of rounding was called "not converged"."""
    rng = np.random.default_rng(0)
    axis = np.linspace(400.0, 700.0, 60)
    spectra = np.exp(-(((axis - np.array([[450.0], [550.0], [640.0]])) / 40.0) ** 2))
    X = np.maximum(rng.dirichlet([0.3] * 3, 200) @ spectra + 0.002 * rng.standard_normal((200, 60)), 0.0)
    model = pw.Archetypes(3, random_state=0).fit(X)
    assert model.n_iter_ == 0  # else this shows nothing
    assert model.stop_.value < 1e-9
    assert model.converged_
    exact = pw.Archetypes(3, random_state=0, tol=0.0).fit(X)  # nothing is told that was not asked
    assert exact.stop_.kind == ("converged" if exact.stop_.value == 0.0 else "stalled")
