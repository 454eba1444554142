"""Lines of text as samples: files, pipes, files that grow, and lines that are none."""

from __future__ import annotations

import io
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import partwise as pw
from partwise.exceptions import InputError
from partwise.sources import stream as module
from partwise.sources.stream import TextStream, open_text

X = np.random.default_rng(0).random((50, 4)) * (np.arange(50) % 7 > 0)[:, None]


def as_text(X: np.ndarray) -> bytes:
    return "".join(" ".join(map(repr, row)) + "\n" for row in X.tolist()).encode()


def gathered(stream: TextStream) -> np.ndarray:
    return np.concatenate(list(stream))


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20], ids=lambda size: f"reads-of-{size}")
def test_every_number_comes_back(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", size)
    np.testing.assert_array_equal(gathered(TextStream(io.BytesIO(as_text(X)))), X)


@pytest.mark.parametrize(
    "text",
    [b"1 2\n3 4", b"\n1 2\n\n  \n3\t4\n\n", b"1 2\r\n3 4\r\n", b" 1.0  +2e0 \n 3 0.4e1"],
    ids=["no-last-break", "empty-lines-and-tabs", "windows", "spaces"],
)
def test_ways_to_write_numbers(text: bytes) -> None:
    np.testing.assert_array_equal(gathered(TextStream(io.BytesIO(text))), [[1, 2], [3, 4]])


def test_single_precision_and_nothing() -> None:
    assert gathered(TextStream(io.BytesIO(b"1 2\n"), dtype=np.float32)).dtype == np.float32
    assert list(TextStream(io.BytesIO(b"\n \n"))) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 2\n\n1 x\n", r"data\.txt, line 3: 'x' is not a number"),
        (b"1 2\n1 2 3\n", r"data\.txt, line 2: 3 numbers, but 2 in the lines before"),
        (b"1 2\n3 nan\n", r"data\.txt, line 2: nan is not finite"),
        (b"1 1e999\n", r"data\.txt, line 1: 1e999 is not finite"),
        (b"1,2\n", r"data\.txt, line 1: '1,2' is not a number"),
        (b"\x80\x81\n", r"data\.txt, line 1: .* is not a number"),
        (b"", r"data\.txt: there is no sample in it"),
    ],
)
@pytest.mark.parametrize("size", [3, 1 << 20], ids=lambda size: f"reads-of-{size}")
def test_bad_lines_are_named(
    text: bytes, message: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", size)
    path = tmp_path / "data.txt"
    path.write_bytes(text)
    with pytest.raises(InputError, match=message):
        open_text(path)


def test_missing_values_are_handed_on_if_wanted() -> None:
    block = gathered(TextStream(io.BytesIO(b"1 2\nnan 4\n"), finite=False))
    assert np.isnan(block[1, 0])


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere"):
        TextStream(tmp_path / "nowhere")


def test_text_file_as_a_source(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(as_text(X))
    source = open_text(path)
    assert source.shape == X.shape
    np.testing.assert_array_equal(source.take(np.arange(50)), X)
    np.testing.assert_array_equal(open_text(path, dtype=np.float32).take([1]), X[[1]].astype(np.float32))


def test_a_pipe_is_read_as_lines_arrive_and_the_writer_waits() -> None:
    reading, writing = os.pipe()
    lines = 20_000
    sent = 0

    def write() -> None:
        nonlocal sent
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for _ in range(lines):
                sent += pipe.write(b"1 2 3 4\n")

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        stream = TextStream(pipe)
        first = len(next(stream))
        time.sleep(0.1)
        # no more than a pipe's buffer is ahead of the reader
        assert 0 < sent - 8 * first <= 1 << 17
        assert first + sum(map(len, stream)) == lines
    writer.join()


def test_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(as_text(X[:3]) + b"0.5 ")
    stream = TextStream(path, follow=True)
    np.testing.assert_array_equal(next(stream), X[:3])

    def grow() -> None:
        time.sleep(0.15)
        with path.open("ab") as file:
            file.write(b"1 2 3\n")

    writer = threading.Thread(target=grow)
    writer.start()
    np.testing.assert_array_equal(next(stream), [[0.5, 1, 2, 3]])  # the half line waited for its end
    writer.join()
    stream.close()


def test_partial_fit_takes_a_stream() -> None:
    model = pw.ConservativeNMF(2, random_state=0).partial_fit(TextStream(io.BytesIO(as_text(X))))
    other = pw.ConservativeNMF(2, random_state=0).partial_fit(X)
    np.testing.assert_array_equal(model.components_, other.components_)
    assert (model.n_samples_seen_, model.n_skipped_) == (50, 8)
