"""Texts in tables, as people have them: dates, encodings, lists of objects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import partwise as pw
from partwise.exceptions import ReaderError
from partwise.io.dates import year_first
from partwise.io.suspicions import suspicions

BODY = ["the red fish and the blue fish in the sea", "a red boat and a blue boat on the lake"] * 6

WRITTEN = {
    "German": ([f"01.{1 + i:02}.2024" for i in range(12)], "2024-12-01"),
    "American": ([f"{1 + i}/15/2024" for i in range(12)], "2024-12-15"),
    "British": ([f"15/{1 + i}/2024 10:30" for i in range(12)], "2024-12-15"),
    "words": (["Jan 5, 2024"] * 11 + ["Dec 5, 2024"], "2024-12-05"),
    "months": (["May 2024"] * 11 + ["December 2024"], None),
    "digits": ([f"2024{1 + i:02}31"[:6] + "05" for i in range(12)], "2024-12-05"),
    "the year first": ([f"2024-{1 + i:02}" for i in range(12)], "2024-12"),
    "one digit": ([f"2024/{1 + i}/5" for i in range(12)], "2024/12/05"),
    "day or month first": (["1/2/2024"] * 12, None),
    "seconds": (["1700000000"] * 12, None),
}


def table(path: Path, dates: list[str], name: str = "day") -> Path:
    lines = [f'{i},"{date}",{body}' for i, (date, body) in enumerate(zip(dates, BODY, strict=True))]
    path.write_text("\n".join([f"id,{name},body", *lines]) + "\n")
    return path


@pytest.mark.parametrize("kind", WRITTEN)
def test_dates_have_the_year_first_or_are_refused(tmp_path: Path, kind: str):
    """Those of other countries were sorted as words."""
    dates, last = WRITTEN[kind]
    if kind != "months":
        assert (year_first(dates) or [None])[-1] == last
    file = table(tmp_path / "a.csv", dates, "date")
    found = pw.read(file, format="documents")  # dates are found by the name of the column
    clear = year_first(dates) is not None
    assert ("date" in found.extra) == clear
    assert clear == any(note == "dates: column date" for note in found.notes)
    assert clear or "left out: dates that are not clear (column date)" in found.notes
    if not clear:
        with pytest.raises(ReaderError, match="the dates of date date may be read in two ways, or in none") as caught:
            pw.read(file, format="documents", date="date")
        assert caught.value.parameter == "date"


def test_encodings(tmp_path: Path):
    (tmp_path / "a.csv").write_bytes(
        ("id,body\n" + "".join(f"t{i},{b} caf\xe9\n" for i, b in enumerate(BODY))).encode("latin-1")
    )
    with pytest.raises(ReaderError, match="line 2: byte 0xe9 is not utf-8; give its encoding"):
        pw.read(tmp_path / "a.csv", format="documents")
    assert "caf\xe9" in pw.read(tmp_path / "a.csv", format="documents", encoding="latin-1").feature_names
    content = "id,body\n" + "".join(f"t{i},{b}\n" for i, b in enumerate(BODY))
    (tmp_path / "a.csv").write_text(content, encoding="utf-8-sig")
    assert pw.read(tmp_path / "a.csv", format="documents").sample_names[:2] == ["t0", "t1"]


def test_lists_of_objects(tmp_path: Path):
    rows = [{"id": f"t{i}", "text": body} for i, body in enumerate(BODY)]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    one, other = pw.read(tmp_path / "a.json", format="documents"), pw.read(tmp_path / "a.jsonl")
    assert (one.X != other.X).nnz == 0
    assert one.sample_names == other.sample_names == [f"t{i}" for i in range(12)]
    (tmp_path / "a.jsonl").write_text(json.dumps(rows[0]) + "\n{broken\n")
    with pytest.raises(ReaderError, match=r"a.jsonl, line 2: is not JSON"):
        pw.read(tmp_path / "a.jsonl")
    (tmp_path / "a.json").write_text("[1, 2]")
    with pytest.raises(ReaderError, match="must hold objects"):
        pw.read(tmp_path / "a.json", format="documents")
    with pytest.raises(ReaderError, match="is JSON or a saved model"):
        pw.read(tmp_path / "a.json")


def test_numbers_of_files_are_no_wavelengths(tmp_path: Path):
    for i, body in enumerate(BODY):
        (tmp_path / f"{i}.txt").write_text(body)
    assert suspicions(pw.read(tmp_path)) == []


def test_tags_are_told(tmp_path: Path):
    (tmp_path / "a.csv").write_text("id,body\n" + "".join(f't{i},"<p>{b}</p>"\n' for i, b in enumerate(BODY)))
    found = pw.read(tmp_path / "a.csv", format="documents")
    assert "HTML: the tags of 12 of 12 documents are left out" in found.notes
    assert found.feature_names == ["blue", "boat", "fish", "lake", "red", "sea"]
