"""Names of rows and columns: each once, and those that are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from partwise.door.guard import fail

DUPLICATES = ("error", "number")


def matching(names: Sequence[str], patterns: Iterable[str]) -> set[int]:
    """Where the names are that are asked for: those that are called just so, or else as a pattern with * says."""
    found: set[int] = set()
    for one in patterns:
        exact = {j for j, name in enumerate(names) if name == one}
        form = re.compile(".*".join(map(re.escape, one.split("*"))), re.DOTALL)
        found |= exact or {j for j, name in enumerate(names) if form.fullmatch(name)}
    return found


def matched(names: Sequence[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Those patterns that some of the names are asked for by."""
    return tuple(one for one in patterns if matching(names, [one]))


def unique_names(
    path: Path, names: Sequence[str], what: str, duplicates: str, line: Callable[[int], int | None]
) -> list[str]:
    """The names if each occurs once; else an error that says where, or numbers behind the later ones.

    Parameters
    ----------
    what : str
        What is named: "row" or "column".
    duplicates : {"error", "number"}
        What to do with a name that was there before; "number" makes "a", "a.2", "a.3".
    line : callable
        Line of the file in which name number i stands, or None.
    """
    if len(set(names)) == len(names):
        return list(names)
    if duplicates == "error":
        first: dict[str, int] = {}
        for i, name in enumerate(names):
            if name in first:
                raise fail(
                    path,
                    f"{what} {i + 1} has the name {name[:60]!r} of {what} {first[name] + 1}; "
                    "'number' for {parameter} tells them apart",
                    line(i),
                    kind="duplicate",
                    parameter="duplicates",
                )
            first[name] = i
    return _numbered(names)


def _numbered(names: Sequence[str]) -> list[str]:
    taken, seen, out = set(names), dict[str, int](), []
    for name in names:
        count = seen.get(name, 0) + 1
        new = name if count == 1 else f"{name}.{count}"
        while count > 1 and new in taken:
            count += 1
            new = f"{name}.{count}"
        seen[name] = count
        taken.add(new)
        out.append(new)
    return out
