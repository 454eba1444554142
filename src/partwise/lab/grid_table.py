"""The map of the documentation's page on choosing: what every method makes of every generator, from a cold start."""

from __future__ import annotations

import numpy as np

from partwise.lab.experiment import Reproduction
from partwise.lab.grid import NOISES, SHAPES
from partwise.lab.markdown import row

# what the map calls the methods that it shows
COLUMNS = {
    "facets": "Facets",
    "facets-nonnegative": "`Facets(nonnegative=True)`",
    "purification-cold": "Purification",
    "tsvdnmf": "TSVDNMF",
    "hals-cold": "HALS",
    "mu-cold": "MU",
    "sklearn-nmf": "scikit-learn",
    "spa-samples": "SPA",
    "xray-samples": "XRAY",
    "pw-spa-features-refit": "`PreconditionedSPA` on features",
}
LOUDEST = f", noise {NOISES[-1]:g}"
EXACT = 1e-13  # of the size of a part: rounding


def table(result: Reproduction) -> str:
    """Data sets as rows, methods as columns: the mean relative error of the parts, the best of each row bold.

    Parameters
    ----------
    result : Reproduction
        What is kept of the experiment "cold-start-grid".

    Returns
    -------
    str
        Markdown, with what the numbers are.
    """
    cases = [case for case in result.table.distinct("case") if ", noise" not in case or case.endswith(LOUDEST)]
    lines = [row(["data", *COLUMNS.values()]), row(["---", *["---:"] * len(COLUMNS)])]
    lines += [row([case.replace(LOUDEST, ", noise"), *_cells(result, case)]) for case in cases]
    size, seeds = str(result.manifest["size"]), int(result.manifest["seeds"])
    n, m, k = SHAPES[size]
    return "\n".join(lines) + (
        f'\n\n"noise" is Gaussian, {NOISES[-1]:g} of the size of a sample. Size {size}: {n:,} samples, {m} features, '
        f"{k} parts; {seeds} seed{'s' if seeds > 1 else ''}; at most {result.experiment.budget[size]:g} s of the "
        "processor a fit. Methods that need non-negative data get it with negative entries set to zero.\n"
    )


def _cells(result: Reproduction, case: str) -> list[str]:
    errors = [result.table.mean("part_error", case=case, method=name) for name in COLUMNS]
    texts = [_short(error) for error in errors]
    best = _short(float(np.nanmin(errors))) if np.isfinite(errors).any() else ""
    return [f"**{text}**" if text == best else text for text in texts]


def _short(error: float) -> str:
    if np.isnan(error):
        return "–"
    if error < EXACT:
        return "0"
    return f"{error:.2f}" if error >= 0.01 else f"{error:.0e}".replace("e-0", "e-")
