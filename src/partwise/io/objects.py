"""Objects of other libraries that hold samples: AnnData, xarray, HyperSpy, lazy frames. None of them is imported here.

Each becomes a `Table`, which also knows how weights are put back into an object of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.io.headers import even_scale, is_axis
from partwise.io.table import Table
from partwise.sources import source_of
from partwise.sources.blocks import is_sparse
from partwise.sources.names import named_by_text
from partwise.sources.opening import held_by

PARTS = "partwise.parts"  # where the metadata of a signal of weights names the parts


def known(X: Any) -> Any:
    """The table that an object of another library holds; anything else as it is.

    Parameters
    ----------
    X : object
        AnnData, a DataArray of xarray, a signal of HyperSpy, a lazy frame of polars, or whatever else.

    Returns
    -------
    Table or object
        A table where rows, columns and their names are known now; a data frame for a lazy one.
    """
    if type(X).__name__ == "LazyFrame" and type(X).__module__.partition(".")[0] == "polars":
        return X.collect()
    kind = held_by(X)
    return named_by_text(X) if kind is None else READERS[kind](X)


def _refuse(text: str) -> InputError:
    return InputError(f"{{parameter}} {text}", parameter="X", kind="format")


def of_anndata(adata: Any, matrix: Any = None, names: Any = None, *, origin: str = "AnnData") -> Table:
    """Cells and genes; `matrix` and `names` are those of a layer or of ``raw`` where not ``X`` is meant."""
    X = adata.X if matrix is None else matrix
    if X is None:
        raise _refuse("is an AnnData without X; give a layer, adata.layers[...]")
    if hasattr(X, "to_memory"):  # backed by a file
        X = X.to_memory()
    if is_sparse(X):
        X = sp.csr_array(X)
    X = source_of(X) if hasattr(X, "__dask_graph__") else X if is_sparse(X) else np.asarray(X)
    genes = adata.var_names if names is None else names

    def back(W: Any, parts: Sequence[str], dim: str = "part") -> Any:
        """Cells by parts, or features, with all that is known of the cells, as scverse's tools do of activities."""
        base = next(kind for kind in type(adata).__mro__ if kind.__name__ == "AnnData")
        kept = {name: {key: value.copy() for key, value in getattr(adata, name).items()} for name in ("obsm", "obsp")}
        made = base(X=W, obs=adata.obs.copy(), uns=deepcopy(dict(adata.uns)), **kept)
        made.var_names = np.array(parts, dtype=object)
        return made

    samples = list(map(str, adata.obs_names))
    return Table(X, list(map(str, genes)), samples, origin=origin, format="AnnData", back=back)


def _of_raw(raw: Any) -> Table:
    return of_anndata(raw.to_adata())


def _of_mudata(mdata: Any) -> Table:
    if len(mdata.mod) == 1:
        return of_anndata(next(iter(mdata.mod.values())), origin="MuData")
    raise _refuse(f"is a MuData; give one of its modalities: {', '.join(map(repr, mdata.mod))}")


def _of_dataset(dataset: Any) -> Table:
    raise _refuse(f"is a Dataset of xarray; give one of its variables: {', '.join(map(repr, dataset.data_vars))}")


def of_xarray(array: Any) -> Table:
    """Features are along the dimension that is called as an axis (wavelength, band), else along the last one."""
    if array.ndim < 2:
        raise _refuse(f"is a DataArray of {array.ndim} dimension; give samples and features")
    axes = [dim for dim in array.dims if is_axis(str(dim))]
    feature = axes[0] if len(axes) == 1 else array.dims[-1]
    rest = [dim for dim in array.dims if dim != feature]
    ordered = array.transpose(*rest, feature)
    shape = tuple(int(ordered.sizes[dim]) for dim in rest)
    values = ordered.data.reshape(-1, int(ordered.sizes[feature]))
    table = source_of(values) if hasattr(values, "__dask_graph__") else np.asarray(values)
    names = _coordinate(ordered, feature)
    samples = _coordinate(ordered, rest[0]) if len(rest) == 1 else None

    def back(W: Any, parts: Sequence[str], dim: str = "part") -> Any:
        kept = {name: coord for name, coord in ordered.coords.items() if feature not in coord.dims}
        weights = np.asarray(W).reshape(*shape, len(parts))
        name = "weights" if dim == "part" else None
        return type(array)(weights, dims=(*rest, dim), coords={**kept, dim: list(parts)}, name=name)

    what = f"DataArray, features along {feature!r}"
    return Table(
        table,
        names,
        samples,
        map_shape=shape if len(shape) == 2 else None,
        origin="xarray",
        format="xarray",
        notes=(what,),
        back=back,
    )


