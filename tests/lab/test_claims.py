"""Verdicts, and the small table they are taken from."""

from __future__ import annotations

import math

import pytest

from partwise.lab import Claim, Experiment, Measurements, Reproduction, find_experiment, tsvdnmf, values
from partwise.lab.experiment import Verdict


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


def result(rows=(), curves=()) -> Reproduction:
    experiment = Experiment("e", "", "", "", lambda size: [], (), ())
    return Reproduction(experiment, Measurements(rows), Measurements(curves), {})


def test_values():
    rows = [{"method": "a", "n": n, "error": 3.0 / n**0.5} for n in (1, 4, 16)]
    assert values.exponent("n", "error", method="a")(result(rows)) == pytest.approx(-0.5)
    assert math.isnan(values.exponent("n", "error", method="b")(result(rows)))
    assert values.ratio("error", {"n": 1}, {"n": 4})(result(rows)) == pytest.approx(2.0)
    assert values.worst("error")(result(rows)) == 3.0
    curve = [{"case": "c", "method": "a", "seed": 0, "n_iter": i, "error": 0.5**i} for i in range(9)]
    assert values.straightness("c", "a", 2.0)(result(curves=curve)) == pytest.approx(1.0)
    assert math.isnan(values.straightness("c", "b", 2.0)(result(curves=curve)))


def test_nothing_is_divided_by_zero():
    assert values.quotient(1.0, 2.0) == 0.5
    assert math.isnan(values.quotient(1.0, 0.0))
    assert (values.told(0.25, ".1%"), values.told(math.nan, ".1%")) == ("25.0%", "not measured")


def judged(experiment: str, text: str, rows=(), curves=()) -> Verdict:
    """The verdict of the first claim that has these words."""
    claim = next(claim for claim in find_experiment(experiment).claims if text in claim.text)
    return claim.judge(result(rows, curves))


def way(method: str, errors: list[float]) -> list[dict]:
    """Errors of a start and of batches of ten thousand."""
    cell = {"case": "f = 50", "method": method, "seed": 0}
    return [cell | {"samples": 1e4 * i, "objective": error} for i, error in enumerate(errors)]


def test_errors_of_a_first_pass_are_not_those_of_the_start():
    # five batches for ten passes: the start is as near to one pass as the first batch, and 1 whatever w is
    curves = way("conservative-unit", [1.0, 0.2, 0.1, 0.1, 0.1, 0.1]) + way(
        "conservative", [1.0, 0.4, 0.1, 0.1, 0.1, 0.1]
    )
    assert judged("online-mnist", "f = 50: learning is faster", curves=curves).value == pytest.approx(0.5)
    assert judged("online-mnist", "f = 50: learning is faster", curves=curves[:6]).name == "not measured"


def test_what_was_not_run_is_not_measured():
    rows = [{"case": case, "method": "spa-features", "score": 0.5} for case in tsvdnmf.NAMES]
    assert judged("tsvdnmf-table2", "ahead of all separable methods", rows).name == "not measured"
    rows += [{"case": case, "method": "tsvdnmf", "score": 0.6} for case in tsvdnmf.NAMES]
    assert judged("tsvdnmf-table2", "ahead of all separable methods", rows).value == 11.0
    some = [{"case": "reuters10", "method": method, "nmi": 0.5} for method in ("tsvdnmf", "spa-features")]
    assert judged("tsvdnmf-table3", "above that of the best separable method", some).name == "not measured"


def test_preparation_decides_only_where_it_does():
    text = "newsgroups: % nearly pure records"  # 7.02 in the paper
    rows = [{"case": "newsgroups", "method": "pw-spa-features-refit", "pure": 1.0}]
    other = {"case": "newsgroups, counts", "method": "pw-spa-features-refit"}
    assert judged("tsvdnmf-table1", text, rows).why == ""
    assert "do not give it either: 2 (counts)." in judged("tsvdnmf-table1", text, [*rows, other | {"pure": 2.0}]).why
    assert "decides: 9 (counts)." in judged("tsvdnmf-table1", text, [*rows, other | {"pure": 9.0}]).why


def test_explanations_say_what_was_not_run():
    rows = [
        {"case": "uniform parts, adversarial", "method": f"purification-{name}", "l1": 0.1 * i}
        for i, name in enumerate(("pinv", "published"), 1)
    ]
    why = judged("purification-ablation", "uniform parts, adversarial noise: and so", rows).why
    assert "with it 0.200, with the pseudo-inverse 0.100" in why
    assert "true weights: not measured" in why
    rows = [
        {"length": "two", "method": "anchor-topics-published", "documents": n, "topic_l1": 1.0} for n in (100, 1000)
    ]
    verdict = judged("lecture-topics", "documents of two words: topics recovered", rows)
    assert verdict.name == "not reproduced"
    assert verdict.why.endswith("the error is not measured; as published it is 1.00, 1.00.")


def test_table():
    table = Measurements([{"a": 1, "b": 2.0}, {"a": 1, "b": math.inf}, {"a": 2, "c": "x"}])
    assert table.columns == ["a", "b", "c"]
    assert table.mean("b", a=1) == math.inf
    assert math.isnan(table.mean("b", a=2))
    assert math.isnan(table.worst("b", a=3))
    assert len(table.where(a=(1, 2))) == 3
    assert table.distinct("a") == [1, 2]
