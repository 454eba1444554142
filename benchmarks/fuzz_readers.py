"""Damaged files for every reader: ``python -m benchmarks.fuzz_readers --count 300000``.

Good files of every format are damaged at random (bytes, cuts, doubled and swapped pieces, large numbers) or by their
structure (`benchmarks.structured`) and read. Allowed are a result and a ``ReaderError``; a crash, another exception,
more than 10 s of processor time or 1 GiB of memory, and other numbers than NumPy, SciPy, Pillow, pyarrow,
h5py, openpyxl and csv read from the same bytes (`benchmarks.fuzz_references`) are failures. Files are read in a process
of their own, which is started again if it dies; HDF5 in a fork of that. A case is its number: ``--first N --count 1``
repeats case N, ``--kinds h5ad,xlsx`` takes some kinds only.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from benchmarks import fuzz_references, structured

Files = dict[str, bytes]  # the files of one case, by name; several are a folder

SECONDS = 10.0
WAITING = 12.0  # times as long until a case that only waits is given up
PROGRESS = 10_000  # cases between two lines
BYTES = 1 << 30
EXTREMES = [0, 1, 2, 127, 128, 255, 2**15 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1]
NUMBERS = [b"0", b"-1", b"99999999", b"123456789012", b"9" * 30, b"1e400", b"nan", b"-5", b"4294967296", b"0.5"]
WORDS = [b",", b"\t", b"\n", b"\r", b'"', b" ", b";", b"#", b"%", b"{", b"}", b"[", b":", b"NA", b"\0", b"\xff", b"e"]


def good_files(*, heavy: bool = True) -> dict[str, Files]:
    """A small good file of every format; also of those whose libraries take seconds to start, unless told."""
    rng = np.random.default_rng(0)
    X = rng.random((12, 5)).round(3)
    X[X < 0.5] = 0.0
    S = sp.csr_array(X)
    images = (rng.random((4, 6, 5)) * 255).astype(np.uint8)
    names = [f"c{j}" for j in range(5)]
    rows = [[f"r{i}", *map(str, row)] for i, row in enumerate(X.tolist())]
    table = "\n".join(",".join(cells) for cells in [["", *names], *rows]).encode()
    mtx = _written(lambda file: scipy.io.mmwrite(file, S, symmetry="general"))
    idx = b"\0\0\x08\x03" + struct.pack(">3I", *images.shape) + images.tobytes()
    lists = {
        "features.tsv": b"".join(f"E{i}\tg{i}\tGene\n".encode() for i in range(12)),
        "barcodes.tsv": b"".join(f"b{j}\n".encode() for j in range(5)),
    }
    return {
        "csv": {"a.csv": table},
        "tsv": {"a.tsv": table.replace(b",", b"\t").replace(b"r", b'"r"')},
        "decimal": {"a.txt": table.replace(b",", b";").replace(b".", b",")},
        "csv.gz": {"a.csv.gz": gzip.compress(table, mtime=0)},
        "npy": {"a.npy": _written(lambda file: np.save(file, X))},
        "npz": {"a.npz": _written(lambda file: np.savez_compressed(file, X=X, y=X[0]))},
        "npz-sparse": {"s.npz": _written(lambda file: sp.save_npz(file, S))},
        "npz-stored": {"s.npz": _written(lambda file: sp.save_npz(file, sp.csc_array(S), compressed=False))},
        "mtx": {"a.mtx": mtx},
        "mtx-array": {"a.mtx": _written(lambda file: scipy.io.mmwrite(file, X))},
        "mtx.gz": {"a.mtx.gz": gzip.compress(mtx, mtime=0)},
        "mat": {"a.mat": _written(lambda file: scipy.io.savemat(file, {"X": X, "y": X[:, :1], "s": "text"}))},
        "mat-sparse": {"a.mat": _written(lambda file: scipy.io.savemat(file, {"X": sp.csc_matrix(S)}))},
        "mat-packed": {"a.mat": _written(lambda file: scipy.io.savemat(file, {"X": X}, do_compression=True))},
        "idx": {"a-idx3-ubyte": idx},
        "idx.gz": {"a-idx3-ubyte.gz": gzip.compress(idx, mtime=0)},
        "docword": {
            "docword.a.txt": b"3\n4\n4\n1 1 2\n1 3 1\n2 4 5\n3 2 1\n",
            "vocab.a.txt": b"red\nblue\nfish\none\n",
        },
        "10x": {"matrix.mtx": mtx, **lists},
        "texts": {"a.txt": b"One fish, two fish.\n", "b.txt": "Red fish, blue fish, na\u00efve.\n".encode()},
        "images": {f"{i}.png": _picture(image) for i, image in enumerate(images[:2])},
        "parquet": {"a.parquet": _parquet(X, names)},
        "model": {"a.safetensors": _model(X)},
        "state": {"a.state.safetensors": _state(X)},
        "npy-images": {"a.npy": _written(lambda file: np.save(file, images))},
        "npy-fortran": {"a.npy": _written(lambda file: np.save(file, np.asfortranarray(X.astype(">f4"))))},
        "parts-npy": {f"{i}.npy": _written(lambda file, i=i: np.save(file, X[6 * i : 6 * i + 6])) for i in range(2)},
        "parts-npz": {
            f"{i}.npz": _written(lambda file, i=i: sp.save_npz(file, S[6 * i : 6 * i + 6])) for i in range(2)
        },
        "parts-parquet": {f"{i}.parquet": _parquet(X[6 * i : 6 * i + 6], names, named=False) for i in range(2)},
        "images-16": {f"{i}.png": _picture(image.astype(np.uint16) * 257) for i, image in enumerate(images[:2])},
        "images-pgm": {"a.pgm": b"P5 5 6 200\n" + images[0].tobytes()},
        "images-stack": {"a.tif": _stack(images.astype(np.uint16) * 257)},
        "packed-zip": {"a.csv.zip": _zipped("a.csv", table)},
        "packed-bz2": {"a.csv.bz2": bz2.compress(table)},
        "packed-xz": {"a.csv.xz": lzma.compress(table)},
        "envi": _envi(X.astype("<f4")),
        "tables": {f"{i}.csv": table.replace(b"r", f"r{i}".encode()) for i in range(2)},
        **(_with_libraries(X, S, names) if heavy else {}),
    }


def _with_libraries(X: np.ndarray, S: Any, names: list[str]) -> dict[str, Files]:
    """Formats whose writers are not installed everywhere."""
    made: dict[str, Files] = {}
    if find_spec("anndata") and find_spec("h5py"):
        made["h5ad"] = {"a.h5ad": _h5ad(X, names)}
        made["h5ad-sparse"] = {"a.h5ad": _h5ad(sp.csr_matrix(S), names)}
    if find_spec("openpyxl") and find_spec("fastexcel"):
        made["xlsx"] = {"a.xlsx": _workbook(X, names)}
    return made


def _zipped(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


def _envi(X: np.ndarray) -> Files:
    fields = {"samples": 3, "lines": 4, "bands": 5, "data type": 4, "interleave": "bip", "byte order": 0}
    header = "ENVI\n" + "".join(f"{name} = {value}\n" for name, value in fields.items())
    return {"a.hdr": f"{header}wavelength = {{400, 500, 600, 700, 800}}\n".encode(), "a.img": X.tobytes()}


def _h5ad(X: Any, names: list[str]) -> bytes:
    import anndata
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.h5ad"
        both = [f"r{i}" for i in range(X.shape[0])], names
        cells, genes = (pd.DataFrame(index=pd.Index(one, dtype=object)) for one in both)
        anndata.AnnData(X, cells, genes).write_h5ad(path)
        return path.read_bytes()


def _workbook(X: np.ndarray, names: list[str]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in [["id", *names], *([f"r{i}", *row] for i, row in enumerate(X.tolist()))]:
        book.active.append(row)
    return _written(book.save)


def _written(write: Callable[[Any], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _picture(image: np.ndarray) -> bytes:
    from PIL import Image

    return _written(lambda file: Image.fromarray(image).save(file, "png"))


def _stack(images: np.ndarray) -> bytes:
    from PIL import Image

    pages = [Image.fromarray(image) for image in images]
    return _written(lambda file: pages[0].save(file, "tiff", save_all=True, append_images=pages[1:]))


def _state(X: np.ndarray) -> bytes:
    from partwise.runs import write_state

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        write_state(path, {"H": X[:2].copy(), "totals": np.arange(4.0), "best": 0.5, "over": False}, {"n_iter": 3})
        return path.read_bytes()


def _parquet(X: np.ndarray, names: list[str], *, named: bool = True) -> bytes:
    import polars

    first = {"name": [f"r{i}" for i in range(len(X))]} if named else {}
    frame = polars.DataFrame({**first, **dict(zip(names, X.T, strict=True))})
    return _written(frame.write_parquet)


def _model(X: np.ndarray) -> bytes:
    import partwise as pw

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        pw.save(pw.SPA(2).fit(np.ascontiguousarray(X[:, X.any(axis=0)][X.any(axis=1)])), path)
        return path.read_bytes()


def damage(data: bytes, rng: np.random.Generator) -> bytes:
    """One kind of damage, or a few one after the other."""
    for _ in range(int(rng.geometric(0.6))):
        data = DAMAGES[int(rng.integers(len(DAMAGES)))](data, rng)
    return data


def _place(data: bytes, rng: np.random.Generator) -> int:
    # headers are short and matter most
    end = len(data) if rng.random() < 0.5 else min(len(data), 200)
    return int(rng.integers(0, end + 1))


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        if out:
            out[min(_place(data, rng), len(out) - 1)] = int(rng.integers(256))
    return bytes(out)


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(0, len(data) + 1))]


def _remove(data: bytes, rng: np.random.Generator) -> bytes:
    a = _place(data, rng)
    return data[:a] + data[a + int(rng.integers(1, 30)) :]


def _double(data: bytes, rng: np.random.Generator) -> bytes:
    a = _place(data, rng)
    piece = data[a : a + int(rng.integers(1, 200))]
    return data[:a] + piece * int(rng.integers(2, 5)) + data[a:]


def _extreme(data: bytes, rng: np.random.Generator) -> bytes:
    form = "<>"[int(rng.integers(2))] + "BHIQ"[int(rng.integers(4))]
    size = struct.calcsize(form)
    value = EXTREMES[int(rng.integers(len(EXTREMES)))] % (1 << 8 * size)
    a = _place(data, rng)
    return data[:a] + struct.pack(form, value) + data[a + size :]


def _number(data: bytes, rng: np.random.Generator) -> bytes:
    """Another number in the place of one in text."""
    digits = [i for i in range(min(len(data), 400)) if 48 <= data[i] <= 57 and not (i and 48 <= data[i - 1] <= 57)]
    if not digits:
        return data
    a = digits[int(rng.integers(len(digits)))]
    b = a
    while b < len(data) and 48 <= data[b] <= 57:
        b += 1
    return data[:a] + NUMBERS[int(rng.integers(len(NUMBERS)))] + data[b:]


def _word(data: bytes, rng: np.random.Generator) -> bytes:
    a = _place(data, rng)
    return data[:a] + WORDS[int(rng.integers(len(WORDS)))] + data[a:]


def _noise(data: bytes, rng: np.random.Generator) -> bytes:
    a = _place(data, rng)
    return data[:a] + rng.bytes(int(rng.integers(1, 40))) + data[a:]


DAMAGES = [_flip, _flip, _cut, _remove, _double, _extreme, _extreme, _number, _number, _word, _noise]


def make_case(number: int, good: dict[str, Files]) -> tuple[str, Files]:
    """Case of this number: a format in turn, one of its files damaged."""
    rng = np.random.default_rng([7, number])
    kind = sorted(good)[number % len(good)]
    files = dict(good[kind])
    name = sorted(files)[int(rng.integers(len(files)))]
    changed = structured.change(name, files[name], rng) if rng.random() < 0.6 else None
    files[name] = damage(files[name], rng) if changed is None else changed
    if kind.endswith(".gz") and rng.random() < 0.5:
        # damage below the compression
        files = {name: gzip.compress(damage(gzip.decompress(data), rng), mtime=0) for name, data in good[kind].items()}
    return kind, files


def write_case(kind: str, files: Files, folder: Path) -> Path:
    """Write the files of a case and return what is to be read."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder if kind.startswith(("10x", "texts", "images", "parts", "tables")) else folder / next(iter(files))


