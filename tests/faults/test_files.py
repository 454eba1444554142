"""One guard a format, wherever a file of it is read: alone, as a part of a folder, from a pipe, while others write."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import partwise as pw
from partwise.door.parquet import polars_reading
from partwise.exceptions import InputError, ReaderError

RNG = np.random.default_rng(0)
X = RNG.random((40, 6))


def bad_sparse(path: Path, kind: str) -> None:
    matrix = sp.csr_array(X[:10])
    parts = {"format": np.array("csr"), "shape": np.array(matrix.shape)}
    parts |= {"data": matrix.data, "indices": matrix.indices.copy(), "indptr": matrix.indptr.copy()}
    match kind:
        case "negative":
            parts["indices"][3] = -7
        case "beyond":
            parts["indices"][3] = 12
        case "far":
            parts["indices"][3] = 200_000_000
        case "pointers":
            parts["indptr"][4] = 10**9
        case "order":
            parts["indptr"][4] = 0
        case "shape":
            parts["shape"] = np.array([10**10, 10**10])
        case "halves":
            parts["shape"] = np.array([10.5, 6.0])
    np.savez(path, **parts)


def huge_npy(path: Path) -> None:
    with path.open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10**12)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(64))


@pytest.mark.parametrize("kind", ["negative", "beyond", "far", "pointers", "order", "shape", "halves"])
@pytest.mark.parametrize("folder", [False, True], ids=["file", "part"])
def test_indices_outside_a_sparse_file_are_refused(tmp_path: Path, kind: str, folder: bool):
    bad_sparse(tmp_path / "a.npz", kind)
    with pytest.raises(ReaderError, match=r"a\.npz"):
        pw.HALS(2).fit(pw.open_source(tmp_path if folder else tmp_path / "a.npz"))


def bad_matlab(path: Path, pointers: np.ndarray) -> None:
    matrix = sp.csc_matrix(X)
    scipy.io.savemat(path, {"X": matrix})
    path.write_bytes(path.read_bytes().replace(matrix.indptr.tobytes(), pointers.tobytes()))


def bad_h5ad(path: Path, pointers: np.ndarray) -> None:
    anndata, h5py = pytest.importorskip("anndata"), pytest.importorskip("h5py")
    anndata.AnnData(sp.csc_matrix(X)).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file["X/indptr"][...] = pointers


@pytest.mark.parametrize("pointers", [[0, 40, 10, 3253200, 0, 0, 0], [0, 40, 30, 120, 160, 200, 240]])
@pytest.mark.parametrize("write", [bad_matlab, bad_h5ad], ids=["mat", "h5ad"])
def test_pointers_are_checked_before_columns_become_rows(tmp_path: Path, write: Any, pointers: list[int]):
    """SciPy's own check does not look at pointers whose last one is zero, and ended the process."""
    write(tmp_path / f"a.{write.__name__[4:].replace('matlab', 'mat')}", np.array(pointers, np.int32))
    (path,) = tmp_path.iterdir()
    with pytest.raises(ReaderError, match="damaged sparse matrix"):
        pw.read(path)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("index", [-3, 6, 10**8])
def test_indices_outside_a_matrix_in_memory_are_refused(form: str, index: int):
    matrix = sp.csr_array(X).asformat(form)
    (matrix.coords[1] if form == "coo" else matrix.indices)[2] = index * (10 if form == "csc" else 1)
    for call in (pw.HALS(2).fit, pw.open_source, lambda bad: pw.nnls(X[:2], bad), lambda bad: pw.nnls(bad, X)):
        with pytest.raises(InputError, match="damaged sparse matrix"):
            call(matrix)


@pytest.mark.parametrize("folder", [False, True], ids=["file", "part"])
def test_a_shape_that_a_file_cannot_hold_is_refused(tmp_path: Path, folder: bool):
    huge_npy(tmp_path / "a.npy")
    with pytest.raises(ReaderError, match=r"a\.npy: declares"):
        pw.open_source(tmp_path if folder else tmp_path / "a.npy")
    (tmp_path / "a.npy").rename(tmp_path / "member")
    import zipfile

    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
        archive.write(tmp_path / "member", "X.npy")
    with pytest.raises(ReaderError, match=r"b\.npz: X declares"):
        pw.HALS(2).fit(pw.open_source(tmp_path if folder else tmp_path / "b.npz"))


