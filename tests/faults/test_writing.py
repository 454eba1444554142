"""What is written: whole or not there, with the mode of any new file; a cache that fails is left out."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from partwise.io.atomic import write_atomically


@pytest.mark.skipif(sys.platform == "win32", reason="has no such modes")
def test_the_mask_of_the_process_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def touched(mask: int) -> int:
        raise AssertionError("os.umask was called")

    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", touched)
        threads = [
            threading.Thread(target=write_atomically, args=(tmp_path / str(i), lambda file: file.write(b"x")))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        monkeypatch.undo()
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
    finally:
        os.umask(before)


PROGRAM = (
    "import warnings, numpy as np; warnings.simplefilter('always')\n"
    "from partwise.kernels.scan import scan_values\n"
    "print(scan_values(np.arange(4.0))[3])\n"
)


@pytest.mark.parametrize("damage", ["empty", "garbage", "no-room"])
def test_a_kernel_cache_that_fails_is_left_out(tmp_path: Path, damage: str):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    program = PROGRAM
    if damage == "no-room":
        full = "import numba.core.caching as c\ndef full(*a, **k): raise OSError(28, 'No space left on device')\n"
        program = full + "c.IndexDataCacheFile.save = full\n" + PROGRAM
    else:
        subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, capture_output=True)
        for index in tmp_path.rglob("*.nbi"):
            index.write_bytes(b"" if damage == "empty" else b"garbage")
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False, capture_output=True, text=True)
    assert done.stdout == "6.0\n", done.stderr
    assert "the cache of compiled kernels" in done.stderr


def test_the_content_is_there_or_the_old_one(tmp_path: Path):
    path = tmp_path / "a"
    write_atomically(path, lambda file: file.write(b"old"))

    def half(file: object) -> None:
        file.write(b"ne")  # type: ignore[attr-defined]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_atomically(path, half)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("a", b"old")]
    assert np.array_equal(np.frombuffer(path.read_bytes(), np.uint8), list(b"old"))
