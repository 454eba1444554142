"""How far the product is from the data, without cancellation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError
from partwise.metrics import l1_residual, relative_error

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])

RNG = np.random.default_rng(0)
W = RNG.random((40, 3)) * (RNG.random((40, 3)) < 0.6)
H = RNG.random((3, 9)) * (RNG.random((3, 9)) < 0.6)
X = W @ H


@FORMS
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-5, 1e-8, 1e-12, 1e-14])
def test_an_error_of_any_size_is_measured(form: Any, size: float) -> None:
    """One component is off by ``size``: the error is size |W_1| |d| / |X|, whatever squares may lose."""
    off = H.copy()
    direction = np.where(H[1] > 0, 1.0, 0.0)
    off[1] += size * direction
    expected = size * np.linalg.norm(W[:, 1]) * np.linalg.norm(direction) / np.linalg.norm(X)
    assert relative_error(form(X), W, off) == pytest.approx(expected, rel=0.02 if size > 1e-13 else 0.2)


@FORMS
def test_by_definition(form: Any) -> None:
    other = RNG.random((40, 3))
    expected = np.linalg.norm(X - other @ H) / np.linalg.norm(X)
    assert relative_error(form(X), other, H) == pytest.approx(expected, rel=1e-12)
    assert relative_error(form(X), 0 * W, H) == 1.0
    assert relative_error(form(X), W, H) < 1e-15
    assert relative_error(pw.open_source(form(X), block_rows=7), other, H) == pytest.approx(expected, rel=1e-12)
    assert relative_error(form(X), other.tolist(), H.tolist()) == pytest.approx(expected, rel=1e-12)


@FORMS
@pytest.mark.parametrize("c", [1e-140, 1e150])
def test_extreme_units(form: Any, c: float) -> None:
    other = H * 1.5
    assert relative_error(form(c * X), W, c * other) == pytest.approx(0.5, rel=1e-12)


def test_files_integers_and_single_precision(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    assert relative_error(tmp_path / "X.npy", W, H) < 1e-15
    counts = RNG.integers(0, 5, (6, 4))
    assert relative_error(counts, np.eye(6), counts) == 0.0
    single = relative_error(X.astype(np.float32), W.astype(np.float32), H.astype(np.float32))
    assert single < 1e-6
    assert relative_error(da.from_array(X, chunks=(9, 9)), W, H) < 1e-15


def test_nothing() -> None:
    zeros = np.zeros((40, 9))
    assert relative_error(zeros, 0 * W, H) == 0.0
    assert relative_error(zeros, W, H) == np.inf
    assert relative_error(sp.csr_array(zeros), W, H) == np.inf


@pytest.mark.parametrize(
    ("weights", "components"),
    [(W[:5], H), (W[:, :2], H), (W, H[:, :4]), (W[0], H), (W, H[0])],
    ids=["rows", "k", "columns", "vector-W", "vector-H"],
)
def test_shapes_that_do_not_fit(weights: Any, components: Any) -> None:
    with pytest.raises(InputError, match="does not give the shape"):
        relative_error(X, weights, components)
    with pytest.raises(InputError, match="does not give the shape"):
        l1_residual(X, weights, components)


def test_l1_residual_by_hand() -> None:
    P = np.array([[1.0, 1.0], [0.0, 2.0]])
    # W H = [[0, 2], [0, 2]]: off by 1 + 1 of 4
    assert l1_residual(P, [[1.0], [1.0]], [[0.0, 2.0]]) == 0.5
    assert l1_residual(P, np.eye(2), P) == 1.0
    assert l1_residual(P, np.zeros((2, 1)), [[1.0, 1.0]]) == 0.0
    assert l1_residual(P, -np.eye(2), P) == -1.0


def test_l1_residual_errors() -> None:
    with pytest.raises(InputError, match="two dimensions"):
        l1_residual([1.0, 2.0], [[1.0]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="all zero"):
        l1_residual([[0.0, 0.0]], [[1.0]], [[1.0, 2.0]])
