"""SPA without a residual matrix against SPA with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.algorithms.points import CANDIDATES
from partwise.algorithms.spa import fast_anchor_words, spa
from partwise.exceptions import InputError
from partwise.sources import source_of

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def deflation(X: np.ndarray, k: int) -> tuple[list[int], list[float]]:
    """The paper: largest residual row, project it out of all rows."""
    R = X.astype(float).copy()
    largest = np.linalg.norm(R, axis=1).max()
    anchors: list[int] = []
    sizes: list[float] = []
    while len(anchors) < k:
        norms = np.linalg.norm(R, axis=1)
        j = int(np.argmax(norms))
        if norms[j] <= 1e-13 * largest:
            break
        anchors.append(j)
        sizes.append(norms[j] / largest)
        q = R[j] / norms[j]
        for _ in range(2):
            R -= np.outer(R @ q, q)
    return anchors, sizes


def separable(seed: int, n: int = 120, m: int = 30, k: int = 8) -> pw.datasets.mixture.Mixture:
    return pw.datasets.make_separable(n_samples=n, n_features=m, n_components=k, axis="samples", random_state=seed)


@FORMS
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", [None, 1, 13])
def test_separable_data(form: Any, seed: int, rows: int | None) -> None:
    data = separable(seed)
    found = spa(source_of(form(data.X), block_rows=rows), 8)
    anchors, sizes = deflation(data.X, 8)
    assert found.anchors.tolist() == anchors
    assert sorted(found.anchors) == sorted(data.anchors)
    np.testing.assert_allclose(found.residuals, sizes, rtol=1e-9)
    assert found.residuals[0] == pytest.approx(1.0)
    assert (np.diff(found.residuals) <= 0).all()
    assert (found.margins >= 1.0).all()


@FORMS
@pytest.mark.parametrize("seed", range(5))
def test_noisy_sparse_data(form: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((200, 40)) * (rng.random((200, 40)) < 0.3)
    assert spa(source_of(form(X), block_rows=50), 20).anchors.tolist() == deflation(X, 20)[0]


@FORMS
def test_row_scale(form: Any) -> None:
    data = separable(1)
    scale = 10.0 ** np.random.default_rng(0).uniform(-3, 3, len(data.X))
    found = spa(source_of(form(data.X / scale[:, None]), block_rows=30), 8, row_scale=scale)
    assert sorted(found.anchors) == sorted(data.anchors)
    assert found.anchors.tolist() == deflation(data.X, 8)[0]
    left_out = scale.copy()
    left_out[found.anchors[0]] = 0.0
    again = spa(source_of(form(data.X / scale[:, None])), 8, row_scale=left_out)
    assert found.anchors[0] not in again.anchors


@FORMS
@pytest.mark.parametrize("rows", [None, 1, 7, 50])
def test_the_first_of_equals_is_picked(form: Any, rows: int | None) -> None:
    kinds = np.array([[1.0, 2.0, 3.0, 0.0], [3.0, 1.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.1]])
    labels = np.random.default_rng(0).integers(0, 3, 40 * CANDIDATES)
    firsts = [int(np.argmax(labels == kind)) for kind in range(3)]
    found = spa(source_of(form(kinds[labels]), block_rows=rows), 3)
    assert found.anchors.tolist() == firsts
    np.testing.assert_allclose(found.margins[0], 1.0)


@FORMS
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("rank", [1, 3, 6])
def test_fewer_anchors_than_asked_for_where_the_rank_is_lower(form: Any, dtype: Any, rank: int) -> None:
    rng = np.random.default_rng(rank)
    X = (rng.random((90, rank)) @ rng.random((rank, 25))).astype(dtype)
    found = spa(source_of(form(X), block_rows=20), 10)
    assert len(found.anchors) == rank
    assert found.anchors.tolist() == deflation(X, rank)[0]


@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.zeros((1, 1))], ids=["zeros", "zero"])
def test_nothing_to_pick(X: np.ndarray) -> None:
    found = spa(source_of(X), 2)
    assert len(found.anchors) == len(found.residuals) == len(found.margins) == 0


def test_more_anchors_than_rows() -> None:
    assert sorted(spa(source_of(np.eye(3)), 5).anchors) == [0, 1, 2]
    assert spa(source_of(np.ones((1, 4))), 2).anchors.tolist() == [0]


@FORMS
@pytest.mark.parametrize("size", [1e-5, 1e-7, 1e-9, 1e-11])
def test_a_part_far_below_the_rounding_of_squared_norms(form: Any, size: float) -> None:
    """Residuals of 1e-9 are 1e-18 squared: lost where it is subtracted from 1, not in the residual itself."""
    rng = np.random.default_rng(int(-np.log10(size)))
    X = rng.random((500, 2)) @ rng.random((2, 30))
    direction = rng.random(30)
    X[:100] += 0.5 * size * rng.random((100, 1)) * direction
    X[137] += size * direction
    found = spa(source_of(form(X), block_rows=60), 3)
    assert found.anchors[-1] == 137
    assert found.anchors.tolist() == deflation(X, 3)[0]
    np.testing.assert_allclose(found.residuals, deflation(X, 3)[1], rtol=1e-3)


def test_falling_through_many_orders_of_magnitude() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 12)))[0].T
    X = (rng.dirichlet(np.ones(12), 300) * 0.9) @ (Q * 10.0 ** -np.arange(12)[:, None])
    rows = rng.choice(300, 12, replace=False)
    X[rows] = Q * 10.0 ** -np.arange(12)[:, None]
    assert spa(source_of(X, block_rows=64), 12).anchors.tolist() == rows.tolist()


# --- columns ------------------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", [None, 1, 13])
def test_columns_of_separable_data(form: Any, seed: int, rows: int | None) -> None:
    data = pw.datasets.make_separable(n_samples=60, n_features=90, n_components=8, random_state=seed)
    found = spa(source_of(form(data.X), block_rows=rows), 8, axis="features")
    anchors, sizes = deflation(data.X.T, 8)
    assert found.anchors.tolist() == anchors
    assert sorted(found.anchors) == sorted(data.anchors)
    np.testing.assert_allclose(found.residuals, sizes, rtol=1e-9)
    assert (found.margins >= 1.0).all()


@FORMS
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_columns_are_rows_of_the_transpose(form: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((150, 40)) * (rng.random((150, 40)) < 0.3)).astype(dtype)
    scale = rng.uniform(0.0, 2.0, 40)
    columns = spa(source_of(form(X), block_rows=40), 20, axis="features", row_scale=scale)
    rows = spa(source_of(form(X.T), block_rows=7), 20, row_scale=scale)
    np.testing.assert_array_equal(columns.anchors, rows.anchors)
    np.testing.assert_allclose(columns.residuals, rows.residuals, rtol=1e-12)
    np.testing.assert_allclose(columns.margins, rows.margins, rtol=1e-10)


@pytest.mark.parametrize("axis", ["samples", "features"])
def test_every_source_gives_the_same(axis: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((120, 40))
    np.save(tmp_path / "X.npy", X)
    expected = spa(source_of(X), 10, axis=axis)
    for source in (
        source_of(X, block_rows=7),
        source_of(sp.csr_array(X), block_rows=50),
        source_of(tmp_path / "X.npy", block_rows=33),
        source_of(da.from_array(X, chunks=(50, 10)), scheduler="synchronous"),
    ):
        found = spa(source, 10, axis=axis)
        np.testing.assert_array_equal(found.anchors, expected.anchors)
        np.testing.assert_allclose(found.residuals, expected.residuals, rtol=1e-12)


@FORMS
@pytest.mark.parametrize("size", [1e-7, 1e-11])
def test_a_column_far_below_the_rounding_of_squared_norms(form: Any, size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((50, 2)) @ rng.random((2, 300))
    direction = rng.random((50, 1))
    X[:, :100] += 0.5 * size * rng.random((1, 100)) * direction
    X[:, 137] += size * direction[:, 0]
    found = spa(source_of(form(X), block_rows=9), 3, axis="features")
    assert found.anchors.tolist() == deflation(X.T, 3)[0]
    assert found.anchors[-1] == 137


@FORMS
def test_the_first_of_equal_columns_is_picked(form: Any) -> None:
    kinds = np.array([[1.0, 2.0, 3.0, 0.0], [3.0, 1.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.1]]).T
    labels = np.random.default_rng(0).integers(0, 3, 40 * CANDIDATES)
    found = spa(source_of(form(kinds[:, labels])), 3, axis="features")
    assert found.anchors.tolist() == [int(np.argmax(labels == kind)) for kind in range(3)]


def test_fewer_columns_where_the_rank_is_lower() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((90, 3)) @ rng.random((3, 25))
    assert len(spa(source_of(X, block_rows=20), 10, axis="features").anchors) == 3
    assert len(spa(source_of(np.zeros((4, 3))), 2, axis="features").anchors) == 0


def test_axis_must_be_known() -> None:
    with pytest.raises(InputError, match="axis must be 'samples' or 'features', got 'columns'"):
        spa(source_of(np.eye(3)), 2, axis="columns")  # type: ignore[arg-type]


def farthest(X: np.ndarray, span: list[int]) -> int:
    """The row with the largest distance to the span of some."""
    Q = np.linalg.qr(X[span].T)[0]
    return int(np.argmax(np.linalg.norm(X - X @ Q @ Q.T, axis=1)))


def two_rounds(X: np.ndarray, k: int) -> list[int]:
    """Arora et al. (2013), Algorithm 4: greedily, then each once more."""
    S: list[int] = []
    for _ in range(k):
        S.append(farthest(X, S))
    for i in range(k):
        S[i] = farthest(X, S[:i] + S[i + 1 :])
    return S


@FORMS
@pytest.mark.parametrize("rows", [None, 13])
def test_fast_anchor_words_are_those_of_the_paper(form: Any, rows: int | None) -> None:
    exchanged = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, kept = rng.random((80, 12)), rng.random(80) < 0.7
        source, scale = source_of(form(X), block_rows=rows), kept.astype(float)
        found = fast_anchor_words(source, 7, row_scale=scale)
        assert found.tolist() == two_rounds(scale[:, None] * X, 7)
        exchanged.append(int((found != spa(source, 7, row_scale=scale).anchors).sum()))
    assert max(exchanged) > 1


def test_fast_anchor_words_where_less_can_be_told_apart() -> None:
    data = separable(3)
    assert sorted(fast_anchor_words(source_of(data.X), 12)) == sorted(data.anchors)
    assert fast_anchor_words(source_of(data.X), 1).tolist() == deflation(data.X, 1)[0]
    assert fast_anchor_words(source_of(np.zeros((3, 4))), 2).tolist() == []
