"""Measures of every experiment: how far parts are from the true ones, and the fit; what the others are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import linalg, metrics
from partwise.lab.experiment import Found, Measure, Problem

RECOVERED = 0.99  # cosine above which a part counts as found: an angle of 8 degrees


def true_parts(problem: Problem) -> np.ndarray:
    if problem.truth is None:
        raise ValueError("this data has no known components")
    return problem.truth


def _part_errors(problem: Problem, found: Found) -> np.ndarray:
    if not np.isfinite(found.components).all():
        return np.ones(len(true_parts(problem)))
    return metrics.match_components(found.components, true_parts(problem), absolute=True).errors


def weights_of(problem: Problem, found: Found) -> Any:
    return found.weights if found.weights is not None else decoded(problem.X, found)


def decoded(X: Any, found: Found) -> Any:
    if found.anchors is None:
        return linalg.nnls(found.components, X)
    picked = X[:, found.anchors]
    return sp.csr_array(picked).toarray() if sp.issparse(X) else picked


def mean_part_error(problem: Problem, found: Found) -> float:
    """Mean over the true parts of the distance from the matched one, up to scale; 1 where there is none."""
    return float(_part_errors(problem, found).mean())


def median_part_error(problem: Problem, found: Found) -> float:
    """Median over the true parts of the same."""
    return float(np.median(_part_errors(problem, found)))


def worst_part_error(problem: Problem, found: Found) -> float:
    """The largest of the same; 1 too if more were found than there are, for then one of them is no part."""
    return float(_part_errors(problem, found).max()) if len(found.components) <= len(true_parts(problem)) else 1.0


def recovered_share(problem: Problem, found: Found) -> float:
    """Share of the true parts that were found."""
    return float((metrics.match_components(found.components, true_parts(problem)).cosines > RECOVERED).mean())


def angle(problem: Problem, found: Found) -> float:
    """Mean angle between true and found components, in degrees."""
    return float(metrics.spectral_angles(found.components, true_parts(problem)).mean())


def fit_error(problem: Problem, found: Found) -> float:
    """Relative error of the fit, |X - W H| / |X|."""
    W = np.asarray(weights_of(problem, found))
    return float(metrics.relative_error(problem.X, W, found.components))


def n_features(problem: Problem, found: Found) -> float:
    """Number of features of the data."""
    return float(problem.X.shape[1])


MEASURES: tuple[Measure, ...] = (
    Measure("part_error", "mean relative error of the parts", "lower", mean_part_error, ".2g"),
    Measure("median_error", "median relative error of the parts", "lower", median_part_error, ".2g"),
    Measure("worst_error", "largest relative error of a part", "lower", worst_part_error, ".2g"),
    Measure("recovered", f"share of parts recovered (cosine > {RECOVERED})", "higher", recovered_share, ".2f"),
    Measure("features", "number of features", "", n_features, ",.0f"),
    Measure("angle", "mean angle to the true components, degrees", "lower", angle, ".2f"),
    Measure("fit", "relative error of the fit", "lower", fit_error, ".4f"),
)
