"""A file that is followed may be cut or replaced: nothing is lost, and it is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwise.exceptions import InputError
from partwise.sources import stream as streams
from partwise.sources.stream import TextStream


def lines(first: int) -> str:
    return "".join(f"{i} {i}.5\n" for i in range(first, first + 10))


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(streams, "WAIT_SECONDS", 0.001)
    path = tmp_path / "log.txt"
    path.write_text(lines(10))
    return path


@pytest.mark.parametrize("length", [10, 20, 5], ids=["as-long", "longer", "shorter"])
@pytest.mark.parametrize("how", ["cut", "replaced"])
def test_a_file_that_is_written_anew_is_read_anew(log: Path, how: str, length: int):
    stream = TextStream(log, follow=True)
    assert next(stream)[:, 0].tolist() == list(range(10, 20))
    text = "".join(f"{i} 0\n" for i in range(50, 50 + length))
    if how == "cut":
        log.write_text(text)
    else:
        log.with_suffix(".new").write_text(text)
        log.with_suffix(".new").replace(log)
    with pytest.warns(RuntimeWarning, match=r"log\.txt was cut or replaced; it is read from its first line again"):
        block = next(stream)
    assert block[:, 0].tolist() == list(range(50, 50 + length))
    stream.close()


def test_what_is_added_before_a_rename_is_read_first(log: Path):
    stream = TextStream(log, follow=True)
    next(stream)
    with log.open("a") as file:
        file.write("7 7\n")
    log.rename(log.with_suffix(".1"))
    log.write_text("8 8\n")
    np.testing.assert_array_equal(next(stream), [[7, 7]])
    with pytest.warns(RuntimeWarning, match="replaced"):
        np.testing.assert_array_equal(next(stream), [[8, 8]])
    stream.close()


def test_a_line_that_is_cut_is_no_sample(log: Path):
    log.write_text("1 2\n3 4.")
    stream = TextStream(log, follow=True)
    next(stream)
    log.write_text("5\n")
    with pytest.raises(InputError, match="was cut or replaced within a line"):
        next(stream)
    stream.close()


def test_a_file_that_only_grows_is_followed(log: Path):
    stream = TextStream(log, follow=True)
    assert len(next(stream)) == 10
    with log.open("a") as file:
        file.write(lines(30))
    assert next(stream)[:, 0].tolist() == list(range(30, 40))
    stream.close()
