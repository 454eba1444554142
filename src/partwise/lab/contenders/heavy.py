"""What the experiments on the theory of TSVDNMF measure: noise, theorems, two fits of one data set, sketches."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import metrics
from partwise.lab.contenders.base import Runner, fitted
from partwise.lab.contenders.trivial import constant
from partwise.lab.experiment import Contender, Found, Problem

# of the data of Theorem 1 (`strict_data`): all that its conditions ask for
ALPHA, OWN, DOMINANT, PURE = 0.9, 2, 0.9, 0.8
EPS4 = 0.001  # of pure records, where two fits are compared: it costs 2 eps4 of the 1/(4k) that Theorem 2 leaves
OTHER = 1000  # what the seed of the second fit is moved by
SAME_STARTS = 11  # seed of k-means: sketches are compared, and not their luck


@cache
def strict_constants(k: int) -> metrics.DominantConstants:
    """The constants of `make_strictly_dominant`'s data, with the largest eps4 that Section 4 allows."""
    given: dict[str, Any] = {"n_components": k, "rho": 0.0, "gamma": DOMINANT / OWN, "p0": DOMINANT}
    given |= {"alpha": ALPHA, "beta": 1.0 - ALPHA, "w0": 1.0 / k, "eps0": PURE / k}
    limits = metrics.DominantConstants(**given, eps4=0.0).conditions
    eps4 = min(line.asked for line in limits if line.condition.startswith("eps4"))
    return metrics.DominantConstants(**given, eps4=eps4)


def theorem_1(problem: Problem, seed: int, budget: float | None) -> Found:
    """TSVDNMF with the constants of the data's model, and whether all conditions of Theorem 1 hold for it."""
    import partwise as pw

    constants = strict_constants(problem.k)
    model = pw.TSVDNMF.of(constants, random_state=seed).fit(problem.X)
    names = ("rho", "gamma", "p0", "alpha", "beta", "w0", "eps0", "eps4")
    asked = {name: getattr(constants, name) for name in names}
    noise = problem.X - problem.signal
    conditions = metrics.dominant_conditions(problem.truth, problem.weights, noise, **asked)
    return Found(model.components_, facts={"theorem_1": float(conditions.theorem_1 is True), "eps0": constants.eps0})


def no_method(problem: Problem, seed: int, budget: float | None) -> Found:
    """The truth: measures of the noise need no method."""
    assert problem.truth is not None
    return Found(problem.truth)


def two_fits(first: Callable[..., Any], second: Callable[..., Any]) -> Runner:
    """Theorem 2 for two fits of the same data."""

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        one = first(problem.k, random_state=seed).fit(problem.X)
        two = second(problem.k, random_state=seed + OTHER).fit(problem.X)
        found = metrics.uniqueness(one, two, X=problem.X, eps4=EPS4)
        lines = {line.condition: line.found - line.asked for line in found.identifiability.conditions}
        facts = {
            "delta": found.delta,
            "bound": found.bound,
            "distance": float(found.distances.max()),
            "certified": float(found.certified),
            "room_a": lines["Theorem 2 (a)"],
        }
        return Found(one.components_, facts=facts)

    return run


def _pairs() -> tuple[Contender, ...]:
    import partwise as pw

    # as they were in the paper's time: the printed constants, and one sweep a pass without extrapolation
    hals = partial(pw.HALS, init="random", sweeps=1, extrapolate=False, max_iter=1000)
    tsvdnmf = partial(pw.TSVDNMF, literal=True)
    return (
        Contender(
            "tsvdnmf-and-hals",
            "TSVDNMF with the constants that the paper prints, and plain HALS from a random start",
            two_fits(tsvdnmf, hals),
            literal=True,
        ),
        Contender("hals-twice", "plain HALS from two random starts", two_fits(hals, hals), literal=True),
    )


