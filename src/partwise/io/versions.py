"""Which libraries made a result."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

LIBRARIES = ("partwise", "numpy", "scipy", "scikit-learn", "numba")  # what decides the bits


def library_versions(*more: str) -> dict[str, str]:
    """Versions of the libraries that decide the bits, and of others; "none" for one that is not installed.

    Examples
    --------
    >>> from partwise.io.versions import library_versions
    >>> list(library_versions("no-such-library"))
    ['partwise', 'numpy', 'scipy', 'scikit-learn', 'numba', 'no-such-library']
    """
    return {name: _version(name) for name in (*LIBRARIES, *more)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
