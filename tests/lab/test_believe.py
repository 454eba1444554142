"""The experiment on the number of parts: families, rivals, its table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partwise.lab import find_experiment, run_experiment
from partwise.lab.believe_families import FAMILIES
from partwise.lab.believe_table import BEGIN, END, insert, table
from partwise.lab.experiment import Found
from partwise.lab.measures import MEASURES
from partwise.lab.measures.believe import Counted
from partwise.lab.rivals import RIVALS

BELIEVE = find_experiment("believe")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_a_function_of_its_seed(family):
    one, again, other = family.drawn(3), family.drawn(3), family.drawn(4)
    assert np.array_equal(one.X, again.X)
    assert one.X.shape != other.X.shape or not np.array_equal(one.X, other.X)
    assert np.isfinite(one.X).all()
    assert one.strength > 0.0


@pytest.mark.parametrize("name", [name for name in RIVALS if name not in ("ARD", "cophenetic", "NMFk", "thinning")])
def test_rivals_count_what_is_plain(name: str):
    rng = np.random.default_rng(0)
    H = np.kron(np.eye(3), np.ones(8)) + 0.02
    X = rng.poisson(30.0 * rng.dirichlet(np.full(3, 0.15), 80) * rng.gamma(8.0, 0.2, (80, 1)) @ H).astype(float)
    k = RIVALS[name][0](X, 0)
    assert abs(k - 3) <= 1 or name == "Gavish-Donoho"  # whose threshold is for noise of one size


def test_measures_of_a_number():
    problem = Counted(np.ones((3, 3)), 4, most=5)
    sure = Found(np.zeros((0, 3)), facts={"k": 6, "low": 6, "high": 6, "verdict": "decided"})
    values = {name: MEASURES[name].of(problem, sure) for name in BELIEVE.measures if name.startswith("k_")}
    expected = {"k_exact": 0, "k_near": 1, "k_over": 1, "k_none": 0, "k_covers": 0, "k_decides": 1}
    assert values == expected | {"k_decided_right": 0, "k_detectable": 1}
    unsure = Found(np.zeros((0, 3)), facts={"k": None, "low": 2, "high": None, "verdict": "undecided"})
    assert MEASURES["k_covers"].of(problem, unsure) == MEASURES["k_none"].of(problem, unsure) == 1.0
    assert np.isnan(MEASURES["k_decided_right"].of(problem, unsure))


def test_the_table_of_a_run(tmp_path: Path):
    methods = ["choose_k", "choose_k without halves", "Onatski", "MDL"]
    result = run_experiment(BELIEVE, tmp_path, size="tiny", seeds=1, methods=methods)
    assert not [row for row in result.table if "failure" in row]
    row = result.table.where(method="choose_k")[0]
    assert (row["k"], row["verdict"]) == (2, "decided")
    rows = [dict(row) | {"group": "independent, used"} for row in result.table]
    rows += [dict(row) | {"group": "real", "case": "set"} for row in rows]
    result = replace(result, table=type(result.table)(rows))
    text = table(result)
    assert "**Sure and wrong**: none." in text
    assert "| `choose_k` | 1.00 (0.00) | – | – | – |" in text
    assert insert(f"a\n{BEGIN}old\n{END}b\n", [result]) == f"a\n{BEGIN}\n{text}\n{END}b\n"
    assert insert("no marks", [result]) == "no marks"
