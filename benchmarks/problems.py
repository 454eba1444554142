"""The data: MNIST rows, a sparse corpus, a separable table; and the components and starts for everybody."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def mnist(n_rows: int) -> np.ndarray:
    """Give the first training images as float64 rows in [0, 1]."""
    import partwise as pw

    X = np.asarray(pw.datasets.load_mnist().X[:n_rows], dtype=np.float64)
    return np.ascontiguousarray(X / 255.0 if X.max() > 1.0 else X)


def _sweep(W: np.ndarray, HHt: np.ndarray, XHt: np.ndarray) -> None:
    for j in range(W.shape[1]):
        step = (XHt[:, j] - W @ HHt[:, j]) / max(HHt[j, j], 1e-12)
        W[:, j] = np.maximum(W[:, j] + step, 0.0)


def short_hals(X: np.ndarray, k: int, seed: int, n_iter: int = 20) -> np.ndarray:
    """Unit components as a factorization has them, by a few HALS iterations that depend on nobody's code."""
    H = random_components(X, k, seed)
    W = np.zeros((X.shape[0], k))
    for _ in range(n_iter):
        _sweep(W, H @ H.T, X @ H.T)
        Ht = H.T.copy()
        _sweep(Ht, W.T @ W, X.T @ W)
        H = Ht.T.copy()
    # a component that died would make the problem rank deficient, which is another test
    H[H.sum(axis=1) == 0] = X.mean(axis=0)
    return H / np.linalg.norm(H, axis=1, keepdims=True)


def blurred(H: np.ndarray, condition: float) -> np.ndarray:
    """Mix neighbouring components until cond(H Ht) is `condition`: non-negative, with a decaying spectrum.

    The mixing matrix is a Gaussian in |i - j|, whose condition number grows smoothly with its width.
    """
    index = np.arange(H.shape[0])
    narrow, wide = 0.0, 4.0
    mixed = H
    for _ in range(60):
        width = 0.5 * (narrow + wide)
        mixed = np.exp(-0.5 * ((index[:, None] - index) / max(width, 1e-9)) ** 2) @ H
        if np.linalg.cond(mixed) ** 2 < condition:
            narrow = width
        else:
            wide = width
    return mixed


def random_components(X: np.ndarray | sp.csr_array, k: int, seed: int) -> np.ndarray:
    """Random non-negative components, scaled so that with weights of the same scale W H has the mean of X."""
    rng = np.random.default_rng(seed)
    return np.sqrt(X.mean() / k) * np.abs(rng.standard_normal((k, X.shape[1])))


def start(X: np.ndarray | sp.csr_array, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and components that all factorizations start from: random H0, and its exact weights W0."""
    import partwise as pw

    H0 = random_components(X, k, seed)
    return np.ascontiguousarray(pw.linalg.nnls(H0, X)), H0


def corpus(n: int, m: int, nnz: int, seed: int, uniform: bool = False) -> sp.csr_matrix:
    """A sparse matrix with exactly `nnz` entries: documents over topics with background words, or uniform."""
    rng = np.random.default_rng(seed)
    if uniform:
        flat = rng.choice(n * m, nnz, replace=False, shuffle=False)
        rows, columns, values = flat // m, flat % m, rng.random(nnz) + 1e-3
        return sp.csr_matrix((values, (rows, columns)), shape=(n, m))
    n_topics, tokens = 60, 3 * nnz
    documents = rng.integers(n, size=tokens)
    # three topics a document; a token follows one of them, one in five is background
    topic = rng.integers(n_topics, size=(n, 3))[documents, rng.choice(3, tokens, p=(0.6, 0.3, 0.1))]
    topic[rng.random(tokens) < 0.2] = n_topics
    popularity = 1.0 / (10.0 + np.arange(m))
    words = np.empty(tokens, dtype=np.int64)
    for t in range(n_topics + 1):
        share = popularity if t == n_topics else popularity * rng.gamma(0.1, size=m)
        members = np.flatnonzero(topic == t)
        words[members] = np.searchsorted(np.cumsum(share) / share.sum(), rng.random(members.size))
    counts = sp.csr_matrix((np.ones(tokens), (documents, np.minimum(words, m - 1))), shape=(n, m)).tocoo()
    if counts.nnz < nnz:
        raise ValueError(f"only {counts.nnz} of {nnz} entries were drawn: too few tokens for these sizes")
    keep = np.sort(rng.choice(counts.nnz, nnz, replace=False))
    values = 1.0 + np.log(counts.data[keep])
    return sp.csr_matrix((values, (counts.row[keep], counts.col[keep])), shape=(n, m))


def separable(n: int, m: int, k: int, seed: int) -> np.ndarray:
    """Rows that are mixtures of k pure rows hidden among them, with a little noise."""
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(k, 0.3), size=n)
    W[rng.choice(n, k, replace=False)] = np.eye(k)
    X = W @ rng.random((k, m))
    for begin in range(0, n, 10_000):  # noise by blocks: a second copy of X is not needed
        X[begin : begin + 10_000] += 1e-3 * rng.random((min(10_000, n - begin), m))
    return X
