"""The statistics of the TSVDNMF experiments on the published tables themselves; its data against what they must be."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.lab import Measurements, Reproduction, find_experiment, tsvdnmf, tsvdnmf_texts
from partwise.lab.contenders import CONTENDERS
from partwise.lab.contenders.heavy import strict_constants
from partwise.lab.experiment import Found, Problem
from partwise.lab.measures import MEASURES
from partwise.lab.tsvdnmf_noise import strict_data


def published(name: str, **columns: str) -> Reproduction:
    """A result in which every method has the numbers that are published for it."""
    experiment = find_experiment(name)
    rows: dict[tuple[str, str], dict] = {}
    for column in columns.values():
        for method, cells in experiment.published(column).items():
            for case, value in cells.items():
                rows.setdefault((method, case), {"method": method, "case": case, "seed": 0})[column] = value
    return Reproduction(experiment, Measurements(rows.values()), Measurements(()), {})


def verdicts(result: Reproduction) -> dict:
    return {judgement.claim.id: judgement for judgement in result.verdicts()}


def test_the_published_table_2_meets_its_own_words() -> None:
    found = verdicts(published("tsvdnmf-table2", column="score"))
    assert found["gain-program"].literal.value == pytest.approx(27.6, abs=0.05)  # 27.4 in the text
    assert found["gain-program"].literal.good
    assert found["ahead-everywhere-program"].literal.value == 11
    assert found["er-spa-ahead-at-first-program"].literal.value == pytest.approx(0.8, abs=0.05)
    assert found["above-spa-gillis-lp"].literal.good
    assert found["above-spa-er-spa-features"].literal.good
    assert found["negative-dominant"].literal.good
    # and where the words are not what the table says
    assert not found["negative-separable"].literal.good
    assert "tsvdnmf" not in found["negative-separable"].literal.why


def test_the_published_table_3_meets_its_own_words() -> None:
    found = verdicts(published("tsvdnmf-table3", column="nmi"))
    assert found["ahead-on-texts-program"].literal.value == pytest.approx(36.0, abs=0.05)  # "at least 33%"
    assert found["ahead-on-texts-program"].literal.good
    assert found["ahead-on-faces-program"].literal.value == pytest.approx(5.95, abs=0.05)  # 6.6% in the text
    assert found["ahead-on-faces-program"].literal.good


def test_a_gain_over_nothing_is_none() -> None:
    rows = [{"case": "a", "method": "spa", "score": -0.1}, {"case": "a", "method": "ours", "score": 0.2}]
    rows += [{"case": "b", "method": "spa", "score": 0.4}, {"case": "b", "method": "ours", "score": 0.5}]
    result = Reproduction(find_experiment("tsvdnmf-table2"), Measurements(rows), Measurements(()), {})
    assert tsvdnmf.relative_gain(result, "ours", "score", ["a", "b"], ["spa"]) == pytest.approx(25.0)
    assert np.isnan(tsvdnmf.relative_gain(result, "ours", "score", ["a"], ["spa"]))


def test_published_numbers_stand_where_each_side_is_judged() -> None:
    numbers = find_experiment("tsvdnmf-table3").published("nmi")
    assert numbers["tsvdnmf-literal"]["tdt2"] == numbers["tsvdnmf"]["tdt2, our preparation"] == 0.708
    assert "tdt2" not in numbers["tsvdnmf"]


def test_preparation_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that occur five times, tf log(n / df), and nothing else."""
    counts = sp.csr_array(np.array([[4, 1, 0, 2], [0, 5, 0, 2], [0, 0, 3, 2]]))
    loaded = type("Loaded", (), {"X": counts, "labels": np.arange(3)})
    monkeypatch.setattr(tsvdnmf_texts.datasets, "load_tdt2", lambda: loaded)
    tsvdnmf_texts._counted.cache_clear()
    X, labels = tsvdnmf_texts.records("tdt2")
    tsvdnmf_texts._counted.cache_clear()
    np.testing.assert_allclose(X.toarray(), np.array([[1, 2], [5, 2], [0, 2]]) * [np.log(3 / 2), 0.0])
    assert labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("k", [2, 3])
def test_theorem_1_holds_on_its_data_and_not_with_more_noise(k: int) -> None:
    problem = strict_data(k, None, 0)
    found = CONTENDERS["tsvdnmf-theorem"].run(problem, 0, None)
    assert found.facts["theorem_1"] == 1.0
    assert MEASURES["basis_l1"].of(problem, found) <= strict_constants(k).eps0
    more = strict_data(k, 1e-3, 0)
    assert MEASURES["record_noise"].of(more, found) == pytest.approx(1e-3)
    assert CONTENDERS["tsvdnmf-theorem"].run(more, 0, None).facts["theorem_1"] == 0.0
    # the mean record, and nothing at all, are not within eps0
    for trivial in (CONTENDERS["mean-record"].run(problem, 0, None), Found(0.0 * found.components)):
        assert MEASURES["basis_l1"].of(problem, trivial) > strict_constants(k).eps0


def test_the_largest_l1_error_is_of_the_best_order() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = Problem(truth, 2, truth=truth)
    assert MEASURES["basis_l1"].of(problem, Found(np.array([[0.1, 0.9], [1.0, 0.0]]))) == pytest.approx(0.2)
    assert MEASURES["basis_l1"].of(problem, Found(truth[:1])) == 1.0


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
def test_exact_vectors_agree_with_themselves() -> None:
    case = find_experiment("tsvdnmf-sketch").cases("tiny")[0]
    problem = case.make(0)
    facts = CONTENDERS["svd-arpack"].run(problem, 0, None).facts
    assert facts["agreement"] == pytest.approx(1.0)
    assert facts["alignment"] == pytest.approx(1.0)
    assert CONTENDERS["svd-hundredth"].run(problem, 0, None).facts["alignment"] < 0.9
