"""The register of claims: what a file may say, and every way of getting it wrong, by name."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from partwise.exceptions import InputError
from partwise.lab import experiments, load_claims
from partwise.lab.register import FOLDER, load_changes

GOOD = """[[claim]]
id = "a"
text = "a text"
sentence = "their words"
statistic = "mean"
with = {column = "error"}
literal = "and-published"
ours = "facets"
better = "lower"
bound = 1
set_by = "partwise"
set_on = 2026-11-17
"""


def load(tmp_path: Path, text: str):
    path = tmp_path / "some.toml"
    path.write_text(text)
    return load_claims(path, {"mine": lambda result, method: 1.0}, {"because": lambda result, method, claim: "so"})


def test_a_claim(tmp_path: Path):
    change = 'changed = [{on = 2026-11-18, was = "1", now = "2", why = "so"}]\nwhy = "because"\n'
    (claim,) = load(tmp_path, GOOD + change)
    assert (claim.id, claim.bound, claim.published, claim.set_on) == ("a", 1.0, False, date(2026, 11, 17))
    assert claim.arguments == {"column": "error"}
    assert (claim.changed[0].was, claim.changed[0].on) == ("1", date(2026, 11, 18))
    assert claim.why is not None
    (claim,) = load(tmp_path, GOOD.replace("bound = 1", 'published = 2\ntolerance = "spread"\nruns = 10'))
    assert (claim.bound, claim.published, claim.tolerance, claim.runs) == (2.0, True, "spread", 10)


def test_what_was_changed_besides(tmp_path: Path):
    path = tmp_path / "some.toml"
    path.write_text('[[changed]]\non = 2026-11-18\nwas = "a claim"\nnow = "none"\nwhy = "it failed"\n\n' + GOOD)
    (change,) = load_changes(path)
    assert str(change) == "2026-11-18: was a claim; is none. It failed."
    assert [claim.id for claim in load_claims(path, {}, {})] == ["a"]
    path.write_text('[[changed]]\nwas = "a claim"\n')
    with pytest.raises(InputError, match=r"some\.toml: changed: on, now, why is missing"):
        load_changes(path)


def test_each_makes_several(tmp_path: Path):
    named = GOOD.replace('id = "a"', 'id = "{kind}-{n}"').replace('"error"}', '"error", n = "{n}", kind = "on {kind}"}')
    found = load(tmp_path, named + 'each = {kind = ["x", "y"], n = [1, 2]}\n')
    assert [claim.id for claim in found] == ["x-1", "x-2", "y-1", "y-2"]
    assert found[1].arguments == {"column": "error", "n": 2, "kind": "on x"}  # a name alone keeps its type
    found = load(tmp_path, named + 'each = [{kind = "x", n = 1, bound = 5}, {kind = "y", n = 2, ours = "hals"}]\n')
    assert [(claim.bound, claim.ours) for claim in found] == [(5.0, "facets"), (1.0, "hals")]


def test_a_row_of_a_printed_table(tmp_path: Path):
    columns = '[columns]\nplace = ["x", "y"]\nn = [10, 20]\n\n'
    named = GOOD.replace('id = "a"', 'id = "{name}-{place}"').replace('"error"}', '"error", n = "{n}"}')
    rows = 'each = [{name = "p", published = [1, 2]}, {name = "q", published = [3, 4], ours = "hals"}]\n'
    found = load(tmp_path, columns + named.replace("bound = 1\n", "") + rows)
    assert [(claim.id, claim.bound) for claim in found] == [("p-x", 1), ("p-y", 2), ("q-x", 3), ("q-y", 4)]
    assert [claim.arguments["n"] for claim in found] == [10, 20, 10, 20]
    assert [claim.ours for claim in found] == ["facets", "facets", "hals", "hals"]
    assert all(claim.published for claim in found)


def test_what_is_common_holds_unless_a_claim_says_otherwise(tmp_path: Path):
    common = '[common]\nset_by = "document"\nset_on = 2026-11-01\nstyle = ".1f"\n\n'
    (claim,) = load(tmp_path, common + GOOD.replace('set_by = "partwise"\n', ""))
    assert (claim.set_by, claim.set_on, claim.style) == ("document", date(2026, 11, 17), ".1f")
    with pytest.raises(InputError, match="unknown key colour"):
        load(tmp_path, '[common]\ncolour = "red"\n\n' + GOOD)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('where = "x"', "", ""),
        ('text = "a text"', 'txt = "a text"', "some.toml, a: unknown key txt"),
        ('sentence = "their words"', "", "some.toml, a: sentence is missing"),
        ('sentence = "their words"', 'sentence = ""', "some.toml, a: sentence is empty"),
        ('set_by = "partwise"', "", "set_by is missing"),
        ('set_by = "partwise"', 'set_by = "me"', "set_by is one of document, partwise, not 'me'"),
        ("set_on = 2026-11-17", "", "set_on is missing"),
        ("set_on = 2026-11-17", 'set_on = "today"', "set_on has the wrong type, str"),
        ('"mean"', '"median"', "statistic 'median' is not known; there are: mean, "),
        ('"facets"', '"facet"', "ours 'facet' is not known; there are: facets, "),
        ('"and-published"', '"and"', "literal 'and' is not known"),
        ('"lower"', '"less"', "better is one of higher, lower, equal, not 'less'"),
        ("bound = 1", "", "either bound or published"),
        ("bound = 1", "bound = 1\npublished = 1", "either bound or published"),
        ("bound = 1", "bound = true", "bound has the wrong type, bool"),
        ("bound = 1", 'bound = 1\ntolerance = "spread"', "which also needs runs"),
        ("bound = 1", "published = 1\ntolerance = 0.1", "some.toml, a: tolerance is ours, and the number is not"),
        ("bound = 1", 'bound = 1\nwhy = "x"', "why 'x' is not known; there are: because"),
        ("bound = 1", 'bound = 1\nchanged = [{on = 2026-11-18}]', "changed: was, now, why is missing"),
        ("bound = 1", "bound = 1\nchanged = [1]", "changed: a table is expected"),
        ('literal = "and-published"\nours = "facets"', "", "neither literal nor ours is named"),
        ('id = "a"', 'id = "{x}"', "some.toml, {x}: each gives no value for 'x'"),
        ("[[claim]]", "[[claims]]", "only [common], [columns], [[claim]], [[changed]] are expected, not claims"),
        ("[[claim]]", "[[common]]", "some.toml: [common] is one table"),
        ("[[claim]]", "[common]\nbound = 1\n[[claim]]", "some.toml: [common] has bound, which is a claim's own"),
        ("bound = 1", "each = [{published = [1, 2]}]", "a: published is a row of 2 numbers, and [columns] has not"),
        ("[[claim]]", "[[claim", "some.toml: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, words: str):
    if not words:
        assert load(tmp_path, GOOD)
        return
    with pytest.raises(InputError) as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert words in str(caught.value)


def test_ids_are_unique(tmp_path: Path):
    with pytest.raises(InputError, match="two claims have the id a"):
        load(tmp_path, GOOD + GOOD)


def test_missing_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"nothing\.toml"):
        load_claims(tmp_path / "nothing.toml", {}, {})


def test_every_experiment_has_its_file_and_every_file_its_experiment():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(experiments())
