"""What two halves of the samples say, as facts, words and a section of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.algorithms.loop import History
from partwise.algorithms.monitor import COLUMN, NAMES, Halves
from partwise.report.facts import gather
from partwise.report.findings import findings
from partwise.report.naming import Names
from partwise.report.wording import between_halves, halves_error
from tests.report.models import H, X, with_components


def watched(disagreement: list[float], sizes: list[float]) -> Any:
    """A model of two parts, of which the second has the larger share, that was watched."""
    model = with_components(H)
    model.halves_ = Halves(np.array(disagreement), sizes[-1], 1.0, 1.0, 1.0)
    columns = {f"{COLUMN}{name}": sizes for name in NAMES}
    model.history_ = History({"n_iter": range(len(sizes)), "time": sizes, **columns})
    return model


def test_facts_are_in_the_order_of_the_parts() -> None:
    found = gather(watched([0.02, 0.4], [0.8, 0.4, 0.2, 0.1]), pw.open_source(X)).agreement
    assert found is not None
    assert found.errors.tolist() == [0.01, 0.2]
    assert found.agree.tolist() == [True, False]
    assert (found.first, found.last, found.rate) == (0.8, 0.1, pytest.approx(0.5))
    assert [name for name, _, _ in found.curves] == ["E_s", "potential", "decoding", "alpha"]
    assert gather(with_components(H), pw.open_source(X)).agreement is None


def test_parts_on_which_halves_disagree_are_told() -> None:
    def told(model: Any) -> dict[str, str]:
        return dict(findings(gather(model, pw.open_source(X)), Names(None, None)))

    assert "Halves disagree" not in told(watched([0.02, 0.1], [0.8, 0.1]))
    text = told(watched([0.02, 0.4], [0.8, 0.1]))["Halves disagree"]
    assert text.startswith("Two halves of the samples, each fitted by itself, do not agree on Part 2: |E| between")


@pytest.mark.parametrize(
    ("numbers", "apart", "expected"),
    [
        ((0.8, 0.01, 0.5), [], "agree: |E| between them fell from 0.8 to 0.01, at a rate of 0.5 an iteration."),
        (
            (0.8, 2.0, np.nan),
            ["Part 1", "Part 3"],
            "do not agree on Part 1 and Part 3: |E| between them did not fall, from 0.8 at the start to 2.",
        ),
        (
            (np.nan, np.nan, np.nan),
            ["Part 2"],
            "do not agree on Part 2: the parts of one depend on each other, and nothing can be said of E.",
        ),
    ],
)
def test_the_sentence(numbers: tuple[float, float, float], apart: list[str], expected: str) -> None:
    assert between_halves(*numbers, apart) == f"Two halves of the samples, each fitted by itself, {expected}"


def test_errors_come_with_what_cannot_be_seen() -> None:
    text = halves_error(np.array([0.01, 0.002]))
    assert "an error of about 0.002 to 0.01 in a part" in text
    assert text.endswith("What goes wrong in both halves in the same way does not show here.")
    assert "about 0.01 in a part" in halves_error(np.array([0.01, 0.01]))


def test_the_section(tmp_path: Path) -> None:
    page = pw.write_report(tmp_path / "a.html", watched([0.02, 0.4], [0.8, 0.4, 0.2, 0.1]), X).read_text()
    section = page.partition("<h2>Two halves of the samples</h2>")[2].partition("</section>")[0]
    assert section.count("<figure") == 4
    assert '<a href="#part-2">Part 2</a><span class="number high">0.2</span>' in section
    assert '<a href="#part-1">Part 1</a><span class="number">0.01</span>' in section
    assert "Two halves" not in pw.write_report(tmp_path / "b.html", with_components(H), X).read_text()
