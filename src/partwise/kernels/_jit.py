"""How every kernel is compiled: without the GIL, cached on disk, reassociation allowed, NaN kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation lets LLVM vectorise sums; nnan/ninf stay off so that NaN and inf behave as IEEE says.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
}


class _Cache:
    """Numba's cache of one kernel; where it fails, damaged or without room, it is left out."""

    told = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        """What was compiled before, or None."""
        return self._left_out(self._cache.load_overload, args)

    def save_overload(self, *args: Any) -> None:
        """Keep what was compiled."""
        self._left_out(self._cache.save_overload, args)

    def _left_out(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        try:
            return function(*args)
        except Exception as error:  # an index is a pickle: of garbage it raises anything
            if not _Cache.told:
                _Cache.told = True
                what = f"the cache of compiled kernels in {self._cache.cache_path} is left out"
                warnings.warn(f"{what} ({type(error).__name__}: {error})", RuntimeWarning, stacklevel=2)
            return None


def jit(function: F, options: dict[str, Any] = _OPTIONS) -> F:
    """Compile a kernel. Blocks are the parallelism, so kernels are serial and release the GIL."""
    try:
        compiled = numba.njit(cache=True, **options)(function)
        compiled._cache = _Cache(compiled._cache)
    except RuntimeError:  # numba finds no writable folder for its cache (read-only installation)
        compiled = numba.njit(**options)(function)
    return cast(F, compiled)


def jit_in_order(function: F) -> F:
    """As `jit`, with sums in the order that is written: the same bits as another kernel that adds in this order."""
    return jit(function, _OPTIONS | {"fastmath": _OPTIONS["fastmath"] - {"reassoc"}})


def inlined(function: F) -> F:
    """Compile a function into the kernel that calls it.

    Of functions beside it, a process that compiles and one that loads the cache run different copies, which differ in
    the last bit; a run that goes on must go on with the same bits.
    """
    return cast(F, numba.njit(forceinline=True, **_OPTIONS)(function))
