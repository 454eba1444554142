"""Tables of conditions, and of quantities that nothing is asked of."""

from __future__ import annotations

from typing import Any

import narwhals
import numpy as np
import pytest

from partwise.metrics import (
    correlation_conditions,
    decay_order,
    dominant_conditions,
    heavy_noise,
    initialization,
    moment_constants,
    noise_tolerance,
)
from partwise.metrics.conditions.table import Condition, verdict

W = [[0.5, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0]]
H = [[9.0, 0.0, 1.0], [0.0, 9.0, 1.0]]

TABLES = {
    "correlation": correlation_conditions(W),
    "decay": decay_order(W),
    "moments": moment_constants(W),
    "start": initialization(H, H),
    "tolerance": noise_tolerance(H, W),
    "noise": heavy_noise([[0.2, -0.2], [-0.2, 0.2], [0.2, 0.2], [-0.2, -0.2]], eps4=0.5),
    "dominant": dominant_conditions(H, W, 0.02 * np.ones((4, 3)), eps4=0.3),
}


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_result_is_a_table(table: Any, backend: str) -> None:
    frame = narwhals.from_native(table.to_native(backend), eager_only=True)
    assert frame.columns == ["condition", "relation", "asked", "found", "holds"]
    np.testing.assert_array_equal(frame["found"].to_list(), [line.found for line in table.conditions])
    assert frame["holds"].to_list() == [line.holds for line in table.conditions]
    assert [text.split(" ")[0] for text in str(table).splitlines()] == [
        line.condition.split(" ")[0] for line in table.conditions
    ]
    assert repr(table) == f"{type(table).__name__}:\n{table}"


@pytest.mark.parametrize(
    ("line", "holds", "text"),
    [
        (Condition.quantity("q", 2.0), None, "         2"),
        (Condition.check("a", "<=", 0.3, 0.1 + 0.2), True, "       0.3 <= 0.3        holds"),
        (Condition.check("a", "<", 0.3, 0.3), False, "       0.3 <  0.3        fails"),
        (Condition.constant("p0", 0.0, 0.0), False, "         0 >  0          fails"),
        (Condition.constant("p0", 0.5, 0.5), True, "       0.5 >= 0.5        holds"),
        (Condition.bounded("G", 0.0), True, "         0 <= ?          holds"),
        (Condition.bounded("G", 7.0), None, "         7 <= ?          undecided"),
        (Condition.bounded("G", float("inf")), False, "       inf <= ?          fails"),
        (Condition.bounded("G", float("nan")), None, "       nan <= ?          undecided"),
        (Condition.fact("balanced", False), False, "         0 >= 1          fails"),
    ],
)
def test_line(line: Condition, holds: bool | None, text: str) -> None:
    assert (line.holds, str(line)) == (holds, text)


def test_verdict() -> None:
    quantity, holds, fails = Condition.quantity("q", 1.0), Condition.fact("a", True), Condition.fact("b", False)
    undecided = Condition.bounded("G", 1.0)
    assert verdict([quantity, holds]) is True
    assert verdict([holds, undecided]) is None
    assert verdict([holds, undecided, fails]) is False
    assert verdict([quantity]) is verdict([]) is None
