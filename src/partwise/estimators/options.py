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

from sklearn.utils._param_validation import StrOptions, make_constraint

from partwise.estimators.catalog import Method
from partwise.estimators.documenting import entries, sections
from partwise.exceptions import InputError

ELSEWHERE = ("n_components", "random_state", "feature_names", "callbacks")  # parameters that are no options
LARGEST = 2**63 - 1
WORDS = {"true": True, "false": False, "none": None, "null": None}
SAID = {"_Booleans": "true or false", "_ArrayLikes": "a list such as [1, 0.5]", "HasMethods": "a fitted estimator"}


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
            raise InputError("{parameter} is not given as an option", parameter=name, kind="elsewhere")
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.7)
            hint = f"did you mean {near[0]}? " if near else ""
            if method.estimator == "Parts":
                hint = "it decides by itself, so name a method to set options of that; "
            raise InputError(
                f"{method.name} has no option {name!r}; {hint}its options are {', '.join(known)}"
                + "; parts takes data with unknown entries" * (name == "missing"),
                parameter=name,
                kind="option",
            )
        _check_kind(method, name, given[name])
    model = method.kind(n_components, **given)
    if seed is not None and "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    for name, value in model.get_params(deep=False).items():
        _check_value(method, name, value)
    return model


def _check_kind(method: Method, name: str, value: Any) -> None:
    """What scikit-learn takes for a number, and the methods do not."""
    if isinstance(value, bool) and "boolean" not in method.kind._parameter_constraints[name]:
        raise InputError(
            f"option {{parameter}} of {method.name} must not be true or false", parameter=name, kind="option"
        )
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InputError(
            f"option {{parameter}} of {method.name} is too large: at most {LARGEST}", parameter=name, kind="option"
        )


def _check_value(method: Method, name: str, value: Any) -> None:
    """What scikit-learn's validation does in `fit`, parameter by parameter, in words of our own."""
    allowed = [make_constraint(one) for one in method.kind._parameter_constraints[name]]
    if any(one.is_satisfied_by(value) for one in allowed):
        return
    words = list(dict.fromkeys(_worded(one) for one in allowed if not one.hidden))
    either = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    told = f"option {{parameter}} of {method.name} must be {either}. It is {value!r}."
    raise InputError(told, parameter=name, kind="option")


def _worded(allowed: Any) -> str:
    """What a constraint asks for."""
    if isinstance(allowed, StrOptions):
        return f"one of {', '.join(map(repr, sorted(allowed.options)))}"
    return SAID.get(type(allowed).__name__, str(allowed))


def _documented(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names with type and description, from the section "Parameters" of a numpydoc text."""
    for names, entry in entries(sections(text).get("Parameters", "")).items():
        head, _, told = entry.partition("\n")
        for name in names:
            yield name, (_without_default(head.partition(" : ")[2]), _plain(" ".join(told.split())))


def _without_default(allowed: str) -> str:
    return re.sub(r",? ?(optional|default=.*)$", "", allowed).strip()


def _plain(text: str) -> str:
    """Without the marks of reStructuredText."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text.strip())
    return re.sub(r"\s*\[\d+\]_", "", text.replace("``", "").replace("`", ""))
