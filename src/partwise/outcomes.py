"""Why a fit ended, as a value; words for it are made where people read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Literal, get_args

Kind = Literal[
    "converged",  # a measure came down to its tolerance
    "floor",  # a measure or a threshold came down to the noise: nothing more is in the data
    "settled",  # no further change is possible
    "done",  # all steps of a method that has a number of them
    "max_iter",  # the limit of iterations came first
    "passes",  # the limit of passes over the data came first
    "stalled",  # the measure has stopped falling above its tolerance
    "diverged",  # numbers that are not finite
    "degenerate",  # the data or the components allow no further step
    "callback",  # a callback asked for it
    "time",  # a limit of time came first
    "interrupted",  # Ctrl-C
    "running",  # not over: a model in the middle of its fit
]
KINDS: tuple[str, ...] = get_args(Kind)
BY_ITSELF = ("converged", "floor", "settled", "done")

# what a residual is
KKT = "kkt"  # by what the Karush-Kuhn-Tucker conditions are missed
CHANGE = "change"  # what an iteration changes in the components
FIXED_POINT = "fixed-point"  # by what components are no fixed point of the update
AVERAGE_ERROR = "error"  # of samples that are not learnt yet
GAP = "gap"  # by how much the objective can fall at most, relatively
MEASURES = (KKT, CHANGE, FIXED_POINT, AVERAGE_ERROR, GAP)


@dataclass(frozen=True, eq=False)
class Stop:
    """Why a fit ended.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    value : float
        What the measure, or the limit, was at the end; NaN if there is none.
    tolerance : float
        What it was held against; NaN if nothing.
    n_iter : int
        The last iteration; the loop fills it in.
    measure : str
        What the value is: one of `MEASURES`, or nothing.
    cause : str
        What in particular happened, as a key for words: "cone", "collapsed", "sampling".
    details : mapping of str to float
        Further numbers that the cause goes with.
    before : Stop or None
        How the stage before ended, where a method has two.
    """

    kind: Kind
    value: float = float("nan")
    tolerance: float = float("nan")
    n_iter: int = 0
    measure: str = ""
    cause: str = ""
    details: Mapping[str, float] = field(default_factory=dict)
    before: Stop | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no kind of stop {self.kind!r}; there are {', '.join(KINDS)}")
        numbers = [self.value, self.tolerance, *(self.details.values() if isinstance(self.details, Mapping) else "?")]
        known = {"value", "tolerance", "n_iter", "residual"}
        whole = isinstance(self.n_iter, int) and all(isinstance(number, Real) for number in numbers)
        words = isinstance(self.cause, str) and self.measure in ("", *MEASURES)
        if not whole or not words or known & set(self.details) or not isinstance(self.before, Stop | None):
            raise ValueError("a stop is made of numbers, a measure, a cause and the stop before")

    def __eq__(self, other: object) -> bool:
        """Equal numbers and words; what is not known (NaN) in both is equal too."""
        return self.as_dict() == other.as_dict() if isinstance(other, Stop) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.kind, self.n_iter, self.measure, self.cause))

    @property
    def converged(self) -> bool:
        """Whether the method ended by itself, and not a limit, a user or a fault ended it."""
        return self.kind in BY_ITSELF

    def as_dict(self) -> dict[str, Any]:
        """For files; without what says nothing."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        values |= {"details": dict(self.details), "before": None if self.before is None else self.before.as_dict()}
        return {name: value for name, value in values.items() if value == value and value not in ("", {}, None)}

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> Stop:
        """From a file."""
        before = values.get("before")
        return cls(**{**values, "before": None if before is None else cls.of_dict(before)})


def ended(model: Any) -> Any:
    """A fitted model, or the result of a run: what Ctrl-C ended is not gone on from, and the Ctrl-C is handed on."""
    stop, error = getattr(model, "stop_", getattr(model, "stop", None)), getattr(model, "reconstruction_error_", 0.0)
    if (stop is not None and stop.kind == "interrupted") or error != error:
        raise KeyboardInterrupt
    return model
