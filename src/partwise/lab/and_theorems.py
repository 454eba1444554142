"""The rest of the AND paper's analysis at work: lemmas, thresholds, noise bound; and topics of real documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import datasets
from partwise.lab import figures
from partwise.lab.and_ import DOCUMENT
from partwise.lab.and_correlations import DECAY_D, correlated, logistic_normal
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.values import NOTHING, ratio, straightness, told
from partwise.plots.style import INK

# --- Lemmas 2 and 3: one stage -----------------------------------------------------------------------------------


def _stage_cases(size: Size) -> Sequence[Case]:
    D = DECAY_D[size]
    return [
        Case("binary", partial(correlated, D, size)),
        Case("binary, ratio 0.79", partial(correlated, D, size, ratio=0.79, group_size=2)),
        Case("decay q = 1", partial(correlated, D, size, q=1.0)),
        Case("CTM, strong, sparse", partial(logistic_normal, "strong", size, absent=0.05)),
    ]


LEMMAS = Experiment(
    name="and-lemmas",
    title="Lemmas 2 and 3: what one stage does",
    document=DOCUMENT + ", Section 5",
    about="One stage of T = 50 steps from the paper's start, with the paper's threshold: 1/4 for weights of 0 and 1, "
    "else 0.1. Lemma 2: with the threshold the decoded weights are much nearer to Σx than without (the share of the "
    "error that is left). Lemma 3: the steps then reduce |E|₂ (as a share of the start's).",
    cases=_stage_cases,
    methods=("and-one-stage",),
    measures=("decoding", "mixing"),
    seeds={"quick": 3, "full": 10},
    figures=(
        Figure("Decoding error left by the threshold", figures.bars("decoding")),
        Figure("|E|₂ after a stage", figures.bars("mixing")),
    ),
)

# --- Theorem 4: thresholds ---------------------------------------------------------------------------------------


def _schedule_cases(size: Size) -> Sequence[Case]:
    D = DECAY_D[size]
    return [
        *(Case(f"q = {q:g}", partial(correlated, D, size, q=q), {"q": q}) for q in (1.0, 2.0, 4.0)),
        Case("CTM, strong, sparse", partial(logistic_normal, "strong", size, absent=0.05)),
    ]


def _stages(result: Reproduction, method: str, *, case: str, than: str) -> float:
    """Stages until the error is a millionth of the start's, as a share of those of another method."""

    def needed(name: str) -> float:
        error = result.curves.where(case=case, method=name, seed=0).values("error")
        below = np.flatnonzero(error <= 1e-6 * error[0]) if len(error) else np.zeros(0)
        return float(below[0]) if len(below) else (np.inf if len(error) else NOTHING)

    return needed(method) / needed(than)


def _stuck(result: Reproduction, method: str, claim: Claim) -> str:
    case = claim.arguments["case"]
    rows = result.curves.where(case=case, method=method, seed=0)
    first = rows.values("threshold")[1] if len(rows) > 1 else NOTHING
    fixed = result.table.mean("relative", case=case, method="and-published")
    return (
        f"The rule has no constant: here it begins at {told(first, '.2f')}, where weights are at most 1. The "
        f"thresholds 0.1/1.1^j of the paper's experiments end at a relative error of {told(fixed, '.1e')}."
    )


def _as_the_error(result: Reproduction, method: str, claim: Claim) -> str:
    case = claim.arguments["case"]
    rows = result.curves.where(case=case, method=method, seed=0)
    own = straightness(result, method, case=case, factor=claim.arguments["factor"])
    thresholds = rows.values("threshold")
    quarters = ", ".join(f"{thresholds[i]:.1e}" for i in np.linspace(1, len(thresholds) - 1, 5).astype(int))
    return f"The rule follows the error, of which the same is {told(own, '.3f')}. Thresholds on the way: {quarters}."


