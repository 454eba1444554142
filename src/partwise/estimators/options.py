"""The options of a method as words: what there are, from its signature and documentation, and values given as text."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from partwise.estimators.catalog import Method
from partwise.exceptions import InputError

# given in other ways: -k, --seed; and not at all
ELSEWHERE = {"n_components": "-k", "random_state": "--seed", "feature_names": "--feature-names", "callbacks": None}
LARGEST = 2**63 - 1
WORDS = {"true": True, "false": False, "none": None, "null": None}
ENTRY = re.compile(r"(\w[\w, ]*) : (.+)")


@dataclass(frozen=True)
class Option:
    """A parameter of an estimator, as its documentation has it.

    Attributes
    ----------
    name : str
        Its name.
    default : object
        Its value if it is not given.
    allowed : str
        What it may be.
    text : str
        What it does.
    """

    name: str
    default: Any
    allowed: str
    text: str


def options(method: Method) -> dict[str, Option]:
    """All options of a method, in the order of its signature."""
    documented = dict(_documented(inspect.getdoc(method.kind) or ""))
    found = {}
    for name, parameter in inspect.signature(method.kind.__init__).parameters.items():
        if name == "self" or name in ELSEWHERE:
            continue
        allowed, text = documented.get(name, ("", ""))
        found[name] = Option(name, parameter.default, allowed, text)
    return found


def parse_value(text: str) -> Any:
    """A value from text: true, false, none, numbers, lists, and else the text itself.

    Examples
    --------
    >>> [parse_value(text) for text in ("1e-3", "none", "[1, 5000]", "(1, 2)", "pure", "'7'")]
    [0.001, None, [1, 5000], [1, 2], 'pure', '7']
    """
    word = text.strip()
    if word.lower() in WORDS:
        return WORDS[word.lower()]
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(word)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return list(value) if isinstance(value, (tuple, set)) else value
    return word


def build(method: Method, n_components: int | None, given: Mapping[str, Any], seed: int | None = None) -> Any:
    """The estimator with these options, each of them checked.

    Parameters
    ----------
    method : Method
        The method.
    n_components : int or None
        Number of components.
    given : mapping
        Options by name.
    seed : int, optional
        For methods that draw.

    Returns
    -------
    estimator
        Not fitted.
    """
    known = options(method)
    for name in given:
        if name in ELSEWHERE:
            instead = ELSEWHERE[name]
            raise InputError(f"{name}: give it as {instead}" if instead else f"{name} is for Python programs only")
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.7)
            hint = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"{method.name} has no option {name!r}; {hint}its options are {', '.join(known)}")
        _check_kind(method, name, given[name])
    model = method.kind(n_components, **given)
    if seed is not None and "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    try:
        model._validate_params()
    except ValueError as error:
        raise InputError(_told(method, str(error))) from error
    return model


def _check_kind(method: Method, name: str, value: Any) -> None:
    """What scikit-learn takes for a number, and the methods do not."""
    if isinstance(value, bool) and "boolean" not in method.kind._parameter_constraints[name]:
        raise InputError(f"option {name} of {method.name} must not be true or false")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InputError(f"option {name} of {method.name} is too large: at most {LARGEST}")


def _told(method: Method, message: str) -> str:
    """scikit-learn's message about a parameter, with the names of the program."""
    found = re.match(r"The '(\w+)' parameter of \w+ (must .*)", message, re.DOTALL)
    if not found:
        return message
    name, rest = found.groups()
    named = ELSEWHERE.get(name) or f"option {name} of {method.name}"
    rest = re.sub(r"\{(.*?)\}", lambda words: ", ".join(sorted(words[1].split(", "))), rest)
    for theirs, ours in (
        ("an array-like or an object implementing 'fit'", "a file of components"),
        ("an array-like", "a list such as [1, 0.5]"),
        ("an instance of 'bool' or an instance of 'numpy.bool_'", "true or false"),
        ("a str among", "one of"),
        (" Got ", " It is "),
        (" instead.", "."),
    ):
        rest = rest.replace(theirs, ours)
    return f"{named} {rest}"


def _documented(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names with type and description, from the section "Parameters" of a numpydoc text."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    entry, lines = None, list[str]()
    for line in [*(section[1] if section else "").splitlines(), "end : of it"]:
        head = ENTRY.fullmatch(line)
        if not head:
            lines.append(line.strip())
            continue
        if entry:
            for name in entry[1].split(","):
                yield name.strip(), (_without_default(entry[2]), _plain(" ".join(lines)))
        entry, lines = head, []


def _without_default(allowed: str) -> str:
    return re.sub(r",? ?(optional|default=.*)$", "", allowed).strip()


def _plain(text: str) -> str:
    """Without the marks of reStructuredText."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text.strip())
    return re.sub(r"\s*\[\d+\]_", "", text.replace("``", "").replace("`", ""))
