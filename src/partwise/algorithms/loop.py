"""The one iteration loop: it drives an algorithm (a generator of :class:`Progress`), says why it stopped."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.outcomes import KKT, Stop

Array = npt.NDArray[Any]
Stages = Generator["Progress", None, Stop | None]  # an algorithm that says why it ended
Callback = Callable[["Progress"], Any]
State = Mapping[str, Any]  # arrays and numbers by name, flat

SHOWN_ROWS = 12  # of a history in a notebook
RECORDED = "history."  # before the names of the history's columns, in a state
LOG = logging.getLogger("partwise")  # every iteration at DEBUG, the end of every fit at INFO
WATCHERS: list[Callable[[Progress, int, float], object]] = []  # told every iteration, and the limits of its run
KEYS = "keys"  # the names of all other entries of a state: one that is lost is missed


@dataclass(frozen=True)
class Progress:
    """One iteration's outcome.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        The components after this iteration.
    objective : float
        What the algorithm minimises, penalties included.
    residual : float
        What is to become zero: by what the optimality conditions are missed, or what an iteration still changes,
        relative to the data; NaN where not known. The algorithm says what it is.
    n_iter : int
        Number of this iteration, from 1; 0 is the start.
    seconds : float
        Time since the start, without the time spent in callbacks and in measuring the error against a truth.
    work : float
        The same in seconds of the processor, all threads together: no load of the machine changes it much.
    details : dict
        Further columns for the history.
    certified : bool
        Whether ``residual`` was measured at an iterate (the one this iteration began with) and not at an
        extrapolated point; only then it can stop a run.
    measure : str
        What ``residual`` is, where it is another measure than that of the run: of a second stage.
    stop : Stop or None
        Set in the last iteration of an algorithm that knows it is the last.
    state : mapping
        All that the algorithm goes on from, as arrays and numbers by name; what callbacks get also holds the
        iterations so far, and given to ``fit`` it continues to the same bits. The arrays are those of the algorithm:
        they change when it goes on, so what is to be kept is written or copied at once. Empty where the algorithm
        cannot be continued.
    """

    components: Array
    objective: float
    residual: float = np.nan
    n_iter: int = 0
    seconds: float = 0.0
    work: float = 0.0
    details: Mapping[str, float] = field(default_factory=dict)
    certified: bool = True
    measure: str = ""
    stop: Stop | None = None
    state: State = field(default_factory=dict)


class History(dict[str, Array]):
    """A table with one row an iteration, as a mapping of column names to arrays; ``to_native`` makes a data frame.

    Examples
    --------
    >>> history = History({"n_iter": [0, 1, 2], "objective": [9.0, 4.0, 1.0]})
    >>> history["objective"][-1], list(history), history.n_rows
    (np.float64(1.0), ['n_iter', 'objective'], 3)
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        super().__init__({name: np.asarray(values) for name, values in columns.items()})

    def _repr_html_(self) -> str:
        """First and last rows as a table, for a notebook."""
        n = self.n_rows
        chosen = list(range(n)) if n <= SHOWN_ROWS else [*range(SHOWN_ROWS - 2), n - 2, n - 1]
        head = "".join(f"<th>{name}</th>" for name in self)
        rows = "".join(
            "<tr>" + "".join(f"<td>{values[i]:.6g}</td>" for values in self.values()) + "</tr>" for i in chosen
        )
        return f"<p>{self!r}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def __repr__(self) -> str:
        return f"History({self.n_rows} rows: {', '.join(self)})"

    @property
    def n_rows(self) -> int:
        """Number of recorded iterations."""
        return len(next(iter(self.values()))) if self else 0

    def to_native(self, backend: Any = "polars") -> Any:
        """The table as a data frame of the given library (``"polars"``, ``"pandas"``, ``"pyarrow"``)."""
        import narwhals

        return narwhals.from_dict(dict(self), backend=backend).to_native()


@dataclass(frozen=True)
class Result:
    """What every algorithm returns."""

    components: Array
    n_iter: int
    stop: Stop
    history: History
    residual: float

    @property
    def converged(self) -> bool:
        """Whether the algorithm ended by itself."""
        return self.stop.converged


