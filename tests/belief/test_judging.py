"""Which parts to believe: facts of each part, made one by one, and errors against the truth."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.belief import telling
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


@pytest.mark.parametrize("ask", [pw.judge, lambda model, X: pw.feasible_bands(X, model)], ids=["judge", "bands"])
@pytest.mark.parametrize("missing", ["nan", "zeros"])
def test_incomplete_data_is_refused_by_name(missing: str, ask: Callable[[Any, Any], Any]):
    """Zeros that stand for unknown entries would count as data."""
    X, _, _ = mixture(7)
    model = pw.HALS(3, missing=missing, random_state=0).fit(X)
    with pytest.raises(InputError, match="entries may be unknown, and parts are judged on complete data") as refused:
        ask(model, X)
    assert (refused.value.parameter, refused.value.kind) == ("model", "not-judged")


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
