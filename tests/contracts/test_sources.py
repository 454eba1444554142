"""Every source is the same rows: four verbs, the same bits for one partition and format, nothing modified."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster

import partwise as pw
from partwise.algorithms.hals import hals
from partwise.algorithms.loop import run
from partwise.exceptions import InputError
from partwise.sources import MemorySource, RowSource, add, blocks, inspect, source_of
from partwise.sources.protocol import merged

ROWS, FEATURES, BLOCK = 57, 7, 9  # seven blocks, the last one short

# worker processes cannot import test modules, so the block functions below travel by value
cloudpickle.register_pickle_by_value(sys.modules[__name__])
# these tests name schedulers while a client is open, of which older versions of Dask warn
pytestmark = pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")


def make_data(rng: np.random.Generator) -> np.ndarray:
    X = rng.random((ROWS, 3)) @ rng.random((3, FEATURES)) + 0.1 * rng.random((ROWS, FEATURES))
    return X * (rng.random(X.shape) < 0.6)


DATA = make_data(np.random.default_rng(7))

# --- the sources --------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A source, and what a hash can be taken of to see that its input is as it was."""

    kind: str
    source: RowSource
    inputs: Callable[[], list[Any]]

    @property
    def sparse(self) -> bool:
        return self.kind in SPARSE

    @property
    def on_dask(self) -> bool:
        return "dask" in self.kind or "delayed" in self.kind

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for item in self.inputs():
            digest.update(item.read_bytes() if isinstance(item, Path) else np.ascontiguousarray(item).tobytes())
        return digest.hexdigest()


def cuts(n: int) -> list[tuple[int, int]]:
    return [(a, min(a + BLOCK, n)) for a in range(0, n, BLOCK)]


def to_csr(X: np.ndarray) -> sp.csr_array:
    return sp.csr_array(X)


def arrays_of(X: Any) -> list[np.ndarray]:
    return [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]


def in_memory(X: Any, tmp: Path) -> tuple[Any, list[Any]]:
    return X, arrays_of(X)


def npy_path(X: Any, tmp: Path) -> tuple[Any, list[Any]]:
    np.save(tmp / "X.npy", X)
    return tmp / "X.npy", [tmp / "X.npy"]


def memmap(X: Any, tmp: Path) -> tuple[Any, list[Any]]:
    np.save(tmp / "X.npy", X)
    return np.load(tmp / "X.npy", mmap_mode="r"), [tmp / "X.npy"]


def folder(write: Callable[[Path, Any], None], X: Any, tmp: Path) -> tuple[Any, list[Any]]:
    for number, (a, b) in enumerate(cuts(X.shape[0]), start=8):
        write(tmp / f"part-{number}", X[a:b])  # part-10 comes after part-9
    return tmp, sorted(tmp.iterdir())


def write_npy(path: Path, part: Any) -> None:
    np.save(path.with_suffix(".npy"), part)


def write_npz(path: Path, part: Any) -> None:
    np.savez_compressed(path.with_suffix(".npz"), X=part)


def write_sparse_npz(path: Path, part: Any) -> None:
    sp.save_npz(path.with_suffix(".npz"), part)


def write_parquet(path: Path, part: Any) -> None:
    columns = {f"feature {j}": part[:, j] for j in range(part.shape[1])}
    pl.DataFrame(columns).write_parquet(path.with_suffix(".parquet"))


def dask_array(X: Any, tmp: Path) -> tuple[Any, list[Any]]:
    return da.from_array(X, chunks=(BLOCK, 3)), arrays_of(X)


def delayed(X: Any, tmp: Path) -> tuple[Any, list[Any]]:
    parts = [X[a:b] for a, b in cuts(X.shape[0])]
    return [dask.delayed(part, traverse=False) for part in parts], [a for part in parts for a in arrays_of(part)]


MAKERS: dict[str, Callable[[Any, Path], tuple[Any, list[Any]]]] = {
    "memory-dense": in_memory,
    "npy-path": npy_path,
    "memmap-read-only": memmap,
    "folder-npy": partial(folder, write_npy),
    "folder-npz": partial(folder, write_npz),
    "folder-parquet": partial(folder, write_parquet),
    "dask-threads": dask_array,
    "dask-processes": dask_array,
    "dask-distributed": dask_array,
    "memory-csr": in_memory,
    "folder-npz-csr": partial(folder, write_sparse_npz),
    "delayed-csr-threads": delayed,
    "delayed-csr-processes": delayed,
    "delayed-csr-distributed": delayed,
}
SPARSE = [kind for kind in MAKERS if "csr" in kind]


