"""The lecture's own way to topics: first and second tokens, their co-occurrence, the hull of its rows; its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Reproduction, Size
from partwise.lab.lecture import DOCUMENT, corpus
from partwise.lab.values import NOTHING, least, quotient, told
from partwise.plots.style import FAINT

# words, topics, the probability of an anchor word, and documents: factors of four, for an exponent
CORPORA: dict[str, tuple[int, int, float, tuple[int, ...]]] = {
    "tiny": (12, 2, 0.3, (500, 2000)),
    "quick": (40, 4, 0.1, (4000, 16_000, 64_000)),
    "full": (100, 6, 0.1, (16_000, 64_000, 256_000, 1_024_000)),
}


def _cases(size: Size) -> Sequence[Case]:
    m, k, anchor, counts = CORPORA[size]
    return [
        Case(f"{n} documents of two words", partial(corpus, n, m, k, 2, anchor=anchor), {"documents": n, "r": k})
        for n in counts
    ]


def _wrong_words(result: Reproduction, method: str) -> float:
    """Words that remain and should not, or the other way round: at most."""
    rows = result.table.where(method=method)
    found, r, right = (rows.values(column) for column in ("found", "r", "anchors"))
    return float(np.max((found - r * right) + r * (1.0 - right))) if len(rows) else NOTHING


def _at_most_documents(result: Reproduction, method: str, *, column: str) -> float:
    """The least of a column at the largest number of documents."""
    counts = result.table.distinct("documents")
    return least(result, method, column=column, documents=max(counts)) if counts else NOTHING


def _tightness(result: Reproduction, method: str) -> float:
    """The largest quotient of a measured error and its bound."""
    rows = result.table.where(method=method)
    return float(np.max(rows.values("deviation") / rows.values("bound"))) if len(rows) else NOTHING


def _signal(result: Reproduction, method: str) -> float:
    """The norm of E(M) over the bound, at the largest number of documents."""
    return quotient(*(_at_most_documents(result, method, column=column) for column in ("nothing", "bound")))


def _kept_promise(result: Reproduction, method: str) -> float:
    """Documents promised at the fewest documents over those at the most, or the inverse: the larger."""
    counts = result.table.distinct("documents")
    if len(counts) < 2:
        return NOTHING
    one, other = (
        result.table.mean("documents_until_certain", method=method, documents=n) for n in (min(counts), max(counts))
    )
    return max(quotient(one, other), quotient(other, one))


def _rows_of_rare_words(result: Reproduction, method: str, claim: Claim) -> str:
    def told_of(name: str, column: str) -> str:
        rows = result.table.where(method=name)
        return (
            ", ".join(told(rows.mean(column, documents=n), ".2f") for n in rows.distinct("documents")) or "not measured"
        )

    return (
        "With noise every row is a corner, and those of rare words, which are mostly noise, are the farthest out: of "
        f"the anchors the hull of M finds {told_of('pairs-hull', 'anchors')}. That the rows of E(M) have the right "
        f"hull does not help: M is not E(M). Errors of the topics: the lecture's {told_of('pairs-hull', 'topic_l1')}; "
        f"on leading eigenvectors, among frequent words (ours), {told_of('anchor-topics', 'topic_l1')}."
    )


def bound_and_error(result: Reproduction) -> Mapping[str, Any]:
    """The measured error of the co-occurrence and its bound, against the number of documents."""
    figure, axes = figures.chart("documents", "spectral norm of the error")
    for method, dash in (("pairs-hull", "-"), ("pairs-hull-all", "--")):
        rows = result.table.where(method=method)
        at = sorted(rows.distinct("documents"))
        for column, name in (("deviation", "measured"), ("bound", "bound, 95%")):
            if at:
                means = [rows.mean(column, documents=n) for n in at]
                kind = "first pairs" if method == "pairs-hull" else "all pairs"
                style: dict[str, Any] = {
                    "color": figures.COLOURS[column == "bound"],
                    "ls": dash,
                    "marker": "o",
                    "ms": 4,
                    "lw": 1.3,
                }
                axes.plot(at, means, label=f"{name}, {kind}", **style)
    nothing = result.table.mean("nothing", method="pairs-hull")
    if np.isfinite(nothing):
        axes.axhline(nothing, color=FAINT, lw=1.0, ls=":", label="norm of E(M) / n")
    axes.set_xscale("log")
    axes.set_yscale("log")
    figures.legend(axes)
    return {"": figure}


PAIRS = Experiment(
    name="lecture-pairs",
    title="First and second tokens: the hull of the co-occurrence, and how far off it is",
    document=DOCUMENT,
    about="Documents of two tokens, M the matrix of first and second ones. The rows of E(M) have exactly the anchors "
    "as corners. Of M itself every row is one, so the hull is told r. The error of M is held against the bound of "
    "matrix Bernstein, computed from the same documents and nothing else; a topic is called certain when its anchor's "
    "row is outside the cone of the other anchors' rows by more than that bound, and the number of documents this "
    "takes is told before. Beside the anchors stand words that are mixtures, of which it must never be said. Ours uses "
    "all pairs (for the matrix) and AnchorTopics (for the topics).",
    cases=_cases,
    methods=("pairs-expected", "pairs-hull", "pairs-hull-all", "anchor-topics"),
    measures=("anchors", "topic_l1"),
    seeds={"quick": 2, "full": 5},
    statistics={
        "wrong_words": _wrong_words,
        "at_most_documents": _at_most_documents,
        "tightness": _tightness,
        "signal": _signal,
        "kept_promise": _kept_promise,
    },
    explanations={"rows_of_rare_words": _rows_of_rare_words},
    figures=(
        Figure("Error of the co-occurrence and its bound", bound_and_error),
        Figure(
            "Documents until every topic is certain, as told",
            figures.against("documents", "documents_until_certain", across="documents", logs="x"),
        ),
        Figure("Error of the topics", figures.against("documents", "topic_l1", across="documents")),
        Figure("Share of anchors found", figures.against("documents", "anchors", across="documents", logs="x")),
    ),
)

EXPERIMENTS = (PAIRS,)
