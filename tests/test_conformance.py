"""The page of the documents line by line: what it names exists, its numbers are those of its tables, and no verdict is
better than what the lab keeps."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import partwise
from partwise.lab import experiments
from partwise.lab.claim import FAILED, UNKNOWN
from partwise.lab.kept import load_kept

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
KINDS = ("done", "done, not reproduced", "partial", "impossible")
NAME = re.compile(r"([\w.]+)(?:\((.*)\))?")


class Line(NamedTuple):
    number: int
    document: str
    names: list[str]
    kind: str
    held_by: list[str]
    links: dict[str, str]


def kind_of(verdict: str) -> str:
    """The first words, before what explains them."""
    return re.split(r": | \(", verdict)[0]


def table(text: str) -> list[list[str]]:
    """The cells of all rows of tables, headers left out."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] not in ("#", "document")]


def lines() -> list[Line]:
    found = []
    for section in PAGE.split("\n## ")[1:]:
        for number, _, names, verdict, held_by in table(section):
            ticked = (re.findall(r"`([^`]+)`", cell) for cell in (names, held_by))
            links = dict(re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", held_by))
            document = section.partition("\n")[0]
            found.append(Line(int(number), document, next(ticked), kind_of(verdict), next(ticked), links))
    return found


LINES = lines()


@cache
def claims() -> dict[str, bool]:
    """All claims, and whether it is the published thing that is judged."""
    return {f"{name}:{claim.id}": bool(claim.literal) for name, one in experiments().items() for claim in one.claims}


@cache
def kept(side: str = "literal") -> dict[str, str]:
    """The verdicts that the documentation keeps: on the published things, or on ours."""
    found = ((one.experiment.name, row) for one in load_kept(ROOT / "docs") for _, row in one.lines())
    return {f"{name}:{row['id']}": row[f"{side}_verdict"] for name, row in found}


def measured(names: list[str]) -> list[str]:
    """Verdicts on the published things among these claims, on ours if none is about one; only those that there are."""
    published = [name for name in names if claims()[name]]
    found = [kept("literal" if published else "ours").get(name, "") for name in published or names]
    return [verdict for verdict in found if verdict not in ("", UNKNOWN)]


def matching(pattern: str) -> list[str]:
    return [name for name in claims() if fnmatchcase(name, pattern)]


def is_test(name: str) -> bool:
    return name.startswith("tests/")


@cache
def tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def has_test(name: str) -> bool:
    """Whether the file has this function, or class of tests."""
    path, *places = name.split("::")
    node: ast.AST = tree(path)
    for place in places:
        body: list[ast.stmt] = getattr(node, "body", [])
        inside = [one for one in body if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == place]
        if not inside:
            return False
        node = inside[0]
    return bool(places) and places[-1].lower().startswith("test")


def test_every_line_is_there() -> None:
    assert [line.number for line in LINES] == list(range(1, 122))
    assert {line.kind for line in LINES} <= set(KINDS)
    assert all(line.names and line.held_by for line in LINES)


def test_numbers_are_those_of_the_tables() -> None:
    head = PAGE.split("\n## ")[0]
    counts = Counter(line.kind for line in LINES)
    said = re.search(r"Of (\d+) lines (\d+) are done, (\d+) done but not .*, (\d+) partial, (\d+) impossible", head)
    assert said is not None
    assert [int(number) for number in said.groups()] == [len(LINES), *(counts[kind] for kind in KINDS)]
    rows = {re.sub(r"\[|\].*", "", name): [int(number) for number in numbers] for name, *numbers in table(head)}
    by_document = Counter((line.document, line.kind) for line in LINES)
    expected = {line.document: [by_document[line.document, kind] for kind in KINDS] for line in LINES}
    assert rows == expected | {"all": [counts[kind] for kind in KINDS]}


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.number))
def test_what_holds_a_line_exists(line: Line) -> None:
    for name in line.held_by:
        assert has_test(name) if is_test(name) else matching(name), name


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.number))
def test_what_holds_a_line_is_a_link_to_it(line: Line) -> None:
    """To the file of the test, or to the kept verdicts: both are there where the repository is read."""
    for name in line.held_by:
        path = f"../{name.split('::')[0]}" if is_test(name) else f"lab/{name.split(':')[0]}/claims.csv"
        assert line.links.get(name) == path
        assert (ROOT / "docs" / path).exists()


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.number))
def test_names_of_the_package_exist(line: Line) -> None:
    for name in line.names:
        if name.endswith(".py"):
            assert (ROOT / "src" / "partwise" / name).exists(), name
            continue
        match = NAME.fullmatch(name)
        assert match is not None, name
        found: Any = partwise
        for part in match[1].split("."):
            found = getattr(found, part)
        arguments = re.findall(r"(\w+)=", match[2] or "")
        assert set(arguments) <= set(inspect.signature(found).parameters if arguments else ()), name


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.number))
def test_what_is_called_done_was_measured(line: Line) -> None:
    names = [name for held in line.held_by for name in matching(held)]
    assert not (names and line.kind.startswith("done")) or measured(names), "call it partial"


@pytest.mark.parametrize(("verdict", "found"), [("", []), (UNKNOWN, []), (FAILED, [FAILED])])
def test_claims_that_nobody_measured_hold_nothing(
    monkeypatch: pytest.MonkeyPatch, verdict: str, found: list[str]
) -> None:
    published, ours = "and-figure1:converges-DIR", "and-real-topics:coherent"
    monkeypatch.setitem(globals(), "kept", lambda side: {published if side == "literal" else ours: verdict})
    assert measured([published, ours]) == measured([published]) == measured([ours]) == found


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.number))
def test_no_verdict_is_better_than_the_labs(line: Line) -> None:
    """Nor worse: what is called not reproduced has a claim that fails, or one that is not measured yet."""
    judged = {name: kept().get(name, "") for held in line.held_by for name in matching(held) if claims()[name]}
    if line.kind == "done":
        assert [name for name, verdict in judged.items() if verdict == FAILED] == []
    if line.kind == "done, not reproduced" and judged:
        assert FAILED in judged.values() or {"", UNKNOWN} & set(judged.values())


def test_what_is_misspelt_is_found() -> None:
    assert not has_test("tests/test_conformance.py::test_nothing")
    assert not has_test("tests/test_conformance.py::Line::number")
    assert not has_test("tests/test_conformance.py")
    assert has_test("tests/test_conformance.py::test_every_line_is_there")
    assert not matching("and-figure1:converges")
    assert len(matching("and-figure1:converges-*")) == 3
