"""Other libraries, a file each: `partwise lab run truth` takes up every file that lies here.

A file has a tuple `CONTENDERS`; :func:`partwise.lab.peers.base.peer` makes one of a function of data, k and seed.
A library that is not installed is told, and its methods are left out.
"""

from __future__ import annotations

from partwise.lab.collect import by_name, files_of
from partwise.lab.experiment import Contender

PEERS: dict[str, Contender] = by_name(__name__, files_of(__name__), "CONTENDERS")
