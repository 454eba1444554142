"""Verdicts, and the small table they are taken from."""

from __future__ import annotations

import math

import pytest

from partwise.lab import Claim, Experiment, Result, Table, values


def verdict(ours: float, published: float, better: str = "higher", **more) -> str:
    return Claim("", lambda result: ours, published, better, **more).judge(None).name


@pytest.mark.parametrize(
    ("ours", "better", "more", "expected"),
    [
        (1.0, "higher", {}, "reproduced"),
        (1.1, "higher", {}, "exceeded"),
        (0.9, "higher", {}, "not reproduced"),
        (0.9, "higher", {"tolerance": 0.1}, "reproduced"),
        (1.1, "higher", {"tolerance": 0.2}, "reproduced"),
        (0.9, "lower", {}, "exceeded"),
        (1.1, "lower", {}, "not reproduced"),
        (1.1, "equal", {"tolerance": 0.2}, "reproduced"),
        (1.3, "equal", {"tolerance": 0.2}, "not reproduced"),
        (0.7, "equal", {"tolerance": 0.2}, "not reproduced"),
        (5.0, "higher", {"says": "more"}, "reproduced"),
        (9.0, "lower", {"log": True, "tolerance": 1.0}, "reproduced"),
        (11.0, "lower", {"log": True, "tolerance": 1.0}, "not reproduced"),
        (0.0, "lower", {"log": True}, "exceeded"),
        (math.inf, "lower", {}, "not reproduced"),
        (math.nan, "lower", {}, "not measured"),
    ],
)
def test_rules(ours: float, better: str, more: dict, expected: str):
    assert verdict(ours, 1.0, better, **more) == expected


def test_what_is_printed():
    number = Claim("", lambda result: 0.75, 0.5, style=".3f").judge(None)
    assert (number.claim.stated, number.shown, number.deviation) == ("0.500", "0.750", "+0.250")
    factor = Claim("", lambda result: 1e-3, 1e-2, "lower", log=True).judge(None)
    assert factor.deviation == "x 0.1"
    words = Claim("", lambda result: 2.0, 1.0, says="more").judge(None)
    assert (words.claim.stated, words.deviation) == ("more", "asked: ≥ 1")
    unknown = Claim("", lambda result: math.nan, 1.0).judge(None)
    assert (unknown.shown, unknown.deviation) == ("–", "")
    assert number.row("name")["verdict"] == "exceeded"


def test_only_what_falls_short_is_explained():
    short, kept = (Claim("", lambda result, v=v: v, 1.0, why=lambda result: f"of {result}") for v in (0.5, 1.0))
    assert short.judge("this").why == "of this"
    assert short.judge("this").row("name")["explanation"] == "of this"
    assert kept.judge("this").why == ""
    assert Claim("", lambda result: 0.5, 1.0, why="as it is").judge(None).why == "as it is"


def result(rows=(), curves=()) -> Result:
    experiment = Experiment("e", "", "", "", lambda size: [], (), ())
    return Result(experiment, Table(rows), Table(curves), {})


def test_values():
    rows = [{"method": "a", "n": n, "error": 3.0 / n**0.5} for n in (1, 4, 16)]
    assert values.exponent("n", "error", method="a")(result(rows)) == pytest.approx(-0.5)
    assert math.isnan(values.exponent("n", "error", method="b")(result(rows)))
    assert values.ratio("error", {"n": 1}, {"n": 4})(result(rows)) == pytest.approx(2.0)
    assert values.worst("error")(result(rows)) == 3.0
    curve = [{"case": "c", "method": "a", "seed": 0, "n_iter": i, "error": 0.5**i} for i in range(9)]
    assert values.straightness("c", "a", 2.0)(result(curves=curve)) == pytest.approx(1.0)
    assert math.isnan(values.straightness("c", "b", 2.0)(result(curves=curve)))


def test_table():
    table = Table([{"a": 1, "b": 2.0}, {"a": 1, "b": math.inf}, {"a": 2, "c": "x"}])
    assert table.columns == ["a", "b", "c"]
    assert table.mean("b", a=1) == math.inf
    assert math.isnan(table.mean("b", a=2))
    assert math.isnan(table.worst("b", a=3))
    assert len(table.where(a=(1, 2))) == 3
    assert table.distinct("a") == [1, 2]
