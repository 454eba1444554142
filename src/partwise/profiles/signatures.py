"""Mutational signatures: SBS96, DBS78 and ID83 matrices, COSMIC beside them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from partwise.io.table import Table
from partwise.profiles.base import Bars, Found, Listing, Output, Panel, Profile, Settings, cosines, figure
from partwise.profiles.decomposing import Decomposition, decompose
from partwise.profiles.reference import aligned_reference
from partwise.sources.names import column_order

SBS = re.compile(r"([ACGT])\[([CT])>([ACGT])\]([ACGT])")
DBS = re.compile(r"([ACGT]{2})>([ACGT]{2})")
INDEL = re.compile(r"(\d):(Del|Ins):([CTRM]):(\d)")
# as SigProfilerPlotting draws them
COLOURS = {"C>A": "#03bcee", "C>G": "#010101", "C>T": "#e32926", "T>A": "#cac9c9", "T>C": "#a1ce63", "T>G": "#ebc6c4"}
OTHERS: tuple[str, ...] = (
    "#03bcee",
    "#0366cb",
    "#a1ce63",
    "#016501",
    "#fd9898",
    "#e32926",
    "#fcb066",
    "#ff8100",
    "#cb98fd",
    "#4c0198",
)
OTHERS += ("#f1b6da", "#8c510a", "#01665e", "#7f7f7f", "#bcbd22", "#17becf")
KINDS = ((SBS, 96), (DBS, 78), (INDEL, 83))  # how many there are
MOST = 0.95  # of the names
ALIKE, SURE = 0.85, 0.95  # cosines from which on a part is called as the known one, or as a sum: of its three largest
SHOWN = 3


def looks(table: Table) -> str | None:
    """Whether features are kinds of mutations."""
    names = table.feature_names
    if names and sum(_kind(name) is not None for name in names) >= MOST * len(names):
        return "features are kinds of mutations"
    return None


def _kind(name: str) -> tuple[str, str] | None:
    """Group of a kind of mutation, and its place in the order of drawing."""
    if found := SBS.fullmatch(name):
        group = f"{found[2]}>{found[3]}"
        return group, f"{list(COLOURS).index(group) if group in COLOURS else 9}{found[1]}{found[4]}"
    if found := DBS.fullmatch(name):
        return f"{found[1]}>NN", name
    if found := INDEL.fullmatch(name):
        order = "0" if found[3] in "CT" else "1" if found[3] == "R" else "2"
        return f"{found[1]}:{found[2]}:{found[3]}", f"{order}{found[2]}{found[3]}{found[1]}{found[4]}"
    return None


def shaped(table: Table, settings: Settings) -> Table:
    """Samples as rows, kinds of mutations as columns in the order in which they are drawn."""
    if looks(table) is None:
        turned = table.transposed()
        if looks(turned) is None:
            note = "neither rows nor columns have the names of kinds of mutations: taken as they are, rows as samples"
            return replace(table, notes=(*table.notes, note))
        table = turned
    names = table.feature_names or []
    if any(_kind(name) is None for name in names) or not names:
        return table
    order = sorted(range(len(names)), key=lambda j: (_kind(names[j]) or ("", ""))[1])
    wanted = [names[j] for j in order]
    columns = column_order(names, wanted, parameter="X", other="the data")
    whole = next((count for form, count in KINDS if form.fullmatch(names[0])), 0)
    lacks = (f"without {whole - len(names)} of the {whole} kinds of mutations",) if len(names) < whole else ()
    return Table(
        table.source().take(range(table.X.shape[0]))[:, columns],
        wanted,
        table.sample_names,
        origin=table.origin,
        format=table.format,
        notes=(*table.notes, "samples as rows, kinds of mutations in the order of drawing", *lacks),
    )


def _decompositions(found: Found) -> tuple[list[str], list[Decomposition], np.ndarray]:
    assert found.settings.reference is not None
    names, known = aligned_reference(found.settings.reference, found.features, len(found.features))
    counts = found.amounts().sum(axis=0)
    H = found.components / np.maximum(found.components.sum(axis=1, keepdims=True), 1e-300)
    return names, [decompose(total * h, known) for total, h in zip(counts, H, strict=True)], cosines(H, known)


def called(found: Found) -> list[str] | None:
    """Parts that are known ones are called so."""
    if found.settings.reference is None:
        return None
    names, sums, similar = _decompositions(found)
    result: list[str] = []
    for j, (row, one) in enumerate(zip(similar, sums, strict=True)):
        best, name = int(row.argmax()), f"Signature {j + 1}"
        if row[best] >= ALIKE:
            name = f"{names[best]}-like"
        elif one.cosine >= SURE:
            name = "+".join([*(names[i] for i in one.chosen[:SHOWN]), *["others"] * (len(one.chosen) > SHOWN)])
        result.append(name if name not in result else f"{name} {result.count(name) + 2}")
    return result


def outputs(found: Found) -> list[Output]:
    """Exposures in mutations, signatures as SigProfiler writes them, and what COSMIC says of each."""
    amounts, H = found.amounts(), found.components
    shares = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    made = [
        Output(
            "exposures.csv",
            ["sample", *found.names],
            [[name, *map(figure, row)] for name, row in zip(found.samples, amounts, strict=True)],
        ),
        Output(
            "signatures.csv",
            ["MutationType", *found.names],
            [[name, *map(figure, row)] for name, row in zip(found.features, shares.T, strict=True)],
        ),
    ]
    if found.settings.reference is None:
        return made
    names, sums, similar = _decompositions(found)
    matches, parts = [], []
    for j, (part, one) in enumerate(zip(found.names, sums, strict=True)):
        for rank, i in enumerate(np.argsort(-similar[j], kind="stable")[:SHOWN]):
            matches.append([part, rank + 1, names[i], figure(similar[j, i])])
        for i, share, p in zip(one.chosen, one.shares, one.p_values, strict=True):
            parts.append([part, names[i], figure(share), figure(p), figure(one.cosine)])
    made.append(Output("matches.csv", ["signature", "rank", "known", "cosine"], matches))
    made.append(Output("decomposition.csv", ["signature", "known", "share", "p_value", "cosine_of_sum"], parts))
    return made


AXES = ("kinds of mutations, in the order of drawing", "share of the signature's mutations")


def panels(found: Found) -> list[Panel]:
    """Bars in the order of mutations, and the known signatures."""
    groups: list[tuple[str, str, int]] = []
    for name in found.features:
        kind = (_kind(name) or ("", ""))[0]
        if groups and groups[-1][0] == kind:
            groups[-1] = (kind, groups[-1][1], groups[-1][2] + 1)
        else:
            groups.append((kind, COLOURS.get(kind, OTHERS[len(groups) % len(OTHERS)]), 1))
    H = found.components
    shares = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    made: list[Panel] = [
        Bars("Signatures", found.names, shares, found.features, groups, *AXES),
    ]
    if found.settings.reference is not None:
        names, sums, similar = _decompositions(found)
        rows = []
        for j, (part, one) in enumerate(zip(found.names, sums, strict=True)):
            best = np.argsort(-similar[j], kind="stable")[:SHOWN]
            text = " + ".join(f"{share:.0%} {names[i]}" for i, share in zip(one.chosen, one.shares, strict=True))
            rows.append([part, ", ".join(f"{names[i]} ({similar[j, i]:.3f})" for i in best), text, f"{one.cosine:.3f}"])
        note = "Known signatures are left out of a sum where the mutations do not ask for them (likelihood ratio, 1%)."
        columns = ["signature", "most similar (cosine)", "as a sum of known ones", "cosine of the sum"]
        made.append(Listing("Known signatures", columns, rows, note))
    return made


PROFILE = Profile(
    name="signatures",
    title="mutational signatures",
    part="Signature",
    sample="sample",
    feature="kind of mutation",
    looks=looks,
    outputs=outputs,
    panels=panels,
    method="likelihood",
    shaped=shaped,
    called=called,
)
