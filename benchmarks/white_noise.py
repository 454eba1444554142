"""The map of who recovers what, without limits of time, beside the figures of before noise was measured first."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Contender
from .report import Target, finish, show

STORED = Path(__file__).with_name("white_noise.json")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "facets": ("Facets", {}),
    "facets-nonnegative": ("Facets", {"nonnegative": True}),
    "tsvdnmf": ("TSVDNMF", {}),
    "hals": ("HALS", {}),
    "anls": ("ANLS", {}),
    "pw-spa": ("PreconditionedSPA", {}),
    "xray": ("XRAY", {}),
}
CONTENDERS: dict[str, Contender] = {}
WORSE = 1.1  # times the stored angle
ROUNDING = 1e-5  # degrees: angles below are none


def errors_of(seed: int) -> dict[str, dict[str, float]]:
    """Mean angle to the true parts, in degrees, of every generator, noise and method."""
    import partwise as pw
    from partwise.lab.grid import GENERATORS, NOISES, _generated

    found: dict[str, dict[str, float]] = {}
    for name in GENERATORS:
        for noise in NOISES:
            one = _generated(name, noise, "quick", seed)
            cell = found.setdefault(f"{name}, noise {noise:g}" if noise else name, {})
            for method, (estimator, how) in METHODS.items():
                model = getattr(pw, estimator)(one.k, **how)
                if "random_state" in model.get_params():
                    model.set_params(random_state=seed)
                signed = model._allow_negative and not how
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    H = model.fit(one.X if signed else np.maximum(one.X, 0.0)).components_
                cell[method] = float(pw.metrics.spectral_angles(H, one.truth).mean())
            print(f"  {name}, {noise:g}", flush=True)
    return found


def main(options: Any) -> None:
    """Run the case; with --store the figures found are those to compare with."""
    found = errors_of(options.seed)
    if options.store:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
        return
    before = json.loads(STORED.read_text())
    lines, targets = [], []
    for method in METHODS:
        ratios = {
            case: max(found[case][method], ROUNDING) / max(before[case][method], ROUNDING)
            for case in found
            if np.isfinite(before[case][method])
        }
        worst = max(ratios, key=lambda case: ratios[case])
        targets.append(
            Target(f"{method}: largest angle over that before ({worst})", ratios[worst], WORSE, at_most=True)
        )
        for case, ratio in ratios.items():
            if ratio > WORSE or ratio < 1.0 / WORSE:
                lines.append([case, method, f"{before[case][method]:.3g}", f"{found[case][method]:.3g}"])
    show("cells that changed by more than a tenth", ["data", "method", "before", "now"], lines)
    finish("white-noise", [], targets, options)
