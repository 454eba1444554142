"""The experiments of the AND paper: Figures 1 and 2 and the appendix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from partwise import datasets
from partwise.exceptions import DataNotFoundError
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.contenders.lecture import CITED
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.measures.and_ import SHARES
from partwise.lab.values import NOTHING, along, exponent, quotient, ratio, told

DOCUMENT = "Li, Liang (2017), Provable alternating gradient descent for NMF with strong correlations"

# samples, components, features of "dir" and "ctm", features of "neg"
SHAPES: dict[str, tuple[int, int, int, int]] = {
    "tiny": (120, 4, 20, 16),
    "quick": (1000, 20, 300, 200),
    "full": (5000, 100, 2000, 1000),
}
# of the corpus' 7,605, in Figure 1 and where the sparsity is changed, so that a run takes less than an hour; the paper
# does not say how many its topics have
WORDS = 2000
START = 0.05  # the paper's level: U is uniform on [-0.05, 0.05)
# of the noise: the paper's six; of the start and of the weights: around the paper's 0.05
NOISES = (0.1, 0.05, 0.01, 0.005, 0.001, 0.0005)
LEVELS = (0.02, 0.05, 0.07, 0.1, 0.14, 0.2, 0.5)
CONCENTRATIONS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.5)
COMPETITORS = ("hals", "hals-plain", "anls", "mu", "online-lda")
# what is another thing than the method of the same name only where data or components are negative
SIGNED = ("hals-signed", "anls-signed", "hals-unclipped", "anls-unclipped")


@cache
def nips_topics(count: int, words: int | None = None) -> np.ndarray | None:
    """Topics of the NIPS papers by the algorithm that the authors cite for theirs; None where there is no corpus.

    Arora et al. (2013): FastAnchorWords among the words of at least 50 documents, RecoverL2, Bayes' rule. Of all words,
    or of the so many that are most frequent in the topics.
    """
    import partwise as pw

    try:
        corpus = datasets.load_nips()
    except DataNotFoundError:
        return None
    found = pw.AnchorTopics(count, **CITED).fit(corpus.X).components_
    found = np.maximum(found, 0.0)
    found /= found.sum(axis=1, keepdims=True)
    if words is not None:
        found = found[:, np.sort(np.argsort(-found.sum(axis=0), kind="stable")[:words])]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def topics(kind: str, size: Size, seed: int, *, level: float = START, words: int | None = None, **more: Any) -> Problem:
    """The paper's data with its start, A*(I + U)."""
    n, k, m, m_signed = SHAPES[size]
    # the corpus has 7,605 words and takes a minute: smaller runs make their topics up
    learnt = nips_topics(k, words) if size == "full" and kind != "neg" else None
    if learnt is not None:
        shape: dict[str, Any] = {"components": learnt}
        what = "topics of the NIPS corpus by Arora et al. (2013), as published"
        what += f", its {words:,} most frequent words" if words else ""
    else:
        shape = {"n_components": k, "n_features": m_signed if kind == "neg" else m}
        what = "signed parts, uniform" if kind == "neg" else "topics from a generator, Dirichlet(0.05)"
    mixture = datasets.make_topics(kind, n_samples=n, **shape, **more, random_state=seed)
    start = mixture.warm_start(level, random_state=seed)
    return Problem.of(mixture, start=start, note=f"{what}; start at A*(I + U), U up to {level:g}")


def _kinds(*kinds: str, words: int | None = None) -> Callable[[Size], Sequence[Case]]:
    return lambda size: [Case(kind.upper(), partial(topics, kind, size, words=words)) for kind in kinds]


def pace(result: Reproduction, method: str, claim: Claim) -> str:
    """Why a competitor is ahead: what each needs, and who wins with both at their best."""
    case, than, column = (claim.arguments[name] for name in ("case", "than", "column"))

    def need(name: str) -> str:
        return told(result.table.mean(column, case=case, method=name), ".0f")

    share = column.partition("_")[2]
    return (
        f"Passes to {share} of the start's error: the published AND, whose thresholds fall by 1.1 a stage, "
        f"{need('and-published')}; {than} {need(than)}; HALS without extrapolation {need('hals-plain')}; Facets, from "
        f"the same start, {need('facets-same-start')}."
    )


