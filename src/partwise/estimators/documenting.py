"""Docstrings of estimators: what a base says of a parameter, an attribute or a result is not said again."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

HEADING = re.compile(r"^(\S[^\n]*)\n-{3,}\n", re.MULTILINE)
HOME = __name__.partition(".")[0]


def document(kind: type) -> None:
    """Fill up the docstrings of a class and of its methods from those of its bases.

    What a docstring says stays. To it come the parameters of the signature, and the attributes or what is returned,
    that bases alone describe; the nearest one that does is asked.
    """
    bases = [base for base in kind.__mro__[1:] if base.__module__.partition(".")[0] == HOME]
    if not kind.__doc__:  # Python was told to leave docstrings out
        return
    kind.__doc__ = _filled(kind, bases, kind)
    for name, method in vars(kind).items():
        over = [vars(base)[name] for base in bases if isinstance(vars(base).get(name), FunctionType)]
        if over and isinstance(method, FunctionType) and not name.startswith("_"):
            method.__doc__ = _filled(method, over, method)


@cache
def sections(text: str | None) -> dict[str, str]:
    """The sections of a numpydoc text by their headings; what comes before the first has none."""
    pieces = HEADING.split(inspect.cleandoc(text or ""))
    return {"": pieces[0].strip()} | {head: body.strip() for head, body in zip(pieces[1::2], pieces[2::2], strict=True)}


@cache
def entries(section: str) -> dict[tuple[str, ...], str]:
    """What a section says of each name, or of several at once."""
    found = [one.rstrip() for one in re.split(r"^(?=\S)", section, flags=re.MULTILINE) if one]
    return {tuple(name.strip() for name in one.partition("\n")[0].partition(" : ")[0].split(",")): one for one in found}


def _filled(own: Any, bases: Iterable[Any], signed: Any) -> str:
    """A docstring with what those of the bases say beyond it."""
    found = sections(own.__doc__)
    inherited = [sections(base.__doc__) for base in bases]
    parameters, attributes = (
        [entries(one.get(title, "")) for one in (found, *inherited)] for title in ("Parameters", "Attributes")
    )
    wanted = [name for name in inspect.signature(signed).parameters if name != "self"]
    # those of the farthest base first
    shown = [names[0] for place in reversed(attributes) for names in place]
    told = {
        "": found[""] if own.__doc__ else inherited[0][""],
        "Parameters": "\n".join(dict.fromkeys([*_told(wanted, parameters), *parameters[0].values()])),
        "Attributes": "\n".join(dict.fromkeys(_told(shown, attributes))),
        "Returns": next((one["Returns"] for one in (found, *inherited) if "Returns" in one), ""),
    }
    told |= found | told
    shown = [f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in told.items() if text]
    return "\n\n".join(shown) + "\n" * (len(shown) > 1)


def _told(names: Iterable[str], places: list[dict[tuple[str, ...], str]]) -> Iterator[str]:
    """The entry of each name, from the first of these places that has one."""
    for name in names:
        yield from [text for place in places for named, text in place.items() if name in named][:1]
