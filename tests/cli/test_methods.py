"""The program ``partwise methods``, and the table and the options behind it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from partwise import estimators
from partwise.estimators.catalog import METHODS, find_method
from partwise.estimators.options import ELSEWHERE, build, options, parse_value
from partwise.exceptions import InputError

Program = Callable[..., tuple[str, str]]


def test_every_estimator_has_a_name() -> None:
    assert sorted(method.estimator for method in METHODS.values()) == sorted(estimators.__all__)
    names = [name for method in METHODS.values() for name in (method.name, *method.aliases)]
    assert len(set(names)) == len(names)
    for name in estimators.__all__:
        assert find_method(name).estimator == name


@pytest.mark.parametrize("name", METHODS)
def test_summaries_are_read_without_importing(name: str) -> None:
    method = METHODS[name]
    assert method.summary == (inspect.getdoc(method.kind) or "").partition("\n")[0]
    assert method.summary


def test_every_estimator_has_a_home() -> None:
    assert sorted(estimators.HOMES) == sorted(estimators.__all__)
    assert set(estimators.__all__) <= set(dir(estimators))
    with pytest.raises(AttributeError, match="no attribute 'NMF'"):
        _ = estimators.NMF


def test_the_list_needs_no_numerical_library() -> None:
    """Half a second, not three: neither scikit-learn nor numba is imported."""
    code = (
        "import sys; from partwise.cli.app import run; run(['methods']); print({'sklearn', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("name", METHODS)
def test_every_option_is_documented(name: str) -> None:
    method = METHODS[name]
    found = options(method)
    signature = inspect.signature(method.kind.__init__).parameters
    assert set(found) | set(ELSEWHERE) >= set(signature) - {"self"}
    for one in found.values():
        assert one.text.endswith(".")
        assert one.allowed
        assert "default" not in one.allowed
        assert "`" not in one.text
    model = build(method, 3, {one.name: one.default for one in found.values()}, seed=0)
    assert model.get_params(deep=False).get("random_state", 0) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("7", 7),
        ("True", True),
        ("false", False),
        ("None", None),
        ("[1, 5000]", [1, 5000]),
        ("(0.5, 2)", [0.5, 2]),
        ("kullback-leibler", "kullback-leibler"),
        ('"12"', "12"),
        ("__import__('os')", "__import__('os')"),
        ("", ""),
    ],
)
def test_values(text: str, value: object) -> None:
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("hals", {"tol": -1}, r"option tol of hals must be a float in the range \[0.0, inf\). It is -1."),
        (
            "hals",
            {"init": "pur"},
            "must be one of 'auto', 'nndsvd', 'nndsvda', 'nndsvdar', 'pure', 'random', a list .* or a fitted",
        ),
        ("facets", {"nonnegative": 3}, "option nonnegative of facets must be .* It is 3."),
        ("spa", {"max_iter": 3}, "spa has no option 'max_iter'; its options are axis, normalize, tol"),
        ("spa", {"missing": "nan"}, "its options are axis, normalize, tol; parts takes data with unknown entries"),
        ("parts", {"missing": "nul"}, r"must be one of 'nan', 'zeros' or None. It is 'nul'.$"),
        ("topics", {"feature_names": []}, "feature_names is not given as an option"),
        ("hals", {"callbacks": []}, "callbacks is not given as an option"),
    ],
    ids=str,
)
def test_wrong_options_are_named(method: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(METHODS[method], 3, given)


def test_list(program: Program) -> None:
    out = program("methods")[0]
    told = json.loads(program("methods", "--json")[0])
    assert list(told) == list(METHODS)
    for name, one in told.items():
        assert f"\n{name} " in f"\n{out}"
        assert all(one[line] for line in ("summary", "assumes", "guarantees", "costs"))
    assert out.count("assumes") == len(METHODS)


def test_one(program: Program) -> None:
    out = " ".join(program("methods", "gillis-lp")[0].split())
    assert out.startswith("separable-lp (SeparableLP): Anchors by one linear program")
    assert "time_limit none float Seconds for the program." in out
    told = json.loads(program("methods", "hals", "--json")[0])
    assert told["options"]["max_iter"]["default"] == 1000
    assert "did you mean hals?" in program("methods", "halls", code=2)[1]
