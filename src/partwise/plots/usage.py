"""Cells in a plane, coloured by how much they use each program."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.exceptions import InputError, MissingDependencyError
from partwise.plots.parts import axes_for
from partwise.plots.style import LABEL


def plot_usage(adata: Any, *, key: str = "partwise", basis: str = "umap", axes: Any = None) -> Any:
    """Draw the cells of an AnnData once for each program, coloured by its usage.

    Parameters
    ----------
    adata : AnnData
        With usages in ``obsm["X_" + key]``, as :func:`partwise.annotate` writes them.
    key : str, default="partwise"
        What they are called.
    basis : str, default="umap"
        Where cells are: ``obsm["X_" + basis]``. A UMAP of the usages is made, and kept there, where there is none and
        scanpy is installed.
    axes : sequence of matplotlib.axes.Axes, optional
        One for each program; made by default.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        One for each program.
    """
    if f"X_{key}" not in getattr(adata, "obsm", {}):
        raise InputError(f"{{parameter}} has no obsm['X_{key}']: partwise.annotate writes it", parameter="adata")
    if f"X_{basis}" not in adata.obsm:
        _embed(adata, key, basis)
    usages, places = np.asarray(adata.obsm[f"X_{key}"]), np.asarray(adata.obsm[f"X_{basis}"])[:, :2]
    names = adata.uns.get(key, {}).get("names", [f"Program {j + 1}" for j in range(usages.shape[1])])
    axes = axes_for(usages.shape[1], axes)
    size = float(np.clip(12_000 / len(places), 1.0, 20.0))
    for ax, name, usage in zip(axes, names, usages.T, strict=True):
        order = np.argsort(usage, kind="stable")  # cells that use it lie on top
        drawn = ax.scatter(*places[order].T, c=usage[order], s=size, cmap="viridis", vmin=0.0, vmax=1.0, linewidths=0)
        ax.set_title(str(name), fontsize=LABEL + 1.5)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{basis} 1", fontsize=LABEL)
        ax.set_ylabel(f"{basis} 2", fontsize=LABEL)
        ax.figure.colorbar(drawn, ax=ax).set_label("share of the cell", fontsize=LABEL)
    return axes


def _embed(adata: Any, key: str, basis: str) -> None:
    """A UMAP of the usages, by scanpy."""
    if basis != "umap":
        raise InputError(f"{{parameter}} has no obsm['X_{basis}']", parameter="adata")
    try:
        import scanpy
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "there is no obsm['X_umap'], and making one needs scanpy: pip install scanpy; or give basis="
        ) from error
    scanpy.pp.neighbors(adata, use_rep=f"X_{key}", key_added=key)
    scanpy.tl.umap(adata, neighbors_key=key)
