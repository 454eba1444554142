"""Data sets with a known truth, a file each: `partwise lab run truth` takes up every file that lies here.

A file has a tuple `TRUTHS`; see :class:`partwise.lab.truths.base.Truth`.
"""

from __future__ import annotations

from partwise.lab.collect import by_name, files_of
from partwise.lab.truths.base import Truth

TRUTHS: dict[str, Truth] = by_name(__name__, files_of(__name__), "TRUTHS")
