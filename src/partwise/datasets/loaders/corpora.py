"""Documents that come as counts: TDT2, NIPS papers and BBC news."""

from __future__ import annotations

import numpy as np
from scipy.io import loadmat, mmread
from scipy.sparse import csr_array

from partwise.datasets.loaders.base import DataHome, Dataset, locate
from partwise.datasets.loaders.text import weigh
from partwise.door.numpy_files import open_npz
from partwise.exceptions import InputError

__all__ = ["load_bbc", "load_nips", "load_tdt2"]


def load_tdt2(*, weighting: str = "counts", drop_empty: bool = False, data_home: DataHome = None) -> Dataset:
    """Load Deng Cai's 30 largest classes of TDT2, news of the first half of 1998.

    Parameters
    ----------
    weighting : {"counts", "tfidf"}, default="counts"
        "tfidf": logarithmic tf-idf, documents scaled to unit length.
    drop_empty : bool, default=False
        Leave out the 678 terms that occur in none of these documents.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``tdt2/TDT2.mat``.

    Returns
    -------
    Dataset
        ``X`` (9394, 36771) CSR and ``labels`` 1 to 30; the vocabulary is not known.

    Examples
    --------
    >>> from partwise.datasets import load_tdt2
    >>> load_tdt2().X.shape  # doctest: +SKIP
    (9394, 36771)
    """
    table = loadmat(locate("load_tdt2", "tdt2", "TDT2.mat", data_home), spmatrix=False)["fea"].tocsc()
    # the last two columns are no terms but the class and the date, MMDD
    labels = table[:, -2].toarray().ravel().astype(int)
    counts = csr_array(table[:, :-2]).astype(np.int32)
    if drop_empty:
        counts = counts[:, np.unique(counts.indices)]
    return Dataset("tdt2", weigh(counts, weighting), labels)


def load_nips(*, weighting: str = "counts", data_home: DataHome = None) -> Dataset:
    """Load the full papers of NIPS, the documents behind the topics of the AND paper.

    Parameters
    ----------
    weighting : {"counts", "tfidf"}, default="counts"
        "tfidf": logarithmic tf-idf, documents scaled to unit length.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``nips/nips_1500x7605_counts.npz`` and
        ``nips/vocab_7605.txt``.

    Returns
    -------
    Dataset
        ``X`` (1500, 7605) CSR, words that occur more than 20 times, and ``feature_names``; no labels.

    Examples
    --------
    >>> from partwise.datasets import load_nips
    >>> load_nips().X.shape  # doctest: +SKIP
    (1500, 7605)
    """
    with open_npz(locate("load_nips", "nips", "nips_1500x7605_counts.npz", data_home)) as archive:
        counts = archive.sparse()
    words = locate("load_nips", "nips", "vocab_7605.txt", data_home).read_text(encoding="utf-8").split()
    if len(words) != counts.shape[1]:
        raise InputError(f"nips/vocab_7605.txt has {len(words)} words for {counts.shape[1]} columns: get it again.")
    return Dataset("nips", weigh(counts, weighting), feature_names=words)


def load_bbc(*, weighting: str = "counts", data_home: DataHome = None) -> Dataset:
    """Load BBC news of 2004 and 2005, stemmed and without stop words [1]_.

    Parameters
    ----------
    weighting : {"counts", "tfidf"}, default="counts"
        "tfidf": logarithmic tf-idf, documents scaled to unit length.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; files are ``bbc/bbc.mtx``, ``.terms``, ``.classes``
        and ``.docs``.

    Returns
    -------
    Dataset
        ``X`` (2225, 9635) CSR, ``labels`` (five names), ``feature_names`` (terms), ``sample_names``.

    References
    ----------
    .. [1] D. Greene, P. Cunningham, "Practical solutions to the problem of diagonal dominance in kernel
       document clustering", ICML 2006.

    Examples
    --------
    >>> from partwise.datasets import load_bbc
    >>> load_bbc().X.shape  # doctest: +SKIP
    (2225, 9635)
    """
    paths = {end: locate("load_bbc", "bbc", f"bbc.{end}", data_home) for end in ("mtx", "terms", "classes", "docs")}
    counts = csr_array(mmread(paths["mtx"], spmatrix=False).T).astype(np.int32)
    lines = paths["classes"].read_text(encoding="utf-8").splitlines()
    names = next(line for line in lines if line.startswith("%Clusters")).split()[-1].split(",")
    labels = np.array([names[int(line.split()[1])] for line in lines if not line.startswith("%")])
    return Dataset(
        "bbc",
        weigh(counts, weighting),
        labels,
        feature_names=paths["terms"].read_text(encoding="utf-8").split(),
        sample_names=paths["docs"].read_text(encoding="utf-8").split(),
    )
