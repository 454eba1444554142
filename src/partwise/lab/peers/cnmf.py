"""Consensus NMF (Kotliar et al. 2019): its published recipe, on scikit-learn, since the package works through files."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.lab.peers.base import Factors, peer

RUNS = 20  # its default is 100: five times as long
NEIGHBOURS = 0.3  # of the number of runs, to which distances are averaged
CROWDED = 0.5  # parts that are farther than this from their neighbours, on average, are dropped
ENTRIES = 5_000_000  # twenty runs of NMF


def consensus(X: Any, k: int, seed: int) -> Factors:
    """NMF from random starts, outlying parts dropped, the rest clustered; medians of clusters are the parts."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import NMF
    from sklearn.neighbors import NearestNeighbors

    runs = [NMF(k, init="random", random_state=1000 * seed + i).fit(X).components_ for i in range(RUNS)]
    H = np.vstack(runs)
    H = H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), np.finfo(float).tiny)
    count = max(1, int(NEIGHBOURS * RUNS))
    distances, _ = NearestNeighbors(n_neighbors=count + 1).fit(H).kneighbors(H)
    dense = distances[:, 1:].mean(axis=1) < CROWDED
    kept = H[dense] if dense.sum() >= k else H
    labels = KMeans(k, n_init=10, random_state=seed).fit_predict(kept)
    return None, np.array([np.median(kept[labels == j], axis=0) for j in range(k)])


CONTENDERS = (
    peer("cnmf-recipe", f"cNMF's recipe, {RUNS} runs of scikit-learn's NMF", consensus, needs="sklearn", most=ENTRIES),
)
