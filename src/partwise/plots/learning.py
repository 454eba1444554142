"""Watching it learn: the error over the samples, features and detectors, the codes, and what random starts agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.exceptions import InputError
from partwise.metrics import dip_test, match_components
from partwise.plots.images import GAP, HEADER, MARGIN, TILE, _as_images, _check_columns, image_grid
from partwise.plots.style import BAD, FAINT, GOOD, INK, LABEL, LINE, SMALL, TITLE, canvas, fix_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["code_histograms", "detector_grid", "feature_grid", "learning_curve", "reproducibility"]

COLOURS = (GOOD, BAD, "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
WIDTH, HEIGHT = 6.5, 4.0  # inches: the text width of a letter page
BINS = 40  # of a small histogram: a few pixels each


def learning_curve(curves: Mapping[str, Any], *, title: str = "", measure: str = "average error") -> Figure:
    """Draw the average error against the number of samples, the error on a logarithmic scale.

    Parameters
    ----------
    curves : mapping of str to (samples, errors)
        One line each: the columns ``samples`` and ``objective`` of a history, or the two columns of a log.
    title : str, optional
        A line above all.
    measure : str, default="average error"
        What the vertical axis is called.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig(path, dpi=150)``.

    Examples
    --------
    >>> import partwise as pw
    >>> figure = pw.plots.learning_curve({"w = 1": ([1000, 2000, 3000], [0.5, 0.1, 0.02])})
    """
    if not curves:
        raise InputError("curves is empty: give one line or more", parameter="curves")
    figure, axes = _chart(title, "samples", measure)
    for (name, pair), colour in zip(curves.items(), _colours(len(curves)), strict=True):
        samples, errors = (np.asarray(values, float) for values in pair)
        if samples.ndim != 1 or samples.shape != errors.shape:
            raise InputError(f"{name}: samples and errors must be vectors of one length", parameter=name)
        shown = errors > 0.0
        axes.plot(samples[shown], errors[shown], color=colour, lw=1.4, label=name)
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=LABEL)
    return figure


def feature_grid(
    features: Any, image_shape: tuple[int, int], *, exponent: float = 0.2, title: str = "", columns: int = 10
) -> Figure:
    """Draw features as images, their contrast exponentiated to show faint strokes beside strong ones.

    Parameters
    ----------
    features : array-like of shape (n_features, n_pixels)
        One a row, such as ``components_``.
    image_shape : (int, int)
        Height and width.
    exponent : float, default=0.2
        Power to which pixels are raised after scaling to the largest; 1 leaves them.
    title : str, optional
        A line above all.
    columns : int, default=10
        Images in a line.

    Returns
    -------
    matplotlib.figure.Figure
        The grid.

    References
    ----------
    .. [1] V. Elser, "Online Non-negative Matrix Factorization", Figure 4.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> figure = pw.plots.feature_grid(np.eye(4), (2, 2), columns=2)
    """
    stack = np.maximum(0.0, np.asarray(features, float))
    return image_grid(_contrast(stack, exponent), image_shape, title=title, columns=columns)


def detector_grid(
    detectors: Any, image_shape: tuple[int, int], *, exponent: float = 1.0, title: str = "", columns: int = 10
) -> Figure:
    """Draw detectors as images: positive is red, negative is blue, zero is white.

    Parameters
    ----------
    detectors : array-like of shape (n_detectors, n_pixels)
        One a row, such as ``detectors_``; each is scaled to its own largest magnitude.
    image_shape : (int, int)
        Height and width.
    exponent : float, default=1
        Power to which magnitudes are raised.
    title : str, optional
        A line above all.
    columns : int, default=10
        Images in a line.

    Returns
    -------
    matplotlib.figure.Figure
        The grid.

    References
    ----------
    .. [1] V. Elser, "Online Non-negative Matrix Factorization", Figure 5.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> figure = pw.plots.detector_grid(np.eye(4) - 0.5, (2, 2), columns=2)
    """
    stack = _as_images("detectors", detectors, image_shape)
    columns = min(_check_columns(columns), len(stack))
    tall = TILE * image_shape[0] / image_shape[1]
    top = MARGIN + (HEADER if title else 0.0)
    width = 2 * MARGIN + columns * (TILE + GAP) - GAP
    height = top + ceil(len(stack) / columns) * (tall + GAP) - GAP + MARGIN
    figure, axes = canvas(width, height)
    axes.text(MARGIN, MARGIN, title, fontsize=TITLE, color=INK, va="top")
    for i, image in enumerate(stack):
        x, y = MARGIN + i % columns * (TILE + GAP), top + i // columns * (tall + GAP)
        axes.imshow(_red_and_blue(image, exponent), extent=(x, x + TILE, y + tall, y), interpolation="nearest")
        axes.plot([x, x + TILE, x + TILE, x, x], [y, y, y + tall, y + tall, y], color=LINE, lw=0.6)
    fix_view(axes, width, height)
    return figure


def code_histograms(codes: Any, *, title: str = "", columns: int = 10) -> Figure:
    """Draw the distribution of every component of the codes: is a feature absent, or present with one magnitude.

    Under each is the share of zeros and Hartigan's dip (:func:`partwise.metrics.dip_test`), 0 for one mode and 0.25 for
    two equal values; with a star where one mode, zeros included, is unlikely (0.01).

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_components)
        Codes of samples of one length, such as ``model.encode(X)``.
    title : str, optional
        A line above all.
    columns : int, default=10
        Histograms in a line.

    Returns
    -------
    matplotlib.figure.Figure
        The histograms, on a logarithmic scale of counts.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> figure = pw.plots.code_histograms(np.random.default_rng(0).random((50, 3)))
    """
    Y = np.asarray(codes, float)
    if Y.ndim != 2 or not Y.size:
        raise InputError(f"codes must have shape (n_samples, n_components), got {Y.shape}", parameter="codes")
    columns = min(_check_columns(columns), Y.shape[1])
    wide, tall, note = 0.9, 0.55, 0.22
    top = MARGIN + (HEADER if title else 0.0)
    width = 2 * MARGIN + columns * (wide + GAP) - GAP
    height = top + ceil(Y.shape[1] / columns) * (tall + note) + MARGIN
    figure, axes = canvas(width, height)
    axes.text(MARGIN, MARGIN, title, fontsize=TITLE, color=INK, va="top")
    for j, y in enumerate(Y.T):
        x, floor = MARGIN + j % columns * (wide + GAP), top + j // columns * (tall + note) + tall
        counts, edges = np.histogram(y, BINS, (0.0, max(float(y.max()), 1e-300)))
        bars = np.log1p(counts) / np.log1p(counts.max())
        lefts, step = x + edges[:-1] / edges[-1] * wide, wide / BINS
        axes.bar(lefts, -tall * bars, step, bottom=floor, align="edge", color=GOOD, lw=0)
        axes.plot([x, x + wide], [floor, floor], color=LINE, lw=0.6)
        test = dip_test(y)
        text = f"{np.mean(y <= 0.0):.0%} zero, dip {test.dip:.2f}{'*' if test.p_value < 0.01 else ''}"
        axes.text(x + wide / 2, floor + 0.03, text, fontsize=SMALL, color=FAINT, ha="center", va="top")
    fix_view(axes, width, height)
    return figure


def reproducibility(starts: Mapping[str, Sequence[Any]], *, title: str = "") -> Figure:
    """Draw how far the components from different random starts agree, matched one to one.

    Parameters
    ----------
    starts : mapping of str to sequence of array-like of shape (n_components, n_features)
        For every method the components of two starts or more.
    title : str, optional
        A line above all.

    Returns
    -------
    matplotlib.figure.Figure
        For every pair of starts the cosines of matched components in falling order, a thin line; the mean over pairs is
        bold, and its mean (:func:`partwise.metrics.stability`) is in the legend.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> figure = pw.plots.reproducibility({"random": [rng.random((5, 20)) for _ in range(3)]})
    """
    if not starts:
        raise InputError("starts is empty: give the components of one method or more", parameter="starts")
    figure, axes = _chart(title, "components, best first", "cosine of matched components")
    for (name, runs), colour in zip(starts.items(), _colours(len(starts)), strict=True):
        if len(runs) < 2:
            raise InputError(f"{name} has {len(runs)} start(s): give the components of two or more", parameter=name)
        pairs = [np.sort(match_components(a, b).cosines)[::-1] for a, b in combinations(runs, 2)]
        ranks = np.arange(1, len(pairs[0]) + 1)
        for cosines in pairs:
            axes.plot(ranks, cosines, color=colour, lw=0.5, alpha=0.35)
        mean = np.mean(pairs, axis=0)
        axes.plot(ranks, mean, color=colour, lw=1.8, label=f"{name}: {mean.mean():.3f}")
    axes.set_ylim(0.0, 1.02)
    axes.legend(frameon=False, fontsize=LABEL, loc="lower left")
    return figure


def _contrast(stack: np.ndarray, exponent: float) -> np.ndarray:
    if exponent <= 0.0:
        raise InputError(f"exponent={exponent} must be positive", parameter="exponent")
    top = np.abs(stack).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray((np.abs(stack) / np.where(top > 0.0, top, 1.0)) ** exponent)


def _red_and_blue(image: np.ndarray, exponent: float) -> np.ndarray:
    ink = _contrast(image.reshape(1, -1), exponent).reshape(image.shape)
    red, blue = np.where(image > 0.0, ink, 0.0), np.where(image < 0.0, ink, 0.0)
    return np.stack([1.0 - blue, 1.0 - red - blue, 1.0 - red], axis=-1)


def _chart(title: str, across: str, up: str) -> tuple[Figure, Axes]:
    figure, sheet = canvas(WIDTH, HEIGHT)
    sheet.text(MARGIN, MARGIN, title, fontsize=TITLE, color=INK, va="top")
    axes = figure.add_axes((0.14, 0.13, 0.83, 0.75))
    axes.set_xlabel(across, fontsize=LABEL, color=INK)
    axes.set_ylabel(up, fontsize=LABEL, color=INK)
    axes.tick_params(labelsize=LABEL, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]
