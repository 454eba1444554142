"""Samples that are unlike all others are named, and are no part; clean data has none."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.oddness import odd_entries, odd_samples
from partwise.exceptions import DegenerateDataWarning

K = 3
MAKERS: dict[str, Any] = {
    "Facets": pw.Facets,
    "Archetypes": pw.Archetypes,
    "AND": partial(pw.AND, tol=1e-4),
    "MinVol": pw.MinVol,
    "TSVDNMF": partial(pw.TSVDNMF, refine=True),
}
RNG = np.random.default_rng(0)
PARTS = RNG.gamma(0.5, size=(K, 60)) + 0.05
CLEAN = RNG.dirichlet([0.4] * K, 150) @ PARTS
NOISY = np.maximum(CLEAN + 0.02 * RNG.standard_normal(CLEAN.shape), 0.0)


def spoilt(count: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The noisy data with so many odd samples in it, and where they are."""
    rng = np.random.default_rng(count)
    other = PARTS.mean(axis=0)[rng.permutation(60)]
    new = []
    for _ in range(count):
        if kind == "tissue":
            new.append(20.0 * other * np.exp(0.1 * rng.standard_normal(60)))
        elif kind == "entry":
            row = NOISY[rng.integers(len(NOISY))].copy()
            row[rng.choice(np.flatnonzero(row > np.median(row)))] *= 100.0
            new.append(row)
        else:
            new.append(np.zeros(60))
    at = np.sort(rng.choice(len(NOISY) + count, count, replace=False))
    X = np.insert(NOISY, at - np.arange(count), new, axis=0)
    return X, at


@pytest.mark.parametrize("X", [CLEAN, NOISY], ids=["exact", "noisy"])
def test_clean_data_has_none(X: np.ndarray) -> None:
    source = pw.open_source(X)
    assert not len(odd_samples(source, K))
    assert not len(odd_entries(source, K))


def test_a_part_of_few_samples_is_none_in_exact_data() -> None:
    X = CLEAN.copy()
    X[5] += 10.0 * np.random.default_rng(1).gamma(0.3, size=60)  # a fourth part, in one sample alone
    source = pw.open_source(X)
    assert not len(odd_samples(source, 4))
    assert odd_samples(source, 3).tolist() == [5]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: pw.open_source(X, block_rows=40)])
@pytest.mark.parametrize(("count", "kind"), [(1, "tissue"), (3, "tissue"), (1, "entry"), (3, "entry"), (2, "empty")])
@pytest.mark.parametrize("name", MAKERS)
def test_odd_samples_are_named_and_no_part(name: str, count: int, kind: str, form: Any) -> None:
    X, at = spoilt(count, kind)
    model = MAKERS[name](K, random_state=0).set_weighing(None)
    told = "all zero|all-zero|zero" if kind == "empty" else "unlike all others"
    with pytest.warns(DegenerateDataWarning, match=told) as caught:
        model.fit(form(X))
    assert model.odd_samples_.tolist() == at.tolist()
    if kind != "empty":
        odd = next(one.message for one in caught if getattr(one.message, "kind", "") == "odd")
        assert odd.odd.tolist() == at.tolist()
        assert odd.place.row == at[0]
    alone = MAKERS[name](K, random_state=0).set_weighing(None).fit(NOISY)
    assert not len(alone.odd_samples_)
    found = pw.metrics.match_components(model.components_, alone.components_).cosines.min()
    assert found > 0.9999
    if name == "TSVDNMF":  # the others by their own numbers
        assert np.flatnonzero(model.labels_ < 0).tolist() == at.tolist()
        assert not set(np.concatenate(model.pure_records_)) & set(at)
    assert model.transform(X).shape == (len(X), K)  # they have weights all the same


def test_weighed_or_not_as_the_method_does() -> None:
    X, at = spoilt(1, "tissue")
    with pytest.warns(DegenerateDataWarning, match=f"sample {at[0]} is unlike all others and was set aside"):
        model = pw.Archetypes(K, random_state=0).fit(X)
    alone = pw.Archetypes(K, random_state=0).fit(NOISY)
    assert pw.metrics.match_components(model.components_, alone.components_).cosines.min() > 0.999


