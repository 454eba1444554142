from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.decomposition import NMF

from partwise.datasets import make_dominant, make_laurberg, make_separable, make_strictly_dominant
from partwise.exceptions import InputError


def test_separable_is_the_papers():
    mixture = make_separable(random_state=0)
    assert mixture.X.shape == (100, 100)
    assert mixture.components.shape == (10, 100)
    np.testing.assert_array_equal(mixture.components[:, mixture.anchors], np.eye(10))
    # columns of B~ are distributions over the k components
    np.testing.assert_allclose(mixture.components.sum(axis=0), 1.0)
    # so anchor features of X are the columns of the weights
    np.testing.assert_allclose(mixture.X[:, mixture.anchors], mixture.weights)
    assert mixture.weights.min() >= 0
    assert mixture.weights.max() <= 1
    assert mixture.weights.mean() == pytest.approx(0.5, abs=0.03)
    assert not np.array_equal(mixture.anchors, np.arange(10))  # permuted


def test_separable_dirichlet_mean_is_its_parameter():
    # one parameter vector for all columns: the means differ between components
    H = make_separable(n_features=5000, n_components=4, random_state=1).components
    means = H.mean(axis=1)
    assert means.sum() == pytest.approx(1.0)
    assert means.max() / means.min() > 1.2


def test_pure_samples():
    H = np.random.default_rng(0).random((3, 7))
    mixture = make_separable(n_samples=50, axis="samples", components=H, random_state=0)
    np.testing.assert_array_equal(mixture.components, H)
    np.testing.assert_allclose(mixture.X[mixture.anchors], H)
    np.testing.assert_allclose(mixture.weights.sum(axis=1), 1.0)
    wide = make_separable(n_samples=20, n_features=3000, n_components=5, axis="samples", random_state=0)
    assert wide.X.shape == (20, 3000)


def test_dominant_is_the_papers():
    mixture = make_dominant(random_state=0)
    assert mixture.X.shape == (100, 100)
    np.testing.assert_allclose(mixture.components.sum(axis=1), 1.0)
    np.testing.assert_allclose(mixture.weights.sum(axis=1), 1.0)
    chosen = np.concatenate(mixture.dominant_features)
    assert [s.size for s in mixture.dominant_features] == [3] * 10
    assert np.unique(chosen).size == 30  # disjoint
    np.testing.assert_array_equal(mixture.labels, mixture.weights.argmax(axis=1))


def test_dominant_features_have_the_asked_share_and_follow_the_permutation():
    shares, others = [], []
    for seed in range(40):
        mixture = make_dominant(n_samples=2, random_state=seed)
        for l, features in enumerate(mixture.dominant_features):
            shares.append(mixture.components[l, features].sum())
            others.append(mixture.components[(l + 1) % 10, features].sum())
    assert np.mean(shares) == pytest.approx(0.1, rel=0.05)
    # features dominant elsewhere have their plain share, about 0.03
    assert np.mean(others) == pytest.approx(0.9 * 3 / 97, rel=0.1)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_laurberg_is_unique(alpha):
    mixture = make_laurberg(alpha)
    truth = mixture.components / np.linalg.norm(mixture.components, axis=1, keepdims=True)
    solved = 0
    for seed in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = NMF(3, init="random", random_state=seed, tol=1e-13, max_iter=20000).fit(mixture.X)
        if model.reconstruction_err_ > 1e-8:
            continue  # a local minimum says nothing
        solved += 1
        found = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
        assert (truth @ found.T).max(axis=1).min() > 1 - 1e-10
    assert solved >= 2


def test_laurberg_is_not_unique_above_a_half():
    mixture = make_laurberg(0.7)
    truth = mixture.components / np.linalg.norm(mixture.components, axis=1, keepdims=True)
    worst = []
    for seed in range(3):
        model = NMF(3, init="random", random_state=seed, tol=1e-10, max_iter=20000).fit(mixture.X)
        assert model.reconstruction_err_ < 1e-5
        found = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
        worst.append((truth @ found.T).max(axis=1).min())
    assert min(worst) < 0.99


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: make_separable(n_components=101), "n_components"),
        (lambda: make_separable(axis="rows"), "axis"),
        (lambda: make_separable(components=np.eye(3)), "components"),
        (lambda: make_separable(axis="samples", n_samples=3, n_components=5), "n_samples"),
        (lambda: make_dominant(n_features=30), "n_features"),
        (lambda: make_dominant(dominant_weight=1.0), "dominant_weight"),
        (lambda: make_dominant(dominant_weight=0.0), "dominant_weight"),
        (lambda: make_dominant(n_dominant=0), "n_dominant"),
        (lambda: make_laurberg(-1), "alpha"),
        (lambda: make_laurberg("x"), "alpha"),
    ],
)
def test_bad_arguments_are_named(call, word):
    with pytest.raises(InputError, match=word):
        call()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"n_components": 3, "rho": 0.05, "dominant_weight": 0.5},
        {"n_components": 4, "n_dominant": 1, "dominant_weight": 1.0, "n_shared": 0, "alpha": 0.7, "pure": 0.3},
    ],
    ids=str,
)
def test_strictly_dominant_data_is_dominant(how: dict) -> None:
    """D1 to D3, entry by entry."""
    data = make_strictly_dominant(n_samples=203, random_state=0, **how)
    k, p0 = how.get("n_components", 2), how.get("dominant_weight", 0.9)
    alpha, rho, pure = how.get("alpha", 0.9), how.get("rho", 0.0), how.get("pure", 0.8)
    H, W = data.components, data.weights
    np.testing.assert_allclose([H.sum(axis=1).min(), H.sum(axis=1).max()], 1.0)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    for l in range(k):
        S, others = data.dominant_features[l], np.delete(np.arange(k), l)
        assert H[l, S].sum() == pytest.approx(p0)
        assert (H[others][:, S] <= rho * H[l, S] + 1e-15).all()
        T = data.labels == l
        assert (W[T, l] >= alpha).all()
        assert (W[T][:, others] <= 1.0 - alpha + 1e-12).all()
        assert T.sum() >= 203 // k
        assert pure * T.sum() <= (W[T, l] == 1.0).sum() < pure * T.sum() + 1


@pytest.mark.parametrize(
    "how",
    [{"dominant_weight": 0.9, "rho": 0.2}, {"n_shared": 0}, {"alpha": 1.5}, {"dominant_weight": 0.0}, {"pure": "all"}],
    ids=str,
)
def test_strictly_dominant_data_that_cannot_be(how: dict) -> None:
    with pytest.raises(InputError):
        make_strictly_dominant(**how)
