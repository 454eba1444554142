"""Text in: folders, strings, UCI's docword and MatrixMarket give the same counts; bad files are named with the line."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from partwise.datasets import read_texts, stop_words
from partwise.datasets.loaders.text import plain
from partwise.datasets.words import LANGUAGES
from partwise.exceptions import InputError

TEXTS = ["One fish, two fish.", "Red fish; blue fish!", "", "red RED Sea 42"]
WORDS = ["blue", "fish", "red", "sea"]
COUNTS = [[0, 2, 0, 0], [1, 2, 1, 0], [0, 0, 0, 0], [0, 0, 2, 1]]
DOCWORD = "4\n4\n6\n1 2 2\n2 1 1\n2 2 2\n2 3 1\n4 3 2\n4 4 1\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def as_folder(tmp: Path) -> Any:
    for i, text in enumerate(TEXTS):
        write(tmp / f"{i}.txt", text)
    write(tmp / "notes.md", "not a document")
    return tmp


def as_docword(tmp: Path) -> Any:
    write(tmp / "vocab.fish.txt", "\n".join(WORDS) + "\n")
    return write(tmp / "docword.fish.txt", DOCWORD)


def as_compressed_docword(tmp: Path) -> Any:
    write(tmp / "vocab.fish.txt", "\n".join(WORDS))
    return str(write(tmp / "docword.fish.txt.gz", DOCWORD))


FORMS = {
    "list": lambda tmp: list(TEXTS),
    "generator": lambda tmp: iter(TEXTS),
    "folder": as_folder,
    "docword": as_docword,
    "docword-gz": as_compressed_docword,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_counts(form: str, tmp_path: Path) -> None:
    data = read_texts(FORMS[form](tmp_path))
    assert isinstance(data.X, csr_array)
    assert data.feature_names == WORDS
    assert data.X.toarray().tolist() == COUNTS


@pytest.mark.parametrize("transpose", [False, True], ids=["documents-as-rows", "words-as-rows"])
def test_matrix_market(tmp_path: Path, transpose: bool) -> None:
    path = tmp_path / "counts.mtx"
    mmwrite(path, coo_array(np.array(COUNTS).T if transpose else COUNTS))
    assert read_texts(path, transpose=transpose).feature_names is None
    vocabulary = write(tmp_path / "words.txt", "\n".join(WORDS))
    for given in (WORDS, vocabulary):
        data = read_texts(path, vocabulary=given, transpose=transpose)
        assert data.feature_names == WORDS
        assert data.X.toarray().tolist() == COUNTS


def test_folders_within_are_labels(tmp_path: Path) -> None:
    for name in ("sport/b.txt", "sport/a.txt", "art/old/c.txt"):
        write(tmp_path / name, f"some words of {name}")
    data = read_texts(tmp_path)
    assert data.sample_names == ["art/old/c.txt", "sport/a.txt", "sport/b.txt"]
    assert data.labels.tolist() == ["art", "sport", "sport"]
    write(tmp_path / "d.txt", "without a folder")
    assert read_texts(tmp_path).labels is None


@pytest.mark.parametrize("form", ["list", "docword"])
def test_min_count_and_weighting(form: str, tmp_path: Path) -> None:
    source = FORMS[form](tmp_path)
    data = read_texts(source, min_count=3, weighting="tfidf")
    assert data.feature_names == ["fish", "red"]
    counts = csr_array(np.array(COUNTS, float)[:, [1, 2]])
    np.testing.assert_allclose(data.X.toarray(), TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray())
    with pytest.raises(InputError, match="min_count=99 leaves no word"):
        read_texts(source, min_count=99)


@pytest.mark.parametrize("language", LANGUAGES)
def test_stop_words_of_a_language(language: str) -> None:
    words = stop_words(language)
    assert len(words) == len(set(words)) > 100
    assert all(word == word.lower() for word in words)
    assert read_texts([f"{words[0]} {words[-1]} haus"], stop_words=language).feature_names == ["haus"]


def test_a_language_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"must be one of english, dutch, .* got 'klingon'"):
        stop_words("klingon")


def test_stop_words_and_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("the cafés\nthe café".encode("latin-1"))
    assert read_texts(tmp_path, encoding="latin-1", stop_words=None).feature_names == ["café", "cafés", "the"]
    with pytest.raises(InputError, match=r"a.txt, line 1: byte 0xe9 is not utf-8; give its encoding"):
        read_texts(tmp_path)


@pytest.mark.parametrize(
    "content", ["red fish".encode("utf-16")[:-1], gzip.compress(b"red fish")[:-9]], ids=["utf-16", "gzip"]
)
def test_a_text_that_is_cut_off_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"a.txt: not a readable text"):
        read_texts(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"line 1: neither a MatrixMarket file nor"),
        ("words in a file\n", r"line 1: neither a MatrixMarket file nor"),
        (DOCWORD.replace("2 2 2", "2 x 2"), r"line 6: '2 x 2' is not 'document word count'"),
        (DOCWORD.replace("2 2 2", "2 2"), r"line 6: '2 2' is not"),
        (DOCWORD.replace("4 3 2", "5 3 2"), r"line 8: '5 3 2' is not .* document up to 4"),
        (DOCWORD.replace("4 3 2", "4 0 2"), r"line 8: '4 0 2'"),
        (DOCWORD.replace("4 3 2", "4 3 -2"), r"line 8: '4 3 -2'"),
        (DOCWORD.replace("4 4 1\n", ""), r"line 3 promises 6 entries and 5 follow"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 3\n", "no MatrixMarket file of numbers"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 -3\n", "no counts"),
    ],
    ids=["empty", "text", "letters", "short", "document", "word", "negative", "cut", "mm-letters", "mm-negative"],
)
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_bad_files_are_named(tmp_path: Path, content: str, message: str, suffix: str) -> None:
    if content.startswith("%%"):
        suffix = suffix.replace("txt", "mtx")
    path = write(tmp_path / f"docword.bad{suffix}", content)
    with pytest.raises(InputError, match=message) as caught:
        read_texts(path)
    assert str(path) in str(caught.value)


def test_cut_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "docword.cut.txt.gz"
    path.write_bytes(gzip.compress(DOCWORD.encode() * 50)[:-30])
    with pytest.raises(InputError, match=str(path)):
        read_texts(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "no documents"),
        (["a word", 3], "document 1 is no string but a int"),
        (["the", "of"], "the 2 documents have no word to count"),
        ("nowhere/at/all", "no file or folder nowhere"),
    ],
    ids=["nothing", "number", "stop-words", "path"],
)
def test_bad_sources(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_texts(source)


def test_folder_without_texts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no \.txt file"):
        read_texts(tmp_path)


def test_vocabulary_of_another_size(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vocabulary has 2 words for the 4 columns"):
        read_texts(as_docword(tmp_path), vocabulary=["a", "b"])
    with pytest.raises(InputError, match="there is no file"):
        read_texts(as_docword(tmp_path), vocabulary=tmp_path / "none.txt")


SEEN = {
    "<!DOCTYPE html><html><head><style>p {color: red}</style></head><body><p>red fish</p></body></html>": "red fish",
    "red<br/>fish &amp; <a href='http://a.b/blue' title=blue>sea</a>": "red fish & sea",
    "caf&eacute; &#233;t&#xe9;": "caf\xe9 \xe9t\xe9",
    "red <!-- <p>blue</p> --> fish <unknown>sea</unknown>": "red fish sea",
    "red <script>if (a < b) { blue }</script> fish": "red fish",
    "red <p>fish <!-- no end": "red fish",
}
UNTAGGED = "a <b and c> d, x < y > z, List<String>, AT&T; <mail@host>"
SEEN[UNTAGGED] = UNTAGGED


@pytest.mark.parametrize("text", SEEN)
def test_words_of_html_are_those_that_a_reader_sees(text: str) -> None:
    assert plain(text).split() == SEEN[text].split()
    again = read_texts([text, "other words"], stop_words=None)
    assert again.feature_names == read_texts([SEEN[text], "other words"], stop_words=None).feature_names


@pytest.mark.parametrize("piece", ["<!--", "<script>", "<p ", "<p>", "&amp", "<b a='"])
def test_hostile_html_takes_no_time(piece: str) -> None:
    began = time.perf_counter()
    plain("<p>" + piece * 200_000)
    assert time.perf_counter() - began < 5.0
