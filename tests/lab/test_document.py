"""The documentation's page of the lab is what the kept files give, and they are what a run gave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from partwise.cli.app import app
from partwise.exceptions import InputError
from partwise.lab import Reproduction, document, experiments, find_experiment, grid_table, load_result, run_experiment
from partwise.lab import kept as kept_files
from partwise.lab.claim import FAILED, SIDES, Claim
from partwise.lab.document import render, write_document
from partwise.lab.kept import Kept, choose, keep, load_kept
from partwise.lab.measurements import Measurements
from tests.lab.toys import TOY

DOCS = Path(__file__).resolve().parents[2] / "docs"
LARGEST = 1_000_000  # bytes that a repository can carry without anybody noticing
TOY_2 = replace(TOY, figures=(replace(TOY.figures[0], documented="table"),))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    for module in (document, kept_files):
        monkeypatch.setattr(module, "experiments", lambda: {"toy": TOY_2, "toy-2": TOY})
    keep(run_experiment(TOY_2, tmp_path / "run"), tmp_path / "docs")
    write_document(tmp_path / "docs")
    (one,) = load_kept(tmp_path / "docs")
    return one


def test_tables_are_means_over_the_seeds(kept: Kept, tmp_path: Path):
    result = run_experiment(TOY_2, tmp_path / "run")
    assert len(kept.result.table) == 4  # two cases, two methods
    for row in kept.result.table:
        same = result.table.where(case=row["case"], method=row["method"])
        assert row["seeds"] == 2
        assert row["scale"] == same[0]["scale"]
        assert row["score"] == pytest.approx(same.mean("score"), rel=1e-4)
        assert row["score_sd"] == pytest.approx(np.std(same.values("score"), ddof=1), rel=1e-4)


def test_page_has_verdicts_of_both_sides(kept: Kept):
    page = render([kept])
    assert "**As published 1 of 2 claims are reproduced, with our methods 2 of 2**" in page
    assert "- At the published size: 0 of 2 experiments.\n" in page
    quick = "1 of 2 experiments, 1 of them with all defined seeds (as published 1 of 2, ours 2 of 2): `toy`.\n"
    assert f"- Smaller than published, full runs to come: {quick}" in page
    assert "- Without results so far: `toy-2`." in page
    assert "| [`toy`](lab/toy/claims.csv) | quick, 2 | 4 | 1 of 2 | 2 of 2 | the truth is exact <i>: " in page
    assert (
        "- two is three: not reproduced as published: as published (true-weights) 2; asked ≥ 3. because it is" in page
    )
    assert "- `toy`: `two`, 2000-01-02: was <= 2; is >= 3. Two is not enough." in page
    assert "- `toy`, 2000-01-03: was a claim that zero is one; is none. It failed." in page
    assert "![figure-1](lab/toy/figure-1.svg)" in page


def test_nothing_of_the_machine_is_kept(kept: Kept, tmp_path: Path):
    manifest = json.loads((tmp_path / "docs" / "lab" / "toy" / "manifest.json").read_text())
    assert not {"machine", "threads", "sessions"} & set(manifest)
    assert (tmp_path / "docs" / "lab" / "toy" / "figure-1.svg").read_text().startswith("<svg")


def test_program(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partwise.lab.find_experiment", lambda name: TOY_2)
    page = tmp_path / "docs" / "lab.md"
    text = page.read_text()
    page.unlink()
    run_experiment(TOY_2, tmp_path / "run" / "full", size="full", seeds=1)
    for arguments, size in (([], "quick, 2"), ([str(tmp_path / "run")], "full, 1 of 3")):
        result = CliRunner().invoke(app, ["lab", "document", *arguments, "--docs", str(tmp_path / "docs")])
        assert result.exit_code == 0, result.output
        assert f"| {size} |" in page.read_text()  # the full run is preferred
    assert page.read_text() != text
    assert "- At the published size: 1 of 2 experiments" in page.read_text()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert CliRunner().invoke(app, ["lab", "document", str(empty)]).exit_code != 0


def test_a_full_run_is_not_replaced_by_less(kept: Kept, tmp_path: Path):
    docs, quick, full = (tmp_path / name for name in ("docs", "run", "run/full"))
    run_experiment(TOY_2, full, size="full", seeds=1)
    assert choose(quick, docs) == ({"toy": full}, {quick: "there is a larger run"})
    keep(load_result(TOY_2, full), docs)
    assert choose(quick, docs) == ({"toy": full}, {quick: "a full run is kept"})


def test_what_is_not_complete_is_left_out(kept: Kept, tmp_path: Path):
    full = tmp_path / "full"
    run_experiment(TOY_2, full, size="full", seeds=1, methods=TOY_2.methods[:1])
    chosen, left = choose(full, tmp_path / "docs")
    assert not chosen
    assert left[full] == "2 cells are missing; partwise lab run goes on with it"
    run_experiment(TOY_2, full, size="full", seeds=1)
    assert choose(full, tmp_path / "docs") == ({"toy": full}, {})


def test_numbers_on_other_pages_are_those_that_are_kept(kept: Kept, tmp_path: Path):
    page, changes = tmp_path / "docs" / "methods.md", tmp_path / document.CHANGES
    page.write_text(
        "Two is [7](lab/toy/claims.csv#literal:two), [error](lab/toy/results.csv#true-weights:scale), [7](x)."
    )
    changes.write_text("[?](docs/lab/toy/claims.csv#ours:empty)")
    write_document(tmp_path / "docs")
    assert page.read_text().startswith("Two is [2](lab/toy/claims.csv#literal:two), [1.5](lab/toy/results.csv#true")
    assert page.read_text().endswith(", [7](x).")
    assert changes.read_text() == "[2](docs/lab/toy/claims.csv#ours:empty)"
    for wrong in ("claims.csv#ours:two", "claims.csv#nobody:two", "claims.csv#ours:three", "results.csv#hals:scale"):
        with pytest.raises(InputError, match="there is no such number"):
            document.cited(f"[2](lab/toy/{wrong})", [kept])
    with pytest.raises(InputError, match="lab/toys/claims"):
        document.cited("[2](lab/toys/claims.csv#ours:two)", [kept])


def test_seeds_that_are_missing_are_told(kept: Kept):
    fewer = replace(kept, result=replace(kept.result, manifest={**kept.result.manifest, "seeds": 1}))
    assert "| quick, 1 of 2 |" in render([fewer])
    assert "1 of 2 experiments, 0 of them with all defined seeds" in render([fewer])


def test_what_holds_without_a_method_is_counted(kept: Kept):
    name = next(name for name, row in kept.claims.items() if row["ours_verdict"] == "reproduced")
    told = "are met by the start, the zero matrix or the mean sample too"
    unmet = {key: row | {"met_by": ""} for key, row in kept.claims.items()}
    assert told not in render([replace(kept, claims=unmet)])
    met = unmet | {name: unmet[name] | {"met_by": "trivial-start", "literal_verdict": ""}}
    assert f"Of those that hold, 0 as published and 1 of ours {told}" in render([replace(kept, claims=met)])


def test_committed_page_is_what_the_files_give():
    found = load_kept(DOCS)
    assert (DOCS / document.PAGE).read_text(encoding="utf-8") == render(found), "run partwise lab document"
    assert (DOCS / document.CHOOSING).read_text(encoding="utf-8") == document.opened(DOCS, found), "the same"
    for path in document.pages(DOCS):
        text = path.read_text(encoding="utf-8")
        assert text == document.cited(text, found), f"the same, for {path.name}"
    addresses = {name for one in found for name, _ in document._figures(one)}
    assert {path.relative_to(DOCS).as_posix() for path in (DOCS / "lab").rglob("*.svg")} == addresses
    assert {path.name for path in (DOCS / "lab").iterdir()} <= set(experiments())
    sizes = {path: path.stat().st_size for path in (DOCS / "lab").rglob("*") if path.is_file()}
    assert sum(size for path, size in sizes.items() if path.suffix != ".svg") < LARGEST
    assert sum(sizes.values()) < 1.5 * LARGEST  # with the figures that are made of them


def test_a_claim_that_was_judged_is_not_changed_without_a_word(kept: Kept, tmp_path: Path):
    result, two = kept.result, TOY_2.claims[2]
    assert kept.claims["two"]["question"] == "two() of true-weights, -: higher, bound 3.0, tolerance 0.5"
    assert kept.claims["two"]["changes"] == 1
    assert not kept.untold()

    def with_claims(*claims: Claim, changes: int = 1) -> Kept:
        experiment = replace(TOY_2)
        vars(experiment).update(claims=claims, changes=TOY_2.changes * changes)
        return replace(kept, result=replace(result, experiment=experiment))

    others = [claim for claim in TOY_2.claims if claim.id != "two"]
    for change in ({"bound": 2.0}, {"tolerance": 1.0}, {"better": "lower"}, {"arguments": {"n": 1}}, {"ours": "hals"}):
        changed = with_claims(*others, replace(two, **change))
        assert [text.partition(" ")[0] for text in changed.untold()] == ["two"]
        with pytest.raises(InputError, match="toy: `changed` does not tell that two was two"):
            keep(changed.result, tmp_path / "docs")
        told = with_claims(*others, replace(two, changed=two.changed * 2, **change))
        assert not told.untold()
    assert with_claims(*others).untold() == ["two is gone"]
    assert not with_claims(*others, changes=2).untold()
    fresh = replace(two, id="fresh", changed=())
    assert with_claims(*TOY_2.claims, fresh).untold() == ["fresh is new"]
    for why in ({"changed": two.changed}, {"published": True}, {"set_by": "document"}):  # or not ours to choose
        assert not with_claims(*TOY_2.claims, replace(fresh, **why)).untold()
    keep(told.result, tmp_path / "docs")
    (one,) = load_kept(tmp_path / "docs")
    assert one.claims["two"]["changes"] == 2


def test_committed_verdicts_are_on_what_the_register_asks():
    for one in load_kept(DOCS):
        assert not one.untold(), f"{one.experiment.name}: tell it in `changed`"
        assert all(row.get("question") for row in one.claims.values()), "run partwise lab document with the runs"


def test_map_is_of_the_grid():
    errors = {"facets": 0.0, "hals-cold": 4e-4, "mu-cold": 0.126}
    rows = [
        {"case": case, "method": name, "seed": 0, "part_error": error}
        for case in ("DIR", "DIR, noise 0.01", "DIR, noise 0.1")
        for name, error in errors.items()
    ]
    manifest = {"size": "quick", "seeds": 1}
    result = Reproduction(find_experiment("cold-start-grid"), Measurements(rows), Measurements([]), manifest)
    lines = grid_table.table(result).splitlines()
    assert [line.split(" | ")[0] for line in lines[:5]] == ["| data", "| ---", "| DIR", "| DIR, noise", ""]
    assert lines[2] == "| DIR | **0** | – | – | – | 4e-4 | 0.13 | – | – | – | – |"
    assert "Size quick: 600 samples, 100 features, 8 parts; 1 seed;" in lines[-1]


def test_committed_verdicts_follow_from_their_numbers_and_the_register():
    for one in load_kept(DOCS):
        for claim, row in one.lines():
            for side in SIDES:
                if row[f"{side}_verdict"] and getattr(claim, side):
                    name = claim.outcome(row[f"{side}_value"], row[f"{side}_tolerance"])
                    assert name == row[f"{side}_verdict"], f"{one.experiment.name}: {claim.id}, {side}"
            assert not (row["met_by"] and not claim.trivial), f"{one.experiment.name}: {claim.id} says nothing"


def test_committed_misses_are_explained():
    for one in load_kept(DOCS):
        for claim, row in one.lines():
            missed = [side for side in SIDES if row[f"{side}_verdict"] == FAILED]
            assert not missed or row["explanation"], f"{one.experiment.name}: {claim.id} needs a why"
