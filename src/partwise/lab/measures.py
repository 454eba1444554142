"""Every measure of the lab under one name. What a method did not find is as wrong as can be, not missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from partwise import linalg, metrics
from partwise.algorithms.scaling import balanced
from partwise.lab.experiment import Found, Measure, Problem
from partwise.sources import source_of

SHARES = ("1e-2", "1e-4", "1e-6", "1e-9")  # of the start's error, to which time and passes are taken
PRODUCTS = 2  # with the data, in an iteration
HEAVY = 0.25  # the eps of equation 2 in the experiments on noise: Lemma 3's 8192 draws are still quick to make
SEEN = 0.5  # l1 norm of the noise of a record, half the record's own, above which it is as large as that: Lemma 1's c5
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


def basis_l1(problem: Problem, found: Found) -> float:
    """TSVDNMF's equation 1: the largest l1 distance of a matched component, in the scale that it was found in."""
    truth = _truth(problem)
    H = np.zeros_like(truth)
    count = min(len(H), len(found.components))
    H[:count] = found.components[:count]
    distances = np.abs(truth[:, None] - H[None]).sum(axis=2)
    return float(distances[linear_sum_assignment(distances)].max())


def _noise(problem: Problem) -> np.ndarray:
    assert problem.signal is not None
    return np.asarray(problem.X - problem.signal)


def mean_noise(problem: Problem, found: Found) -> float:
    """Equation 2: the largest mean noise over a share of the records, as far as a search finds it."""
    return metrics.heavy_noise(_noise(problem), eps4=HEAVY, equation=2).lower


def mean_noise_bound(problem: Problem, found: Found) -> float:
    """The same, more than which it cannot be."""
    return metrics.heavy_noise(_noise(problem), eps4=HEAVY, equation=2).upper


def record_noise(problem: Problem, found: Found) -> float:
    """Mean l1 norm of the noise of a record."""
    return float(np.abs(_noise(problem)).sum(axis=1).mean())


def seen_noise(problem: Problem, found: Found) -> float:
    """Share of the records whose noise has an l1 norm of at least a half."""
    return float((np.abs(_noise(problem)).sum(axis=1) >= SEEN).mean())


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


def dominant_share(problem: Problem, found: Found, *, scaled: bool = True) -> float:
    """Per cent of records with a dominant weight: alpha = 0.4, beta = 0.3; of components that sum to one (Remark 1)."""
    H = found.components if scaled else None
    return 100.0 * float(metrics.dominant_weights(_weights(problem, found), H, alpha=0.4, beta=0.3).fraction)


def pure_share(problem: Problem, found: Found, *, scaled: bool = True) -> float:
    """Per cent of nearly pure records: eps4 = 0.05; of components that sum to one (Remark 1)."""
    H = found.components if scaled else None
    return 100.0 * float(metrics.pure_records(_weights(problem, found), H, eps4=0.05).fraction)


def n_features(problem: Problem, found: Found) -> float:
    """Number of features of the data."""
    return float(problem.X.shape[1])


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


def smallest_share(problem: Problem, found: Found) -> float:
    """The least entry of Purification's Sigma, components as they are."""
    return float(_parts(problem, found, rescale=False).sigma.min())


def other_parts(problem: Problem, found: Found) -> float:
    """Purification's |E|_1: how much of the others is in a component, at most."""
    return _parts(problem, found, rescale=False).E_1


def outside_parts(problem: Problem, found: Found) -> float:
    """Purification's |N|_1: how much of a component is outside the span of the truth, at most."""
    return _parts(problem, found, rescale=False).N_1


def _parts(problem: Problem, found: Found, rescale: bool) -> metrics.Initialization:
    return metrics.initialization(found.components, _truth(problem), rescale=rescale)


def impurity(problem: Problem, found: Found) -> float:
    """Both, relative to Sigma; infinite where that is not positive."""
    parts = _parts(problem, found, rescale=True)
    return parts.E_1 + parts.N_1 if parts.sigma.min() > 0.0 else float("inf")


def sample_impurity(problem: Problem, found: Found) -> float:
    """|E|_1 where the covariance of the true weights of this sample is taken for diagonal, which it is not quite."""
    assert problem.weights is not None
    covariance = np.cov(problem.weights.T)
    shares = np.abs(covariance) / covariance.diagonal()
    return float((shares.sum(axis=0) - 1.0).max())


def decoded_noise(problem: Problem, found: Found) -> float:
    """What the inverse that a method took makes of the noise: root mean square in the worst of the true weights."""
    if "left_inverse" not in found.facts or problem.signal is None:
        return float("nan")
    P = linalg.left_inverse(_truth(problem), norm="2" if found.facts["left_inverse"] == "pinv" else "inf")
    return float(np.sqrt(np.mean(np.square((problem.X - problem.signal) @ np.asarray(P)), axis=0).max()))