def run(
    iterations: Iterator[Progress],
    *,
    max_iter: int,
    tol: float,
    measure: str = "",
    callbacks: Sequence[Callback] = (),
    measures: Callable[[Progress], Mapping[str, float]] | None = None,
    state: State | None = None,
    kept: State | None = None,
    began: Moment | None = None,
) -> Result:
    """Drive an algorithm until its residual is at most ``tol``, or it ends, or is told to stop.

    Parameters
    ----------
    iterations : iterator of Progress
        The algorithm. It says why it ended by the `stop` of its last iteration or, where it finds out only in the
        attempt at a next one, by what its generator returns; None means that nothing changes any more.
    max_iter : int
        Largest number of iterations.
    tol : float
        Stop when a certified residual is this small.
    measure : str
        What the residual is, unless an iteration says otherwise.
    callbacks : sequence of callables
        Each is given every :class:`Progress`; returning a true value stops the run, and a :class:`Stop` says why.
    measures : callable, optional
        Further columns for the history, such as the distance of the components from a truth; given every
        :class:`Progress` as the algorithm made it.
    state : mapping, optional
        What a callback was given as ``Progress.state``: the iterations go on behind that one. The algorithm must have
        been given it too, and its first iteration is then the next one.
    kept : mapping, optional
        Further entries of every state, which do not change.
    began : Moment, optional
        When the work began, if some was done before: it counts.

    Returns
    -------
    Result
        The last complete iteration; after Ctrl-C too.
    """
    odd = next((one for one in callbacks if not callable(one)), None)
    if odd is not None:
        raise InputError(f"{{parameter}} must be functions, got {str(odd)[:60]!r}", parameter="callbacks")
    rows = recorded_rows(state)
    first = int(rows[-1]["n_iter"]) + 1 if rows else 0
    clock = _Clock(float(rows[-1]["time"]) if rows else 0.0, began)
    now: Progress | None = None
    if state is not None:
        last = rows[-1]
        certified = bool(state["certified"])
        now = Progress(
            np.asarray(state["components"]),
            float(last["objective"]),
            float(last["residual"]),
            first - 1,
            certified=certified,
            measure=of_bytes(state["measure"]) if "measure" in state else "",
        )
        over = _reached(now, max_iter, tol, measure, ())
        if over is not None:  # nothing is left of it
            own = of_bytes(state["stop"]) if over.kind == "max_iter" and "stop" in state else None
            return _result(now, over if own is None else Stop.of_dict(own), rows)
    ending = Ending(iterations)
    stop: Stop | None = None
    try:
        for number, progress in enumerate(ending, first):
            with clock.paused():
                row = _row(progress, number, clock.elapsed.seconds)
                own = _Kept(progress, rows, kept or {}) if progress.state else {}
                components, spent = _shown(progress.components), clock.elapsed
                now = replace(
                    progress, components=components, n_iter=number, seconds=spent.seconds, work=spent.work, state=own
                )
                row.update({} if measures is None else measures(progress))
                rows.append(row)
                _tell(now, max_iter, tol)
                wishes = [callback(now) for callback in callbacks]
            stop = now.stop or _reached(now, max_iter, tol, measure, wishes)
            if stop is not None:
                break
        else:
            stop = ending.stop or Stop("settled")
            if stop.kind == "stalled" and not stop.cause and stop.before is None and stop.value <= tol:
                # no step went farther, and the first one already was where the tolerance asks it to be
                stop = replace(stop, kind="converged", tolerance=tol)
    except KeyboardInterrupt:
        if now is None:
            raise
        stop = Stop("interrupted")
    assert now is not None
    assert stop is not None
    return _result(now, stop, rows)


def _tell(now: Progress, max_iter: int, tol: float) -> None:
    if LOG.isEnabledFor(logging.DEBUG):
        facts = now.n_iter, now.objective, now.residual, now.seconds
        LOG.debug("iteration %d: objective %.6g, residual %.3g, %.2f s", *facts)
    for watch in WATCHERS:
        watch(now, max_iter, tol)


def until_flat(
    iterations: Iterator[Progress], *, tol: float, state: State | None, fall: float = 1e-4, rounds: int = 10
) -> Iterator[Progress]:
    """Iterations up to the first whose objective is less than ``fall`` of itself below that of ``rounds`` before.

    One that has reached ``tol`` ends as it always does. ``state`` is that which the iterations go on from.
    """
    past = [row["objective"] for row in recorded_rows(state)]
    for now in iterations:
        past.append(now.objective)
        flat = len(past) > rounds and past[-rounds - 1] - now.objective < fall * abs(now.objective)
        if flat and not (now.certified and now.residual <= tol):
            told = {"fall": fall, "rounds": float(rounds)}
            yield replace(now, stop=Stop("stalled", now.residual, tol, measure=KKT, cause="flat", details=told))
            return
        yield now


def as_bytes(values: Any) -> npt.NDArray[np.uint8]:
    """Words and numbers as an entry of a state: the bytes of their JSON."""
    text = json.dumps(values, default=lambda value: value.tolist())
    return np.frombuffer(text.encode(), np.uint8).copy()


