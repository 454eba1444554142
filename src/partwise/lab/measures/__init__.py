"""Every measure of the lab under one name; a file a document.

What a method did not find is as wrong as can be, and not missing.

A module has a tuple `MEASURES`; a new measure is an entry of its document's.
"""

from __future__ import annotations

from partwise.lab.collect import by_name
from partwise.lab.experiment import Measure

MODULES = ("base", "and_", "purification", "tsvdnmf", "online", "lecture", "truth", "believe")
MEASURES: dict[str, Measure] = by_name(__name__, MODULES, "MEASURES")
