"""What all figures share: colours that the colour-blind can tell apart, sizes of type, an empty canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partwise.exceptions import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's palette
GOOD = "#0072B2"
BAD = "#D55E00"
INK = "#222222"
FAINT = "#8A8A8A"
LINE = "#C8C8C8"

# points; a choice
TITLE = 11.0
LABEL = 8.5
SMALL = 6.5


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of this size in inches and one axes over all of it, in inches from the top left corner.

    The figure is made without pyplot: it belongs to nobody else, needs no display and no closing.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingDependencyError("figures need matplotlib: pip install 'partwise[cli]'") from error
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    fix_view(axes, width, height)
    return figure, axes


def fix_view(axes: Any, width: float, height: float) -> None:
    """Set the view to the canvas; drawing an image changes it."""
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)
    axes.set_aspect("auto")