def headed(header: str, version: bytes = b"\x01\x00", length: bytes | None = None) -> bytes:
    """The bytes of a ``.npy`` file with this header, and 64 bytes of numbers."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + version + (length or len(text).to_bytes(2, "little")) + text + bytes(64)


@pytest.mark.parametrize("folder", [False, True], ids=["file", "part"])
@pytest.mark.parametrize("shape", ["(2147483647, 0)", "(0, 9223372036854775807)", "(2147483647, 32768, 0)"])
def test_an_array_of_nothing_declares_no_rows_without_end(tmp_path: Path, shape: str, folder: bool):
    (tmp_path / "a.npy").write_bytes(headed(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"))
    with pytest.raises(ReaderError, match=r"a\.npy: declares"):
        pw.open_source(tmp_path if folder else tmp_path / "a.npy")


def test_a_header_that_a_file_cannot_hold_is_refused(tmp_path: Path):
    """Python takes the memory for as many bytes as are asked for before it reads one."""
    (tmp_path / "a.npy").write_bytes(headed("{}", b"\x02\x00", (2**31).to_bytes(4, "little")))
    with pytest.raises(ReaderError, match=r"a\.npy: declares a header of 2147483648 bytes"):
        pw.read(tmp_path / "a.npy")


@pytest.mark.parametrize("folder", [False, True], ids=["file", "part"])
def test_damaged_parquet_is_refused(tmp_path: Path, folder: bool):
    polars = pytest.importorskip("polars")
    polars.DataFrame({"a": np.arange(1000.0), "b": np.arange(1000.0)}).write_parquet(tmp_path / "a.parquet")
    good = (tmp_path / "a.parquet").read_bytes()
    for place in range(4, len(good) - 8, len(good) // 12):
        (tmp_path / "a.parquet").write_bytes(good[:place] + bytes(16) + good[place + 16 :])
        try:
            source = pw.open_source(tmp_path if folder else tmp_path / "a.parquet")
            assert source.take(range(source.shape[0])).shape == source.shape
        except ReaderError as error:
            assert "a.parquet" in str(error)  # noqa: PT017 - some damage is in bytes that nobody reads


def test_a_panic_of_polars_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    polars = pytest.importorskip("polars")
    path = tmp_path / "a.parquet"

    def panic() -> None:
        with polars_reading(path):
            os.write(2, b"thread 'async-executor-0' panicked at crates/polars-arrow/src/bitmap/immutable.rs\n")
            raise polars.exceptions.PanicException("assertion failed")

    with pytest.raises(ReaderError, match=r"a\.parquet: not a readable parquet file"):
        panic()
    with polars_reading(path), polars_reading(path):
        os.write(2, b"of somebody else\n")
    assert capfd.readouterr().err == "of somebody else\n"
    polars.DataFrame({"a": np.arange(300) % 5}).write_parquet(path, compression="uncompressed")
    good = path.read_bytes()
    for place in range(60, 140):  # the page of values among them
        path.write_bytes(good[:place] + b"\x27\xdd\x76\xbd" + good[place + 4 :])
        with contextlib.suppress(ReaderError):
            pw.read(path)
    assert capfd.readouterr().err == ""


def thrift(number: int) -> bytes:
    """A number as a Parquet file has it: its sign last, seven bits a byte."""
    value, out = (number << 1) ^ (number >> 63), bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize("count", [-1, -1000, 2**30], ids=["minus-one", "below", "beyond"])
def test_counts_of_parquet_are_checked_before_memory_is_taken(tmp_path: Path, count: int):
    """Of a count below zero polars takes 2^61 bytes, and that ends the process: no exception."""
    polars = pytest.importorskip("polars")
    polars.DataFrame({"a": np.arange(1000.0)}).write_parquet(tmp_path / "a.parquet", compression="uncompressed")
    good = (tmp_path / "a.parquet").read_bytes()
    assert pw.read(tmp_path / "a.parquet").X.shape == (1000, 1)
    old, new = thrift(1000), thrift(count)
    places = [i for i in range(4, len(good) - 8) if good.startswith(old, i)]
    refused = 0
    for place in places:
        bad = good[:place] + new + good[place + len(old) :]
        if place > len(good) // 2:  # in the description at the end, whose length is behind it
            length = int.from_bytes(good[-8:-4], "little") + len(new) - len(old)
            bad = bad[:-8] + length.to_bytes(4, "little") + bad[-4:]
        (tmp_path / "a.parquet").write_bytes(bad)
        try:
            pw.read(tmp_path / "a.parquet")
        except ReaderError:
            refused += 1
    assert refused


def test_a_part_is_known_by_its_suffix_in_any_case(tmp_path: Path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X)
    (tmp_path / "b.npy").rename(tmp_path / "b.NPY")
    assert pw.open_source(tmp_path).shape == (80, 6)


def compressed(folder: Path) -> None:
    (folder / "c.npy.gz").write_bytes(gzip.compress((folder / "a.npy").read_bytes()))


def below(folder: Path) -> None:
    (folder / "more").mkdir()
    np.save(folder / "more" / "b.npy", X)


def far_below(folder: Path) -> None:
    (folder / "more" / "still").mkdir(parents=True)
    np.save(folder / "more" / "still" / "b.npy", X)


@pytest.mark.parametrize("more", [compressed, below, far_below], ids=["compressed", "subfolder", "deeper"])
def test_no_part_is_left_out_in_silence(tmp_path: Path, more: Any):
    np.save(tmp_path / "a.npy", X)
    more(tmp_path)
    with pytest.raises(InputError, match="would be left out"):
        pw.open_source(tmp_path)


def test_a_part_that_leads_nowhere_is_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", X)
    (tmp_path / "b.npy").symlink_to(tmp_path / "nothing")
    with pytest.raises(ReaderError, match=r"b\.npy") as caught:
        pw.open_source(tmp_path)
    assert caught.value.kind == "missing-file"


def by_program(*words: str) -> Any:
    """The program, whose error is raised again."""

    def call(path: Path) -> None:
        from partwise.cli.app import run

        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = run([words[0], str(path), *words[1:]])
        if code:
            raise ReaderError(" ".join(said.getvalue().split()))

    return call


WAYS = {
    "read": pw.read,
    "rows": pw.open_source,
    "fit": lambda path: pw.HALS(2).fit(path),
    "fit by the program": by_program("fit", "-k", "2", "-m", "hals", "--no-judge"),
    "inspect": by_program("inspect"),
}


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs pipes that are files")
@pytest.mark.parametrize("way", WAYS)
def test_a_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str):
    """As ``partwise fit <(cat b.csv)`` has it; each look at it took some rows away."""
    monkeypatch.chdir(tmp_path)
    text = "s,a,b,c\n" + "".join(f"s{i},{i % 13},{i % 11 + 1},{i % 7}\n" for i in range(3000))
    end, start = os.pipe()
    try:
        os.write(start, text.encode())  # less than a pipe holds
        os.close(start)
        with pytest.raises(ReaderError, match="is a pipe or a device, which can be read only once"):
            WAYS[way](Path(f"/dev/fd/{end}"))
    finally:
        os.close(end)


# --- files that change ---------------------------------------------------------------------------------------


def overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-800, 2)
        file.write(bytes(800))
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))  # clocks of file systems are coarse


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(800))


def replaced(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes())
    path.with_suffix(".new").replace(path)


def cut(path: Path) -> None:
    os.truncate(path, 200)


CHANGES = [overwritten, grown, replaced, cut, Path.unlink]


def changing(change: Any, place: Path, at: int = 2) -> Any:
    def watch(progress: Any) -> None:
        if progress.n_iter == at:
            change(place)

    return watch


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("kind", ["npy", "parts", "fortran"])
def test_a_file_that_changes_under_a_fit_is_refused(tmp_path: Path, change: Any, kind: str):
    path = tmp_path / "a.npy"
    np.save(path, np.asfortranarray(X) if kind == "fortran" else X)
    source = pw.open_source(tmp_path if kind == "parts" else path, block_rows=10)
    model = pw.HALS(2, max_iter=20, tol=0.0, callbacks=[changing(change, path)])
    with pytest.raises(ReaderError, match=r"a\.npy: (changed|was (cut off|taken away)) while it was read") as caught:
        model.fit(source)
    assert caught.value.kind == "changed"
    assert not hasattr(model, "components_")


def test_a_map_of_the_caller_that_changes_is_refused(tmp_path: Path):
    np.save(tmp_path / "a.npy", X)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    model = pw.HALS(2, max_iter=20, tol=0.0, callbacks=[changing(overwritten, tmp_path / "a.npy")])
    with pytest.raises(ReaderError, match="changed while it was read"):
        model.fit(mapped)


def test_a_parquet_file_that_changes_is_refused(tmp_path: Path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "a.parquet"
    polars.DataFrame(X, schema=list("abcdef")).write_parquet(path)
    source = pw.read(path, in_memory=0).source()
    model = pw.HALS(2, max_iter=20, tol=0.0, callbacks=[changing(replaced, path)])
    with pytest.raises(ReaderError, match="changed while it was read"):
        model.fit(source)


def test_a_file_that_is_cut_does_not_kill_the_process(tmp_path: Path):
    np.save(tmp_path / "a.npy", RNG.random((4000, 50)))
    program = (
        "import os, sys, partwise as pw\n"
        "source = pw.open_source(sys.argv[1])\n"
        "os.truncate(sys.argv[1], 4096)\n"
        "try:\n    pw.HALS(2).fit(source)\n"
        "except pw.exceptions.ReaderError as error:\n    print(error.kind)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.npy")], capture_output=True, text=True, check=False
    )
    assert done.returncode != -signal.SIGBUS
    assert done.stdout.split() == ["changed"], done.stderr
