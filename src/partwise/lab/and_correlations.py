"""The title of the AND paper: how strong correlations may be, and what else the weights must be like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise import datasets
from partwise.datasets import Mixture
from partwise.lab import figures, phases
from partwise.lab.and_ import DOCUMENT, START, pace, rises, times_as_many
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.values import along, told

SAMPLES: dict[str, int] = {"tiny": 200, "quick": 2000, "full": 5000}
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "tiny": {"D": (4,), "ratio": (0.0, 0.5), "q": (2.0,), "s": (1,), "decay": (0.0,)},
    "quick": {
        "D": (8, 16, 32),
        "ratio": (0.0, 0.5, 0.79, 0.9, 0.95, 0.99),
        "q": (1.0, 4.0, np.inf),
        "s": (1, 2, 4, 8, 12, 16, 24),
        "decay": (0.0, 0.3, 0.6, 0.79, 0.9, 0.95, 0.99),
    },
    "full": {
        "D": (8, 16, 32, 64, 128),
        "ratio": (0.0, 0.25, 0.5, 0.7, 0.79, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0),
        "q": (1.0, 2.0, 4.0, 8.0, 16.0, np.inf),
        "s": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
        "decay": (0.0, 0.2, 0.4, 0.6, 0.7, 0.79, 0.85, 0.9, 0.95, 0.98, 0.99),
    },
}
DECAY_D = {"tiny": 4, "quick": 16, "full": 32}


def correlated(D: int, size: Size, seed: int, **more: Any) -> Problem:
    """Weights of the theorems, and the paper's start."""
    mixture = datasets.make_correlated_mixtures(
        n_samples=SAMPLES[size], n_features=3 * D, n_components=D, random_state=seed, **more
    )
    return _started(mixture, seed)


def _started(mixture: Mixture, seed: int) -> Problem:
    start = mixture.warm_start(START, random_state=seed)
    return Problem.of(mixture, start=start, note=f"start at A*(I + U), U up to {START:g}")


def _correlation_cases(size: Size) -> Sequence[Case]:
    grid = GRIDS[size]
    return [
        Case(
            f"D = {D}, ratio {ratio:g}",
            partial(correlated, D, size, ratio=ratio, group_size=2),
            {"D": D, "ratio": ratio},
        )
        for D in grid["D"]
        for ratio in grid["ratio"]
    ]


CORRELATIONS = Experiment(
    name="and-correlations",
    title="Theorem 1: correlations of the order of the highest possible",
    document=DOCUMENT + ", Theorem 1",
    about="Weights of 0 and 1. Components come in pairs, two pairs are active in a sample, and the ratio "
    "E[xᵢxⱼ]/min(E[xᵢ], E[xⱼ]) inside a pair goes from 0 (never together) to 1 (never apart, where nobody can tell "
    "them apart). The start is the paper's, whose |U|₂ grows with D to about 0.6. The curve is the "
    "theorem's m = C k D λ⁴/r⁵; its constant C has no name in the paper and is taken from where recovery ends for the "
    "smallest D. At the same ratio E[xᵢxⱼ] falls as 1/D, as the highest possible does: a border that does not move "
    "with D is what the title claims.",
    cases=_correlation_cases,
    methods=("and-quarter", "and-published", "facets-same-start"),
    measures=("relative", "error", "correlation_bound"),
    statistics=phases.STATISTICS,
    figures=(Figure("Where recovery ends", phases.phase("ratio", "D", across="ratio", up="D"), "table"),),
)


def _decay_cases(size: Size) -> Sequence[Case]:
    D, grid = DECAY_D[size], GRIDS[size]
    return [
        Case(
            f"q = {q:g}, ratio {ratio:g}",
            partial(correlated, D, size, ratio=ratio, group_size=2, q=q),
            {"q": q, "ratio": ratio},
        )
        for q in grid["q"]
        for ratio in grid["decay"]
    ]


