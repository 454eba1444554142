"""Where rows live: memory, files, Dask. One protocol, a few verbs, one tree reduction."""

from partwise.sources.generated import GeneratedSource
from partwise.sources.inspection import Inspection, inspect
from partwise.sources.memory import MemorySource
from partwise.sources.opening import brings_own_rows, open_source
from partwise.sources.protocol import RowSource, add, pairwise_tree

__all__ = [
    "GeneratedSource",
    "Inspection",
    "MemorySource",
    "RowSource",
    "add",
    "brings_own_rows",
    "inspect",
    "open_source",
    "pairwise_tree",
]
