"""Table 2 of the TSVDNMF paper, and its leave-one-out experiment: synthetic data under heavy noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise import datasets
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.values import NOTHING, quotient, told

DOCUMENT = "Bhattacharyya, Goyal, Kannan, Pani (2016), Non-negative matrix factorization under heavy noise"

COLUMNS = tuple(
    (kind, noise, level)
    for noise, levels in (("gaussian", (0.5, 1, 2)), ("multinomial", (10, 60, 100)))
    for kind in ("separable", "dominant")
    for level in levels
)
SPAS = ("spa-features", "er-spa-features", "pw-spa-features")
BASELINES = (*SPAS, "gillis-lp")
CHANGED = (
    "The literal method has the constants that the paper prints (ε0 = 0.04, α = 0.9, ν = 1.15), and its numbers are "
    "below the published ones. The authors' own program (github.com/jagdeeppani/tsvdnmf; here tsvdnmf-program) has "
    "others, with which Table 2 comes out: thresholds at the 4% fractile, or at the least positive entry of a rare "
    "feature, where ε0/2 is 2%; g(i, l) is the n/(6k)-th largest entry in place of the ε0 n/2-th; ν = 1.05; and a "
    "component is the mean of 0.55 n/k records, five in Table 2, in place of ε0 n/4, which is one. Ours (tsvdnmf) "
    "has an ε0 that is a share of the records of a component, by their density, and averages at least eight records; "
    "negative entries of components are set to zero."
)
SYNTHETIC = {"n_samples": 100, "n_features": 100, "n_components": 10}  # the paper's
TINY = {"n_samples": 40, "n_features": 30, "n_components": 3}


def _column(kind: str, noise: str, level: float) -> str:
    sign = "β" if noise == "gaussian" else "m"
    return f"{kind}, {noise} {sign} = {level:g}"


NAMES = tuple(_column(*column) for column in COLUMNS)


def heavy(index: int, shape: Mapping[str, int], seed: int) -> Any:
    """A data set of a column of Table 2."""
    kind, noise, level = COLUMNS[index]
    rng = np.random.default_rng([seed, index])
    make: Any = datasets.make_separable if kind == "separable" else datasets.make_dominant
    clean = make(**shape, random_state=rng)
    if noise == "gaussian":
        return datasets.add_gaussian_noise(clean, level, random_state=rng)
    return datasets.add_multinomial_noise(clean, int(level), random_state=rng)


def _table2(index: int, shape: Mapping[str, int], seed: int) -> Problem:
    return Problem.of(heavy(index, shape, seed))


def _table2_cases(size: Size) -> Sequence[Case]:
    shape, count = (TINY, 1) if size == "tiny" else (SYNTHETIC, len(COLUMNS))
    return [
        Case(NAMES[i], partial(_table2, i, shape), dict(zip(("kind", "noise", "level"), COLUMNS[i], strict=True)))
        for i in range(count)
    ]


def best_of(result: Reproduction, column: str, case: str, methods: Sequence[str]) -> float:
    """The largest mean of a column among the methods that were measured."""
    means = [result.table.mean(column, case=case, method=name) for name in methods]
    return max((value for value in means if np.isfinite(value)), default=NOTHING)


def relative_gain(
    result: Reproduction, method: str, column: str, cases: Sequence[str], baselines: Sequence[str]
) -> float:
    """Mean, over the cases where a baseline is above zero, of the gain over the best of them, in per cent."""
    best = {case: best_of(result, column, case, baselines) for case in cases}
    gains = [
        result.table.mean(column, case=case, method=method) / best[case] - 1.0 for case in cases if best[case] > 0.0
    ]
    return 100.0 * float(np.mean(gains)) if gains else NOTHING


def _gain(result: Reproduction, method: str, *, column: str) -> float:
    """The same in all columns of Table 2 but the first: of the published table 27.6, where the text says 27.4."""
    return relative_gain(result, method, column, NAMES[1:], BASELINES)


def _best_baseline(result: Reproduction, method: str, *, case: str) -> float:
    """The largest score of a separable method."""
    return best_of(result, "score", case, BASELINES)


def _lead(result: Reproduction, method: str, *, over: str, case: str) -> float:
    """How far a method is ahead of another, as a share of the other's score, in per cent."""
    mine, other = (result.table.mean("score", case=case, method=name) for name in (method, over))
    return 100.0 * (quotient(mine, other) - 1.0)


def _own_table(result: Reproduction, method: str, claim: Claim) -> str:
    published = {
        name: row[claim.arguments["case"]]
        for name, row in result.experiment.published("score").items()
        if name in BASELINES
    }
    listed = ", ".join(f"{name} {value:.3f}" for name, value in published.items())
    return f"The paper's own table says otherwise: {listed}. The words hold for dominant data alone."


def _best_elsewhere(result: Reproduction, method: str) -> float:
    """Number of columns, other than the first, in which the method is ahead of all baselines."""
    own = [result.table.mean("score", case=name, method=method) for name in NAMES[1:]]
    best = [best_of(result, "score", name, BASELINES) for name in NAMES[1:]]
    return NOTHING if np.isnan([own, best]).any() else float(np.sum(np.greater_equal(own, best)))


def _ahead_in(result: Reproduction, method: str, *, column: str, of: str) -> float:
    """Number of columns in which the method scores more than another."""
    pairs = [[result.table.mean(column, case=name, method=one) for one in (method, of)] for name in NAMES]
    return NOTHING if np.isnan(pairs).any() else float(sum(ours > other for ours, other in pairs))


