"""Pictures that a field adds to the report: maps, curves, bars in groups, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.profiles import Bars, Lines, Listing, Maps, Panel
from partwise.report import charts, png
from partwise.report.naming import shown
from partwise.report.wording import number

Array = npt.NDArray[Any]

# Okabe and Ito's colours, which the colour-blind tell apart, and darker ones of the same
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#6a3d9a", "#00534c", "#8c2d04")
SIDE = 220  # pixels of a map
MOST_LINES = 20
MOST_ROWS = 300


def drawn(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Everything the template needs, panel by panel."""
    makers = {Maps: _maps, Lines: _lines, Bars: _bars, Listing: _listing}
    return [makers[type(panel)](panel) for panel in panels]  # type: ignore[operator]


def _maps(panel: Maps) -> dict[str, Any]:
    pictures = []
    for name, image in zip(panel.names, panel.images, strict=True):
        small = png.shrunk(np.asarray(image, float), SIDE)
        top = float(small.max()) or 1.0
        pictures.append((shown(name), png.picture(small, "sequential", 0.0, top), number(top)))
    return {"kind": "maps", "title": panel.title, "note": panel.note, "pictures": pictures}


def _lines(panel: Lines) -> dict[str, Any]:
    x, y = np.asarray(panel.x, float), np.asarray(panel.y, float)[:MOST_LINES]
    low, high = min(0.0, float(y.min())), float(y.max()) or 1.0
    span, width = (high - low) or 1.0, float(np.ptp(x)) or 1.0
    across = (x - x.min()) / width * charts.WIDTH
    order = np.argsort(across, kind="stable")
    curves = []
    for i, row in enumerate(y):
        at, values = charts.envelope(across[order], row[order])
        up = (high - values) / span * charts.HEIGHT
        curves.append((charts.line(at, up), COLOURS[i % len(COLOURS)], i >= len(COLOURS), shown(panel.names[i])))
    values, _ = charts.round_values(low, high, 4)
    y_ticks = [(100.0 * (high - value) / span, number(float(value)) if value else "0") for value in values]
    if panel.labels is not None:
        step = -(-len(x) // 8)
        x_ticks = [(100.0 * (x[i] - x.min()) / width, shown(panel.labels[i])) for i in range(0, len(x), step)]
    else:
        places, _ = charts.round_values(float(x.min()), float(x.max()), 6)
        x_ticks = [(100.0 * (value - x.min()) / width, f"{value:.6g}") for value in places]
    return {
        "kind": "lines",
        "title": panel.title,
        "note": panel.note,
        "curves": curves,
        "x": x_ticks,
        "y": y_ticks,
        "x_label": panel.x_label,
        "y_label": panel.y_label,
        "left_out": len(panel.names) - len(curves),
    }


def _bars(panel: Bars) -> dict[str, Any]:
    width = charts.WIDTH / panel.values.shape[1]
    figures = []
    for name, values in zip(panel.names, np.asarray(panel.values, float), strict=True):
        top = float(values.max()) or 1.0
        paths, at = [], 0
        for _, colour, count in panel.groups:
            path = ""
            for j in range(at, at + count):
                left, right = j * width + 0.12 * width, (j + 1) * width - 0.12 * width
                height = charts.HEIGHT * values[j] / top
                path += f"M{left:.1f} {charts.HEIGHT}V{charts.HEIGHT - height:.1f}H{right:.1f}V{charts.HEIGHT}z"
            paths.append((path, colour))
            at += count
        largest = [shown(panel.labels[j]) for j in np.argsort(-values, kind="stable")[:3]]
        figures.append(
            {"name": shown(name), "paths": paths, "top": f"{100.0 * top:.3g}%", "largest": ", ".join(largest)}
        )
    edges = np.cumsum([0, *(count for _, _, count in panel.groups)])
    middles = 100.0 * (edges[:-1] + edges[1:]) / 2.0 / panel.values.shape[1]
    groups = [(float(at), title, colour) for at, (title, colour, _) in zip(middles, panel.groups, strict=True)]
    found = {"kind": "bars", "title": panel.title, "note": panel.note, "figures": figures, "groups": groups}
    return found | {"x_label": panel.x_label, "y_label": panel.y_label}


def _listing(panel: Listing) -> dict[str, Any]:
    rows = [[str(cell) for cell in row] for row in panel.rows[:MOST_ROWS]]
    return {"kind": "listing", "title": panel.title, "note": panel.note, "columns": panel.columns, "rows": rows}