def of_bytes(entry: npt.ArrayLike) -> Any:
    """What such an entry says."""
    return json.loads(np.asarray(entry, np.uint8).tobytes())


def recorded_rows(state: State | None) -> list[dict[str, float]]:
    """The rows of the history that a state holds."""
    columns = {name[len(RECORDED) :]: values for name, values in (state or {}).items() if name.startswith(RECORDED)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def under(prefix: str, state: State | None) -> dict[str, Any]:
    """The part of a state that belongs to the second stage of a method, as its own state; empty before it."""
    return {name[len(prefix) :]: value for name, value in (state or {}).items() if name.startswith(prefix)}


def prefixed(prefix: str, state: State) -> dict[str, Any]:
    """The state of a second stage as a part of the state of the whole."""
    return {f"{prefix}{name}": value for name, value in state.items()}


def history_of(rows: Sequence[Mapping[str, float]]) -> History:
    """One table; details that only some iterations have are NaN in the others."""
    names = dict.fromkeys(name for row in rows for name in row)
    return History({name: [row.get(name, np.nan) for row in rows] for name in names})


def _reached(now: Progress, max_iter: int, tol: float, measure: str, wishes: Sequence[Any]) -> Stop | None:
    measure = now.measure or measure
    if now.n_iter and now.certified and now.residual <= tol:
        return Stop("converged", now.residual, tol, measure=measure)
    for wish in wishes:
        if wish:
            return wish if isinstance(wish, Stop) else Stop("callback")
    return Stop("max_iter", now.residual, tol, measure=measure) if now.n_iter >= max_iter else None


def _result(now: Progress, stop: Stop, rows: Sequence[Mapping[str, float]]) -> Result:
    components = np.array(now.components, order="C")
    return Result(components, now.n_iter, replace(stop, n_iter=now.n_iter), history_of(rows), now.residual)


def _shown(components: Array) -> Array:
    """To be looked at, by callbacks: those of the algorithm itself are not to be written into."""
    view = components.view()
    view.flags.writeable = False
    return view


class _Kept(Mapping[str, Any]):
    """The state of an algorithm with its components and the iterations so far; those are made a table when read."""

    def __init__(self, progress: Progress, rows: list[dict[str, float]], kept: State) -> None:
        self._own = {**progress.state, **kept, "components": progress.components, "certified": progress.certified}
        if progress.measure:
            self._own["measure"] = as_bytes(progress.measure)
        if progress.stop is not None:
            self._own["stop"] = as_bytes(progress.stop.as_dict())
        self._rows = rows
        self._columns: dict[str, Array] | None = None

    @property
    def _all(self) -> dict[str, Any]:
        if self._columns is None:
            history = history_of(self._rows)
            self._columns = {KEYS: as_bytes(sorted(self._own))}
            self._columns |= {f"{RECORDED}{name}": history[name] for name in history}
        return self._own | self._columns

    def __getitem__(self, name: str) -> Any:
        return self._own[name] if name in self._own else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


class Ending:
    """Iterations one by one, the last of them, and how they ended."""

    def __init__(self, iterations: Iterator[Progress]) -> None:
        self.iterations = iterations
        self.last: Progress | None = None
        self.stop: Stop | None = None

    def __iter__(self) -> Iterator[Progress]:
        while True:
            try:
                self.last = next(self.iterations)
            except StopIteration as end:
                self.stop = end.value
                return
            self.stop = self.last.stop
            yield self.last


def _row(progress: Progress, number: int, seconds: float) -> dict[str, float]:
    row = {"n_iter": number, "time": seconds, "objective": progress.objective, "residual": progress.residual}
    return row | dict(progress.details)


class Moment(NamedTuple):
    """What two clocks say: seconds that pass, and seconds of the processor."""

    seconds: float
    work: float

    @classmethod
    def now(cls) -> Moment:
        """This moment."""
        return cls(time.perf_counter(), time.process_time())

    def since(self, other: Moment) -> Moment:
        """What has passed on both clocks."""
        return Moment(self.seconds - other.seconds, self.work - other.work)


class _Clock:
    """What has passed since the start on both clocks, without what happens inside ``paused``."""

    def __init__(self, before: float = 0.0, began: Moment | None = None) -> None:
        self._start = (began or Moment.now()).since(Moment(before, 0.0))
        self._frozen: Moment | None = None

    @property
    def elapsed(self) -> Moment:
        return self._frozen or Moment.now().since(self._start)

    def paused(self) -> _Clock:
        return self

    def __enter__(self) -> None:
        self._frozen = self.elapsed

    def __exit__(self, *exception: object) -> None:
        assert self._frozen is not None
        self._start = Moment.now().since(self._frozen)
        self._frozen = None
