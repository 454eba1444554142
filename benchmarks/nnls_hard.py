"""Weights of a million samples of ten hard kinds: none with a certificate that an orthogonal solver beats.

Misfits are computed in long double. The rival is SciPy's solver on unit components with features in falling order, on
every tenth sample also on the problem as it is, and on unit components in their own order. A failure is a sample whose
certificate (its KKT residual, and what rounding of the components leaves open) is below 1e-8 and whose misfit is above
the best rival's by more than 1e-6 of its length.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.optimize import nnls as by_scipy

import partwise as pw

from .harness import Contender
from .report import show

SAMPLES = {"full": 1_000_000, "small": 10_000}
TOGETHER = 100  # samples of one problem
CERTIFIED, EXCESS = 1e-8, 1e-6
Problem = tuple[np.ndarray, np.ndarray]


def _plain(rng: np.random.Generator, most: int = 24) -> tuple[int, int]:
    k = int(rng.integers(2, most))
    return k, int(rng.integers(max(2, k // 2), 2 * k + 4))


def features(rng: np.random.Generator) -> Problem:
    """Features of scales 1e-8 to 1e8."""
    k, m = _plain(rng)
    return rng.normal(size=(k, m)) * 10.0 ** rng.uniform(-8, 8, m), rng.random((TOGETHER, m))


def lengths(rng: np.random.Generator) -> Problem:
    """Components of lengths 1e-8 to 1e8."""
    k, m = _plain(rng)
    return rng.normal(size=(k, m)) * 10.0 ** rng.uniform(-8, 8, (k, 1)), rng.normal(size=(TOGETHER, m))


def close(rng: np.random.Generator) -> Problem:
    """Components that are nearly equal."""
    k, m = _plain(rng)
    H = rng.random((1, m)) + 10.0 ** rng.uniform(-9, -3) * rng.normal(size=(k, m))
    return H, rng.random((TOGETHER, k)) @ H + 10.0 ** rng.uniform(-9, 0) * rng.normal(size=(TOGETHER, m))


def doubled(rng: np.random.Generator) -> Problem:
    """Components that are there twice, or are sums of others."""
    k, m = _plain(rng)
    H = rng.normal(size=(k, m))
    H[k // 2 :] = (rng.random((k - k // 2, k // 2)) < 0.3) @ H[: k // 2]
    return H, rng.normal(size=(TOGETHER, m))


def wide(rng: np.random.Generator) -> Problem:
    """More components than features."""
    m = int(rng.integers(2, 10))
    return rng.normal(size=(int(rng.integers(m, 4 * m)), m)), rng.normal(size=(TOGETHER, m))


def deficient(rng: np.random.Generator) -> Problem:
    """Components in fewer dimensions than there are of them, and samples outside."""
    k, m = _plain(rng)
    rank = int(rng.integers(1, max(2, min(k, m))))
    return rng.normal(size=(k, rank)) @ rng.normal(size=(rank, m)), rng.normal(size=(TOGETHER, m))


def sparse(rng: np.random.Generator) -> Problem:
    """Mostly zeros, in components, features and samples."""
    k, m = _plain(rng)
    H = rng.random((k, m)) * (rng.random((k, m)) < 0.2)
    return H, rng.random((TOGETHER, m)) * (rng.random((TOGETHER, m)) < 0.3)


def sizes(rng: np.random.Generator) -> Problem:
    """Samples of lengths 1e-120 to 1e120."""
    k, m = _plain(rng)
    return rng.normal(size=(k, m)), rng.normal(size=(TOGETHER, m)) * 10.0 ** rng.uniform(-120, 120, (TOGETHER, 1))


def faces(rng: np.random.Generator) -> Problem:
    """Samples that are mixtures of a few components, exactly: every other weight and its gradient are zero."""
    k, m = _plain(rng)
    H = rng.random((k, m))
    return H, (rng.random((TOGETHER, k)) * (rng.random((TOGETHER, k)) < 0.3)) @ H


def bumps(rng: np.random.Generator) -> Problem:
    """Broad bumps that overlap, as spectra do: condition numbers up to 1e16."""
    k, m = _plain(rng)
    at, grid = np.sort(rng.random((k, 1)), axis=0), np.linspace(0.0, 1.0, max(m, 4))
    H = np.exp(-0.5 * ((grid - at) / rng.uniform(0.05, 0.5)) ** 2)
    return H, rng.random((TOGETHER, k)) @ H + 10.0 ** rng.uniform(-12, -2) * rng.normal(size=(TOGETHER, len(grid)))


KINDS: tuple[Callable[[np.random.Generator], Problem], ...] = (
    features,
    lengths,
    close,
    doubled,
    wide,
    deficient,
    sparse,
    sizes,
    faces,
    bumps,
)


def misfits(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """In long double, relative to the samples."""
    rest = X.astype(np.longdouble) - W.astype(np.longdouble) @ H.astype(np.longdouble)
    norms = np.sqrt(np.sum(X.astype(np.longdouble) ** 2, axis=1))
    return np.asarray(np.sqrt(np.sum(rest**2, axis=1)) / np.where(norms > 0, norms, 1))


def rivals(H: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The least misfit that SciPy finds."""
    long = np.sqrt(np.sum(H**2, axis=1))
    long[long == 0.0] = 1.0
    unit, order = (H / long[:, None]).T, np.argsort(-np.abs(H).max(axis=0))
    sorted_ = np.ascontiguousarray(unit[order])
    sizes_ = np.abs(X).max(axis=1)
    best = np.full(len(X), np.inf)
    for i, x in enumerate(X):
        scale = sizes_[i] or 1.0
        ways = [(sorted_, x[order], long)]
        if i % 10 == 0:
            ways += [(np.ascontiguousarray(H.T), x, np.ones(len(H))), (unit, x, long)]
        for A, b, back in ways:
            with suppress(RuntimeError):  # too many exchanges: no rival
                w = by_scipy(A, b / scale)[0] / back * scale
                best[i] = min(best[i], misfits(x[None], w[None], H)[0])
    return best


