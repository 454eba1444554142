from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_topics
from partwise.exceptions import InputError

SMALL = {"n_samples": 60, "n_features": 40, "n_components": 12}


@pytest.mark.parametrize(
    ("kind", "m"),
    [("dir", 2000), ("ctm", 2000), ("neg", 1000)],
)
def test_default_sizes_are_the_papers(kind, m):
    topics = make_topics(kind, random_state=0)
    assert topics.X.shape == (5000, m)
    assert topics.components.shape == (100, m)
    assert topics.weights.shape == (5000, 100)
    assert topics.noise is None
    np.testing.assert_allclose(topics.weights.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["dir", "ctm", "neg"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_model_identity_and_seed(kind, noise):
    one, two = (make_topics(kind, **SMALL, noise=noise, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)
    expected = one.weights @ one.components + (0 if one.noise is None else one.noise)
    np.testing.assert_array_equal(one.X, expected)
    assert not np.array_equal(one.X, make_topics(kind, **SMALL, noise=noise, random_state=8).X)


def test_dirichlet_moments():
    k, a = 10, 0.05
    W = make_topics("dir", n_samples=20000, n_features=5, n_components=k, random_state=0).weights
    np.testing.assert_allclose(W.mean(axis=0), 1 / k, atol=0.01)
    # variance of a symmetric Dirichlet: (1/k)(1 - 1/k)/(ka + 1)
    np.testing.assert_allclose(W.var(axis=0), (1 / k) * (1 - 1 / k) / (k * a + 1), rtol=0.06)


def test_synthetic_topics():
    sparse = make_topics(n_samples=2, random_state=0).components
    np.testing.assert_allclose(sparse.sum(axis=1), 1.0)
    assert np.mean(sparse < 1e-6) > 0.4
    dense = make_topics(n_samples=2, feature_kind="dense", random_state=0).components
    np.testing.assert_allclose(dense.sum(axis=1), 1.0)
    assert dense.min() / dense.max() > 0.2  # 0.3 / 1.3
    H = make_topics("neg", n_samples=2, random_state=0).components
    assert H.min() >= -0.5
    assert H.max() < 0.5
    assert abs(H.mean()) < 0.01


def test_given_components_are_used_and_copied():
    H = np.random.default_rng(0).random((4, 9))
    topics = make_topics("ctm", n_samples=5, components=H, random_state=0)
    np.testing.assert_array_equal(topics.components, H)
    assert not np.shares_memory(topics.components, H)


def test_ctm_default_has_the_law_of_the_authors_program():
    # logit = C (C g) with a new C for each sample: compare moments with drawing the matrices
    rng, n, k = np.random.default_rng(0), 40000, 6
    C, g = rng.standard_normal((n, k, k)), rng.standard_normal((n, k, 1))
    literal = (C @ (C @ g))[:, :, 0]
    from partwise.datasets.topics import _fresh_logits

    ours = _fresh_logits(n, k, np.random.default_rng(1))
    for power in (2, 4):
        lhs, rhs = ((np.linalg.norm(x, axis=1) ** power).mean() for x in (ours, literal))
        assert lhs == pytest.approx(rhs, rel=0.2 if power == 4 else 0.05)
    quantiles = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(np.quantile(ours[:, 0], quantiles), np.quantile(literal[:, 0], quantiles), atol=0.35)
    np.testing.assert_allclose(np.corrcoef(ours.T), np.eye(k), atol=0.05)


def test_ctm_default_is_nearly_one_sparse():
    W = make_topics("ctm", n_samples=500, random_state=0).weights
    assert np.median(W.max(axis=1)) > 0.99
    assert np.isfinite(W).all()


def largest_correlation(W: np.ndarray) -> float:
    C = np.corrcoef(W.T)
    return float(C[~np.eye(len(C), dtype=bool)].max())


def test_largest_correlation_of_two_topics():
    """The authors' CTM has none; a logistic normal in pairs has what its name promises."""
    shape = {"n_samples": 5000, "n_features": 40, "n_components": 40, "random_state": 0}
    # of n samples a correlation of 0 is within 5 / sqrt(n)
    assert largest_correlation(make_topics("ctm", **shape).weights) < 5 / np.sqrt(5000)
    assert largest_correlation(make_topics("ctm", covariance=0.99, block_size=2, scale=16.0, **shape).weights) > 0.3
    assert largest_correlation(make_topics("ctm", covariance=0.99, block_size=2, scale=8.0, **shape).weights) > 0.6


def test_block_covariance_is_the_covariance_of_the_logits():
    topics = make_topics(
        "ctm",
        n_samples=40000,
        n_features=3,
        n_components=4,
        covariance=0.8,
        block_size=2,
        scale=0.5,
        random_state=0,
    )
    logits = np.log(topics.weights)
    logits -= logits.mean(axis=1, keepdims=True)  # the softmax forgets the mean
    S = 0.25 * np.kron(np.eye(2), [[1.0, 0.8], [0.8, 1.0]])
    P = np.eye(4) - 0.25
    np.testing.assert_allclose(np.cov(logits.T), P @ S @ P, atol=0.01)


def test_covariance_matrix_and_shared():
    S = np.diag([4.0, 1.0, 0.0])
    W = make_topics("ctm", n_samples=20000, n_features=3, n_components=3, covariance=S, random_state=0).weights
    logits = np.log(W)
    assert np.var(logits[:, 0] - logits[:, 2]) == pytest.approx(4.0, rel=0.05)
    shared = make_topics("ctm", **SMALL, covariance="shared", random_state=0)
    assert shared.weights.shape == (60, 12)
    # dense in the limit of small logits
    flat = make_topics("ctm", **SMALL, covariance=0.0, scale=0.0, random_state=0)
    np.testing.assert_allclose(flat.weights, 1 / 12)


def test_noise_has_the_papers_norm():
    topics = make_topics("ctm", n_samples=500, n_features=400, n_components=5, noise=0.3, random_state=0)
    # gamma N(0, I/m) has expected squared norm gamma^2
    assert np.mean(np.sum(topics.noise**2, axis=1)) == pytest.approx(0.09, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"kind": "lda"}, "kind"),
        ({"n_samples": 0}, "n_samples"),
        ({"n_components": 2.5}, "n_components"),
        ({"feature_kind": "medium"}, "feature_kind"),
        ({"noise": -1.0}, "noise"),
        ({"noise": np.nan}, "noise"),
        ({"concentration": 0.0}, "concentration"),
        ({"covariance": 0.5}, "covariance"),
        ({"kind": "ctm", "covariance": 1.5}, "covariance"),
        ({"kind": "ctm", "covariance": np.eye(3)}, "covariance"),
        ({"kind": "ctm", "n_components": 2, "covariance": [[1, 2], [2, 1]]}, "covariance"),
        ({"kind": "ctm", "n_components": 2, "covariance": [[1, 2], [0, 1]]}, "covariance"),
        ({"kind": "ctm", "covariance": "wishart"}, "covariance"),
        ({"kind": "neg", "components": np.eye(3)}, "components"),
        ({"components": [[1.0, np.nan]]}, "components"),
        ({"components": np.eye(3), "n_components": 4}, "components"),
        ({"random_state": "seed"}, "random_state"),
        ({"random_state": -1}, "random_state"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, word):
    with pytest.raises(InputError, match=word):
        make_topics(**{"n_samples": 3, "n_features": 10, **arguments} if "components" not in arguments else arguments)
