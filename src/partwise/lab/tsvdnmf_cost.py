"""What TSVDNMF costs: how its time grows, and whether its singular value decomposition can be had for less."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from partwise import datasets
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.tsvdnmf import DOCUMENT
from partwise.lab.tsvdnmf_texts import real_cases
from partwise.lab.values import told

# --- O((n + d)^2 k) ---------------------------------------------------------------------------------------------

SIZES = {"tiny": (60,), "quick": (250, 500, 1000, 2000), "full": (500, 1000, 2000, 4000)}  # n = d
PARTS = {"tiny": (), "quick": (5, 10, 20, 40), "full": (5, 10, 20, 40, 80)}
COMMON_K, COMMON_SIZE = 10, {"tiny": 60, "quick": 1000, "full": 2000}
DRAWS = 100  # words of a document: the least noise of Table 2


def _documents(size: int, k: int, seed: int) -> Problem:
    data = datasets.make_dominant(n_samples=size, n_features=size, n_components=k, random_state=seed)
    return Problem.of(datasets.add_multinomial_noise(data, DRAWS, random_state=seed))


def _scaling_cases(size: Size) -> Sequence[Case]:
    grown = [Case(f"n = d = {n}", partial(_documents, n, COMMON_K), {"size": n}) for n in SIZES[size]]
    n = COMMON_SIZE[size]
    return grown + [Case(f"n = d = {n}, k = {k}", partial(_documents, n, k), {"parts": k}) for k in PARTS[size]]


SCALING = Experiment(
    name="tsvdnmf-scaling",
    title="The running time O((n + d)² k)",
    document=DOCUMENT,
    about=f"Dominant data of as many records as features, {DRAWS} draws a record, in dense arrays: the processor time "
    "of a fit (not the clock's, so that the load of the machine does not decide) against n = d and against k, and "
    "the power that fits it.",
    cases=_scaling_cases,
    methods=("tsvdnmf-literal", "tsvdnmf-program", "tsvdnmf"),
    measures=("score",),
    timed=True,
    trivials=(),  # what does nothing takes no time
    figures=(
        Figure(
            "Processor time against n = d", figures.against("size", "processor_seconds", across="records = features")
        ),
        Figure("Processor time against k", figures.against("parts", "processor_seconds", across="components")),
    ),
)

# --- the stated future work: sketches of the thresholded matrix -------------------------------------------------

RECORDS = {"tiny": 200, "quick": 2000, "full": 20_000}
WORDS = 500
LENGTHS = (20, 60, 200)  # draws a record


def _topics(n: int, draws: int, seed: int) -> Problem:
    """Ten topics with clear catchwords, in documents of so many words."""
    data = datasets.make_dominant(
        n_samples=n, n_features=WORDS, n_components=10, n_dominant=8, dominant_weight=0.3, random_state=seed
    )
    noisy = datasets.add_multinomial_noise(data, draws, random_state=seed)
    return Problem(
        noisy.X, 10, labels=data.labels, truth=noisy.components, note=f"{n} x {WORDS}, {draws} words a document"
    )


def _sketch_cases(size: Size) -> Sequence[Case]:
    n = RECORDS[size]
    made = [
        Case(f"{draws} words a document", partial(_topics, n, draws), {"draws": draws})
        for draws in (LENGTHS if size != "tiny" else LENGTHS[:1])
    ]
    return [*made, *real_cases(size)]


def _loss(result: Reproduction, method: str, *, case: str) -> float:
    """How much less a sketch agrees with the exact vectors' clusters than another start of k-means does, at most 1."""
    rows = result.table.where(case=case, method=method)
    return float(np.mean(rows.values("starts") - rows.values("agreement"))) if len(rows) else float("nan")


def _aligned(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(case=claim.arguments["case"], method=method)
    return (
        f"The worst direction of its subspace has a cosine of {rows.mean('alignment'):.2f} with the exact one: the "
        f"last of the singular values is {rows.mean('weakest'):.2f} of the first, and those after it follow closely. "
        f"Clusters agree to {rows.mean('agreement'):.2f}, those of another start of k-means to "
        f"{rows.mean('starts'):.2f}."
    )


def _elsewhere(result: Reproduction, method: str, claim: Claim) -> str:
    """Where the time goes: what a share is a share of."""
    rows = result.table.where(case=claim.arguments["case"], method=method)
    vectors = rows.values("processor_seconds")
    rest = float(np.mean(vectors / rows.values("share") - vectors))
    others = ", ".join(
        f"{told(result.table.mean('share', case=case, method=method), '.2f')} ({case})"
        for case in result.table.distinct("case")
        if case != claim.arguments["case"]
    )
    return (
        f"The vectors take {vectors.mean():.2g} s of the processor, the rest of the fit (thresholds of every feature, "
        f"k-means in the subspace and outside, dominant features, weights) {rest:.2g} s. The share elsewhere: {others}."
    )


SKETCHES = Experiment(
    name="tsvdnmf-sketch",
    title="Future work of the paper: singular vectors from a sketch of the thresholded matrix",
    document=DOCUMENT,
    about="The singular vectors of the thresholded records, exact (ARPACK) and from sketches: random subspace "
    "iteration until the values settle (what TSVDNMF does), two passes only, a tenth and a hundredth of the records. "
    "Everything after them is the same, k-means starts included. Agreement is the NMI with the clusters of the exact "
    "vectors, beside that of another start of k-means with the exact vectors (starts); random directions, which are no "
    "sketch, must not reach it. Times are the processor's.",
    cases=_sketch_cases,
    methods=("svd-arpack", "svd-randomised", "svd-two-passes", "svd-tenth", "svd-hundredth"),
    measures=("nmi",),
    statistics={"loss": _loss},
    explanations={"aligned": _aligned, "elsewhere": _elsewhere},
    timed=True,
    trivials=("trivial-subspace",),  # what has no clusters agrees with nothing
    figures=(
        Figure("Agreement with the clusters of the exact vectors", figures.bars("agreement")),
        Figure("Times faster than the exact vectors", figures.bars("faster")),
    ),
)

EXPERIMENTS = (SCALING, SKETCHES)
