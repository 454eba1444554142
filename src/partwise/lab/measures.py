"""Every measure of the lab under one name. What a method did not find is as wrong as can be, not missing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import linalg, metrics
from partwise.lab.experiment import Found, Measure, Problem

SHARES = ("1e-2", "1e-4", "1e-6", "1e-9")  # of the start's error, to which time and passes are taken
PRODUCTS = 2  # with the data, in an iteration
RECOVERED = 0.99  # cosine above which a part counts as found: an angle of 8 degrees


def _truth(problem: Problem) -> np.ndarray:
    if problem.truth is None:
        raise ValueError("this data has no known components")
    return problem.truth


def _part_errors(problem: Problem, found: Found) -> np.ndarray:
    if not np.isfinite(found.components).all():
        return np.ones(len(_truth(problem)))
    return metrics.match_components(found.components, _truth(problem), absolute=True).errors


def correlation_error(problem: Problem, found: Found) -> float:
    """AND's measure; infinite where something is not finite."""
    if not np.isfinite(found.components).all():
        return float("inf")
    return metrics.total_correlation_error(found.components, _truth(problem))


def relative_correlation_error(problem: Problem, found: Found) -> float:
    """The same, as a share of the size of the true components."""
    return correlation_error(problem, found) / float(np.linalg.norm(_truth(problem), axis=1).sum())


def reached(problem: Problem, found: Found, *, share: float, column: str) -> float:
    """Time or passes until the error is a share of that of the common start; infinite if it never is.

    A pass is a product with the data. An iteration of AND, Facets, HALS, ANLS and MU has two (decoding or weights, and
    what the components are computed from), whatever is done between them; ``facts`` has what is different elsewhere.
    """
    if not found.curve or "error" not in found.curve[0]:
        return float("nan")
    first = found.curve[0]["error"]
    begin = first if problem.start is None else correlation_error(problem, Found(problem.start))
    place = next((point[column] for point in found.curve if point["error"] <= share * begin), float("inf"))
    if column == "time":
        return float(place)
    return float(found.facts.get("once", 0.0) + found.facts.get("products", PRODUCTS) * place)


def mean_part_error(problem: Problem, found: Found) -> float:
    """Mean over the true parts of the distance from the matched one, up to scale; 1 where there is none."""
    return float(_part_errors(problem, found).mean())


def median_part_error(problem: Problem, found: Found) -> float:
    """Median over the true parts of the same."""
    return float(np.median(_part_errors(problem, found)))


def worst_part_error(problem: Problem, found: Found) -> float:
    """The largest of the same; 1 too if more were found than there are, for then one of them is no part."""
    return float(_part_errors(problem, found).max()) if len(found.components) <= len(_truth(problem)) else 1.0


def recovered_share(problem: Problem, found: Found) -> float:
    """Share of the true parts that were found."""
    return float((metrics.match_components(found.components, _truth(problem)).cosines > RECOVERED).mean())


