"""The truth benchmark takes up every data set, every method of ours and every peer, and measures what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partwise.estimators.catalog import METHODS
from partwise.lab import find_experiment, peers, truths
from partwise.lab.collect import files_of
from partwise.lab.contenders import CONTENDERS, ours
from partwise.lab.experiment import Contender, Found, Problem
from partwise.lab.markdown import insert, marks
from partwise.lab.measures import MEASURES
from partwise.lab.peers.base import peer
from partwise.lab.run import run_experiment
from partwise.lab.truth_table import table
from partwise.lab.truths.base import KINDS, classes_by_parts, matched_parts, matched_proportions

TRUTH = find_experiment("truth")
H = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 2.0]])
P = np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]])
MIXED = Problem((P / H.sum(axis=1)) @ H, 2, truth=H, weights=P)


def factors(W: np.ndarray, parts: np.ndarray = H) -> Found:
    return Found(parts, weights=W)


def test_every_method_of_the_catalog_and_every_peer_takes_part():
    assert [one.name for one in ours.OURS] == [method.estimator for method in METHODS.values()]
    assert set(TRUTH.methods) == {one.name for one in (*ours.OURS, ours.ALONE)} | set(peers.PEERS)
    assert set(TRUTH.methods) <= set(CONTENDERS)


@pytest.mark.parametrize("package", [truths, peers], ids=["data", "peers"])
def test_every_file_is_taken_up(package):
    files = {path.stem for path in Path(package.__file__).parent.glob("*.py")} - {"__init__", "base"}
    assert set(files_of(package.__name__)) == files
    assert {path.stem for path in Path(package.__file__).parent.glob("*.py")} >= {"base"}


def test_every_data_set_has_a_kind_and_is_a_case():
    assert {truth.kind for truth in truths.TRUTHS.values()} == set(KINDS)
    assert [case.name for case in TRUTH.cases("full")] == list(truths.TRUTHS)
    assert all(set(kind.measures) <= set(MEASURES) for kind in KINDS.values())
    quick = {case.name.removesuffix(", a part") for case in TRUTH.cases("quick")}
    assert quick == {truth.name for truth in truths.TRUTHS.values() if truth.quick}
    for case in TRUTH.cases("full"):
        kind = case.at["kind"]
        made_for_others = {name for name, one in CONTENDERS.items() if one.kinds and kind not in one.kinds}
        assert set(case.skip) == made_for_others


def test_proportions_are_matched_and_of_all_that_was_counted():
    exact = factors((P / H.sum(axis=1))[:, ::-1] * [10.0, 1.0], H[::-1] / [[10.0], [1.0]])
    assert MEASURES["proportion_error"].of(MIXED, exact) == pytest.approx(0.0)
    np.testing.assert_allclose(matched_proportions(MIXED, exact), P)
    own = Found(H, weights=np.ones((3, 2)), proportions=lambda: P + [0.1, 0.1])
    assert MEASURES["proportion_error"].of(MIXED, own) == pytest.approx(np.abs(own.proportions() / 1.2 - P).mean())
    nothing = factors(np.zeros((3, 2)))
    assert MEASURES["proportion_error"].of(MIXED, nothing) == pytest.approx(np.abs(P - 0.5).mean())


def test_signatures_count_what_is_found_and_what_is_too_much():
    f1 = MEASURES["signature_f1"].of
    assert f1(MIXED, factors(P)) == 1.0
    assert f1(MIXED, factors(P, np.vstack([H, [[1.0, 1.0, 0.0]]]))) == pytest.approx(0.8)
    assert f1(MIXED, factors(P, np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))) == pytest.approx(0.5)


def test_pictures_are_in_the_order_of_the_truth():
    np.testing.assert_allclose(matched_parts(MIXED, factors(P, 3.0 * H[::-1])), H)
    texts = Problem(MIXED.X, 2, labels=np.array(["b", "a", "b"]))
    np.testing.assert_array_equal(classes_by_parts(texts, None), [[2, 0], [0, 1]])
    np.testing.assert_array_equal(
        classes_by_parts(texts, factors(np.array([[0, 1], [1, 0], [0, 1]]))), [[2, 0], [0, 1]]
    )


def test_a_peer_is_told_k_and_given_what_it_wants():
    seen = {}

    def solve(X, k, seed):
        seen.update(X=X, k=k, seed=seed, random=np.random.random())  # noqa: NPY002
        print("loud")
        return None, H

    one = peer("one", "", solve, needs="numpy", counts=True, dense=True, most=9)
    problem = replace(MIXED, counts=np.full((3, 3), 2.0))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    found = one.run(problem, 5, None)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert (seen["k"], seen["seed"], seen["X"][0, 0]) == (2, 5, 2.0)
    assert seen["random"] == np.random.RandomState(5).random_sample()
    assert found.facts["processor_seconds"] >= 0.0
    with pytest.raises(ValueError, match="not run: more than 9 entries"):
        one.run(replace(MIXED, X=np.ones((3, 4))), 0, None)


def test_what_is_not_installed_is_told_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, needs in (("absent", "no_such_library"), ("part", "numpy.no_such_part"), ("neither", "no_such.part")):
        monkeypatch.setitem(CONTENDERS, name, Contender(name, "", lambda *_: factors(P), needs=needs))
        assert not CONTENDERS[name].installed
    experiment = replace(TRUTH, timed=False)
    result = run_experiment(experiment, tmp_path, size="tiny", seeds=1, methods=["SPA", "absent"])
    assert result.table.distinct("method") == ["SPA"]
    assert result.manifest["absent"] == {"absent": "no_such_library"}
    assert "<b>Not installed:</b> absent (no_such_library)" in (tmp_path / "index.html").read_text()


def test_a_measure_of_another_kind_is_not_measured(tmp_path: Path):
    result = run_experiment(replace(TRUTH, timed=False), tmp_path, size="tiny", seeds=1, methods=["SPA", "XRAY"])
    assert np.isfinite(result.table.mean("angle"))
    assert np.isnan(result.table.mean("nmi"))
    assert result.kept("toy", "truth", 0) is not None
    assert not [row["failure"] for row in result.table if row.get("failure")]


def test_the_table_of_a_run(tmp_path: Path):
    methods = ["SPA", "XRAY", "trivial-constant"]
    result = run_experiment(replace(TRUTH, timed=False), tmp_path, size="tiny", seeds=1, methods=methods)
    result = replace(result, manifest={**result.manifest, "size": "quick"})
    text = table(result)
    best = min(result.table.mean("angle", method=name) for name in methods[:2])
    assert text.splitlines()[0] == "|  | toy |"
    assert f"**{best:.2f}**<br><small>" in text
    assert "| trivial-constant |" in text
    begin, end = marks("truth")
    page = f"before\n{begin}old\n{end}after\n"
    assert insert(page, "truth", text) == f"before\n{begin}\n{text}\n{end}after\n"
    assert insert(page, "another", text) == page
    assert insert(page, "truth", "") == f"before\n{begin}{end}after\n"