SCHEDULE = Experiment(
    name="and-theorem-4",
    title="Theorem 4: thresholds (λ|E₀|/r)^(2/(q+1)) against 0.1/1.1^j",
    document=DOCUMENT + ", Section 6.1",
    about="Two of D weights are there, with distribution function a^q; and correlated topics. The rule as printed, "
    "without a constant, told the truth (r, λ, q of the weights and |E₀|₂ when a stage begins); the same with all four "
    "estimated from the decoded weights; and the thresholds of the paper's experiments.",
    cases=_schedule_cases,
    methods=("and-published", "and-theorem-4", "and-theorem-4-estimated", "facets-same-start"),
    measures=("relative", "error"),
    statistics={"stages": _stages},
    explanations={"stuck": _stuck, "as_the_error": _as_the_error},
    figures=(
        Figure("Error against stages", figures.way("n_iter", across="stages")),
        Figure("Threshold against stages", figures.way("n_iter", "threshold", across="stages")),
    ),
)

# --- Theorem 5: noise, and the Moore-Penrose inverse ---------------------------------------------------------------

NOISES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the length of a part
OUTSIDE = 0.1  # |N|_2 of the start, in least singular values of the truth


def _noisy(gamma: float, signed: bool, size: Size, seed: int) -> Problem:
    """Binary weights, parts of unit length, noise γ N(0, I/m), and an (l, ρ)-start with N outside the span."""
    D = DECAY_D[size]
    problem = correlated(D, size, seed, signed=signed)
    assert problem.truth is not None
    assert problem.start is not None
    lengths = np.linalg.norm(problem.truth, axis=1, keepdims=True)
    truth, rng = problem.truth / lengths, np.random.default_rng(seed)
    start = problem.start @ np.linalg.pinv(problem.truth) @ truth
    N = rng.standard_normal(truth.shape)
    start = start + N * OUTSIDE * np.linalg.svd(truth, compute_uv=False)[-1] / np.linalg.norm(N, 2)
    assert problem.weights is not None
    signal = problem.weights @ truth
    X = signal + gamma / np.sqrt(truth.shape[1]) * rng.standard_normal(signal.shape)
    note = f"{X.shape[0]} x {X.shape[1]}, k = {D}, σmax/σmin of the truth {np.linalg.cond(truth):.1f}"
    return Problem(X, D, truth=truth, weights=problem.weights, signal=signal, start=start, note=note)


def _noise_cases(size: Size) -> Sequence[Case]:
    return [
        Case(
            f"{'signed' if signed else 'non-negative'}, γ = {gamma:g}",
            partial(_noisy, gamma, signed, size),
            {"parts": "signed" if signed else "non-negative", "gamma": gamma},
        )
        for signed in (False, True)
        for gamma in (NOISES[:1] if size == "tiny" else NOISES)
    ]


def _by_noise(result: Reproduction, method: str, claim: Claim) -> str:
    than = {"method": claim.arguments["than"]}
    cases = result.table.distinct("case")
    shares = {case: ratio(result, method, column="spectral", to=than, case=case) for case in cases}
    return f"By level: {', '.join(f'{share:.2f} ({case})' for case, share in shares.items())}."


NOISE = Experiment(
    name="and-theorem-5",
    title="Theorem 5: the error under noise beside its bound, and two inverses",
    document=DOCUMENT + ", Section 6.2 and 1.1.3",
    about="Two of D weights are 1; parts of unit length, non-negative (badly conditioned) or signed (well); Gaussian "
    "noise of length γ; threshold 1/4 in all stages, and a start with a part outside the span of the truth. Measured "
    "is |A - A*Σ|₂; the bound r σmax γ / (σmin λ) has no constant in the paper, and none here. The same with the left "
    "inverse of least infinity norm in place of the Moore-Penrose inverse: without noise, and from a start in the span "
    "of the truth, all left inverses decode alike.",
    cases=_noise_cases,
    methods=("and-quarter", "and-least-inverse", "true-weights"),
    measures=("spectral", "over_noise_bound", "relative"),
    seeds={"quick": 1, "full": 5},
    explanations={"by_noise": _by_noise},
    figures=(
        Figure("Error against the noise", figures.against("gamma", "spectral", across="γ", panel="parts")),
        Figure("Error / bound", figures.against("gamma", "over_noise_bound", across="γ", panel="parts"), "table"),
    ),
)