def _coordinate(array: Any, dim: Any) -> list[str] | None:
    if dim not in array.coords or array.coords[dim].ndim != 1:
        return None
    unit = str(array.coords[dim].attrs.get("units", ""))
    return [_label(value, unit) for value in array.coords[dim].values]


def _label(value: Any, unit: str) -> str:
    text = f"{float(value):.10g}" if isinstance(value, (float, np.floating)) else str(value)
    return f"{text} {unit}".strip()


def of_hyperspy(signal: Any) -> Table:
    """Navigation is over samples, the signal is what is measured of each; of weights navigation is over parts."""
    manager = signal.axes_manager
    parts = list(signal.metadata.get_item(PARTS, default=[]))
    if parts and manager.navigation_shape == (len(parts),):
        return _weights_in_hyperspy(signal, parts)
    if manager.signal_dimension not in (1, 2) or manager.navigation_dimension < 1:
        raise _refuse(
            f"is a signal with {manager.navigation_dimension} navigation and {manager.signal_dimension} signal "
            "dimensions; it needs samples to go along and one or two dimensions of signal"
        )
    sizes = tuple(signal.data.shape)
    shape = sizes[: manager.navigation_dimension]
    values = signal.data.reshape(int(np.prod(shape)), -1)
    X = source_of(values) if hasattr(values, "__dask_graph__") else np.asarray(values)
    axis, image = None, None
    if manager.signal_dimension == 1:
        [one] = manager.signal_axes
        unit = one.units if isinstance(one.units, str) else ""
        axis = [_label(float(value), unit) for value in one.axis]
    else:
        image = (sizes[-2], sizes[-1])

    def back(W: Any, parts: Sequence[str], dim: str = "part") -> Any:
        maps = np.moveaxis(np.asarray(W).reshape(*shape, len(parts)), -1, 0)
        made = _base(signal)(maps).transpose(signal_axes=len(shape))
        made.metadata.General.title = f"weights of {len(parts)} parts"
        made.metadata.set_item(PARTS, list(parts))
        _as_before(made.axes_manager.signal_axes, manager.navigation_axes)
        return made

    return Table(
        X,
        axis,
        None,
        image_shape=image,
        map_shape=shape if len(shape) == 2 else None,
        origin="HyperSpy",
        format="HyperSpy",
        back=back,
    )


def _weights_in_hyperspy(signal: Any, parts: list[str]) -> Table:
    """Weights as `transform` gives them, a map for each part."""
    maps = np.asarray(signal.data)

    def back(values: Any, features: Sequence[str], dim: str = "feature") -> Any:
        made = _base(signal)(np.asarray(values).reshape(*maps.shape[1:], -1)).transpose(signal_axes=1)
        _as_before(made.axes_manager.navigation_axes, signal.axes_manager.signal_axes)
        [axis], scale = made.axes_manager.signal_axes, even_scale(features)
        if scale is not None:
            axis.offset, axis.scale, axis.units = scale
        return made

    X = np.moveaxis(maps, 0, -1).reshape(-1, len(parts))
    return Table(X, parts, origin="HyperSpy", format="HyperSpy", back=back)


def _base(signal: Any) -> Any:
    return next(kind for kind in type(signal).__mro__ if kind.__name__ == "BaseSignal")


def _as_before(axes: Any, before: Any) -> None:
    for new, old in zip(axes, before, strict=False):
        new.name, new.scale, new.offset, new.units = old.name, old.scale, old.offset, old.units


READERS: dict[tuple[str, str], Callable[[Any], Table]] = {
    ("anndata", "AnnData"): of_anndata,
    ("anndata", "Raw"): _of_raw,
    ("mudata", "MuData"): _of_mudata,
    ("xarray", "DataArray"): of_xarray,
    ("xarray", "Dataset"): _of_dataset,
    ("hyperspy", "BaseSignal"): of_hyperspy,
}
