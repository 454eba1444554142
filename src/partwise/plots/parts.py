"""Parts and the course of a fit on Matplotlib's axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError, MissingDependencyError
from partwise.plots.style import FAINT, GOOD, LABEL

Array = npt.NDArray[Any]

ORDERED_LEAST = 20  # features from which on a line says more than bars
SHOWN = 10


def plot_parts(
    components: Any,
    *,
    part_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    top: int = SHOWN,
    axes: Any = None,
) -> Any:
    """Draw parts: as images, as curves over ordered features, or as bars of their largest features.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        The parts.
    part_names, feature_names : sequence of str, optional
        What they are called. Parts are curves where there are at least 20 features and their names are numbers, or
        there are none; else bars.
    image_shape : tuple of int, optional
        Rows and columns, where parts are images.
    top : int, default=10
        Bars of a part.
    axes : sequence of matplotlib.axes.Axes, optional
        One for each part; made by default.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        One for each part; ``axes[0].figure`` is the figure.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.plots import plot_parts
    >>> axes = plot_parts(np.eye(2, 30))
    >>> [ax.get_title() for ax in axes]
    ['Part 1', 'Part 2']
    """
    H = np.asarray(components, float)
    if H.ndim != 2:
        raise InputError(f"{{parameter}} must have two dimensions, got shape {H.shape}", parameter="components")
    names = [f"Part {j + 1}" for j in range(len(H))] if part_names is None else list(part_names)
    places = _positions(feature_names, H.shape[1])
    axes = axes_for(len(H), axes, wide=image_shape is None)
    for ax, h, name in zip(axes, H, names, strict=True):
        ax.set_title(name, fontsize=LABEL + 1.5)
        if image_shape is not None:
            ax.imshow(h.reshape(image_shape), cmap="gray")
            ax.set_axis_off()
        elif places is not None:
            ax.plot(*places[0], h, color=GOOD, linewidth=1.2)
            ax.set_xlabel(places[1], fontsize=LABEL)
            ax.set_ylabel("value", fontsize=LABEL)
        else:
            best = np.argsort(-np.abs(h), kind="stable")[:top][::-1]
            labels = [str(feature_names[i]) if feature_names is not None else f"feature {i}" for i in best]
            ax.barh(labels, h[best], color=GOOD)
            ax.set_xlabel("value", fontsize=LABEL)
        ax.tick_params(labelsize=LABEL)
    return axes


def plot_history(history: Mapping[str, Any], *, column: str = "objective", ax: Any = None) -> Any:
    """Draw a column of a fit's history over its iterations, on a logarithmic scale where all values are positive.

    Parameters
    ----------
    history : mapping of str to sequence
        ``history_`` of a fitted model.
    column : str, default="objective"
        Which column.
    ax : matplotlib.axes.Axes, optional
        Where; made by default.

    Returns
    -------
    matplotlib.axes.Axes
        With its axes named.
    """
    if column not in history:
        raise InputError(f"{{parameter}} is one of {', '.join(history)}; got {column!r}", parameter="column")
    from matplotlib.ticker import MaxNLocator

    ax = axes_for(1, None if ax is None else [ax])[0]
    steps = np.asarray(history["n_iter"] if "n_iter" in history else np.arange(len(history[column])), float)
    values = np.asarray(history[column], float)
    good = np.isfinite(values)
    ax.plot(steps[good], values[good], color=GOOD, marker="." if good.sum() < 30 else None)
    positive = bool((values[good] > 0.0).all()) and good.any()
    if positive:
        ax.set_yscale("log")
    ax.set_xlabel("iteration", fontsize=LABEL)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel(f"{column}{' (log scale)' if positive else ''}", fontsize=LABEL)
    ax.grid(color=FAINT, alpha=0.3)
    return ax


def _positions(names: Sequence[str] | None, count: int) -> tuple[tuple[Array], str] | None:
    if count < ORDERED_LEAST:
        return None
    if names is None:
        return (np.arange(count, dtype=float),), "feature"
    words = [str(name).split() for name in names]
    try:
        values = np.array([float(word[0]) for word in words])
    except (ValueError, IndexError):
        return None
    unit = " ".join(words[0][1:])
    return ((values,), unit or "feature") if (np.diff(values) > 0).all() or (np.diff(values) < 0).all() else None


def axes_for(count: int, given: Any, *, wide: bool = True) -> Any:
    """So many axes: those that were given, or new ones of pyplot, which notebooks and ``plt.show()`` show."""
    if given is not None:
        axes = np.ravel(np.asarray(given, dtype=object))
        if len(axes) != count:
            raise InputError(f"{{parameter}} must be {count}, one a part; got {len(axes)}", parameter="axes")
        return axes
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError as error:
        raise MissingDependencyError("figures need matplotlib: pip install 'partwise[cli]'") from error
    columns = min(count, 3 if wide else 6)
    rows = -(-count // columns)
    size = (4.0 * columns, 2.4 * rows) if wide else (1.6 * columns, 1.8 * rows)
    figure = plt.figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.set_axis_off()
    return axes[:count]
