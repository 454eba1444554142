"""Which parts to believe: facts of each part, made one by one, and errors against the truth."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.belief import telling
from partwise.belief.span import span_of
from partwise.belief.span_incomplete import span_of_incomplete
from partwise.exceptions import InputError
from partwise.report import wording
from partwise.sources import source_of


def mixture(seed: int, k: int = 3, n: int = 300, m: int = 30, noise: float = 0.02) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    H = rng.dirichlet([0.3] * m, k)
    W = rng.dirichlet([0.4] * k, n)
    X = W @ H
    return np.maximum(X + noise * np.sqrt((X**2).mean()) * rng.standard_normal(X.shape), 0.0), W, H


def test_well_determined_parts_are_found_again():
    X, _, H = mixture(0)
    model = pw.ANLS(3, random_state=0).fit(X)
    verdicts = pw.judge(model, X)
    true = pw.metrics.match_components(H, model.components_).errors
    assert [row.verdict for row in verdicts] == ["found again"] * 3
    assert (true <= 3.0 * verdicts.expected_error).all()
    assert verdicts.fits == 4
    for row in verdicts:
        assert row.interval[0] < row.expected_error < row.interval[1]
        assert f"Part {row.part + 1}: found again" in str(row)
    assert len(str(verdicts).splitlines()) == len(verdicts) == 3


def test_verdicts_are_a_table_in_a_notebook():
    data = pw.datasets.make_topics(n_samples=200, n_features=30, n_components=3, random_state=0)
    shown = pw.judge(pw.Facets(3, random_state=0).fit(data.X), data.X)._repr_html_()
    assert shown.count("<tr>") == 4
    assert "found again" in shown


def test_the_superfluous_part_is_not_determined():
    X, _, H = mixture(1)
    model = pw.ANLS(4, random_state=0).fit(X)
    verdicts = pw.judge(model, X)
    true = pw.metrics.match_components(H, model.components_).errors
    wrong = int(np.argmax(true))
    assert verdicts[wrong].verdict != "found again"


def test_a_negative_part_is_named():
    X, _, _ = mixture(2)
    model = pw.ANLS(3, random_state=0).fit(X)
    H = model.components_
    H[0] = H[0] - 0.5 * H[1] * H[0].sum() / H[1].sum()
    row = pw.judge(model, X)[0]
    assert "negative" in row.reasons
    assert row.verdict == "not determined"
    assert any("it is negative" in sentence for sentence in row.words)


def test_one_sample_that_makes_a_part():
    X, _, _ = mixture(3)
    X[17] = 0.0
    X[17, -3:] = 5.0 * X.max()
    model = pw.ANLS(4, random_state=0).fit(X)
    alone = int(np.argmax(model.components_[:, -1] / model.components_.sum(axis=1)))
    row = pw.judge(model, X)[alone]
    assert "one-sample" in row.reasons
    assert row.facts["largest_sample"] > 0.9
    assert row.verdict == "not determined"


def test_a_part_that_no_sample_lacks():
    rng = np.random.default_rng(4)
    H = rng.dirichlet([0.3] * 30, 3)
    W = rng.dirichlet([0.5] * 3, 300) + [0.5, 0.0, 0.0]
    X = W @ H
    model = pw.ANLS(3, init=H, max_iter=1, tol=0.0).fit(X)
    verdicts = pw.judge(model, X)
    assert "always-there" in verdicts[0].reasons
    assert all("always-there" not in row.reasons for row in verdicts.rows[1:])
    assert any("hardly a sample where it is absent" in sentence for sentence in verdicts[0].words)


def test_noise_that_drowns_parts():
    X, _, _ = mixture(5, noise=10.0)
    verdicts = pw.judge(pw.ANLS(3, random_state=0).fit(X), X)
    assert all(row.verdict == "not determined" for row in verdicts)
    assert any("noise" in row.reasons for row in verdicts)


def test_blocks_and_preparation_change_nothing():
    X, _, _ = mixture(6)
    model = pw.ANLS(3, random_state=0).set_preparation("unit").fit(X)
    whole, blocks = pw.judge(model, X), pw.judge(model, source_of(X, block_rows=70))
    np.testing.assert_allclose(blocks.expected_error, whole.expected_error, rtol=1e-3)
    assert all(row.verdict == "found again" for row in whole)


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        (np.ones((2, 30)), 300, "model must be a fitted estimator"),
        (pw.ANLS(3), 300, "fit it first"),
        ("fitted", 4, "a half must have at least as many as there are parts"),
    ],
)
def test_refused_by_name(model: Any, rows: int, message: str):
    X, _, _ = mixture(7)
    if isinstance(model, str):
        model = pw.ANLS(3, random_state=0).fit(X)
    with pytest.raises(InputError, match=message):
        pw.judge(model, X[:rows])


def incomplete(seed: int, unknown: float = 0.2) -> tuple[Any, Any, Any]:
    X, _, H = mixture(seed)
    X = np.maximum(X, 1e-9)  # a zero is known, and would not be in sparse data
    known = np.random.default_rng(seed).random(X.shape) >= unknown
    return np.where(known, X, np.nan), known, H


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_incomplete_data_are_judged(seed: int):
    X, _, H = incomplete(seed)
    model = pw.HALS(3, missing="nan", random_state=0).fit(X)
    verdicts = pw.judge(model, X)
    true = pw.metrics.match_components(H, model.components_).errors
    assert [row.verdict for row in verdicts] == ["found again"] * 3
    assert (true <= 3.0 * verdicts.expected_error).all()
    assert (verdicts.expected_error <= 3.0 * true).all()
    more = pw.HALS(4, missing="nan", random_state=0).fit(X)
    assert {row.verdict for row in pw.judge(more, X)} > {"found again"}


@pytest.mark.parametrize("form", ["mask", "sparse", "files", "dask"])
def test_verdicts_on_incomplete_data_do_not_depend_on_how_it_is_told(form: str, tmp_path: Path):
    X, known, _ = incomplete(0)
    wanted = pw.judge(pw.HALS(3, missing="nan", init="random", random_state=0).fit(X), X)
    told, missing, data = {}, "nan", X
    if form == "mask":
        told, missing, data = {"mask": known}, None, np.where(known, X, 7.0)
    elif form == "sparse":
        missing, data = "zeros", sp.csr_array(np.where(known, X, 0.0))
    elif form == "files":
        data = tmp_path / "rows.npy"
        np.save(data, X)
    else:
        data = pytest.importorskip("dask.array").from_array(X, chunks=(100, 30))
    model = pw.HALS(3, missing=missing, init="random", random_state=0).fit(data, **told)
    found = pw.judge(model, data, **told)
    np.testing.assert_allclose(found.expected_error, wanted.expected_error, rtol=1e-2)
    assert [row.verdict for row in found] == [row.verdict for row in wanted]


def test_what_known_entries_tell_is_that_of_least_squares_of_each():
    """Row by row, and column by column, against NumPy's solver; rows and columns that tell nothing are left out."""
    rng = np.random.default_rng(0)
    X, _, H = incomplete(1, 0.4)
    X[5], X[6, 2:], X[:, 7] = np.nan, np.nan, np.nan
    known = ~np.isnan(X)
    rows = np.setdiff1d(np.arange(len(X)), [5, 6])
    span = span_of_incomplete(source_of(X, block_rows=37), H, known=int(known.sum()))
    assert span.weights.shape == (len(rows), 3)
    assert span.parts.shape == (3, 29)
    K = span.parts
    X, known = np.delete(X[rows], 7, axis=1), np.delete(known[rows], 7, axis=1)
    for i in rng.choice(len(rows), 20, replace=False):
        here = K[:, known[i]]
        np.testing.assert_allclose(span.weights[i], np.linalg.lstsq(here.T, X[i, known[i]], rcond=None)[0], rtol=1e-8)
        loss = np.trace(K @ K.T @ np.linalg.inv(here @ here.T)) / 3.0
        np.testing.assert_allclose(span.variance.row_loss[i], loss, rtol=1e-8)
    variance, free = span.variance, known.sum() - 3 * (sum(known.shape) - 3)
    mean = (variance.rows @ variance.columns.T).mean()
    squares = np.square(X - span.weights @ K)[known].sum() / free
    assert squares == pytest.approx(variance.floor + variance.slope * mean, rel=0.1)


