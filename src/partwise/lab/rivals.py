"""How others count parts, each as published as far as a few lines can be, and told nothing: table -> number.

All look at up to `MOST` parts.  Those that were made for tables of another kind (factors of centred returns, counts)
are run as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.linalg import svdvals
from scipy.spatial.distance import squareform

Array = np.ndarray

MOST = 14  # parts; the families have at most 10
RUNS = 5  # of methods that repeat fits
STEPS = 60  # iterations of such a fit
STABLE = 0.8  # least silhouette of a stable number of parts (NMFk)


def onatski(X: Array, seed: int) -> int:
    """Differences of eigenvalues above those of the bulk, whose edge falls like a power 2/3 (Onatski 2010)."""
    values = svdvals(X) ** 2 / len(X)
    most = min(MOST, len(values) - 6)
    j = most + 1
    k = 0
    for _ in range(4):
        at = np.arange(j - 1, j + 4)
        slope = np.polyfit(at ** (2.0 / 3.0), values[at], 1)[0]
        gaps = values[:most] - values[1 : most + 1]
        above = np.flatnonzero(gaps >= 2.0 * abs(slope))
        k = int(above[-1]) + 1 if len(above) else 0
        j = k + 1
    return k


def gavish_donoho(X: Array, seed: int) -> int:
    """The optimal hard threshold for white noise of unknown size (Gavish & Donoho 2014)."""
    values, beta = svdvals(X), min(X.shape) / max(X.shape)
    factor = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    return int((values > factor * np.median(values)).sum())


def parallel_analysis(X: Array, seed: int) -> int:
    """Singular values of standardized columns above those of permuted ones (Horn 1965; 95%)."""
    rng = np.random.default_rng(seed)
    Z = X - X.mean(axis=0)
    Z = Z / np.maximum(Z.std(axis=0), 1e-12)
    values = svdvals(Z)
    noise = np.array([svdvals(rng.permuted(Z, axis=0)) for _ in range(RUNS)])
    above = values > np.quantile(noise, 0.95, axis=0)
    return int(np.argmin(above)) if not above.all() else len(values)


def mdl(X: Array, seed: int) -> int:
    """Minimum description length of the eigenvalues of a covariance (Wax & Kailath 1985)."""
    Y = X if X.shape[0] >= X.shape[1] else X.T
    n, p = Y.shape
    values = np.maximum(svdvals(Y) ** 2 / n, 1e-300)
    scores = []
    for k in range(min(MOST, p - 1) + 1):
        rest = values[k:]
        fit = -n * len(rest) * (np.log(rest).mean() - np.log(rest.mean()))
        scores.append(fit + 0.5 * k * (2 * p - k) * np.log(n))
    return int(np.argmin(scores))


def bi_cross_validation(X: Array, seed: int) -> int:
    """The number whose prediction of a block that was left out is best (Owen & Perry 2009)."""
    from partwise.belief.rank_spectrum import held_out
    from partwise.io.opening import open_source

    return int(np.argmin(held_out(open_source(X), MOST, np.random.default_rng(seed))))


def thinning(X: Array, seed: int) -> int:
    """Half of the counts predict the other half, by Poisson's likelihood (Sarkar & Stephens 2021)."""
    import partwise as pw

    if (X % 1.0).any() or X.min() < 0.0:
        raise ValueError("not run: no counts")
    seen = np.random.default_rng(seed).binomial(X.astype(np.int64), 0.5).astype(float)
    rest = X - seen
    losses = []
    for k in range(1, MOST + 1):
        model = pw.MU(k, beta_loss="kullback-leibler", max_iter=STEPS, tol=0.0, random_state=seed)
        mean = np.maximum(np.asarray(model.fit_transform(seen)) @ model.components_, 1e-3)
        losses.append(float((mean - rest * np.log(mean)).sum()))
    return 1 + int(np.argmin(losses))


def nmfk(X: Array, seed: int) -> int:
    """The largest number whose parts cluster well over fits to perturbed tables (as NMFk: Alexandrov et al. 2013)."""
    import partwise as pw

    rng = np.random.default_rng(seed)
    stable = [1]
    for k in range(2, MOST + 1):
        parts = []
        for run in range(RUNS):
            Y = np.maximum(X, 0.0) * rng.uniform(0.97, 1.03, X.shape)
            H = pw.HALS(k, init="random", max_iter=STEPS, tol=0.0, random_state=run).fit(Y).components_
            parts.append(H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), 1e-300))
        if _silhouette(parts) >= STABLE:
            stable.append(k)
    return max(stable)


