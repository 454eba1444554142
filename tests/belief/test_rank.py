"""How many parts: known answers, honest refusals, every kind of source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.belief import Halving
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


@pytest.mark.parametrize("few", [1, 8])
def test_without_noise_a_part_of_one_feature_and_few_samples_is_one(few: int):
    rng = np.random.default_rng(0)
    H, W = rng.gamma(0.3, size=(4, 60)), rng.gamma(1.0, size=(150, 4))
    H[3], W[:, 3] = np.arange(60) == 7, 0.0
    W[:few, 3] = rng.uniform(5.0, 9.0, few)
    choice = pw.choose_k(W @ H)
    assert (choice.k, choice.verdict) == (4, "exact")


@pytest.mark.parametrize("size", [2.0, 30.0], ids=["one direction", "within those of the parts"])
def test_a_sample_unlike_all_others_is_no_part(size: float):
    X = noisy("white")
    X[17] += size * X.std() * np.abs(np.random.default_rng(2).standard_normal(X.shape[1]))
    choice = pw.choose_k(np.vstack([X[:1], X[:1], X]), halves="needed")
    assert (choice.k, choice.low, choice.high, choice.verdict, choice.odd_samples) == (4, 4, 5, "between", (19,))
    assert str(choice).endswith("; 5 with sample 19, unlike all others")
    assert choice.facts()["odd_samples"] == (19,)
    unsure = replace(choice, k=1, low=1, high=3, weakest=2.5)  # a single weak part, whatever the sample is
    assert str(unsure) == (
        "1 to 3 parts, most likely 1: the weakest is 2.5 times as strong as can be seen at all, so weaker ones may "
        "hide; set aside, as unlike all others: sample 19"
    )
    assert "of one more" in str(replace(choice, basis="halves"))


def test_a_large_sample_does_not_hide_the_parts_of_others():
    X = noisy("white")
    X[17] *= 200.0
    choice = pw.choose_k(X, halves=False)
    assert (choice.k, choice.low, choice.high, choice.verdict, choice.odd_samples) == (4, 4, 5, "between", (17,))


def test_a_part_of_few_samples_that_halves_do_not_find_is_not_denied():
    rng = np.random.default_rng(3)
    H, W = rng.lognormal(0.0, 1.2, (5, 150)) * (rng.random((5, 150)) < 0.6), rng.dirichlet([0.4] * 5, 800)
    W[:, 4] *= np.arange(800) < 16
    S = W @ H
    X = S + 0.2 * S.std() * rng.standard_normal(S.shape)
    found = {(k, split): Halving(k, split, (0.99,) * 4 + (0.3,) * (k - 4), 0.0) for k in (4, 5) for split in range(3)}
    choice = pw.choose_k(X, halves="needed", known=found)
    assert (choice.k, choice.low, choice.high, choice.taken, choice.basis) == (None, 4, None, 5, "spectrum")
    assert "the last one is not found again in halves of the samples, as a part of few samples is not" in str(choice)


def test_nothing_but_noise_has_no_number():
    choice = pw.choose_k(np.random.default_rng(0).standard_normal((100, 50)), halves=False)
    assert (choice.k, choice.low, choice.high, choice.verdict) == (None, 1, None, "undecided")


@pytest.mark.parametrize("shape", [(2, 2), (10, 1), (1, 10), (5, 20)])
def test_tiny_tables_are_never_sure(shape: tuple[int, int]):
    choice = pw.choose_k(np.random.default_rng(0).random(shape))
    assert (choice.high, choice.verdict) == (None, "undecided")
    assert "do not confirm" not in str(choice)  # halves were not asked
    assert len(choice.plot().axes) >= 2


@pytest.mark.parametrize("place", [3, 60, 200])
def test_copies_of_a_sample_unlike_all_others_are_named(place: int):
    X = noisy("white")[:200]
    X[17] += 30.0 * X.std() * np.abs(np.random.default_rng(2).standard_normal(X.shape[1]))
    X = np.insert(X, place, X[17], axis=0)
    choice = pw.choose_k(X, halves=False)
    assert (choice.duplicates, choice.odd_samples) == (1, (3, 18) if place == 3 else (17, place))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_samples_in_single_precision_are_no_copies_by_chance(form: Any):
    rng = np.random.default_rng(0)
    X = rng.random((50_000, 2), np.float32) @ rng.random((2, 3), np.float32)
    assert pw.choose_k(form(X), halves=False).duplicates == len(X) - len(np.unique(X, axis=0))


def test_copies_of_samples_are_left_out():
    X = noisy("white")
    choice = pw.choose_k(np.vstack([X, X[:120]]), halves=False)
    assert (choice.k, choice.duplicates, choice.n_samples) == (4, 120, 200)


@pytest.fixture(scope="module")
def scene() -> np.ndarray:
    """Four materials that vary from pixel to pixel: more directions than parts, all of them above noise."""
    varying = {"scale": 0.3, "shape": 0.06, "snr": 35.0}
    return pw.datasets.make_scene(n_samples=300, n_features=60, random_state=1, **varying).X


def test_directions_of_parts_that_vary_are_not_counted(scene: np.ndarray):
    choice = pw.choose_k(scene, halves="needed")
    assert (choice.k, choice.low, choice.high, choice.verdict, choice.basis) == (4, 3, None, "undecided", "rest")
    assert choice.spectral > 6
    assert "what is behind them is little" in str(choice)


def test_where_one_part_more_is_found_again_what_little_is_left_is_no_number(scene: np.ndarray):
    known = {(5, split): Halving(5, split, (0.99,) * 5, 0.0) for split in range(3)}
    choice = pw.choose_k(scene, halves="needed", known=known)
    assert (choice.k, choice.low, choice.guess, choice.taken, choice.basis) == (None, 3, 5, 5, "rest")
    assert "5 parts are found again in halves of the samples: the last may be one that varies" in str(choice)


def test_a_single_direction_behind_the_last_that_takes_most_away_is_a_part():
    white = {"snr": 30.0, "abundances": "dirichlet", "concentration": 0.8}
    data = pw.datasets.make_scene(n_samples=800, n_components=5, random_state=50, **white)
    choice = pw.choose_k(data.X, halves="needed")
    assert (choice.k, choice.low, choice.verdict, choice.basis) == (5, 4, "between", "spectrum")


def test_what_little_is_left_is_no_number_without_halves(scene: np.ndarray):
    choice = pw.choose_k(scene, halves=False)
    assert (choice.k, choice.low, choice.taken, choice.basis) == (None, 3, 3, "rest")
    assert "cannot be told; at least 3" in str(choice)


def test_many_directions_that_leave_little_are_in_the_table():
    rng = np.random.default_rng(0)
    S = rng.gamma(0.3, size=(150, 20)) @ rng.gamma(0.3, size=(20, 90))
    U, s, V = np.linalg.svd(S, full_matrices=False)
    s[20:40] = s[19] * 0.02 * 0.9 ** np.arange(20)  # further directions, far behind
    X = (U * s) @ V + 1e-4 * s[19] / 10.0 * rng.standard_normal(S.shape)
    choice = pw.choose_k(X, halves=False)
    assert str(choice)
    assert len(choice.table) > choice.low


@pytest.mark.parametrize(("halves", "taken", "last"), [(True, 6, 8), ("further", 10, 14)])
def test_the_number_to_take_is_that_of_which_most_are_found_again(halves: bool | str, taken: int, last: int):
    rng = np.random.default_rng(0)
    X = np.exp(0.5 * (rng.standard_normal((160, 40)) * 0.9 ** np.arange(40)) @ rng.standard_normal((40, 60)))
    again = {2: 2, 3: 2, 4: 3, 5: 3, 6: 5, 7: 4, 8: 5, 10: 9, 13: 6, 14: 6}
    cosines = {k: (0.97,) * many + (0.5,) * (k - many) for k, many in again.items()}
    known = {(k, split): Halving(k, split, one, 0.0) for k, one in cosines.items() for split in range(16)}
    choice = pw.choose_k(X, halves=halves, most=14, known=known)
    assert (choice.k, choice.low, choice.taken) == (None, 2, taken)
    assert max(row.k for row in choice.table if row.again == row.again) == last
    assert f"of {taken} parts most are found again" in str(choice)
    assert choice.facts()["taken"] == taken


@pytest.mark.parametrize("halves", [None, "further"])
def test_a_single_column_and_samples_of_one_feature_each_have_no_number(halves: str | None):
    """No halves can be asked about more than one part of a column; a part a sample leaves no direction of noise."""
    assert pw.choose_k(np.random.default_rng(0).random((100, 1)), halves=halves).taken == 1
    choice = pw.choose_k(np.eye(40), halves=halves)
    assert (choice.high, choice.verdict) == (None, "undecided")


@pytest.mark.parametrize("halves", ["some", 3, np.array([1, 2])], ids=str)
def test_a_wrong_word_for_halves_is_refused(halves):
    with pytest.raises(InputError, match="'needed' or 'further'"):
        pw.choose_k(noisy("white"), halves=halves)


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


@pytest.mark.parametrize("exact", [True, False], ids=["nothing left", "a thousandth left"])
def test_the_figure_shows_how_little_is_left(exact: bool, scene: np.ndarray):
    X = np.random.default_rng(0).random((40, 3)) @ np.random.default_rng(1).random((3, 30)) if exact else scene
    upper = pw.choose_k(X, halves=False).plot().axes[0]
    assert upper.get_yscale() == "log"
    left = next(line for line in upper.lines if line.get_label() == "not explained by k directions").get_ydata()
    low, high = upper.get_ylim()
    shown = left[np.isfinite(left)]
    assert len(shown) >= 2
    assert low < shown.min() <= shown.max() < high
