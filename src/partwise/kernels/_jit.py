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


def jit(function: F) -> F:
    """Compile a kernel. Blocks are the parallelism, so kernels are serial and release the GIL."""
    try:
        compiled = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba finds no writable folder for its cache (read-only installation)
        compiled = numba.njit(**_OPTIONS)(function)
    return cast(F, compiled)
