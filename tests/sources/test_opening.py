"""Everything that holds rows can be opened; what cannot be used is named."""

from __future__ import annotations

import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from partwise.exceptions import InputError, MissingDependencyError
from partwise.sources import MemorySource, blocks, source_of
from partwise.sources.chunked import FolderSource, MemmapSource

X = np.arange(12.0).reshape(4, 3)


def rows_of(source: Any) -> np.ndarray:
    return blocks.to_dense(source.take(np.arange(source.shape[0])))


# --- what is accepted ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        np.asfortranarray,
        lambda X: X[:, ::-1][:, ::-1],
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.float16),
        np.ndarray.tolist,
        sp.csr_array,
        sp.csr_matrix,
        sp.csc_array,
        sp.csc_matrix,
        sp.coo_array,
        sp.lil_array,
        pl.DataFrame,
        pd.DataFrame,
    ],
    ids=[
        "array",
        "fortran",
        "strided",
        "big-endian",
        "half",
        "list",
        "csr",
        "csr-matrix",
        "csc",
        "csc-matrix",
        "coo",
        "lil",
        "polars",
        "pandas",
    ],
)
def test_matrices_of_every_kind(form: Callable[[np.ndarray], Any]) -> None:
    source = source_of(form(X), block_rows=3)
    assert isinstance(source, MemorySource)
    assert source.dtype == np.float64
    assert list(source.bounds) == [(0, 3), (3, 4)]
    np.testing.assert_array_equal(rows_of(source), X)


def test_data_frames_with_columns_of_several_numeric_types() -> None:
    columns = {"a": [0.5, 1.5], "b": [1, 2], "c": [True, False]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        np.testing.assert_array_equal(rows_of(source_of(frame)), [[0.5, 1, 1], [1.5, 2, 0]])
    frame = pd.DataFrame({"a": pd.array([1, None], "Int64"), 7: [0.5, 1.5]})
    np.testing.assert_array_equal(rows_of(source_of(frame)), [[1, 0.5], [np.nan, 1.5]])


@pytest.mark.parametrize(
    ("frame", "features", "samples"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), ["a", "b"], None),
        (pd.DataFrame({"a": [1.0, 2.0]}, index=["x", 7]), ["a"], ["x", "7"]),
        (pd.DataFrame(X), None, None),
        (pd.DataFrame({"a": [1.0], 3: [2.0]}), None, None),
        (pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), ["a", "b"], None),
    ],
    ids=["pandas", "pandas-index", "pandas-numbers", "pandas-mixed", "polars"],
)
def test_data_frames_bring_their_names(frame: Any, features: list[str] | None, samples: list[str] | None) -> None:
    source = source_of(frame)
    assert (source.feature_names, source.sample_names) == (features, samples)


def test_a_source_is_returned_as_it_is() -> None:
    source = MemorySource(X)
    assert source_of(source) is source


@pytest.mark.parametrize("as_type", [str, Path])
def test_a_file_is_mapped_and_a_folder_is_read(tmp_path: Path, as_type: type) -> None:
    np.save(tmp_path / "X.npy", X)
    assert isinstance(source_of(as_type(tmp_path / "X.npy")), MemmapSource)
    assert isinstance(source_of(as_type(tmp_path)), FolderSource)


