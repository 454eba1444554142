"""One door for bytes from outside, and one page of what is promised behind it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "partwise"
# what trusts the bytes that it is given, or takes what they declare
FORBIDDEN = {"load", "loadz", "load_npz", "read_parquet", "scan_parquet", "memmap", "open_memmap", "fromfile"}
OWNERS = {"np", "numpy", "sp", "scipy", "sparse", "polars", "pl", "npy", "format"}
# files that this package itself wrote a moment ago, in a folder of its own
OURS = {
    "io/spool.py": {"memmap", "fromfile"},
    "sources/stream.py": {"memmap"},
    "io/writing.py": {"scan_parquet"},
    # bytes of the user's file, whose every length is checked by the reader itself
    "io/matlab.py": {"memmap"},
}


def opened(path: Path) -> list[tuple[int, str]]:
    """Calls in a file that open what is not trusted, with their lines."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in ("numpy", "scipy"):
            found += [(node.lineno, name.name) for name in node.names if name.name in FORBIDDEN]
        call = node.func if isinstance(node, ast.Call) else None
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
            owner, name = call.value.id, call.attr
            if (owner in OWNERS and name in FORBIDDEN) or (owner, name) == ("Image", "open"):
                found.append((call.lineno, name))
    return found


@pytest.mark.skipif(not SOURCE.is_dir(), reason="needs the source tree")
def test_nothing_else_opens_what_is_not_trusted():
    others = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("door/"):
            others += [f"{name}:{line} {what}" for line, what in opened(path) if what not in OURS.get(name, ())]
    assert others == []


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="needs the documentation")
def test_every_promise_has_its_test_and_every_test_its_promise():
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    named = re.findall(r"`(test_\w+\.py::test_\w+)`", page)
    there = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        there += [
            f"{path.name}::{node.name}"
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
    assert [row for row in rows if "`test_" not in row] == []
    assert sorted(named) == sorted(there)
