"""AnnData's ``.h5ad``, MuData's ``.h5mu`` and Cell Ranger's ``.h5``, read in a process of its own.

The HDF5 library can loop or crash on a damaged file. The child writes what it found as plain NumPy files into a folder,
from which the parent takes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.door.guard import fail, reading, size_text
from partwise.door.matrices import check_form
from partwise.door.numpy_files import read_array
from partwise.exceptions import InputError, MissingDependencyError
from partwise.io.names import unique_names
from partwise.io.table import Table
from partwise.sources.blocks import is_sparse

LEAST_SECONDS, LEAST_SPEED = 8.0, 2e6  # for the smallest file; bytes a second that any disk gives
BUSY = 10.0  # times as long may be waited for that much of the processor's time
LEAST_MEMORY, LARGEST_GROWTH = 4 << 30, 100  # address space, and how much compressed numbers may grow
PARTS = ("data", "indices", "indptr")
RANGER = "partwise-of-cell-ranger"
TURNED = "cells are rows, genes are columns"
ASKED = 3  # how the child ends where another argument would do


def is_hdf5(first: bytes) -> bool:
    """Whether a file that begins so is one of HDF5."""
    # MuData writes its name before the file of HDF5
    return first.startswith((b"\x89HDF\r\n\x1a\n", b"MuData (format-version"))


def read_h5ad(path: Path, *, layer: str | None = None, modality: str | None = None, duplicates: str = "error") -> Table:
    """Read the matrix ``X`` of an ``.h5ad`` file, or another one of it, or of a modality of ``.h5mu``; needs anndata.

    Files of Cell Ranger (``filtered_feature_bc_matrix.h5``) are read too, with symbols of genes as its folders are.

    Parameters
    ----------
    layer : str, optional
        A layer, such as "counts", or "raw".
    modality : str, optional
        Of an ``.h5mu`` file, such as "rna"; needed where there are several.

    Returns
    -------
    Table
        Observations as rows, with the names of both.
    """
    if find_spec("anndata") is None:
        raise MissingDependencyError(f"{path}: reading .h5ad needs anndata: pip install 'partwise[anndata]'")
    with tempfile.TemporaryDirectory(prefix="partwise-") as folder:
        _convert(path, Path(folder), layer, modality)
        with reading(path, ".h5ad file"):
            names = json.loads((Path(folder) / "names.json").read_text())
            parts = {file.stem: read_array(file) for file in Path(folder).glob("*.npy")}
            X: Any = (
                sp.csr_array(tuple(parts[name] for name in PARTS), shape=names["shape"]) if "data" in parts else None
            )
    X = parts["X"] if X is None else X
    ranger = names["format"] == "10x"  # where two genes may well have one symbol
    genes = unique_names(path, names["columns"], "column", "number" if ranger else duplicates, lambda _: None)
    cells = unique_names(path, names["rows"], "row", duplicates, lambda _: None)
    notes = tuple(f"{name}: {value}" for name, value in (("modality", names["modality"]), ("layer", layer)) if value)
    notes = (TURNED, *notes) if ranger else notes
    return Table(X, genes, cells, origin=str(path), format=names["format"], notes=notes)


def _convert(path: Path, folder: Path, layer: str | None, modality: str | None) -> None:
    """Run the child, with a limit of time from when it opens the file; whatever ends it, the error is ours."""
    seconds = _seconds(path.stat().st_size)
    # it imports what this process would: not what lies in the working folder, beside somebody's data
    command = [
        sys.executable,
        "-P",
        "-m",
        "partwise.io.h5ad",
        str(path.resolve()),
        str(folder),
        layer or "",
        modality or "",
    ]
    places = os.pathsep.join(place or os.getcwd() for place in sys.path)
    with (
        (folder / "errors.txt").open("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"PYTHONPATH": places},
        ) as child,
    ):
        assert child.stdout is not None
        opened = child.stdout.readline() != b""  # imports can take long and say nothing about the file
        try:
            child.communicate(timeout=BUSY * seconds)  # the child limits its processor's time, where systems can
        except subprocess.TimeoutExpired as error:
            raise fail(path, f"not a readable .h5ad file (nothing after {BUSY * seconds:.0f} s)") from error
        finally:
            child.kill()
        errors.seek(0)
        last = errors.read().strip().splitlines()[-1:] or [f"the HDF5 library ended with code {child.returncode}"]
    if not opened:
        raise MissingDependencyError(f"{path}: reading .h5ad needs anndata, which does not start ({last[0][:200]})")
    if child.returncode == -getattr(signal, "SIGXCPU", 0) != 0:
        raise fail(path, f"not a readable .h5ad file (nothing after {seconds:.0f} s)")
    if child.returncode == ASKED:
        parameter, text = json.loads(last[0])
        raise fail(path, text, kind="unknown", parameter=parameter)
    if child.returncode != 0:
        raise fail(path, f"not a readable .h5ad file ({last[0][:200]})")


def main(path: str, folder: str, layer: str = "", modality: str = "") -> None:
    """The child: numbers and names as files; anything that goes wrong is one line on standard error."""
    import warnings

    import anndata  # noqa: F401  (what takes long to start is there before the clock runs)

    print("opening", flush=True)
    _limit(Path(path).stat().st_size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modality, data = _opened(path, modality)
    if layer == "raw" and data.raw is None:
        raise InputError("there is no raw; leave {parameter} out", parameter="layer")
    if layer not in ("", "raw") and layer not in data.layers:
        known = ", ".join(name for name in data.layers if name)  # from anndata 0.13 on X is one of them, without a name
        raise InputError(f"{{parameter}}: there is no layer {layer!r}; there are: {known or 'none'}", parameter="layer")
    matrix = data.raw.X if layer == "raw" else data.layers[layer] if layer else data.X
    genes = data.raw.var_names if layer == "raw" else data.var_names
    check_form(matrix)  # before a compiled loop turns columns into rows
    X: Any = sp.csr_array(matrix) if is_sparse(matrix) else np.asarray(matrix)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"its X has type {X.dtype} and shape {X.shape}")
    place = Path(folder)
    if is_sparse(X):
        for name in PARTS:
            np.save(place / f"{name}.npy", getattr(X, name), allow_pickle=False)
    else:
        np.save(place / "X.npy", X, allow_pickle=False)
    names = {"rows": list(map(str, data.obs_names)), "columns": list(map(str, genes)), "shape": X.shape}
    names["modality"] = modality
    names["format"] = "10x" if RANGER in data.uns else "h5ad"
    (place / "names.json").write_text(json.dumps(names))


def _opened(path: str, modality: str) -> tuple[str, Any]:
    """The AnnData of a file, or of a modality in it."""
    import anndata
    import h5py

    with h5py.File(path, "r") as file:
        if "mod" in file:
            which = _chosen(list(file["mod"]), modality)
            read = getattr(anndata, "io", None) or anndata.experimental  # the older place of it
            return which, read.read_elem(file["mod"][which])
        # one group since version 3 of Cell Ranger, one a genome before
        ranger = [name for name, one in file.items() if isinstance(one, h5py.Group) and "barcodes" in one]
        if ranger and "X" not in file:
            kinds = len(ranger) == 1 and "features/feature_type" in file[ranger[0]]
            return _of_ranger(file[ranger[0] if kinds else _chosen(ranger, modality)], modality)
    if modality:
        raise InputError("it has no modalities: leave {parameter} out", parameter="modality")
    return "", anndata.read_h5ad(path)


def _chosen(known: list[str], modality: str) -> str:
    """The modality that is meant: the one that is named, or the only one."""
    if modality in known or (len(known) == 1 and not modality):
        return modality or known[0]
    wrong = "it has several modalities: give {parameter}"
    if modality:
        wrong = f"{{parameter}}: there is no modality {modality!r}"
    raise InputError(f"{wrong}; there are: {', '.join(known)}", parameter="modality")


def _of_ranger(group: Any, modality: str) -> tuple[str, Any]:
    """A file of Cell Ranger; its kinds of features, such as genes and antibodies, are modalities."""
    import anndata
    import pandas as pd

    columns = sp.csc_array(tuple(group[name][:] for name in PARTS), shape=tuple(group["shape"][:]))
    check_form(columns)
    genes = group["features/name" if "features" in group else "gene_names"].asstr()[:]
    obs, var = pd.DataFrame(index=group["barcodes"].asstr()[:]), pd.DataFrame(index=genes)
    data = anndata.AnnData(sp.csr_matrix(columns.T), obs=obs, var=var, uns={RANGER: True})  # all that 0.10 takes
    if "features/feature_type" not in group:
        return "", data
    kinds = group["features/feature_type"].asstr()[:]
    known = sorted(set(kinds))
    which = _chosen(known, modality)
    return (which, data[:, kinds == which]) if len(known) > 1 else ("", data)


def _seconds(size: int) -> float:
    return LEAST_SECONDS + size / LEAST_SPEED


def _limit(size: int) -> None:
    """A small file that declares a huge matrix gets no memory for it, nor time, where the system has such limits."""
    try:
        import resource
    except ImportError:
        return
    limit = LEAST_MEMORY + LARGEST_GROWTH * size
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = int(time.process_time() + _seconds(size)) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard < 0 else min(most, hard), hard))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except MemoryError:
        sys.exit(f"it declares more numbers than its {size_text(Path(sys.argv[1]).stat().st_size)} can mean")
    except Exception as error:
        if isinstance(error, InputError) and error.parameter in ("layer", "modality"):
            print(json.dumps([error.parameter, error.worded("{parameter}", "")]), file=sys.stderr)
            sys.exit(ASKED)
        sys.exit(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")
