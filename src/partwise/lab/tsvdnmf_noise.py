"""Lemmas 1 to 4 and Theorems 1 and 2 of the TSVDNMF paper, each on noise or data of its own kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise import datasets, metrics
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.contenders.heavy import ALPHA, DOMINANT, EPS4, OWN, PURE, strict_constants
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.measures.tsvdnmf import HEAVY
from partwise.lab.tsvdnmf import DOCUMENT
from partwise.lab.tsvdnmf_texts import real_cases
from partwise.lab.values import quotient
from partwise.plots.style import FAINT

# --- Lemmas 1 to 4: what is heavy noise -------------------------------------------------------------------------

FEATURES: dict[str, tuple[int, ...]] = {"tiny": (20,), "quick": (50, 200), "full": (50, 100, 200, 400, 800)}
RECORDS = 2  # times the number of features
DRAWS = (10, 60, 100)  # the paper's, of Table 2
# one component: records for each feature, from the paper's own shape (d = n) to many
RATIOS = {"tiny": (1,), "quick": (1, 10), "full": (1, 10, 100)}
LIKELIHOOD_FEATURES = 100  # for the maximum likelihood estimate; Table 2's

Noise = Callable[[Any, metrics.NoiseLevels, np.random.Generator], Any]


def _gaussian(data: Any, levels: metrics.NoiseLevels, rng: np.random.Generator, *, level: str = "") -> Any:
    d = data.X.shape[1]
    sigma = {"lemma": levels.gaussian, "root": 1.0 / np.sqrt(d), "seen": levels.visible}[level]
    return datasets.add_correlated_noise(data, float(sigma), spread=0.0, random_state=rng)


def _correlated(data: Any, levels: metrics.NoiseLevels, rng: np.random.Generator, *, printed: bool) -> Any:
    d = data.X.shape[1]
    variance = levels.covariance * (np.sqrt(d) if printed else 1.0)
    return datasets.add_correlated_noise(data, float(np.sqrt(variance)), random_state=rng)


def _multinomial(data: Any, levels: metrics.NoiseLevels, rng: np.random.Generator, *, draws: int) -> Any:
    return datasets.add_multinomial_noise(data, draws or int(np.ceil(levels.draws)), random_state=rng)


def _corrupted(data: Any, levels: metrics.NoiseLevels, rng: np.random.Generator, *, times: float) -> Any:
    return datasets.add_corruption(data, times * levels.corrupted, random_state=rng)


KINDS: dict[str, Noise] = {
    "Gaussian, σ of Lemma 1": partial(_gaussian, level="lemma"),
    "Gaussian, σ = 1/√d": partial(_gaussian, level="root"),
    "Gaussian, σ = 1.25/d": partial(_gaussian, level="seen"),
    "correlated, |Σ| of the order 1/d": partial(_correlated, printed=False),
    "correlated, |Σ| of the order 1/√d": partial(_correlated, printed=True),
    "multinomial, m of Lemma 3": partial(_multinomial, draws=0),
    **{f"multinomial, m = {draws}": partial(_multinomial, draws=draws) for draws in DRAWS},
    "corrupted, ε² of the records": partial(_corrupted, times=1.0),
    "corrupted, 2ε² of the records": partial(_corrupted, times=2.0),
}


def _noisy(kind: str, d: int, seed: int) -> Problem:
    rng = np.random.default_rng([seed, d])
    n = RECORDS * d
    data = datasets.make_dominant(n_samples=n, n_features=d, n_components=3, random_state=rng)
    return Problem.of(KINDS[kind](data, metrics.heavy_noise_levels(n, d, eps=HEAVY), rng), note=kind)


def _one_component(ratio: int, d: int, seed: int) -> Problem:
    """One component, weights of 1 and independent noise of standard deviation 1/sqrt(d)."""
    rng = np.random.default_rng([seed, ratio])
    H, W = rng.dirichlet(np.ones(d), size=1), np.ones((ratio * d, 1))
    data = datasets.Mixture(W @ H, H, W)
    return Problem.of(datasets.add_correlated_noise(data, 1.0 / np.sqrt(d), spread=0.0, random_state=rng))


def _lemma_cases(size: Size) -> Sequence[Case]:
    noisy = [
        Case(f"{kind}, d = {d}", partial(_noisy, kind, d), {"kind": kind, "d": d})
        for kind in KINDS
        for d in FEATURES[size]
    ]
    d = 20 if size == "tiny" else LIKELIHOOD_FEATURES
    one = [
        Case(
            f"one component, n = {ratio} d",
            partial(_one_component, ratio, d),
            {"kind": "one component", "ratio": ratio},
        )
        for ratio in RATIOS[size]
    ]
    return noisy + one


def _predicted(result: Reproduction, method: str) -> float:
    """The error of the mean record over sqrt(2 d / (pi n)), which it has in the mean: the farthest from 1."""
    found = [
        quotient(result.table.mean("basis_l1", method=method, ratio=ratio), float(np.sqrt(2.0 / (np.pi * ratio))))
        for ratio in result.table.where(kind="one component").distinct("ratio")
    ]
    return max(found, key=lambda value: abs(value - 1.0)) if found else float("nan")


def _order(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(kind=claim.arguments["kind"])
    grown = ", ".join(f"{rows.mean('mean_noise', d=d):.2f} (d = {d})" for d in rows.distinct("d"))
    return (
        f"The mean noise of {HEAVY:.0%} of the records grows with d: {grown}. Independent entries of variance 1/√d "
        "have a standard deviation of d^(-1/4), far above the 1/√d beyond which Lemma 1 says that nothing helps: the "
        "root of the norm is meant, |Σ| = O(1/d)."
    )


def _many_records(result: Reproduction, method: str, claim: Claim) -> str:
    return (
        "The error of the mean record is σ d √(2/(π n)) in the mean: of the order of σ √d only if there are about as "
        "many records as features. With more records it vanishes, whatever σ is."
    )


def _draws(result: Reproduction, method: str, claim: Claim) -> str:
    kinds = [kind for kind in KINDS if kind.startswith("multinomial")]
    listed = ", ".join(f"{result.table.worst('mean_noise', kind=kind):.2f} ({kind})" for kind in kinds)
    return f"Lemma 3 asks for 8 c0²/ε⁴ = 8192 draws a record. The largest mean noise: {listed}."


def _noise_figure(result: Reproduction) -> Mapping[str, Any]:
    panels = {}
    rows = result.table.where(method="noise")
    for panel, kinds in {
        "Lemmas 1 and 2": ("Gaussian", "correlated"),
        "Lemmas 3 and 4": ("multinomial", "corrupted"),
    }.items():
        figure, axes = figures.chart("features d", "mean noise")
        shown = [kind for kind in KINDS if kind.startswith(kinds) and len(rows.where(kind=kind))]
        for i, kind in enumerate(shown):
            at = sorted(rows.where(kind=kind).distinct("d"))
            means = [rows.mean("mean_noise", kind=kind, d=d) for d in at]
            axes.plot(at, means, color=figures.COLOURS[i], marker=figures.MARKERS[i], ms=4, lw=1.3, label=kind)
        axes.axhline(HEAVY, color=FAINT, lw=0.9, ls="--")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(top=30.0 * axes.get_ylim()[1])  # room for the names
        figures.legend(axes)
        panels[panel] = figure
    return panels


def _likelihood_figure(result: Reproduction) -> Mapping[str, Any]:
    rows = result.table.where(method="mean-record", kind="one component")
    figure, axes = figures.chart("records / features", "l1 error of the component")
    at = sorted(rows.distinct("ratio"))
    axes.plot(
        at, [rows.mean("basis_l1", ratio=ratio) for ratio in at], color=figures.COLOURS[0], marker="o", ms=4, lw=1.3
    )
    axes.plot(at, [np.sqrt(2.0 / (np.pi * ratio)) for ratio in at], color=FAINT, lw=0.9, ls="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    figures.legend(axes)
    return {"σ = 1/√d": figure}


LEMMAS = Experiment(
    name="tsvdnmf-lemmas",
    title="Lemmas 1 to 4: what heavy noise is, and what it is not",
    document=DOCUMENT,
    about=f"Noise of every kind of Section 2, with ε = {HEAVY}: the largest mean noise over any {HEAVY:.0%} of the "
    "records (equation 2), between what a search finds and a bound. The orders of magnitude are the paper's; "
    "constants, which are in its supplement, are derived (metrics.heavy_noise_levels). For one component with "
    "weights 1 and σ = 1/√d the maximum likelihood estimate is the mean record.",
    cases=_lemma_cases,
    methods=("noise", "mean-record"),
    measures=("mean_noise", "mean_noise_bound", "seen_noise", "record_noise", "basis_l1"),
    seeds={"quick": 1, "full": 5},
    statistics={"predicted": _predicted},
    explanations={"order": _order, "many_records": _many_records, "draws": _draws},
    trivials=(),  # what is measured is the noise
    figures=(
        Figure("The largest mean noise of a quarter of the records; the dashed line is ε", _noise_figure),
        Figure("One component: the error of the mean record; the dashed line is √(2d/πn)", _likelihood_figure),
    ),
)

# --- Theorem 1: data on which its conditions hold ---------------------------------------------------------------

D4 = "as D4 allows"
COMPONENTS = {"tiny": (2,), "quick": (2, 3), "full": (2, 3, 4, 6)}
NOISE = (1e-3, 1e-2, 0.1, 0.3, 1.0)  # mean l1 norm of a record's noise, where the record's is 1
EACH = 300  # records of a component


def strict_data(k: int, noise: float | None, seed: int) -> Problem:
    """Data with D1 to D3, and Gaussian noise of this mean norm, or such that D4 holds and not with more."""
    rng = np.random.default_rng([seed, k])
    data = datasets.make_strictly_dominant(
        n_samples=EACH * k,
        n_components=k,
        n_dominant=OWN,
        dominant_weight=DOMINANT,
        alpha=ALPHA,
        pure=PURE,
        random_state=rng,
    )
    N = rng.standard_normal(data.X.shape)
    if noise is None:
        eps4 = strict_constants(k).eps4
        N *= 0.99 * eps4**2 / metrics.heavy_noise(N, eps4=eps4).upper
    else:
        N *= noise / np.abs(N).sum(axis=1).mean()
    return Problem(
        data.X + N,
        k,
        truth=data.components,
        weights=data.weights,
        signal=data.X,
        note=f"{len(data.X)} x {data.X.shape[1]}, k = {k}",
    )


def _strict_cases(size: Size) -> Sequence[Case]:
    levels: list[float | None] = [None, *(NOISE if size != "tiny" else ())]
    return [
        Case(
            f"k = {k}, noise {D4 if level is None else f'{level:g}'}",
            partial(strict_data, k, level),
            {
                "components": k,
                "noise": D4 if level is None else f"{level:g}",
                "level": strict_constants(k).eps4 ** 2 if level is None else level,
            },
        )
        for k in COMPONENTS[size]
        for level in levels
    ]


def _of_promised(result: Reproduction, method: str, noise: str) -> np.ndarray:
    """Errors over eps0, fit by fit."""
    rows = result.table.where(noise=noise, method=method)
    return np.array([row["basis_l1"] / strict_constants(int(row["components"])).eps0 for row in rows])


def _within(result: Reproduction, method: str, *, noise: str) -> float:
    """The largest error over eps0, over all numbers of components."""
    shares = _of_promised(result, method, noise)
    return float(np.max(shares)) if len(shares) else float("nan")


def _few_fits(result: Reproduction, method: str, claim: Claim) -> str:
    def counted(name: str) -> str:
        shares = _of_promised(result, name, claim.arguments["noise"])
        return f"{(shares > 1.0).sum()} of {len(shares)} fits (median {np.median(shares) if len(shares) else 0.0:.2f})"

    return (
        f"{counted(method)} are beyond ε0; with our defaults {counted('tsvdnmf')}, of k-means without thresholds "
        f"{counted('kmeans')}."
    )


def _how_heavy(result: Reproduction, method: str, claim: Claim) -> str:
    k = claim.arguments["components"]
    eps4 = strict_constants(k).eps4
    return (
        f"Section 4 asks for ε4 ≤ ε0 w0 p0/(16 k³), here {eps4:.2g}, and D4 for a mean noise of at most ε4² = "
        f"{eps4**2:.1g} in every set of ε4 n records. A single record with noise of norm 1 satisfies it from n = "
        f"1/ε4³ = {eps4**-3:.0e} records on, and Gaussian noise on all of them never: the largest of ε4 n records of "
        "any direction are beyond it. The algorithm itself needs none of it; see the other noise levels."
    )


def _theorem_figure(result: Reproduction) -> Mapping[str, Any]:
    panels = figures.against("level", "basis_l1", across="noise of a record (l1)", panel="components")(result)
    for k, panel in panels.items():
        eps0 = strict_constants(int(k)).eps0
        axes = panel.axes[0]
        axes.axhline(eps0, color=FAINT, lw=0.9, ls="--")
        axes.annotate(
            "ε0", (axes.get_xlim()[0], eps0), xytext=(3, 2), textcoords="offset points", fontsize=9, color=FAINT
        )
    return {f"k = {k}": panel for k, panel in panels.items()}


THEOREM_1 = Experiment(
    name="tsvdnmf-theorem1",
    title="Theorem 1: where its conditions hold, and how far beyond them its conclusion does",
    document=DOCUMENT,
    about="Data on which D1 to D3 hold by construction (make_strictly_dominant), with the largest ε4 that the "
    "inequalities of Section 4 leave, and Gaussian noise scaled until D4 holds with nothing to spare; then noise of "
    "a given size. TSVDNMF is given the constants of the model, nu and gamma as the paper derives them. The error is "
    "the largest l1 distance of a component, as in equation 1, and Theorem 1 promises at most ε0.",
    cases=_strict_cases,
    methods=("tsvdnmf-theorem", "tsvdnmf-literal", "tsvdnmf-program", "tsvdnmf", "kmeans"),
    measures=("basis_l1", "record_noise"),
    seeds={"quick": 1, "full": 10},
    statistics={"within": _within},
    explanations={"how_heavy": _how_heavy, "few_fits": _few_fits},
    figures=(
        Figure("The error against the noise; the first point of each line is noise as D4 allows", _theorem_figure),
    ),
)

# --- Theorem 2: two fits of one data set ------------------------------------------------------------------------

# share of a component on its own features, and mean l1 norm of a record's noise
STRICT = {"p0 = 0.95": (0.95, 0.0), "p0 = 0.5": (0.5, 0.0), "p0 = 0.95, noise 0.003": (0.95, 0.003)}


def _twice(dominant: float, noise: float, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    data = datasets.make_strictly_dominant(dominant_weight=dominant, random_state=rng)
    N = rng.standard_normal(data.X.shape)
    X = np.maximum(data.X + noise * N / np.abs(N).sum(axis=1).mean(), 0.0)
    return Problem(X, 2, truth=data.components, weights=data.weights, note=f"p0 = {dominant}, noise {noise}")


def _twice_cases(size: Size) -> Sequence[Case]:
    return [*(Case(name, partial(_twice, *how)) for name, how in STRICT.items()), *real_cases(size)]


def _certified_share(result: Reproduction, method: str, *, case: str) -> float:
    """The largest distance over the bound, where the conditions hold."""
    rows = result.table.where(case=case, method=method, certified=1.0)
    return rows.worst("distance") / rows.worst("bound") if len(rows) else float("nan")


def _not_certified(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(case=claim.arguments["case"], method=method)
    delta, room, distance = (rows.worst("delta"), rows.mean("room_a"), rows.mean("distance"))
    apart = f"The two fits are {distance:.2g} apart in the worst component."
    if not np.isfinite(delta):
        return f"Some component has no record that is pure to {EPS4:g} (D3), so that equation 4 says nothing. {apart}"
    return (
        f"δ of equation 4 is {delta:.2g}; condition (a) asks for (p0 - δ')² - 4k(p1 + δ') > 0, which is {room:.2g}: "
        f"with k parts it leaves no room beyond δ' = 1/(4k). {apart}"
    )


THEOREM_2 = Experiment(
    name="tsvdnmf-theorem2",
    title="Theorem 2: two fits of one data set, and whether it certifies that they must be alike",
    document=DOCUMENT,
    about="Two fits, δ of equation 4 computed from both, the bound that follows, and the distance of their "
    "components (metrics.uniqueness). p1, which the main text does not define, is the most that a component has on "
    "another's dominant features.",
    cases=_twice_cases,
    methods=("tsvdnmf-and-hals", "hals-twice"),
    measures=("fit",),
    statistics={"certified_share": _certified_share},
    explanations={"not_certified": _not_certified},
    figures=(Figure("The l1 distance of the worst component of two fits", figures.bars("distance")),),
)

EXPERIMENTS = (LEMMAS, THEOREM_1, THEOREM_2)
