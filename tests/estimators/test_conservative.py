"""ConservativeNMF: batches and streams, the two decoders, and what it says of itself."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import partwise as pw
from partwise.exceptions import DegenerateDataWarning, InputError

MIXTURE = pw.datasets.make_digit_mixtures(n_samples=600, n_components=8, per_sample=3, random_state=0)
X = MIXTURE.X[:, MIXTURE.X.any(axis=0)]
TRUTH = MIXTURE.components[:, MIXTURE.X.any(axis=0)]


def make(**options: Any) -> pw.ConservativeNMF:
    return pw.ConservativeNMF(**{"n_components": 8, "w": 0.3, "cg_steps": 5, "random_state": 0, **options})


def test_recovers_and_tells() -> None:
    model = make(max_passes=30, batch_size=1000).fit(X, truth=TRUTH)
    assert pw.metrics.match_components(model.components_, TRUTH).cosines.min() > 0.99
    assert model.detectors_.shape == model.components_.shape == (8, X.shape[1])
    assert (model.components_ >= 0).all()
    assert (model.detectors_ < 0).any()
    assert (model.n_samples_seen_, model.n_skipped_, model.n_iter_) == (18000, 0, 18)
    history = model.history_
    assert history["samples"].tolist() == list(range(0, 18001, 1000))
    assert history["objective"][-1] == model.error_ < 0.1 * history["objective"][1]
    assert history["error"][-1] == pw.metrics.total_correlation_error(model.components_, TRUTH)
    assert (model.converged_, model.stop_reason_) == (False, "30 passes done")


def test_step_9_as_printed_by_name() -> None:
    """The ten lines of the summary in their printed order, from the encoder that the seed draws."""
    E, D, w = np.random.default_rng(0).uniform(-1, 1, (8, X.shape[1])), np.zeros((X.shape[1], 8)), 0.3
    for x in X[:40] / np.linalg.norm(X[:40], axis=1, keepdims=True):
        y0 = E @ x
        y1 = np.maximum(0.0, y0)
        E = E + np.outer(y1 - y0, x)
        delta = x - D @ y1
        eta = delta / (np.sum((D.T @ delta) ** 2) / (delta @ delta) + w * (y1 @ y1))
        D = D + w * np.outer(eta, y1)
        xi = D.T @ eta
        E = E + np.outer(xi, x)
        D = np.maximum(0.0, D)
    model = make(cg_steps=1, printed_order=True, max_passes=1).fit(X[:40])
    np.testing.assert_allclose(model.components_, D.T, rtol=0, atol=1e-9 * np.abs(D).max())
    np.testing.assert_allclose(model.detectors_, E, rtol=0, atol=1e-9 * np.abs(E).max())
    other = make(cg_steps=1, max_passes=1).fit(X[:40])
    assert np.abs(other.detectors_ - E).max() > 0.01


def test_encoder_becomes_an_inverse_and_stays_random_outside_the_data() -> None:
    """The document: E is some pseudo-inverse of D, and random where the data has no component."""
    model = make(max_passes=60).fit(X)
    E, D = model.detectors_, model.components_.T
    assert np.linalg.norm(E @ D - np.eye(8)) < 0.1 * np.sqrt(8)
    start = np.random.default_rng(0).uniform(-1, 1, E.shape)
    outside = np.eye(X.shape[1]) - np.linalg.pinv(X) @ X
    # every update is a multiple of a sample: some 36,000 of them, each rounded
    np.testing.assert_allclose(E @ outside, start @ outside, atol=1e-10)
    assert np.linalg.norm(E - np.linalg.pinv(D)) > 1.0  # none of the nice ones


def test_tolerance_stops() -> None:
    model = make(max_passes=1000, batch_size=600, tol=0.05).fit(X)
    assert model.converged_
    assert model.error_ <= 0.05
    assert model.stop_reason_.startswith("average error")


def test_encoder_and_least_squares() -> None:
    model = make(max_passes=20).fit(X)
    codes = model.encode(X)
    D = model.detectors_
    # in whatever order its m terms are added, a product is off by m u |x| |d| at most, and so two differ by twice that
    rounding = 2 * X.shape[1] * 2.0**-53 * (np.abs(X) @ np.abs(D).T)
    assert (np.abs(codes - np.maximum(0.0, X @ D.T)) <= rounding).all()
    np.testing.assert_array_equal(model.set_params(decoder="encoder").transform(X), codes)
    assert (np.abs(codes - model.encode(sp.csr_array(X))) <= rounding).all()
    exact = model.set_params(decoder="nnls").transform(X)
    np.testing.assert_allclose(exact, pw.nnls(model.components_, X), atol=1e-9)
    H = model.components_
    assert pw.metrics.relative_error(X, exact, H) <= pw.metrics.relative_error(X, codes, H)
    fitted = make(max_passes=20, decoder="encoder")
    np.testing.assert_array_equal(fitted.fit_transform(X), codes)
    assert fitted.reconstruction_error_ == pytest.approx(pw.metrics.relative_error(X, codes, H))


STREAMS = {
    "whole": lambda X: [X],
    "samples": lambda X: list(X),
    "lists": lambda X: [row.tolist() for row in X],
    "batches": lambda X: [X[:1], X[1:300], X[300:]],
    "csr": lambda X: [sp.csr_array(X[:250]), sp.csr_array(X[250:])],
    "source": lambda X: [pw.open_source(X, block_rows=41)],
    "iterator": lambda X: [iter(X)],
    "iterator-of-batches": lambda X: [iter([X[:100], X[100:]])],
}


@pytest.mark.parametrize("form", STREAMS)
def test_partial_fit_is_a_pass(form: str) -> None:
    model, whole = make(), make(max_passes=1).fit(X)
    for item in STREAMS[form](X):
        model.partial_fit(item)
    np.testing.assert_array_equal(model.components_, whole.components_)
    np.testing.assert_array_equal(model.detectors_, whole.detectors_)
    assert (model.n_samples_seen_, model.error_) == (whole.n_samples_seen_, whole.error_)


def test_goes_on_after_fit_and_after_pickling() -> None:
    model = make(max_passes=1).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    whole = make(max_passes=2).fit(X)
    for other in (model, copy):
        np.testing.assert_array_equal(other.partial_fit(X).components_, whole.components_)
    with pytest.raises(AttributeError):
        _ = clone(model).components_


def test_an_endless_stream_ends_with_ctrl_c_and_keeps_what_it_learnt() -> None:
    def endless() -> Any:
        for number, x in enumerate(itertools.cycle(X)):
            if number == 700:
                raise KeyboardInterrupt
            yield x

    model = make()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(endless())
    assert model.n_samples_seen_ == 700
    other = make().partial_fit(X).partial_fit(X[:100])
    np.testing.assert_array_equal(model.components_, other.components_)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full((2, X.shape[1]), np.nan), r"X contains .* NaN"),
        (-X[:2], "Negative values"),
        (X[:2, :5], "features"),
        ("nowhere", "no file"),
    ],
    ids=["nan", "negative", "narrow", "path"],
)
def test_a_bad_batch_changes_nothing(bad: Any, message: str) -> None:
    model = make().partial_fit(X)
    before = model.components_.copy()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(bad)
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_samples_seen_ == 600
    np.testing.assert_array_equal(model.partial_fit(X).components_, make(max_passes=2).fit(X).components_)


def test_a_first_batch_that_fails_leaves_nothing() -> None:
    model = make()
    with pytest.raises(InputError):
        model.partial_fit(np.full((2, 3), np.nan))
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(X)


def test_zero_samples_are_passed_over() -> None:
    rows = X.copy()
    rows[::3] = 0.0
    with pytest.warns(DegenerateDataWarning, match="200 all-zero row"):
        model = make(max_passes=1).fit(rows)
    assert model.n_skipped_ == 200
    other = make().partial_fit(np.delete(rows, np.arange(0, 600, 3), axis=0))
    np.testing.assert_array_equal(model.components_, other.components_)


def test_parameters_may_change_on_a_stream() -> None:
    model = make(cg_steps=1, w=1.0).partial_fit(X[:300]).set_params(w=0.1).partial_fit(X[300:])
    assert not np.array_equal(model.components_, make(cg_steps=1, w=1.0).partial_fit(X).components_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_stays(dtype: Any) -> None:
    model = make(max_passes=3).fit(X.astype(dtype))
    assert model.components_.dtype == model.detectors_.dtype == model.encode(X.astype(dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("w", 0.0),
        ("w", "one"),
        ("w", (1.0, -2.0)),
        ("relaxation", 1.5),
        ("relaxation", (2.0, 10.0)),
        ("cg_steps", 0),
        ("decoder", "pinv"),
        ("max_passes", 0),
        ("batch_size", 0),
        ("tol", -1.0),
        ("nonnegative", "yes"),
        ("n_components", 600),
    ],
    ids=str,
)
def test_bad_parameters(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        make(**{name: value}).fit(X)
