"""Every method of the lab under one name, with the settings it is given; a file a document.

A module has a tuple `CONTENDERS`; a new method is an entry of its document's, with ``literal=True`` if its constants,
start, weights and preparation are the published ones and nothing is ours.
"""

from __future__ import annotations

from importlib import import_module

from partwise.lab.experiment import Contender

MODULES = (
    "and_",
    "and_theorems",
    "signed",
    "purification",
    "tsvdnmf",
    "heavy",
    "online",
    "lecture",
    "classic",
    "monitor",
    "trivial",
)


def _collected() -> dict[str, Contender]:
    found: dict[str, Contender] = {}
    for module in MODULES:
        for one in import_module(f"{__name__}.{module}").CONTENDERS:
            if one.name in found:
                raise ValueError(f"two contenders are called {one.name}")
            found[one.name] = one
    return found


CONTENDERS: dict[str, Contender] = _collected()