def _mean_record(result: Reproduction, method: str, claim: Claim) -> str:
    """The scores of the mean record beside the published ones."""
    published = result.experiment.published("score")["tsvdnmf"]
    scores = {name: result.table.mean("score", case=name, method="trivial-constant") for name in NAMES}
    listed = ", ".join(f"{scores[name]:.3f} ({published[name]:.3f})" for name in NAMES)
    return (
        "One record, the mean, with non-negative weights has less noise than any ten components: its scores, and the "
        f"published ones of TSVDNMF, column by column: {listed}. The measure is of the fit to the signal, not of "
        "components."
    )


def _better_lp(result: Reproduction, method: str, claim: Claim) -> str:
    case = claim.arguments["case"]
    lp, spa = (result.table.mean("score", case=case, method=name) for name in ("gillis-lp", "spa-features"))
    published = result.experiment.published("score")
    return (
        "The linear program is told a level of noise, which the paper does not give; ours is estimated from the "
        f"data. The LP and SPA on the same data: {lp:.3f} and {told(spa, '.3f')}; in the paper "
        f"{published['gillis-lp'][case]:.3f} and {published['spa-features'][case]:.3f}."
    )


def _scores(result: Reproduction, method: str, claim: Claim) -> str:
    """The scores behind a number: of all methods in its column, or of this one in all columns."""
    if "case" in claim.arguments:
        names = ("tsvdnmf-literal", "tsvdnmf-program", "tsvdnmf", *BASELINES, "trivial-constant")
        rows = result.table.where(case=claim.arguments["case"])
        shown = [f"{name} {told(rows.mean('score', method=name), '.3f')}" for name in names]
        return f"Scores: {', '.join(shown)}."
    column = claim.arguments.get("column", "score")
    pairs = (
        (result.table.mean(column, case=name, method=method), best_of(result, column, name, BASELINES))
        for name in NAMES
    )
    listed = ", ".join(f"{own:.3f} ({best:.3f})" for own, best in pairs)
    return f"Its scores, and those of the best separable method, column by column: {listed}."


TABLE2_EXPERIMENT = Experiment(
    name="tsvdnmf-table2",
    title="Table 2: recovery of the factorization under heavy noise",
    document=DOCUMENT,
    about="100 records of 100 features, ten components; separable and dominant data, Gaussian noise of the size"
    " β of the signal and multinomial noise of m draws a record. Separable methods pick features, whose "
    "values are the weights, and find the components by non-negative least squares; the others find the "
    "weights so. The score is one minus the l1 residual against the noiseless data.",
    cases=_table2_cases,
    methods=(
        "tsvdnmf-literal",
        "tsvdnmf-program",
        "tsvdnmf",
        "tsvdnmf-l1",
        "tsvdnmf-refined",
        "spa-features",
        "er-spa-features",
        "pw-spa-features",
        "gillis-lp",
        "xray-features",
        "kmeans",
        "tsvd",
        "true-components",
    ),
    slow=("gillis-lp", "tsvdnmf-l1"),
    measures=("part_error", "score"),
    seeds={"quick": 5, "full": 10},
    statistics={
        "gain": _gain,
        "best_elsewhere": _best_elsewhere,
        "best_baseline": _best_baseline,
        "lead": _lead,
        "ahead_in": _ahead_in,
    },
    explanations={"better_lp": _better_lp, "own_table": _own_table, "mean_record": _mean_record, "scores": _scores},
    changed=CHANGED,
    figures=(
        Figure("Ours beside the published numbers", figures.beside("score"), "table"),
        Figure("Scores; the mark is the published number", figures.bars("score")),
    ),
)


def _left_out(index: int, shape: Mapping[str, int], seed: int) -> Problem:
    """The seed also says which record is left out."""
    mixture = heavy(index, shape, seed // shape["n_samples"])
    out = seed % shape["n_samples"]
    rest = np.arange(shape["n_samples"]) != out
    note = f"{rest.sum()} x {shape['n_features']}, k = {shape['n_components']}, one record left out"
    return Problem(
        mixture.X[rest],
        shape["n_components"],
        truth=mixture.components,
        weights=mixture.weights[rest],
        signal=mixture.signal[rest],
        held_out=mixture.X[[out]],
        held_out_signal=mixture.signal[[out]],
        note=note,
    )


def _left_out_cases(size: Size) -> Sequence[Case]:
    shape, count = (TINY, 1) if size == "tiny" else (SYNTHETIC, len(COLUMNS))
    return [Case(NAMES[i], partial(_left_out, i, shape)) for i in range(count)]


LEAVE_ONE_OUT = Experiment(
    name="tsvdnmf-leave-one-out",
    title="Leave one record out: components from the others, tested on the one",
    document=DOCUMENT,
    about="The supplement's experiment, of which the paper gives one number, an average gain of 12.7%, and neither "
    "the procedure nor a table. Here components are found without one record, which is then explained by them: the "
    "score is one minus the l1 residual of its noiseless values. That gain and ours are unlike numbers, so what is "
    "judged is the sign alone. A seed is a record left out.",
    cases=_left_out_cases,
    methods=(
        "tsvdnmf-literal",
        "tsvdnmf-program",
        "tsvdnmf",
        "tsvdnmf-refined",
        "spa-features",
        "er-spa-features",
        "pw-spa-features",
        "gillis-lp",
        "true-components",
    ),
    slow=("gillis-lp",),
    measures=("held_out",),
    seeds={"quick": 10, "full": 100},
    statistics={"gain": _gain},
    explanations={"scores": _scores},
    changed=CHANGED,
    figures=(Figure("Scores of the record left out", figures.bars("held_out")),),
)

EXPERIMENTS = (TABLE2_EXPERIMENT, LEAVE_ONE_OUT)