def times_as_many(result: Reproduction, method: str, *, column: str, case: str, than: str) -> float:
    """How many times the method's passes (or seconds) another needs."""
    both = [result.table.mean(column, case=case, method=name) for name in (than, method)]
    # where the method itself never gets there, nobody is slower
    return 0.0 if np.isinf(both[1]) else quotient(*both)


def _share_left(result: Reproduction, method: str, *, case: str) -> float:
    """Final error as a share of the common start's."""
    _, error = result.curve("error", case=case, method=method, seed=0)
    return float(error[-1] / _begin(result, case, error)) if len(error) else NOTHING


def _begin(result: Reproduction, case: str, error: np.ndarray) -> float:
    """The error of the common start, or the first of a curve where that was not run."""
    begin = result.table.mean("error", case=case, method="trivial-start")
    return float(error[0]) if np.isnan(begin) else begin


def _still_falling(result: Reproduction, method: str, claim: Claim) -> str:
    """How far it was half way, and at the end."""
    case = claim.arguments["case"]
    rows = result.curves.where(case=case, method=method, seed=0)
    steps, error = rows.values("n_iter"), rows.values("error") / _begin(result, case, rows.values("error"))
    half = int(np.searchsorted(steps, steps[-1] / 2.0))
    return (
        f"It falls slowly: {error[half]:.1e} of the start's error is left after {steps[half]:.0f} iterations, "
        f"{error[-1]:.1e} after {steps[-1]:.0f}; it rises in {told(rises(result, method, case=case), '.0%')} of them."
    )


def rises(result: Reproduction, method: str, *, case: str) -> float:
    """Share of the iterations in which the error rises."""
    _, error = result.curve("error", case=case, method=method, seed=0)
    return float(np.mean(np.diff(error) > 0.0)) if len(error) > 1 else NOTHING


def _no_oscillation(result: Reproduction, method: str, claim: Claim) -> str:
    shares = [told(rises(result, name, case="CTM"), ".1%") for name in ("hals-plain", "hals")]
    return (
        "HALS never raises its objective here; its error rises, without and with extrapolation, in "
        f"{shares[0]} and {shares[1]} of the passes."
    )


def _figure1_cases(size: Size) -> Sequence[Case]:
    cases = _kinds("dir", "ctm", "neg", words=WORDS)(size)
    return [replace(case, skip=() if case.name == "NEG" else SIGNED) for case in cases]


FIGURE1 = Experiment(
    name="and-figure1",
    title="Figure 1: convergence to the ground truth on DIR, CTM and NEG",
    document=DOCUMENT,
    about="Documents of topics with Dirichlet (DIR) and logistic-normal (CTM) weights, and signed parts (NEG). "
    "All start from the truth mixed with itself, A*(I + U); Facets also runs from a cold start that knows "
    "nothing. Methods for non-negative data get NEG with its negative entries set to zero, and once more as it is; "
    "HALS and ANLS also run without the clamp on the components. Verdicts are on passes over the data, which no load "
    "of the machine changes: a pass is a product with the data, two an iteration for all (at least one for LDA; eight "
    "more before the first stage of Facets, nine before accelerated HALS), 250 iterations for all. Times are tabled. "
    f"So that all takes less than an hour of one core at full size: {WORDS:,} words, the most frequent of 7,605 (the "
    "paper has no number), a limit of 100 s of the processor for a fit, and two seeds in place of three.",
    cases=_figure1_cases,
    methods=("and-published", "facets-same-start", "facets", *COMPETITORS, *SIGNED),
    measures=(
        *(f"{name}_{share}" for name in ("time", "passes") for share in SHARES[::-1]),
        "relative",
        "squared",
        "error",
    ),
    seeds={"quick": 1, "full": 2},
    budget={"tiny": 0.03, "quick": 6.0, "full": 100.0},
    timed=True,
    statistics={"times_as_many": times_as_many, "share_left": _share_left, "rises": rises},
    explanations={"pace": pace, "no_oscillation": _no_oscillation, "still_falling": _still_falling},
    figures=(
        Figure("Error against iterations (two products each)", figures.way("n_iter", across="iterations"), "curves"),
        Figure("Error against time", figures.way(log=True)),
    ),
)


