"""Names that come from anybody's data, and how features are to be drawn."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError

LONGEST = 60  # characters of a name that are shown: about a line
ORDERED_LEAST = 20  # features from which on a line says more than bars

NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\D{0,12})")


def shown(name: object) -> str:
    """A name on one line, without what cannot be printed, cut if it is very long; "(no name)" if nothing is left.

    Escaping is the template's business.
    """
    text = str(name).encode("utf-8", "replace").decode()
    text = "".join(" " if unicodedata.category(letter) in ("Cc", "Zl", "Zp") else letter for letter in text[:1000])
    text = " ".join(text.split())
    if len(text) > LONGEST:
        text = text[: LONGEST - 1].rstrip() + "…"
    return text or "(no name)"


@dataclass(frozen=True)
class Names:
    """What columns and rows are called; numbers from 0, as in the library's messages, where they have no names."""

    features: Sequence[Any] | None
    samples: Sequence[Any] | None

    def feature(self, number: int) -> str:
        """Name of a column."""
        return f"column {number}" if self.features is None else shown(self.features[number])

    def sample(self, number: int) -> str:
        """Name of a row."""
        return f"row {number}" if self.samples is None else shown(self.samples[number])

    def brief_sample(self, number: int) -> str:
        """Name of a row under a small picture."""
        return f"{number}" if self.samples is None else shown(self.samples[number])


def check_names(names: Any, count: int, what: str) -> list[Any] | None:
    """The names in their order, if there are as many as there are things; a column of a table need not count from 0."""
    if names is None:
        return None
    if isinstance(names, (str, bytes, Mapping, Set)) or not hasattr(names, "__iter__"):
        raise InputError(f"{what} must be a sequence of names, got {type(names).__name__}")
    listed = list(names)
    if len(listed) != count:
        raise InputError(f"{what} has {len(listed)} names for {count}")
    return listed


@dataclass(frozen=True)
class View:
    """How a part is drawn: "image", "spectrum" or "bars"; the places of a spectrum's features on its axis."""

    kind: str
    image_shape: tuple[int, int] | None = None
    positions: npt.NDArray[Any] | None = None
    unit: str = ""


def view_of(names: Sequence[Any] | None, n_features: int, image_shape: tuple[int, int] | None) -> View:
    """Decide how parts are drawn.

    1. As images, if the shape of images is known.
    2. As spectra, if there are at least 20 features and they are ordered: their names are numbers (one unit may follow
       all of them, as in "400 nm"), ascending or descending; or they have no names.
    3. As bars of the largest features otherwise.

    Parameters
    ----------
    image_shape : tuple of int or None
        Rows and columns of the images.
    """
    if image_shape is not None:
        return View("image", _sides(image_shape, n_features))
    if n_features < ORDERED_LEAST:
        return View("bars")
    if names is None:
        return View("spectrum", positions=np.arange(n_features, dtype=float))
    positions, unit = _numbers(names)
    return View("bars") if positions is None else View("spectrum", positions=positions, unit=unit)


def _sides(image_shape: Any, n_features: int) -> tuple[int, int]:
    try:
        height, width = (operator.index(side) for side in image_shape)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"image_shape={image_shape!r} must be two whole numbers: rows and columns", parameter="image_shape"
        ) from error
    if height * width != n_features or height < 1:
        raise InputError(
            f"image_shape={(height, width)} does not go with {n_features} features", parameter="image_shape"
        )
    return height, width


def _numbers(names: Sequence[Any]) -> tuple[npt.NDArray[Any] | None, str]:
    found = [NUMBER.fullmatch(str(name)) for name in names]
    first = found[0]
    if first is None or any(match is None or match[2] != first[2] for match in found):
        return None, ""
    values = np.array([float(match[1]) for match in found if match is not None])
    steps = np.diff(values)
    ordered = np.isfinite(np.ptp(values)) and ((steps > 0).all() or (steps < 0).all())
    return (values, shown(first[2]) if first[2].strip() else "") if ordered else (None, "")
