"""The one iteration loop: it drives an algorithm (a generator of :class:`Progress`), says why it stopped."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Stages = Generator["Progress", None, str | None]  # an algorithm that says why it ended
Callback = Callable[["Progress"], Any]


class Unsettled(str):
    """A reason to end that is not convergence."""


@dataclass(frozen=True)
class Progress:
    """One iteration's outcome.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        The components after this iteration.
    objective : float
        What the algorithm minimises, penalties included.
    kkt : float
        Residual of the optimality conditions relative to the data (0 at a stationary point), or NaN where not
        known.
    n_iter : int
        Number of this iteration, from 1; 0 is the start.
    seconds : float
        Time since the start, without the time spent in callbacks and in measuring the error against a truth.
    details : dict
        Further columns for the history.
    certified : bool
        Whether ``kkt`` was measured at an iterate (the one this iteration began with) and not at an
        extrapolated point; only then it can stop a run.
    """

    components: Array
    objective: float
    kkt: float = np.nan
    n_iter: int = 0
    seconds: float = 0.0
    details: Mapping[str, float] = field(default_factory=dict)
    certified: bool = True


class History(Mapping[str, Array]):
    """A table with one row an iteration, as a mapping of column names to arrays; ``to_native`` makes a data frame.

    Examples
    --------
    >>> history = History({"n_iter": [0, 1, 2], "objective": [9.0, 4.0, 1.0]})
    >>> history["objective"][-1], list(history), history.n_rows
    (np.float64(1.0), ['n_iter', 'objective'], 3)
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: np.asarray(values) for name, values in columns.items()}

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"History({self.n_rows} rows: {', '.join(self._columns)})"

    @property
    def n_rows(self) -> int:
        """Number of recorded iterations."""
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def to_native(self, backend: Any = "polars") -> Any:
        """The table as a data frame of the given library (``"polars"``, ``"pandas"``, ``"pyarrow"``)."""
        import narwhals

        return narwhals.from_dict(dict(self._columns), backend=backend).to_native()


@dataclass(frozen=True)
class Result:
    """What every algorithm returns."""

    components: Array
    n_iter: int
    converged: bool
    stop_reason: str
    history: History
    kkt: float


def run(
    iterations: Iterator[Progress],
    *,
    max_iter: int,
    tol: float,
    callbacks: Sequence[Callback] = (),
    measures: Callable[[Array], Mapping[str, float]] | None = None,
) -> Result:
    """Drive an algorithm until its optimality residual is at most ``tol``, or it ends, or is told to stop.

    Parameters
    ----------
    iterations : iterator of Progress
        The algorithm. Ending by itself means that it converged; a generator may return the reason,
        and an :class:`Unsettled` one if it did not.
    max_iter : int
        Largest number of iterations.
    tol : float
        Stop when ``kkt <= tol``.
    callbacks : sequence of callables
        Each is given every :class:`Progress`; returning a true value stops the run.
    measures : callable, optional
        Further columns for the history, such as the distance of the components from a truth.

    Returns
    -------
    Result
        The last complete iteration; after Ctrl-C too, with a warning that says so.
    """
    rows: list[dict[str, float]] = []
    state: Progress | None = None
    clock = _Clock()
    ending = Ending(iterations)
    converged, reason = False, f"max_iter={max_iter} reached"
    try:
        for number, progress in enumerate(ending):
            with clock.paused():
                state = _numbered(progress, number, clock.elapsed)
                rows.append(_row(state, measures))
                stopped = [callback(state) for callback in callbacks]
            if number and state.certified and state.kkt <= tol:
                converged, reason = True, f"KKT residual {state.kkt:.3g} <= tol={tol:g}"
                break
            if any(stopped):
                reason = "stopped by a callback"
                break
            if number >= max_iter:
                break
        else:
            converged = not isinstance(ending.reason, Unsettled)
            reason = str(ending.reason or "no further change is possible")
    except KeyboardInterrupt:
        if state is None:
            raise
        reason = f"interrupted by the user after iteration {state.n_iter}"
        warnings.warn(f"{reason}; the best components so far are kept", RuntimeWarning, stacklevel=2)
    assert state is not None
    # details that only some iterations have are NaN in the others
    columns = {name: [row.get(name, np.nan) for row in rows] for name in dict.fromkeys(n for row in rows for n in row)}
    return Result(np.ascontiguousarray(state.components), state.n_iter, converged, reason, History(columns), state.kkt)


def _numbered(progress: Progress, number: int, seconds: float) -> Progress:
    return replace(progress, n_iter=number, seconds=seconds)


class Ending:
    """Iterations one by one, the last of them, and what their generator returned when it ended."""

    def __init__(self, iterations: Iterator[Progress]) -> None:
        self.iterations = iterations
        self.last: Progress | None = None
        self.reason: str | None = None

    def __iter__(self) -> Iterator[Progress]:
        while True:
            try:
                self.last = next(self.iterations)
            except StopIteration as end:
                self.reason = end.value
                return
            yield self.last


def _row(state: Progress, measures: Callable[[Array], Mapping[str, float]] | None) -> dict[str, float]:
    row = {"n_iter": state.n_iter, "time": state.seconds, "objective": state.objective, "kkt": state.kkt}
    row.update(state.details)
    if measures is not None:
        row.update(measures(state.components))
    return row


class _Clock:
    """Seconds since the start, without what happens inside ``paused``."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return self._frozen if self._frozen is not None else time.perf_counter() - self._start

    _frozen: float | None = None

    def paused(self) -> _Clock:
        return self

    def __enter__(self) -> None:
        self._frozen = time.perf_counter() - self._start

    def __exit__(self, *exception: object) -> None:
        assert self._frozen is not None
        self._start = time.perf_counter() - self._frozen
        self._frozen = None
