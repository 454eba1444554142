"""Texts: topics with their own words, the documents of each, and their course over time."""

from __future__ import annotations

import numpy as np

from partwise.io.table import Table
from partwise.metrics.coherence import topic_coherence
from partwise.metrics.specificity import relevance, specificity
from partwise.profiles.base import Array, Found, Lines, Listing, Output, Panel, Profile, figure

WORDS = 20  # of a topic that are written
DOCUMENTS = 10
SHOWN = 10


def looks(table: Table) -> str | None:
    """Whether words of texts were counted."""
    return f"it is counts of words ({table.format})" if table.format in ("texts", "docword", "documents") else None


def scores(found: Found) -> Array:
    """Words by what they say of one topic alone."""
    return specificity(found.components)


def _coherence(found: Found) -> Array:
    """NPMI of the top words; NaN where the documents stay on disk."""
    if found.table.on_disk:
        return np.full(len(found.components), np.nan)
    return np.asarray(topic_coherence(found.components, found.table.X))


def _periods(found: Found) -> tuple[list[str], Array] | None:
    """Mean shares of topics by period, where documents have dates."""
    dates = found.table.extra.get("date")
    if dates is None:
        return None
    periods = _cut([str(date) for date in dates])
    known = sorted({one for one in periods if one})
    if len(known) < 2:
        return None
    shares = found.shares()
    where = np.array(periods)
    return known, np.stack([shares[where == one].mean(axis=0) for one in known])


def _cut(dates: list[str]) -> list[str]:
    """Years, or months or days where all are of few years; dates are written with the year first."""
    for length in (4, 7, 10):
        cut = [date[:length] if date[:4].isdigit() else "" for date in dates]
        if len(set(cut) - {""}) >= 3:
            return cut
    return [date[:10] for date in dates]


def outputs(found: Found) -> list[Output]:
    """Words and coherence of each topic, its documents, shares of every document, and topics over time."""
    H, shares = found.components, found.shares()
    R, S, coherent = relevance(H), scores(found), _coherence(found)
    P = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    words, documents = [], []
    for j, part in enumerate(found.names):
        for rank, i in enumerate(np.argsort(-P[j], kind="stable")[:WORDS]):
            row = [figure(P[j, i]), figure(R[j, i]) if np.isfinite(R[j, i]) else "", figure(S[j, i])]
            words.append([part, rank + 1, found.features[i], *row, figure(coherent[j])])
        for rank, i in enumerate(np.argsort(-shares[:, j], kind="stable")[:DOCUMENTS]):
            documents.append([part, rank + 1, found.samples[i], figure(shares[i, j])])
    made = [
        Output("topics.csv", ["topic", "rank", "word", "share", "relevance", "specificity", "coherence_npmi"], words),
        Output("topic_documents.csv", ["topic", "rank", "document", "share"], documents),
        Output(
            "document_shares.csv",
            ["document", *found.names],
            [[name, *map(figure, row)] for name, row in zip(found.samples, shares, strict=True)],
        ),
    ]
    course = _periods(found)
    if course is not None:
        rows = [[one, *map(figure, row)] for one, row in zip(*course, strict=True)]
        made.append(Output("topics_over_time.csv", ["period", *found.names], rows))
    return made


def panels(found: Found) -> list[Panel]:
    """The table of topics, and their course."""
    H, shares = found.components, found.shares()
    S, coherent = scores(found), _coherence(found)
    rows = []
    for j, part in enumerate(found.names):
        own = [found.features[i] for i in np.argsort(-S[j], kind="stable")[:SHOWN]]
        frequent = [found.features[i] for i in np.argsort(-H[j], kind="stable")[:SHOWN]]
        best = [found.samples[i] for i in np.argsort(-shares[:, j], kind="stable")[:3]]
        coherence = "" if np.isnan(coherent[j]) else f"{coherent[j]:.2f}"
        rows.append(
            [part, ", ".join(own), ", ".join(frequent), f"{shares[:, j].mean():.1%}", coherence, ", ".join(best)]
        )
    columns = ["topic", "its own words", "its most frequent words", "share of all texts", "coherence (NPMI)", "texts"]
    made: list[Panel] = [Listing("Topics", columns, rows)]
    course = _periods(found)
    if course is not None:
        periods, means = course
        x = np.arange(len(periods), dtype=float)
        unit = {4: "year", 7: "month"}.get(len(periods[0]), "day")
        made.append(Lines("Topics over time", x, found.names, means.T, unit, "mean share of a text", labels=periods))
    return made


PROFILE = Profile(
    name="texts",
    title="texts and their topics",
    part="Topic",
    sample="text",
    feature="word",
    looks=looks,
    outputs=outputs,
    panels=panels,
    method="archetypes",  # HALS finds business twice and no culture in the articles of the BBC (NMI 0.60; 0.88 so)
    preprocess="tfidf",
    formats=dict.fromkeys((".csv", ".tsv", ".xlsx", ".parquet", ".jsonl", ".ndjson", ".json"), "documents"),
    scores=scores,
)
