"""The library's facts in the program's words: flags instead of parameters, names beside numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.exceptions import DegenerateDataWarning, InputError, Place
    from partwise.io import Table
    from partwise.io.suspicions import Suspicion
    from partwise.outcomes import Stop
    from partwise.sources import RowSource

FLAGS = {"X": "the data", "n_components": "-k", "random_state": "--seed", "init": "--init"}
FLAGS |= {"max_iter": "--max-iter", "tol": "--tol", "missing": "--missing"}
FLAGS |= {"method": "--method", "preparation": "--preprocess"}
FLAGS |= {"map_shape": "--map-shape", "reference": "--reference", "names": "--names"}
TWO_WAYS = ("header", "row_names")
HINTS = {  # by what is wrong, and with which argument
    ("features", "names"): "; --fill-missing takes missing ones for 0, --ignore-extra drops unknown ones",
    ("not-finite", "X"): "; --missing nan (of `fit` and `rank`) takes NaN for what is not known",
    ("empty", "columns"): "; --feature-names gives some",
    ("empty", "drop"): "; --feature-names gives some",
    ("not-real", "drop"): ", and --text counts its words",
    ("option", "init"): " A file of components can be given too, and there is none of that name.",
}


def worded(error: InputError | DegenerateDataWarning, table: Table | RowSource | None = None) -> str:
    """What is wrong, with flags where the library names parameters, and names of rows and columns of the table."""
    name = error.parameter or ""
    flag = _flag(name)
    if error.kind == "elsewhere":
        return f"{name}: give it as {flag}" if flag else f"{name} is for Python programs only"
    place = _named(error.place, table if name == "X" else None)
    if error.kind == "negative" and name == "X":
        return f"it has negative values, the first in {place}; this method needs data >= 0, and clips nothing by itself"
    text = error.worded(flag or name, place)
    if error.kind == "option":
        text = f"{flag or f'--set {name}'}: {error.worded(name, place)}"
    return text + HINTS.get((error.kind, name), "")


def _flag(parameter: str) -> str | None:
    """What the program calls a parameter; options of reading are called as they are."""
    from partwise.cli.reading import Reading

    reading = {one.name for one in fields(Reading)}
    flag = parameter.replace("_", "-")
    if parameter in TWO_WAYS:
        return f"--{flag} or --no-{flag}"
    return f"--{flag}" if parameter in reading else FLAGS.get(parameter)


def suspected(one: Suspicion) -> str:
    """What looks like a mistake, with the flag that mends it."""
    words = {"transpose": "--transpose", "preprocess": "--preprocess", "unit": "--preprocess unit"}
    words |= {
        "counting": "--method likelihood",
        "squares": "--method hals",
        "layer": "--layer",
        "drop": f"--drop {one.details.get('columns', '')}",
    }
    return one.told(words)


def sentence(warning: Warning) -> str:
    """A warning as a sentence."""
    from partwise.exceptions import DegenerateDataWarning

    stop: Stop | None = getattr(warning, "stop", None)
    if stop is not None:
        text = ended(stop)
    else:
        text = worded(warning) if isinstance(warning, DegenerateDataWarning) else str(warning)
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def ended(stop: Stop) -> str:
    """Why a fit ended, where it did not end by itself."""
    from partwise.estimators.telling import RESIDUALS, advice, reason

    if stop.kind == "interrupted":
        return f"{reason(stop)}; the best parts so far are kept"
    if stop.kind == "max_iter" and not stop.cause:
        residual = f"{RESIDUALS.get(stop.measure, 'residual')} {stop.value:.3g}"
        above = "" if stop.value <= stop.tolerance else f" above --tol {stop.tolerance:g}"
        return f"--max-iter {stop.n_iter} ended the fit, with a {residual}{above}: raise one of them"
    hint = advice(stop)
    return reason(stop) + (f"; {hint}" if hint else "")


def facts(error: BaseException | None) -> dict[str, Any]:
    """What is wrong, for programs; nothing for errors of other kinds."""
    from partwise.exceptions import InputError

    if not isinstance(error, InputError):
        return {}
    place = {name: value for name, value in asdict(error.place).items() if value is not None}
    return {"error": {"kind": error.kind, "parameter": error.parameter, "place": place}}


@contextmanager
def told_of(data: str, table: Table | RowSource) -> Iterator[None]:
    """The library's errors as failures, those about the data with its file and names."""
    from partwise.cli.console import Failure, told
    from partwise.exceptions import InputError

    try:
        with told(2):
            yield
    except Failure as failure:
        if isinstance(failure.__cause__, InputError):
            raise Failure(f"{data}: {worded(failure.__cause__, table)}", 2) from failure.__cause__
        raise


def _named(place: Place, table: Table | RowSource | None) -> str:
    """A place, with the names of its row and column where the table has them."""
    if table is None or (place.row is None and place.column is None):
        return str(place)
    parts = []
    for what, number, names in (("row", place.row, table.sample_names), ("column", place.column, table.feature_names)):
        if number is not None:
            parts.append(f"{what} {number}" + (f" ({names[number]!r})" if names else ""))
    return f"{', '.join(parts)} (counted from 0)"
