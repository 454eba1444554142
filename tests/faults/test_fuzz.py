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
HEAVY = ("h5ad", "h5ad-sparse", "xlsx")  # a fork, or an archive of XML, for each file
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the child finds the benchmarks."""
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path or os.getcwd() for path in sys.path))


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("share", range(SHARES))
def test_damaged_inputs_are_read_or_refused(share: int):
    size = COUNT // SHARES
    found = fuzz.run(FIRST + share * size, size, list(fuzz.good_files(heavy=False)))
    assert found["failures"] == []
    assert sum(sum(one.values()) for one in found["counts"].values()) == size


@pytest.mark.usefixtures("at_home")
def test_damaged_files_of_slow_kinds_are_read_or_refused():
    there = [kind for kind in HEAVY if kind in fuzz.good_files()]
    found = fuzz.run(FIRST, 20 * len(there), there)
    assert found["failures"] == []
    assert set(found["counts"]) == set(there)
