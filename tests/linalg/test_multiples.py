"""The least steps between entries, against a slow reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.linalg.multiples import least_steps


def slow_step(row: np.ndarray) -> float:
    values = np.unique(np.append(np.round(row, 12), 0.0))
    return float(np.diff(values).min()) if len(values) > 1 else 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_least_step_of_a_row(form: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0, (40, 25)) * (rng.random((40, 25)) < 0.7) / rng.integers(2, 900, (40, 1))
    X[5] = 0.0
    X[6] = 0.25
    expected = [slow_step(row) for row in X]
    np.testing.assert_allclose(least_steps(form(X.astype(dtype))), expected, rtol=1e-6)


def test_rows_of_nothing() -> None:
    assert least_steps(sp.csr_array((3, 4))).tolist() == [1.0, 1.0, 1.0]
    assert least_steps(np.zeros((0, 4))).shape == (0,)