def _stops(result: Reproduction, method: str, *, case: str, than: str) -> float:
    """Final error over that of another method; 0 if it never fell below nine tenths of the start's."""
    rows = result.curves.where(case=case, method=method)
    error = rows.values("error")
    if not len(error):
        return NOTHING
    fell = bool(np.min(error) < 0.9 * error[0])
    return ratio(result, method, column="error", case=case, to={"method": than}) if fell else 0.0


THRESHOLDS = Experiment(
    name="and-figure2-thresholds",
    title="Figure 2(a, b): decreasing against constant thresholds",
    document=DOCUMENT,
    about="The paper's schedule 0.1/1.1^j, the constants 0.0001 and 0.1, and our adaptive schedule, from the "
    "same start.",
    cases=_kinds("dir", "ctm"),
    methods=("and-published", "and-constant-0.0001", "and-constant-0.1", "facets-same-start"),
    measures=("passes_1e-6", "error"),
    budget={"full": 600.0},
    timed=True,
    statistics={"stops": _stops, "times_as_many": times_as_many},
    figures=(
        Figure("Error against time", figures.way(log=True)),
        Figure("Error against stages", figures.way("n_iter", across="stages")),
    ),
)


def _noise_cases(size: Size) -> Sequence[Case]:
    levels = NOISES[:1] if size == "tiny" else NOISES
    return [Case(f"γ = {g:g}", partial(topics, "ctm", size, noise=g), {"gamma": g}) for g in levels]


def _rise(result: Reproduction, method: str) -> float:
    """Largest quotient of the final error and the least on the way; infinite if a curve did not drop first."""
    rises = [
        error[-1] / np.min(error) if _dropped(result, case, error) else np.inf
        for case, error in _curves(result, method)
    ]
    return float(np.max(rises)) if rises else NOTHING


def _curves(result: Reproduction, method: str) -> Iterator[tuple[str, np.ndarray]]:
    """The errors of every case and seed."""
    for case in result.curves.distinct("case"):
        for seed in result.curves.distinct("seed"):
            _, error = result.curve("error", case=case, method=method, seed=seed)
            if len(error):
                yield case, error


def _dropped(result: Reproduction, case: str, error: np.ndarray) -> bool:
    """Whether an error fell to half of that of the common start: "the error drops at the first few steps"."""
    return bool(np.min(error) < 0.5 * _begin(result, case, error))


