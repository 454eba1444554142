"""Preparation of data, features matched by name, tables written: against a few lines of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.datasets.loaders.text import weigh
from partwise.exceptions import InputError
from partwise.io import Preparation, prepare
from partwise.io.matching import match_features
from partwise.io.writing import write_table
from partwise.sources.chunked import ScratchRows
from partwise.sources.memory import DerivedSource

COUNTS = np.random.default_rng(0).poisson(0.6, (70, 9)).astype(float)
COUNTS[4] = 0.0
PLACES = ("dense", "sparse", "disk", "parts")


def source_of(X: np.ndarray, place: str, folder: Path) -> Any:
    if place == "disk":
        np.save(folder / "X.npy", X)
        return pw.open_source(folder / "X.npy", block_rows=16)
    if place == "parts":
        (folder / "parts").mkdir()
        for i, rows in enumerate((X[:30], X[30:])):
            sp.save_npz(folder / "parts" / f"{i}.npz", sp.csr_array(rows))
        return pw.open_source(folder / "parts")
    return pw.open_source(sp.csr_array(X) if place == "sparse" else X, block_rows=16)


def values(source: Any) -> np.ndarray:
    rows = source.take(np.arange(source.shape[0]))
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def unit(X: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


EXPECTED = {
    "none": lambda X: X,
    "unit": unit,
    "log1p": np.log1p,
    "tfidf": lambda X: weigh(sp.csr_array(X), "tfidf").toarray(),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", EXPECTED)
def test_as_in_numpy(kind: str, place: str, tmp_path: Path) -> None:
    source = source_of(COUNTS, place, tmp_path)
    vars(source).update(feature_names=[f"w{j}" for j in range(9)])
    prepared = prepare(source, kind).apply(source)
    np.testing.assert_allclose(values(prepared), EXPECTED[kind](COUNTS), rtol=1e-14)
    assert prepared.feature_names == source.feature_names
    assert prepared.bounds == source.bounds
    if kind != "none" and place in ("disk", "parts"):
        assert isinstance(prepared, DerivedSource)
        assert prepared._kept is None  # nothing of it stays in memory


def test_new_data_gets_the_weights_of_the_old() -> None:
    old, new = pw.open_source(COUNTS[:50]), pw.open_source(COUNTS[50:])
    known = prepare(old, "tfidf")
    factors = 1 + np.log(51 / (1 + (COUNTS[:50] > 0).sum(axis=0)))
    logs = np.where(COUNTS[50:] > 0, 1 + np.log(np.maximum(COUNTS[50:], 1)), 0)
    np.testing.assert_allclose(values(known.apply(new)), unit(logs * factors), rtol=1e-14)
    with pytest.raises(InputError, match="the data has 5 features, and tfidf was learnt for 9"):
        known.apply(pw.open_source(COUNTS[:, :5]))


@pytest.mark.parametrize("single", [True, False], ids=["float32", "float64"])
def test_the_type_stays(single: bool) -> None:
    source = pw.open_source(COUNTS.astype(np.float32 if single else np.float64))
    for kind in EXPECTED:
        assert values(prepare(source, kind).apply(source)).dtype == source.dtype


@pytest.mark.parametrize(
    ("kind", "entry", "message"),
    [("tfidf", -1.0, "Negative values"), ("tfidf", 0.25, "such as 0.25"), ("log1p", -0.5, "Negative values")],
)
def test_what_has_no_logarithm_is_refused(kind: str, entry: float, message: str) -> None:
    X = COUNTS.copy()
    X[3, 2] = entry
    source = pw.open_source(X)
    with pytest.raises(InputError, match=message):
        prepare(source, kind).apply(source)


def test_the_first_flaw_is_told_where_it_is() -> None:
    X = COUNTS.copy()
    X[3, 2] = np.nan
    for kind in ("unit", "log1p", "tfidf"):
        with pytest.raises(InputError, match="the first in row 3, column 2"):
            prepare(pw.open_source(X), kind).apply(pw.open_source(X))


@pytest.mark.parametrize(
    "parts",
    [{"kind": "exec"}, {"kind": "tfidf"}, {"kind": "unit", "weights": np.ones(3)}, {"kind": "tfidf", "weights": [1.0]}],
    ids=str,
)
def test_a_hostile_file_has_no_preparation(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Preparation(**parts)


# --- features by name ---------------------------------------------------------------------------------------

NAMES = [f"w{j}" for j in range(9)]


@pytest.mark.parametrize("place", PLACES)
def test_order_of_features(place: str, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(9)
    source = source_of(COUNTS[:, order], place, tmp_path)
    found = match_features(source, [NAMES[j] for j in order], NAMES)
    np.testing.assert_array_equal(values(found), COUNTS)
    assert found.feature_names == NAMES


@pytest.mark.parametrize("place", ["dense", "sparse"])
def test_missing_and_extra_features(place: str, tmp_path: Path) -> None:
    source = source_of(COUNTS, place, tmp_path)
    wanted = ["w3", "new", "w1"]
    with pytest.raises(InputError, match=r"1 of the model's features missing: 'new' and 7 features .*: 'w0', 'w2'"):
        match_features(source, NAMES, wanted)
    found = match_features(source, NAMES, wanted, ignore_extra=True, fill_missing=True)
    np.testing.assert_array_equal(values(found), np.column_stack([COUNTS[:, 3], 0 * COUNTS[:, 0], COUNTS[:, 1]]))
    with pytest.raises(InputError, match="none of the model's 2 features is there"):
        match_features(source, NAMES, ["x", "y"], ignore_extra=True, fill_missing=True)


# --- tables -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_are_read_as_they_were(suffix: str, on_disk: bool, dtype: type, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).gamma(0.1, size=(9000, 3)).astype(dtype)
    kept: Any = rows
    if on_disk:
        kept = ScratchRows(rows.shape, rows.dtype)
        kept[0 : len(rows)] = rows
    names = [f'a "{i}", <b>' if i % 2 else f"s{i}" for i in range(len(rows))]
    write_table(tmp_path / f"t.{suffix}", kept, ["x", "y,z", "w"], names=names)
    table = pw.read(tmp_path / f"t.{suffix}")
    np.testing.assert_array_equal(table.X.astype(dtype), rows)
    if suffix != "npy":
        assert table.feature_names == ["x", "y,z", "w"]
        assert table.sample_names == names
    assert [path.name for path in tmp_path.iterdir()] == [f"t.{suffix}"]


def test_a_table_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.csv, \.parquet, \.npy"):
        write_table(tmp_path / "t.xlsx", np.ones((1, 1)), ["x"])
