"""Where rows live: memory, files, Dask. One protocol, a few verbs, one tree reduction."""

from partwise.sources.generated import GeneratedSource
from partwise.sources.inspection import Inspection, inspect
from partwise.sources.memory import MemorySource
from partwise.sources.opening import brings_own_rows, source_of
from partwise.sources.protocol import RowSource, add, pairwise_tree

__all__ = [
    "GeneratedSource",
    "Inspection",
    "MemorySource",
    "RowSource",
    "add",
    "brings_own_rows",
    "inspect",
    "pairwise_tree",
    "source_of",
]