def read_case(kind: str, path: Path, number: int = 0) -> str:
    """Read it and look at every number; "read", "refused", or what is wrong."""
    import partwise as pw
    from partwise.exceptions import ReaderError
    from partwise.io import numbers
    from partwise.runs import read_state
    from partwise.sources import blocks

    # every other one by the parser for long texts
    numbers.LONG_TEXT = (1 << 16) * (number % 2)
    try:
        if kind == "model":
            pw.load(path)
        elif kind == "state":
            read_state(path)
        else:
            # every third one as if it were too large for the memory
            table = pw.read(path, in_memory=0 if number % 3 == 0 else 1 << 28)
            if min(table.X.shape):
                pw.io.summarize(table)
            rows = table.source()
            found = blocks.to_dense(rows.take(range(rows.shape[0])))
            if not fuzz_references.as_written(kind, path, found):
                return "other numbers than were written"
    except ReaderError as error:
        return "refused" if not isinstance(error.__cause__, MemoryError) else "MemoryError"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "read"


def _forked_convert(path: Path, folder: Path, layer: str | None, modality: str | None) -> None:
    """As `partwise.io.h5ad` does it in a new process, which takes a second to start."""
    from partwise.door.guard import fail
    from partwise.io import h5ad

    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(h5ad.LEAST_SECONDS))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            h5ad.main(str(path), str(folder), layer or "", modality or "")
            os._exit(0)
        finally:
            os._exit(1)
    ended = os.waitpid(child, 0)[1]
    if ended:
        raise fail(path, "not a readable .h5ad file")


