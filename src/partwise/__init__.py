"""partwise: the true parts of non-negative mixtures.

The public names below are loaded when they are first used, so ``import partwise`` is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AND": "partwise.estimators",
    "ANLS": "partwise.estimators",
    "HALS": "partwise.estimators",
    "MU": "partwise.estimators",
    "Purification": "partwise.estimators",
    "left_inverse": "partwise.linalg.inverse",
    "nnls": "partwise.linalg.nnls",
    "open_source": "partwise.sources",
}
_MODULES = ("algorithms", "datasets", "estimators", "exceptions", "linalg", "metrics", "plots", "sources", "starts")

__all__ = ["AND", "ANLS", "HALS", "MU", "Purification", "__version__", "left_inverse", "nnls", "open_source", *_MODULES]

if TYPE_CHECKING:
    from partwise.estimators import AND, ANLS, HALS, MU, Purification
    from partwise.linalg import left_inverse, nnls
    from partwise.sources import open_source


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"partwise.{name}")
    raise AttributeError(f"module 'partwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