def test_a_fortran_ordered_file(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    np.testing.assert_array_equal(rows_of(source_of(tmp_path / "X.npy", block_rows=2)), X)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_few_rows(form: Callable[[np.ndarray], Any], rows: int) -> None:
    source = source_of(form(X[:rows]))
    assert list(source.bounds) == [(0, rows)]
    assert list(source.batches(2)) == [] or rows == 1
    assert source.map_rows(blocks.row_sums, width=None).shape == (rows,)
    np.testing.assert_array_equal(rows_of(source), X[:rows])


def test_the_default_partition_depends_on_the_shape_alone() -> None:
    assert list(MemorySource(np.zeros((1000, 10))).bounds) == [(0, 1000)]
    wide = MemorySource(np.broadcast_to(np.zeros(8192), (600, 8192)))
    assert [b - a for a, b in wide.bounds] == [200, 200, 200]


# --- folders ------------------------------------------------------------------------------------------------


def test_parts_are_in_the_order_of_their_names_and_numbers_count_as_numbers(tmp_path: Path) -> None:
    names = ["a2.npy", "a10.npy", "a10b.npy", "aa1.npy", "b.npy", "b1-2.npy", "b1-11.npy"]
    for value, name in enumerate(names):
        np.save(tmp_path / name, np.full((1, 2), float(value)))
    (tmp_path / "README.txt").write_text("not a part")
    (tmp_path / ".hidden.npy").write_text("not a part")
    assert [part.path.name for part in FolderSource(tmp_path).parts] == names


def test_empty_parts_and_parts_of_several_types(tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", X[:2].astype(np.float32))
    np.save(tmp_path / "2.npy", X[:0])
    np.save(tmp_path / "3.npy", X[2:].astype(np.int16))
    source = source_of(tmp_path)
    assert list(source.bounds) == [(0, 2), (2, 4)]
    assert source.dtype == np.float64
    np.testing.assert_array_equal(rows_of(source), X)


def test_a_folder_of_nothing_but_empty_parts(tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", X[:0])
    source = source_of(tmp_path)
    assert source.shape == (0, 3)
    assert source.reduce(np.sum) == 0.0
    assert rows_of(source).shape == (0, 3)


def test_large_parts_are_cut(tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", X[:3])
    np.save(tmp_path / "2.npy", X[3:])
    source = source_of(tmp_path, block_rows=2)
    assert list(source.bounds) == [(0, 2), (2, 3), (3, 4)]
    np.testing.assert_array_equal(rows_of(source), X)


@pytest.mark.parametrize("form", [sp.csc_array, sp.coo_array, sp.csr_matrix], ids=["csc", "coo", "csr-matrix"])
def test_sparse_parts_of_other_formats(tmp_path: Path, form: Callable[..., Any]) -> None:
    sp.save_npz(tmp_path / "1.npz", form(X[:2]))
    sp.save_npz(tmp_path / "2.npz", form(X[2:]))
    source = source_of(tmp_path)
    assert source.block(0).format == "csr"  # type: ignore[attr-defined]
    np.testing.assert_array_equal(rows_of(source), X)


def test_missing_values_of_parquet_are_nan(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, None], "b": [True, None], "c": [0.5, 1.5]})
    frame.write_parquet(tmp_path / "1.parquet")
    np.testing.assert_array_equal(rows_of(source_of(tmp_path)), [[1, 1, 0.5], [np.nan, np.nan, 1.5]])


@pytest.mark.parametrize("kind", ["npy", "folder"])
def test_sources_of_files_can_be_pickled(tmp_path: Path, kind: str) -> None:
    np.save(tmp_path / "1.npy", X)
    source = source_of(tmp_path / "1.npy" if kind == "npy" else tmp_path)
    np.testing.assert_array_equal(rows_of(pickle.loads(pickle.dumps(source))), X)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones(3), r"X must have two dimensions .* got shape \(3,\)"),
        (np.ones((2, 2, 2)), r"X must have two dimensions .* got shape \(2, 2, 2\)"),
        (np.float64(1.0), "X must have two dimensions"),
        (X + 1j, "X must hold real numbers, got dtype complex128"),
        (sp.csr_array(X + 1j), "X must hold real numbers, got dtype complex128"),
        (X.astype(object), "X must hold real numbers, got dtype object"),
        (X.astype(str), "X must hold real numbers, got dtype <U32"),
        ([["a", "b"]], "X must hold real numbers"),
        ([[1.0, 2.0], [3.0]], "X must be a matrix"),
        (pl.DataFrame({"a": ["x"], "b": [1.0]}), "X must hold real numbers"),
        (pd.DataFrame({"a": ["x"], "b": [1.0]}), "X must hold real numbers"),
        (pd.DataFrame({"a": [pd.Timestamp(0)]}), "X must hold real numbers"),
        (None, "X must"),
    ],
    ids=[
        "1-d",
        "3-d",
        "scalar",
        "complex",
        "sparse-complex",
        "object",
        "strings",
        "list",
        "ragged",
        "polars",
        "pandas",
        "dates",
        "none",
    ],
)
def test_matrices_that_cannot_be_used(bad: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        source_of(bad)


@pytest.mark.parametrize("block_rows", [0, -3])
def test_block_rows_must_be_positive(block_rows: int) -> None:
    with pytest.raises(InputError, match=f"block_rows must be at least 1, got {block_rows}"):
        source_of(X, block_rows=block_rows)


def test_options_of_dask_are_refused_elsewhere() -> None:
    with pytest.raises(InputError, match="scheduler: only Dask collections take this, got ndarray"):
        source_of(X, scheduler="threads")


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file or folder .*nowhere"):
        source_of(tmp_path / "nowhere")
    (tmp_path / "X.csv").write_text("1,2\n")
    with pytest.raises(InputError, match=r"X\.csv is not a \.npy file or a folder"):
        source_of(tmp_path / "X.csv")
    with pytest.raises(InputError, match=r"holds no \.npy, \.npz, \.parquet file"):
        source_of(tmp_path)


def save_pickled(path: Path) -> None:
    np.save(path, np.array([[{}, []]], object), allow_pickle=True)


def save_complex(path: Path) -> None:
    np.save(path, X + 1j)


def save_vector(path: Path) -> None:
    np.save(path, np.ones(3))


def save_strings(path: Path) -> None:
    np.save(path, X.astype(str))


def save_garbage(path: Path) -> None:
    path.write_bytes(b"these are not the bytes you are looking for")


def save_nothing(path: Path) -> None:
    path.write_bytes(b"")


def save_truncated(path: Path) -> None:
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:-20])


