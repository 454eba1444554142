"""Parts of non-negative data that came out negative are told, constrained and fitted anew; others are left alone."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms.signs import below_zero, beyond_noise, constrain, cost
from partwise.exceptions import DataNotFoundError, DegenerateDataWarning
from partwise.report.facts import gather
from partwise.report.findings import findings
from partwise.report.naming import Names
from partwise.sources import source_of

RNG = np.random.default_rng(3)
PARTS = RNG.gamma(1.0, size=(3, 40))
WEIGHTS = RNG.dirichlet([0.4] * 3, size=300)
NOISE = 0.02
X = np.maximum(WEIGHTS @ PARTS + NOISE * RNG.standard_normal((300, 40)), 0.0)
NORM = float((X**2).sum())


def wrong() -> np.ndarray:
    """The true parts, but one has much of another taken away."""
    return PARTS - np.outer([0.0, 0.0, 0.9], PARTS[0])


def test_a_negative_part_is_fitted_anew() -> None:
    H = wrong()
    below = beyond_noise(source_of(X), H, noise=NOISE)
    assert below is not None
    np.testing.assert_allclose(below, below_zero(H))
    new = constrain(source_of(X), H, squared_norm=NORM)
    assert new.min() >= 0.0
    angles = [pw.metrics.spectral_angles(parts, PARTS).max() for parts in (H, new)]
    assert angles[1] < 0.5 * angles[0]


def test_the_refit_is_exact_least_squares_for_the_weights_of_the_clipped_parts() -> None:
    new = constrain(source_of(X), wrong(), squared_norm=NORM)
    W = pw.nnls(np.maximum(wrong(), 0.0), X)
    np.testing.assert_allclose(new, pw.nnls(W.T, X.T).T, atol=1e-10)
    errors = [pw.metrics.relative_error(X, pw.nnls(H, X), H) for H in (wrong(), new)]
    more = cost(source_of(X), wrong(), new, squared_norm=NORM)
    assert more == pytest.approx(errors[1] - errors[0], abs=1e-12)


@pytest.mark.parametrize("depth", [0.0, 0.5])
def test_noise_below_zero_is_left_alone(depth: float) -> None:
    """Entries that are truly zero, fitted to noisy data, lie below zero half of the time."""
    H = PARTS.copy()
    H[:, ::3] = 0.0
    W = np.vstack([WEIGHTS] * 2)
    spread = NOISE * np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    Y = np.maximum(W @ H + NOISE * RNG.standard_normal((600, 40)), 0.0)
    H = H + depth * spread[:, None] * RNG.standard_normal(H.shape)
    assert beyond_noise(source_of(Y), H, noise=NOISE) is None


def scene(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth spectra, one of them dark, whose shapes vary from sample to sample: coloured noise."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, 60)
    parts = np.array([1.2 + np.sin(2.0 * np.pi * (f * x + p)) for f, p in ((0.5, 0.0), (0.8, 0.3), (1.1, 0.6))])
    parts[2] *= 0.1
    weights = rng.dirichlet([0.3] * 3, size=800)
    modes = np.array([np.cos(np.pi * j * x) for j in (1, 2, 3)])
    variants = np.exp(0.15 * rng.standard_normal((800, 3, 3)) @ modes)
    return np.einsum("ij,ijm->im", weights, parts * variants), parts


@pytest.mark.parametrize("make", [pw.AND, partial(pw.Facets, floor=0.0)], ids=["AND", "Facets"])
def test_estimators_tell(make: Any, tmp_path: Path) -> None:
    Y, _ = scene(4)
    with pytest.warns(DegenerateDataWarning) as told:
        model = make(3, tol=0.0, random_state=0).fit(Y)
    assert [one.message.kind for one in told] == ["coloured", "negative-part"]
    assert model.components_.min() >= 0.0
    assert model.below_zero_.max() > 1e-2
    assert 0.0 < model.constrained_cost_ < 0.1
    pw.save(model, tmp_path / "model")
    facts = gather(pw.load(tmp_path / "model"), pw.open_source(Y))
    found = dict(findings(facts, Names(None, None), [one.message for one in told]))
    assert set(found) == {"Parts were negative", "Noise is not white"}
    assert found["Parts were negative"].startswith("Part ")


def test_signed_data_keeps_its_signs() -> None:
    data = pw.datasets.make_topics("neg", n_samples=600, n_features=100, n_components=8, random_state=0)
    model = pw.Facets(8, random_state=0).fit(data.X)
    assert model.components_.min() < 0.0
    assert not model.below_zero_.any()
    assert pw.metrics.total_correlation_error(model.components_, data.components) < 1e-8


@pytest.mark.filterwarnings("ignore:Facets")
def test_coloured_noise_raises_the_floor() -> None:
    """The deviation along the span is several times that outside, and thresholds know it."""
    Y, parts = scene(1)
    model = pw.Facets(3, random_state=0).fit(Y)
    assert model.colour_ > 2.0
    np.testing.assert_allclose(model.threshold_floor_, 2.0 * model.weight_noise_)
    known = model.colour_
    narrow = pw.Facets(3, random_state=0, floor=2.0 / known).fit(Y)  # as if it were white
    angles = [float(pw.metrics.spectral_angles(one.components_, parts).mean()) for one in (model, narrow)]
    assert angles[0] < angles[1]


def test_white_noise_has_no_colour() -> None:
    model = pw.Facets(3, random_state=0).fit(X + 1.0)  # far from zero: nothing is clipped
    assert model.colour_ == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("make", [pw.AND, pw.Facets], ids=lambda make: make.__name__)
def test_no_negative_spectrum_of_a_real_scene_without_a_word(make: Any) -> None:
    try:
        image = pw.datasets.load_jasper_ridge()
    except DataNotFoundError as error:
        pytest.skip(str(error))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = make(4, random_state=0, max_iter=30).fit(image.X)
    assert model.components_.min() >= 0.0
    told = " ".join(str(one.message) for one in seen)
    assert ("came out negative" in told) == bool(model.below_zero_.max() > 0.01)
    assert "is not white noise" in told
