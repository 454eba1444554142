"""The comparison that the notes on conservative learning leave open: which features do other random starts find too?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise import metrics
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Reproduction, Size
from partwise.lab.online import DOCUMENT, images, starts_of, toy
from partwise.lab.values import NOTHING, told

FEATURES = {"quick": (10, 20), "full": (25, 50, 100)}
IMAGES = {"quick": 1000, "full": 20_000}  # a third of MNIST: 240 fits of all would take five hours
STABLE = 0.9  # share of the other starts that have a feature, from which on it is called stable; below 0.5, unstable
SHOWN = 20


def _cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", toy, {"f": 4})]
    return [Case(f"f = {f}", partial(images, f, IMAGES[size]), {"f": f}) for f in FEATURES[size]]


def _shares(result: Reproduction, method: str, case: str) -> list[np.ndarray]:
    starts = starts_of(result, method, case)
    return metrics.component_stability(starts) if len(starts) > 1 else []


def _stable(result: Reproduction, method: str, *, share: float = STABLE) -> float:
    """Share of features that at least so many of the other starts have, in the case where that is least."""
    found = [
        np.concatenate(shares) for case in result.table.distinct("case") if (shares := _shares(result, method, case))
    ]
    return float(min(np.mean(values >= share) for values in found)) if found else NOTHING


def _trend(result: Reproduction, method: str) -> float:
    """Mean share of other starts that have a feature, with the fewest features minus with the most."""
    cases = sorted(result.table.distinct("f"))
    means = []
    for f in (cases[0], cases[-1]) if len(cases) > 1 else ():
        shares = _shares(result, method, str(result.table.where(f=f)[0]["case"]))
        means.append(float(np.mean(np.concatenate(shares))) if shares else NOTHING)
    return means[0] - means[1] if means else NOTHING


def _two_kinds(result: Reproduction, method: str, claim: Claim) -> str:
    parts = []
    for case in result.table.distinct("case"):
        if shares := _shares(result, method, case):
            values = np.concatenate(shares)
            parts.append(f"{case}: {np.mean(values >= STABLE):.0%} stable, {np.mean(values < 0.5):.0%} unstable")
    return (
        f"{method}, {'; '.join(parts)}. Stable features are in at least {STABLE:.0%} of the other starts, "
        "unstable ones in less than half."
    )


def _means(result: Reproduction, *methods: str) -> dict[str, list[float]]:
    """Mean share of other starts that have a feature, for each of the methods, by case."""
    found = {case: [_shares(result, name, case) for name in methods] for case in result.table.distinct("case")}
    return {
        case: [float(np.mean(np.concatenate(shares))) for shares in several]
        for case, several in found.items()
        if all(several)
    }


def _gain(result: Reproduction, method: str, *, over: str) -> float:
    """Mean share of other starts that have a feature, above that of another method, least over the cases."""
    return min((own - other for own, other in _means(result, method, over).values()), default=NOTHING)


def _by_number(result: Reproduction, method: str, claim: Claim) -> str:
    pairs = _means(result, method, claim.arguments["over"])
    listed = ", ".join(f"{own:.2f} and {other:.2f} ({case})" for case, (own, other) in pairs.items())
    return f"The shares of both, by the number of features: {listed}."


def against_f(result: Reproduction) -> Mapping[str, Any]:
    """Shares of stable and unstable features against their number, a line a method."""
    panels = {}
    for title in ("stable", "unstable"):
        figure, axes = figures.chart("number of features f", f"share of {title} features")
        for i, method in enumerate(figures.methods(result)):
            at, means = [], []
            for f in sorted(result.table.distinct("f")):
                if shares := _shares(result, method, str(result.table.where(f=f)[0]["case"])):
                    at.append(f)
                    values = np.concatenate(shares)
                    means.append(float(np.mean(values >= STABLE if title == "stable" else values < 0.5)))
            style: dict[str, Any] = {
                "color": figures.colour(result, method),
                "marker": figures.MARKERS[i],
                "ms": 4,
                "lw": 1.3,
            }
            axes.plot(at, means, label=method, **style)
        axes.set_ylim(-0.02, 1.02)
        figures.legend(axes)
        panels[title] = figure
    return panels


def both_kinds(result: Reproduction) -> Mapping[str, Any]:
    """Features of the first start of the document's rule: those that most other starts have, and that fewest have."""
    from partwise.plots import feature_grid

    panels = {}
    for case in result.table.distinct("case"):
        row, shares = result.table.where(case=case)[0], _shares(result, "conservative", case)
        if not shares or not row.get("image"):
            continue
        shape = tuple(map(int, str(row["image"]).split("x")))
        order = np.argsort(-shares[0], kind="stable")
        H = starts_of(result, "conservative", case)[0]
        shown = min(SHOWN, len(order) // 2)
        for title, chosen in (("most stable", order[:shown]), ("least stable", order[::-1][:shown])):
            worst, best = shares[0][chosen].min(), shares[0][chosen].max()
            name = f"{case}, {title} ({told(worst, '.0%')} to {told(best, '.0%')} of the other starts)"
            panels[name] = feature_grid(H[chosen], shape, exponent=0.2, columns=5)  # type: ignore[arg-type]
    return panels


STARTS = Experiment(
    name="online-starts",
    title="Stable and unstable features over twenty random starts",
    document=DOCUMENT,
    about="The quantitative comparison that the document says has not been performed: features of random starts, "
    "matched one to one; a feature is the same in two starts if the cosine is at least 0.9 (one that its own start has "
    "twice is none). Stable: in at least 90% of the other starts; unstable: in less than half. Against the number of "
    "features f and w, ten passes each. Twenty starts on the first 20,000 MNIST images (of 60,000, with which this "
    "would take more than two hours); quick: four starts, 1,000 images.",
    cases=_cases,
    methods=("conservative", "conservative-w1e-3-ten", "conservative-w0.1-ten", "conservative-averaged"),
    measures=("running",),
    seeds={"quick": 4, "full": 20},
    keep=True,
    statistics={"stable": _stable, "trend": _trend, "gain": _gain},
    explanations={"two_kinds": _two_kinds, "by_number": _by_number},
    figures=(
        Figure("Stable and unstable features against their number", against_f),
        Figure("Both kinds of features, w = 1e-5", both_kinds),
    ),
)

EXPERIMENTS = (STARTS,)
