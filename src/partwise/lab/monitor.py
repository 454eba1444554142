"""The proof monitor: what two halves of the samples say of the error, held against the truth that they do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from partwise import datasets
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.contenders.monitor import LOST
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.measurements import Measurements
from partwise.lab.values import NOTHING, told
from partwise.plots.style import FAINT

START = 0.05  # of the other parts in each, for the published methods
# features, components; and samples: our own choice
SHAPES: dict[str, tuple[int, int]] = {"tiny": (30, 3), "quick": (40, 5), "full": (200, 20)}
SAMPLES: dict[str, tuple[int, ...]] = {"tiny": (150,), "quick": (300, 1200), "full": (1000, 4000, 16_000)}
NOISES = (0.01, 0.1)  # of the size of a sample
GENERATORS: dict[str, Any] = {
    "DIR": partial(datasets.make_topics, "dir"),
    "CTM, correlated": partial(datasets.make_topics, "ctm", covariance=0.5, scale=4.0),
    "binary": datasets.make_binary_mixtures,
}
FEW, LOUD, MORE, LESS = "too few samples", "noise as large as the data", "a part too many", "a part too few"
FLOOR = "true-weights"  # least squares, which has no bias
WRONG = ("DIR", "binary")  # the data of the cases that have something against them
# (A3)'s l = 1/10 is where halves are said to agree, so an error of half of it; verdicts are asked for outside a factor
# of 2 around that: above LOST and below this
KEPT = 0.025


def _problem(name: str, n: int, noise: float, more: int, size: Size, seed: int) -> Problem:
    m, k = SHAPES[size]
    mixture = GENERATORS[name](n_samples=n, n_features=m, n_components=k, random_state=seed)
    start = mixture.warm_start(START, random_state=seed)
    mixture = datasets.add_gaussian_noise(mixture, noise, random_state=seed)
    problem = Problem.of(mixture, start=start, note=f"noise {noise:g} of a sample's size, {k + more} parts asked for")
    if not more:
        return problem
    extra = np.random.default_rng(seed).choice(np.asarray(mixture.X), 1)  # a sample as the part too many
    return replace(problem, k=k + more, start=np.vstack([start, extra]) if more > 0 else start[:more])


def _case(name: str, n: int, noise: float, size: Size, what: str = "") -> Case:
    more = {MORE: 1, LESS: -1}.get(what, 0)
    at = {"kind": name, "n": n, "noise": noise, "against": what}
    label = ", ".join(filter(None, (name, f"{n} samples", f"noise {noise:g}", what)))
    return Case(label, partial(_problem, name, n, noise, more, size), at)


def _cases(size: Size) -> Sequence[Case]:
    found = [_case(name, n, noise, size) for name in GENERATORS for n in SAMPLES[size] for noise in NOISES]
    if size == "tiny":
        return found[:1]
    n, k = SAMPLES[size][0], SHAPES[size][1]
    for name in WRONG:
        found += [_case(name, 3 * k, NOISES[0], size, FEW), _case(name, n, 1.0, size, LOUD)]
        found += [_case(name, n, NOISES[0], size, what) for what in (MORE, LESS)]
    return found


def _cells(result: Reproduction, method: str, **equal: Any) -> Measurements:
    """The cells of a method in which something was predicted."""
    several = {name: tuple(value) if isinstance(value, list) else value for name, value in equal.items()}
    rows = result.table.where(method=method, **several)
    return Measurements(row for row in rows if np.isfinite(row.get("predicted", NOTHING)))


def _typical(result: Reproduction, method: str, **equal: Any) -> float:
    """Median over the cells of the true error over the predicted one, both medians over the parts."""
    rows = _cells(result, method, **equal)
    return float(np.median(rows.values("median_error") / rows.values("predicted"))) if len(rows) else NOTHING


def _grows(result: Reproduction, method: str, **equal: Any) -> float:
    """The same on the most samples over that on the fewest: what is common to the halves does not fall with them."""
    sizes = sorted(_cells(result, method, **equal).distinct("n"))
    if len(sizes) < 2:
        return NOTHING
    first, last = (_typical(result, method, **(equal | {"n": n})) for n in (sizes[0], sizes[-1]))
    return last / first


def _rank(result: Reproduction, method: str, *, by: str = "predicted", **equal: Any) -> float:
    """Rank correlation over the cells of a predictor with the true error; what is constant predicts nothing."""
    rows = _cells(result, method, **equal)
    values, errors = rows.values(by), rows.values("median_error")
    if len(rows) < 3:
        return NOTHING
    return float(spearmanr(values, errors).statistic) if np.ptp(values) and np.ptp(errors) else 0.0


def _gain(result: Reproduction, method: str, *, over: str, **equal: Any) -> float:
    """By how much that is better than what a column says that needs no halves."""
    return _rank(result, method, **equal) - _rank(result, method, by=over, **equal)


def _verdicts(result: Reproduction, method: str, **equal: Any) -> float:
    """The lesser share of right verdicts: that all is well where it is, and that it is not where a part is lost."""
    rows = _cells(result, method, **equal)
    worst, apart = rows.values("worst_error"), rows.values("apart") > 0.0
    well, lost = worst <= KEPT, worst >= LOST
    return float(min((~apart[well]).mean(), apart[lost].mean())) if well.any() and lost.any() else NOTHING


def _told(result: Reproduction, method: str, **equal: Any) -> float:
    """Share of the cells in which the halves do not agree on some part."""
    rows = _cells(result, method, **equal)
    return float((rows.values("apart") > 0.0).mean()) if len(rows) else NOTHING


def _by_samples(result: Reproduction, method: str, claim: Claim) -> str:
    """The ratio for every number of samples, which tells a common bias from chance."""
    sizes = sorted(_cells(result, method, **claim.arguments).distinct("n"))
    ratios = (told(_typical(result, method, **(dict(claim.arguments) | {"n": n})), ".2g") for n in sizes)
    pairs = ", ".join(f"{ratio} on {n} samples" for n, ratio in zip(sizes, ratios, strict=True))
    rows = _cells(result, method, **claim.arguments)
    least = [result.table.mean("median_error", method=FLOOR, case=row["case"], seed=row["seed"]) for row in rows]
    share = told(float(np.median(np.array(least) / rows.values("predicted"))), ".2f")
    return (
        f"It is {pairs}. What grows with the samples is a bias that both halves have; below 1 a half is too small. "
        f"Least squares on the true weights, which samples and noise alone decide, errs by {share} of what the halves "
        "predict."
    )


def _mistaken(result: Reproduction, method: str, claim: Claim) -> str:
    """Which way the verdicts are wrong."""
    rows = _cells(result, method, **claim.arguments)
    worst, apart = rows.values("worst_error"), rows.values("apart") > 0.0
    well, lost = worst <= KEPT, worst >= LOST
    half = method.removesuffix("watched") + "half"
    lost_alone = np.array([result.table.mean("lost", method=half, case=row["case"], seed=row["seed"]) for row in rows])
    doubted, trusted = (told(_average(lost_alone[well & chosen]), ".0%") for chosen in (apart, ~apart))
    return (
        f"{(apart & well).sum()} of {well.sum()} good fits are doubted, {(~apart & lost).sum()} of {lost.sum()} bad "
        f"ones are not. Of halves drawn anew {doubted} lose a part where a good fit is doubted, {trusted} where it is "
        "not: the doubt is about half of the samples, not about all."
    )


def _average(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else NOTHING


def _against(row: Mapping[str, Any]) -> str:
    """What a cell has against it; Purification is for independent weights."""
    dependent = row["method"].startswith("purification") and row["kind"] != "binary"
    return str(row["against"] or ("dependent weights" if dependent else "nothing against it"))


def _scatter(by: str, across: str) -> figures.Draw:
    """A panel a method: the true error against a predictor, cell by cell; on the line it is right."""

    def draw(result: Reproduction) -> dict[str, Any]:
        panels = {}
        for method in figures.methods(result):
            rows = _cells(result, method)
            if not len(rows):
                continue
            figure, axes = figures.chart(across, figures.label("median_error"))
            names = [_against(row) for row in rows]
            for i, what in enumerate(dict.fromkeys(names)):
                some = Measurements(row for row, name in zip(rows, names, strict=True) if name == what)
                style: dict[str, Any] = {"s": 22, "lw": 0, "color": figures.COLOURS[i], "marker": figures.MARKERS[i]}
                axes.scatter(some.values(by), some.values("median_error"), label=what, **style)
            ends = [float(np.min(rows.values("median_error"))), float(np.max(rows.values("median_error")))]
            axes.plot(ends, ends, color=FAINT, lw=0.8, ls="--")
            axes.set_xscale("log")
            axes.set_yscale("log")
            figures.legend(axes)
            panels[method] = figure
        return panels

    return draw


MONITOR = Experiment(
    name="proof-monitor",
    title="The error without the truth: two halves of the samples",
    document="This library, for the proofs of Li & Liang (2017) and of Li, Liang & Risteski (2016)",
    about="Every fit is done on all samples and on two halves of them; half of what the halves disagree by is what the "
    "monitor says the error is. Here the truth is known, and is held against it: over noise, numbers of samples and "
    "correlations, and with something against the fit that it should tell. It sees what samples and noise decide. It "
    "does not see what goes wrong in both halves in the same way: the published AND, whose thresholds fall into the "
    "noise, is wrong by several times what its halves disagree by, and so is Purification on weights that depend on "
    "each other (DIR and CTM), where both halves agree on parts that are none; a part too few is seen only if the "
    "halves merge others. And halves can fail where all samples together do not, so that it warns too often there. "
    "Beside them, the same fits on halves of the samples, and least squares on the true weights.",
    cases=_cases,
    methods=(
        *("and-watched", "and-published-watched", "purification-watched", "purification-published-watched"),
        *("and-half", "purification-half", FLOOR),  # evidence for what the halves miss
    ),
    measures=("median_error", "worst_error"),
    seeds={"quick": 1, "full": 5},
    statistics={
        "typical": _typical,
        "grows": _grows,
        "rank": _rank,
        "gain": _gain,
        "verdicts": _verdicts,
        "told": _told,
    },
    explanations={"by_samples": _by_samples, "mistaken": _mistaken},
    figures=(
        Figure("True error against what two halves predict", _scatter("predicted", "half of the disagreement")),
        Figure("True error against the residual of the fit", _scatter("unexplained", "relative error of the fit")),
    ),
)

EXPERIMENTS = (MONITOR,)
