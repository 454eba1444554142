"""Damaged files for every reader: ``python -m benchmarks.fuzz_readers --count 100000``.

Good files of every format are damaged at random (bytes, cuts, doubled and swapped pieces, large numbers) or by their
structure (`benchmarks.structured`) and read. Allowed are a result and a ``ReaderError``; a crash, another exception,
more than 5 s, an allocation of more than 1 GiB and, for arrays, other numbers than NumPy and SciPy read from the same
bytes are failures. Files are read in a process of their own, which is started again if it dies. A case is its number:
``--first N --count 1`` repeats case N.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from benchmarks import structured

Files = dict[str, bytes]  # the files of one case, by name; several are a folder

SECONDS = 5.0
BYTES = 1 << 30
EXTREMES = [0, 1, 2, 127, 128, 255, 2**15 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1]
NUMBERS = [b"0", b"-1", b"99999999", b"123456789012", b"9" * 30, b"1e400", b"nan", b"-5", b"4294967296", b"0.5"]
WORDS = [b",", b"\t", b"\n", b"\r", b'"', b" ", b";", b"#", b"%", b"{", b"}", b"[", b":", b"NA", b"\0", b"\xff", b"e"]


def good_files() -> dict[str, Files]:
    """A small good file of every format."""
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
    }


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
    return folder if kind.startswith(("10x", "texts", "images", "parts")) else folder / next(iter(files))


def read_case(kind: str, path: Path, number: int = 0) -> str:
    """Read it and look at every number; "read", "refused", or what is wrong."""
    import partwise as pw
    from partwise.exceptions import ReaderError
    from partwise.io import numbers
    from partwise.runs import read_state

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
            if kind.startswith(("np", "parts-np")) and not _as_written(path, table.source()):
                return "other numbers than were written"
    except ReaderError as error:
        return "refused" if not isinstance(error.__cause__, MemoryError) else "MemoryError"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "read"


def _as_written(path: Path, source: Any) -> bool:
    """Whether NumPy and SciPy read the same numbers from the same bytes; what they refuse is not compared."""
    from partwise.sources import blocks

    found = blocks.to_dense(source.take(range(source.shape[0])))
    parts = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        try:
            there = np.load(file, allow_pickle=False)
            if not isinstance(there, np.ndarray):
                with there:
                    names = [name for name in there.files if there[name].ndim in (2, 3)]
                    if "format" not in there.files and len(names) != 1:
                        return True  # one of several, by its size
                    there = sp.load_npz(file).toarray() if "format" in there.files else there[names[0]]
        except Exception:
            return True
        parts.append(there.reshape(len(there), int(np.prod(there.shape[1:]))))
    wanted = np.concatenate(parts).astype(found.dtype)
    return np.array_equal(found, wanted, equal_nan=True)


def work(first: int, last: int) -> None:
    """Read cases in this process, a line of JSON for each, before and after."""
    import resource

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS:g} s")

    signal.signal(signal.SIGALRM, stop)
    good = good_files()
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
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            result = read_case(kind, path, number)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            seconds = time.perf_counter() - start
            if seconds > SECONDS:
                result = f"{seconds:.1f} s"
            print(json.dumps({"case": number, "kind": kind, "result": result, "seconds": seconds}), flush=True)
            for file in folder.iterdir():
                file.unlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(first: int, count: int) -> dict[str, Any]:
    """All cases, with a new process after every crash."""
    counts: dict[str, dict[str, int]] = {}
    failures: list[dict[str, Any]] = []
    slowest = 0.0
    position, last = first, first + count
    while position < last:
        command = [sys.executable, "-m", "benchmarks.fuzz_readers", "--work", str(position), str(last)]
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
    chosen = parser.parse_args()
    if chosen.work:
        work(*chosen.work)
        return
    start = time.perf_counter()
    result = run(chosen.first, chosen.count)
    for kind, found in sorted(result["counts"].items()):
        print(f"{kind:<12}" + "  ".join(f"{name} {number}" for name, number in sorted(found.items())))
    print(
        f"{result['count']} cases in {time.perf_counter() - start:.0f} s, slowest {result['slowest']:.2f} s, "
        f"{len(result['failures'])} failures"
    )
    raise SystemExit(1 if result["failures"] else 0)


if __name__ == "__main__":
    main()
