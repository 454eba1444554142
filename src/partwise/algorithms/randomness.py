"""Where a random generator stands, as an array: part of the state that a fit is continued from."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt


def packed(rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """The state of a generator of any kind, as the bytes of its JSON.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> before = packed(rng)
    >>> first = rng.random()
    >>> unpack(before, rng)
    >>> rng.random() == first
    True
    """
    text = json.dumps(rng.bit_generator.state, default=lambda value: value.tolist())
    return np.frombuffer(text.encode(), np.uint8).copy()


def unpack(state: npt.NDArray[np.uint8], rng: np.random.Generator) -> None:
    """Put a generator where another one of its kind stood."""
    values: Any = json.loads(np.asarray(state, np.uint8).tobytes())
    rng.bit_generator.state = values
