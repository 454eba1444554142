"""Every method of the lab under one name, with the settings it is given: the best known ones, for all alike."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.algorithms.loop import Progress
from partwise.lab.experiment import Contender, Found, Problem
from partwise.outcomes import Stop

Runner = Callable[[Problem, int, float | None], Found]
DOCUMENT_LENGTH = 1000  # words that online LDA is told a document has: about the length of a paper
LDA_BATCH = 500  # documents: ten batches a pass at the published size


def fitted(
    estimator: str,
    *,
    start: bool = False,
    clip: bool = False,
    labels: bool = False,
    weights: bool = False,
    anchored: bool = False,
    fresh: bool = False,
    codes: bool = False,
    **settings: Any,
) -> Runner:
    """Fit one of our estimators.

    Parameters
    ----------
    estimator : str
        Its name in ``partwise``.
    start : bool, default=False
        Begin at the start that the experiment gives to all.
    clip : bool, default=False
        The method needs non-negative data: negative entries (noise below zero, mostly) are set to 0.
    labels, weights : bool, default=False
        Take clusters from ``labels_``; compute the weights while the data is there.
    anchored : bool, default=False
        Weights are the values of the anchor features, as in separable NMF's papers, and not refitted.
    fresh : bool, default=False
        Give new samples to every iteration, where the problem can draw them.
    codes : bool, default=False
        Say how many components of the codes are bimodal.
    **settings
        Parameters of the estimator.

    Returns
    -------
    callable
        For a :class:`Contender`.
    """

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        import partwise as pw

        model = getattr(pw, estimator)(problem.k, **settings)
        known = model.get_params()
        more: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
        if start and problem.start is not None:
            more["init"] = _lifted(problem) if clip else problem.start
        if budget is not None and "callbacks" in known:
            more["callbacks"] = [partial(_out_of_time, budget=budget)]
        model.set_params(**more)
        X = _data(problem, clip, seed if fresh else None)
        # the truth goes into the history alone, and measuring it is not on the clock
        told = "truth" in inspect.signature(model.fit).parameters and problem.truth is not None
        begin = time.perf_counter()
        W = (model.fit_transform if weights else model.fit)(X, **({"truth": problem.truth} if told else {}))
        seconds = time.perf_counter() - begin
        return Found(
            model.components_,
            weights=W if weights else None,
            labels=np.asarray(model.labels_) if labels else None,
            anchors=np.asarray(model.anchors_) if anchored else None,
            detectors=getattr(model, "detectors_", None),
            curve=_curve(model),
            facts=_facts(model, seconds) | ({"bimodal": _bimodal(model, X)} if codes else {}),
        )

    return run


def _bimodal(model: Any, X: Any) -> float:
    """Share of the components of the codes whose coefficient of bimodality is above that of a uniform distribution."""
    from partwise.plots.learning import bimodality

    return float(np.mean([bimodality(y) > 5.0 / 9.0 for y in np.asarray(model.encode(X)).T]))


def _data(problem: Problem, clip: bool, fresh_seed: int | None) -> Any:
    if fresh_seed is not None and problem.draw is not None:
        from partwise.sources import GeneratedSource

        return GeneratedSource(problem.draw, problem.X.shape[0], random_state=fresh_seed)
    return np.maximum(problem.X, 0.0) if clip and not sp.issparse(problem.X) else problem.X


def _lifted(problem: Problem) -> np.ndarray:
    """The common start without negative entries; a little above zero, which a multiplicative update never leaves."""
    assert problem.start is not None
    start: np.ndarray = np.maximum(problem.start, 1e-6 * np.abs(problem.start).mean())
    return start


def _out_of_time(progress: Progress, budget: float) -> Stop | None:
    return Stop("time", progress.seconds, budget) if progress.seconds > budget else None


def _facts(model: Any, seconds: float) -> dict[str, Any]:
    history = getattr(model, "history_", {})
    # the history's clock stands still while the error against the truth is measured
    facts: dict[str, Any] = {"seconds": float(history["time"][-1]) if "time" in history else seconds}
    facts["found"] = len(model.components_)
    if hasattr(model, "n_iter_"):
        facts["iterations"] = int(model.n_iter_)
    if hasattr(model, "stop_"):
        facts["stop"], facts["reason"] = model.stop_.kind, str(model.stop_reason_)
    if hasattr(model, "inverse_norm_"):
        facts["amplification"] = float(model.inverse_norm_)
    if "error" in history:
        facts["least_error"] = float(np.min(history["error"]))
    return facts


def _curve(model: Any) -> Sequence[Mapping[str, float]]:
    history = getattr(model, "history_", {})
    names = [name for name in ("n_iter", "time", "objective", "error", "threshold", "samples") if name in history]
    if not names:
        return ()
    rows = zip(*(np.asarray(history[name], float) for name in names), strict=True)
    return [dict(zip(names, map(float, row), strict=True)) for row in rows]


def online_lda(problem: Problem, seed: int, budget: float | None) -> Found:
    """scikit-learn's online LDA from the common start, pass after pass until the time is over."""
    from sklearn.decomposition import LatentDirichletAllocation

    from partwise.metrics import total_correlation_error

    if sp.issparse(problem.X):
        raise ValueError("this method is for dense data")
    X = np.maximum(problem.X, 0.0)
    X = X / np.maximum(X.sum(axis=1, keepdims=True), 1e-12) * DOCUMENT_LENGTH
    model = LatentDirichletAllocation(
        problem.k, learning_method="online", batch_size=LDA_BATCH, total_samples=len(X), random_state=seed
    )
    model.partial_fit(X[:1])  # makes the arrays that the start then replaces
    if problem.start is not None:
        H = _lifted(problem)
        model.components_ = 1.0 / problem.k + H / H.sum(axis=1, keepdims=True) * X.sum() / problem.k
        model.n_batch_iter_ = 1
        model.exp_dirichlet_component_ = _expected(model.components_)
    curve: list[dict[str, float]] = []
    spent, passes = 0.0, 0
    limit = budget if budget is not None else 10.0
    while True:
        if problem.truth is not None:
            error = float(total_correlation_error(model.components_, problem.truth))
            curve.append({"n_iter": passes, "time": spent, "error": error})
        if spent > limit or passes >= 500:
            break
        begin = time.perf_counter()
        for first in range(0, len(X), LDA_BATCH):
            model.partial_fit(X[first : first + LDA_BATCH])
        spent, passes = spent + time.perf_counter() - begin, passes + 1
    least = min((point["error"] for point in curve), default=float("nan"))
    return Found(model.components_, curve=curve, facts={"seconds": spent, "iterations": passes, "least_error": least})


