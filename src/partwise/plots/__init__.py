"""Figures as functions of arrays; matplotlib is imported when one is drawn, and no display is needed."""

from partwise.plots.images import Recovery, image_grid, recovery_grid
from partwise.plots.learning import code_histograms, detector_grid, feature_grid, learning_curve, reproducibility
from partwise.plots.parts import plot_history, plot_parts
from partwise.plots.usage import plot_usage

__all__ = [
    "Recovery",
    "code_histograms",
    "detector_grid",
    "feature_grid",
    "image_grid",
    "learning_curve",
    "plot_history",
    "plot_parts",
    "plot_usage",
    "recovery_grid",
    "reproducibility",
]
