"""The table of a choice of the number of parts as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.plots.style import BAD, FAINT, GOOD, INK, LABEL, LINE, TITLE, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 4.6
SMALLEST = 1e-12  # share of squares that is rounding
WRAP = 92  # letters of the title in a line


def rank_figure(columns: Mapping[str, Any], k: int | None, low: int, high: int | None, title: str) -> Figure:
    """What each number of parts explains and predicts, and how well halves of the samples agree on them.

    Parameters
    ----------
    columns : mapping of str to ndarray
        ``k``, ``explained``, ``held_out``, ``least``, ``median``: one entry for each number of parts.
    k : int or None
        The chosen number.
    low, high : int, int or None
        The interval that is shaded; to the right end without an upper limit.

    Returns
    -------
    matplotlib.figure.Figure
        Two panels.
    """
    from textwrap import wrap

    figure, axes = canvas(WIDTH, HEIGHT)
    axes.remove()
    numbers = np.asarray(columns["k"])
    upper = figure.add_axes((0.11, 0.50, 0.86, 0.30))
    lower = figure.add_axes((0.11, 0.13, 0.86, 0.30), sharex=upper)
    last = float(max(numbers, default=low)) + 0.5
    end = last if high is None else high + 0.5
    for panel in (upper, lower):
        panel.axvspan(low - 0.5, end, color=GOOD, alpha=0.10, linewidth=0)
        if k is not None:
            panel.axvline(k, color=GOOD, linewidth=1.0, linestyle=":")
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(LINE)
        panel.tick_params(labelsize=LABEL, colors=INK)
    # of a scene three parts leave a thousandth: only on a logarithmic scale is it seen what a fourth one adds
    unexplained, missed = (_seen(share) for share in (1.0 - np.asarray(columns["explained"]), columns["held_out"]))
    upper.plot(numbers, unexplained, color=GOOD, marker="o", markersize=3, label="not explained by k directions")
    upper.plot(numbers, missed, color=BAD, marker="s", markersize=3, label="error of entries left out")
    upper.set_yscale("log")
    drawn = np.concatenate([unexplained, missed])
    drawn = drawn[np.isfinite(drawn)]  # of tiny tables there may be none
    upper.set_ylim(min(0.5 * drawn.min(initial=1.0), 0.1), 1.5 * drawn.max(initial=1.0))
    upper.set_ylabel("share of squares", fontsize=LABEL)
    upper.tick_params(labelbottom=False)
    fitted = np.isfinite(columns["least"])
    if fitted.any():
        where = numbers[fitted]
        least, median = (np.asarray(columns[name])[fitted] for name in ("least", "median"))
        lower.fill_between(where, least, median, color=GOOD, alpha=0.15, linewidth=0)
        lower.plot(where, median, color=FAINT, marker="o", markersize=3, label="median part")
        lower.plot(where, least, color=GOOD, marker="o", markersize=3, label="worst part of all splits")
        lower.set_ylim(min(0.0, float(least.min())), 1.02)
        lower.legend(fontsize=LABEL, frameon=False, loc="lower left")
    else:
        lower.text(0.5, 0.5, "halves were not fitted", transform=lower.transAxes, ha="center", color=FAINT)
    lower.set_ylabel("cosine in halves", fontsize=LABEL)
    lower.set_xlabel("number of parts", fontsize=LABEL)
    lower.set_xlim(float(min(numbers, default=low)) - 0.5, last)
    lower.locator_params(axis="x", integer=True)
    upper.legend(fontsize=LABEL, frameon=False, loc="best")
    figure.text(0.02, 0.97, "\n".join(wrap(title, WRAP)), fontsize=TITLE - 2, color=INK, va="top")
    return figure


def _seen(share: Any) -> Any:
    """What a logarithmic scale can show: without what is zero up to rounding."""
    found = np.asarray(share, np.float64)
    return np.where(found > SMALLEST, found, np.nan)
