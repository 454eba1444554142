"""Tissues and cells that were mixed in known proportions."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np

from partwise.datasets.loaders.base import DataHome, Dataset, locate
from partwise.exceptions import InputError

__all__ = ["load_cellmix4", "load_sc_dropseq", "load_shen_orr"]

LINES = ("H1975", "H2228", "HCC827")


def load_shen_orr(*, data_home: DataHome = None) -> Dataset:
    """Load arrays of rat liver, brain and lung whose RNA was mixed in 14 designed proportions [1]_.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``shen_orr/expression.csv`` (linear scale) and
        ``shen_orr/proportions.csv``.

    Returns
    -------
    Dataset
        ``X`` (42, 600), ``weights`` (42, 3), the designed proportions, ``components`` (3, 600), the means of the arrays
        of one tissue alone, ``component_names``, ``feature_names`` (probe sets), ``sample_names`` (arrays).

    References
    ----------
    .. [1] S. Shen-Orr et al., "Cell type-specific gene expression differences in complex tissues", Nature Methods 7,
       2010.

    Examples
    --------
    >>> from partwise.datasets import load_shen_orr
    >>> load_shen_orr().X.shape  # doctest: +SKIP
    (42, 600)
    """
    probes, arrays, X = _read(locate("load_shen_orr", "shen_orr", "expression.csv", data_home))
    tissues, designed, P = _read(locate("load_shen_orr", "shen_orr", "proportions.csv", data_home))
    if arrays != designed:
        raise InputError("shen_orr: proportions.csv has other arrays than expression.csv: get both again.")
    return Dataset(
        "shen_orr",
        X,
        components=_of_one_alone(X, P),
        weights=P,
        feature_names=probes,
        sample_names=arrays,
        component_names=tissues,
    )


def load_cellmix4(*, data_home: DataHome = None) -> Dataset:
    """Load wells with known numbers of cells of three lines of lung cancer, counts of molecules of RNA [1]_.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``sc_mixology/cellmix4.count.csv.gz`` and
        ``sc_mixology/cellmix4.metadata.csv.gz``.

    Returns
    -------
    Dataset
        ``X`` (wells, genes), ``weights`` (wells, 3), the shares of the lines among the cells of a well, ``components``
        (3, genes), the means of the wells of one line alone, ``component_names``, ``feature_names`` (genes),
        ``sample_names`` (wells).

    References
    ----------
    .. [1] L. Tian et al., "Benchmarking single cell RNA-sequencing analysis pipelines using mixture control
       experiments", Nature Methods 16, 2019.

    Examples
    --------
    >>> from partwise.datasets import load_cellmix4
    >>> load_cellmix4().component_names  # doctest: +SKIP
    ['H1975', 'H2228', 'HCC827']
    """
    wells, genes, counts = _read(locate("load_cellmix4", "sc_mixology", "cellmix4.count.csv.gz", data_home))
    path = locate("load_cellmix4", "sc_mixology", "cellmix4.metadata.csv.gz", data_home)
    columns, *rows = _rows(path)
    # row names have no name in the header
    cells = {row[0]: [float(row[columns.index(line) + 1]) for line in LINES] for row in rows}
    missing = [well for well in wells if well not in cells]
    if missing:
        raise InputError(f"{path} has no line for well {missing[0]}: get it again.")
    numbers = np.array([cells[well] for well in wells])
    X, P = counts.T.copy(), numbers / numbers.sum(axis=1, keepdims=True)
    return Dataset(
        "cellmix4",
        X,
        components=_of_one_alone(X, P),
        weights=P,
        feature_names=genes,
        sample_names=wells,
        component_names=list(LINES),
    )


def load_sc_dropseq(*, data_home: DataHome = None) -> Dataset:
    """Load single cells of three lines of lung cancer, counts of molecules of RNA [1]_.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``sc_mixology/sc_dropseq.count.csv.gz`` and
        ``sc_mixology/sc_dropseq.metadata.csv.gz``.

    Returns
    -------
    Dataset
        ``X`` (cells, genes), ``labels`` (the line of each cell), ``feature_names`` (genes), ``sample_names`` (cells).

    References
    ----------
    .. [1] L. Tian et al., "Benchmarking single cell RNA-sequencing analysis pipelines using mixture control
       experiments", Nature Methods 16, 2019.

    Examples
    --------
    >>> from partwise.datasets import load_sc_dropseq
    >>> load_sc_dropseq().X.shape  # doctest: +SKIP
    (225, 15127)
    """
    cells, genes, counts = _read(locate("load_sc_dropseq", "sc_mixology", "sc_dropseq.count.csv.gz", data_home))
    path = locate("load_sc_dropseq", "sc_mixology", "sc_dropseq.metadata.csv.gz", data_home)
    columns, *rows = _rows(path)
    lines = {row[0]: row[len(row) - len(columns) + columns.index("cell_line")] for row in rows}
    missing = [cell for cell in cells if cell not in lines]
    if missing:
        raise InputError(f"{path} has no line for cell {missing[0]}: get it again.")
    labels = np.array([lines[cell] for cell in cells])
    return Dataset("sc_dropseq", counts.T.copy(), labels=labels, feature_names=genes, sample_names=cells)


def _of_one_alone(X: np.ndarray, P: np.ndarray) -> np.ndarray:
    return np.array([X[p == 1.0].mean(axis=0) for p in P.T])


def _rows(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return list(csv.reader(file))


def _read(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Names of the columns, names of the rows, numbers."""
    header, *rows = _rows(path)
    table = np.array([row[1:] for row in rows], float)
    return header[len(header) - table.shape[1] :], [row[0] for row in rows], table
