"""What the measures of a sample of weights take, and what they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.metrics import (
    correlation_conditions,
    decay_order,
    moment_constants,
)
from tests.metrics.conditions.samples import s_sparse


def test_weights_in_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "W.npy", s_sparse(5, 2))
    assert correlation_conditions(tmp_path / "W.npy").m == pytest.approx(2.5)


@pytest.mark.parametrize("function", [correlation_conditions, decay_order, moment_constants], ids=lambda f: f.__name__)
class TestUnusableWeights:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf], ids=str)
    def test_not_finite(self, function: Any, bad: float) -> None:
        W = np.ones((9, 2))
        W[4, 1] = bad
        with pytest.raises(InputError, match=r"W contains 1 NaN or infinity .* row 4, column 1"):
            function(W)

    def test_empty(self, function: Any) -> None:
        with pytest.raises(InputError, match="rows and columns"):
            function(np.ones((0, 3)))