def work(first: int, last: int, kinds: list[str]) -> None:
    """Read cases in this process, a line of JSON for each, before and after."""
    import resource

    from partwise.io import h5ad

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {WAITING * SECONDS:g} s of waiting")

    signal.signal(signal.SIGALRM, stop)
    h5ad._convert = _forked_convert
    heavy = not kinds or any(kind.startswith(("h5ad", "xlsx")) for kind in kinds)
    good = {kind: files for kind, files in good_files(heavy=heavy).items() if not kinds or kind in kinds}
    for kind in good:  # what is compiled or imported at first use is not a case
        with tempfile.TemporaryDirectory() as folder:
            assert read_case(kind, write_case(kind, good[kind], Path(folder))) == "read", kind
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, resource.RLIM_INFINITY))
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for number in range(first, last):
            print(json.dumps({"begin": number}), flush=True)
            kind, files = make_case(number, good)
            path = write_case(kind, files, folder)
            start = time.process_time()  # which a busy machine does not change
            signal.setitimer(signal.ITIMER_REAL, WAITING * SECONDS)
            result = read_case(kind, path, number)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            seconds = time.process_time() - start
            if seconds > SECONDS:
                result = f"{seconds:.1f} s"
            print(json.dumps({"case": number, "kind": kind, "result": result, "seconds": seconds}), flush=True)
            for file in folder.iterdir():
                file.unlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(first: int, count: int, kinds: list[str] | None = None) -> dict[str, Any]:
    """All cases, with a new process after every crash."""
    counts: dict[str, dict[str, int]] = {}
    failures: list[dict[str, Any]] = []
    slowest = 0.0
    position, last = first, first + count
    while position < last:
        command = [sys.executable, "-m", "benchmarks.fuzz_readers", "--work", str(position), str(last)]
        command += ["--kinds", ",".join(kinds or [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
            assert worker.stdout is not None
            begun = None
            for line in worker.stdout:
                got = json.loads(line)
                if "begin" in got:
                    begun = got["begin"]
                    continue
                position, begun = got["case"] + 1, None
                slowest = max(slowest, got["seconds"])
                known = got["result"] if got["result"] in ("read", "refused") else "failed"
                counts.setdefault(got["kind"], {}).setdefault(known, 0)
                counts[got["kind"]][known] += 1
                if known == "failed":
                    failures.append(got)
                    print(got, flush=True)
                if position % PROGRESS == 0:
                    print(f"{position - first} cases, {len(failures)} failures", flush=True)
        if position < last:
            if begun is None:
                raise RuntimeError(f"the worker ended with {worker.returncode} outside a case")
            failures.append({"case": begun, "result": f"crash {worker.returncode}"})
            print(failures[-1], flush=True)
            position = begun + 1
    return {"count": count, "failures": failures, "slowest": slowest, "counts": counts}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--work", type=int, nargs=2, metavar=("FIRST", "LAST"), help=argparse.SUPPRESS)
    parser.add_argument("--kinds", default="", help="only these, with commas")
    chosen = parser.parse_args()
    kinds = [kind for kind in chosen.kinds.split(",") if kind]
    if chosen.work:
        work(*chosen.work, kinds)
        return
    start = time.perf_counter()
    result = run(chosen.first, chosen.count, kinds)
    for kind, found in sorted(result["counts"].items()):
        print(f"{kind:<12}" + "  ".join(f"{name} {number}" for name, number in sorted(found.items())))
    print(
        f"{result['count']} cases in {time.perf_counter() - start:.0f} s, slowest {result['slowest']:.2f} s, "
        f"{len(result['failures'])} failures"
    )
    raise SystemExit(1 if result["failures"] else 0)


if __name__ == "__main__":
    main()