def signed_anls(problem: Problem, seed: int, budget: float | None) -> Found:
    """ANLS whose components may be negative: exact non-negative weights, then plain least squares, in turn."""
    from partwise.linalg import nnls
    from partwise.metrics import total_correlation_error

    if problem.start is None or sp.issparse(problem.X):
        raise ValueError("this method is for dense data with a common start")
    H, W = problem.start.copy(), None
    curve: list[dict[str, float]] = []
    limit, spent, rounds = budget if budget is not None else 10.0, 0.0, 0
    while True:
        if problem.truth is not None:
            curve.append({"n_iter": rounds, "time": spent, "error": float(total_correlation_error(H, problem.truth))})
        if spent > limit:
            return Found(H, weights=W, curve=curve, facts={"seconds": spent, "iterations": rounds})
        begin = time.perf_counter()
        W = np.asarray(nnls(H, problem.X))
        H = np.linalg.lstsq(W, problem.X)[0]
        spent, rounds = spent + time.perf_counter() - begin, rounds + 1


def _expected(components: np.ndarray) -> np.ndarray:
    from scipy.special import psi

    result: np.ndarray = np.exp(psi(components) - psi(components.sum(axis=1, keepdims=True)))
    return result


def sklearn_nmf(problem: Problem, seed: int, budget: float | None, *, solver: str = "NMF", **settings: Any) -> Found:
    """One of scikit-learn's factorizations."""
    from sklearn import decomposition

    model = getattr(decomposition, solver)(problem.k, random_state=seed, **settings)
    X = problem.X if sp.issparse(problem.X) else np.maximum(problem.X, 0.0)
    begin = time.perf_counter()
    model.fit(X)
    return Found(model.components_, facts={"seconds": time.perf_counter() - begin, "iterations": int(model.n_iter_)})


def true_components(problem: Problem, seed: int, budget: float | None) -> Found:
    """The truth itself."""
    if problem.truth is None:
        raise ValueError("this data has no known components")
    return Found(problem.truth)


def true_weights(problem: Problem, seed: int, budget: float | None) -> Found:
    """Least squares on the true weights: nobody who must find the weights has so much to go on."""
    if problem.weights is None:
        raise ValueError("this data has no known weights")
    return Found(np.linalg.lstsq(problem.weights, problem.X)[0])


def any_hull(problem: Problem, seed: int, budget: float | None) -> Found:
    """All corners of the hull of the samples."""
    import partwise as pw

    model = pw.ConvexHull().fit(np.maximum(problem.X, 0.0))
    return Found(model.components_, facts={"found": len(model.components_)})


def pca(problem: Problem, seed: int, budget: float | None) -> Found:
    """As many principal components, with their own weights."""
    from partwise.linalg.svd import truncated_svd
    from partwise.sources import source_of

    _, V = truncated_svd(source_of(problem.X), problem.k, rng=np.random.default_rng(seed))
    return Found(V, weights=problem.X @ V.T)


