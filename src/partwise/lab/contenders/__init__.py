"""Every method of the lab under one name, with the settings it is given; a file a document.

A module has a tuple `CONTENDERS`; a new method is an entry of its document's, with ``literal=True`` if its constants,
start, weights and preparation are the published ones and nothing is ours.
"""

from __future__ import annotations

from partwise.lab.collect import by_name
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
    "ours",
    "believe",
)
CONTENDERS: dict[str, Contender] = by_name(__name__, MODULES, "CONTENDERS")
