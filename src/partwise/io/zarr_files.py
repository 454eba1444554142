"""Folders of zarr: an array, a group of arrays, an AnnData."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from partwise.door.guard import check_memory, fail, reading
from partwise.exceptions import MissingDependencyError
from partwise.io.numpy_files import as_matrix, choose
from partwise.io.objects import of_anndata, of_xarray
from partwise.io.table import Table

MARKS = (".zarray", ".zgroup", "zarr.json")


def is_zarr(folder: Path) -> bool:
    """Whether a folder is an array or a group of zarr."""
    return any((folder / mark).is_file() for mark in MARKS)


def read_zarr(path: Path, *, variable: str | None = None) -> Table:
    """Read an array of zarr, or the matrix of an AnnData; needs zarr.

    Parameters
    ----------
    variable : str, optional
        Which array of a group; needed if several are matrices.

    Returns
    -------
    Table
        With ``image_shape`` if there are three dimensions; cells and genes of an AnnData with their names, a variable
        of a Dataset of xarray as its DataArray would be taken.
    """
    try:
        import zarr
    except ImportError as error:
        raise MissingDependencyError(f"{path}: reading .zarr needs zarr: pip install zarr") from error
    with reading(path, ".zarr folder"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = zarr.open(str(path), mode="r")
        if hasattr(found, "ndim"):
            return _of_array(path, found, ())
        if dict(found.attrs).get("encoding-type") == "anndata":
            try:
                import anndata
            except ImportError as error:
                raise MissingDependencyError(f"{path}: is an AnnData: pip install 'partwise[anndata]'") from error
            return replace(of_anndata(anndata.read_zarr(path), origin=str(path)), back=None)
        arrays = {name: one for name, one in found.arrays() if np.dtype(one.dtype).kind in "fiub"}
    if not arrays:
        raise fail(path, "there is no array of numbers in it", kind="empty")
    name = choose(path, {name: tuple(one.shape) for name, one in arrays.items()}, variable)
    with reading(path, ".zarr folder"):
        return _of_xarray(path, name, arrays[name]) or _of_array(path, arrays[name], (f"variable: {name}",))


def _of_xarray(path: Path, name: str, array: Any) -> Table | None:
    """The variable with its dimensions and coordinates, if xarray wrote it and is there to read it."""
    if getattr(array.metadata, "dimension_names", None) is None and "_ARRAY_DIMENSIONS" not in dict(array.attrs):
        return None
    try:
        import xarray
    except ImportError:
        return None
    check_memory(path, float(np.prod(array.shape)) * array.dtype.itemsize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            dataset = xarray.open_zarr(path)
        except (KeyError, ValueError):  # other programs name dimensions too: those of a pyramid differ in length
            return None
        with dataset:
            made = of_xarray(dataset[name].load())
    return replace(made, origin=str(path), format="zarr", notes=(f"variable: {name}", *made.notes), back=None)


def _of_array(path: Path, array: Any, notes: tuple[str, ...]) -> Table:
    check_memory(path, float(np.prod(array.shape)) * array.dtype.itemsize)
    X, image_shape = as_matrix(path, np.asarray(array[...]))
    return Table(X, image_shape=image_shape, origin=str(path), format="zarr", notes=notes)
