"""The program ``partwise rank``, and ``partwise fit`` without a number of parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.helpers import manifest

Program = Callable[..., tuple[str, str]]


@pytest.fixture
def table(program: Program) -> str:
    rng = np.random.default_rng(0)
    means = 20.0 * rng.gamma(0.5, size=(120, 3)) @ rng.gamma(0.5, size=(3, 30))
    np.savetxt("counts.csv", rng.poisson(means), fmt="%d", delimiter=",")
    return "counts.csv"


def test_the_answer_is_told_with_its_table(program: Program, table: str) -> None:
    out, _ = program("rank", table, "--no-halves")
    assert out.startswith("3 parts: so many stand above the noise, which is independent")
    assert "looks like counting noise" in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith(">")] == ["3"]
    told = json.loads(program("rank", table, "--no-halves", "--json")[0])
    assert (told["k"], told["low"], told["high"], told["verdict"]) == (3, 3, 3, "decided")
    assert told["table"][0]["least"] is None  # halves were not fitted


def test_samples_unlike_all_others_are_told(program: Program, table: str) -> None:
    X = np.loadtxt(table, delimiter=",")
    X[17] = 1000.0 * (np.arange(30) % 7 == 3)
    np.savetxt(table, X, fmt="%d", delimiter=",")
    told = " ".join(program("rank", table, "--no-halves")[0].split())
    assert told.count("sample 17") == told.count("unlike all others") == 1
    lines = Path(table).read_text().splitlines()
    Path(table).write_text("\n".join(f"mouse {i},{line}" for i, line in enumerate(lines)))
    told = " ".join(program("rank", table, "--no-halves", "--no-header")[0].split())
    assert told.count("mouse 17") == told.count("unlike all others") == 1
    assert "sample 17" not in told


def test_of_incomplete_data_entries_that_are_left_out_decide(program: Program) -> None:
    rng = np.random.default_rng(0)
    X = rng.gamma(0.4, size=(90, 3)) @ rng.gamma(0.4, size=(3, 20)) + 0.01 * rng.random((90, 20))
    X[rng.random(X.shape) < 0.2] = np.nan
    np.savetxt("holes.csv", X, fmt="%.5f", delimiter=",")
    assert "--missing nan" in program("rank", "holes.csv", code=2)[1]
    out, _ = program("rank", "holes.csv", "--missing", "nan", "--most", 5)
    assert out.startswith("3 parts: entries that were left out are predicted best with so many")
    assert "noise looks like was not measured" in out
    assert "nan" not in out
    assert "--preprocess" in program("rank", "holes.csv", "--missing", "nan", "--preprocess", "log1p", code=2)[1]
    program("fit", "holes.csv", "--missing", "nan", "-o", "out", "-q")
    assert (manifest("out")["job"]["method"], manifest("out")["parameters"]["n_components"]) == ("parts", 3)
    assert manifest("out")["noise"]["sentence"].startswith("not measured")
    assert len(manifest("out")["verdicts"]) == 3


def test_a_folder_keeps_what_is_finished(program: Program, table: str) -> None:
    program("rank", table, "-o", "out", "-q")
    assert {path.name for path in Path("out").iterdir()} == {"table.csv", "rank.svg", "cells.jsonl", "manifest.json"}
    cells = Path("out/cells.jsonl").read_bytes().splitlines(keepends=True)
    Path("out/cells.jsonl").write_bytes(b"".join(cells[:-2]))
    before = Path("out/table.csv").read_text()
    assert "--resume" in program("rank", table, "-o", "out", code=2)[1]
    assert "seed was 0" in program("rank", table, "-o", "out", "--resume", "--seed", 1, code=2)[1]
    program("rank", table, "-o", "out", "--resume", "-q")
    again = Path("out/cells.jsonl").read_bytes().splitlines(keepends=True)
    assert again[:-2] == cells[:-2]
    assert len(again) == len(cells)

    def without_time(text: str) -> list[str]:
        return [line.rpartition(",")[0] for line in text.splitlines()]

    assert without_time(Path("out/table.csv").read_text()) == without_time(before)
    assert manifest("out")["choice"]["k"] == 3


def test_fit_without_a_number_takes_the_one_that_is_chosen(program: Program, table: str) -> None:
    out, _ = program("fit", table, "-m", "spa", "-o", "out")
    assert "3 parts: so many stand above the noise" in out
    told = json.loads(program("fit", table, "-m", "spa", "-o", "again", "--json", "-q")[0])
    assert told["choice"]["verdict"] == "decided"
    assert len(told["verdicts"]) == 3
    found = manifest("out")
    assert (found["choice"]["k"], found["parameters"]["n_components"], found["fit"]["n_components"]) == (3, 3, 3)
    assert found["job"]["k"] is None


def test_fit_says_that_it_cannot_be_told(program: Program) -> None:
    np.savetxt("noise.csv", np.random.default_rng(0).standard_normal((50, 12)), delimiter=",")
    _, error = program("fit", "noise.csv", "-m", "spa", "-o", "out", code=2)
    assert "the number of parts cannot be told; at least 1" in error
    assert "give it with -k" in error
    assert not Path("out").exists()
