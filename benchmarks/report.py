"""Tables for people and JSON for machines."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .harness import Row

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass
class Target:
    """A figure to reach: `value` at least (or at most) `goal`."""

    what: str
    value: float
    goal: float
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        """Whether it is reached; None where a side of the ratio is missing."""
        if self.value != self.value:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal

    def line(self) -> str:
        """One line: met, missed or not measured."""
        sign = "<=" if self.at_most else ">="
        verdict = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        return f"{verdict:>12}  {self.what}: {self.value:.3g} (asked {sign} {self.goal:g})"


def ratio(rows: dict[str, Row], slow: str, fast: str = "partwise") -> float:
    """How many times longer `slow` took than `fast`; nan where one is missing."""
    if slow not in rows or fast not in rows:
        return float("nan")
    return rows[slow].median / rows[fast].median


def show(title: str, columns: list[str], lines: Sequence[Sequence[object]]) -> None:
    """Print a table, with rich where it is installed."""
    lines = [[str(cell) for cell in line] for line in lines]
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
        print(f"\n{title}")
        for line in [columns, ["-" * width for width in widths], *lines]:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        return
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 or column == "note" else "right", overflow="fold")
    for line in lines:
        table.add_row(*line)
    console = Console()
    # a pipe has no width of its own, and a folded table cannot be read in a log
    Console(width=None if console.is_terminal else 150).print(table)


def machine() -> dict[str, Any]:
    """What the times were taken on."""
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    return {
        "platform": platform.platform(),
        "cpu": models[0].split(":")[1].strip() if models else platform.processor(),
        "cores": os.cpu_count(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and value != value else value  # JSON has no nan


def finish(name: str, parts: list[dict[str, Any]], targets: list[Target], options: Any) -> None:
    """Say which targets are met and write benchmarks/results/<name>.json, with the seed in its name if it is not 0."""
    if targets:
        print("\nTargets" + ("" if options.size == "full" else " (set for --size full, they mean little here)"))
    for target in targets:
        print(target.line())
    for part in parts:
        part["rows"] = [_plain(asdict(row) | {"median": row.median}) for row in part["rows"].values()]
    record = {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": {key: value for key, value in vars(options).items() if key != "case"},
        "parts": parts,
        "targets": [_plain(asdict(target) | {"met": target.met}) for target in targets],
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}{f'-seed{options.seed}' if options.seed else ''}.json"
    path.write_text(json.dumps(record, indent=1))
    print(f"\nwritten: {path}")
