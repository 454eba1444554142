"""Errors and warnings as facts: what is wrong, with which argument and where; and nobody reads it out of a sentence."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import KINDS, DegenerateDataWarning, InputError, Place, ReaderError

SOURCE = Path(pw.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
X = np.random.default_rng(0).random((12, 6))

# a sentence of ours that is taken to pieces: by its beginning, by what is in it, by a regular expression
SENTENCE = r"(?:\bstr\((?:error|failure|warning|one\.message)\)|\b(?:\w+\.)*(?:message|reason|stop_reason_?|sentence))"
TAKEN = r"(?:startswith|endswith|r?partition|r?split|removeprefix|removesuffix|replace|r?find|r?index)"
PARSING = re.compile(
    rf"{SENTENCE}(?:\[[^]]*\])?\.{TAKEN}\(|[\"'] (?:not )?in {SENTENCE}(?!\w)|\bre\.\w+\([^\n]*{SENTENCE}"
)


def test_no_module_reads_a_sentence_of_another() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if PARSING.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'if "Negative values" not in message:',
        'if model.stop_reason_.startswith("interrupted"):',
        'found = re.match(r"The (\\w+) parameter", message)',
        "value = re.search(PATTERN, str(error))",
        'text = str(error).removeprefix(f"{path}: ")',
        'if "NaN" in str(error):',
    ],
)
def test_what_would_be_found(line: str) -> None:
    assert PARSING.search(line)


def test_flags_of_the_program_are_known_to_the_program_alone() -> None:
    flag = re.compile(r"(?:^|[\s('])--[a-z][a-z-]+")
    found = []
    for path in FILES:
        if path.is_relative_to(SOURCE / "cli"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            words = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
            if words and flag.search(node.value):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value[:60]}")
    assert found == []


def raised() -> Iterator[tuple[str, ast.Call]]:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if name in ("InputError", "ReaderError", "DegenerateDataWarning", "fail"):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


def test_kinds_are_those_there_are() -> None:
    used = {"value", "damaged"}  # the defaults
    for place, call in raised():
        for word in call.keywords:
            if word.arg == "kind" and isinstance(word.value, ast.Constant):
                assert word.value.value in KINDS, place
                used.add(word.value.value)
    assert used == set(KINDS)


def test_a_parameter_in_a_sentence_is_given() -> None:
    """Whoever leaves room for the parameter or the place says what it is."""
    for where, call in raised():
        words = [node.value for given in call.args for node in ast.walk(given) if isinstance(node, ast.Constant)]
        text = "".join(word for word in words if isinstance(word, str))
        given = {word.arg for word in call.keywords}
        for slot in ("parameter", "place"):
            assert f"{{{slot}}}" not in text or slot in given or None in given, where


def test_the_message_has_the_words_of_whoever_tells_it() -> None:
    error = InputError("{parameter} is odd in {place}", parameter="X", kind="negative", place=Place(3, 5))
    assert str(error) == "X is odd in row 3, column 5"
    assert error.worded("the data", "row c (3)") == "the data is odd in row c (3)"
    assert repr(error) == "InputError('X is odd in row 3, column 5')"
    plain = InputError("braces {such as these} stay")
    assert (str(plain), plain.parameter, plain.kind, plain.place) == (
        "braces {such as these} stay",
        None,
        "value",
        Place(),
    )


@pytest.mark.parametrize("kind", [InputError, ReaderError, DegenerateDataWarning])
def test_facts_travel(kind: Any) -> None:
    error = kind("{parameter}: {place}", parameter="X", kind="empty", place=Place(line=2, file="a"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == "X: a, line 2"
    assert (again.parameter, again.kind, again.place) == ("X", "empty", Place(line=2, file="a"))
    assert again.worded("it", "there") == "it: there"


def with_entry(value: float) -> np.ndarray:
    rows = X.copy()
    rows[3, 5] = value
    return rows


@pytest.mark.parametrize(
    ("do", "facts"),
    [
        (lambda: pw.HALS(2).fit(with_entry(-1.0)), ("X", "negative", Place(3, 5))),
        (lambda: pw.HALS(2).fit(sp.csr_array(with_entry(np.nan))), ("X", "not-finite", Place(3, 5))),
        (lambda: pw.HALS(2).fit(pw.open_source(1e300 * X)), ("X", "out-of-range", Place())),
        (lambda: pw.SPA(9).fit(X), ("n_components", "too-many-components", Place())),
        (lambda: pw.HALS(2, init=-X[:2]).fit(X), ("init", "negative", Place(0, 0))),
        (lambda: pw.HALS(2, init=X[:3]).fit(X), ("init", "shape", Place())),
        (lambda: pw.SPA(2).fit(X).transform(pw.open_source(X[:, :4])), ("X", "features", Place())),
        (lambda: pw.SPA(2).set_preparation("log1p").fit(with_entry(-2.0)), ("X", "negative", Place(3, 5))),
        (lambda: pw.read("nowhere.csv"), (None, "missing-file", Place(file="nowhere.csv"))),
        (lambda: pw.HALS(2).fit("nowhere.npy"), ("X", "missing-file", Place(file="nowhere.npy"))),
    ],
)
def test_facts(do: Callable[[], Any], facts: tuple[str | None, str, Place]) -> None:
    with pytest.raises(InputError) as caught:
        do()
    assert (caught.value.parameter, caught.value.kind, caught.value.place) == facts


def test_facts_of_files(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for text, line, kind in (("a,b\n1,2\n1,x\n", 3, "damaged"), ("a,a\n1,2\n3,4\n", 1, "duplicate")):
        file.write_text(text)
        with pytest.raises(ReaderError) as caught:
            pw.read(file)
        assert (caught.value.kind, caught.value.place) == (kind, Place(line=line, file=str(file)))
    assert caught.value.parameter == "duplicates"


def test_facts_of_warnings() -> None:
    rows = X.copy()
    rows[4] = 0.0
    with pytest.warns(DegenerateDataWarning) as caught:
        pw.SPA(2).fit(rows)
    told = caught[0].message
    assert (told.parameter, told.kind) == ("X", "empty")
    assert str(told).startswith("X has 1 all-zero row(s): 4")