def proportions(problem: Problem, found: Found) -> float:
    """The largest second moment of a true weight over the least; after balancing, where a method does that."""
    if "balanced" not in found.facts or problem.weights is None or problem.start is None:
        return float("nan")
    factors = balanced(source_of(problem.X), problem.start)[1] if found.facts["balanced"] else 1.0
    moments = np.square(problem.weights / factors).mean(axis=0)
    return float(moments.max() / moments.min())


def _fact(name: str) -> Callable[[Problem, Found], float]:
    return lambda problem, found: float(found.facts.get(name, np.nan))


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
    Measure("basis_l1", "largest l1 error of a component", "lower", basis_l1, ".2g"),
    Measure("mean_noise", f"largest mean noise of {HEAVY:.0%} of the records", "", mean_noise, ".3g"),
    Measure("mean_noise_bound", f"bound on the mean noise of {HEAVY:.0%} of the records", "", mean_noise_bound, ".3g"),
    Measure("record_noise", "mean l1 norm of a record's noise", "", record_noise, ".2g"),
    Measure("seen_noise", f"share of records with noise of l1 norm {SEEN:g} or more", "", seen_noise, ".2f"),
    Measure("score", "1 - l1 residual", "higher", l1_score, ".3f"),
    Measure("held_out", "1 - l1 residual of the record left out", "higher", held_out_score, ".3f"),
    Measure("nmi", "NMI", "higher", nmi, ".3f"),
    Measure("ac", "accuracy", "higher", accuracy, ".3f"),
    Measure("dominant", "% records with a dominant weight", "", dominant_share, ".2f"),
    Measure("pure", "% nearly pure records", "", pure_share, ".2f"),
    Measure("dominant_unscaled", "% dominant, not scaled", "", partial(dominant_share, scaled=False), ".2f"),
    Measure("pure_unscaled", "% nearly pure, not scaled", "", partial(pure_share, scaled=False), ".2f"),
    Measure("features", "number of features", "", n_features, ",.0f"),
    Measure("angle", "mean angle to the true components, degrees", "lower", angle, ".2f"),
    Measure("fit", "relative error of the fit", "lower", fit_error, ".4f"),
    Measure("pixel", "root mean square error a pixel", "lower", pixel_error, ".5f"),
    Measure("running", "root mean square error a pixel, while learning", "lower", running_error, ".5f"),
    Measure("least", "least entry of the components", "higher", least_entry, ".2g"),
    Measure("rise", "largest relative rise of the objective", "lower", objective_rise, ".1e"),
    Measure("zeros", "share of (nearly) zero entries of the components", "higher", zeros, ".2f"),
    Measure("amplification", "largest movement of decoded weights / noise", "lower", amplification, ".3g"),
    Measure("sigma", "least entry of Σ", "higher", smallest_share, ".3f"),
    Measure("E1", "‖E‖₁: other parts in a component", "lower", other_parts, ".2g"),
    Measure("N1", "‖N‖₁: what is outside their span", "lower", outside_parts, ".2g"),
    Measure("impurity", "‖E‖₁ + ‖N‖₁, relative to Σ", "lower", impurity, ".2g"),
    Measure("sample_E1", "‖E‖₁ of the sample's own covariance", "", sample_impurity, ".2g"),
    Measure("decoded_noise", "noise in the decoded weights", "lower", decoded_noise, ".2g"),
    Measure("proportions", "largest E[x²] / least E[x²]", "lower", proportions, ".2f"),
    Measure("fall", "least relative fall of a + βb a step, over η", "higher", _fact("fall"), ".3g"),
    Measure("h", "least h of the recurrences", "lower", _fact("h"), ".2g"),
    Measure("largest_E", "largest ‖E‖ₛ on the way", "lower", _fact("largest_E"), ".3f"),
    Measure("largest_N", "largest ‖N‖ₛ on the way", "lower", _fact("largest_N"), ".2g"),
    Measure("least_sigma", "least entry of Σ on the way", "higher", _fact("least_sigma"), ".3f"),
    Measure("lemma_3_negative", "constant of Lemma 3 (1)", "lower", _fact("lemma_3_negative"), ".2g"),
    Measure("lemma_3_lower", "constant of Lemma 3 (2), below", "lower", _fact("lemma_3_lower"), ".2g"),
    Measure("lemma_3_upper", "constant of Lemma 3 (2), above", "lower", _fact("lemma_3_upper"), ".2g"),
    Measure("lemma_3_noisy", "constant of Lemma 3 (2), above, with c/n²", "lower", _fact("lemma_3_noisy"), ".2g"),
    Measure("lemma_4", "constant of Lemma 4", "higher", _fact("lemma_4"), ".2g"),
    Measure("lemma_5", "constant of Lemma 5", "lower", _fact("lemma_5"), ".2g"),
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
