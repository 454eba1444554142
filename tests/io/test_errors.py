"""What cannot be read is refused with file and line, before memory is taken for it."""

from __future__ import annotations

import gzip
import pickle
import re
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import partwise as pw
from partwise.door import guard
from partwise.exceptions import InputError, ReaderError

BANNER = "%%MatrixMarket matrix coordinate real general\n"

TEXTS = {
    "ragged.csv": (
        "a,b\n1,2\n3,4,5\n",
        "ragged.csv, line 3: 3 cells, but 2 in other lines; delimiter says what is between them",
    ),
    "word.csv": (
        "a,b\n1,2\n3,x7\n",
        "word.csv, line 3: 'x7' in column 2 ('b') is not a number; what is not known is an empty cell or NA, and drop "
        "leaves the column out",
    ),
    "mixed.csv": (
        "width,height,kind\n1,2,rose\n1,3,lily\n",
        "mixed.csv, line 2: column 3 ('kind') holds text ('rose'), not numbers; drop leaves it out",
    ),
    "columns.csv": (
        "id,a,b,a\nx,1,2,3\n",
        "columns.csv, line 1: column 3 has the name 'a' of column 1; 'number' for duplicates tells them apart",
    ),
    "rows.csv": (
        "id,a\nx,1\n\ny,2\nx,3\n",
        "rows.csv, line 5: row 3 has the name 'x' of row 1; 'number' for duplicates tells them apart",
    ),
    "names.csv": ("a,b,c,d\n1,2\n3,4\n", "names.csv, line 1: 4 names of columns, but 2 columns of numbers below"),
    "quote.csv": (
        'id,a\nz,3\n"x,1\ny",2\n',
        "quote.csv, line 3: a quoted cell goes on in the next line, as texts do; a column of texts is named by text",
    ),
    "header.csv": ("a,b,c\n", "header.csv, line 1: has one line, of names, and no numbers"),
    "blank.csv": ("\n\n", "blank.csv: there is no number in it"),
    "empty.csv": ("", "empty.csv: is empty"),
    "zero.csv": ("a,b\n" * 2000 + "1,\0\n", "zero.csv, line 2001: there is a zero byte: this is no text"),
    "json.csv": ('{"a": 1}', "json.csv: is JSON or a saved model (see partwise.load), and no table of numbers"),
    "banner.mtx": ("%%MatrixMarket vector\n1 1\n", "banner.mtx, line 1: must begin with '%%MatrixMarket matrix ...'"),
    "complex.mtx": (
        BANNER.replace("real", "complex") + "1 1 1\n1 1 1 1\n",
        "complex.mtx, line 1: coordinate complex general is not supported; "
        "real, double, integer, unsigned-integer, pattern are",
    ),
    "sizes.mtx": (BANNER + "% hello\n3 3\n", "sizes.mtx, line 3: must be 3 whole number(s), and is '3 3'"),
    "huge.mtx": (
        BANNER + "99999999999 3 1\n1 1 1\n",
        "huge.mtx, line 2: declares 99999999999 x 3, which its 68 bytes cannot hold",
    ),
    "many.mtx": (
        BANNER + "3 3 999999999\n1 1 1\n",
        "many.mtx, line 2: declares 999999999 entries, which 66 bytes cannot hold",
    ),
    "cut.mtx": (BANNER + "3 3 2\n1 1 1\n", "cut.mtx: 1 entries, but 2 declared in line 2: it is cut off"),
    "more.mtx": (
        BANNER + "3 3 1\n1 1 1\n2 2 1\n",
        "more.mtx: there are more than the 1 entries declared in line 2",
    ),
    "index.mtx": (BANNER + "3 3 2\n1 1 1\n4 1 1\n", "index.mtx, line 4: index 4 is not in 1..3"),
    "half.mtx": (BANNER + "3 3 1\n1.5 1 1\n", "half.mtx, line 3: index 1.5 is not in 1..3"),
    "short.mtx": (BANNER + "3 3 2\n1 1 1\n2 2\n", "short.mtx, line 4: 2 numbers where an entry has 3"),
    "words.mtx": (BANNER + "3 3 2\n1 1 1\n2 2 x\n", "words.mtx, line 4: '2 2 x' is not an entry"),
    "array.mtx": (
        BANNER.replace("coordinate", "array") + "2 1\n1\nx\n",
        "array.mtx, line 4: 'x' is not a number",
    ),
    "docword.a.txt": ("3\n2\nx\n", "docword.a.txt, line 3: must be 1 whole number(s), and is 'x'"),
    "docword.b.txt": ("3\n2\n1\n1 9 1\n", "docword.b.txt, line 4: index 9 is not in 1..2"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(tmp_path: Path, name: str):
    text, message = TEXTS[name]
    (tmp_path / name).write_bytes(text.encode())
    with pytest.raises(ReaderError) as caught:
        pw.read(tmp_path / name)
    assert str(caught.value) == f"{tmp_path}/{message}"
    assert isinstance(caught.value, InputError)


def refused(path: Path, pattern: str, **options: object) -> None:
    with pytest.raises(ReaderError, match=f"{re.escape(path.name)}.*{pattern}"):
        pw.read(path, **options)


def test_lines_are_counted_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partwise.io.lines.CHUNK_BYTES", 64)
    path = tmp_path / "a.csv"
    path.write_text("id,a,b\n" + "".join(f"r{i},{i},1\n" for i in range(500)) + "r500,x,1\n")
    refused(path, r"line 502: 'x' in column 2 \('a'\) is not a number")
    path.write_text("id,a,b\n" + "".join(f"r{i % 400},{i},1\n" for i in range(500)))
    refused(path, "line 402: row 401 has the name 'r0' of row 1")
    path.write_bytes(b"id,a,b\n" + b"r,1,1\n" * 100 + b"\xe9,1,1\n")
    refused(path, "line 102: byte 0xe9 is not utf-8")
    monkeypatch.setattr("partwise.io.lines.LONGEST_LINE", 1000)
    path.write_text("1," * 2000)
    refused(path, "there is a line of more than 0 MiB: this is no table")


def test_objects_and_pickles_are_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.array([[{}]], object), allow_pickle=True)
    refused(tmp_path / "a.npy", "holds Python objects .* they are refused")
    np.savez(tmp_path / "a.npz", np.array([[{}]], object), allow_pickle=True)
    refused(tmp_path / "a.npz", "holds Python objects")
    (tmp_path / "a.bin").write_bytes(pickle.dumps(np.ones(3)))
    refused(tmp_path / "a.bin", "is a pickle, which could run any program: it is refused")
    (tmp_path / "a.pkl").write_bytes(b"anything")
    refused(tmp_path / "a.pkl", "is a pickle")
    for kind in ("U3", "c16", "M8[s]", [("a", float)]):
        np.save(tmp_path / "b.npy", np.zeros((2, 2), kind))
        refused(tmp_path / "b.npy", "not real numbers")
    np.save(tmp_path / "c.npy", np.zeros(3))
    refused(tmp_path / "c.npy", r"must have two dimensions \(samples, features\), and has shape \(3,\)")


def npy_header(shape: tuple[int, ...]) -> bytes:
    text = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def test_declared_sizes_take_no_memory(tmp_path: Path):
    X = np.random.default_rng(0).random((20, 5))
    (tmp_path / "a.npy").write_bytes(npy_header((10**9, 1000)))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", npy_header((10**9, 1000)))
    (tmp_path / "a.idx").write_bytes(b"\0\0\x08\x03" + struct.pack(">3I", 10**6, 10**4, 10**4))
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", 10**6, 10**4, 10**4)))
    scipy.io.savemat(tmp_path / "a.mat", {"X": X})
    data = bytearray((tmp_path / "a.mat").read_bytes())
    data[132:136] = struct.pack("<I", 2**32 - 1)
    (tmp_path / "a.mat").write_bytes(data)
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(X))
    parts = dict(np.load(tmp_path / "s.npz"))
    np.savez(tmp_path / "s.npz", **{**parts, "shape": np.array([10**12, 5])})
    tracemalloc.start()
    try:
        refused(tmp_path / "a.npy", "it is cut off")
        refused(tmp_path / "a.npz", "cannot hold")
        refused(tmp_path / "a.idx", "cannot hold")
        refused(tmp_path / "b.gz", "cannot hold")
        refused(tmp_path / "a.mat", "cut off")
        refused(tmp_path / "s.npz", "declares 1000000000000 x 5")
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_too_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    np.savez(tmp_path / "a.npz", np.ones((300, 300)))
    monkeypatch.setattr(guard, "physical_memory", lambda: 1e5)
    refused(tmp_path / "a.npz", "needs 720 kB of memory, and this machine has 100 kB")


