"""What a data set with a truth is, the kinds that there are, and what is measured and drawn of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from partwise import metrics
from partwise.lab.experiment import Found, Problem, Size
from partwise.lab.measures.base import true_parts
from partwise.lab.measures.truth import assigned, proportions_of, true_proportions

Picture = Callable[[Problem, Found | None], np.ndarray]


@dataclass(frozen=True)
class Kind:
    """What is measured of data sets of a kind, the first being what methods are ordered by, and what is drawn."""

    name: str
    measures: tuple[str, ...]
    picture: Picture


@dataclass(frozen=True)
class Truth:
    """A data set whose truth is known.

    Parameters
    ----------
    name : str
        What it is called in tables.
    kind : str
        One of `KINDS`: "spectra" (angles), "proportions", "signatures", "images" or "texts" (classes).
    make : callable
        ``make(size, seed)``: the problem at a size, "quick" or "full". Real data is the same for all seeds; a file that
        is missing is a `DataNotFoundError`, and the data set is left out.
    group : str
        Data sets that differ in a setting share a column of the documentation's table; the name by default.
    quick : {"small", "whole", ""}
        Whether it is part of the quick size, which takes less than a minute with all methods, and as what: a part of
        the data goes by another name, so that nothing that is claimed of the whole is held against it.
    """

    name: str
    kind: str
    make: Callable[[Size, int], Problem]
    group: str = ""
    quick: Literal["small", "whole", ""] = "small"


def matched_parts(problem: Problem, found: Found | None) -> np.ndarray:
    """The parts in the order and the sizes of the true ones; zero where there is none."""
    truth = true_parts(problem)
    if found is None:
        return truth
    return metrics.match_components(found.components, truth).aligned(found.components)


def matched_proportions(problem: Problem, found: Found | None) -> np.ndarray:
    """Proportions, with parts in the order of the true ones."""
    return true_proportions(problem) if found is None else proportions_of(problem, found)


def classes_by_parts(problem: Problem, found: Found | None) -> np.ndarray:
    """Numbers of samples: a row a class, the largest first, a column a part, in the order of their classes."""
    assert problem.labels is not None
    names, labels = np.unique(problem.labels, return_inverse=True)
    order = np.argsort(-np.bincount(labels), kind="stable")
    rows = np.argsort(order, kind="stable")[labels]
    columns = rows if found is None else assigned(problem, found)
    table = np.zeros((len(names), max(problem.k, int(columns.max(initial=0)) + 1)))
    np.add.at(table, (rows, columns), 1.0)
    first, second = linear_sum_assignment(table, maximize=True)
    rest = [j for j in range(table.shape[1]) if j not in set(second)]
    return np.asarray(table[:, [*second[np.argsort(first)], *rest]])


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("spectra", ("angle",), matched_parts),
        Kind("proportions", ("proportion_error",), matched_proportions),
        Kind("signatures", ("signature_f1",), matched_parts),
        Kind("images", ("recovered",), matched_parts),
        Kind("texts", ("nmi", "ac"), classes_by_parts),
    )
}
