"""Every format there and back, in memory and on disk."""

from __future__ import annotations

import gc
import gzip
import signal
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError, MissingDependencyError, ReaderError
from partwise.io import Table, numbers, summarize
from partwise.io.delimited import read_delimited

RNG = np.random.default_rng(0)
X = np.where((dense := RNG.random((30, 6))) < 0.5, 0.0, dense)
IMAGES = (RNG.random((5, 4, 3)) * 255).astype(np.uint8)
COLUMNS = [f"c{j}" for j in range(6)]
ROWS = [f"r{i}" for i in range(30)]
COUNTS = np.array([[2, 0, 0, 0], [0, 0, 0, 5], [0, 1, 0, 0]])


def values(table: Table) -> np.ndarray:
    rows = table.X.take(np.arange(table.X.shape[0])) if table.on_disk else table.X
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def write_table(path: Path, sep: str, *, header: bool, names: bool, corner: bool = True, quote: str = "") -> Path:
    lines = [sep.join([""] * (names and corner) + [f"{quote}{name}{quote}" for name in COLUMNS])] * header
    for name, row in zip(ROWS, X.tolist(), strict=True):
        lines.append(sep.join([f"{quote}{name}{quote}"] * names + list(map(repr, row))))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("in_memory", [1 << 28, 0], ids=["memory", "disk"])
@pytest.mark.parametrize(("sep", "suffix"), [(",", "csv"), ("\t", "tsv"), (";", "txt"), ("|", "txt"), (" ", "dat")])
@pytest.mark.parametrize("header", [True, False], ids=["header", "no header"])
@pytest.mark.parametrize("names", [True, False], ids=["names", "no names"])
def test_delimited(tmp_path: Path, sep: str, suffix: str, header: bool, names: bool, in_memory: int):
    path = write_table(tmp_path / f"a.{suffix}", sep, header=header, names=names, corner=sep != " ")
    table = pw.read(path, in_memory=in_memory)
    assert table.on_disk == (in_memory == 0)
    np.testing.assert_array_equal(values(table), X)
    assert table.feature_names == (COLUMNS if header else None)
    assert table.sample_names == (ROWS if names else None)
    turned = pw.read(path, in_memory=in_memory, transpose=True)
    np.testing.assert_array_equal(values(turned), X.T)
    assert (turned.feature_names, turned.sample_names) == (table.sample_names, table.feature_names)


@pytest.mark.parametrize("long_text", [0, 1 << 16], ids=["polars", "numpy"])
def test_both_parsers_give_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_text: int):
    monkeypatch.setattr(numbers, "LONG_TEXT", long_text)
    hard = RNG.random((200, 4)) * 10.0 ** RNG.integers(-300, 300, (200, 4))
    (tmp_path / "a.csv").write_text("\n".join(",".join(map(repr, row)) for row in hard.tolist()))
    np.testing.assert_array_equal(pw.read(tmp_path / "a.csv").X, hard)


def test_quotes_comments_ends_of_lines_and_byte_order_mark(tmp_path: Path):
    quoted = write_table(tmp_path / "q.csv", ",", header=True, names=True, quote='"')
    np.testing.assert_array_equal(pw.read(quoted).X, X)
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf# made by hand\r\n\r\n#id,a,b\r\nx,1,2\r\n\r\ny,3,4\r\n")
    table = pw.read(path)
    assert (table.X.tolist(), table.feature_names, table.sample_names) == ([[1, 2], [3, 4]], ["a", "b"], ["x", "y"])
    path.write_bytes(b"a,b\r1,2\r3,4\r")
    assert pw.read(path).X.tolist() == [[1, 2], [3, 4]]


