"""Tables as other programs write them: read right, or asked about; never wrong in silence."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import partwise as pw
from partwise.exceptions import InputError, ReaderError
from partwise.io.suspicions import suspicions

RNG = np.random.default_rng(0)
X = (RNG.gamma(0.5, size=(30, 3)) @ RNG.gamma(0.5, size=(3, 8)) + 0.001).round(3)
WHOLE = (1e4 * X).astype(int)
F = [f"f{j}" for j in range(8)]
S = [f"s{i}" for i in range(30)]
HEAD = ["id", *F]
ROWS = [[name, *row] for name, row in zip(S, X.tolist(), strict=True)]
CODES = [int(one) for one in RNG.permutation(900)[:30] + 1000]


def text(*rows: Sequence[object], between: str = ",") -> str:
    return "\n".join(between.join(map(str, row)) for row in rows) + "\n"


def named(cell: Any, values: Any = X) -> list[list[object]]:
    return [[name, *map(cell, row)] for name, row in zip(S, values.tolist(), strict=True)]


def comma(value: object) -> str:
    return str(value).replace(".", ",")


READ: dict[str, tuple[str, Any]] = {
    "a mark of order of bytes, ends of lines, semicolons and commas of Windows": (
        "\ufeff" + text(HEAD, *named(comma), between=";").replace("\n", "\r\n"),
        X,
    ),
    "decimal commas in quotes between commas": (text(HEAD, *named(lambda v: f'"{comma(v)}"')), X),
    "delimiters at the ends of lines": (text([*HEAD, ""], *([*row, ""] for row in ROWS)), X),
    "delimiters at the ends of lines below the names": (text(HEAD, *([*row, ""] for row in ROWS)), X),
    "a delimiter at the end of the names": (text([*HEAD, ""], *ROWS), X),
    "delimiters at ends, where a number is missing": (
        text(HEAD, *([*row[:-1], "" if i == 3 else row[-1], ""] for i, row in enumerate(ROWS))),
        np.where(np.outer(np.arange(30) == 3, np.arange(8) == 7), np.nan, X),
    ),
    "units below the names": (text(HEAD, ["", *["mg/l"] * 8], *ROWS), X),
    "units, and no names of rows": (text(F, ["mg/l"] * 8, *(row[1:] for row in ROWS)), X),
    "percent as a unit": (text(HEAD, ["unit", *["%"] * 8], *ROWS), X),
    "a title": ("Experiment 12\n" + text(HEAD, *ROWS), X),
    "a title with delimiters": ("Experiment 12,,,,,,,,\n" + text(HEAD, *ROWS), X),
    "remarks of an instrument": ("Instrument: A\nDate,2024-01-01\n\n" + text(HEAD, *ROWS), X),
    "a title above wavelengths": ("Lamp 3\n" + text(["", *range(400, 480, 10)], *ROWS), X),
    "a title of Excel, and a line of nothing, above wavelengths": (
        "Lamp 3,,,,,,,,\n,,,,,,,,\n" + text(["id", *range(400, 480, 10)], *ROWS),
        X,
    ),
    "the line that tells Excel": ("sep=;\n" + text(HEAD, *ROWS, between=";"), X),
    "thousands of Switzerland": (text(HEAD, *named(lambda v: f"{v:,}".replace(",", "'"), WHOLE)), WHOLE),
    "thousands of France": (
        text(HEAD, *named(lambda v: f"{v:,}".replace(",", "\u202f"), WHOLE), between=";"),
        WHOLE,
    ),
    "thousands and decimals of Germany": (
        text(HEAD, *named(lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")), WHOLE), between=";"),
        WHOLE,
    ),
    "thousands and decimals of the United States": (text(HEAD, *named(lambda v: f'"{v:,.2f}"', WHOLE)), WHOLE),
    "dates": (text(["date", *F], *([f"2024-01-{i + 1:02}", *row[1:]] for i, row in enumerate(ROWS))), X),
    "numbers of patients": (text(["patient", *F], *([c, *row[1:]] for c, row in zip(CODES, ROWS, strict=True))), X),
    "numbers with zeros before them": (
        text(HEAD, *([f"{7 * i % 30:04}", *row[1:]] for i, row in enumerate(ROWS))),
        X,
    ),
    "names with quotes": (text(["id", '"5\'-nt ""x"", y"', '"a,b"', *F[2:]], *ROWS), X),
    "whole numbers beyond those of machines": (
        text(HEAD, *named(lambda v: v * 10**18, WHOLE)),
        WHOLE * 1e18,
    ),
}


@pytest.mark.parametrize("case", READ)
def test_they_are_read(tmp_path: Path, case: str):
    content, expected = READ[case]
    file = tmp_path / "a.csv"
    file.write_bytes(content.encode())
    table = pw.read(file)
    np.testing.assert_allclose(table.X, expected, rtol=1e-15)
    assert table.feature_names is not None
    assert len(table.feature_names) == len(set(table.feature_names)) == 8
    assert table.feature_names[-1] in ("f7", "470")
    above = case in ("a title", "a title with delimiters") or "Excel" in case or "remarks" in case
    assert any(note.startswith("left out above") for note in table.notes) >= above
    assert any(note.startswith("left out below") for note in table.notes) == ("unit" in case and "States" not in case)


ASKED = {
    "thousands or decimals, points": (
        text(HEAD, *named(lambda v: f"{v:,}".replace(",", "."), WHOLE), between=";"),
        "may have decimals or thousands",
        "decimal",
    ),
    "thousands or decimals, commas": (
        text(HEAD, *named(lambda v: f'"{v:,}"', 7 * WHOLE.clip(200))),
        "may have decimals or thousands",
        "decimal",
    ),
    "numbers of genes above": (
        text(CODES[:8], *(row[1:] for row in ROWS)),
        "whole numbers unlike the others",
        "header",
    ),
    "numbers of patients beside": (
        text(*([code, *row[1:]] for code, row in zip(CODES, ROWS, strict=True))),
        "whole numbers unlike the others",
        "row_names",
    ),
    "a class": (
        text([*HEAD, "species"], *([*row, "cat"] for row in ROWS)),
        r"column 10 \('species'\) holds text \('cat'\), not numbers",
        "drop",
    ),
    "truth values": (text([*HEAD, "sick"], *([*row, "TRUE"] for row in ROWS)), "as it is written", "drop"),
    "percent": (text(HEAD, *named(lambda v: f"{v}%")), "as it is written; write digits and a point alone", "drop"),
    "texts": (text([*HEAD, "body"], *([*row, "a text of five words"] for row in ROWS)), "holds text", "drop"),
    "limits of detection": (text(HEAD, *named(lambda v: v if v > 0.1 else "<0.1")), "what is not known is an", "drop"),
}


@pytest.mark.parametrize("case", ASKED)
def test_they_are_asked_about(tmp_path: Path, case: str):
    content, told, parameter = ASKED[case]
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ReaderError, match=told) as caught:
        pw.read(tmp_path / "a.csv")
    assert caught.value.parameter == parameter


def test_thousands_that_were_told(tmp_path: Path):
    (tmp_path / "a.csv").write_text(ASKED["thousands or decimals, points"][0])
    np.testing.assert_array_equal(pw.read(tmp_path / "a.csv", decimal=",").X, WHOLE)
    np.testing.assert_allclose(pw.read(tmp_path / "a.csv", decimal=".").X[WHOLE > 999], WHOLE[WHOLE > 999] / 1e3)
    (tmp_path / "a.csv").write_text(ASKED["thousands or decimals, commas"][0])
    np.testing.assert_array_equal(pw.read(tmp_path / "a.csv", decimal=".").X, 7 * WHOLE.clip(200))


@pytest.mark.parametrize("between", [",", "\t", ";"])
def test_columns_of_text_that_are_dropped(tmp_path: Path, between: str):
    rows = [[row[0], "chr1", *row[1:], "a; b, c".replace(between, " ")] for row in ROWS]
    (tmp_path / "a.txt").write_text(text(["gene", "chr", *F, "remark"], *rows, between=between))
    for transpose in (False, True):
        table = pw.read(tmp_path / "a.txt", drop="chr,rem*", transpose=transpose)
        np.testing.assert_array_equal(table.X, X.T if transpose else X)
        assert (table.feature_names, table.sample_names) == ((S, F) if transpose else (F, S))
    assert pw.read(tmp_path / "a.txt", drop=["chr", "remark", "f3"]).feature_names == F[:3] + F[4:]
    with pytest.raises(ReaderError, match=r"column 11 \('remark'\) holds text"):  # as the file has it
        pw.read(tmp_path / "a.txt", drop="chr")
    with pytest.raises(InputError, match=r"drop: there is no feature 'remarks'; did you mean|there are 'f0'"):
        pw.read(tmp_path / "a.txt", drop="chr,remark,remarks")


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path: Path, end: str):
    columns = {"A[C>A]A": [1.0, 2.0], "A[C>A]*": [3.0, 4.0], "AC?": [5.0, 6.0], "ACT": [7.0, 8.0]}
    frame = polars.DataFrame({"id": ["s1", "s2"], **columns})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    file = tmp_path / f"a.{end}"
    assert pw.read(file, drop="A[C>A]*").feature_names == ["A[C>A]A", "AC?", "ACT"]
    assert pw.read(file, drop="AC?").feature_names == ["A[C>A]A", "A[C>A]*", "ACT"]
    assert pw.read(file, drop="AC*").feature_names == ["A[C>A]A", "A[C>A]*"]
    assert pw.read(file, drop="*]A,ACT").feature_names == ["A[C>A]*", "AC?"]


@pytest.mark.parametrize("drop", ["a", "a,c"])
def test_one_feature_may_be_left(tmp_path: Path, drop: str):
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,x\n3,4,y\n" if "c" in drop else "a,b\n1,2\n3,4\n")
    table = pw.read(tmp_path / "a.csv", drop=drop)
    assert (table.X.tolist(), table.feature_names, table.sample_names) == ([[2.0], [4.0]], ["b"], None)


@pytest.mark.parametrize("first", ["id,a,b\n1,1.5,2\n2,3,4\n", "name,a,b\nx,1,2\ny,3,4\n", "a,b\nx,1,2\ny,3,4\n"])
def test_names_of_samples_are_no_feature_that_is_left(tmp_path: Path, first: str):
    (tmp_path / "a.csv").write_text(first)
    with pytest.raises(ReaderError, match="leaves no feature"):
        pw.read(tmp_path / "a.csv", drop=["a", "b"])


@pytest.mark.parametrize("cell", ["ND", "<0.1", "low"])
def test_a_first_sample_of_which_nothing_is_known_is_no_line_of_units(tmp_path: Path, cell: str):
    (tmp_path / "a.csv").write_text(f"n,a,b\nx,{cell},{cell}\ny,3,4\nz,4,5\n")
    with pytest.raises(ReaderError, match=f"line 2: '{cell}' in column 2 \\('a'\\) is not a number"):
        pw.read(tmp_path / "a.csv")
    for first in ("", "unit", "[Units]"):
        (tmp_path / "a.csv").write_text(f"n,a,b\n{first},{cell},{cell}\ny,3,4\nz,4,5\n")
        assert pw.read(tmp_path / "a.csv").sample_names == ["y", "z"]


def test_ends_of_lines_that_may_be_a_column_are_told(tmp_path: Path):
    told = "left out: an empty last column, which the line of names lacks"
    for head in ("n,a,b", "n,a,b,"):
        (tmp_path / "a.csv").write_text(f"{head}\nx,1,2,\ny,3,4,\n")
        table = pw.read(tmp_path / "a.csv")
        assert table.feature_names == ["a", "b"]
        assert (told in table.notes) == (head[-1] != ",")


def test_a_line_that_lacks_a_cell_is_not_taken_for_one_without_the_column(tmp_path: Path):
    (tmp_path / "a.csv").write_text(text(HEAD, *ROWS[:5], ROWS[5][1:], *ROWS[6:]))
    with pytest.raises(ReaderError, match="line 7: 8 cells, but 9 in other lines"):
        pw.read(tmp_path / "a.csv", drop="id")


def test_features_of_any_format_are_dropped(tmp_path: Path):
    pl = pytest.importorskip("polars")
    pl.DataFrame(X, schema=F).write_parquet(tmp_path / "a.parquet")
    assert pw.read(tmp_path / "a.parquet", drop="f0,f7").feature_names == F[1:7]


SUSPECTED = {
    "a mean": ([*HEAD, "mean"], [[*row, round(float(np.mean(row[1:])), 4)] for row in ROWS], "is the mean of all oth"),
    "a total first": (["id", "all", *F], [[row[0], sum(row[1:]), *row[1:]] for row in ROWS], "'all' is the sum of all"),
    "a total below": (HEAD, [*ROWS, ["Total", *X.sum(axis=0).round(2)]], "sample 'Total' is the sum of all others"),
    "a code below zero": (HEAD, named(lambda v: v if v > 0.1 else -999), "entries are -999, and none else is negative"),
    "a large code": (HEAD, named(lambda v: v if v > 0.1 else 9999), "entries are 9999, and none else is above"),
    "places": (["id", "x", "y", *F], [[r[0], i % 6, i / 6, *r[1:]] for i, r in enumerate(ROWS)], "'x', 'y' among the"),
    "patients": (["patient", *F], [[i // 3, *row[1:]] for i, row in enumerate(ROWS)], "'patient' among the features"),
    "entries": (
        ["user", "film", "stars"],
        [[i, j, 1 + (i * j) % 5] for i in range(30) for j in range(8)],
        "parts need a line a sample",
    ),
}


@pytest.mark.parametrize("case", SUSPECTED)
def test_what_looks_like_a_mistake_is_said(tmp_path: Path, case: str):
    head, rows, told = SUSPECTED[case]
    (tmp_path / "a.csv").write_text(text(head, *rows))
    assert any(told in one.told() for one in suspicions(pw.read(tmp_path / "a.csv")))


def test_nothing_of_it_is_said_of_good_numbers(tmp_path: Path):
    (tmp_path / "a.csv").write_text(text(HEAD, *ROWS))
    assert suspicions(pw.read(tmp_path / "a.csv")) == []
    for numbers in (
        np.outer(np.ones(30), X[0]),
        X - X.mean(),
        (X > 0.5).astype(float),
        np.where(X > 2.0, 99.0, 40.0 * X),
        WHOLE % 1000,
    ):
        found = suspicions(pw.io.Table(numbers))
        assert {one.kind for one in found} <= {"depth", "uneven"}


def test_the_index_of_pandas_names_the_rows_of_parquet(tmp_path: Path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for index in (S, pd.Index(S, name="cell"), pd.Index(CODES)):
        pd.DataFrame(X, index=index, columns=F).to_parquet(tmp_path / "a.parquet")
        table = pw.read(tmp_path / "a.parquet")
        assert (table.feature_names, table.sample_names) == (F, list(map(str, index)))
    pd.DataFrame(X, columns=F).to_parquet(tmp_path / "a.parquet")
    assert pw.read(tmp_path / "a.parquet").sample_names is None


def test_an_index_of_several_columns_is_asked_about(tmp_path: Path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    index = pd.MultiIndex.from_arrays([[1, 1, 2, 2], [5, 6, 7, 8]], names=["patient", "visit"])
    pd.DataFrame(X[:4], columns=F, index=index).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ReaderError, match="its index has several columns \\(patient, visit\\); drop leaves out"):
        pw.read(tmp_path / "a.parquet")
    table = pw.read(tmp_path / "a.parquet", drop="patient")
    assert (table.feature_names, table.sample_names) == (F, ["5", "6", "7", "8"])
    assert pw.read(tmp_path / "a.parquet", drop=["patient", "visit"]).feature_names == F


def test_columns_of_parquet_that_are_no_numbers(tmp_path: Path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(X, schema=F).with_columns(pl.lit("cat").alias("species"), pl.date(2024, 1, 1).alias("day"))
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ReaderError, match="column 'species' holds text, not numbers; drop leaves it out"):
        pw.read(tmp_path / "a.parquet")
    with pytest.raises(ReaderError, match="column 'day' holds Date, not numbers; drop leaves it out"):
        pw.read(tmp_path / "a.parquet", drop="species")
    np.testing.assert_array_equal(pw.read(tmp_path / "a.parquet", drop="species,day,f7").X, X[:, :7])
    with pytest.raises(ReaderError, match="drop leaves no feature"):
        pw.read(tmp_path / "a.parquet", drop="*")


def test_files_of_a_folder_whose_columns_have_another_order(tmp_path: Path):
    (tmp_path / "1.csv").write_text(text(HEAD, *ROWS[:20]))
    (tmp_path / "2.csv").write_text(text(["id", *F[::-1]], *([row[0], *row[:0:-1]] for row in ROWS[20:])))
    np.testing.assert_array_equal(pw.read(tmp_path).X, X)
    (tmp_path / "2.csv").write_text(text(["id", *F[:-1], "g"], *ROWS[20:]))
    with pytest.raises(
        ReaderError, match=r"2\.csv: has other columns than 1\.csv: 8 and 8; it lacks 'f7' and has 'g' b"
    ):
        pw.read(tmp_path)


OTHERS = {
    "a.feather": (b"ARROW1\0\0", "table of Arrow"),
    "a.csv.zst": (b"\x28\xb5\x2f\xfd\0\0", "packed by zstd"),
    "a.tar": (b"a.csv".ljust(257, b"\0") + b"ustar\0", "archive \\(tar\\)"),
    "a.rds": (gzip.compress(b"X\n\0\0\0\3"), "data of R"),
    "a.csv": (b"<!DOCTYPE html>\n<html>", "page of the web"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_programs_are_called_by_their_kind(tmp_path: Path, name: str):
    content, told = OTHERS[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ReaderError, match=told):
        pw.read(tmp_path / name)


@pytest.mark.parametrize("first", ["X", "RDX3", "<10", "ARROW1"])
def test_names_that_other_files_begin_with(tmp_path: Path, first: str):
    (tmp_path / "a.csv").write_text(f"{first},b\n1,2\n3,5\n")
    assert pw.read(tmp_path / "a.csv").feature_names == [first, "b"]


def test_words_about_how_text_is_read(tmp_path: Path):
    (tmp_path / "a.csv").write_text(text(HEAD, *ROWS))
    with pytest.raises(ReaderError, match="delimiter must be one character, got ', '"):
        pw.read(tmp_path / "a.csv", delimiter=", ")
    with pytest.raises(ReaderError, match="line 1: 'f0' in column 2 is not a number: is this line one of names"):
        pw.read(tmp_path / "a.csv", header=False)