def _silhouette(parts: list[Array]) -> float:
    """Least mean silhouette of a part, in cosine distance, all fits matched with the first."""
    from partwise.metrics import match_components

    groups = np.array([H[match_components(H, parts[0]).permutation] for H in parts]).transpose(1, 0, 2)
    k, runs, _ = groups.shape
    flat = groups.reshape(k * runs, -1)
    apart = np.maximum(1.0 - flat @ flat.T, 0.0).reshape(k, runs, k, runs).sum(axis=3)
    found = np.empty((k, runs))
    for j in range(k):
        within = apart[j, :, j] / (runs - 1)
        others = np.delete(apart[j], j, axis=1).min(axis=1) / runs
        found[j] = (others - within) / np.maximum(np.maximum(others, within), 1e-12)
    return float(found.mean(axis=1).min())


def cophenetic(X: Array, seed: int) -> int:
    """Where the cophenetic correlation of the consensus of clusterings falls most (Brunet et al. 2004)."""
    import partwise as pw

    Y, values = np.maximum(X, 0.0), []
    for k in range(2, MOST + 1):
        together = np.zeros((len(X), len(X)))
        for run in range(RUNS):
            model = pw.MU(
                k, beta_loss="kullback-leibler", init="random", max_iter=STEPS, tol=0.0, random_state=seed + run
            )
            labels = np.asarray(model.fit_transform(Y)).argmax(axis=1)
            together += labels[:, None] == labels
        apart = squareform(1.0 - together / RUNS, checks=False)
        values.append(float(cophenet(linkage(apart, "average"), apart)[0]) if apart.any() else 1.0)
    return 2 + int(np.argmax(-np.diff(values)))


def relevance(X: Array, seed: int) -> int:
    """Parts that automatic relevance determination keeps (Tan & Févotte 2013: l1-ARD, squared loss)."""
    V, rng = np.maximum(X, 1e-9), np.random.default_rng(seed)
    n, m = V.shape
    values, beta = svdvals(X), min(n, m) / max(n, m)
    # the size of the noise, which is the dispersion, from the median singular value of white noise
    noise = (np.median(values) ** 2) / (max(n, m) * (1.0 - beta / 3.0))
    a = 5.0
    b = np.sqrt((a - 1.0) * (a - 2.0) * V.mean() / MOST)
    c = n + m + a + 1.0
    W, H = rng.random((n, MOST)) + 0.1, rng.random((MOST, m)) + 0.1
    size = np.sqrt(V.mean() / (W @ H).mean())
    W, H = W * size, H * size
    for _ in range(25 * STEPS):
        scale = (W.sum(axis=0) + H.sum(axis=1) + b) / c
        H *= (W.T @ V) / (W.T @ W @ H + (noise / scale)[:, None])
        W *= (V @ H.T) / (W @ (H @ H.T) + noise / scale)
    scale = (W.sum(axis=0) + H.sum(axis=1) + b) / c
    return int(((scale - b / c) / (b / c) > 1.0).sum())


RIVALS: dict[str, tuple[Callable[[Array, int], int], str]] = {
    "Onatski": (onatski, "differences of eigenvalues, Onatski 2010"),
    "Gavish-Donoho": (gavish_donoho, "hard threshold for white noise of unknown size, 2014"),
    "parallel analysis": (parallel_analysis, "permuted columns, Horn 1965"),
    "MDL": (mdl, "minimum description length, Wax and Kailath 1985"),
    "bi-cross-validation": (bi_cross_validation, "a block is left out, Owen and Perry 2009"),
    "thinning": (thinning, "half of the counts predict the others, of counts alone"),
    "NMFk": (nmfk, "silhouettes of fits to perturbed tables, as NMFk"),
    "cophenetic": (cophenetic, "consensus of clusterings, Brunet et al. 2004"),
    "ARD": (relevance, "automatic relevance determination, Tan and Févotte 2013"),
}