mu_random = fitted("MU", init="random", max_iter=500, tol=0.0, clip=True)

LIMIT: dict[str, Any] = {"max_iter": 100_000, "tol": 1e-12}  # the clock stops them
PUBLISHED_AND: dict[str, Any] = {"max_iter": 250, "tol": 0.0}  # the rest is as published by default
PUBLISHED_PURIFICATION: dict[str, Any] = {"finish": None, "start": True}
SEPARABLE: dict[str, Any] = {"axis": "features"}
OWN = "weights are the anchors' own values, as in the paper"
REFIT = "weights by non-negative least squares"
# the w and the ten passes that the claims on MNIST (online.py) are about
CONSERVATIVE: dict[str, Any] = {"w": 1e-5, "max_passes": 10}

_CONTENDERS: tuple[Contender, ...] = (
    Contender("facets", "Facets as it comes: adaptive thresholds, cold start at near-pure samples", fitted("Facets")),
    Contender("facets-same-start", "Facets from the common start", fitted("Facets", start=True)),
    Contender(
        "and-published",
        "the paper's AND: thresholds 0.1/1.1^j, 50 steps a stage, no noise floor, common start; our compiled code",
        fitted("AND", start=True, **PUBLISHED_AND),
    ),
    Contender(
        "and-published-100",
        "the same with 100 steps a stage, the paper's choice under noise, 150 stages",
        fitted("AND", start=True, **(PUBLISHED_AND | {"steps": 100, "max_iter": 150})),
    ),
    Contender(
        "and-constant-0.0001",
        "the paper's AND with the constant threshold 0.0001",
        fitted("AND", start=True, **(PUBLISHED_AND | {"thresholds": 1e-4, "decay": 1.0})),
    ),
    Contender(
        "and-constant-0.1",
        "the paper's AND with the constant threshold 0.1",
        fitted("AND", start=True, **(PUBLISHED_AND | {"thresholds": 0.1, "decay": 1.0})),
    ),
    Contender(
        "facets-nonnegative",
        "Facets, cold start, finished by HALS: components have no negative entries",
        fitted("Facets", clip=True, nonnegative=True),
    ),
    Contender("anls", "ANLS by exact block pivoting, common start", fitted("ANLS", start=True, clip=True, **LIMIT)),
    Contender("mu", "multiplicative updates, compiled, common start", fitted("MU", start=True, clip=True, **LIMIT)),
    Contender("hals", "accelerated HALS, compiled, common start", fitted("HALS", start=True, clip=True, **LIMIT)),
    Contender(
        "hals-plain",
        "HALS as it was in the paper's time: one sweep a pass, no extrapolation; compiled, common start",
        fitted("HALS", start=True, clip=True, sweeps=1, extrapolate=False, **LIMIT),
    ),
    Contender("anls-signed", "ANLS whose components may be negative, common start", signed_anls),
    Contender(
        "online-lda",
        f"scikit-learn's online LDA, documents of {DOCUMENT_LENGTH} words, batches of {LDA_BATCH}, common start",
        online_lda,
    ),
    Contender("anls-cold", "ANLS from near-pure samples", fitted("ANLS", clip=True, max_iter=500)),
    Contender("mu-cold", "multiplicative updates from nndsvda", fitted("MU", clip=True, init="nndsvda", max_iter=2000)),
    Contender("hals-cold", "HALS from near-pure samples", fitted("HALS", clip=True, max_iter=1000)),
    Contender(
        "hals-random",
        "HALS from a random start, 200 iterations",
        fitted("HALS", clip=True, init="random", max_iter=200, tol=0.0),
    ),
    Contender(
        "sklearn-nmf",
        "scikit-learn's NMF: coordinate descent, nndsvda, at most 1000 iterations, tol 1e-6",
        partial(sklearn_nmf, init="nndsvda", max_iter=1000, tol=1e-6),
    ),
    Contender(
        "sklearn-minibatch",
        "scikit-learn's MiniBatchNMF, random start, 10 passes, batches of 1024",
        partial(sklearn_nmf, solver="MiniBatchNMF", init="random", max_iter=10, batch_size=1024),
    ),
    Contender("spa-features", f"SPA on features (anchor words); {OWN}", fitted("SPA", anchored=True, **SEPARABLE)),
    Contender("pw-spa-features", f"PW-SPA on features; {OWN}", fitted("PreconditionedSPA", anchored=True, **SEPARABLE)),
    Contender("er-spa-features", f"ER-SPA on features; {OWN}", fitted("EllipsoidalSPA", anchored=True, **SEPARABLE)),
    Contender(
        "xray-features", f"XRAY on features; {OWN}; data >= 0", fitted("XRAY", clip=True, anchored=True, **SEPARABLE)
    ),
    Contender(
        "gillis-lp", f"Gillis & Luce's LP, rho = 1, HiGHS; {OWN}", fitted("SeparableLP", anchored=True, **SEPARABLE)
    ),
    Contender("spa-features-refit", f"SPA on features; {REFIT}", fitted("SPA", **SEPARABLE)),
    Contender("pw-spa-features-refit", f"PW-SPA on features; {REFIT}", fitted("PreconditionedSPA", **SEPARABLE)),
    Contender("er-spa-features-refit", f"ER-SPA on features; {REFIT}", fitted("EllipsoidalSPA", **SEPARABLE)),
    Contender("spa-samples", "SPA on samples (pure records)", fitted("SPA")),
    Contender("pw-spa-samples", "PW-SPA on samples", fitted("PreconditionedSPA")),
    Contender("xray-samples", "XRAY on samples, negative entries set to 0", fitted("XRAY", clip=True)),
    Contender("hull", "corners of the convex hull of the samples (Arora et al. 2012)", fitted("ConvexHull", clip=True)),
    Contender("tsvdnmf", "TSVDNMF with our defaults", fitted("TSVDNMF", weights=True)),
    Contender("tsvdnmf-refined", "TSVDNMF, refined by empirical Bayes", fitted("TSVDNMF", weights=True, refine=True)),
    Contender("tsvdnmf-literal", "TSVDNMF with the paper's constants", fitted("TSVDNMF", weights=True, literal=True)),
    Contender("tsvd", "TSVD (Bansal et al. 2014)", fitted("TSVD", weights=True)),
    Contender("kmeans", "k-means, ten starts", fitted("KMeans", weights=True, labels=True)),
    Contender(
        "purification", "Purification with our defaults, finished by exact steps", fitted("Purification", start=True)
    ),
    Contender("purification-cold", "Purification from pure records", fitted("Purification")),
    Contender(
        "purification-published",
        "the paper's Purification: ReLU, inverse of least infinity norm, no finish",
        fitted("Purification", **PUBLISHED_PURIFICATION),
    ),
    Contender(
        "purification-fresh",
        "the same with new samples in every iteration",
        fitted("Purification", fresh=True, **PUBLISHED_PURIFICATION),
    ),
    Contender(
        "purification-slow",
        "the same with the step η = 0.1 in place of 0.5, which shows the rate",
        fitted("Purification", step=0.1, **PUBLISHED_PURIFICATION),
    ),
    Contender(
        "purification-pinv",
        "the same with the Moore-Penrose inverse",
        fitted("Purification", inverse="pinv", **PUBLISHED_PURIFICATION),
    ),
    Contender(
        "purification-no-relu",
        "the same without the ReLU",
        fitted("Purification", relu=False, **PUBLISHED_PURIFICATION),
    ),
    Contender("true-components", "the true components: no method can be asked for more", true_components),
    Contender("true-weights", "least squares on the true weights, which no method knows", true_weights),
    Contender(
        "conservative",
        "conservative learning, w = 1e-5, ten passes",
        fitted("ConservativeNMF", codes=True, **CONSERVATIVE),
    ),
    Contender(
        "conservative-averaged",
        "conservative learning, w = 0.01, relaxed over time, ten passes",
        fitted("ConservativeNMF", w=1e-2, relaxation=(1.0, 5000.0), max_passes=10),
    ),
    Contender(
        "conservative-unit", "the same with w = 1, ten passes", fitted("ConservativeNMF", **(CONSERVATIVE | {"w": 1.0}))
    ),
    *(
        Contender(
            f"conservative-w{w:g}",
            f"the document's rule, w = {w:g}, at most 300 passes",
            fitted("ConservativeNMF", w=w, max_passes=300),
        )
        for w in (1.0, 0.01, 100.0)
    ),
    Contender(
        "conservative-cg",
        "w = 0.3 and five conjugate gradient steps a sample instead of one",
        fitted("ConservativeNMF", w=0.3, cg_steps=5, max_passes=130),
    ),
    Contender("anchor-topics", "anchor words, RecoverL2, our defaults", fitted("AnchorTopics")),
    Contender(
        "anchor-topics-published",
        "anchor words as published: every document alike, random projection, RecoverL2, no refinement",
        fitted("AnchorTopics", refine=0, projection="random", weighting="equal"),
    ),
    Contender("hull-any", "the same, not told how many corners there are", any_hull),
    Contender("mu-random", "Lee & Seung's multiplicative updates, random start, 500 iterations", mu_random),
    Contender("pca", "principal components, which may be negative", pca),
)
CONTENDERS: dict[str, Contender] = {one.name: one for one in _CONTENDERS}
