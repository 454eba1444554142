"""Components as images: a grid of them, and found ones under the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.exceptions import InputError
from partwise.plots.style import BAD, FAINT, GOOD, INK, LABEL, LINE, SMALL, TITLE, canvas, fix_view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Recovery", "image_grid", "recovery_grid"]

# inches; ten tiles in a row are 6.8 wide, about a page
TILE = 0.56
GAP = 0.08
MARGIN = 0.25
CAPTION = 0.17  # a line of SMALL
HEADER = 0.42  # a line of TITLE and a gap


@dataclass(frozen=True, eq=False)
class Recovery:
    """What one method found, row i held against true component i.

    Parameters
    ----------
    name : str
        The method.
    components : ndarray of shape (n_true, n_features)
        In the order and scale of the truth, as from :meth:`partwise.metrics.Match.aligned`.
    cosines : ndarray of shape (n_true,)
        Cosine of each with the true one.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.plots import Recovery
    >>> Recovery("HALS", np.eye(2), np.array([1.0, 0.5])).recovered(0.99).tolist()
    [True, False]
    """

    name: str
    components: np.ndarray
    cosines: np.ndarray

    def recovered(self, threshold: float) -> np.ndarray:
        """Return for each true component whether its cosine is above the threshold.

        Parameters
        ----------
        threshold : float
            The cosine.

        Returns
        -------
        ndarray of bool, shape (n_true,)
            True where recovered.
        """
        return np.asarray(self.cosines) > threshold


def image_grid(
    images: Any,
    image_shape: tuple[int, int],
    *,
    titles: Sequence[str] | None = None,
    title: str = "",
    columns: int = 10,
) -> Figure:
    """Draw images side by side, dark where they are large.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
        One image a row; each is scaled to its own largest pixel, and below zero is white.
    image_shape : (int, int)
        Height and width, with ``height * width == n_pixels``.
    titles : sequence of str, optional
        A line under each image.
    title : str, optional
        A line above all.
    columns : int, default=10
        Images in a line.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig(path, dpi=150)``.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_digit_mixtures(n_samples=100, random_state=0)
    >>> figure = pw.plots.image_grid(data.components, data.image_shape, columns=15)
    """
    stack = _as_images("images", images, image_shape)
    if titles is not None and len(titles) != len(stack):
        raise InputError(f"titles has {len(titles)} entries for {len(stack)} images", parameter="titles")
    columns = min(_check_columns(columns), len(stack))
    tile_height = TILE * image_shape[0] / image_shape[1]
    pitch = tile_height + (CAPTION if titles is not None else GAP)
    top = MARGIN + (HEADER if title else 0.0)
    width = 2 * MARGIN + columns * (TILE + GAP) - GAP
    height = top + ceil(len(stack) / columns) * pitch - GAP + MARGIN
    figure, axes = canvas(width, height)
    if title:
        axes.text(MARGIN, MARGIN, title, fontsize=TITLE, color=INK, va="top")
    for i, image in enumerate(stack):
        x, y = MARGIN + i % columns * (TILE + GAP), top + i // columns * pitch
        _tile(axes, image, x, y, tile_height)
        if titles is not None:
            _caption(axes, titles[i], x, y + tile_height, color=FAINT)
    fix_view(axes, width, height)
    return figure


def recovery_grid(
    truth: Any,
    found: Sequence[Recovery],
    image_shape: tuple[int, int],
    *,
    threshold: float = 0.99,
    title: str = "",
    unit: str = "parts",
    columns: int = 15,
) -> Figure:
    """Draw the true components and, under each, what every method made of it; misses are marked.

    Parameters
    ----------
    truth : array-like of shape (n_true, n_features)
        The true components, one a row.
    found : sequence of Recovery
        What the methods found, matched to the truth.
    image_shape : (int, int)
        Height and width of a component as an image.
    threshold : float, default=0.99
        A component is recovered if its cosine is above this.
    title : str, optional
        A line above all.
    unit : str, default="parts"
        What the components are called in the legend.
    columns : int, default=15
        Components in a line; more go on in a further band.

    Returns
    -------
    matplotlib.figure.Figure
        Components are in the order of the last method's cosines, best first.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_digit_mixtures(n_samples=100, random_state=0)
    >>> start = data.warm_start(0.2, random_state=0)
    >>> match = pw.metrics.match_components(start, data.components)
    >>> found = pw.plots.Recovery("warm start", match.aligned(start), match.cosines)
    >>> figure = pw.plots.recovery_grid(data.components, [found], data.image_shape)
    """
    images = _as_images("truth", truth, image_shape)
    if not found:
        raise InputError("found is empty: give one Recovery or more", parameter="found")
    rows = [(recovery, _as_images(recovery.name, recovery.components, image_shape)) for recovery in found]
    for recovery, stack in rows:
        if len(stack) != len(images) or len(recovery.cosines) != len(images):
            raise InputError(f"{recovery.name} must have one component and one cosine for each of {len(images)}")
    layout = _Bands(len(images), len(rows), min(_check_columns(columns), len(images)), image_shape)
    figure, axes = canvas(layout.width, layout.height)
    _heading(axes, title, threshold, unit, layout)
    order = np.argsort(-np.asarray(found[-1].cosines), kind="stable")
    for place, i in enumerate(order):
        brightest = float(images[i].max())
        x, y = layout.corner(place, 0)
        _tile(axes, images[i], x, y, layout.tile_height, brightest=brightest)
        for line, (recovery, stack) in enumerate(rows, start=1):
            x, y = layout.corner(place, line)
            cosine = float(recovery.cosines[i])
            hit = cosine > threshold
            _tile(axes, stack[i], x, y, layout.tile_height, brightest=brightest, missed=not hit)
            text = _number(cosine, threshold) if hit else f"× {_number(cosine, threshold)}"
            _caption(axes, text, x, y + layout.tile_height, color=GOOD if hit else BAD)
    for band in range(layout.bands):
        _label(axes, "true", "", INK, *layout.corner(band * layout.columns, 0), layout.tile_height)
        for line, recovery in enumerate(found, start=1):
            hits = recovery.recovered(threshold)
            count = "" if band else f"{hits.sum()} of {hits.size}"
            x, y = layout.corner(band * layout.columns, line)
            _label(axes, recovery.name, count, GOOD if hits.all() else BAD, x, y, layout.tile_height)
    fix_view(axes, layout.width, layout.height)
    return figure


@dataclass(frozen=True)
class _Bands:
    """Where tiles go: bands of ``columns`` components, each with a line of true ones and a line a method."""

    count: int
    methods: int
    columns: int
    image_shape: tuple[int, int]

    LABELS = 1.25
    BETWEEN = 0.3

    @property
    def bands(self) -> int:
        return ceil(self.count / self.columns)

    @property
    def tile_height(self) -> float:
        return TILE * self.image_shape[0] / self.image_shape[1]

    @property
    def band_height(self) -> float:
        return self.tile_height + GAP + self.methods * (self.tile_height + CAPTION)

    @property
    def left(self) -> float:
        return MARGIN + self.LABELS

    @property
    def top(self) -> float:
        return MARGIN + HEADER

    @property
    def width(self) -> float:
        # never too narrow for the heading
        return max(self.left + self.columns * (TILE + GAP) - GAP + MARGIN, 6.5)

    @property
    def height(self) -> float:
        return self.top + self.bands * (self.band_height + self.BETWEEN) - self.BETWEEN + MARGIN

    def corner(self, place: int, line: int) -> tuple[float, float]:
        band, column = divmod(place, self.columns)
        down = 0.0 if line == 0 else self.tile_height + GAP + (line - 1) * (self.tile_height + CAPTION)
        return self.left + column * (TILE + GAP), self.top + band * (self.band_height + self.BETWEEN) + down


def _heading(axes: Any, title: str, threshold: float, unit: str, layout: _Bands) -> None:
    axes.text(MARGIN, MARGIN, title, fontsize=TITLE, color=INK, va="top")
    legend = f"cosine with the true one; framed, ×: {unit} missed (at most {threshold:g})"
    axes.text(layout.width - MARGIN, MARGIN + 0.03, legend, fontsize=LABEL, color=FAINT, va="top", ha="right")


def _tile(
    axes: Any,
    image: np.ndarray,
    x: float,
    y: float,
    height: float,
    *,
    brightest: float | None = None,
    missed: bool = False,
) -> None:
    top = float(image.max(initial=0.0)) if brightest is None else brightest
    box = (x, x + TILE, y + height, y)
    ink = np.clip(image / (top or 1.0), 0.0, 1.0)
    axes.imshow(ink, cmap="gray_r", vmin=0.0, vmax=1.0, extent=box, interpolation="nearest", zorder=1)
    edge, line = (BAD, 1.6) if missed else (LINE, 0.6)
    axes.plot([x, x + TILE, x + TILE, x, x], [y, y, y + height, y + height, y], color=edge, lw=line, zorder=2)


def _caption(axes: Any, text: str, x: float, y: float, *, color: str) -> None:
    axes.text(x + TILE / 2, y + 0.03, text, fontsize=SMALL, color=color, ha="center", va="top")


def _label(axes: Any, name: str, note: str, color: str, x: float, y: float, height: float) -> None:
    style: dict[str, Any] = {"fontsize": LABEL, "ha": "right", "va": "center"}
    middle = y + height / 2
    shift = 0.075 if note else 0.0
    axes.text(x - 0.12, middle - shift, name, color=INK, **style)
    axes.text(x - 0.12, middle + shift, note, color=color, fontweight="bold", **style)


def _number(cosine: float, threshold: float) -> str:
    """Three decimals, cut and not rounded, so that a number never claims more than is there."""
    places = 1e3 if threshold < 0.999 else 1e5
    return f"{np.floor(cosine * places) / places:.{int(np.log10(places))}f}"


def _as_images(name: str, images: Any, image_shape: tuple[int, int]) -> np.ndarray:
    stack = np.asarray(images, float)
    height, width = image_shape
    if stack.ndim != 2 or stack.shape[1] != height * width or not len(stack):
        raise InputError(
            f"{name} must have shape (n_images, {height * width}), for images of {height} x {width}; got {stack.shape}",
            parameter=name,
        )
    return stack.reshape(-1, height, width)


def _check_columns(columns: int) -> int:
    if columns < 1:
        raise InputError(f"columns={columns} must be at least 1", parameter="columns")
    return int(columns)
