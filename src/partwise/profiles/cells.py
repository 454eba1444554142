"""Cells and genes: programmes with their marker genes, usage by cell."""

from __future__ import annotations

import numpy as np

from partwise.io.suspicions import BARCODE, ENSEMBL, GENES
from partwise.io.table import Table
from partwise.metrics.association import association, exclusive
from partwise.metrics.specificity import specificity
from partwise.profiles.base import Array, Found, Listing, Output, Panel, Profile, Settings, figure

MOST = 0.8
MARKERS = 50  # genes of a programme that are written
SHOWN = 12


def looks(table: Table) -> str | None:
    """Whether a file is one of single cells, or names are those of genes or barcodes."""
    if table.format in ("h5ad", "10x", "AnnData"):
        return f"it is a file of single cells ({table.format})"
    names = table.feature_names
    if names and (len(GENES & set(names)) >= 3 or _share(names) >= MOST):
        return "features are called as genes are"
    return None


def _share(names: list[str]) -> float:
    return sum(bool(ENSEMBL.fullmatch(name)) for name in names) / len(names)


def shaped(table: Table, settings: Settings) -> Table:
    """Cells as rows."""
    rows, columns = table.sample_names or [], table.feature_names or []
    genes = len(GENES & set(rows)) >= 3 or (bool(rows) and _share(rows) >= MOST)
    barcodes = bool(columns) and sum(bool(BARCODE.fullmatch(name)) for name in columns) >= MOST * len(columns)
    return table.transposed() if (genes or barcodes) and not GENES & set(columns) else table


def cnmf_scores(found: Found) -> Array:
    """Genes by how they go with the use of a program: what is large everywhere leads on no card."""
    if getattr(found.model, "missing", None) is not None:  # it needs every entry
        return specificity(found.components)
    return association(found.table.source(), found.shares())


def scores(found: Found) -> Array:
    """Genes by how they go with the use of a program, and how much of them is its own."""
    return exclusive(cnmf_scores(found), found.components)


def outputs(found: Found) -> list[Output]:
    """Marker genes of each programme, and its usage by cell."""
    A, H = cnmf_scores(found), found.components
    S = exclusive(A, H)
    shares = H / np.maximum(H.sum(axis=1, keepdims=True), 1e-300)
    markers = []
    for j, part in enumerate(found.names):
        for rank, i in enumerate(_markers(S[j], MARKERS)):
            row = [figure(S[j, i]), figure(A[j, i]), figure(shares[j, i])]
            markers.append([part, rank + 1, found.features[i], *row])
    usage = [[name, *map(figure, row)] for name, row in zip(found.samples, found.shares(), strict=True)]
    return [
        Output("markers.csv", ["program", "rank", "gene", "specificity", "score", "share"], markers),
        Output("usage.csv", ["cell", *found.names], usage),
    ]


def _markers(score: Array, most: int) -> Array:
    """The genes that go with a program most, without those that tell nothing."""
    best = np.argsort(-score, kind="stable")[:most]
    return best[score[best] > 0.0]


def panels(found: Found) -> list[Panel]:
    """Marker genes beside the largest ones."""
    A, H, used = cnmf_scores(found), found.components, found.shares()
    S = exclusive(A, H)
    rows = []
    for j, part in enumerate(found.names):
        own = [found.features[i] for i in _markers(S[j], SHOWN)]
        best = [found.features[i] for i in _markers(A[j], SHOWN)]
        largest = [found.features[i] for i in np.argsort(-H[j], kind="stable")[:5]]
        rows.append([part, ", ".join(own), ", ".join(best), ", ".join(largest), f"{used[:, j].mean():.1%}"])
    columns = ["program", "marker genes (by specificity)", "by score", "largest loadings", "mean usage"]
    return [
        Listing(
            "Programs",
            columns,
            rows,
            "Score: how a gene goes with the use of a program from cell to cell, in deviations of the gene, as "
            "cNMF has it. Specificity: this score times the share of the gene that is the program's.",
        )
    ]


PROFILE = Profile(
    name="cells",
    title="single cells",
    part="Program",
    sample="cell",
    feature="gene",
    looks=looks,
    outputs=outputs,
    panels=panels,
    method="likelihood",
    shaped=shaped,
    scores=scores,
)
