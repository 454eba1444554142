"""What other libraries read from the same damaged bytes, in a process of their own, which may crash."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import signal
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

SAME, OTHER, NONE = 0, 1, 2
SECONDS = 10


class NotComparedError(Exception):
    """The other library reads something that is no one matrix."""


def as_written(kind: str, path: Path, found: np.ndarray) -> bool:
    """Whether another reader finds the same numbers, or none at all."""
    read = next((one for start, one in READERS.items() if kind.startswith(start)), None)
    if read is None:
        return True
    child = os.fork()
    if child == 0:
        os._exit(_compared(read, path, found))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code != OTHER


def _compared(read: Callable[[Path], list[np.ndarray]], path: Path, found: np.ndarray) -> int:
    """In the child: its own end is no verdict."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        wanted = read(path)
        return SAME if any(_equal(found, one) for one in wanted) else OTHER
    except BaseException:
        return NONE


def _equal(found: np.ndarray, wanted: np.ndarray) -> bool:
    if wanted.ndim == 3:
        wanted = wanted.reshape(len(wanted), -1)
    if found.shape != wanted.shape:
        return False
    with np.errstate(all="ignore"):
        return bool(np.array_equal(found, wanted.astype(found.dtype), equal_nan=True))


def _numpy(path: Path) -> list[np.ndarray]:
    parts = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        there: Any = np.load(file, allow_pickle=False)
        if not isinstance(there, np.ndarray):
            if "format" in there.files:
                there = sp.load_npz(file).toarray()
            else:
                several = [there[name] for name in there.files if there[name].ndim in (2, 3)]
                if len(several) != 1 and path.is_dir():
                    raise NotComparedError
                if len(several) != 1:
                    return several
                there = several[0]
        parts.append(there.reshape(len(there), int(np.prod(there.shape[1:]))))
    return [np.concatenate(parts)]


def _matlab(path: Path) -> list[np.ndarray]:
    found = scipy.io.loadmat(path)
    dense = [one.toarray() if sp.issparse(one) else one for name, one in found.items() if not name.startswith("__")]
    return [one for one in dense if isinstance(one, np.ndarray) and one.dtype.kind in "fiub" and one.ndim in (2, 3)]


def _matrix_market(path: Path) -> list[np.ndarray]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        found = scipy.io.mmread(io.BytesIO(file.read()))
    return [np.asarray(found.toarray() if sp.issparse(found) else found)]


def _idx(path: Path) -> list[np.ndarray]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    return [np.frombuffer(data[4 + 4 * data[3] :], np.uint8).reshape(shape)]


def _text(delimiter: str, decimal: str = ".") -> Callable[[Path], list[np.ndarray]]:
    """A header, a name and numbers in every line, and nothing else."""

    def read(path: Path) -> list[np.ndarray]:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        elif path.suffix == ".bz2":
            data = bz2.decompress(data)
        elif path.suffix == ".xz":
            data = lzma.decompress(data)
        elif path.suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                data = archive.read(archive.namelist()[0])
        rows = [row for row in csv.reader(io.StringIO(data.decode()), delimiter=delimiter) if any(row)]
        if len({len(row) for row in rows}) != 1 or len(rows) < 3 or len(rows[0]) < 3:
            raise NotComparedError
        if any(cell.strip() and not cell.strip()[:1].isalpha() for cell in rows[0]):
            raise NotComparedError
        if not all(row[0][:1] == "r" for row in rows[1:]):
            raise NotComparedError
        return [np.array([[float(cell.replace(decimal, ".")) for cell in row[1:]] for row in rows[1:]])]

    return read


def _parquet(path: Path) -> list[np.ndarray]:
    import pyarrow.parquet

    parts = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        frame = pyarrow.parquet.read_table(file).to_pandas()
        parts.append(frame.select_dtypes("number").to_numpy())
    return [np.concatenate(parts)]


def _pictures(path: Path) -> list[np.ndarray]:
    from PIL import Image

    rows = []
    for file in sorted(path.iterdir()):
        with Image.open(io.BytesIO(file.read_bytes())) as picture:
            if picture.getexif().get(0x0112, 1) != 1 or file.suffix == ".pgm":
                raise NotComparedError
            for number in range(getattr(picture, "n_frames", 1)):
                picture.seek(number)
                if picture.mode not in ("1", "L", "I;16", "I;16B", "F"):
                    raise NotComparedError
                rows.append(np.array(picture).ravel())
    return [np.stack(rows)]


def _h5ad(path: Path) -> list[np.ndarray]:
    import h5py

    with h5py.File(path) as file:
        X = file["X"]
        if isinstance(X, h5py.Dataset):
            return [X[...]]
        kind = {"csr_matrix": sp.csr_array, "csc_matrix": sp.csc_array}[X.attrs["encoding-type"]]
        made = kind((X["data"][...], X["indices"][...], X["indptr"][...]), shape=tuple(X.attrs["shape"]))
        made.check_format(full_check=True)
        return [made.toarray()]


def _workbook(path: Path) -> list[np.ndarray]:
    import openpyxl

    rows = list(openpyxl.load_workbook(path, data_only=True).active.values)
    if len(rows) < 2:  # it passes over a sheet whose namespace it does not know
        raise NotComparedError
    return [np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])]


READERS: dict[str, Callable[[Path], list[np.ndarray]]] = {
    "npy": _numpy,
    "npz": _numpy,
    "parts-np": _numpy,
    "parts-parquet": _parquet,
    "parquet": _parquet,
    "mat": _matlab,
    "mtx": _matrix_market,
    "idx": _idx,
    "csv": _text(","),
    "packed": _text(","),
    "tsv": _text("\t"),
    "decimal": _text(";", ","),
    "images": _pictures,
    "h5ad": _h5ad,
    "xlsx": _workbook,
}