def test_the_sample_that_an_odd_one_is_a_copy_of_is_not_odd() -> None:
    rng = np.random.default_rng(4)
    X = np.maximum(np.repeat(CLEAN[:60], 20, axis=1) + 0.05 * rng.standard_normal((60, 1200)), 0.0)
    copy = X[7].copy()  # the direction that both carry is the noise of the one,
    copy[rng.choice(1200, 200, replace=False)] += 0.1  # and what is odd is the other
    odd = odd_samples(pw.open_source(np.vstack([X, copy])), K)
    assert odd.tolist() == [60]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: pw.open_source(X, block_rows=40)])
def test_an_entry_is_odd_beside_those_of_its_feature(form: Any) -> None:
    rng = np.random.default_rng(5)
    X = rng.negative_binomial(1.0, 1.0 / (1.0 + np.exp(rng.uniform(-3.0, 3.0, 400))), (200, 400)).astype(float)
    X[:, 0] += 1.0
    assert not len(odd_entries(pw.open_source(form(X)), K))  # heavy tails of rare features are no oddities
    rare = int(np.argmin(np.abs((X > 0.0).mean(axis=0) - 0.3)))
    X[[17, 40], [rare, 3]] = 100.0 * X.max(axis=0)[[rare, 3]]
    X[[90, 91], rare - 1] = 100.0 * X[:, rare - 1].max()  # of a pair, too
    assert odd_entries(pw.open_source(form(X)), K).tolist() == [17, 40, 90, 91]


def test_a_sample_with_next_to_nothing_in_it_has_no_entry_out_of_proportion() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weights = rng.gamma(1.0, size=(300, 4)) * (rng.random((300, 4)) < 0.5)
        S = (weights + 1e-3) @ rng.gamma(0.3, size=(4, 60))
        X = rng.poisson(400.0 * S / S.sum(axis=1).mean()).astype(float)
        empty = np.flatnonzero(~X.any(axis=1))
        assert odd_entries(pw.open_source(X), 4).tolist() == empty.tolist()


def test_few_samples_are_left_alone() -> None:
    assert not len(odd_samples(pw.open_source(np.eye(12)), 2))
    assert not len(odd_entries(pw.open_source(np.eye(12)), 2))


def test_the_report_names_them(tmp_path: Any) -> None:
    X, _ = spoilt(1, "tissue")
    with pytest.warns(DegenerateDataWarning, match="unlike all others"):
        model = pw.Facets(K, random_state=0).fit(X)
    page = pw.write_report(tmp_path / "a.html", model, X).read_text(encoding="utf-8")
    assert "Odd samples" in page
    assert "is unlike all others and was set aside" in page