def test_decimal_commas_and_missing_numbers(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("id;a;b\nx;1,5;2\ny;NA;\n")
    table = pw.read(path)
    np.testing.assert_array_equal(table.X, [[1.5, 2.0], [np.nan, np.nan]])
    assert "commas are decimal points" in table.notes
    assert "missing      2, the first at row y, column a" in summarize(table)


def test_names_as_r_writes_them_numbers_as_names_and_one_column(tmp_path: Path):
    r = write_table(tmp_path / "r.csv", ",", header=True, names=True, corner=False)
    assert pw.read(r).sample_names == ROWS
    path = tmp_path / "a.csv"
    path.write_text(",a,b\n0,1,2\n1,3,4\n")  # as pandas writes it
    assert pw.read(path).sample_names == ["0", "1"]
    assert pw.read(path, row_names=False, header=True, duplicates="number").X.shape == (2, 3)
    path.write_text("1\n2\n3\n")
    assert pw.read(path).X.tolist() == [[1], [2], [3]]
    path.write_text("7,8\n1,2\n")
    assert pw.read(path, header=True).feature_names == ["7", "8"]


def test_latin_names_need_their_encoding(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_bytes("id,größe\nx,1\ny,2\n".encode("latin-1"))
    with pytest.raises(pw.exceptions.ReaderError, match=r"a.csv, line 1: byte 0xf6 is not utf-8; give its encoding"):
        pw.read(path)
    assert pw.read(path, encoding="latin-1").feature_names == ["größe"]


def test_duplicate_names_are_numbered_if_asked(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("id,a,a,a.2\nx,1,2,3\nx,4,5,6\n")
    table = pw.read(path, duplicates="number")
    assert table.feature_names == ["a", "a.3", "a.2"]
    assert table.sample_names == ["x", "x.2"]


def test_numpy(tmp_path: Path):
    np.save(tmp_path / "a.npy", X)
    for in_memory in (0, 1 << 28):
        table = pw.read(tmp_path / "a.npy", in_memory=in_memory)
        np.testing.assert_array_equal(values(table), X)
        np.testing.assert_array_equal(values(table.transposed()), X.T)
    np.save(tmp_path / "images.npy", IMAGES)
    assert pw.read(tmp_path / "images.npy").image_shape == (4, 3)
    np.savez(tmp_path / "a.npz", X=X, labels=X[:, 0])
    np.testing.assert_array_equal(pw.read(tmp_path / "a.npz").X, X)
    np.savez(tmp_path / "two.npz", X=X, Y=X.T)
    np.testing.assert_array_equal(pw.read(tmp_path / "two.npz", variable="Y").X, X.T)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_npz(tmp_path: Path, kind: Any):
    sp.save_npz(tmp_path / "a.npz", kind(X))
    table = pw.read(tmp_path / "a.npz")
    assert table.X.format == "csr"
    np.testing.assert_array_equal(values(table), X)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("in_memory", [0, 1 << 28])
@pytest.mark.parametrize("transpose", [False, True])
def test_matrix_market(tmp_path: Path, packed: bool, in_memory: int, transpose: bool):
    for name, matrix in {"sparse": sp.coo_array(X), "dense": X}.items():
        path = tmp_path / f"{name}.mtx"
        scipy.io.mmwrite(path, matrix, precision=17, comment="made here\nby hand", symmetry="general")
        if packed:
            path = path.with_suffix(".mtx.gz")
            path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
        table = pw.read(path, in_memory=in_memory, transpose=transpose)
        np.testing.assert_array_equal(values(table), X.T if transpose else X)


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
@pytest.mark.parametrize("in_memory", [0, 1 << 28])
def test_symmetric_matrix_market(tmp_path: Path, symmetry: str, in_memory: int):
    A = RNG.integers(0, 9, (6, 6)).astype(float)
    A = A + A.T if symmetry == "symmetric" else A - A.T
    for matrix in (A, sp.coo_array(A)):
        scipy.io.mmwrite(tmp_path / "a.mtx", matrix, symmetry=symmetry)
        np.testing.assert_array_equal(values(pw.read(tmp_path / "a.mtx", in_memory=in_memory)), A)
    (tmp_path / "p.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 1\n2 3\n")
    np.testing.assert_array_equal(values(pw.read(tmp_path / "p.mtx", in_memory=in_memory)), [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "i4"])
def test_matlab(tmp_path: Path, packed: bool, kind: str):
    wanted = (100 * X).astype(kind)
    content = {"fea": wanted, "gnd": wanted[:, :1], "text": "hello", "cell": np.array(["a", 1], object)}
    scipy.io.savemat(tmp_path / "a.mat", content, do_compression=packed)
    for in_memory in (0, 1 << 28):
        table = pw.read(tmp_path / "a.mat", in_memory=in_memory)
        np.testing.assert_array_equal(values(table), wanted)
    assert pw.read(tmp_path / "a.mat").X.dtype == kind
    assert pw.read(tmp_path / "a.mat", variable="gnd").X.shape == (30, 1)
    scipy.io.savemat(tmp_path / "s.mat", {"S": sp.csc_matrix(X)}, do_compression=packed)
    np.testing.assert_array_equal(values(pw.read(tmp_path / "s.mat")), X)


@pytest.mark.parametrize("in_memory", [0, 1 << 28])
def test_images(tmp_path: Path, in_memory: int):
    image = pytest.importorskip("PIL.Image")
    idx = b"\0\0\x08\x03" + struct.pack(">3I", *IMAGES.shape) + IMAGES.tobytes()
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx)
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx))
    folder = tmp_path / "faces"
    (folder / "b").mkdir(parents=True)
    names = ["0.png", "1.png", "2.png", "b/3.png", "b/4.png"]
    for name, picture in zip(names, IMAGES, strict=True):
        image.fromarray(picture).save(folder / name)
    for place in ("t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz", "faces"):
        table = pw.read(tmp_path / place, in_memory=in_memory)
        np.testing.assert_array_equal(values(table), IMAGES.reshape(5, 12))
        assert table.image_shape == (4, 3)
    assert table.sample_names == names


