"""What the modules of a package have, by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any


def by_name(package: str, modules: Sequence[str], attribute: str) -> dict[str, Any]:
    """The things in the tuple `attribute` of every module by their names, of which no two may be the same.

    Parameters
    ----------
    package : str
        Where the modules are.
    modules : sequence of str
        Their names, in order.
    attribute : str
        The tuple that each has; its things have a ``name``.

    Returns
    -------
    dict of str to object
        In the order of the modules; a `ValueError` tells a name that is there twice.
    """
    found: dict[str, Any] = {}
    for module in modules:
        for one in getattr(import_module(f"{package}.{module}"), attribute):
            if one.name in found:
                raise ValueError(f"two of {package} are called {one.name}")
            found[one.name] = one
    return found
