"""What all certificates have: a table of theirs in a notebook."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class Certificate:
    """A dataclass of numbers and arrays that prove something."""

    def _repr_html_(self) -> str:
        """A row a figure, for a notebook: how many there are, their median and the largest."""
        rows = "".join(_row(one.name, getattr(self, one.name)) for one in fields(self))  # type: ignore[arg-type]
        head = "".join(f"<th>{name}</th>" for name in (type(self).__name__, "count", "median", "largest"))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(name: str, value: Any) -> str:
    values = np.asarray(value, float).ravel()
    found = (np.median(values), values.max()) if values.size else (np.nan, np.nan)
    return f"<tr><td>{name}</td><td>{values.size:,}</td>" + "".join(f"<td>{x:.3g}</td>" for x in found) + "</tr>"
