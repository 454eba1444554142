"""A field as data: how its files are known and shaped, which method, what things are called, what is written and shown.

A fifth field is one more file here with a `PROFILE`, and its line in `PROFILES`.
"""

from __future__ import annotations

from partwise.exceptions import InputError
from partwise.io.table import Table
from partwise.profiles import cells, signatures, spectra, texts
from partwise.profiles.base import Bars, Found, Lines, Listing, Maps, Output, Panel, Profile, Settings

__all__ = [
    "PROFILES",
    "Bars",
    "Found",
    "Lines",
    "Listing",
    "Maps",
    "Output",
    "Panel",
    "Profile",
    "Settings",
    "detect",
    "find_profile",
]

# in the order in which they are tried: what is read from names comes before what is read from numbers
PROFILES: dict[str, Profile] = {one.PROFILE.name: one.PROFILE for one in (signatures, cells, texts, spectra)}


def find_profile(name: str) -> Profile:
    """The profile of a field.

    Parameters
    ----------
    name : str
        One of `PROFILES`.
    """
    if name not in PROFILES:
        raise InputError(
            f"{{parameter}} must be one of {', '.join(sorted(PROFILES))}, got {name!r}",
            parameter="field",
            kind="unknown",
        )
    return PROFILES[name]


def detect(table: Table) -> tuple[Profile, str] | None:
    """The field that a table is obviously of, and why; None where it is not obvious.

    Returns
    -------
    (Profile, str) or None
        The field and the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.io import Table
    >>> from partwise.profiles import detect
    >>> profile, why = detect(Table(np.ones((2, 3)), ["A[C>A]A", "A[C>A]C", "A[C>A]G"]))
    >>> profile.name, why
    ('signatures', 'features are kinds of mutations')
    """
    for profile in PROFILES.values():
        why = profile.looks(table)
        if why is not None:
            return profile, why
    return None
