"""The numbers, against those computed by hand, wherever the rows live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError
from partwise.report import maps
from partwise.report.facts import Facts, cosines, course, gather, settings, similar_pairs, top_features, weights_map
from partwise.report.findings import findings
from partwise.report.naming import Names
from partwise.report.rows import residuals
from tests.report.models import H, W, X, mixtures, with_components

NAMES = Names(None, None)


def dask_array(X: Any) -> Any:
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(2, -1))


SOURCES: dict[str, Callable[[Any], Any]] = {
    "dense": pw.open_source,
    "blocks": lambda X: pw.open_source(X, block_rows=1),
    "sparse": lambda X: pw.open_source(sp.csr_array(X)),
    "sparse-blocks": lambda X: pw.open_source(sp.csr_array(X), block_rows=1),
    "float32": lambda X: pw.open_source(X.astype(np.float32)),
    "dask": lambda X: pw.open_source(dask_array(X)),
}


@pytest.mark.parametrize("weights", [W, None], ids=["given", "computed"])
@pytest.mark.parametrize("open_rows", SOURCES.values(), ids=SOURCES)
def test_by_hand(open_rows: Callable[[Any], Any], weights: Any):
    facts = gather(with_components(H), open_rows(X), weights)
    assert facts.order.tolist() == [0, 1]  # that of the model: a part has one number everywhere
    np.testing.assert_allclose(facts.shares, [6 / 14, 8 / 14], rtol=1e-6)
    assert facts.dominant.tolist() == [1, 2]
    assert facts.rows.n_zero == 1
    assert facts.rows.zero_rows.tolist() == [3]
    assert facts.best[1].numbers.tolist() == [0, 2]
    np.testing.assert_allclose(facts.best[1].values, [1.0, 0.75], rtol=1e-6)
    assert facts.best[0].numbers.tolist() == [1, 2]
    np.testing.assert_allclose(facts.best[0].values, [1.0, 0.25], rtol=1e-6)
    assert facts.unexplained < 1e-12
    assert facts.rows.poor == 0
    assert facts.top[1, 0] == 0
    assert facts.top[0, :2].tolist() == [1, 2]
    np.testing.assert_allclose(facts.similarity, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(facts.weights_map, [[1, 0], [0, 1], [0.25, 0.75]], rtol=1e-6)
    assert not facts.dead.any()
    assert findings(facts, NAMES) == [("Zero rows", "1 sample is all zero and has no weights: row 3.")]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_residuals_by_hand(sparse: bool):
    # one part (1, 0): of (3, 4) the 4 is left, of (0, 2) all, of the others nothing
    rows = np.array([[3.0, 4.0], [0.0, 2.0], [5.0, 0.0], [7.0, 0.0], [1.0, 0.0]])
    facts = gather(with_components([[1.0, 0.0]]), pw.open_source(sp.csr_array(rows) if sparse else rows))
    np.testing.assert_allclose(facts.rows.unexplained, [16 / 25, 1.0, 0.0, 0.0, 0.0], atol=1e-15)
    assert facts.unexplained == pytest.approx(20 / 104)
    assert facts.relative_error == pytest.approx(np.sqrt(20 / 104))
    assert facts.rows.poor == 2
    assert facts.rows.worst.numbers.tolist() == [1, 0]
    assert facts.dominant.tolist() == [4]  # the second sample has no weight
    (heading, text) = findings(facts, Names(None, ["a", "b", "c", "d", "e"]))[0]
    assert heading == "Samples badly explained"
    assert text == "Of 2 samples (40.0%) less than half is explained: b and a."


def test_small_residuals_of_sparse_rows_do_not_cancel():
    model, rows = mixtures(50, 30, 4)
    weights = np.asarray(model.transform(rows))
    exact = weights @ model.components_
    left, norms = residuals(sp.csr_array(exact * (1 + 1e-7)), weights, np.ascontiguousarray(model.components_.T))
    np.testing.assert_allclose(left / norms, 1e-14, rtol=1e-4)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_error_is_that_of_the_metric(sparse: bool):
    model, rows = mixtures(300, 40, 5)
    data = sp.csr_array(rows) if sparse else rows
    facts = gather(model, pw.open_source(data, block_rows=70))
    expected = pw.metrics.relative_error(rows, np.asarray(model.transform(rows)), model.components_)
    assert facts.relative_error == pytest.approx(expected, rel=1e-9)


def test_scale_does_not_matter():
    model, rows = mixtures(40, 25, 3)
    reference = gather(model, pw.open_source(rows))
    for scale in (1e-120, 1e120):
        scaled = gather(with_components(model.components_ * scale), pw.open_source(rows * scale))
        np.testing.assert_allclose(scaled.shares, reference.shares, rtol=1e-9)
        assert scaled.unexplained == pytest.approx(reference.unexplained, rel=1e-6)
        np.testing.assert_allclose(scaled.similarity, reference.similarity, atol=1e-9)


def test_weights_must_be_finite():
    with pytest.raises(InputError, match="NaN"):
        gather(with_components(H), pw.open_source(X), np.full((4, 2), np.nan))


def test_cosines():
    found = cosines(np.array([[1.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [0.0, 0.0]]))
    half = np.sqrt(0.5)
    expected = [[1, half, -1, 0], [half, 1, -half, 0], [-1, -half, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_rounding_makes_no_signs():
    components = np.array([[0.0, 1.0, 2.0], [3.0, -1e-9, 0.0]])
    facts = gather(with_components(components), pw.open_source(W @ components), W)
    assert not facts.signed
    assert facts.top[facts.order.tolist().index(1), 0] == 0
    components[1, 1] = -1e-3
    assert gather(with_components(components), pw.open_source(W @ components), W).signed


def test_top_features():
    assert top_features(np.array([[1.0, 3.0, 2.0]]), 2).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("h", "expected"),
    [
        ([9.0, 8.0, 7.0, 6.0, -1.0, -2.0], [0, 1, 4, 5]),  # two of each sign, the lowest last
        ([9.0, 8.0, 7.0, 6.0, 5.0, -2.0], [0, 1, 2, 5]),
        ([-9.0, -8.0, -7.0, -6.0, -5.0, 2.0], [5, 2, 1, 0]),
        ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0], [0, 1, 2, 3]),
    ],
    ids=["both", "one-negative", "one-positive", "positive"],
)
def test_top_features_with_signs(h: list[float], expected: list[int]):
    H = np.array([h, [-1.0] * 6])
    assert top_features(H, 4)[0].tolist() == expected


def test_pairs():
    similarity = np.array([[1.0, 0.96, 0.2], [0.96, 1.0, 0.99], [0.2, 0.99, 1.0]])
    assert similar_pairs(similarity, 0.95) == [(1, 2), (0, 1)]
    assert similar_pairs(similarity, 0.0, 1) == [(1, 2)]


def test_redundant_and_dead_parts_are_named():
    components = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.2]])
    weights = np.array([[1.0, 0.0, 2.0, 3.0], [0.0, 0.0, 5.0, 1.0]])
    facts = gather(with_components(components), pw.open_source(weights @ components), weights)
    # masses: 1, 0, 14, 8.8
    np.testing.assert_allclose(facts.shares, np.array([1.0, 0.0, 14.0, 8.8]) / 23.8)
    assert facts.redundant == [(2, 3)]
    assert facts.dead.tolist() == [False, True, False, False]
    found = dict(findings(facts, NAMES))
    assert found["Dead part"].startswith("Part 2 is zero")
    cosine = 2.2 / np.sqrt(2 * 2.44)
    assert f"1 pair with a cosine above 0.95: Part 3 and Part 4 ({cosine:.3f})" in found["Redundant parts"]


def archetypes(mass: list[float], moved: list[float], rival: float) -> Facts:
    """Four parts in the samples 2, 0, 3 and 1 times, of which the second is none."""
    model = pw.Archetypes(4)
    model.components_, model.n_components_, model.n_features_in_ = np.eye(4), 4, 4
    model.mass_, model.moved_, model.rival_ = np.array(mass), np.array(moved), rival
    return gather(model, pw.open_source(np.eye(4)[[0, 0, 2, 2, 2, 3]]))


def test_what_archetypes_doubts_is_told():
    facts = archetypes([0.019, 0.0, 0.97, 0.011], [0.2, 0.0, 0.01, 0.06], 0.004)
    assert facts.support.mass.tolist() == [0.019, 0.0, 0.97, 0.011]
    assert facts.support.moved.tolist() == [0.2, 0.0, 0.01, 0.06]
    found = dict(findings(facts, NAMES))
    assert found["Other parts do as well"].startswith("Another set of parts explains the data nearly as well")
    assert "by only 0.4%" in found["Other parts do as well"]
    purer = dict(findings(archetypes([0.25] * 4, [0.01] * 4, 0.0), NAMES))["Other parts do as well"]
    assert purer.startswith("Another set of parts explains the data as well or better, and makes samples less pure")
    assert "Hardly any pure samples" not in found  # the median is 0.035, and not the mean
    assert found["Parts of few samples"].startswith("Part 1 (1.9%) and Part 4 (1.1%) rest on few samples")  # 2 is dead
    found = dict(findings(archetypes([0.25] * 4, [0.2, 0.04, 0.08, 0.06], 0.02), NAMES))
    assert found["Hardly any pure samples"].startswith("Hardly any sample is pure")
    assert "by 7.0% of the angle" in found["Hardly any pure samples"]
    assert set(found) == {"Hardly any pure samples", "Dead part", "Zero columns"}
    assert set(dict(findings(archetypes([0.02] * 4, [0.05] * 4, np.inf), NAMES))) == {"Dead part", "Zero columns"}


def test_parts_outside_of_all_samples_are_told():
    facts = archetypes([0.25] * 4, [0.2, 0.04, 0.08, 0.06], 0.02)
    facts = replace(facts, support=replace(facts.support, refined=True), scattering="not scattered", colour=4.2)
    found = dict(findings(facts, NAMES))
    assert "smallest simplex around the samples" in found["Hardly any pure samples"]
    assert "not scattered enough" in found["Other parts may fit too"]
    assert "4.2 times as large" in found["Noise is not white"]


def test_samples_of_one_part_each_are_told():
    facts = archetypes([0.25] * 4, [0.0] * 4, np.inf)
    assert "One part a sample" not in dict(findings(facts, NAMES))
    found = dict(findings(replace(facts, support=replace(facts.support, pure=True)), NAMES))
    assert "the means of all samples that are next to them" in found["One part a sample"]


def test_samples_like_none_of_the_parts_are_told():
    facts = archetypes([0.25] * 4, [0.0] * 4, np.inf)
    assert "Samples like none of the parts" not in dict(findings(facts, NAMES))
    found = dict(findings(replace(facts, support=replace(facts.support, unlike=0.025)), NAMES))
    assert found["Samples like none of the parts"].startswith("2.5% of the samples")


def test_many_archetypes_may_each_be_small():
    k = 60
    model = pw.Archetypes(k)
    model.components_, model.n_components_, model.n_features_in_ = np.eye(k), k, k
    model.mass_, model.moved_, model.rival_ = np.full(k, 1 / k), np.zeros(k), np.inf
    assert findings(gather(model, pw.open_source(np.eye(k))), NAMES) == []
    model.mass_[7] = 0.4 / k
    ((heading, text),) = findings(gather(model, pw.open_source(np.eye(k))), NAMES)
    assert (heading, text.partition(" (")[0]) == ("Parts of few samples", "Part 8")


def test_other_methods_doubt_nothing():
    assert gather(with_components(H), pw.open_source(X)).support is None


def test_map_is_binned_by_means():
    shares = np.zeros((1000, 2), np.float32)
    shares[::2, 0] = 1.0
    shares[1::2] = [0.25, 0.75]
    found = weights_map(shares, most=10)
    np.testing.assert_allclose(found, [[1, 0]] * 5 + [[0.25, 0.75]] * 5)


def test_map_leaves_samples_without_weights_out():
    assert weights_map(np.zeros((5, 3), np.float32)).shape == (0, 3)
    weights = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    facts = gather(with_components(H), pw.open_source(X[:3] + 1.0), weights)
    assert len(facts.weights_map) == 2
    found = maps.weights_map(facts, 2)
    assert found is not None
    assert not found["binned"]


def test_course_of_an_iterative_method():
    _, rows = mixtures(60, 20, 3)
    with pytest.warns(UserWarning, match="max_iter=2") as told:
        model = pw.HALS(3, max_iter=2, random_state=0).fit(rows)
    found = course(model)
    assert (found.n_iter, found.converged, found.stop.kind) == (2, False, "max_iter")
    assert [name for name, _, _ in found.curves] == ["Objective", "KKT residual"]
    np.testing.assert_array_equal(found.curves[0][1], [0, 1, 2])
    np.testing.assert_array_equal(found.curves[0][2], model.history_["objective"])
    (heading, text), *others = findings(
        gather(model, pw.open_source(rows)), NAMES, ["another", *(warning.message for warning in told)]
    )
    assert others == [("", "another")]  # not twice the same
    assert heading == "Not converged"
    assert text.startswith("The limit of 2 iterations came first. The KKT residual was")


def test_a_residual_is_no_objective_besides():
    model = with_components(H)
    model.history_ = {"n_iter": [0, 1, 2], "objective": [np.nan, 2.0, 1.0], "residual": [np.nan, 2.0, 1.0]}
    ((name, x, y),) = course(model).curves
    assert (name, x.tolist(), y.tolist()) == ("Residual", [1.0, 2.0], [2.0, 1.0])


def test_large_samples_that_hide_the_others():
    rows = np.array([[1000.0, 0.0], [0.0, 1.0], [0.1, 1.0], [0.0, 2.0]])
    ((heading, text),) = findings(gather(with_components([[1.0, 0.0]]), pw.open_source(rows)), NAMES)
    assert heading == "A few large samples dominate"
    assert text.startswith(
        "They make the error small, but of 3 samples (75.0%) less than half is explained: row 1, row 3"
    )


def test_course_of_a_direct_method():
    found = course(with_components(H))
    assert (found.n_iter, found.seconds, found.converged, found.stop, found.curves) == (None, None, None, None, ())


def test_settings_are_what_differs_from_the_defaults():
    model = pw.HALS(3, init=np.ones((3, 4)), tol=1e-4, callbacks=[print])
    assert settings(model) == "HALS(n_components=3, init=<array of shape (3, 4)>, tol=0.0001)"


def test_facts_do_not_depend_on_the_partition():
    model, rows = mixtures(500, 30, 6)
    one, many = (gather(model, pw.open_source(rows, block_rows=size)) for size in (500, 37))
    assert [best.numbers.tolist() for best in one.best] == [best.numbers.tolist() for best in many.best]
    assert one.rows.worst.numbers.tolist() == many.rows.worst.numbers.tolist()
    np.testing.assert_array_equal(one.dominant, many.dominant)
    np.testing.assert_allclose(one.weights_map, many.weights_map, rtol=1e-5)


def test_facts_are_frozen():
    with pytest.raises(AttributeError):
        gather(with_components(H), pw.open_source(X)).method = "other"  # type: ignore[misc]
    assert Facts.__dataclass_params__.frozen


@pytest.mark.filterwarnings("ignore")
def test_zero_rows_are_not_set_aside_however_many_they_are() -> None:
    rng = np.random.default_rng(0)
    data = np.abs(rng.dirichlet(np.ones(3), 200) @ rng.random((3, 20)) + 0.02 * rng.standard_normal((200, 20)))
    data[::20] = 0.0
    model = pw.Facets(3, random_state=0).fit(data)
    assert len(model.odd_samples_) == 10
    for seen in (data, data[:50]):
        assert not len(gather(model, pw.open_source(seen)).odd)
