"""Texts with classes: the class of a text is the part of its largest weight."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import datasets
from partwise.datasets.loaders.text import weigh
from partwise.lab.experiment import Problem, Size
from partwise.lab.truths.base import Truth

QUICK = 400  # documents
OFTEN = 5  # words that are rarer, in all documents together, are left out
CORPORA: dict[str, tuple[Any, int]] = {
    "BBC": (datasets.load_bbc, 5),
    "Reuters10": (partial(datasets.load_reuters, 10), 10),
    "TDT2": (partial(datasets.load_tdt2, drop_empty=True), 30),
    "20 Newsgroups": (datasets.load_newsgroups, 20),
}


@cache
def _counted(name: str) -> tuple[sp.csr_array, np.ndarray]:
    found = CORPORA[name][0]()
    assert found.labels is not None
    return sp.csr_array(found.X), found.labels


def make(name: str, size: Size, seed: int) -> Problem:
    """Logarithmic tf-idf of unit length; counts for those who want them."""
    counts, labels = _counted(name)
    k = CORPORA[name][1]
    if size != "full":
        some = np.sort(np.random.default_rng(seed).choice(counts.shape[0], QUICK, replace=False))
        counts, labels = counts[some], labels[some]
        counts = sp.csr_array(counts[:, np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel() >= OFTEN)])
    X = weigh(counts, "tfidf")
    note = f"{X.shape[0]:,} x {X.shape[1]:,}, k = {k} classes, logarithmic tf-idf of unit length"
    return Problem(X, k, labels=labels, counts=counts.astype(float), note=note)


TRUTHS = tuple(Truth(name, "texts", partial(make, name), quick="small" if name == "BBC" else "") for name in CORPORA)