# --- real documents ------------------------------------------------------------------------------------------------

# documents, words (the most frequent ones by documents), topics
CORPORA = {"quick": (3000, 2000, 20), "full": (20_000, 8000, 100)}


@cache
def _corpus(name: str, size: Size) -> tuple[Any, list[str]]:
    data = datasets.load_nips() if name == "NIPS" else datasets.load_newsgroups()
    n, m, _ = CORPORA[size]
    X = sp.csr_array(data.X)[:n]
    words = np.sort(np.argsort(-np.asarray((X > 0).sum(axis=0)).ravel(), kind="stable")[:m])
    X = sp.csr_array(X[:, words])
    X = X[np.asarray(X.sum(axis=1)).ravel() >= 2]  # pairs of words are what anchors are found from
    names = data.feature_names
    assert names is not None
    return X.astype(float), [str(names[word]) for word in words]


def _documents(name: str, size: Size, seed: int) -> Problem:
    X, _ = _corpus(name, size)
    return Problem(X, CORPORA[size][2], note=f"{X.shape[0]} documents, {X.shape[1]} words, k = {CORPORA[size][2]}")


def _toy_documents(seed: int) -> Problem:
    mixture = datasets.make_topics("dir", n_samples=200, n_features=30, n_components=3, random_state=seed)
    rng = np.random.default_rng(seed)
    return Problem(sp.csr_array(rng.multinomial(100, mixture.X), dtype=float), 3, note="a toy")


def _document_cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", _toy_documents)]
    return [Case(name, partial(_documents, name, size)) for name in ("NIPS", "20 Newsgroups")]


def _least_gain(result: Reproduction, method: str, *, over: str) -> float:
    """NPMI of a method minus that of another, in the case where that is least."""
    cases = result.table.distinct("case")
    pairs = [[result.table.mean("npmi", case=case, method=name) for name in (method, over)] for case in cases]
    return float(np.min([a - b for a, b in pairs])) if pairs else NOTHING


def _top_words(result: Reproduction) -> dict[str, Any]:
    """The six most coherent topics of every method, as words."""
    from partwise.metrics import topic_coherence

    panels = {}
    for case in result.table.distinct("case"):
        if case == "toy":
            X, words = _toy_documents(0).X, [f"word {i}" for i in range(30)]
        else:
            X, words = _corpus(case, result.manifest["size"])
        for method in figures.methods(result):
            H = result.kept(case, method, 0)
            if H is None:
                continue
            values = topic_coherence(H, X)
            figure, axes = figures.chart("", "", height=2.6, left=0.02, bottom=0.02)
            axes.set_axis_off()
            for line, topic in enumerate(np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")[:6]):
                text = ", ".join(words[word] for word in np.argsort(-H[topic], kind="stable")[:7])
                axes.text(0.0, 0.95 - line / 6, f"{values[topic]:.2f}  {text}", fontsize=8.5, va="top", color=INK)
            panels[f"{case}, {method}"] = figure
    return panels


TOPICS = Experiment(
    name="and-real-topics",
    title="Appendix: topics of real documents",
    document=DOCUMENT + ", appendix",
    about="The paper's AND from near-pure documents (word frequencies), on the NIPS papers and on 20 Newsgroups, "
    "beside HALS and the topics by anchor words that the paper takes for its truth. The appendix is not in the "
    "published file, so that nothing can be held against its pictures; what is measured is the coherence (NPMI in the "
    "documents themselves) of the ten top words.",
    cases=_document_cases,
    methods=("and-cold", "facets-frequencies", "hals-frequencies", "anchor-topics-published"),
    measures=("npmi",),
    seeds={"quick": 1, "full": 1},
    statistics={"least_gain": _least_gain},
    keep=True,
    figures=(
        Figure("Coherence", figures.bars("npmi")),
        Figure("Top words of the most coherent topics, with their NPMI", _top_words),
    ),
)

EXPERIMENTS: tuple[Experiment, ...] = (LEMMAS, SCHEDULE, NOISE, TOPICS)
