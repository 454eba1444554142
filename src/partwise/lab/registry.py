"""The experiments by name."""

from __future__ import annotations

from functools import cache

from partwise.exceptions import InputError
from partwise.lab.collect import by_name
from partwise.lab.experiment import Experiment

MODULES = (
    "and_",
    "and_correlations",
    "and_theorems",
    "purification",
    "purification_theorems",
    "purification_noise",
    "tsvdnmf",
    "tsvdnmf_texts",
    "tsvdnmf_noise",
    "tsvdnmf_cost",
    "online",
    "online_starts",
    "lecture",
    "lecture_updates",
    "lecture_pairs",
    "grid",
    "monitor",
    "truth",
    "believe",
)


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by name.

    Returns
    -------
    dict of str to Experiment
        In the order of the documents.
    """
    return by_name("partwise.lab", MODULES, "EXPERIMENTS")


def find_experiment(name: str) -> Experiment:
    """An experiment by its name.

    Parameters
    ----------
    name : str
        As ``partwise lab list`` prints it.

    Returns
    -------
    Experiment
        Its definition; an `InputError` that lists all names where there is none.
    """
    known = experiments()
    if name not in known:
        raise InputError(f"no experiment {name!r}; there are: {', '.join(known)}")
    return known[name]