def _no_constant(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(method=method, ratio=0.0)
    listed = along(rows, "relative", "q", style=".0e", label="q = {:g}")
    return (
        "The rule (λ|E₀|/r)^(2/(q+1)) has no constant and tends to 1, the largest weight, as q grows; for binary "
        f"weights Theorem 1 has 1/4. Relative error without correlation: {listed}."
    )


def _by_q(result: Reproduction, method: str, claim: Claim) -> str:
    found = phases.borders(result, method, "ratio", "q")
    listed = ", ".join(f"{told(border, 'g')} (q = {q:g})" for q, border in found.items())
    return f"Largest ratio up to which the truth is recovered: {listed}. Steps of the grid are that far apart."


DECAY = Experiment(
    name="and-decay",
    title="Theorem 4: the larger the order of decay, the more correlation",
    document=DOCUMENT + ", Theorem 4",
    about="As in and-correlations, but a weight that is there has the distribution function a^q on [0, 1], which is "
    "Definition 3 with equality; the ratio is that of being there together. The curve is Theorem 4's bound on m, its "
    "constant taken from where recovery ends for the smallest q.",
    cases=_decay_cases,
    methods=("and-published", "and-theorem-4", "facets-same-start"),
    measures=("relative", "error", "correlation_bound"),
    statistics=phases.STATISTICS,
    explanations={"no_constant": _no_constant, "by_q": _by_q},
    figures=(Figure("Where recovery ends", phases.phase("ratio", "q", across="ratio", up="q"), "table"),),
)


def _dirichlet(D: int, s: int, size: Size, seed: int) -> Problem:
    mixture = datasets.make_topics(
        "dir", n_samples=SAMPLES[size], n_features=3 * D, n_components=D, concentration=s / D, random_state=seed
    )
    return _started(mixture, seed)


def _sparse_cases(size: Size) -> Sequence[Case]:
    grid = GRIDS[size]
    return [
        Case(
            f"{kind}, D = {D}, s = {s}",
            partial(correlated, D, size, n_active=s) if kind == "s-sparse" else partial(_dirichlet, D, s, size),
            {"kind": kind, "D": D, "s": s, "within": "yes" if s <= np.ceil(D ** (1 / 6)) else "no"},
            skip=() if kind == "s-sparse" else ("and-quarter",),  # whose threshold is for weights of 0 and 1
        )
        for kind in ("s-sparse", "Dirichlet(s/D)")
        for D in grid["D"]
        for s in grid["s"]
        if s < D  # with s = D all weights are 1
    ]


def _by_d(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(method=method, kind=claim.arguments["kind"], within="yes")
    listed = along(rows, "relative", "D", style=".0e", label="D = {:g}")
    return f"Relative errors, the worst of all s: {listed}. The statement is an order, for large D."


SPARSE = Experiment(
    name="and-sparse-weights",
    title="Proposition 1: s-sparse and Dirichlet weights, s up to D^(1/6) and beyond",
    document=DOCUMENT + ", Proposition 1",
    about="The two examples of Proposition 1: exactly s of D weights are 1, uniformly; and Dirichlet weights with the "
    "parameters s/D. The paper's bound gives recovery for s = O(D^(1/6)), which is below 3 for all D here. (The "
    "second example's m is printed as 1/(sD); the exact one is s/(s + 1).)",
    cases=_sparse_cases,
    methods=("and-quarter", "and-published", "facets-same-start"),
    measures=("relative", "error", "gcc"),
    statistics=phases.STATISTICS,
    explanations={"by_d": _by_d},
    figures=(Figure("Where recovery ends", phases.phase("s", "D", across="s", up="D", panel="kind", bound="gcc")),),
)


def _at(low: str, D: int, parts: str) -> dict[str, Any]:
    return {"weights": low, "D": D, "parts": parts, "what": f"{{{low}, 1}}, {parts} parts"}


def _counter_cases(size: Size) -> Sequence[Case]:
    return [
        Case(
            f"{{{low}, 1}}, D = {D}{', signed' if signed else ''}",
            partial(correlated, D, size, n_active=2, absent=1 / D if low == "1/D" else 0.0, signed=signed),
            _at(low, D, "signed" if signed else "non-negative"),
        )
        for D in GRIDS[size]["D"]
        for signed in (False, True)
        for low in ("0", "1/D")
    ]


def _small_mean(result: Reproduction, method: str, claim: Claim) -> str:
    parts = claim.arguments["parts"]
    shifted = result.table.worst("shifted", method=method, weights="1/D", parts=parts)
    return (
        "How far (1 - 1/D) aᵢ + mean(a)/s is from aᵢ is a matter of the parts: those with random signs have a mean of "
        f"about 1/√D of their length. Distance of what was found from these: {shifted:.1e}."
    )


def _between(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(method=method, weights="1/D", seed=0)
    listed = ", ".join(f"{row['shifted']:.2g} and {row['relative']:.2g} ({row['case']})" for row in rows)
    return f"It ends between these and the truth ({rows.mean('iterations'):.0f} stages). Distances from both: {listed}."


COUNTER = Experiment(
    name="and-counterexample",
    title="Section 6.1: weights of 1/D and 1, where the correlation conditions are not enough",
    document=DOCUMENT + ", Section 6.1",
    about="Two weights of a sample are 1, the others 1/D in place of 0: the general correlation conditions hold with "
    "constants of the same order, and the truth cannot be recovered, since data of the parts aᵢ is also data of the "
    "parts (1 - 1/D) aᵢ + mean(a)/s with weights of 0 and 1. That is what is found. How far it is from the truth "
    "depends on mean(a), which the paper does not say: far for non-negative parts, and ever nearer for signed ones.",
    cases=_counter_cases,
    methods=("and-quarter", "and-published", "facets-same-start"),
    measures=("relative", "shifted", "gcc"),
    explanations={"small_mean": _small_mean, "between": _between},
    figures=(
        Figure("Error with zeros and with 1/D", figures.against("D", "relative", across="D", panel="what")),
        Figure("Distance from what the data looks like", figures.against("D", "shifted", across="D", panel="what")),
    ),
)

# logistic normal: correlation of the logits in pairs of topics and their scale, by the correlation of the weights
LOGITS = {"weak": (0.9, 8.0), "strong": (0.99, 16.0), "very strong": (0.99, 8.0)}
ABSENT = 0.05  # weights below are taken for absent


def logistic_normal(name: str, size: Size, seed: int, *, absent: float = 0.0) -> Problem:
    """A correlated topic model with real correlations; without the topics that are hardly there, if so wanted."""
    rho, scale = LOGITS[name]
    mixture = _logistic(size, seed, covariance=rho, block_size=2, scale=scale)
    W = np.where(mixture.weights < absent, 0.0, mixture.weights)
    W = W / W.sum(axis=1, keepdims=True)
    return _started(Mixture(W @ mixture.components, mixture.components, W), seed)


def _published_ctm(size: Size, seed: int) -> Problem:
    return _started(_logistic(size, seed), seed)


def _logistic(size: Size, seed: int, **more: Any) -> Mixture:
    D = {"tiny": 4, "quick": 20, "full": 100}[size]
    shape: dict[str, Any] = {"n_samples": SAMPLES[size], "n_features": 10 * D, "n_components": D}
    return datasets.make_topics("ctm", **shape, **more, random_state=seed)


def _ctm_cases(size: Size) -> Sequence[Case]:
    return [
        Case("CTM", partial(_published_ctm, size), {"correlation": "none", "topics": "all"}),
        *(
            Case(
                f"CTM, {name}{', sparse' if absent else ''}",
                partial(logistic_normal, name, size, absent=absent),
                {"correlation": name, "topics": "sparse" if absent else "all"},
            )
            for name in LOGITS
            for absent in (0.0, ABSENT)
        ),
    ]


def _fresh_logits(result: Reproduction, method: str, claim: Claim) -> str:
    listed = ", ".join(
        f"{result.table.mean('weight_correlation', method=method, case=case):.2f} ({case})"
        for case in result.table.distinct("case")
    )
    return (
        f"The authors' program draws the logits' matrix anew for each document. Largest correlation by case: {listed}."
    )


def _never_absent(result: Reproduction, method: str, claim: Claim) -> str:
    case, sparse = claim.arguments["case"].removesuffix(", sparse"), claim.arguments["case"].endswith(", sparse")
    errors = [result.table.mean("relative", method=method, case=name) for name in (case, f"{case}, sparse")]
    if sparse:
        ours = result.table.mean("relative", method="facets-same-start", case=f"{case}, sparse")
        return (
            f"Too correlated for these thresholds: the relative error ends at {errors[1]:.1e}, that of Facets from the "
            f"same start at {told(ours, '.1e')}."
        )
    return (
        "Logistic-normal weights are never zero and satisfy no decay condition (Definition 3), so that Theorem 4 does "
        f"not apply: the relative error ends at {errors[0]:.1e}. The same weights with those below {ABSENT:g} absent, "
        f"about as correlated: {errors[1]:.1e}."
    )


def _slows_down(result: Reproduction, method: str, claim: Claim) -> str:
    """How fast the error falls at first and in the end: on a line both are the same."""
    errors = result.curves.where(case=claim.arguments["case"], method=method, seed=0).values("error")
    quarter = max(len(errors) // 4, 1)
    first, last = errors[0] / errors[quarter], errors[-1 - quarter] / errors[-1]
    return (
        f"The error falls by a factor of {first:.2g} in the first quarter of the stages and of {last:.2g} in the last, "
        f"to {errors[-1]:.1e}: it comes to an end above zero, as the claim on convergence says."
    )


def _does_not_oscillate(result: Reproduction, method: str, claim: Claim) -> str:
    shares = [
        f"{told(rises(result, method, case=case), '.1%')} ({case})"
        for case in result.table.distinct("case")
        if len(result.table.where(case=case, method=method))
    ]
    return f"Passes in which the error rises: {', '.join(shares)}."


CTM = Experiment(
    name="and-correlated-topics",
    title="A correlated topic model that deserves the name",
    document=DOCUMENT + ", Section 7",
    about="The CTM of the paper's program has fresh logits for each document: no two topics are correlated. Here "
    "logits come in pairs of correlation 0.9 to 0.99, so that the largest correlation of two weights is between 0.1 "
    "and 0.7 (the table has it). Each also with weights below 0.05 set to 0: documents of a few topics.",
    cases=_ctm_cases,
    methods=("and-published", "facets-same-start", "hals-plain", "anls"),
    measures=("relative", "error", "weight_correlation", "passes_1e-2", "passes_1e-6"),
    statistics={"times_as_many": times_as_many, "rises": rises},
    explanations={
        "never_absent": _never_absent,
        "fresh_logits": _fresh_logits,
        "slows_down": _slows_down,
        "pace": pace,
        "does_not_oscillate": _does_not_oscillate,
    },
    figures=(Figure("Error against stages", figures.way("n_iter", across="stages")),),
)

EXPERIMENTS: tuple[Experiment, ...] = (CORRELATIONS, DECAY, SPARSE, COUNTER, CTM)