def worst_l1(problem: Problem, found: Found) -> float:
    """Purification's measure: l1 error of the worst part, parts of unit l1 norm."""
    truth = _truth(problem)
    match = metrics.match_components(found.components, truth)
    H = found.components[match.permutation] * np.sign(match.scales)[:, None]
    H = H / np.maximum(np.abs(H).sum(axis=1, keepdims=True), np.finfo(float).tiny)
    T = truth / np.maximum(np.abs(truth).sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return float(np.abs(H - T).sum(axis=1).max())


def l1_score(problem: Problem, found: Found) -> float:
    """TSVDNMF's measure, 1 - |W H - W^ H^|_1 / |W H|_1 with the weights of non-negative least squares."""
    assert problem.signal is not None
    return _score(_weights(problem, found), problem.signal, found.components)


def held_out_score(problem: Problem, found: Found) -> float:
    """The same of the samples that were left out."""
    assert problem.held_out is not None
    assert problem.held_out_signal is not None
    return _score(_decoded(problem.held_out, found), problem.held_out_signal, found.components)


def _score(W: Any, signal: np.ndarray, H: np.ndarray) -> float:
    return float(1.0 - np.abs(signal - np.asarray(W) @ H).sum() / np.abs(signal).sum())


def _clusters(problem: Problem, found: Found) -> np.ndarray:
    if found.labels is not None:
        return found.labels
    result: np.ndarray = np.asarray(_weights(problem, found)).argmax(axis=1)
    return result


def _weights(problem: Problem, found: Found) -> Any:
    return found.weights if found.weights is not None else _decoded(problem.X, found)


def _decoded(X: Any, found: Found) -> Any:
    if found.anchors is None:
        return linalg.nnls(found.components, X)
    picked = X[:, found.anchors]
    return sp.csr_array(picked).toarray() if sp.issparse(X) else picked


def nmi(problem: Problem, found: Found) -> float:
    """Normalised mutual information of clusters and classes."""
    return float(metrics.nmi(problem.labels, _clusters(problem, found)))


def accuracy(problem: Problem, found: Found) -> float:
    """Share of records in the cluster of their class."""
    return float(metrics.clustering_accuracy(problem.labels, _clusters(problem, found)))


def dominant_share(problem: Problem, found: Found) -> float:
    """Per cent of records with a dominant weight: alpha = 0.4, beta = 0.3."""
    return 100.0 * float(metrics.dominant_weights(_weights(problem, found), alpha=0.4, beta=0.3).fraction)


def pure_share(problem: Problem, found: Found) -> float:
    """Per cent of nearly pure records: eps4 = 0.05."""
    return 100.0 * float(metrics.pure_records(_weights(problem, found), eps4=0.05).fraction)


def angle(problem: Problem, found: Found) -> float:
    """Mean angle between true and found components, in degrees."""
    return float(metrics.spectral_angles(found.components, _truth(problem)).mean())


def fit_error(problem: Problem, found: Found) -> float:
    """Relative error of the fit, |X - W H| / |X|."""
    W = np.asarray(_weights(problem, found))
    return float(metrics.relative_error(problem.X, W, found.components))


def pixel_error(problem: Problem, found: Found) -> float:
    """Mean over samples of |x - W H| divided by the root of the number of features: the published measure on MNIST."""
    W = np.asarray(_weights(problem, found))
    residual = np.linalg.norm(problem.X - W @ found.components, axis=1).mean()
    return float(residual / np.sqrt(problem.X.shape[1]))


def running_error(problem: Problem, found: Found) -> float:
    """The same while learning: the last average of the errors of samples that are not learnt yet."""
    if not found.curve or "objective" not in found.curve[-1] or "samples" not in found.curve[-1]:
        return pixel_error(problem, found)
    return float(found.curve[-1]["objective"] / np.sqrt(problem.X.shape[1]))


def least_entry(problem: Problem, found: Found) -> float:
    """The least entry of the components."""
    return float(np.min(found.components))


def objective_rise(problem: Problem, found: Found) -> float:
    """Largest relative rise of the objective in an iteration; 0 if it never rose."""
    values = np.array([point["objective"] for point in found.curve if "objective" in point])
    return float(max(0.0, np.max(np.diff(values) / values[:-1]))) if len(values) > 1 else float("nan")


def zeros(problem: Problem, found: Found) -> float:
    """Share of entries of the components that are at most a hundredth of the component's largest: parts are local."""
    H = np.abs(found.components)
    largest = H.max(axis=1, keepdims=True)
    # nothing at all has no parts
    return float(((0.01 * largest >= H) & (largest > 0.0)).mean())


def topic_l1(problem: Problem, found: Found) -> float:
    """Mean l1 distance of matched topics, each summing to one: from 0 to 2."""
    truth = _truth(problem)
    match = metrics.match_components(found.components, truth)
    H = np.where((match.permutation >= 0)[:, None], np.maximum(found.components[match.permutation], 0.0), 0.0)
    H = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    return float(np.abs(H - truth / truth.sum(axis=1, keepdims=True)).sum(axis=1).mean())


def pair_error(problem: Problem, found: Found) -> float:
    """Spectral norm of the error of the words' co-occurrence, relative to that of its expectation given the weights."""
    X, W, H = sp.csr_array(problem.X), problem.weights, _truth(problem)
    assert W is not None
    lengths = np.asarray(X.sum(axis=1)).ravel()
    scaled = sp.diags_array(1.0 / (lengths * (lengths - 1.0))) @ X
    pairs: Any = (X.T @ scaled).toarray() - np.diag(np.asarray(scaled.sum(axis=0)).ravel())
    expected = H.T @ (W.T @ W / len(W)) @ H
    return float(np.linalg.norm(pairs / len(W) - expected, 2) / np.linalg.norm(expected, 2))


def _both_gradients(problem: Problem, found: Found) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of weights and of components: themselves, and both parts of the derivative of |X - V Y|^2 / 2."""
    X, V, Y = problem.X, np.asarray(_weights(problem, found)), found.components
    yield V, X @ Y.T, V @ (Y @ Y.T)
    yield Y, V.T @ X, (V.T @ V) @ Y


def unsettled(problem: Problem, found: Found) -> float:
    """By how much entries are neither zero nor stationary: sum of |f f'| over that of f f'+, of both factors."""
    parts = [(np.abs(F * (plus - minus)).sum(), (F * plus).sum()) for F, minus, plus in _both_gradients(problem, found)]
    return float(max(above / below if below else 0.0 for above, below in parts))


def locked(problem: Problem, found: Found) -> float:
    """By how much zeros would move if they could: sum of their -f', in units of the mean entry, over that of f f'+."""
    parts = [
        (F.mean() * np.maximum(0.0, minus - plus)[F == 0.0].sum(), (F * plus).sum())
        for F, minus, plus in _both_gradients(problem, found)
    ]
    return float(max(above / below if below else 0.0 for above, below in parts))


def true_anchors(problem: Problem, found: Found) -> float:
    """Share of the topics that have an anchor of their own among those found."""
    truth = _truth(problem)
    own = (truth > 0.0) & ((truth > 0.0).sum(axis=0) == 1)
    picked = np.zeros(truth.shape[1], bool)
    if found.anchors is not None:
        picked[found.anchors] = True
    return float((own & picked).any(axis=1).mean())


def inverse_error(problem: Problem, found: Found) -> float:
    """How far the encoder is from a pseudo-inverse of the decoder: |E D - I| / |I|; 1 for an encoder of zeros."""
    if found.detectors is None:
        return float("nan")
    k = len(found.components)
    return float(np.linalg.norm(found.detectors @ found.components.T - np.eye(k)) / np.sqrt(k))


def random_share(problem: Problem, found: Found) -> float:
    """Share of the encoder's squares that is outside the span of the data: 0 for the Moore-Penrose inverse."""
    if found.detectors is None:
        return float("nan")
    Q = np.linalg.qr(_truth(problem).T)[0]
    E = found.detectors
    return float(1.0 - np.sum((E @ Q) ** 2) / np.sum(E**2))


def amplification(problem: Problem, found: Found) -> float:
    """By how much bounded noise can move the decoded weights: the infinity norm of the inverse, where there is one."""
    return float(found.facts.get("amplification", np.nan))


def squared_error(problem: Problem, found: Found) -> float:
    """AND's measure as the authors' program computes it: squared errors of the components."""
    if not np.isfinite(found.components).all():
        return float("inf")
    return metrics.total_correlation_error(found.components, _truth(problem), variant="and4nmf")


def spectral_error(problem: Problem, found: Found) -> float:
    """The left side of AND's theorems, |A - A* Sigma|_2."""
    return metrics.spectral_error(found.components, _truth(problem))


def over_noise_bound(problem: Problem, found: Found) -> float:
    """That over Theorem 5's bound, without its constant."""
    assert problem.signal is not None
    gamma = float(np.sqrt(np.square(problem.X - problem.signal).sum(axis=1).mean()))
    known = metrics.correlation_conditions(problem.weights)
    bound = metrics.noise_error_bound(_truth(problem), gamma=gamma, r=known.r, lam=known.lam)
    return spectral_error(problem, found) / bound if bound else float("nan")


def correlation_bound(problem: Problem, found: Found) -> float:
    """m of the weights over Theorem 4's bound, without its constant."""
    q = metrics.decay_order(problem.weights).q_upper
    return metrics.correlation_conditions(problem.weights, q=q).decay_ratio


def binary_bound(problem: Problem, found: Found) -> float:
    """m of the weights over Theorem 1's bound, without its constant, whether they are binary or not."""
    return metrics.correlation_conditions(problem.weights).binary_ratio


def weight_correlation(problem: Problem, found: Found) -> float:
    """The largest correlation of two components' weights."""
    assert problem.weights is not None
    C = np.corrcoef(problem.weights.T)
    return float(np.max(C, where=~np.eye(len(C), dtype=bool), initial=-1.0))


def shifted_error(problem: Problem, found: Found) -> float:
    """Distance from what data of weights 1/D and 1, s of them 1, looks like: (1 - 1/D) a_i + mean(a) / s."""
    truth, W = _truth(problem), problem.weights
    assert W is not None
    s, D = float((W[0] == 1.0).sum()), len(truth)
    looks_like = (1.0 - 1.0 / D) * truth + truth.mean(axis=0) / s
    if not np.isfinite(found.components).all():
        return float("inf")
    return metrics.total_correlation_error(found.components, looks_like) / float(
        np.linalg.norm(looks_like, axis=1).sum()
    )


def decoding_share(problem: Problem, found: Found) -> float:
    """Lemma 2 at the start: what the paper's first threshold leaves of the decoding error."""
    from partwise.lab.contenders.and_theorems import first_threshold

    alpha = first_threshold(problem)
    known = metrics.decoding_errors(problem.weights, problem.start, _truth(problem), alpha=alpha)
    return known.first / known.first_linear


def mixing_share(problem: Problem, found: Found) -> float:
    """|E|_2 of what was found over that of the start; infinite where hardly anything of a true component is left."""
    now, before = (metrics.initialization(H, _truth(problem)) for H in (found.components, problem.start))
    return now.E_2 / before.E_2 if now.sigma.min() >= 0.5 else float("inf")


def coherence(problem: Problem, found: Found) -> float:
    """Mean NPMI of the ten top words of the topics."""
    return float(np.nanmean(metrics.topic_coherence(found.components, problem.X)))


_MEASURES: tuple[Measure, ...] = (
    Measure("error", "total correlation error", "lower", correlation_error, ".2e"),
    Measure("relative", "relative total correlation error", "lower", relative_correlation_error, ".1e"),
    *(
        Measure(f"{name}_{share}", f"{what} to {share} of the start's error", "lower", of, ".3g")
        for name, what, column in (("time", "seconds", "time"), ("passes", "passes over the data", "n_iter"))
        for share in SHARES
        for of in (partial(reached, share=float(share), column=column),)
    ),
    Measure("part_error", "mean relative error of the parts", "lower", mean_part_error, ".2g"),
    Measure("median_error", "median relative error of the parts", "lower", median_part_error, ".2g"),
    Measure("worst_error", "largest relative error of a part", "lower", worst_part_error, ".2g"),
    Measure("recovered", f"share of parts recovered (cosine > {RECOVERED})", "higher", recovered_share, ".2f"),
    Measure("l1", "l1 error of the worst part", "lower", worst_l1, ".3g"),
    Measure("score", "1 - l1 residual", "higher", l1_score, ".3f"),
    Measure("held_out", "1 - l1 residual of the record left out", "higher", held_out_score, ".3f"),
    Measure("nmi", "NMI", "higher", nmi, ".3f"),
    Measure("ac", "accuracy", "higher", accuracy, ".3f"),
    Measure("dominant", "% records with a dominant weight", "", dominant_share, ".2f"),
    Measure("pure", "% nearly pure records", "", pure_share, ".2f"),
    Measure("angle", "mean angle to the true components, degrees", "lower", angle, ".2f"),
    Measure("fit", "relative error of the fit", "lower", fit_error, ".4f"),
    Measure("pixel", "root mean square error a pixel", "lower", pixel_error, ".5f"),
    Measure("running", "root mean square error a pixel, while learning", "lower", running_error, ".5f"),
    Measure("least", "least entry of the components", "higher", least_entry, ".2g"),
    Measure("rise", "largest relative rise of the objective", "lower", objective_rise, ".1e"),
    Measure("zeros", "share of (nearly) zero entries of the components", "higher", zeros, ".2f"),
    Measure("amplification", "largest movement of decoded weights / noise", "lower", amplification, ".3g"),
    Measure("unsettled", "entries that are neither zero nor stationary", "lower", unsettled, ".1e"),
    Measure("locked", "zeros that would move if they could", "lower", locked, ".1e"),
    Measure("anchors", "share of topics whose anchor was found", "higher", true_anchors, ".2f"),
    Measure("inverse", "|E D - I| / |I|", "lower", inverse_error, ".2g"),
    Measure("random_share", "share of the encoder outside the span of the data", "", random_share, ".2f"),
    Measure("pairs", "relative error of the co-occurrence", "lower", pair_error, ".3g"),
    Measure("squared", "total squared correlation error (the authors' program)", "lower", squared_error, ".2e"),
    Measure("spectral", "|A - A*Σ|₂", "lower", spectral_error, ".2e"),
    Measure("over_noise_bound", "|A - A*Σ|₂ / Theorem 5's bound", "lower", over_noise_bound, ".2g"),
    Measure("correlation_bound", "m / Theorem 4's bound", "", correlation_bound, ".2e"),
    Measure("gcc", "m / Theorem 1's bound", "", binary_bound, ".2e"),
    Measure("weight_correlation", "largest correlation of two weights", "", weight_correlation, ".3f"),
    Measure("shifted", "distance from (1 - 1/D) aᵢ + mean(a)/s", "lower", shifted_error, ".1e"),
    Measure("decoding", "decoding error left by the threshold (Lemma 2)", "lower", decoding_share, ".2f"),
    Measure("mixing", "|E|₂ / that of the start", "lower", mixing_share, ".2g"),
    Measure("npmi", "mean NPMI of the top words", "higher", coherence, ".3f"),
    Measure("topic_l1", "mean l1 error of the topics", "lower", topic_l1, ".3f"),
)
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _MEASURES}
