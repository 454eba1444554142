"""Order statistics of columns against sorting, on every kind of source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from partwise.linalg import order
from partwise.linalg.order import kth_largest
from partwise.sources import MemorySource, RowSource, source_of

ROWS, FEATURES = 83, 6


def by_sorting(X: np.ndarray, ranks: Any, groups: np.ndarray | None = None) -> np.ndarray:
    ranks = np.atleast_1d(ranks)
    groups = np.zeros(len(X), int) if groups is None else groups
    found = np.zeros((len(ranks), X.shape[1]))
    for g, rank in enumerate(ranks):
        rows = -np.sort(-X[groups == g], axis=0)
        if 1 <= rank <= len(rows):
            found[g] = np.maximum(rows[rank - 1], 0.0)
    return found


def data(kind: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (ROWS, FEATURES)
    return {
        "random": lambda: rng.random(shape) * (rng.random(shape) < 0.6),
        "signed": lambda: rng.standard_normal(shape),
        "ties": lambda: rng.integers(-1, 3, shape).astype(float),
        "one-value": lambda: np.full(shape, 0.7),
        "all-zero": lambda: np.zeros(shape),
        "all-negative": lambda: -rng.random(shape),
        "wide-range": lambda: 10.0 ** rng.uniform(-300, 300, shape),
        "denormal": lambda: rng.integers(-3, 40, shape) * 5e-324,
        "nearly-equal": lambda: 1.0 + rng.integers(0, 20, shape) * np.finfo(float).eps,
        "negative-zeros": lambda: np.where(rng.random(shape) < 0.5, -0.0, rng.random(shape)),
    }[kind]()


KINDS = [
    "random",
    "signed",
    "ties",
    "one-value",
    "all-zero",
    "all-negative",
    "wide-range",
    "denormal",
    "nearly-equal",
    "negative-zeros",
]
forms = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


@pytest.mark.parametrize("kind", KINDS)
@forms
def test_is_what_sorting_finds(kind: str, form: Any) -> None:
    X = data(kind)
    for rank in (1, 2, 17, 50, ROWS, ROWS + 1):
        np.testing.assert_array_equal(kth_largest(MemorySource(form(X), block_rows=9), rank), by_sorting(X, rank))


@pytest.mark.parametrize("kind", ["random", "signed", "ties", "denormal"])
@forms
def test_in_single_precision(kind: str, form: Any) -> None:
    X = (data(kind) * (1e-45 / 5e-324 if kind == "denormal" else 1.0)).astype(np.float32)
    for rank in (1, 17, 50):
        np.testing.assert_array_equal(kth_largest(MemorySource(form(X)), rank), by_sorting(X.astype(float), rank))


@pytest.mark.parametrize("kind", KINDS)
@forms
def test_in_groups(kind: str, form: Any) -> None:
    X = data(kind)
    groups = np.random.default_rng(1).integers(-1, 4, ROWS).astype(np.int32)
    ranks = np.array([1, 5, 12, 60, 1])  # more than the fourth group has; the last one is empty
    found = kth_largest(MemorySource(form(X), block_rows=20), ranks, groups)
    np.testing.assert_array_equal(found, by_sorting(X, ranks, groups))
    assert not found[3:].any()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("budget", [1, 8 * 40, 8 * 24 * 16, 64 << 20], ids=lambda budget: f"{budget}-bytes")
def test_however_few_bits_a_pass_finds(budget: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "COUNT_BYTES", budget)
    X, groups = data("random", seed), np.arange(ROWS, dtype=np.int32) % 3
    found = kth_largest(MemorySource(X), [4, 9, 1], groups)
    np.testing.assert_array_equal(found, by_sorting(X, [4, 9, 1], groups))


def test_of_nothing() -> None:
    assert kth_largest(MemorySource(np.zeros((5, 0))), 1).shape == (1, 0)
    np.testing.assert_array_equal(kth_largest(MemorySource(np.zeros((0, 3))), 1), np.zeros((1, 3)))


def sources(X: np.ndarray, tmp: Path) -> dict[str, RowSource]:
    np.save(tmp / "X.npy", X)
    cuts = [(a, min(a + 7, len(X))) for a in range(0, len(X), 7)]
    dense, sparse = tmp / "dense", tmp / "sparse"
    dense.mkdir()
    sparse.mkdir()
    for a, b in cuts:
        np.save(dense / f"part-{a}.npy", X[a:b])
        sp.save_npz(sparse / f"part-{a}.npz", sp.csr_array(X[a:b]))
    delayed = [dask.delayed(sp.csr_array(X[a:b]), traverse=False) for a, b in cuts]
    return {
        "dense": MemorySource(X, block_rows=11),
        "csr": MemorySource(sp.csr_array(X), block_rows=30),
        "memmap": source_of(tmp / "X.npy", block_rows=13),
        "folder": source_of(dense),
        "csr-folder": source_of(sparse),
        "dask": source_of(da.from_array(X, chunks=(20, 2)), scheduler="synchronous"),
        "delayed-csr": source_of(delayed, scheduler="synchronous"),
    }


@pytest.mark.parametrize("kind", ["random", "ties", "signed"])
def test_every_source_gives_the_same(kind: str, tmp_path: Path) -> None:
    X = data(kind)
    groups = np.random.default_rng(2).integers(-1, 3, ROWS).astype(np.int32)
    for name, source in sources(X, tmp_path).items():
        found = kth_largest(source, [3, 8, 1], groups)
        np.testing.assert_array_equal(found, by_sorting(X, [3, 8, 1], groups), err_msg=name)
        np.testing.assert_array_equal(kth_largest(source, 5), by_sorting(X, 5), err_msg=name)


def test_groups_may_be_state_of_the_source() -> None:
    X = data("random")
    source = source_of(da.from_array(X, chunks=(20, 2)), scheduler="synchronous")
    groups = source.map_rows(_sign_of_first, width=None, dtype=np.int32)
    found = kth_largest(source, [2, 3], groups)
    np.testing.assert_array_equal(found, by_sorting(X, [2, 3], (X[:, 0] > 0.5).astype(int)))


def _sign_of_first(block: np.ndarray) -> np.ndarray:
    return (block[:, 0] > 0.5).astype(np.int32)


def test_passes_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    reduce = MemorySource.reduce

    def counted(self: MemorySource, *args: Any, **options: Any) -> Any:
        passes.append(1)
        return reduce(self, *args, **options)

    monkeypatch.setattr(MemorySource, "reduce", counted)
    for dtype, expected in ((np.float64, 1 + 8), (np.float32, 1 + 5)):
        passes.clear()
        kth_largest(MemorySource(data("random").astype(dtype)), 5)
        assert len(passes) == expected
    passes.clear()
    kth_largest(MemorySource(data("all-zero")), 5)
    assert len(passes) == 1
