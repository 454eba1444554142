"""What the modules of a package have, by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def by_name(package: str, modules: Sequence[str], attribute: str) -> dict[str, Any]:
    """The things in the tuple `attribute` of every module by their names, of which no two may be the same.

    Parameters
    ----------
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


def files_of(package: str, *, but: Sequence[str] = ("base",)) -> tuple[str, ...]:
    """The modules that lie in a package: a new file is taken up without being named anywhere.

    Parameters
    ----------
    but : sequence of str
        Modules that hold what the others have in common.

    Returns
    -------
    tuple of str
        Their names, by the alphabet.
    """
    found = iter_modules(import_module(package).__path__)
    return tuple(sorted(module.name for module in found if module.name not in but))
