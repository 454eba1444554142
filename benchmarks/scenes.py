"""Generated scenes of 36 families, fresh seeds: mean angle of Archetypes' parts to the true spectra, cold, defaults."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show

MIXED: dict[str, Any] = {"abundances": "dirichlet", "concentration": 0.5, "purity": 0.8}
VARIABLE: dict[str, Any] = {"scale": 0.3, "shape": 0.06, "snr": 35.0}
MILD = VARIABLE | {"shape": 0.04}


def each(concentration: float) -> dict[str, Any]:
    """Abundances of every pixel for itself."""
    return {"abundances": "dirichlet", "concentration": concentration}


# The families of the trial that first showed what variability does; arguments of `datasets.make_scene`
SUITE: dict[str, dict[str, Any]] = {
    "exact": {},
    "exact, 6, each": {"n_components": 6} | each(0.3),
    "exact, mixed": MIXED,
    "exact, 300 pixels": {"n_components": 3, "n_samples": 300} | each(0.3),
    "exact, sizes, dark": {"scale": 0.3, "dark": 0.12},
    "40 dB": {"snr": 40.0},
    "30 dB, 6": {"n_components": 6, "snr": 30.0},
    "20 dB": {"snr": 20.0},
    "30 dB, 5, each": {"n_components": 5, "snr": 30.0} | each(0.8),
    "30 dB, mixed": MIXED | {"snr": 30.0},
    "40 dB, mixed, 6": MIXED | {"n_components": 6, "concentration": 0.4, "snr": 40.0},
    "30 dB, 300 pixels": {"n_components": 3, "n_samples": 300, "snr": 30.0} | each(0.3),
    "30 dB, 8, each": {"n_components": 8, "snr": 30.0} | each(0.3),
    "30 dB, pair": {"snr": 30.0, "pair": 12.0},
    "35 dB, outliers": {"snr": 35.0, "outliers": 0.01},
    "sizes 0.2": {"scale": 0.2, "snr": 30.0},
    "sizes 0.4, 5": {"n_components": 5, "scale": 0.4, "snr": 30.0},
    "sizes 0.4, dark": {"scale": 0.4, "snr": 30.0, "dark": 0.12},
    "sizes, mixed": MIXED | {"scale": 0.3, "snr": 35.0},
    "shapes 0.03": VARIABLE | {"scale": 0.2, "shape": 0.03},
    "shapes": VARIABLE,
    "shapes, dark": VARIABLE | {"dark": 0.12},
    "shapes, 3, dark": VARIABLE | {"n_components": 3, "dark": 0.12},
    "shapes, 6": VARIABLE | {"n_components": 6},
    "shapes 0.1": VARIABLE | {"shape": 0.1},
    "shapes, 5, each": VARIABLE | {"n_components": 5} | each(0.3),
    "shapes, mixed": VARIABLE | {"scale": 0.2} | MIXED,
    "shapes, 300 pixels": VARIABLE | {"n_components": 3, "n_samples": 300, "scale": 0.2},
    "shapes, outliers": MILD | {"outliers": 0.02},
    "shapes, outliers, dark": MILD | {"outliers": 0.01, "dark": 0.12},
    "shapes, rare": MILD | {"rare": 0.02},
    "shapes, rare, outliers, 5": MILD | {"n_components": 5, "rare": 0.02, "outliers": 0.01},
    "shapes, pair, dark": MILD | {"shape": 0.03, "pair": 10.0, "dark": 0.15},
    "shapes, pair, outliers, dark": MILD | {"pair": 12.0, "dark": 0.12, "outliers": 0.01},
    "shapes, pair, each": MILD | {"pair": 14.0} | each(0.3),
    "shapes, 8": MILD | {"n_components": 8, "n_samples": 6000},
}
MIXED_ONES = [name for name in SUITE if "mixed" in name]
TOLD = ("refined", "rival", "unlike")  # what Archetypes says of itself
MEAN, WORST, MIXED_MEAN = 1.25, 6.0, 3.0  # degrees


def made(name: str, seed: int) -> Any:
    """A scene of a family."""
    import partwise as pw

    # families differ in their seeds too: a library of spectra is in one family only
    return pw.datasets.make_scene(**SUITE[name], random_state=np.random.default_rng([seed, *name.encode()]))


def contender(name: str, note: str) -> Contender:
    """One of our estimators with its defaults, on all scenes."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import partwise as pw

        def fit(X: Any, k: int) -> Any:
            model = getattr(pw, name)(k)
            return (model.set_params(random_state=0) if "random_state" in model.get_params() else model).fit(X)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit(data["X0"][:200], 3)  # compiles
            begin = time.process_time()
            found = [fit(data[f"X{i}"], k) for i, k in enumerate(params["k"])]
        seconds = (time.process_time() - begin) / len(found)
        told = {name: [float(getattr(model, f"{name}_", np.nan)) for model in found] for name in TOLD}
        return seconds, {f"H{i}": model.components_ for i, model in enumerate(found)}, told

    return Contender(run, {"partwise": "partwise"}, note=note)