def test_parquet(tmp_path: Path):
    frame = pl.DataFrame({"id": ROWS, **dict(zip(COLUMNS, X.T, strict=True))})
    frame.write_parquet(tmp_path / "a.parquet")
    for in_memory in (0, 1 << 28):
        table = pw.read(tmp_path / "a.parquet", in_memory=in_memory)
        assert table.on_disk == (in_memory == 0)
        np.testing.assert_array_equal(values(table), X)
        assert (table.feature_names, table.sample_names) == (COLUMNS, ROWS)


def test_folder_of_parts(tmp_path: Path):
    np.save(tmp_path / "1.npy", X[:10])
    np.save(tmp_path / "2.npy", X[10:])
    table = pw.read(tmp_path)
    assert table.format == "parts"
    np.testing.assert_array_equal(values(table), X)
    with pytest.raises(InputError, match="a folder of parts cannot be transposed"):
        table.transposed()


@pytest.mark.parametrize("in_memory", [0, 1 << 28])
def test_docword(tmp_path: Path, in_memory: int):
    (tmp_path / "docword.a.txt").write_text("3\n4\n3\n1 1 2\n2 4 5\n3 2 1\n")
    table = pw.read(tmp_path / "docword.a.txt", in_memory=in_memory)
    assert table.feature_names is None
    (tmp_path / "vocab.a.txt").write_text("red\nblue\none\ntwo\n")
    for table in (
        pw.read(tmp_path / "docword.a.txt", in_memory=in_memory),
        pw.read(tmp_path / "docword.a.txt", in_memory=in_memory, vocabulary=str(tmp_path / "vocab.a.txt")),
    ):
        np.testing.assert_array_equal(values(table), COUNTS)
        assert table.feature_names == ["red", "blue", "one", "two"]


@pytest.mark.parametrize("in_memory", [0, 1 << 28])
def test_10x(tmp_path: Path, in_memory: int):
    scipy.io.mmwrite(tmp_path / "matrix.mtx", sp.coo_array(COUNTS))  # three genes, four cells
    (tmp_path / "features.tsv.gz").write_bytes(gzip.compress(b"E1\tA\tGene\nE2\tA\tGene\nE3\tB\tGene\n"))
    (tmp_path / "barcodes.tsv").write_text("AC\nAG\nAT\nCC\n")
    table = pw.read(tmp_path, in_memory=in_memory)
    np.testing.assert_array_equal(values(table), COUNTS.T)
    assert (table.feature_names, table.sample_names) == (["A", "A.2", "B"], ["AC", "AG", "AT", "CC"])


def test_folder_of_texts(tmp_path: Path):
    (tmp_path / "a.txt").write_text("red fish")
    (tmp_path / "b.txt").write_text("blue fish, blue sea")
    table = pw.read(tmp_path)
    assert table.feature_names == ["blue", "fish", "red", "sea"]
    np.testing.assert_array_equal(values(table), [[0, 1, 1, 0], [2, 1, 0, 1]])
    assert table.sample_names == ["a.txt", "b.txt"]


