"""Headers and names that are numbers: taken for what they are, or asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import ReaderError

RNG = np.random.default_rng(0)
X = RNG.random((12, 30)).round(3)
WAVES = [f"{401 + 3.1 * j:.1f}" for j in range(30)]
COUNTED = [str(i) for i in range(12)]
CALLED = [f"p{i}" for i in range(12)]


def text(rows: np.ndarray, head: list[str] | None, names: list[str] | None, corner: str = "") -> str:
    lines = [",".join([corner] * (names is not None) + head)] if head else []
    for i, row in enumerate(rows.tolist()):
        lines.append(",".join(([] if names is None else [names[i]]) + [str(value) for value in row]))
    return "\n".join(lines)  # without an end of the last line


SPECTRA = {
    "text corner, text names": text(X, WAVES, CALLED, "pixel"),
    "text corner, counted rows": text(X, WAVES, COUNTED, "pixel"),
    "empty corner": text(X, WAVES, COUNTED),
    "an unknown corner": text(X, WAVES, CALLED, "Punkt"),
    "no names of rows": text(X, WAVES, None),
}


@pytest.mark.parametrize("kind", SPECTRA)
def test_wavelengths_above_the_columns_are_no_sample(tmp_path: Path, kind: str):
    (tmp_path / "a.csv").write_text(SPECTRA[kind])
    table = pw.read(tmp_path / "a.csv")
    assert table.feature_names == WAVES
    np.testing.assert_array_equal(table.X, X)
    assert table.sample_names == (None if "no names" in kind else CALLED if CALLED[1] in SPECTRA[kind] else COUNTED)
    assert "first line: names of columns (numbers from 401.0 to 490.9)" in table.notes


@pytest.mark.parametrize("head", [CALLED, None], ids=["named samples", "no header"])
def test_wavelengths_beside_the_rows_are_no_feature(tmp_path: Path, head: list[str] | None):
    (tmp_path / "a.csv").write_text(text(X.T, head, WAVES, "wavelength (nm)"))
    table = pw.read(tmp_path / "a.csv")
    assert (table.sample_names, table.feature_names) == (WAVES, head)
    np.testing.assert_array_equal(table.X, X.T)


@pytest.mark.parametrize("name", ["id", "Unnamed: 0", "anything"])
def test_rows_that_are_counted(tmp_path: Path, name: str):
    (tmp_path / "a.csv").write_text(text(X, [f"f{j}" for j in range(30)], COUNTED, name))
    table = pw.read(tmp_path / "a.csv")
    assert table.sample_names == COUNTED
    assert table.X.shape == (12, 30)
    told = pw.read(tmp_path / "a.csv", row_names=False)
    assert told.feature_names[0] == name


ASKED = {
    "header": ("1,2,3,4,5,6\n5,4,3,9,2,2\n9,9,9,0,0,2\n", {"feature_names": list("123456")}),
    "row_names": (
        "x,a,b\n" + "".join(f"{i * i / 10},{i % 3 * 30},{i % 5 * 30}\n" for i in range(9)),
        {"sample_names": [str(i * i / 10) for i in range(9)]},
    ),
}


@pytest.mark.parametrize("parameter", ASKED)
def test_what_may_be_either_is_asked_for(tmp_path: Path, parameter: str):
    content, expected = ASKED[parameter]
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ReaderError, match=f"give {parameter}") as caught:
        pw.read(tmp_path / "a.csv")
    assert caught.value.parameter == parameter
    table = pw.read(tmp_path / "a.csv", **{parameter: True})
    assert {name: getattr(table, name) for name in expected} == expected
    assert pw.read(tmp_path / "a.csv", **{parameter: False}).X.size > table.X.size


@pytest.mark.parametrize(
    "content",
    ["a,1,2,3\nb,5,4,6\nc,3,3,3\n", "\n".join(",".join(map(str, row)) for row in np.arange(24).reshape(4, 6))],
    ids=["named rows", "all in order"],
)
def test_numbers_like_any_others_are_samples(tmp_path: Path, content: str):
    (tmp_path / "a.csv").write_text(content)
    assert len(pw.read(tmp_path / "a.csv").X) == content.strip().count("\n") + 1
