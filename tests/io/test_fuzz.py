"""A few hundred damaged files: read, or refused with a ReaderError; the long run is benchmarks/fuzz_readers.py."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("PIL")
fuzz = pytest.importorskip("benchmarks.fuzz_readers")

GOOD = fuzz.good_files()


@pytest.mark.parametrize("kind", sorted(GOOD))
def test_damaged_files(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partwise.io.numbers.LONG_TEXT", 1 << 16)  # the cases change it
    place = sorted(GOOD).index(kind)
    failures = []
    count = 3 if kind.startswith("h5ad") else 20  # a process of its own for each file of HDF5
    for number in range(place, count * len(GOOD), len(GOOD)):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = fuzz.write_case(*fuzz.make_case(number, GOOD), folder)
        start = time.perf_counter()
        result = fuzz.read_case(kind, path, number)
        if result not in ("read", "refused") or time.perf_counter() - start > fuzz.SECONDS:
            failures.append((number, result))
    assert failures == []


def test_good_files_are_read(tmp_path: Path):
    for kind, files in GOOD.items():
        folder = tmp_path / kind
        folder.mkdir()
        assert fuzz.read_case(kind, fuzz.write_case(kind, files, folder), 1) == "read", kind
