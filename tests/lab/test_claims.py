"""Verdicts, and the small table they are taken from."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from partwise.lab import Claim, Experiment, Measurements, Reproduction, Verdict, find_experiment, tsvdnmf, values


def claim(value: float = 1.0, bound: float = 1.0, **more) -> Claim:
    return Claim("id", "", lambda result, method: value, bound, **({"ours": "ours"} | more))


def verdict(value: float, bound: float, better: str = "higher", **more) -> str:
    return claim(value, bound, better=better, **more).judge(None).ours.name


@pytest.mark.parametrize(
    ("ours", "better", "more", "expected"),
    [
        (1.0, "higher", {}, "reproduced"),
        (1.1, "higher", {"published": True}, "exceeded"),
        (0.9, "higher", {}, "not reproduced"),
        (0.9, "higher", {"tolerance": 0.1}, "reproduced"),
        (1.1, "higher", {"tolerance": 0.2, "published": True}, "reproduced"),
        (0.9, "lower", {"published": True}, "exceeded"),
        (1.1, "lower", {}, "not reproduced"),
        (1.1, "equal", {"tolerance": 0.2}, "reproduced"),
        (1.3, "equal", {"tolerance": 0.2}, "not reproduced"),
        (0.7, "equal", {"tolerance": 0.2}, "not reproduced"),
        (5.0, "higher", {}, "reproduced"),
        (9.0, "lower", {"log": True, "tolerance": 1.0}, "reproduced"),
        (11.0, "lower", {"log": True, "tolerance": 1.0}, "not reproduced"),
        (0.0, "lower", {"log": True, "published": True}, "exceeded"),
        (math.inf, "lower", {}, "not reproduced"),
        (math.nan, "lower", {}, "not measured"),
    ],
)
def test_rules(ours: float, better: str, more: dict, expected: str):
    assert verdict(ours, 1.0, better, **more) == expected


def test_what_is_printed():
    number = claim(0.75, 0.5, style=".3f", published=True, tolerance=0.1).judge(None).ours
    assert (number.claim.stated, number.shown, number.deviation) == ("0.500", "0.750", "+0.250 (± 0.1)")
    factor = claim(1e-3, 1e-2, better="lower", log=True, published=True).judge(None).ours
    assert factor.deviation == "x 0.1"
    words = claim(2.0).judge(None).ours
    assert (words.claim.stated, words.deviation) == ("≥ 1", "")
    assert claim(better="equal", tolerance=0.25).stated == "= 1 ± 0.25"
    assert claim(better="equal", tolerance=0.301, log=True).stated == "= 1, up to a factor of 2"
    unknown = claim(math.nan).judge(None).ours
    assert (unknown.shown, unknown.deviation) == ("–", "")


def test_both_sides_are_judged_each_with_its_method():
    one = Claim(
        "id",
        "",
        lambda result, method, place: {"a": 1.0, "b": 3.0}[method] + place,
        2.5,
        arguments={"place": 0.0},
        literal_arguments={"place": 1.0},
        literal="a",
        ours="b",
    ).judge(None)
    assert [(side, found.value, found.name) for side, found in one.sides.items()] == [
        ("literal", 2.0, "not reproduced"),
        ("ours", 3.0, "reproduced"),
    ]
    row = one.row("name")
    assert (row["literal"], row["literal_verdict"], row["ours_verdict"]) == ("a", "not reproduced", "reproduced")
    assert claim().judge(None).literal is None
    assert claim().judge(None).row("name")["literal_verdict"] == ""


def test_only_what_falls_short_is_explained():
    short, kept = (claim(v, why=lambda result, method, c: f"of {result}, {method}, {c.id}") for v in (0.5, 1.0))
    assert short.judge("this").ours.why == "of this, ours, id"
    assert short.judge("this").row("name")["explanation"] == "of this, ours, id"
    assert kept.judge("this").explanations == []


def test_tolerance_from_the_spread_of_the_mean():
    rows = [{"case": "c", "method": "a", "seed": i, "score": score} for i, score in enumerate((1.0, 2.0, 3.0, 4.0))]
    one = Claim(
        "id", "", values.mean, 3.9, arguments={"column": "score"}, ours="a", better="equal", published=True,
        tolerance="spread", runs=10,
    )  # fmt: skip
    found = one.judge(result(rows)).ours
    # the standard deviation of 1, 2, 3, 4 is sqrt(5/3); means of 4 and of 10 differ by its root of 1/4 + 1/10
    assert found.tolerance == pytest.approx(3.0 * math.sqrt(5.0 / 3.0 * 0.35))
    assert found.name == "reproduced"
    assert replace(one, bound=5.0).judge(result(rows)).ours.name == "not reproduced"
    assert one.judge(result(rows[:1])).ours.name == "not measured"


def result(rows=(), curves=()) -> Reproduction:
    experiment = Experiment("e", "", "", "", lambda size: [], (), ())
    return Reproduction(experiment, Measurements(rows), Measurements(curves), {})


def test_values():
    rows = [{"method": "a", "n": n, "error": 3.0 / n**0.5} for n in (1, 4, 16)]
    rows += [{"method": "c", "n": 1, "error": 6.0}]
    some = result(rows)
    assert values.exponent(some, "a", x="n", y="error") == pytest.approx(-0.5)
    assert math.isnan(values.exponent(some, "b", x="n", y="error"))
    assert math.isnan(
        values.exponent(result([*rows, {"method": "a", "n": 64, "error": math.inf}]), "a", x="n", y="error")
    )
    bent = result([*rows, {"method": "a", "n": 64, "error": 100.0}])
    assert values.exponent(bent, "a", x="n", y="error", most=16) == pytest.approx(-0.5)
    assert values.ratio(some, "a", column="error", of={"n": 1}, to={"n": 4}) == pytest.approx(2.0)
    assert values.ratio(some, "c", column="error", to={"method": "a"}, n=1) == pytest.approx(2.0)
    assert values.ratio(some, "c", column="error", how="worst", to={"method": "a"}) == pytest.approx(2.0)
    assert values.worst(some, "a", column="error") == 3.0
    assert values.least(some, "a", column="error") == 0.75
    assert math.isnan(values.least(some, "b", column="error"))
    assert values.spread(some, "a", column="error") == pytest.approx(4.0)
    cases = [
        {"case": case, "method": m, "error": e} for case, m, e in (("x", "a", 2.0), ("x", "b", 1.0), ("y", "a", 3.0))
    ]
    cases += [{"case": "y", "method": "b", "error": 0.5}]
    assert values.worst_ratio(result(cases), "a", column="error", than="b") == pytest.approx(6.0)
    curve = [{"case": "c", "method": "a", "seed": 0, "n_iter": i, "error": 0.5**i, "alpha": 3.0**i} for i in range(9)]
    curve[0]["alpha"] = math.nan
    assert values.straightness(result(curves=curve), "a", case="c", factor=2.0, of="alpha") == pytest.approx(1.0)
    assert values.straightness(result(curves=curve), "a", case="c", factor=2.0) == pytest.approx(1.0)
    assert math.isnan(values.straightness(result(curves=curve), "b", case="c", factor=2.0))


def test_an_error_that_does_not_fall_is_on_no_line() -> None:
    def straight(*errors: float) -> float:
        curve = [{"case": "c", "method": "a", "seed": 0, "n_iter": i, "error": error} for i, error in enumerate(errors)]
        return values.straightness(result(curves=curve), "a", case="c", factor=10.0)

    assert straight(1.0, 0.5, 0.4, 0.3) == 0.0
    assert math.isnan(straight(1.0, 1e-3, 1e-3, 1e-3))  # two points are always on one


def test_nothing_is_divided_by_zero():
    assert values.quotient(1.0, 2.0) == 0.5
    assert math.isnan(values.quotient(1.0, 0.0))
    assert (values.told(0.25, ".1%"), values.told(math.nan, ".1%")) == ("25.0%", "not measured")


def judged(experiment: str, claim: str, rows=(), curves=(), side: str = "literal") -> Verdict:
    """A verdict of a claim."""
    definition = find_experiment(experiment)
    one = next(one for one in definition.claims if one.id == claim)
    return one.judge(replace(result(rows, curves), experiment=definition)).sides[side]


def way(method: str, errors: list[float]) -> list[dict]:
    """Errors of a start and of batches of ten thousand."""
    cell = {"case": "f = 50", "method": method, "seed": 0}
    return [cell | {"samples": 1e4 * i, "objective": error} for i, error in enumerate(errors)]


def test_errors_of_a_first_pass_are_not_those_of_the_start():
    # five batches for ten passes: the start is as near to one pass as the first batch, and 1 whatever w is
    curves = way("conservative-unit", [1.0, 0.2, 0.1, 0.1, 0.1, 0.1]) + way(
        "conservative", [1.0, 0.4, 0.1, 0.1, 0.1, 0.1]
    )
    assert judged("online-mnist", "small-w-faster-50", curves=curves).value == pytest.approx(0.5)
    assert judged("online-mnist", "small-w-faster-50", curves=curves[:6]).name == "not measured"


def test_what_was_not_run_is_not_measured():
    rows = [{"case": case, "method": "spa-features", "score": 0.5} for case in tsvdnmf.NAMES]
    assert judged("tsvdnmf-table2", "ahead-everywhere", rows, side="ours").name == "not measured"
    rows += [{"case": case, "method": "tsvdnmf", "score": 0.6} for case in tsvdnmf.NAMES]
    assert judged("tsvdnmf-table2", "ahead-everywhere", rows, side="ours").value == 11.0
    assert judged("tsvdnmf-table2", "ahead-everywhere", rows).name == "not measured"
    some = [{"case": "reuters10", "method": method, "nmi": 0.5} for method in ("tsvdnmf", "spa-features")]
    assert judged("tsvdnmf-table3", "ahead-on-texts", some, side="ours").name == "not measured"


def test_preparation_decides_only_where_it_does():
    def why(rows: list[dict]) -> str:
        return judged("tsvdnmf-table1", "pure-newsgroups", rows, side="ours").why  # 7.02 in the paper

    rows = [{"case": "newsgroups", "method": "pw-spa-features-refit", "pure": 1.0}]
    other = {"case": "newsgroups, counts", "method": "pw-spa-features-refit"}
    assert why(rows) == ""
    assert "do not give it either: 2 (counts)." in why([*rows, other | {"pure": 2.0}])
    assert "decides: 9 (counts)." in why([*rows, other | {"pure": 9.0}])


def test_explanations_say_what_was_not_run():
    rows = [
        {"case": "uniform parts, adversarial", "method": f"purification-{name}", "l1": 0.1 * i}
        for i, name in enumerate(("pinv", "published"), 1)
    ]
    why = judged("purification-ablation", "pinv-errs-uniform", rows).why
    assert "with it 0.200, with the pseudo-inverse 0.100" in why
    assert "true weights: not measured" in why
    rows = [{"case": "f = 200", "method": "conservative-averaged", "running": 0.02}]
    assert "w = 1e-5 not measured; " in judged("online-mnist", "error-200", rows, side="ours").why
    rows = [
        {"length": "two", "method": "anchor-topics-published", "documents": n, "topic_l1": 1.0} for n in (100, 1000)
    ]
    verdict = judged("lecture-topics", "recovered-two", rows)
    assert verdict.name == "not reproduced"
    assert verdict.why.endswith("the error is not measured; as published it is 1.00, 1.00.")


def test_published_numbers_are_those_of_the_claims():
    table = find_experiment("tsvdnmf-table2").published("score")
    assert table["tsvdnmf"] == table["tsvdnmf-literal"]
    assert list(table["spa-features"].values())[:3] == [0.764, 0.566, 0.246]
    assert {method: len(numbers) for method, numbers in table.items()} == dict.fromkeys(
        (
            "tsvdnmf",
            "tsvdnmf-literal",
            "tsvdnmf-program",
            "gillis-lp",
            "pw-spa-features",
            "spa-features",
            "er-spa-features",
        ),
        12,
    )


def test_table():
    table = Measurements([{"a": 1, "b": 2.0}, {"a": 1, "b": math.inf}, {"a": 2, "c": "x"}])
    assert table.columns == ["a", "b", "c"]
    assert table.mean("b", a=1) == math.inf
    assert math.isnan(table.mean("b", a=2))
    assert math.isnan(table.worst("b", a=3))
    assert len(table.where(a=(1, 2))) == 3
    assert table.distinct("a") == [1, 2]