def test_few_known_entries_of_many_samples_never_lie_dense_in_memory():
    """With few parts all rows of a block did: a table of ratings would have taken hundreds of times its size."""
    X = sp.random_array((20_000, 1_000), density=0.005, format="csr", rng=0)
    H = np.random.default_rng(0).random((2, 1_000))
    tracemalloc.start()
    span_of_incomplete(source_of(X), H, known=X.nnz)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.3 * 8 * X.shape[0] * X.shape[1]


def test_complete_data_is_the_same_in_coordinates_of_what_is_known():
    X, _, H = mixture(2, noise=0.05)
    whole = span_of(source_of(X), H, None, np.random.default_rng(0))
    same = span_of_incomplete(source_of(X), H, known=X.size)
    np.testing.assert_allclose(same.variance.row_loss, 1.0)
    np.testing.assert_allclose(same.variance.column_loss, 1.0)
    np.testing.assert_allclose(same.variance.floor, whole.variance.floor, rtol=0.02)
    assert pw.metrics.match_components(same.parts, whole.parts).errors.max() < 0.01


def test_holes_that_nobody_can_judge_are_refused_by_name():
    X, known, _ = incomplete(0)
    with pytest.raises(InputError, match="mask: SPA takes no data with unknown entries") as refused:
        pw.judge(pw.SPA(3).fit(np.nan_to_num(X)), X, mask=known)
    assert (refused.value.parameter, refused.value.kind) == ("mask", "not-judged")
    model = pw.HALS(3, missing="nan", random_state=0).fit(X)
    # and nothing of what takes NaN, which the model does
    with pytest.raises(InputError, match=r"how far parts can move is searched for in complete data; .* may be$"):
        pw.feasible_bands(X, model)