def test_where_every_sample_is_unlike_most_others_none_is_odd() -> None:
    X = np.zeros((24, 12))
    for i in range(12):
        X[2 * i : 2 * i + 2, i] = 2.0 ** (12 - i)
    assert pw.Facets(2, random_state=0).fit(X).components_.shape == (2, 12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_odd_sample_that_shares_the_directions_of_parts_is_named(seed: int) -> None:
    X = NOISY.copy()
    X[17] += 5.0 * np.abs(np.random.default_rng(seed).standard_normal(60))
    shares = np.linalg.svd(X, full_matrices=False)[0][:, : K + 1] ** 2
    assert ((shares**2).sum(axis=0) < 1.0 / 5.0).all()  # no direction is one of a handful
    assert odd_samples(pw.open_source(X), K + 1).tolist() == [17]


@pytest.mark.parametrize("options", [{}, {"thresholds": "adaptive"}, {"batch_size": 20, "max_iter": 40}], ids=str)
def test_the_published_algorithm_is_left_as_it_is(options: dict[str, Any]) -> None:
    fits = [pw.AND(K, odd=odd, random_state=0, **options) for odd in ("aside", "keep")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        aside, keep = (model.fit(NOISY) for model in fits)
        np.testing.assert_array_equal(aside.components_, keep.components_)  # the same bits
        assert not hasattr(keep, "odd_samples_")
        X, at = spoilt(3, "tissue")
        for model in fits:
            model.fit(X)
    errors = [np.mean(pw.metrics.spectral_angles(model.components_, PARTS)) for model in fits]
    assert aside.odd_samples_.tolist() == at.tolist()
    assert not hasattr(keep, "odd_samples_")
    assert errors[1] > 5.0 * errors[0]


def test_odd_samples_beside_weights_of_any_size() -> None:
    X, at = spoilt(1, "tissue")
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(X))
    weights[0] = 0.0
    others = np.setdiff1d(np.arange(len(X)), [0, *at])
    with pytest.warns(DegenerateDataWarning, match=f"sample {at[0]} is unlike all others"):
        model = MAKERS["AND"](K, random_state=0).fit(X, sample_weight=weights)
    alone = MAKERS["AND"](K, random_state=0).fit(X[others], sample_weight=weights[others])
    assert model.odd_samples_.tolist() == at.tolist()
    np.testing.assert_array_equal(model.components_, alone.components_)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_direction_of_their_own_need_not_be_a_singular_vector(count: int) -> None:
    X, at = spoilt(count, "tissue")
    clear = np.inf
    for size in np.geomspace(0.02, 1.0, 25):  # where it is as strong as that of a part, singular vectors mix both
        Y = X.copy()
        Y[at] *= size
        vectors = np.linalg.svd(Y, full_matrices=False)[0][:, : K + 1]
        clear = min(clear, np.square(np.square(vectors)).sum(axis=0).max())
        assert odd_samples(pw.open_source(Y), K).tolist() == at.tolist(), size
    assert clear < 0.25  # somewhere four or more carry each


@pytest.mark.parametrize(("count", "kind"), [(0, "tissue"), (1, "tissue"), (3, "tissue"), (1, "entry"), (3, "entry")])
def test_odd_samples_are_not_counted_as_parts(count: int, kind: str) -> None:
    X, at = spoilt(count, kind) if count else (NOISY, np.zeros(0, int))
    choice = pw.choose_k(X, halves=False)
    assert (choice.k, choice.low) == (K, K)
    if kind == "tissue":  # decided but for these, which may be a part that is rare; an entry is noise of its feature
        assert choice.verdict == ("between" if count else "decided")
        assert choice.odd_samples == choice.facts()["odd_samples"] == tuple(at)
        assert ("unlike all others" in str(choice)) == (count > 0)


@pytest.mark.parametrize("counts", [False, True])
def test_parts_sets_them_aside_for_whatever_method_it_takes(counts: bool) -> None:
    X, at = spoilt(3, "tissue")
    if counts:
        X = np.random.default_rng(1).poisson(30.0 * X).astype(float)
    with pytest.warns(DegenerateDataWarning, match="unlike all others"):
        model = pw.Parts(K, random_state=0, judge=False).fit(X)
    others = np.setdiff1d(np.arange(len(X)), at)
    alone = pw.Parts(K, random_state=0, judge=False).fit(X[others])
    assert model.odd_samples_.tolist() == at.tolist()
    assert model.method_.name == alone.method_.name
    assert pw.metrics.match_components(model.components_, alone.components_).cosines.min() > 0.9999
    assert model.transform(X).shape == (len(X), K)


def test_data_of_nothing_is_left_alone() -> None:
    with pytest.warns(DegenerateDataWarning):
        assert not len(pw.AND(2, random_state=0).fit(np.zeros((30, 6))).odd_samples_)


def test_parts_takes_measured_noise_of_all_samples_too() -> None:
    X, at = spoilt(3, "tissue")
    with pytest.warns(DegenerateDataWarning, match="unlike all others"):
        model = pw.Parts(K, random_state=0, judge=True).set_weighing(pw.measure_noise(X)).fit(X)
    assert set(at) <= set(model.odd_samples_)
