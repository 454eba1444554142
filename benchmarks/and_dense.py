"""Facets on sparse to dense, correlated weights, 5000 x 400, k = 30: how far it recovers, and others beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Arrays, Row
from .recovery import contender, fact, solved, worst
from .report import Target, finish, show

# samples, features, components, scales of the logits (from sparse to dense weights)
SIZES = {
    "full": (5000, 400, 30, (6.0, 4.0, 3.0, 2.5, 2.0, 1.75, 1.5)),
    "small": (1000, 100, 10, (6.0, 3.0, 1.5)),
}
CORRELATIONS = {"full": (0.0, 0.5, 0.8), "small": (0.0, 0.8)}
ACTIVE, ABOVE = 13.0, 0.01  # weights above the second are active; the figure is asked up to so many
RECOVERED = 1e-2  # of the size of the components
ITERATIONS, TOL = 1000, 1e-6
Found = tuple[np.ndarray, dict[str, Any]]


def fit_facets(data: Arrays) -> Found:
    """Facets from its cold start."""
    import partwise as pw

    model = pw.Facets(int(data["k"]), random_state=0).fit(data["X"])
    return model.components_, {"n_iter": model.n_iter_}


def fit_nonnegative(data: Arrays) -> Found:
    """The same, finished by HALS."""
    import partwise as pw

    # as many iterations as HALS may have alone
    model = pw.Facets(int(data["k"]), nonnegative=True, max_iter=ITERATIONS, random_state=0).fit(data["X"])
    return model.components_, {"n_iter": model.n_iter_}


def fit_hals(data: Arrays) -> Found:
    """HALS from the cold start of Facets, which is what it has after no stage."""
    import partwise as pw

    k, X = int(data["k"]), data["X"]
    start = pw.Facets(k, random_state=0, callbacks=[lambda progress: True]).fit(X).components_
    model = pw.HALS(k, init=np.maximum(start, 0.0), max_iter=ITERATIONS, tol=TOL).fit(X)
    return model.components_, {"n_iter": model.n_iter_}


def fit_sklearn(data: Arrays) -> Found:
    """scikit-learn's NMF."""
    from sklearn.decomposition import NMF

    model = NMF(int(data["k"]), init="nndsvda", max_iter=ITERATIONS, tol=TOL, random_state=0).fit(data["X"])
    return model.components_, {"n_iter": model.n_iter_}


OURS, SKLEARN = {"partwise": "partwise"}, {"sklearn": "scikit-learn"}
CONTENDERS = {
    "partwise": contender(fit_facets, OURS, "dense components: cold start, defaults"),
    "sklearn": contender(fit_sklearn, SKLEARN, "dense components: cd, nndsvda"),
    "partwise-nonnegative": contender(fit_nonnegative, OURS, "sparse components: finished by HALS"),
    "partwise-hals": contender(fit_hals, OURS, "sparse components: from the same start"),
}
PAIRS = {"dense": ("partwise", "sklearn"), "sparse": ("partwise-nonnegative", "partwise-hals")}


def point(feature_kind: str, rho: float, scale: float, options: Any) -> dict[str, Any]:
    """One point of the curve: worst errors and ratios over the seeds."""
    import partwise as pw

    n, m, k, _ = SIZES[options.size]
    one, other = PAIRS[feature_kind]
    seeds = options.seeds or 1
    runs: list[dict[str, Row]] = []
    active, size = 0.0, 0.0
    for seed in range(options.seed, options.seed + seeds):
        shape = {"n_samples": n, "n_features": m, "n_components": k}
        weights = {"covariance": rho, "block_size": 5, "scale": scale}
        mixture = pw.datasets.make_topics("ctm", feature_kind=feature_kind, **shape, **weights, random_state=seed)
        label = f"{feature_kind}, correlation {rho:g}, scale {scale:g}, seed {seed}"
        pair = {name: CONTENDERS[name] for name in PAIRS[feature_kind]}
        runs.append(solved(pair, mixture, label, options, {"k": k}))
        active += float((mixture.weights > ABOVE).sum(axis=1).mean()) / seeds
        size = float(np.linalg.norm(mixture.components, axis=1).sum())
    found, peer = ([fact(rows, name) for rows in runs] for name in (one, other))
    # the share for dense parts: how many times the other's error is ours; for sparse ones, ours is the other's
    shares = [b / a if feature_kind == "dense" else a / b for a, b in zip(found, peer, strict=True)]
    return {
        "rho": rho,
        "scale": scale,
        "active": active,
        "ours": worst(found),
        "relative": worst(found) / size,
        "peer": worst(peer),
        "share": worst(shares, largest=feature_kind == "sparse"),
        "iterations": f"{worst([fact(r, one, 'n_iter') for r in runs]):.0f} / "
        f"{worst([fact(r, other, 'n_iter') for r in runs]):.0f}",
        "runs": runs,
    }


def judge(feature_kind: str, rho: float, curve: list[dict[str, Any]]) -> Target:
    """Say where recovery ends, and give the figure to reach."""
    good = [p for p in curve if p["relative"] < RECOVERED]
    end = f"up to {max(p['active'] for p in good):.1f} active weights" if good else "nowhere"
    print(f"{feature_kind}, correlation {rho:g}: Facets within {RECOVERED:g} of the components' size {end}")
    what = f"{feature_kind}, correlation {rho:g}"
    if feature_kind == "sparse":
        return Target(f"{what}: error / HALS's, worst", worst([p["share"] for p in curve]), 3, at_most=True)
    asked = [p["share"] for p in curve if p["active"] <= ACTIVE]
    return Target(f"{what}, <= {ACTIVE:g} active: x lower than scikit-learn, least", worst(asked, largest=False), 20)


def main(options: Any) -> None:
    """Run the case."""
    n, m, k, scales = SIZES[options.size]
    parts, targets = [], []
    for feature_kind, (one, other) in PAIRS.items():
        curves = {
            rho: [point(feature_kind, rho, scale, options) for scale in scales] for rho in CORRELATIONS[options.size]
        }
        lines = [
            [
                f"{p['rho']:g}",
                f"{p['scale']:g}",
                f"{p['active']:.1f}",
                f"{p['ours']:.2e}",
                f"{p['relative']:.1e}",
                f"{p['peer']:.2e}",
                f"{p['share']:.3g}",
                p["iterations"],
            ]
            for curve in curves.values()
            for p in curve
        ]
        last = f"{other} / ours" if feature_kind == "dense" else f"ours / {other}"
        columns = ["correlation", "scale", "active", one, "of the size", other, last, "iterations"]
        show(f"and-dense: {feature_kind} components, {n} x {m}, k = {k}, total correlation error", columns, lines)
        for rho, curve in curves.items():
            targets.append(judge(feature_kind, rho, curve))
            for p in curve:
                keys = {key: p[key] for key in ("rho", "scale", "active", "ours", "peer", "share")}
                parts += [{"features": feature_kind, **keys, "rows": rows} for rows in p["runs"]]
    finish("and-dense", parts, targets, options)