@pytest.mark.parametrize("place", ["indices", "indptr"])
def test_sparse_indices_are_checked(tmp_path: Path, place: str):
    sp.save_npz(tmp_path / "s.npz", sp.random_array((20, 10), density=0.3, format="csr", rng=0))
    parts = dict(np.load(tmp_path / "s.npz"))
    for value in (-1, 10**6):
        bad = parts[place].copy()
        bad[3] = value
        np.savez(tmp_path / "bad.npz", **{**parts, place: bad})
        refused(tmp_path / "bad.npz", "not a readable .npz file")


def test_several_matrices_must_be_chosen_from(tmp_path: Path):
    scipy.io.savemat(tmp_path / "a.mat", {"A": np.ones((3, 2)), "B": np.ones((2, 2)), "y": np.ones((3, 1))})
    refused(tmp_path / "a.mat", "2 of its variables are matrices; give variable, one of: A 3 x 2, B 2 x 2$")
    refused(tmp_path / "a.mat", "there is no variable 'C' of numbers", variable="C")
    scipy.io.savemat(tmp_path / "c.mat", {"A": np.ones((3, 2)) * 1j})
    refused(tmp_path / "c.mat", "holds no matrix of real numbers")


def test_truncated_and_compressed_files(tmp_path: Path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-12])
    refused(tmp_path / "a.csv.gz", "not a readable table|not a readable file")
    np.save(tmp_path / "a.npy", np.ones((5, 5)))
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress((tmp_path / "a.npy").read_bytes()))
    refused(tmp_path / "a.npy.gz", "is a compressed npy file; decompress it first")
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(50))
    refused(tmp_path / "a.parquet", "does not begin and end as a parquet file does")
    (tmp_path / "garbage").write_bytes(bytes(range(256)) * 10)
    refused(tmp_path / "garbage", "is neither text nor any other format known here")
    (tmp_path / "wide.csv").write_bytes("a,b\n1,2\n".encode("utf-16")[:-1])
    refused(tmp_path / "wide.csv", "not a readable file .*truncated data")
    (tmp_path / "v73.mat").write_bytes(b"\x89HDF\r\n\x1a\n")
    refused(tmp_path / "v73.mat", r"is a MATLAB 7.3 file \(HDF5\); save it with -v7")
    refused(tmp_path / "missing", "there is no such file or folder")