def svd_by(vectors: Callable[[Any, int, np.random.Generator], np.ndarray]) -> Runner:
    """TSVDNMF as printed, its singular vectors found so: its clusters, and whether they are those of the exact ones."""

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        import partwise as pw
        from partwise.algorithms.tsvdnmf import Thresholds
        from partwise.sources import source_of

        begin = time.process_time()
        model = pw.TSVDNMF(problem.k, literal=True, random_state=seed).fit(problem.X)
        whole = time.process_time() - begin
        thresholds = Thresholds(model.thresholds_, model.pruned_)
        D = sp.csr_array(thresholds.apply(source_of(problem.X)).take(np.arange(problem.X.shape[0])))
        (exact, least), (V, spent), (_, ours) = (
            _clocked(way, D, problem.k, seed) for way in (_arpack, vectors, _randomised)
        )
        labels, reference = (_clusters(D, basis, SAME_STARTS) for basis in (V, exact))
        values = np.linalg.svd(D @ exact.T, compute_uv=False)
        facts = {
            "agreement": metrics.nmi(reference, labels),
            "starts": metrics.nmi(reference, _clusters(D, exact, SAME_STARTS + 1)),
            "alignment": float(np.linalg.svd(V @ exact.T, compute_uv=False).min()),
            "faster": least / max(spent, 1e-6),
            # what the rest of the fit takes, with this search for the vectors in place of ours
            "share": spent / max(whole - ours + spent, 1e-6),
            "weakest": float(values[-1] / values[0]),
            "processor_seconds": spent,
        }
        return Found(model.components_, labels=labels, facts=facts)

    return run


def _clocked(vectors: Any, D: sp.csr_array, k: int, seed: int) -> tuple[np.ndarray, float]:
    """Vectors, and the processor time of the faster of two searches for them."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        V = vectors(D, k, np.random.default_rng(seed))
        times.append(time.process_time() - begin)
    return V, min(times)


def _arpack(D: sp.csr_array, k: int, rng: np.random.Generator) -> np.ndarray:
    from scipy.sparse.linalg import svds

    found = svds(D, k, v0=rng.standard_normal(min(D.shape)))[2]
    return np.asarray(found[::-1])


def _randomised(D: sp.csr_array, k: int, rng: np.random.Generator, **how: Any) -> np.ndarray:
    from partwise.linalg import truncated_svd
    from partwise.sources import source_of

    return truncated_svd(source_of(D), k, rng=rng, **how)[1]


def _of_some_records(D: sp.csr_array, k: int, rng: np.random.Generator, *, share: float) -> np.ndarray:
    count = max(int(share * D.shape[0]), min(4 * k, D.shape[0]))
    return _randomised(sp.csr_array(D[np.sort(rng.choice(D.shape[0], count, replace=False))]), k, rng)


def _anywhere(D: sp.csr_array, k: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((D.shape[1], k)))[0].T


def _clusters(D: sp.csr_array, V: np.ndarray, seed: int) -> np.ndarray:
    from partwise.algorithms.kmeans import Rule, best_start, lloyd
    from partwise.sources import source_of

    source = source_of(D)
    centres = best_start(source.project(V.T), len(V), rng=np.random.default_rng(seed), n_init=10)
    return np.asarray(lloyd(source, Rule.nearest(centres, source.dtype, basis=V), max_iter=100).labels)


CONTENDERS: tuple[Contender, ...] = (
    Contender("noise", "no method: what is measured is the noise", no_method, literal=True),
    Contender("mean-record", "the mean record, the maximum likelihood estimate for k = 1", constant, literal=True),
    Contender(
        "tsvdnmf-theorem",
        "TSVDNMF as Theorem 1 has it: all constants those of the data's model",
        theorem_1,
        literal=True,
    ),
    Contender(
        "tsvdnmf-l1",
        "TSVDNMF with our defaults, weights that minimise the l1 norm",
        fitted("TSVDNMF", weights=True, norm="l1"),
    ),
    *_pairs(),
    Contender(
        "svd-arpack",
        "singular vectors by ARPACK to full accuracy, as in the authors' program",
        svd_by(_arpack),
        literal=True,
    ),
    Contender("svd-randomised", "ours: randomised subspace iteration until the values settle", svd_by(_randomised)),
    Contender(
        "svd-two-passes",
        "the same, two passes over the records and no more",
        svd_by(partial(_randomised, max_passes=2)),
    ),
    Contender("svd-tenth", "singular vectors of a tenth of the records", svd_by(partial(_of_some_records, share=0.1))),
    Contender(
        "svd-hundredth", "singular vectors of a hundredth of the records", svd_by(partial(_of_some_records, share=0.01))
    ),
    Contender("trivial-subspace", "random directions in place of singular vectors", svd_by(_anywhere)),
)
