"""Files of microscopes and spectrometers that RosettaSciIO reads (.hspy, .dm4, .emd, .spd, .wdf, .jdx, ...)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from partwise.door.guard import check_memory, fail, reading
from partwise.exceptions import MissingDependencyError
from partwise.io.table import Table

# what RosettaSciIO 0.6 and later read and no format here does
SUFFIXES: tuple[str, ...] = (
    ".hspy",
    ".zspy",
    ".dm3",
    ".dm4",
    ".emd",
    ".bcf",
    ".blo",
    ".emi",
    ".ser",
    ".msa",
    ".rpl",
    ".spd",
    ".spc",
)
SUFFIXES += (".wdf", ".jdx", ".dx", ".sur", ".pro", ".tvf", ".unf", ".nxs", ".dens", ".sge", ".elid", ".jobin")


def read_signals(path: Path, *, variable: str | None = None) -> Table:
    """Read a file of spectra by RosettaSciIO, which must be installed.

    Parameters
    ----------
    variable : str, optional
        The title of a signal; needed if the file has several with samples to go along.

    Returns
    -------
    Table
        A row a position, energies or wavelengths as names.
    """
    try:
        from rsciio import IO_PLUGINS
    except ImportError as error:
        raise MissingDependencyError(
            f"{path}: reading {path.suffix} needs RosettaSciIO: pip install 'partwise[spectra]'"
        ) from error
    extension = path.suffix.lower().lstrip(".")
    plugin = next((one for one in IO_PLUGINS if extension in map(str.lower, one["file_extensions"])), None)
    if plugin is None:
        raise fail(path, f"RosettaSciIO has no reader for {path.suffix}", kind="format")
    from importlib import import_module

    with reading(path, f"{plugin['name']} file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: list[dict[str, Any]] = import_module(plugin["api"]).file_reader(str(path))
    signals = {_title(one, i): one for i, one in enumerate(found) if np.ndim(one["data"]) >= 2}
    if variable is None and len(signals) > 1:
        listed = ", ".join(f"{name} {' x '.join(map(str, np.shape(one['data'])))}" for name, one in signals.items())
        raise fail(
            path, f"has several signals; give {{parameter}}, one of: {listed}", kind="format", parameter="variable"
        )
    if not signals:
        raise fail(
            path,
            "has one spectrum, and parts are found in many: save each as CSV in one folder, which is read as spectra",
            kind="format",
        )
    if variable is not None and variable not in signals:
        raise fail(
            path, f"there is no {{parameter}} {variable!r}; there are: {', '.join(signals)}", parameter="variable"
        )
    chosen = variable or next(iter(signals))
    with reading(path, f"{plugin['name']} file"):
        return _table(path, chosen, signals[chosen])


def _title(signal: dict[str, Any], number: int) -> str:
    return str(signal.get("metadata", {}).get("General", {}).get("title") or f"signal {number}")


def _table(path: Path, name: str, signal: dict[str, Any]) -> Table:
    data, axes = signal["data"], sorted(signal.get("axes", []), key=lambda axis: axis.get("index_in_array", 0))
    check_memory(path, float(np.prod(data.shape)) * data.dtype.itemsize)
    shape = tuple(data.shape)
    X = np.asarray(data).reshape(-1, shape[-1])
    names = None
    if len(axes) == data.ndim and "scale" in axes[-1]:
        axis, unit = axes[-1], axes[-1].get("units")
        values = axis.get("offset", 0.0) + axis["scale"] * np.arange(shape[-1])
        names = [f"{value:.10g} {unit if isinstance(unit, str) else ''}".strip() for value in values]
    maps = shape[:-1] if len(shape) == 3 else None
    return Table(X, names, map_shape=maps, origin=str(path), format="signals", notes=(f"signal: {name}",))