def test_labels_are_no_images(tmp_path: Path):
    (tmp_path / "labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01" + struct.pack(">I", 3) + b"abc")
    refused(tmp_path / "labels-idx1-ubyte", r"labels have one dimension")


def test_pictures(tmp_path: Path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "a").mkdir()
    image.fromarray(np.zeros((4, 3), np.uint8)).save(tmp_path / "a/1.png")
    image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "a/2.png")
    with pytest.raises(ReaderError, match=r"2.png: is 4 x 4 pixels, and 1.png is 4 x 3; all must have one size"):
        pw.read(tmp_path / "a")
    (tmp_path / "a/2.png").write_bytes(b"no picture")
    with pytest.raises(ReaderError, match=r"2.png: not a readable picture"):
        pw.read(tmp_path / "a")
    refused(tmp_path / "a/1.png", "is one picture; give the folder of all of them")
    data = bytearray((tmp_path / "a/1.png").read_bytes())
    data[16:24] = struct.pack(">II", 50000, 50000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    (tmp_path / "a/1.png").write_bytes(data)
    with pytest.raises(ReaderError, match=r"1.png: (declares 50000 x 50000 pixels|not a readable picture)"):
        pw.read(tmp_path / "a")


def test_folders(tmp_path: Path):
    with pytest.raises(ReaderError, match=f"{re.escape(tmp_path.name)}: is empty"):
        pw.read(tmp_path)
    (tmp_path / "a.bin").write_bytes(bytes(10))
    with pytest.raises(
        ReaderError, match=r"is neither a folder of zarr, nor a folder of 10x Genomics, nor a folder of \.npy"
    ):
        pw.read(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"fine\nna\xefve")
    with pytest.raises(ReaderError, match=r"a.txt, line 2: byte 0xef is not utf-8; give its encoding"):
        pw.read(tmp_path)
    (tmp_path / "matrix.mtx").write_text(BANNER + "2 3 1\n1 1 1\n")
    (tmp_path / "genes.tsv").write_text("E1\tA\n")
    with pytest.raises(ReaderError, match=r"genes.tsv, line 1: 1 names for 2 rows or columns"):
        pw.read(tmp_path)
    (tmp_path / "genes.tsv").write_text("E1\tA\nE2\tB\nE3\tC\n")
    with pytest.raises(ReaderError, match=r"genes.tsv, line 3: there are more than 2 names"):
        pw.read(tmp_path)
