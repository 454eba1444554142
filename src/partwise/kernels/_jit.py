"""How every kernel is compiled: without the GIL, cached on disk, reassociation allowed, NaN kept."""

from __future__ import annotations

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


def jit(function: F, options: dict[str, Any] = _OPTIONS) -> F:
    """Compile a kernel. Blocks are the parallelism, so kernels are serial and release the GIL."""
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no writable folder for its cache (read-only installation)
        compiled = numba.njit(**options)(function)
    return cast(F, compiled)


def jit_quotients(function: F) -> F:
    """As `jit`, and quotients may be products with reciprocals: loops around a division become twice as fast."""
    return jit(function, _OPTIONS | {"fastmath": _OPTIONS["fastmath"] | {"arcp"}})


def jit_in_order(function: F) -> F:
    """As `jit`, with sums in the order that is written: the same bits as another kernel that adds in this order."""
    return jit(function, _OPTIONS | {"fastmath": _OPTIONS["fastmath"] - {"reassoc"}})


def inlined(function: F) -> F:
    """Compile a function into the kernel that calls it.

    Of functions beside it, a process that compiles and one that loads the cache run different copies, which differ in
    the last bit; a run that goes on must go on with the same bits.
    """
    return cast(F, numba.njit(forceinline=True, **_OPTIONS)(function))