def build(kind: str, X: np.ndarray, tmp: Path) -> Case:
    opened, inputs = MAKERS[kind](to_csr(X) if kind in SPARSE else X.copy(), tmp)
    if "dask" not in kind and "delayed" not in kind:
        options: dict[str, Any] = {} if "folder" in kind else {"block_rows": BLOCK}
    else:
        options = {} if "distributed" in kind else {"scheduler": kind.rsplit("-", 1)[1]}
    return Case(kind, source_of(opened, **options), lambda: inputs)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Dask makes a pool of processes for every compute unless it is given one."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def running(kind: str, request: pytest.FixtureRequest) -> Any:
    """What this kind of source needs around it."""
    if "distributed" in kind:
        request.getfixturevalue("client")
    if "processes" in kind:
        return dask.config.set(pool=request.getfixturevalue("pool"))
    return nullcontext()


@pytest.fixture(scope="module", params=list(MAKERS))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    with running(request.param, request):
        yield build(request.param, DATA, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def reference(case: Case) -> MemorySource:
    """The same rows, format and partition, in memory."""
    return MemorySource(to_csr(DATA) if case.sparse else DATA, block_rows=BLOCK)


# --- block functions ----------------------------------------------------------------------------------------


def gram(block: Any) -> np.ndarray:
    return blocks.tdot(block, blocks.to_dense(block))


def moments(block: Any, weights: np.ndarray) -> tuple[Any, ...]:
    return float(weights.sum()), blocks.tdot(block, weights[:, None]), block.shape[0]


def numbers_of(block: Any, numbers: np.ndarray) -> tuple[int, ...]:
    return tuple(numbers.tolist())


def concatenate(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return a + b


def longest(block: Any, numbers: np.ndarray) -> tuple[float, int]:
    norms = blocks.squared_norms(block)
    i = int(np.argmax(norms))
    return float(norms[i]), int(numbers[i])


def larger(a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
    return b if b[0] > a[0] else a


def project(block: Any, M: np.ndarray) -> np.ndarray:
    return blocks.dot(block, M)


def project_and_sum(block: Any, M: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, float]]:
    W = blocks.dot(block, M)
    return W, (W.T @ W, float(W.sum()))


def mix(block: Any, W: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return W * weights[:, None] + blocks.row_sums(block)[:, None]


def width_of(block: Any, M: np.ndarray) -> int:
    return M.shape[1]


def misaligned(block: Any, *rows: np.ndarray, M: np.ndarray) -> tuple[int, np.ndarray]:
    arrays = [*arrays_of(block), *rows, M]
    return sum(not array.flags.aligned for array in arrays), np.ones(3)


def sum_of(block: Any, numbers: np.ndarray) -> float:
    return float(numbers.sum())


def first_two(block: Any, weights: np.ndarray) -> tuple[Any, np.ndarray]:
    return block[:2], weights[:2]


def die_once(block: Any, marker: str) -> np.ndarray:
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return gram(block)
    os._exit(1)


def doubled_and_cut(block: Any) -> Any:
    """Another matrix of other columns, dense from dense and sparse from sparse."""
    return 2.0 * block[:, 1:5]


def times_three(block: Any) -> Any:
    return 3.0 * block


def no_columns(block: Any) -> Any:
    return block[:, :0]


def cut_at_half(block: Any) -> Any:
    """Sparse rows from any."""
    X = blocks.to_dense(block)
    return sp.csr_array(np.where(X > 0.5, X - 0.25, 0.0).astype(block.dtype))


M = np.random.default_rng(8).random((FEATURES, 3))
NUMBERS = np.arange(ROWS)
WEIGHTS = np.random.default_rng(9).random(ROWS)

# --- reduce -------------------------------------------------------------------------------------------------


def test_every_source_is_a_row_source_of_the_same_partition(case: Case) -> None:
    assert isinstance(case.source, RowSource)
    assert case.source.shape == (ROWS, FEATURES)
    assert case.source.dtype == np.float64
    assert list(case.source.bounds) == cuts(ROWS)


def test_reduce_gives_identical_bits(case: Case, reference: MemorySource) -> None:
    total = case.source.reduce(gram)
    np.testing.assert_array_equal(total, reference.reduce(gram))
    np.testing.assert_allclose(total, DATA.T @ DATA, rtol=1e-12)


def test_reduce_adds_tuples_of_numbers_and_arrays(case: Case, reference: MemorySource) -> None:
    total, weighted, rows = case.source.reduce(moments, WEIGHTS)
    expected = reference.reduce(moments, WEIGHTS)
    assert (total, rows) == (expected[0], ROWS)
    np.testing.assert_array_equal(weighted, expected[1])
    np.testing.assert_allclose(weighted[:, 0], DATA.T @ WEIGHTS, rtol=1e-12)


def test_reduce_keeps_the_order_of_rows(case: Case) -> None:
    assert case.source.reduce(numbers_of, NUMBERS, combine=concatenate) == tuple(range(ROWS))


def test_reduce_takes_any_associative_function(case: Case) -> None:
    norms = (DATA**2).sum(axis=1)
    best, row = case.source.reduce(longest, NUMBERS, combine=larger)
    assert row == np.argmax(norms)
    assert best == pytest.approx(norms.max(), rel=1e-14)


def test_views_are_summed_and_left_alone(case: Case) -> None:
    before, weights = case.fingerprint(), WEIGHTS.copy()
    rows, beside = case.source.reduce(first_two, weights)
    firsts = np.array([a for a, _ in cuts(ROWS)])[:, None] + [0, 1]
    np.testing.assert_allclose(blocks.to_dense(rows), DATA[firsts].sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(beside, WEIGHTS[firsts].sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(weights, WEIGHTS)
    assert case.fingerprint() == before


def test_arrays_arrive_aligned(case: Case) -> None:
    """What comes off a network need not be aligned, and BLAS then gives other bits."""
    state = case.source.map_rows(blocks.row_sums, width=None)
    for odd in range(1, 4):  # several lengths, so that messages are laid out differently
        count, total = case.source.reduce(partial(misaligned, M=np.ones((odd, 3))), state, WEIGHTS)
        assert count == 0
        assert total.flags.aligned


# --- map_rows -----------------------------------------------------------------------------------------------


def test_map_rows_makes_a_matrix(case: Case, reference: MemorySource) -> None:
    rows = np.asarray(case.source.map_rows(partial(project, M=M), width=3))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows, reference.map_rows(partial(project, M=M), width=3))
    np.testing.assert_allclose(rows, DATA @ M, rtol=1e-12)


def test_map_rows_makes_a_vector_of_the_asked_type(case: Case) -> None:
    rows = np.asarray(case.source.map_rows(blocks.squared_norms, width=None, dtype=np.float32))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, (DATA**2).sum(axis=1), rtol=1e-6)


def test_map_rows_with_combine_returns_rows_and_their_statistics(case: Case, reference: MemorySource) -> None:
    fn = partial(project_and_sum, M=M)
    W, (WtW, total) = case.source.map_rows(fn, width=3, combine=add)
    expected_W, (expected_WtW, expected_total) = reference.map_rows(fn, width=3, combine=add)
    np.testing.assert_array_equal(np.asarray(W), expected_W)
    np.testing.assert_array_equal(WtW, expected_WtW)
    assert total == expected_total


def test_row_state_of_one_pass_is_aligned_in_the_next(case: Case, reference: MemorySource) -> None:
    W = case.source.map_rows(partial(project, M=M), width=3)
    assert W.shape == (ROWS, 3)
    mixed = np.asarray(case.source.map_rows(mix, W, WEIGHTS, width=3))
    state = reference.map_rows(partial(project, M=M), width=3)
    np.testing.assert_array_equal(mixed, reference.map_rows(mix, state, WEIGHTS, width=3))
    np.testing.assert_allclose(mixed, (DATA @ M) * WEIGHTS[:, None] + DATA.sum(axis=1)[:, None], rtol=1e-12)


def test_map_rows_may_write_over_what_it_reads(case: Case, reference: MemorySource) -> None:
    state = reference.map_rows(partial(project, M=M), width=3)
    expected = reference.map_rows(mix, state, WEIGHTS, width=3)
    W = case.source.map_rows(partial(project, M=M), width=3)
    written = case.source.map_rows(mix, W, WEIGHTS, width=3, out=W)
    np.testing.assert_array_equal(np.asarray(written), expected)
    assert case.on_dask or written is W


def test_deliver_gives_the_callers_kind_of_array(case: Case) -> None:
    rows = case.source.deliver(case.source.map_rows(blocks.row_sums, width=None))
    assert isinstance(rows, da.Array if case.on_dask else np.ndarray)
    np.testing.assert_allclose(np.asarray(rows), DATA.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("width", "dtype"),
    [(None, np.float64), (None, np.int64), (0, np.float32), (1, np.float64), (3, np.float32), (3, np.int64)],
    ids=["vector-float64", "vector-int64", "no-columns-float32", "column-float64", "matrix-float32", "matrix-int64"],
)
def test_what_is_placed_beside_the_rows_is_delivered_as_it_was(case: Case, width: int | None, dtype: Any) -> None:
    shape = (ROWS,) if width is None else (ROWS, width)
    array = (100 * np.random.default_rng(13).random(shape)).astype(dtype)
    delivered = case.source.deliver(case.source.place(array))
    assert isinstance(delivered, da.Array if case.on_dask else np.ndarray)
    found = np.asarray(delivered)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)


def test_placed_rows_are_as_good_as_those_of_a_pass(case: Case) -> None:
    made = case.source.map_rows(partial(project, M=M), width=3)
    placed = case.source.place(np.array(np.asarray(made)))
    assert type(placed) is type(made)
    assert (placed.shape, placed.dtype) == (made.shape, made.dtype)
    expected = np.asarray(case.source.map_rows(mix, made, WEIGHTS, width=3))
    found = case.source.map_rows(mix, placed, case.source.place(WEIGHTS), width=3, out=placed)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_placed_rows_on_workers_are_their_own(case: Case) -> None:
    array = np.ones(ROWS)
    placed = case.source.place(array)
    array[:] = 2.0
    assert case.source.reduce(sum_of, placed) == (ROWS if case.on_dask else 2 * ROWS)


@pytest.mark.parametrize("shape", [(ROWS - 1,), (ROWS + 1, 2), (), (ROWS, 1, 1)], ids=str)
def test_place_refuses_what_is_not_aligned(case: Case, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=f"vector or matrix of {ROWS} rows"):
        case.source.place(np.zeros(shape))


# --- batches and take ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, BLOCK, 16, ROWS, 100])
def test_batches_in_file_order_have_exact_sizes(case: Case, size: int) -> None:
    batches = [blocks.to_dense(batch) for batch in case.source.batches(size)]
    assert [len(batch) for batch in batches] == [size] * (ROWS // size) + [ROWS % size] * (ROWS % size > 0)
    np.testing.assert_array_equal(np.concatenate(batches), DATA)


def test_shuffled_batches_hold_every_row_once_and_are_reproducible(case: Case, reference: MemorySource) -> None:
    def shuffled(source: RowSource) -> list[np.ndarray]:
        return [blocks.to_dense(batch) for batch in source.batches(8, rng=np.random.default_rng(3))]

    batches = shuffled(case.source)
    assert [len(batch) for batch in batches] == [8] * 7 + [1]
    together = np.concatenate(batches)
    assert not np.array_equal(together, DATA)
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(DATA, axis=0))
    assert {row.tobytes() for row in together} == {row.tobytes() for row in DATA}
    for again, expected in zip(batches, shuffled(reference), strict=True):
        np.testing.assert_array_equal(again, expected)


def test_batches_refuse_an_empty_size(case: Case) -> None:
    with pytest.raises(InputError, match="size must be at least 1, got 0"):
        list(case.source.batches(0))


@pytest.mark.parametrize(
    "rows",
    [[3], [56, 0, 31], [8, 8, 9, 8], list(range(ROWS))[::-1], []],
    ids=lambda rows: f"{len(rows)}-rows",
)
def test_take_gives_rows_in_the_order_asked_for(case: Case, rows: list[int]) -> None:
    taken = case.source.take(rows)
    assert sp.issparse(taken) == case.sparse
    assert taken.dtype == np.float64
    np.testing.assert_array_equal(blocks.to_dense(taken), DATA[np.array(rows, int)])


@pytest.mark.parametrize("rows", [[0, ROWS], [-1], [0.5], [[0, 1]]], ids=str)
def test_take_names_what_is_out_of_range(case: Case, rows: list[Any]) -> None:
    with pytest.raises(InputError, match="rows must"):
        case.source.take(rows)


# --- project ------------------------------------------------------------------------------------------------


def runs_of(bounds: list[tuple[int, int]], blocks_of_a_run: int) -> list[tuple[int, int]]:
    """Neighbouring blocks, so many at a time."""
    cuts_of_runs = range(0, len(bounds), blocks_of_a_run)
    return [(bounds[i][0], bounds[min(i + blocks_of_a_run, len(bounds)) - 1][1]) for i in cuts_of_runs]


def test_project_is_a_source_of_the_products(
    case: Case, reference: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = 3  # so there are three blocks, the last one short
    least = (together - 1) * BLOCK * 3 * 8 + 1  # bytes: the last of so many blocks passes it
    for module in ("memory", "dask"):
        monkeypatch.setattr(f"partwise.sources.{module}.merged", partial(merged, least=least))
    rows, expected = case.source.project(M), reference.project(M)
    assert isinstance(rows, RowSource)
    assert (rows.shape, rows.dtype) == ((ROWS, 3), np.float64)
    assert list(rows.bounds) == list(expected.bounds) == runs_of(cuts(ROWS), together)
    # every row once and in order, the same bits, and the true product
    taken, total = rows.take(NUMBERS), rows.reduce(gram)
    np.testing.assert_array_equal(taken, expected.take(NUMBERS))
    np.testing.assert_allclose(taken, DATA @ M, rtol=1e-12)
    np.testing.assert_array_equal(total, expected.reduce(gram))
    np.testing.assert_allclose(total, (DATA @ M).T @ (DATA @ M), rtol=1e-12)


def test_projected_rows_have_all_the_verbs(case: Case) -> None:
    rows, product = case.source.project(M), DATA @ M
    assert list(rows.bounds) == [(0, ROWS)]  # small blocks are merged
    total, weighted, count = rows.reduce(moments, WEIGHTS)
    assert (total, count) == (pytest.approx(WEIGHTS.sum()), ROWS)
    np.testing.assert_allclose(weighted[:, 0], product.T @ WEIGHTS, rtol=1e-12)
    norms = rows.map_rows(blocks.squared_norms, width=None, dtype=np.float64)
    np.testing.assert_allclose(np.asarray(norms), (product**2).sum(axis=1), rtol=1e-12)
    shuffled = np.concatenate([np.asarray(batch) for batch in rows.batches(8, rng=np.random.default_rng(0))])
    np.testing.assert_allclose(np.sort(shuffled, axis=0), np.sort(product, axis=0), rtol=1e-12)
    np.testing.assert_allclose(rows.take([5, 56, 5]), product[[5, 56, 5]], rtol=1e-12)
    np.testing.assert_allclose(np.asarray(rows.project(np.ones((3, 1))).take(NUMBERS)), product.sum(1, keepdims=True))


def test_project_to_nothing(case: Case) -> None:
    rows = case.source.project(np.empty((FEATURES, 0)))
    assert (rows.shape, rows.take([5, 2]).shape) == ((ROWS, 0), (2, 0))


def test_projected_single_precision_stays(case: Case, tmp_path: Path) -> None:
    rows = build(case.kind, DATA.astype(np.float32), tmp_path).source.project(M)
    assert rows.dtype == np.float32
    assert rows.take([0]).dtype == np.float32
    np.testing.assert_allclose(rows.take(NUMBERS), DATA @ M, rtol=1e-5)


# --- derive -------------------------------------------------------------------------------------------------

DERIVATIONS: dict[str, Callable[[Any], Any]] = {"same-format": doubled_and_cut, "to-sparse": cut_at_half}


def derived(source: RowSource, derivation: str) -> tuple[RowSource, np.ndarray]:
    fn = DERIVATIONS[derivation]
    expected = blocks.to_dense(fn(DATA))
    return source.derive(fn, n_features=expected.shape[1]), expected


@pytest.mark.parametrize("derivation", DERIVATIONS)
def test_derive_is_a_source_of_the_other_rows(case: Case, reference: MemorySource, derivation: str) -> None:
    (rows, X), (same, _) = derived(case.source, derivation), derived(reference, derivation)
    assert isinstance(rows, RowSource)
    assert (rows.shape, rows.dtype) == (X.shape, np.float64)
    assert list(rows.bounds) == list(case.source.bounds)
    taken = rows.take(NUMBERS)
    assert sp.issparse(taken) == (case.sparse or derivation == "to-sparse")
    np.testing.assert_array_equal(blocks.to_dense(taken), X)
    total, expected = rows.reduce(gram), same.reduce(gram)
    np.testing.assert_array_equal(total, expected)
    np.testing.assert_allclose(total, X.T @ X, rtol=1e-12)


def test_derived_rows_have_all_the_verbs(case: Case, reference: MemorySource) -> None:
    (rows, X), (same, _) = derived(case.source, "to-sparse"), derived(reference, "to-sparse")
    total, weighted, count = rows.reduce(moments, WEIGHTS)
    assert (total, count) == (pytest.approx(WEIGHTS.sum()), ROWS)
    np.testing.assert_allclose(weighted[:, 0], X.T @ WEIGHTS, rtol=1e-12)
    Q = np.random.default_rng(10).random((X.shape[1], 3))
    W = rows.map_rows(partial(project, M=Q), width=3)
    np.testing.assert_array_equal(np.asarray(W), same.map_rows(partial(project, M=Q), width=3))
    # state of the derived rows is state of the rows themselves
    mixed = np.asarray(case.source.map_rows(mix, W, WEIGHTS, width=3))
    np.testing.assert_allclose(mixed, (X @ Q) * WEIGHTS[:, None] + DATA.sum(axis=1)[:, None], rtol=1e-12)
    delivered = rows.deliver(W)
    assert isinstance(delivered, da.Array if case.on_dask else np.ndarray)
    np.testing.assert_array_equal(blocks.to_dense(rows.take([56, 4, 4])), X[[56, 4, 4]])
    np.testing.assert_array_equal(rows.project(Q).take(NUMBERS), same.project(Q).take(NUMBERS))
    np.testing.assert_allclose(rows.project(Q).take(NUMBERS), X @ Q, rtol=1e-12)
    in_order = np.concatenate([blocks.to_dense(batch) for batch in rows.batches(8)])
    np.testing.assert_array_equal(in_order, X)
    again = rows.derive(times_three)
    np.testing.assert_array_equal(blocks.to_dense(again.take(NUMBERS)), 3.0 * X)


def test_derive_nothing(case: Case) -> None:
    rows = case.source.derive(no_columns, n_features=0)
    assert (rows.shape, rows.take([5, 2]).shape) == ((ROWS, 0), (2, 0))
    assert rows.reduce(gram).shape == (0, 0)


def test_derived_single_precision_stays(case: Case, tmp_path: Path) -> None:
    rows = build(case.kind, DATA.astype(np.float32), tmp_path).source.derive(cut_at_half)
    assert rows.dtype == rows.take([0]).dtype == np.float32
    np.testing.assert_allclose(blocks.to_dense(rows.take(NUMBERS)), np.where(DATA > 0.5, DATA - 0.25, 0), rtol=1e-5)


def test_derived_rows_of_memory_are_made_once_and_of_disk_in_every_pass(tmp_path: Path) -> None:
    made: list[int] = []

    def counted(block: Any) -> Any:
        made.append(block.shape[0])
        return block

    for kind, passes in (("memory-dense", 1), ("memory-csr", 1), ("npy-path", 2)):
        rows = build(kind, DATA, tmp_path).source.derive(counted)
        for _ in range(2):
            rows.reduce(gram)
        assert sum(made) == passes * ROWS
        made.clear()


# --- choose -------------------------------------------------------------------------------------------------

CHOSEN = np.random.default_rng(11).random(ROWS) < 0.5
CHOSEN[BLOCK : 2 * BLOCK] = False  # a block without any


def test_choose_is_a_source_of_these_rows(case: Case, reference: MemorySource) -> None:
    rows, same, X = case.source.choose(CHOSEN), reference.choose(CHOSEN), DATA[CHOSEN]
    assert isinstance(rows, RowSource)
    assert (rows.shape, rows.dtype) == (X.shape, np.float64)
    assert list(rows.bounds) == list(same.bounds)
    assert all(b > a for a, b in rows.bounds)
    np.testing.assert_array_equal(blocks.to_dense(rows.take(np.arange(len(X)))), X)
    assert sp.issparse(rows.take([0])) == case.sparse
    np.testing.assert_array_equal(rows.reduce(gram), same.reduce(gram))
    np.testing.assert_allclose(rows.reduce(gram), X.T @ X, rtol=1e-12)
    W = rows.map_rows(partial(project, M=M), width=3, out=rows.scratch(3))
    np.testing.assert_allclose(np.asarray(rows.project(M).take(np.arange(len(X)))), X @ M, rtol=1e-12)
    np.testing.assert_allclose(rows.reduce(sum_of, W), (X @ M).sum(), rtol=1e-12)
    np.testing.assert_array_equal(np.concatenate([blocks.to_dense(batch) for batch in rows.batches(8)]), X)
    both = [blocks.to_dense(part.choose(np.arange(len(X)) % 2 == 0).take([1]))[0] for part in (rows, same)]
    np.testing.assert_array_equal(both, [X[2], X[2]])


def test_choose_by_numbers_copies_rows(case: Case) -> None:
    counts = np.random.default_rng(3).integers(0, 3, ROWS) * CHOSEN
    rows, X = case.source.choose(counts), np.repeat(DATA, counts, axis=0)
    assert rows.shape == X.shape
    np.testing.assert_array_equal(blocks.to_dense(rows.take(np.arange(len(X)))), X)
    np.testing.assert_allclose(rows.reduce(gram), X.T @ X, rtol=1e-12)


def test_choose_of_derived_rows_has_room_for_its_own(case: Case) -> None:
    """What lies between the data and the choice keeps rows on disk there, as many as are chosen."""
    rows = case.source.derive(times_three).choose(CHOSEN)
    room = rows.scratch(2)
    assert room is None or room.shape == (CHOSEN.sum(), 2)
    assert (room is None) == (case.source.scratch(2) is None)
    np.testing.assert_allclose(np.asarray(rows.project(M).take([0, 3])), 3.0 * (DATA[CHOSEN] @ M)[[0, 3]], rtol=1e-12)


def test_choose_keeps_names_and_refuses_what_is_no_choice(case: Case) -> None:
    named = case.source.named(feature_names=[*"abcdefg"], sample_names=[f"s{i}" for i in range(ROWS)])
    rows = named.choose(CHOSEN)
    assert rows.feature_names == [*"abcdefg"]
    assert rows.sample_names == [f"s{i}" for i in np.flatnonzero(CHOSEN)]
    assert case.source.choose(np.zeros(ROWS, bool)).shape == (0, FEATURES)
    for wrong in (CHOSEN[1:], CHOSEN.astype(float)):
        with pytest.raises(InputError, match="chosen must be a vector of 57 booleans"):
            case.source.choose(wrong)


def weighted(block: Any, weights: np.ndarray, shares: np.ndarray) -> Any:
    return blocks.scale_rows(block, weights * shares.sum(axis=1))


SHARES = np.random.default_rng(14).random((ROWS, 2))


def test_derive_takes_row_aligned_arrays(case: Case, reference: MemorySource) -> None:
    rows, same = case.source.derive(weighted, WEIGHTS, SHARES), reference.derive(weighted, WEIGHTS, SHARES)
    expected = DATA * (WEIGHTS * SHARES.sum(axis=1))[:, None]
    np.testing.assert_allclose(blocks.to_dense(rows.take(NUMBERS)), expected, rtol=1e-12)
    np.testing.assert_array_equal(blocks.to_dense(rows.take(NUMBERS)), blocks.to_dense(same.take(NUMBERS)))
    np.testing.assert_array_equal(rows.reduce(gram), same.reduce(gram))


def test_derive_takes_row_state_and_placed_arrays(case: Case, reference: MemorySource) -> None:
    source = case.source
    state = source.map_rows(blocks.row_sums, width=None)
    rows = source.derive(weighted, state, source.place(SHARES)).derive(weighted, source.place(WEIGHTS), SHARES)
    sums = reference.map_rows(blocks.row_sums, width=None)
    same = reference.derive(weighted, sums, SHARES).derive(weighted, WEIGHTS, SHARES)
    np.testing.assert_array_equal(rows.reduce(gram), same.reduce(gram))
    expected = DATA * (DATA.sum(axis=1) * WEIGHTS * SHARES.sum(axis=1) ** 2)[:, None]
    np.testing.assert_allclose(blocks.to_dense(rows.take(NUMBERS)), expected, rtol=1e-12)


def test_rows_derived_with_more_precise_arrays_have_the_type_of_the_source(case: Case, tmp_path: Path) -> None:
    single = DATA.astype(np.float32)
    rows = build(case.kind, single, tmp_path).source.derive(weighted, WEIGHTS, SHARES)
    same = MemorySource(to_csr(single) if case.sparse else single, block_rows=BLOCK).derive(weighted, WEIGHTS, SHARES)
    assert rows.dtype == rows.take([0]).dtype == np.float32
    np.testing.assert_array_equal(rows.reduce(gram), same.reduce(gram))


# --- names and scratch space --------------------------------------------------------------------------------

FEATURE_NAMES = [f"feature {j}" for j in range(FEATURES)]
SAMPLE_NAMES = [f"sample {i}" for i in range(ROWS)]


def names_of(source: RowSource) -> tuple[list[str] | None, list[str] | None]:
    return source.feature_names, source.sample_names


def test_a_named_source_is_another_one_of_the_same_data(case: Case) -> None:
    before = names_of(case.source)
    assert before == (FEATURE_NAMES if "parquet" in case.kind else None, None)
    source = case.source.named(feature_names=FEATURE_NAMES[::-1], sample_names=SAMPLE_NAMES)
    assert isinstance(source, RowSource)
    assert names_of(source) == (FEATURE_NAMES[::-1], SAMPLE_NAMES)
    assert names_of(source.named()) == names_of(source)
    assert names_of(case.source) == before
    np.testing.assert_array_equal(source.reduce(gram), case.source.reduce(gram))


def test_names_go_with_the_rows_and_with_the_features_that_stay(case: Case) -> None:
    source = case.source.named(feature_names=FEATURE_NAMES, sample_names=SAMPLE_NAMES)
    assert names_of(source.derive(times_three)) == (FEATURE_NAMES, SAMPLE_NAMES)
    assert names_of(source.derive(weighted, WEIGHTS, SHARES)) == (FEATURE_NAMES, SAMPLE_NAMES)
    assert names_of(source.derive(doubled_and_cut, n_features=4)) == (None, SAMPLE_NAMES)
    assert names_of(source.project(M)) == (None, SAMPLE_NAMES)


@pytest.mark.parametrize("which", ["feature", "sample"])
def test_names_must_be_as_many_as_what_they_name(case: Case, which: str) -> None:
    with pytest.raises(InputError, match=rf"{which}_names must have a name for each of the \d+ {which}s, got 2 names"):
        case.source.named(**{f"{which}_names": ["a", "b"]})


def test_scratch_space_is_a_place_for_rows(case: Case) -> None:
    for source in (case.source, case.source.derive(times_three)):
        out = source.scratch(3)
        assert (out is None) == (case.on_dask or case.kind.startswith("memory"))
        rows = source.map_rows(partial(project, M=M), width=3, out=out)
        expected = source.map_rows(partial(project, M=M), width=3)
        np.testing.assert_array_equal(np.asarray(rows if out is None else rows[:]), np.asarray(expected))


# --- whole algorithms ---------------------------------------------------------------------------------------


def some_hals(source: RowSource) -> Any:
    H0 = np.random.default_rng(11).random((3, FEATURES))
    squared_norm = inspect(source).squared_norm
    return run(hals(source, H0, squared_norm=squared_norm), max_iter=4, tol=0.0)


def test_hals_gives_identical_bits(case: Case, reference: MemorySource) -> None:
    found, expected = some_hals(case.source), some_hals(reference)
    np.testing.assert_array_equal(found.components, expected.components)
    np.testing.assert_array_equal(found.history["objective"], expected.history["objective"])


def test_nnls_gives_identical_bits(case: Case, reference: MemorySource) -> None:
    H = np.random.default_rng(12).random((4, FEATURES))
    np.testing.assert_array_equal(np.asarray(pw.nnls(H, case.source)), pw.nnls(H, reference))


@pytest.mark.parametrize("block_rows", [1, 2, 16, ROWS, 1000])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_another_partition_gives_the_same_to_rounding(form: str, block_rows: int) -> None:
    reference = MemorySource(DATA, block_rows=BLOCK)
    source = MemorySource(to_csr(DATA) if form == "csr" else DATA, block_rows=block_rows)
    total, expected = source.reduce(gram), reference.reduce(gram)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=0)
    H, expected = some_hals(source).components, some_hals(reference).components
    assert np.linalg.norm(H - expected) <= 1e-12 * np.linalg.norm(expected)


def test_float32_blocks_arrive_as_float32_on_every_source(
    case: Case, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    source = build(case.kind, DATA.astype(np.float32), tmp_path).source
    assert source.dtype == np.float32
    assert source.take([0]).dtype == np.float32
    assert np.asarray(source.map_rows(blocks.to_dense, width=FEATURES)).dtype == np.float32


@pytest.mark.parametrize("dtype", [bool, np.uint8], ids=lambda dtype: np.dtype(dtype).name)
def test_integers_and_booleans_become_float64(case: Case, dtype: Any, tmp_path: Path) -> None:
    X = (10 * DATA).astype(dtype)
    source = build(case.kind, X, tmp_path).source
    assert source.dtype == np.float64
    np.testing.assert_array_equal(source.reduce(gram), X.astype(float).T @ X.astype(float))


# --- what passes must not do --------------------------------------------------------------------------------


def test_inputs_are_never_modified(case: Case) -> None:
    before = case.fingerprint()
    case.source.reduce(gram)
    case.source.map_rows(partial(project_and_sum, M=M), width=3, combine=add)
    for batch in case.source.batches(8, rng=np.random.default_rng(0)):
        assert batch.shape[1] == FEATURES
    case.source.take([1, 2, 3])
    inspect(case.source)
    pw.nnls(np.ones((2, FEATURES)), case.source)
    case.source.project(M).reduce(gram)
    case.source.derive(cut_at_half).reduce(gram)
    assert case.fingerprint() == before


def test_a_matrix_that_is_not_canonical_is_not_modified() -> None:
    data, indices, indptr = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    X = sp.csr_array((data, indices, indptr), shape=(2, 3))
    for source in (MemorySource(X), source_of([dask.delayed(X, traverse=False)], scheduler="synchronous")):
        np.testing.assert_array_equal(blocks.to_dense(source.take([0, 1])), [[2.0, 0, 5], [0, 8, 0]])
    np.testing.assert_array_equal(X.data, [1, 2, 4, 8])
    np.testing.assert_array_equal(X.indices, [2, 0, 2, 1])


@pytest.mark.parametrize("kind", ["dask-distributed", "delayed-csr-distributed"])
def test_a_worker_killed_during_a_pass_does_not_change_the_result(kind: str, client: Client, tmp_path: Path) -> None:
    source = build(kind, DATA, tmp_path).source
    expected = source.reduce(gram)
    marker = tmp_path / "killed"
    np.testing.assert_array_equal(source.reduce(partial(die_once, marker=str(marker))), expected)
    assert marker.exists()


def test_large_components_travel_without_a_warning(client: Client, tmp_path: Path) -> None:
    large = np.ones((FEATURES, 200_000))  # 11 MB; Dask warns of graphs from 10 MB
    source = build("dask-distributed", DATA, tmp_path).source
    assert source.reduce(partial(width_of, M=large)) == 7 * 200_000


# --- inspect ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flawed() -> np.ndarray:
    X = np.round(DATA, 3)
    X[[0, 12, 13, 55]] = 0.0
    X[:, 4] = 0.0
    X[7, 2], X[21, 0], X[33, 6] = np.nan, np.inf, -np.inf
    X[4, 6], X[5, 0], X[50, 1] = -1.0, -0.5, -3.0
    return X


def test_inspect_finds_flaws_and_their_first_place(case: Case, flawed: np.ndarray, tmp_path: Path) -> None:
    found = inspect(build(case.kind, flawed, tmp_path).source)
    finite = flawed[np.isfinite(flawed)]
    assert found.shape == flawed.shape
    assert (found.n_bad, found.first_bad) == (3, (7, 2))
    assert (found.n_negative, found.first_negative) == (3, (4, 6))
    assert (found.zero_rows, found.first_zero_rows) == (4, (0, 12, 13, 55))
    assert found.first_zero_columns == (4,)
    assert found.stored == (np.count_nonzero(flawed) if case.sparse else flawed.size)
    assert found.largest == np.abs(finite).max()
    assert found.total == pytest.approx(finite.sum(), rel=1e-12)
    assert found.squared_norm == pytest.approx((finite**2).sum(), rel=1e-12)


def test_inspect_finds_nothing_wrong_with_good_data(case: Case) -> None:
    found = inspect(case.source)
    assert (found.n_bad, found.first_bad, found.n_negative, found.first_negative) == (0, None, 0, None)
    found.check(allow_negative=False)
    assert found.norm == pytest.approx(np.linalg.norm(DATA), rel=1e-12)
    assert found.mean == pytest.approx(DATA.mean(), rel=1e-12)