def measure(kind: Callable[[np.random.Generator], Problem], count: int, seed: int) -> dict[str, Any]:
    """Samples of one kind, and how ours stand to the rival."""
    number = KINDS.index(kind)
    found: dict[str, Any] = {"samples": 0, "certified": 0, "failures": [], "worst": 0.0, "better": 0, "seconds": 0.0}
    for problem in range(-(-count // TOGETHER)):
        H, X = kind(np.random.default_rng([seed, number, problem]))
        begin = time.process_time()
        W, certificate = pw.nnls(H, X, return_certificate=True)
        found["seconds"] += time.process_time() - begin
        excess = misfits(X, W, H) - rivals(H, X)
        sure = np.maximum(certificate.kkt, certificate.undetermined) < CERTIFIED
        worst = float(np.max(np.where(sure, excess, -np.inf)))
        found["samples"] += len(X)
        found["certified"] += int(sure.sum())
        found["better"] += int((excess < -EXCESS).sum())
        found["worst"] = max(found["worst"], worst)
        bad = np.flatnonzero(sure & (excess > EXCESS))
        found["failures"] += [(problem, int(i), float(excess[i]), float(certificate.kkt[i])) for i in bad]
    return found


CONTENDERS = {
    "partwise": Contender(lambda *_: (0.0, {}, {}), note="pw.nnls with its certificate"),
    "scipy": Contender(lambda *_: (0.0, {}, {}), note="scipy.optimize.nnls, the best of up to three ways"),
}


def main(options: Any) -> None:
    """Run the case."""
    rows = []
    failures = 0
    for kind in KINDS:
        found = measure(kind, SAMPLES[options.size] // len(KINDS), options.seed)
        failures += len(found["failures"])
        cells = [kind.__name__, f"{found['samples']:,}", f"{found['certified'] / found['samples']:.5f}"]
        cells += [str(len(found["failures"])), f"{found['worst']:.1e}", str(found["better"])]
        rows.append([*cells, f"{1e6 * found['seconds'] / found['samples']:.0f}"])
        print(" ".join(rows[-1]), found["failures"][:5], flush=True)
    head = ["kind", "samples", "certified", "beaten", "worst excess", "rival beaten", "µs a sample"]
    show("nnls-hard", head, rows)
    raise SystemExit(1 if failures else 0)