def save_zip(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, X=X)


BAD_NPY = [
    save_pickled,
    save_complex,
    save_vector,
    save_strings,
    save_garbage,
    save_nothing,
    save_truncated,
    save_zip,
]


@pytest.mark.parametrize("save", BAD_NPY, ids=lambda save: save.__name__)
@pytest.mark.parametrize("as_folder", [False, True], ids=["file", "folder"])
def test_npy_files_that_cannot_be_used_are_named(tmp_path: Path, save: Callable, as_folder: bool) -> None:
    path = tmp_path / "bad.npy"
    save(path)
    with pytest.raises(InputError, match=r"bad\.npy"):
        source_of(tmp_path if as_folder else path)


def npz_pickled(path: Path) -> None:
    np.savez(path, X=np.array([[{}, []]], object), allow_pickle=True)


def npz_complex(path: Path) -> None:
    np.savez(path, X=X + 1j)


def npz_sparse_complex(path: Path) -> None:
    sp.save_npz(path, sp.csr_array(X + 1j))


def npz_vector(path: Path) -> None:
    np.savez(path, X=np.ones(3))


def npz_two_arrays(path: Path) -> None:
    np.savez(path, X=X, Y=X)


def npz_no_arrays(path: Path) -> None:
    with zipfile.ZipFile(path, "w"):
        pass


def npz_incomplete(path: Path) -> None:
    np.savez(path, format=np.array("csr"), data=np.ones(3))


def npz_truncated(path: Path) -> None:
    np.savez(path, X=X)
    path.write_bytes(path.read_bytes()[:-30])


BAD_NPZ = [
    npz_pickled,
    npz_complex,
    npz_sparse_complex,
    npz_vector,
    npz_two_arrays,
    npz_no_arrays,
    npz_incomplete,
    npz_truncated,
    save_garbage,
    save_nothing,
]


@pytest.mark.parametrize("save", BAD_NPZ, ids=lambda save: save.__name__)
def test_npz_parts_that_cannot_be_used_are_named(tmp_path: Path, save: Callable) -> None:
    path = tmp_path / "bad.npz"
    save(path)
    with pytest.raises(InputError, match=r"bad\.npz"):
        source_of(tmp_path)


def test_two_arrays_in_a_part_are_listed(tmp_path: Path) -> None:
    npz_two_arrays(tmp_path / "bad.npz")
    with pytest.raises(InputError, match=r"bad\.npz: expected one array, found X, Y$"):
        source_of(tmp_path)


def test_a_sparse_part_whose_data_is_damaged_is_named_when_read(tmp_path: Path) -> None:
    matrix = sp.csr_array(X)
    np.savez(tmp_path / "1.npz", format=np.array("csr"), shape=X.shape, data=matrix.data, indptr=matrix.indptr)
    source = source_of(tmp_path)
    with pytest.raises(InputError, match=r"1\.npz: not a readable \.npz file"):
        source.take([0])


def test_parquet_parts_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1.0], "b": ["x"]}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"1\.parquet: column 'b' has type String; every column must be numeric"):
        source_of(tmp_path)
    save_garbage(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"1\.parquet: not a readable parquet file"):
        source_of(tmp_path)


def test_a_missing_polars_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "1.parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingDependencyError, match=r"1\.parquet: .* pip install 'partwise\[cli\]'"):
        source_of(tmp_path)


def test_parts_must_be_of_one_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", X)
    np.savez(tmp_path / "2.npz", X=X)
    with pytest.raises(InputError, match=r"several kinds \(\.npy, \.npz\)"):
        source_of(tmp_path)


def write_columns(path: Path, part: np.ndarray) -> None:
    np.save(path.with_suffix(".npy"), part)


def write_layout(path: Path, part: np.ndarray) -> None:
    if part.shape[1] == 3:
        np.savez(path.with_suffix(".npz"), X=part)
    else:
        sp.save_npz(path.with_suffix(".npz"), sp.csr_array(np.hstack([part, part[:, :1]])))


def write_names(path: Path, part: np.ndarray) -> None:
    names = "abc" if part.shape[1] == 3 else "acb"
    part = np.hstack([part, part])[:, :3]
    pl.DataFrame(part, schema=list(names)).write_parquet(path.with_suffix(".parquet"))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_columns, r"1\.npy has 3 dense columns, 2\.npy has 2 dense columns"),
        (write_layout, r"1\.npz has 3 dense columns, 2\.npz has 3 sparse columns"),
        (write_names, r"1\.parquet has 3 .* \(a, b, c\), 2\.parquet has 3 .* \(a, c, b\)"),
    ],
    ids=["number", "layout", "names"],
)
def test_parts_must_have_the_same_columns(tmp_path: Path, write: Callable, message: str) -> None:
    write(tmp_path / "1", X)
    write(tmp_path / "2", X[:, :2])
    with pytest.raises(InputError, match=message):
        source_of(tmp_path)
