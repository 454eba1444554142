"""20 Newsgroups."""

from __future__ import annotations

import re
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from partwise.datasets.checks import check_choice
from partwise.datasets.loaders.base import DataHome, Dataset, locate
from partwise.datasets.loaders.text import count_words, weigh
from partwise.exceptions import DataNotFoundError, InputError

__all__ = ["load_newsgroups"]

SUBJECT = re.compile(r"^Subject:(.*(?:\n[ \t].*)*)", re.IGNORECASE | re.MULTILINE)


def load_newsgroups(
    subset: str = "all",
    *,
    headers: bool = False,
    min_count: int = 5,
    stop_words: Any = "english",
    weighting: str = "counts",
    data_home: DataHome = None,
    download: bool = False,
) -> Dataset:
    """Load 20 Newsgroups (the "bydate" version, 18,846 posts) as word counts.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        Which posts; "all" has those for training first.
    headers : bool, default=False
        Keep the header of each post. By default it is cut, all but the subject: names and hosts of the
        writers give the group away, while the subject is about it.
    min_count : int, default=5
        Words that occur less often in all posts together are left out.
    stop_words : "english", list of str or None, default="english"
        Words to leave out.
    weighting : {"counts", "tfidf"}, default="counts"
        "tfidf": logarithmic tf-idf, posts scaled to unit length.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``20newsgroups/20news-bydate.tar.gz``.
    download : bool, default=False
        Where the file is missing, get the posts with scikit-learn's ``fetch_20newsgroups``. Nothing is
        kept on disk.

    Returns
    -------
    Dataset
        ``X`` (n, words) CSR, ``labels`` (names of the groups), ``feature_names`` (words), ``texts``. A post
        of rare words only has an empty row. A word is a run of two or more letters.

    Examples
    --------
    >>> from partwise.datasets import load_newsgroups
    >>> news = load_newsgroups("train", weighting="tfidf")  # doctest: +SKIP
    >>> news.X.shape[0], news.labels[0]  # doctest: +SKIP
    (11314, 'alt.atheism')
    """
    check_choice("subset", subset, ("all", "train", "test"))
    check_choice("weighting", weighting, ("counts", "tfidf"))
    hint = " Or pass download=True to fetch it with scikit-learn's fetch_20newsgroups."
    try:
        path = locate("load_newsgroups", "20newsgroups", "20news-bydate.tar.gz", data_home, hint)
    except DataNotFoundError:
        if not download:
            raise
        posts, groups = _fetch_posts(subset)
    else:
        posts, groups = _read_posts(path, subset)
    texts = posts if headers else [subject_and_body(post) for post in posts]
    counts, words = count_words(texts, min_count, stop_words)
    return Dataset("newsgroups", weigh(counts, weighting), np.array(groups), feature_names=words, texts=texts)


def subject_and_body(post: str) -> str:
    """Cut the header of a post, but keep its subject as the first line.

    Examples
    --------
    >>> subject_and_body("From: me\\nSubject: Ships\\n\\nOf the line.")
    'Ships\\nOf the line.'
    """
    header, _, body = post.partition("\n\n")
    found = SUBJECT.search(header)
    return f"{found.group(1).strip()}\n{body}" if found else body


def _read_posts(path: Path, subset: str) -> tuple[list[str], list[str]]:
    """Read members ``.../20news-bydate-train/<group>/<number>`` of the archive; nothing is extracted."""
    found: list[tuple[bool, str, str, str]] = []
    with tarfile.open(path) as archive:
        for member in archive:
            parts = member.name.split("/")
            if not member.isfile() or len(parts) < 3:
                continue
            train = parts[-3].endswith("-train")
            if subset in ("all", "train" if train else "test"):
                content = archive.extractfile(member)
                assert content is not None  # isfile() said so
                text = content.read().decode("latin-1").replace("\r\n", "\n")
                found.append((not train, parts[-2], parts[-1], text))
    if not found:
        raise InputError(f"{path} has no posts in folders <subset>/<group>/<number>: get it again.")
    found.sort(key=lambda post: post[:3])
    return [post[3] for post in found], [post[1] for post in found]


def _fetch_posts(subset: str) -> tuple[list[str], list[str]]:
    """Get the posts from the internet, training before test."""
    from sklearn.datasets import fetch_20newsgroups

    posts: list[str] = []
    groups: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in ("train", "test") if subset == "all" else (subset,):
            bunch = fetch_20newsgroups(data_home=folder, subset=part, shuffle=False)
            posts += bunch.data
            groups += [bunch.target_names[i] for i in bunch.target]
    return posts, groups
