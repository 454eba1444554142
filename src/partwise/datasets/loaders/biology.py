"""Mutational signatures, single cells and gene expression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from partwise.datasets.checks import check_choice
from partwise.datasets.loaders.base import DataHome, Dataset, locate
from partwise.door.numpy_files import open_npz

__all__ = ["load_all_aml", "load_brca21", "load_cosmic", "load_pbmc3k"]

KINDS = ("ALL", "AML", "B-cell", "T-cell")


def load_cosmic(version: str = "3.4", *, data_home: DataHome = None) -> Dataset:
    """Load the COSMIC reference signatures of single base substitutions (GRCh37).

    Parameters
    ----------
    version : {"2", "3", "3.4", "3.5"}, default="3.4"
        With 30, 67, 86 and 97 signatures.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``cosmic_sbs/COSMIC_v3.4_SBS_GRCh37.txt``
        and so on.

    Returns
    -------
    Dataset
        ``components`` (signatures, 96), each summing to one, ``component_names`` such as "SBS1" and
        ``feature_names`` such as "A[C>A]A". There is no ``X``: see `load_brca21`.

    References
    ----------
    .. [1] L. Alexandrov et al., "The repertoire of mutational signatures in human cancer", Nature 578, 2020.

    Examples
    --------
    >>> from partwise.datasets import load_cosmic
    >>> load_cosmic().components.shape  # doctest: +SKIP
    (86, 96)
    """
    check_choice("version", version, ("2", "3", "3.4", "3.5"))
    path = locate("load_cosmic", "cosmic_sbs", f"COSMIC_v{version}_SBS_GRCh37.txt", data_home)
    types, names, table = _read_table(path)
    return Dataset("cosmic", components=table.T.copy(), feature_names=types, component_names=names)


def load_brca21(*, data_home: DataHome = None) -> Dataset:
    """Load the mutations of 21 breast-cancer genomes, where signatures were first found with NMF [1]_.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``brca21/Samples_SBS.txt``.

    Returns
    -------
    Dataset
        ``X`` (21, 96) counts, ``feature_names`` in the order of `load_cosmic`, ``sample_names``.

    References
    ----------
    .. [1] S. Nik-Zainal et al., "Mutational processes molding the genomes of 21 breast cancers",
       Cell 149, 2012.

    Examples
    --------
    >>> from partwise.datasets import load_brca21
    >>> load_brca21().X.sum()  # doctest: +SKIP
    183916.0
    """
    types, names, table = _read_table(locate("load_brca21", "brca21", "Samples_SBS.txt", data_home))
    order = np.argsort(types)  # alphabetical, as in the COSMIC files
    return Dataset("brca21", table.T[:, order].copy(), feature_names=[types[i] for i in order], sample_names=names)


def _read_table(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Read a tab-separated table: names of the rows, names of the columns, numbers."""
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    table = np.array([line[1:] for line in lines[1:]], dtype=float)
    return [line[0] for line in lines[1:]], lines[0][1:], table


def load_pbmc3k(*, data_home: DataHome = None) -> Dataset:
    """Load 2,700 blood cells of a healthy donor (10x Genomics): counts of 13,714 genes.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are
        ``pbmc3k/pbmc3k_counts_genes_x_cells.npz`` and ``pbmc3k/pbmc3k_names_labels.npz``.

    Returns
    -------
    Dataset
        ``X`` (2700, 13714) CSR, ``labels`` (nine cell types, found by clustering and not measured; "nan" for
        62 cells without), ``feature_names`` (genes), ``sample_names`` (cells).

    Examples
    --------
    >>> from partwise.datasets import load_pbmc3k
    >>> load_pbmc3k().X.shape  # doctest: +SKIP
    (2700, 13714)
    """
    with open_npz(locate("load_pbmc3k", "pbmc3k", "pbmc3k_counts_genes_x_cells.npz", data_home)) as archive:
        counts = archive.sparse()
    with open_npz(locate("load_pbmc3k", "pbmc3k", "pbmc3k_names_labels.npz", data_home)) as names:
        genes, cells, types = names.array("genes").tolist(), names.array("cells").tolist(), names.array("cell_type")
    return Dataset("pbmc3k", csr_array(counts.T), types, feature_names=genes, sample_names=cells)


def load_all_aml(*, data_home: DataHome = None) -> Dataset:
    """Load gene expression of 38 leukemias, the classic test of consensus NMF [1]_.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``all_aml/ALL_AML_data.txt``,
        ``ALL_AML_genes.txt`` and ``ALL_AML_samples.txt``.

    Returns
    -------
    Dataset
        ``X`` (38, 5000), ``labels`` ("ALL B-cell", "ALL T-cell", "AML"), ``feature_names`` (genes),
        ``sample_names``.

    References
    ----------
    .. [1] J.-P. Brunet, P. Tamayo, T. Golub, J. Mesirov, "Metagenes and molecular pattern discovery using
       matrix factorization", PNAS 101, 2004.

    Examples
    --------
    >>> from partwise.datasets import load_all_aml
    >>> load_all_aml().X.shape  # doctest: +SKIP
    (38, 5000)
    """
    paths = {
        part: locate("load_all_aml", "all_aml", f"ALL_AML_{part}.txt", data_home)
        for part in ("data", "genes", "samples")
    }
    X = np.loadtxt(paths["data"], delimiter="\t").T.copy()
    genes = paths["genes"].read_text(encoding="latin-1").splitlines()[1:]
    # the file ends in NUL bytes
    samples = paths["samples"].read_text(encoding="latin-1").replace("\x00", "").split()
    labels = np.array([" ".join(part for part in name.split("_") if part in KINDS) for name in samples])
    return Dataset(
        "all_aml",
        X,
        labels,
        feature_names=[line.split("\t")[0] for line in genes if line],
        sample_names=samples,
    )
