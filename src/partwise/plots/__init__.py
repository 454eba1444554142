"""Figures as functions of arrays; matplotlib is imported when one is drawn, and no display is needed."""

from partwise.plots.images import Recovery, image_grid, recovery_grid

__all__ = ["Recovery", "image_grid", "recovery_grid"]
