"""Text that can be read in two ways is refused until it is told which; what is told is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import ReaderError

CASES = [
    ("s;a;b;c\nA;3;4;2,5\nB;1;2;3,25\nC;5;6;7,75\n", "delimiter", ";", [[3, 4, 2.5], [1, 2, 3.25], [5, 6, 7.75]]),
    ("1,234;5,678\n2,500;3,750\n", "decimal", ",", [[1.234, 5.678], [2.5, 3.75]]),
    ("1E1,3,4\n1E2,5,6\n", "row_names", True, [[3, 4], [5, 6]]),
    ("1E1,3,4\n1E2,5,6\n", "row_names", False, [[10, 3, 4], [100, 5, 6]]),
    ("x,1E1,1E2\ny,5,6\n", "header", True, [[5, 6]]),
]


@pytest.mark.parametrize(("text", "option", "value", "wanted"), CASES, ids=[f"{c[1]}={c[2]}" for c in CASES])
def test_what_is_ambiguous_is_asked_for(tmp_path: Path, text: str, option: str, value: Any, wanted: list[list[float]]):
    (tmp_path / "a.csv").write_text(text)
    told = {"delimiter": ";"} if option == "decimal" else {}
    with pytest.raises(ReaderError) as caught:
        pw.read(tmp_path / "a.csv", **told)
    assert caught.value.parameter == option
    if option == "row_names":
        told["header"] = False
    np.testing.assert_array_equal(pw.read(tmp_path / "a.csv", **told, **{option: value}).X, wanted)


def test_points_among_decimal_commas_are_refused(tmp_path: Path):
    (tmp_path / "a.csv").write_text("1.234;5,6;7,1\n2;3,5;4,5\n")
    with pytest.raises(ReaderError, match=r"line 1: '1\.234' in column 1 is not a number, as decimals have a comma"):
        pw.read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "cells", [["5%", "3%"], ["1 234", "2 500"], ["True", "False"], ["1.5D+03", "2"], ["\u22121", "3"]]
)
def test_numbers_that_are_written_otherwise_are_not_taken_for_names(tmp_path: Path, cells: list[str]):
    (tmp_path / "a.csv").write_text(f"a,b\n{cells[0]},2\n{cells[1]},4\n", encoding="utf-8")
    with pytest.raises(ReaderError, match=r"line 2: .* may be a name, or a number") as caught:
        pw.read(tmp_path / "a.csv")
    assert caught.value.parameter == "row_names"
    assert pw.read(tmp_path / "a.csv", row_names=True).sample_names == cells


def test_decimal_commas_in_one_column_are_not_taken_for_names(tmp_path: Path):
    (tmp_path / "a.csv").write_text("a\n1,5\n7,25\n3,5\n")
    with pytest.raises(ReaderError, match="'1,5' may be a name and a number, or a number with a decimal comma"):
        pw.read(tmp_path / "a.csv")
    assert pw.read(tmp_path / "a.csv", delimiter=";", decimal=",").X.ravel().tolist() == [1.5, 7.25, 3.5]
    assert pw.read(tmp_path / "a.csv", row_names=True).X.ravel().tolist() == [5, 25, 5]
    (tmp_path / "a.csv").write_text("a\n1,5\n2,25\n3,5\n")  # as R counts rows
    assert pw.read(tmp_path / "a.csv").sample_names == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a,b\n1e-5,2\n3,4\n", [[1e-5, 2], [3, 4]]),
        ("name\ta\tb\nSample 1\t2\t3\nSample 2\t4\t5\n", [[2, 3], [4, 5]]),
        ("a;b\n0,125;2\n3;4\n", [[0.125, 2], [3, 4]]),
        ("gene,a\nNAN,1\nTP53,2\n", [[1], [2]]),
    ],
    ids=["exponent", "blanks", "decimal-comma", "nan-gene"],
)
def test_what_is_plain_is_read(tmp_path: Path, text: str, wanted: list[list[float]]):
    (tmp_path / "a.csv").write_text(text)
    np.testing.assert_array_equal(pw.read(tmp_path / "a.csv").X, wanted)
