"""Row-aligned state in a temporary file: what an array would hold, and none of its memory."""

from __future__ import annotations

import errno
import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise.sources import source_of
from partwise.sources.chunked import ScratchRows
from partwise.sources.memory import RowsSource

X = np.random.default_rng(0).standard_normal((23, 4))


def filled(dtype: Any = np.float64) -> ScratchRows:
    rows = ScratchRows(X.shape, dtype)
    rows[:] = X
    return rows


SLICES = [slice(None), slice(0, 5), slice(7, 19), slice(20, None), slice(-4, None), slice(0, 100), slice(6, 6)]


@pytest.mark.parametrize("rows", SLICES, ids=lambda s: f"{s.start}:{s.stop}")
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_reads_like_an_array(rows: slice, dtype: Any) -> None:
    part = filled(dtype)[rows]
    assert part.dtype == dtype
    assert part.flags.c_contiguous
    assert part.flags.writeable
    np.testing.assert_array_equal(part, X.astype(dtype)[rows])


@pytest.mark.parametrize("rows", SLICES, ids=lambda s: f"{s.start}:{s.stop}")
def test_writes_like_an_array(rows: slice) -> None:
    scratch, array = filled(), X.copy()
    count = len(array[rows])
    for values in (np.arange(4.0 * count).reshape(count, 4), 7, np.asfortranarray(np.ones((count, 4), np.float32))):
        scratch[rows] = values
        array[rows] = values
        np.testing.assert_array_equal(scratch[:], array)


def test_parts_may_be_written_in_any_order() -> None:
    scratch = ScratchRows(X.shape, float)
    for a, b in [(20, 23), (0, 7), (13, 20), (7, 13)]:
        scratch[a:b] = X[a:b]
    np.testing.assert_array_equal(scratch[:], X)


def test_what_is_read_is_a_copy() -> None:
    scratch = filled()
    scratch[3:9][:] = 0.0
    np.testing.assert_array_equal(scratch[:], X)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)], ids=str)
def test_empty(shape: tuple[int, int]) -> None:
    scratch = ScratchRows(shape, float)
    scratch[:] = np.zeros(shape)
    assert scratch[:].shape == shape


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        filled()[2:5] = np.ones((4, 4))


def test_many_threads_at_once() -> None:
    large = np.random.default_rng(1).random((4000, 16))
    scratch = ScratchRows(large.shape, float)

    def one(i: int) -> bool:
        a, b = 40 * i, 40 * (i + 1)
        scratch[a:b] = large[a:b]
        return bool(np.array_equal(scratch[a:b], large[a:b]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(100)))
    np.testing.assert_array_equal(scratch[:], large)


def test_the_file_goes_with_the_object() -> None:
    scratch = filled()
    file = scratch._file
    source = RowsSource(scratch, [(0, 10), (10, 23)])
    del scratch
    gc.collect()
    assert not file.closed
    np.testing.assert_array_equal(source.take(np.arange(23)), X)
    del source
    gc.collect()
    assert file.closed


class Full:
    """A file on a disc without room."""

    closed = False

    def seek(self, place: int) -> None:
        pass

    def write(self, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        self.closed = True


def test_a_full_disc_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **options: Full())
    scratch = ScratchRows((1 << 20, 1024), float)
    with pytest.raises(
        OSError, match=r"projected rows need 8 GiB of scratch space in .*No space left.*set TMPDIR"
    ) as e:
        scratch[:2] = np.ones((2, 1024))
    assert str(tmp_path) in str(e.value)
    file = scratch._file
    del scratch, e
    gc.collect()
    assert file.closed


# --- projections of what is on disk -------------------------------------------------------------------------


def as_memmap(large: np.ndarray, tmp: Path) -> Any:
    np.save(tmp / "X.npy", large)
    return source_of(np.load(tmp / "X.npy", mmap_mode="r"), block_rows=2000)


def as_folder(large: np.ndarray, tmp: Path) -> Any:
    for i in range(10):
        np.save(tmp / f"{i}.npy", large[2000 * i : 2000 * (i + 1)])
    return source_of(tmp)


@pytest.mark.parametrize("form", [as_memmap, as_folder], ids=["memmap", "folder"])
def test_projections_of_data_on_disk_stay_on_disk(form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWISE_NUM_THREADS", "1")
    large = np.random.default_rng(2).random((20_000, 50))
    source = form(large, tmp_path)
    tracemalloc.start()
    rows = source.project(np.eye(50))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(rows, RowsSource)
    assert isinstance(rows.rows, ScratchRows)
    assert kept < 0.02 * large.nbytes
    assert peak < 0.5 * large.nbytes
    assert all(b - a >= 2000 for a, b in rows.bounds)
    np.testing.assert_array_equal(rows.take([0, 12_345, 19_999]), large[[0, 12_345, 19_999]])
    np.testing.assert_allclose(rows.reduce(lambda block: block.sum(axis=0)), large.sum(axis=0), rtol=1e-12)


def test_projections_of_data_in_memory_are_arrays() -> None:
    rows = source_of(X).project(np.eye(4))
    assert isinstance(rows, RowsSource)
    assert isinstance(rows.rows, np.ndarray)
    assert not np.shares_memory(rows.rows, X)
