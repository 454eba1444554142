"""Three thousand damaged inputs of every kind, in a child with limits of time and memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("PIL")
pytest.importorskip("polars")
fuzz = pytest.importorskip("benchmarks.fuzz_readers")
FIRST, COUNT, SHARES = 1_000_000, 3000, 2


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.parametrize("share", range(SHARES))
def test_damaged_inputs_are_read_or_refused(share: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(__file__).parents[2])  # where the child finds the benchmarks
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path or os.getcwd() for path in sys.path))
    size = COUNT // SHARES
    found = fuzz.run(FIRST + share * size, size, list(fuzz.good_files(heavy=False)))
    assert found["failures"] == []
    assert sum(sum(one.values()) for one in found["counts"].values()) == size
