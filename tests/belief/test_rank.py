"""How many parts: known answers, honest refusals, every kind of source."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError


def mixture(n: int = 200, m: int = 60, k: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.0, size=(n, k)) * (rng.random((n, k)) < min(1.0, 3.0 / k))
    return np.asarray((weights + 1e-3) @ rng.gamma(0.3, size=(k, m)))


def noisy(kind: str, seed: int = 0) -> np.ndarray:
    S, rng = mixture(seed=seed), np.random.default_rng([seed, 1])
    E = rng.standard_normal(S.shape)
    if kind == "white":
        return S + 0.1 * S.std() * E
    if kind == "columns":
        return S + 0.1 * S.std() * np.exp(0.7 * rng.standard_normal(S.shape[1])) * E
    return rng.poisson(1000.0 * S / S.sum(axis=1, keepdims=True)).astype(float)


@pytest.mark.parametrize("kind", ["white", "columns", "poisson"])
def test_strong_parts_beside_independent_noise_are_decided(kind: str):
    choice = pw.choose_k(noisy(kind), halves=False)
    assert (choice.k, choice.low, choice.high, choice.verdict, choice.basis) == (4, 4, 4, "decided", "spectrum")
    assert choice.weakest > 4.0
    assert np.isnan(choice.table[3].least)


def test_without_noise_it_is_the_rank():
    choice = pw.choose_k(mixture(k=7))
    assert (choice.k, choice.verdict) == (7, "exact")


def test_nothing_but_noise_has_no_number():
    choice = pw.choose_k(np.random.default_rng(0).standard_normal((100, 50)), halves=False)
    assert (choice.k, choice.low, choice.high, choice.verdict) == (None, 1, None, "undecided")


@pytest.mark.parametrize("shape", [(2, 2), (10, 1), (1, 10), (5, 20)])
def test_tiny_tables_are_never_sure(shape: tuple[int, int]):
    choice = pw.choose_k(np.random.default_rng(0).random(shape))
    assert (choice.high, choice.verdict) == (None, "undecided")
    assert "do not confirm" not in str(choice)  # halves were not asked
    assert len(choice.plot().axes) >= 2


def test_copies_of_samples_are_left_out():
    X = noisy("white")
    choice = pw.choose_k(np.vstack([X, X[:120]]), halves=False)
    assert (choice.k, choice.duplicates, choice.n_samples) == (4, 120, 200)


def test_sparse_and_dense_are_one():
    X = noisy("poisson")
    dense, sparse = pw.choose_k(X, halves=False), pw.choose_k(sp.csr_array(X), halves=False)
    assert dense.k == sparse.k
    assert np.allclose([row.held_out for row in dense.table], [row.held_out for row in sparse.table])


def test_held_out_errors_are_those_of_bi_cross_validation():
    from partwise.belief.rank_spectrum import held_out

    X, k = noisy("white"), 4
    found = held_out(pw.open_source(X), k, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rows = np.zeros(len(X), bool)
    rows[rng.permutation(len(X))[: len(X) // 2]] = True
    columns = rng.permutation(X.shape[1])
    a, b = columns[: X.shape[1] // 2], columns[X.shape[1] // 2 :]
    errors = []
    for out, one, other in ((rows, a, b), (~rows, b, a)):
        U, s, Vt = np.linalg.svd(X[~out][:, other], full_matrices=False)
        A = X[out][:, one]
        inverse = Vt[:k].T / s[:k] @ U[:, :k].T
        errors.append(((A - X[out][:, other] @ inverse @ X[~out][:, one]) ** 2).sum() / (A**2).sum())
    assert found[k] == pytest.approx(np.mean(errors), rel=1e-3)


@pytest.mark.parametrize("most", [0, 2.5, True])
def test_a_wrong_limit_is_refused(most):
    with pytest.raises(InputError, match="whole number"):
        pw.choose_k(noisy("white"), most=most)


def test_finished_splits_are_not_fitted_again():
    X, seen = noisy("white"), []
    first = pw.choose_k(X, callback=lambda one, *_: seen.append(one))
    again = pw.choose_k(X, known={(one.k, one.split): one for one in seen}, callback=lambda *_: 1 / 0)
    assert repr(again.table) == repr(first.table)  # NaN where no halves were fitted
    assert {one.k for one in seen} == {3, 4, 5}


def test_the_figure_has_both_panels():
    figure = pw.choose_k(noisy("white"), halves=False).plot()
    assert [axes.get_ylabel() for axes in figure.axes] == ["share of squares", "cosine in halves"]