def angles_of(
    scenes: list[tuple[str, int]], contenders: dict[str, Contender], options: Any, label: str
) -> tuple[dict[str, Any], dict[str, dict[str, list[float]]]]:
    """Rows of a race over some scenes, and mean angles of every contender and family, a number a seed."""
    import partwise as pw

    data = [made(name, seed) for name, seed in scenes]

    def verify(arrays: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        angles = [pw.metrics.spectral_angles(arrays[f"H{i}"], one.components).mean() for i, one in enumerate(data)]
        return {**facts, "angles": [float(angle) for angle in angles]}

    with problem({f"X{i}": one.X for i, one in enumerate(data)}) as folder:
        once = Namespace(**(vars(options) | {"repeat": 1}))
        rows = race(label, contenders, folder, {"k": [len(one.components) for one in data]}, verify, once)
    found: dict[str, dict[str, list[float]]] = {who: {} for who, row in rows.items() if row.facts}
    for who, of in found.items():
        for (name, _), angle in zip(scenes, rows[who].facts["angles"], strict=True):
            of.setdefault(name, []).append(angle)
    return rows, found


CONTENDERS = {
    "partwise": contender("Archetypes", "Archetypes, defaults"),
    "parts": contender("Parts", "Parts, told k"),
    "facets": contender("Facets", "Facets, defaults"),
    "minvol": contender("MinVol", "MinVol, defaults"),
}


def main(options: Any) -> None:
    """Run the case."""
    count = options.seeds or (2 if options.size == "full" else 1)
    names = list(SUITE) if options.size == "full" else ["40 dB", "shapes", "shapes, mixed"]
    scenes = [(name, options.seed + j) for name in names for j in range(count)]
    rows, found = angles_of(scenes, chosen(CONTENDERS, options), options, "scenes")
    lines = [[name, *(" ".join(f"{a:.2f}" for a in of[name]) for of in found.values())] for name in names]
    lines.append(["mean", *(f"{np.mean(list(of.values())):.2f}" for of in found.values())])
    lines.append(["processor seconds", *(f"{rows[who].median:.2f}" for who in found)])
    show(f"generated scenes, {count} of each family, degrees", ["family", *found], lines)
    if "partwise" in found:
        facts = rows["partwise"].facts
        for (name, seed), angle, rival in zip(scenes, facts["angles"], facts["rival"], strict=True):
            if angle > WORST:  # a report calls minima that differ by less than 0.02 a toss
                print(
                    f"  above {WORST:g} degrees: {name}, seed {seed}: {angle:.2f}, the next minimum {rival:.4f} above"
                )
    ours = found.get("partwise", {name: [np.nan] for name in names})
    angles = np.concatenate(list(ours.values()))
    mixed = [angle for name in MIXED_ONES if name in ours for angle in ours[name]]
    targets = [
        Target(f"mean of {len(angles)} scenes, degrees", float(np.mean(angles)), MEAN, at_most=True),
        Target("the largest, degrees", float(np.max(angles)), WORST, at_most=True),
        Target("the largest of those without pure pixels, degrees", float(np.max(mixed)), MIXED_MEAN, at_most=True),
    ]
    finish("scenes", [{"data": "scenes", "families": names, "seeds": count, "rows": rows}], targets, options)
