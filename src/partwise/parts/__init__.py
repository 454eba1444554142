"""The front door: what a matrix is like decides the number of parts, the method and how far to believe them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

HOMES = {"Chosen": "methods", "Parts": "estimator"}  # loaded when they are asked for: lists of methods need neither

__all__ = ["Chosen", "Parts"]

if TYPE_CHECKING:
    from partwise.parts.estimator import Parts
    from partwise.parts.methods import Chosen


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