@pytest.mark.filterwarnings("ignore")  # of anndata about pandas
def test_h5ad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.h5ad"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(MissingDependencyError, match=r"reading .h5ad needs anndata: pip install 'partwise\[anndata\]'"):
        pw.read(path)
    monkeypatch.undo()
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(sp.csr_matrix(X))
    data.obs.index, data.var.index = (pd.Index(names, dtype=object) for names in (ROWS, COLUMNS))
    data.write_h5ad(path)
    table = pw.read(path)
    np.testing.assert_array_equal(values(table), X)
    assert (table.feature_names, table.sample_names) == (COLUMNS, ROWS)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(pw.exceptions.ReaderError, match=r"a.h5ad: not a readable .h5ad file \("):
        pw.read(path)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a module of the given text in the place of anndata."""
    library = tmp_path / "library"
    library.mkdir()
    monkeypatch.syspath_prepend(library)
    monkeypatch.delitem(sys.modules, "anndata", raising=False)
    return (library / "anndata.py").write_text


def test_h5ad_has_a_limit_of_time_for_the_file_and_none_for_imports(tmp_path: Path, stand_in, monkeypatch):
    path = tmp_path / "a.h5ad"
    pytest.importorskip("h5py").File(path, "w").close()
    # the HDF5 library can loop on a damaged file; imports that take longer than the limit come to their end first
    imported = tmp_path / "imported"
    stand_in(f"import pathlib, time\npathlib.Path({str(imported)!r}).touch()\ndef read_h5ad(path): time.sleep(600)\n")
    monkeypatch.setattr("partwise.io.h5ad.LEAST_SECONDS", 0.01)
    with pytest.raises(pw.exceptions.ReaderError, match="nothing after 0 s"):
        pw.read(path)
    assert imported.exists()
    stand_in("raise ImportError('of another numpy')")
    with pytest.raises(MissingDependencyError, match=r"a.h5ad: .* does not start \(ImportError: of another numpy\)"):
        pw.read(path)


def test_h5ad_imports_nothing_from_the_folder_of_the_data(tmp_path: Path, stand_in, monkeypatch: pytest.MonkeyPatch):
    data = tmp_path / "data"
    data.mkdir()
    stand_in(
        "import numpy as np, types\n"
        "def read_h5ad(path):\n"
        "    return types.SimpleNamespace(X=np.eye(2), obs_names=['a', 'b'], var_names=['c', 'd'], uns={})\n"
    )
    for name in ("anndata", "random", "partwise"):
        (data / f"{name}.py").write_text("raise ImportError('not this one')\n")
    pytest.importorskip("h5py").File(data / "a.h5ad", "w").close()
    monkeypatch.chdir(data)
    table = pw.read("a.h5ad")
    np.testing.assert_array_equal(values(table), np.eye(2))
    assert (table.feature_names, table.sample_names) == (["c", "d"], ["a", "b"])


def test_a_source_has_the_names_and_any_estimator_takes_it(tmp_path: Path):
    path = write_table(tmp_path / "a.csv", ",", header=True, names=True)
    source = pw.open_source(path)
    model = pw.SPA(2).fit(source)
    assert model.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_array_equal(model.transform(source), pw.SPA(2).fit(X).transform(X))
    assert pw.open_source(str(path), transpose=True).shape == (6, 30)
    assert pw.open_source(path, block_rows=7).bounds[0] == (0, 7)
    np.save(tmp_path / "a.npy", X)
    assert type(pw.open_source(tmp_path / "a.npy")).__name__ == "MemmapSource"
    with pytest.raises(InputError, match="there is no file or folder"):
        pw.open_source(tmp_path / "missing.csv")


def test_what_was_written_for_large_files_goes_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(X))
    table = pw.read(tmp_path / "a.mtx", in_memory=0)
    assert len(list(place.iterdir())) == 1
    del table
    gc.collect()
    assert list(place.iterdir()) == []
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n9 9 1\n")
    with pytest.raises(pw.exceptions.ReaderError, match=r"line 4: index 9 is not in 1..3"):
        pw.read(tmp_path / "bad.mtx", in_memory=0)
    assert list(place.iterdir()) == []


def test_many_parts_and_duplicate_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partwise.io.spool.TILE_BYTES", 24 * 10)
    i, j = RNG.integers(0, 40, 500), RNG.integers(0, 7, 500)
    lines = [f"{a + 1} {b + 1} 1" for a, b in zip(i, j, strict=True)]
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n40 7 500\n" + "\n".join(lines))
    table = pw.read(tmp_path / "a.mtx", in_memory=0)
    assert len(table.X.parts) > 5
    np.testing.assert_array_equal(values(table), sp.coo_array((np.ones(500), (i, j)), shape=(40, 7)).toarray())


def test_options_of_another_format_are_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(InputError, match="is read as 'npy', which takes no delimiter"):
        pw.read(tmp_path / "a.npy", delimiter=",")
    with pytest.raises(InputError, match=r"format must be one of 10x, .*, got 'xls'"):
        pw.read(tmp_path / "a.npy", format="xls")
    path = write_table(tmp_path / "a.csv", ",", header=True, names=False)
    with pytest.raises(InputError, match="duplicates must be one of error, number, got 'drop'"):
        pw.read(path, duplicates="drop")


def test_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.csv"
    path.write_text("id,a,b,c\nx,1,0,-2\ny,0,0,0\nz,NA,0,1e3\n")
    pw.read(path, verbose=True)
    assert capsys.readouterr().out.splitlines() == [
        f"file         {path} (delimited text)",
        "read as      delimiter: comma; first line: names of columns; first column: names of rows",
        "shape        3 samples (rows) x 3 features (columns); transpose swaps them",
        "names        features a, b, c; samples x, y, z",
        "entries      55.6% zeros, dense",
        "range        -2 to 1000",
        "missing      1, the first at row z, column a",
        "empty        1 row, 1 column",
        "memory       72 bytes",
    ]
    sparse = summarize(Table(sp.csr_array(X + 1.0 * (X > 0)), image_shape=(2, 3), origin="a", format="npz"))
    assert "images       2 x 3" in sparse
    assert "sparse" in sparse
    assert "range        0 to 1." in sparse
    assert "on disk and read in blocks" in summarize(read_delimited(path, in_memory=0))


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="the system has no such limit")
def test_h5ad_has_a_limit_of_the_processors_time(tmp_path: Path, stand_in):
    """By the clock a good file was refused where the machine was busy."""
    pytest.importorskip("h5py").File(tmp_path / "a.h5ad", "w").close()
    stand_in("import time\ntime.process_time = lambda: -7.5\ndef read_h5ad(path):\n    while True: pass\n")
    with pytest.raises(pw.exceptions.ReaderError, match=r"a.h5ad: not a readable .h5ad file \(nothing after 8 s\)"):
        pw.read(tmp_path / "a.h5ad")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_tables_in_utf_16(tmp_path: Path, order: str, packed: bool):
    """As spreadsheets save "Unicode text"; what the mark says counts, whatever the encoding that is given."""
    lines = ["id\tgr\N{LATIN SMALL LETTER U WITH DIAERESIS}n\t\N{GRINNING FACE}"]
    lines += [f"s{i}\t{i}.5\t{i}" for i in range(400_000)]
    content = ("\ufeff" + "\r\n".join(lines)).encode(order)
    (tmp_path / "a.txt").write_bytes(gzip.compress(content, 1) if packed else content)
    table = pw.read(tmp_path / "a.txt", encoding="latin-1")
    assert table.feature_names == ["gr\xfcn", "\N{GRINNING FACE}"]
    np.testing.assert_array_equal(table.X, np.arange(400_000.0)[:, None] + [0.5, 0.0])
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_bytes("\ufeffred fish".encode(order))
    assert pw.read(tmp_path / "texts").feature_names == ["fish", "red"]


def test_numbers_that_begin_as_utf_16_does_are_numbers(tmp_path: Path):
    """Two bytes are not enough to tell."""
    image = np.random.default_rng(0).integers(0, 256, (4, 300), np.uint8)
    image[0, :2] = 0xFF, 0xFE
    (tmp_path / "a.raw").write_bytes(image.tobytes())
    with pytest.raises(ReaderError, match="neither text nor any other format"):
        pw.read(tmp_path / "a.raw")
