"""measure_noise: is the right kind of noise named in 600 tables of known kind, a third of families never tuned on."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from typing import Any

from .harness import Arrays, Contender, Outcome, Row
from .noise_tables import KINDS, SETS, make
from .report import Target, finish, show

NAMED = (*KINDS, "unclear")


def run(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Name the kind of a table."""
    import partwise as pw

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = pw.measure_noise(data["X"], **params)
    return time.perf_counter() - begin, {}, noise.facts()


CONTENDERS = {"partwise": Contender(run, {"partwise": "partwise"}, note="measure_noise, defaults")}


def named(which: str, first: int, count: int) -> tuple[Counter[tuple[str, str]], list[str], float]:
    """How often each kind was given each name, the tables that were named wrongly, and the mean time.

    In one process, one table after the other: there is nobody to race against, and tables are many.
    """
    found: Counter[tuple[str, str]] = Counter()
    wrong, total = [], 0.0
    for number in range(first, first + count):
        table = make(which, number)
        seconds, _, facts = run({"X": table.X}, {})
        total += seconds
        found[table.kind, facts["kind"]] += 1
        if facts["kind"] != table.kind:
            text = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in facts.items())
            wrong.append(f"{which} {number}: {table.kind} ({table.made_of}): {text}")
    return found, wrong, total / count


def main(options: Any) -> None:
    """Run the case."""
    count = options.seeds or (200 if options.size == "full" else 18)
    targets, problems = [], []
    for which in SETS:
        found, wrong, seconds = named(which, options.seed * count, count)
        lines = [[kind, *(str(found[kind, name] or ".") for name in NAMED)] for kind in KINDS]
        show(f"{count} tables of families {which} in tuning; {seconds:.2f} s each", ["kind \\ named", *NAMED], lines)
        print(*wrong, sep="\n")
        right = sum(found[kind, kind] for kind in KINDS) / count
        unclear = sum(found[kind, "unclear"] for kind in KINDS) / count
        targets += [
            Target(f"{which}: share named rightly", right, 0.95, at_most=False),
            Target(f"{which}: share named wrongly", 1.0 - right - unclear, 0.05, at_most=True),
        ]
        row = Row("partwise", seconds=[seconds], facts={"right": right, "unclear": unclear})
        problems.append({"data": which, "rows": {"partwise": row}})
    finish("noise-kinds", problems, targets, options)