def _late_changes(result: Reproduction, method: str) -> dict[str, float]:
    """By case: the largest change of the error over the last third of a run, in decades, as the paper's axis has.

    Infinite where the error never dropped to half of the start's.
    """
    changes: dict[str, float] = {}
    for case, error in _curves(result, method):
        change = np.max(np.abs(np.log10(error[2 * len(error) // 3 :] / error[-1])))
        change = change if _dropped(result, case, error) else np.inf
        changes[case] = float(np.maximum(change, changes.get(case, 0.0)))
    return changes


def _late_change(result: Reproduction, method: str) -> float:
    changes = _late_changes(result, method)
    return max(changes.values()) if changes else NOTHING


def _still_rising(result: Reproduction, method: str, claim: Claim) -> str:
    listed = ", ".join(f"{change:.2f} ({case})" for case, change in _late_changes(result, method).items())
    return (
        f"Decades over the last third of the stages: {listed}. The figure of the paper does not say after how many "
        "stages it ends."
    )


def _factors(result: Reproduction, method: str) -> str:
    """By how much the error has risen since it was least, level by level."""
    rows = result.table.where(method=method)
    return ", ".join(
        f"{told(rows.mean('error', gamma=g) / rows.mean('least_error', gamma=g), '.1f')} (γ = {g:g})"
        for g in sorted(rows.distinct("gamma"))
    )


def _rose(result: Reproduction, method: str, claim: Claim) -> str:
    why = " Thresholds far below the noise make weights of it." if method == claim.literal else ""
    return f"Of {method}: {_factors(result, method)}.{why}"


def _risen(result: Reproduction, method: str, claim: Claim) -> str:
    """What the least error on the way would give, and by how much it has risen since."""
    least = exponent(result, method, **(dict(claim.arguments) | {"y": "least_error"}))
    return (
        f"The least error on the way is in proportion (exponent {told(least, '.2f')}). In the end, thresholds being "
        f"far below the noise, it has risen by factors of {_factors(result, method)}."
    )


NOISE = Experiment(
    name="and-figure2-noise",
    title="Figure 2(c): robustness to noise",
    document=DOCUMENT,
    about="CTM with Gaussian noise γ N(0, I/m) at the paper's six levels. The paper's AND takes 100 steps a "
    "stage and starts near the truth; ours, Facets, starts cold and has a floor under its thresholds, estimated "
    "from the data. Least squares on the true weights is what nobody can be asked to beat by much.",
    cases=_noise_cases,
    methods=("and-published-100", "facets", "true-weights"),
    measures=("relative", "error"),
    seeds={"quick": 2, "full": 5},
    statistics={"rise": _rise, "late_change": _late_change},
    explanations={"still_rising": _still_rising, "risen": _risen, "rose": _rose},
    figures=(
        Figure("Final error against the noise", figures.against("gamma", "error", across="noise level γ"), "table"),
        Figure("Error against stages", figures.way("n_iter", across="stages")),
    ),
)


def _start_cases(size: Size) -> Sequence[Case]:
    levels = LEVELS[:1] if size == "tiny" else LEVELS
    return [
        Case(f"{kind.upper()}, level {u:g}", partial(topics, kind, size, level=u), {"kind": kind.upper(), "level": u})
        for kind in ("dir", "ctm")
        for u in levels
    ]


def _largest(result: Reproduction, method: str, *, column: str, **equal: Any) -> float:
    """The largest value of a column up to which the method recovered the truth."""
    rows = result.table.where(method=method, **equal)
    reached = [place for place in rows.distinct(column) if rows.worst("relative", **{column: place}) < 1e-3]
    return max(reached, default=0.0) if len(rows) else NOTHING


def _by_level(result: Reproduction, method: str, claim: Claim) -> str:
    """The relative error from every start."""
    rows = result.table.where(method=method, kind=claim.arguments["kind"])
    listed = along(rows, "relative", "level", style=".0e", label="u = {:g}")
    return f"Relative errors: {listed}. |U|₂ grows with u and with the number of topics."


INITIALIZATION = Experiment(
    name="and-initialization",
    title="Robustness to the start",
    document=DOCUMENT + ", appendix",
    about="AND from the truth mixed with itself by more and more: U uniform on [-u, u), with 0.05 in the "
    "paper's figures. The appendix says robust without a number that could be held against ours. A cold "
    "start does not depend on u.",
    cases=_start_cases,
    methods=("and-published", "facets-same-start", "facets"),
    measures=("relative", "error"),
    statistics={"largest": _largest},
    explanations={"by_level": _by_level},
    figures=(
        Figure("Error against the start's error", figures.against("level", "relative", across="u", panel="kind")),
    ),
)


def _sparsity(concentration: float, size: Size, seed: int) -> Problem:
    return topics("dir", size, seed, words=WORDS, concentration=concentration)


def _sparsity_cases(size: Size) -> Sequence[Case]:
    values = CONCENTRATIONS[:1] if size == "tiny" else CONCENTRATIONS
    return [Case(f"Dirichlet({c:g})", partial(_sparsity, c, size), {"concentration": c}) for c in values]


SPARSITY = Experiment(
    name="and-sparsity",
    title="Robustness to the sparsity of the weights",
    document=DOCUMENT + ", appendix",
    about="DIR with Dirichlet weights from nearly pure (0.01) to dense (0.5); the paper's figures have 0.05. "
    f"HALS, which uses that topics have no negative entries, is there to compare with. At full size the {WORDS:,} most "
    "frequent of the corpus' 7,605 words.",
    cases=_sparsity_cases,
    methods=("and-published", "facets", "facets-nonnegative", "hals-cold"),
    measures=("relative", "error"),
    statistics={"largest": _largest},
    figures=(
        Figure(
            "Error against the density of the weights",
            figures.against("concentration", "relative", across="Dirichlet parameter"),
        ),
    ),
)

EXPERIMENTS: tuple[Experiment, ...] = (FIGURE1, THRESHOLDS, NOISE, INITIALIZATION, SPARSITY)
