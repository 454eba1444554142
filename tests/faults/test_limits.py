"""Little memory, few handles: a refusal or a result, and never the end of the process."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from partwise.io import spool

resource = pytest.importorskip("resource")
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")

LOW = """
import resource, sys, numpy as np, partwise as pw
X = np.random.default_rng(0).random((2000, 300))
pw.HALS(5, max_iter=2, tol=1.0).fit(X[:50])  # compiled, loaded
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * 2**20, resource.RLIM_INFINITY))
model = pw.HALS(50, max_iter=2, tol=1.0)
try:
    model.fit(X)
except (MemoryError, pw.exceptions.InputError) as error:
    print("refused", "memory" in str(error).lower() or isinstance(error, MemoryError), hasattr(model, "components_"))
else:
    print("done")
"""


@linux
@pytest.mark.parametrize("left", [0, 12, 63])
def test_little_memory_is_refused_before_the_work(left: int):
    done = subprocess.run([sys.executable, "-c", LOW, str(left)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "refused True False"), done.stderr


NEEDS = """
import resource, sys, numpy as np, partwise as pw
X = np.random.default_rng(0).random((1_000_000, 8))
pw.HALS(2, max_iter=2, tol=1.0).fit(X[:50])
np.save(sys.argv[1], np.zeros((10_000, 5_000)))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 120 * 2**20, resource.RLIM_INFINITY))
begun = []
try:
    pw.HALS(8, max_iter=2, tol=1.0, callbacks=[begun.append]).fit(X)
except pw.exceptions.InputError as error:
    print(error.kind, "takes 131 MB at least" in str(error) or error, begun)
try:
    pw.read(sys.argv[1], in_memory=1 << 30)
except pw.exceptions.ReaderError as error:
    print(error.kind, "needs 400 MB of memory" in str(error) or error)
"""


@linux
def test_need_is_estimated_before_the_work(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", NEEDS, str(tmp_path / "a.npy")], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["memory True []", "memory True"], done.stdout + done.stderr


def test_a_fit_that_no_machine_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partwise.door.guard.physical_memory", lambda: 1e4)
    with pytest.raises(pw.exceptions.InputError, match="this machine has 10 kB") as caught:
        pw.HALS(4).fit(np.ones((1000, 5)))
    assert caught.value.kind == "memory"


def test_what_is_empty_is_counted_and_not_listed():
    """A picture of 64 megapixels is one row: a list of its black ones took gigabytes."""
    seen = pw.sources.inspect(pw.open_source(np.zeros((1, 1_000_000))))
    assert seen.zero_columns == 1_000_000
    assert seen.first_zero_columns == tuple(range(10))


@linux
def test_many_scratch_files_need_few_handles(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spool, "TILE_BYTES", 24)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    entries = spool.Entries((300, 4), 300, in_memory=0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 128), hard))
    try:
        entries.add(np.arange(300), np.arange(300) % 4, np.ones(300))
        source = entries.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert source.shape == (300, 4)
    assert source.reduce(lambda block: float(block.sum())) == 300.0


@pytest.mark.parametrize("in_memory", [0, 1 << 28])
@pytest.mark.parametrize("name", ["a.gz", "a-ubyte"])
def test_compressed_images_are_not_held_twice(tmp_path: Path, in_memory: int, name: str):
    import tracemalloc

    images = np.random.default_rng(0).integers(0, 256, (20_000, 28, 28), dtype=np.uint8)
    packed = gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", *images.shape) + images.tobytes(), 1)
    (tmp_path / name).write_bytes(packed)
    tracemalloc.start()
    try:
        table = pw.read(tmp_path / name, in_memory=in_memory)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    rows = table.X if in_memory else table.X.take(range(20_000))
    np.testing.assert_array_equal(rows, images.reshape(20_000, -1))
    assert most < (2 * images.nbytes if in_memory else images.nbytes) + 4 * (16 << 20)
