"""Entries that are not known: time beside complete data, and the error there beside what else fills holes."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Contender

CONTENDERS: dict[str, Contender] = {}
SIZES = {"full": 4_000, "small": 1_000}
K, UNKNOWN, ASIDE = 20, 0.3, 0.1  # share of what is known that numbers are chosen by
MORE = (20, 40, 60, 80)
RIDGES = (0.0, 1.0, 3.0, 10.0, 30.0)  # of both factors: that of the nuclear norm
WANTED = 4.0

Array = Any


def main(options: Namespace) -> None:
    """Pictures of MNIST; errors are relative, over the unknown entries."""
    import partwise as pw

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(options.seed)
    X = pw.datasets.load_mnist().X[rng.permutation(60_000)[: SIZES[options.size]]].astype(float) / 255.0
    known = rng.random(X.shape) >= UNKNOWN
    aside = known & (rng.random(X.shape) < ASIDE)
    print(f"{X.shape[0]} pictures of MNIST, {UNKNOWN:.0%} unknown, {K} parts, seed {options.seed}")

    def tell(name: str, made: Array, more: str = "") -> None:
        print(f"  {name}: {off(X, made, ~known):.4f}{more}", flush=True)

    whole, spent = timed(lambda: pw.HALS(K, random_state=options.seed).fit(X))
    holed, longer = timed(lambda: pw.HALS(K, missing="nan", random_state=options.seed).fit(np.where(known, X, np.nan)))
    print(f"time of a fit with holes: {longer / spent:.2f} x that of complete data (wanted at most {WANTED:g})")
    tell("HALS that was shown these entries", whole.transform(X) @ whole.components_)
    tell("HALS", filled(holed, X, known))
    tell("scikit-learn, mean imputation", imputed(X, known, options.seed))
    for start in range(2):
        tell(f"non-negative factors by L-BFGS-B, start {start}", by_gradients(X, known, start))
    tell("rank-k completion, factors of any sign", completed(X, known, 0.0, K))
    ridge = best(RIDGES, lambda ridge: off(X, completed(X, known & ~aside, ridge, K), aside))
    tell("softImpute of rank k", completed(X, known, ridge, K), f", threshold {ridge:g}")
    ridge = best(RIDGES, lambda ridge: off(X, fitted(X, known & ~aside, K, ridge), aside))
    tell("HALS with l2_W, l2_H", fitted(X, known, K, ridge), f", {ridge:g}")
    k = best(MORE, lambda k: off(X, fitted(X, known & ~aside, k, ridge), aside))
    tell("HALS, more parts", fitted(X, known, k, ridge), f", {k}")
    k = best(MORE, lambda k: off(X, completed(X, known & ~aside, RIDGES[2], k), aside))
    tell("softImpute, more parts", completed(X, known, RIDGES[2], k), f", {k}")
    try:
        import TELF  # noqa: F401
    except ImportError:
        print("  T-ELF's WNMFk could not be installed: it is on no package index, and its sources are not part of this")


def off(X: Array, made: Array, where: Array) -> float:
    """Relative error over some entries."""
    return float(np.linalg.norm((X - made)[where]) / np.linalg.norm(X[where]))


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """What it makes, the second time, and the processor time of that."""
    make()
    began = time.process_time()
    return make(), time.process_time() - began


def best(choices: tuple[float, ...], error: Callable[[float], float]) -> Any:
    """The choice with the least error."""
    return min(choices, key=error)


def filled(model: Any, X: Array, known: Array) -> Array:
    """``W H`` with the weights of what is known."""
    return model.transform(np.where(known, X, np.nan)) @ model.components_


def fitted(X: Array, known: Array, k: float, ridge: float) -> Array:
    """By HALS with a ridge on both factors."""
    import partwise as pw

    n, m = X.shape
    model = pw.HALS(int(k), missing="nan", l2_W=ridge / m, l2_H=ridge / n, tol=1e-4, max_iter=500, random_state=0)
    return filled(model.fit(np.where(known, X, np.nan)), X, known)


def imputed(X: Array, known: Array, seed: int) -> Array:
    """scikit-learn's factorization after every hole has got the mean of its column."""
    from sklearn.decomposition import NMF

    means = np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    model = NMF(K, init="nndsvda", random_state=seed, max_iter=500)
    return model.fit_transform(np.where(known, X, means)) @ model.components_


def completed(X: Array, known: Array, threshold: float, k: float) -> Array:
    """softImpute (Mazumder et al. 2010) of a rank: singular values, less a threshold, of what it fills in."""
    from scipy.linalg import eigh

    Z, m = np.where(known, X, 0.0), X.shape[1]
    for _ in range(100):
        values, V = eigh(Z.T @ Z, subset_by_index=(m - int(k), m - 1))
        s = np.sqrt(np.maximum(values, 1e-300))
        made = (Z @ V) * (np.maximum(s - threshold, 0.0) / s) @ V.T
        change = np.linalg.norm((made - Z)[~known]) / np.linalg.norm(Z)
        Z = np.where(known, X, made)
        if change < 1e-4:
            break
    return made


def by_gradients(X: Array, known: Array, seed: int) -> Array:
    """Both factors at once, non-negative, by a general solver from a random start."""
    from scipy.optimize import minimize

    rng, (n, m) = np.random.default_rng(seed), X.shape
    size = np.sqrt(X[known].mean() / K)

    def cost(flat: Array) -> tuple[float, Array]:
        W, H = flat[: n * K].reshape(n, K), flat[n * K :].reshape(K, m)
        R = np.where(known, W @ H - X, 0.0)
        return 0.5 * float(np.vdot(R, R)), np.concatenate([(R @ H.T).ravel(), (W.T @ R).ravel()])

    start = size * rng.gamma(1.0, size=(n + m) * K)
    found = minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options={"maxiter": 400}
    ).x
    return found[: n * K].reshape(n, K) @ found[n * K :].reshape(K, m)
