"""Which features tell a part from the others: large in it, and not merely large everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics.checks import Matrix, as_components

PRIOR = 0.01  # of a part's mass, spread evenly: features that no other part has do not count without end


def specificity(components: Any) -> Matrix:
    """Score of every feature in every part by what it says of that part alone.

    With each part scaled to sum to one, the score is ``p log2(p / q)``, where p is the feature's share in the part and
    q the largest share that any other part gives it; zero where another part has as much. Features that are large in
    every part (MALAT1, "said") score zero, rare ones of a single part little, marker genes and a topic's words most.
    It is a term of the Kullback-Leibler divergence from the closest other part, feature by feature (the least extreme
    fold change of Carbonetto et al., 2023, weighed by the share).

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Non-negative parts, one a row.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        Scores, none below zero, in bits; rows of zero parts are zero. For a single part the shares themselves.

    References
    ----------
    Carbonetto et al. (2023), GoM DE: interpreting structure in sequence count data with differential expression
    analysis allowing for grades of membership, Genome Biology 24:236.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import specificity
    >>> parts = np.array([[8.0, 2.0, 0.0], [8.0, 0.0, 2.0]])  # the first feature is large in both
    >>> specificity(parts).argmax(axis=1).tolist()
    [1, 2]
    """
    H = as_components("components", components)
    if (H < 0.0).any():
        raise InputError("{parameter} must not be negative: shares of it are compared", parameter="components")
    totals = H.sum(axis=1, keepdims=True)
    P = H / np.where(totals > 0.0, totals, 1.0)
    if len(P) == 1:
        return P
    smooth = (P + PRIOR / P.shape[1]) / (1.0 + PRIOR)
    largest = smooth.argmax(axis=0)
    first = smooth[largest, np.arange(P.shape[1])]
    others = smooth.copy()
    others[largest, np.arange(P.shape[1])] = -np.inf
    second = others.max(axis=0)
    rival = np.where(np.arange(len(P))[:, None] == largest, second, first)
    return np.asarray(P * np.maximum(np.log2(smooth / rival), 0.0))


def relevance(components: Any, *, weight: float = 0.6) -> Matrix:
    """Relevance of words to topics: ``weight log p(w | t) + (1 - weight) log(p(w | t) / p(w))``.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Non-negative parts, one a row; ``p(w)`` is their mean, each scaled to sum to one.
    weight : float, default=0.6
        1 ranks by the share in the topic alone, 0 by how much of the word is the topic's.

    Returns
    -------
    ndarray of shape (n_components, n_features)
        The larger, the more relevant; -inf where the word is not in the topic.

    References
    ----------
    Sievert & Shirley (2014), LDAvis: a method for visualizing and interpreting topics, equation 1.

    Examples
    --------
    >>> from partwise.metrics import relevance
    >>> relevance([[0.5, 0.3, 0.2], [0.5, 0.0, 0.5]], weight=0.2).argmax(axis=1).tolist()
    [1, 2]
    """
    H = as_components("components", components)
    if (H < 0.0).any() or not 0.0 <= weight <= 1.0:
        wrong = "weight" if not 0.0 <= weight <= 1.0 else "components"
        raise InputError("{parameter} must not be negative, and weight not above 1", parameter=wrong)
    totals = H.sum(axis=1, keepdims=True)
    P = H / np.where(totals > 0.0, totals, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.log(P)
        lift = shares - np.log(P.mean(axis=0))
        scores = weight * shares + (1.0 - weight) * lift
    return np.where(P > 0.0, scores, -np.inf)
