"""Imports of what commands need, in as little time as can be."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# what scikit-learn imports for functions that a command hardly ever calls: more than half of its time
POSTPONED = ("scipy.stats", "pandas")


@contextmanager
def loading() -> Iterator[None]:
    """Modules that are imported within are neither searched for cycles meanwhile nor ever after.

    Thousands of their objects all stay: the search is a sixth of a small fit's time.  Where modules import `POSTPONED`
    ones, these are loaded when something of them is first asked for.
    """
    searched = gc.isenabled()
    gc.disable()
    # what is not installed is not to seem so
    stand_ins = {name: Postponed(name) for name in POSTPONED if name not in sys.modules and find_spec(name)}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for one in stand_ins.values():
            one.withdraw()
        gc.freeze()
        if searched:
            gc.enable()


class Postponed(ModuleType):
    """Stands in for a module: all that is asked of it is asked of that, which is imported for the first question.

    It is known to those that imported it in its place, and to nobody else: ``import`` finds the module itself.
    """

    def __getattr__(self, name: str) -> Any:
        self.withdraw()
        return getattr(import_module(self.__name__), name)

    def withdraw(self) -> None:
        """Leave the place to the module."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
