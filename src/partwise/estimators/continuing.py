"""What a state is of: a fit goes on only from a state of its own method, size, data and preparation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import KEYS, RECORDED, State, as_bytes, of_bytes
from partwise.algorithms.randomness import unpack
from partwise.exceptions import InputError
from partwise.sources import Inspection, RowSource

OF = "of"
SAME_NORM = 1e-9  # other blocks of the same rows have the same squared norm but for rounding, which is far below this


def ticket(
    method: str, preparation: str, weighing: str, source: RowSource, k: int, seen: Inspection
) -> npt.NDArray[np.uint8]:
    """What a fit is of, as an entry of its states."""
    facts = {"method": method, "n_samples": source.shape[0], "n_features": source.shape[1], "n_components": k}
    facts |= {"dtype": str(source.dtype), "preparation": preparation, "weighing": weighing}
    facts |= {"nonzero": int(seen.nonzero), "squared_norm": float(seen.squared_norm)}
    return as_bytes(facts)


def check_state(state: Any, wanted: npt.NDArray[np.uint8], rng: np.random.Generator) -> None:
    """Refuse a state that is not of this fit, or not whole; put the generator where it was when that fit began."""
    if not isinstance(state, Mapping) or OF not in state or KEYS not in state:
        raise _refused("{parameter} must be what a callback was given as Progress.state, whole", "value")
    try:
        was, now = (of_bytes(of) for of in (state[OF], wanted))
        keys = of_bytes(state[KEYS])
        same_norm = abs(was["squared_norm"] - now["squared_norm"]) <= SAME_NORM * abs(now["squared_norm"])
    except (ValueError, TypeError, KeyError) as error:
        raise _refused("{parameter} is damaged: it does not say what it is of", "damaged") from error
    for name, value in now.items():
        if was.get(name) != value and not (name == "squared_norm" and same_norm):
            what = "data whose " if name in ("nonzero", "squared_norm") else ""
            raise _refused(f"{{parameter}} is of a fit with {what}{name} {was.get(name)!r}, not {value!r}", "shape")
    missing = [name for name in keys if name not in state]
    if missing:
        raise _refused(f"{{parameter}} is not whole: {missing[0]} is missing", "damaged")
    _check_arrays(state, (int(now["n_components"]), int(now["n_features"])))
    try:
        unpack(state["rng"], rng)
    except (ValueError, TypeError, KeyError) as error:
        raise _refused("{parameter}: its generator is of another kind than that of random_state", "value") from error


def _check_arrays(state: State, shape: tuple[int, int]) -> None:
    components = np.asarray(state["components"])
    if components.shape != shape or components.dtype.kind != "f" or not np.isfinite(components).all():
        raise _refused(f"{{parameter}}: its components are no finite matrix of shape {shape}", "damaged")
    columns = [np.shape(values) for name, values in state.items() if name.startswith(RECORDED)]
    if len(set(columns)) != 1 or len(columns[0]) != 1 or not columns[0][0]:
        raise _refused("{parameter}: the columns of its history have several lengths, or none", "damaged")


def _refused(message: str, kind: str) -> InputError:
    return InputError(message, parameter="state", kind=kind)
