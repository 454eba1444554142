"""What bases say of parameters, attributes and results stands in the docstrings of every estimator."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import partwise
from partwise.estimators.base import Factorization, Looped
from partwise.estimators.documenting import entries, sections

KINDS = [
    kind
    for kind in (getattr(partwise, name) for name in partwise.__all__)
    if inspect.isclass(kind) and issubclass(kind, Factorization)
]


class Sketch(Looped):
    """One of ours.

    Parameters
    ----------
    n_components : int
        As many.

    Attributes
    ----------
    n_iter_, extra_ : int
        Counted together.

    Notes
    -----
    Stay behind.
    """

    def __init__(self, n_components: int = 2, *, random_state: Any = None) -> None:
        self.n_components, self.random_state = n_components, random_state

    def fit(self, X: Any, y: Any = None) -> Sketch:
        return self


def test_entries_of_bases_are_put_in():
    found = sections(Sketch.__doc__)
    assert list(found) == ["", "Parameters", "Attributes", "Notes"]
    assert found[""] == "One of ours."
    parameters, attributes = entries(found["Parameters"]), entries(found["Attributes"])
    assert list(parameters) == [("n_components",), ("random_state",)]
    assert parameters["n_components",].endswith("As many.")
    assert attributes["n_iter_", "extra_"].endswith("Counted together.")
    assert {("components_",), ("stop_",)} <= attributes.keys()
    assert ("n_iter_",) not in attributes


def test_a_method_without_a_word_is_described_by_its_base():
    found = sections(Sketch.fit.__doc__)
    assert list(found) == ["", "Parameters", "Returns"]
    assert list(entries(found["Parameters"])) == [("X",), ("y",)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_describes_what_it_takes_and_finds(kind: type):
    found = sections(kind.__doc__)
    described = [name for names in entries(found["Parameters"]) for name in names]
    assert described == list(inspect.signature(kind).parameters)
    told = [name for names in entries(found["Attributes"]) for name in names]
    assert {"components_", "n_components_", "n_features_in_", "reconstruction_error_"} <= set(told)
    assert len(told) == len(set(told))
