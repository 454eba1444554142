"""Pictures of a truth beside what methods found: spectra, proportions, signatures, images, classes by parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.estimators.catalog import METHODS
from partwise.lab.experiment import TRUTH, Reproduction
from partwise.lab.figures import COLOURS, methods
from partwise.lab.measures import MEASURES
from partwise.plots.style import FAINT, GOOD, INK, LINE, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAREST = 2  # of ours, and as many of others
ROWS = 6  # of signatures, and rows of images
SIDE, GAP, TOP, TYPE = 1.75, 0.14, 0.42, 8.0  # inches of a picture; points
SUBSTITUTIONS = (
    "#56B4E9",
    "#222222",
    "#D55E00",
    "#8A8A8A",
    "#009E73",
    "#CC79A7",
)  # 16 bars each, as the field has them

Draw = Callable[["Axes", np.ndarray, np.ndarray, Any], None]


def beside_truth(result: Reproduction) -> dict[str, Any]:
    """A panel a case: the truth, and what the methods that come nearest found."""
    panels = {}
    for case in result.table.distinct("case"):
        truth = result.kept(case, TRUTH, 0)
        if truth is None:
            continue
        rows = result.table.where(case=case, seed=0)
        shape = next((str(row["image"]) for row in rows if row.get("image")), "")
        best = nearest(result, case)
        found = [(name, picture) for name in best if (picture := result.kept(case, name, 0)) is not None]
        panels[str(case)] = _side_by_side(str(rows[0]["kind"]), truth, found, shape, _told(result, case))
    return panels


def nearest(result: Reproduction, case: str) -> list[str]:
    """The best of ours and the best of others, by the first measure that the case has."""
    measure = _measure(result, case)
    sign = -1.0 if MEASURES[measure].better == "higher" else 1.0
    means = {name: sign * result.table.mean(measure, case=case, method=name) for name in methods(result)}
    order = sorted((name for name in means if np.isfinite(means[name])), key=lambda name: means[name])
    ours = {method.estimator for method in METHODS.values()}
    mine, theirs = [name for name in order if name in ours], [name for name in order if name not in ours]
    return [*mine[:NEAREST], *theirs[:NEAREST]]


def _measure(result: Reproduction, case: str) -> str:
    names = [name for name in result.experiment.measures if name != "processor"]
    return next((name for name in names if np.isfinite(result.table.mean(name, case=case))), names[0])


def _told(result: Reproduction, case: str) -> Callable[[str], str]:
    measure = _measure(result, case)

    def told(name: str) -> str:
        return format(result.table.mean(measure, case=case, method=name), MEASURES[measure].style)

    return told


def _side_by_side(
    kind: str, truth: np.ndarray, found: list[tuple[str, np.ndarray]], shape: str, told: Callable[[str], str]
) -> Any:
    pictures = [("truth", "", truth), *((name, told(name), picture) for name, picture in found)]
    width, height = len(pictures) * (SIDE + GAP) + GAP, SIDE + TOP + GAP
    figure, sheet = canvas(width, height)
    sheet.remove()
    figure.patch.set_alpha(0.0)
    for i, (name, number, picture) in enumerate(pictures):
        box = ((GAP + i * (SIDE + GAP)) / width, GAP / height, SIDE / width, SIDE / height)
        axes = figure.add_axes(box)
        axes.patch.set_alpha(0.0)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color(LINE)
        DRAWN[kind](axes, picture, truth, shape)
        heading = f"{name}\n{number}" if number else name
        axes.set_title(heading, fontsize=TYPE, color=INK, pad=3)
    return figure


def _spectra(axes: Axes, picture: np.ndarray, truth: np.ndarray, shape: str) -> None:
    """A line a part, at unit length, the true ones dashed beneath."""
    for j, (h, t) in enumerate(zip(picture, truth, strict=True)):
        axes.plot(t / np.linalg.norm(t), color=FAINT, lw=0.8, ls="--")
        axes.plot(h / max(float(np.linalg.norm(h)), 1e-300), color=COLOURS[j % len(COLOURS)], lw=1.1)


def _signatures(axes: Axes, picture: np.ndarray, truth: np.ndarray, shape: str) -> None:
    """Bars of the first signatures, one above the other."""
    count = min(ROWS, len(truth))
    colours = np.repeat(SUBSTITUTIONS, -(-truth.shape[1] // len(SUBSTITUTIONS)))[: truth.shape[1]]
    for j in range(count):
        bars = np.maximum(picture[j], 0.0) / max(float(truth[j].max()), 1e-300)
        axes.bar(np.arange(len(bars)), 0.9 * np.minimum(bars, 1.0), bottom=count - 1 - j, width=0.9, color=colours)
    axes.set_ylim(0.0, count)
    axes.margins(x=0.01)


def _images(axes: Axes, picture: np.ndarray, truth: np.ndarray, shape: str) -> None:
    high, wide = map(int, shape.split("x"))
    columns = int(np.ceil(np.sqrt(len(truth))))
    rows = -(-len(truth) // columns)
    grid = np.full((rows * (high + 1), columns * (wide + 1)), np.nan)
    for j, image in enumerate(picture):
        top, left = j // columns * (high + 1), j % columns * (wide + 1)
        part = np.maximum(image, 0.0)
        grid[top : top + high, left : left + wide] = (part / max(float(part.max()), 1e-300)).reshape(high, wide)
    axes.imshow(grid, cmap="gray_r", vmin=0.0, vmax=1.0)


def _proportions(axes: Axes, picture: np.ndarray, truth: np.ndarray, shape: str) -> None:
    """Found against true, on the line where they agree."""
    axes.plot([0, 1], [0, 1], color=FAINT, lw=0.7, ls="--")
    for j in range(truth.shape[1]):
        axes.scatter(truth[:, j], picture[:, j], s=5, color=COLOURS[j % len(COLOURS)], lw=0, alpha=0.6)
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.04, 1.04)


def _classes(axes: Axes, picture: np.ndarray, truth: np.ndarray, shape: str) -> None:
    """Shares of the parts in a class, a row each."""
    shares = picture / np.maximum(picture.sum(axis=1, keepdims=True), 1.0)
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    if max(picture.shape) > 10:
        return
    for i, j in np.ndindex(*picture.shape):
        ink = "white" if shares[i, j] > 0.5 else GOOD
        axes.text(j, i, f"{picture[i, j]:.0f}", ha="center", va="center", fontsize=TYPE - 3, color=ink)


DRAWN: dict[str, Draw] = {
    "spectra": _spectra,
    "signatures": _signatures,
    "images": _images,
    "proportions": _proportions,
    "texts": _classes,
}
