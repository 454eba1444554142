"""Reuters-21578."""

from __future__ import annotations

import html
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from partwise.datasets.checks import check_choice, check_integer
from partwise.datasets.loaders.base import DataHome, Dataset, locate
from partwise.datasets.loaders.text import count_words, weigh

__all__ = ["load_reuters"]

ARTICLE = re.compile(r"<REUTERS ([^>]*)>(.*?)</REUTERS>", re.DOTALL)
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>")
TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
SPLIT = re.compile(r'LEWISSPLIT="(?:TRAIN|TEST)"')
CONTROL = re.compile(r"&#\d+;")


def load_reuters(
    n_classes: int = 65,
    *,
    min_count: int = 5,
    stop_words: Any = "english",
    weighting: str = "counts",
    data_home: DataHome = None,
) -> Dataset:
    """Load the articles of Reuters-21578 that have one topic, as word counts.

    These are the 8,293 articles in 65 classes with ``TOPICS="YES"``, in the training or test part of the
    ModApte split, that have a body and exactly one topic: the documents of Deng Cai's often-used set, though
    not his vocabulary.

    Parameters
    ----------
    n_classes : int, default=65
        Keep the largest classes only: 10 and 48 give Reuters10 and Reuters48 of the TSVDNMF paper. Classes
        of the same size are taken in alphabetical order.
    min_count : int, default=5
        Words that occur less often in all articles together are left out.
    stop_words : "english", list of str or None, default="english"
        Words to leave out.
    weighting : {"counts", "tfidf"}, default="counts"
        "tfidf": logarithmic tf-idf, articles scaled to unit length.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``reuters21578/reuters21578.tar.gz``.

    Returns
    -------
    Dataset
        ``X`` (n, words) CSR, ``labels`` (topics), ``feature_names`` (words), ``texts`` (title and body).
        A word is a run of two or more letters.

    Examples
    --------
    >>> from partwise.datasets import load_reuters
    >>> load_reuters(10).X.shape[0]  # doctest: +SKIP
    7285
    """
    check_integer("n_classes", n_classes, 2, 65)
    check_choice("weighting", weighting, ("counts", "tfidf"))
    path = locate("load_reuters", "reuters21578", "reuters21578.tar.gz", data_home)
    articles = _read_articles(path)
    sizes = Counter(topic for topic, _ in articles)
    largest = sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:n_classes]
    kept = [(topic, text) for topic, text in articles if topic in set(largest)]
    texts = [text for _, text in kept]
    counts, words = count_words(texts, min_count, stop_words)
    labels = np.array([topic for topic, _ in kept])
    return Dataset("reuters", weigh(counts, weighting), labels, feature_names=words, texts=texts)


def _read_articles(path: Path) -> list[tuple[str, str]]:
    """Return (topic, text) of the articles with one topic, in the order of the distribution."""
    articles: list[tuple[str, str]] = []
    with tarfile.open(path) as archive:
        members = {m.name: m for m in archive if m.isfile() and m.name.endswith(".sgm")}
        for name in sorted(members):
            content = archive.extractfile(members[name])
            assert content is not None  # isfile() said so
            for head, inside in ARTICLE.findall(content.read().decode("latin-1")):
                article = _parse(head, inside)
                if article is not None:
                    articles.append(article)
    return articles


def _parse(head: str, inside: str) -> tuple[str, str] | None:
    """Return (topic, title and body) of one article, or None where it is not one of the set."""
    if 'TOPICS="YES"' not in head or SPLIT.search(head) is None:
        return None
    topics, body = TOPICS.search(inside), BODY.search(inside)
    found = TOPIC.findall(topics.group(1)) if topics else []
    if body is None or len(found) != 1:
        return None
    title = TITLE.search(inside)
    text = body.group(1) if title is None else f"{title.group(1)}\n{body.group(1)}"
    return found[0], html.unescape(CONTROL.sub("", text)).strip()
