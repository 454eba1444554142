"""Where an iteration begins."""

from partwise.datasets.mixture import assumed, perturbed
from partwise.starts.making import INITS, make_start, near_pure_start, nndsvd_start, pure_start, random_start

__all__ = [
    "INITS",
    "assumed",
    "make_start",
    "near_pure_start",
    "nndsvd_start",
    "perturbed",
    "pure_start",
    "random_start",
]