def test_weights_of_features_are_those_of_halves_too(monkeypatch: pytest.MonkeyPatch):
    X, _, _ = mixture(0)
    weights = np.linspace(0.5, 2.0, X.shape[1])
    model = pw.HALS(3, random_state=0).fit(X, feature_weight=weights)
    seen: list[Any] = []
    fit = pw.HALS.fit
    monkeypatch.setattr(pw.HALS, "fit", lambda self, X, **told: seen.append(told) or fit(self, X, **told))
    pw.judge(model, X)
    assert len(seen) == 4
    for told in seen:
        np.testing.assert_array_equal(told["feature_weight"], weights)


def test_a_fixed_part_is_given_and_errors_are_told_in_per_cent():
    X, _, H = mixture(0)
    verdicts = pw.judge(pw.ANLS(3, fixed=H[:1], random_state=0).fit(X), X)
    assert [row.verdict for row in verdicts] == ["given", "found again", "found again"]
    assert str(verdicts[0]) == "Part 1: given"
    assert verdicts[0].expected_error == 0.0
    assert re.fullmatch(r"Part 2: found again, off by about [\d.]+% \([\d.]+% to [\d.]+%\)(; .*)?", str(verdicts[1]))
    assert [telling.off(error) for error in (0.0004, 0.123, 0.996, 7.0)] == ["0.04%", "12%", "100%", "100%"]
    said = [row.verdict for row in verdicts]
    assert wording.believed(said) == "All 2 parts are found again in halves of the samples, beside 1 given."
    assert wording.verdict("given", 0.0) == "given"
    assert wording.believed(["given"]) == ""
