"""From texts to counts, and from counts to weights."""

from __future__ import annotations

import html
import re
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from partwise.datasets.checks import check_choice, check_integer, check_real
from partwise.datasets.words import stop_words as words_of
from partwise.exceptions import InputError
from partwise.sources import blocks
from partwise.sources.protocol import Block

__all__ = ["count_words", "document_frequencies", "inverse_frequencies", "tfidf_block", "weigh"]

# Words of letters alone, two or more: numbers and underscores are rulers and addresses, seldom topics.
TOKEN = r"(?u)\b[^\W\d_]{2,}\b"

# What only texts in HTML have: a known tag, whose attributes have values ("a <b and c> d" has none), a comment, a
# letter by name or number. Then anything like a tag is one, as a mere < would be written &lt;.
TAGS = "a abbr article b blockquote body br code dd div dl dt em figure font footer h1 h2 h3 h4 h5 h6 head header hr"
TAGS += " html i img li meta nav ol p pre q s script section small span strong style sub sup table td th thead title tr"
TAGS += " u ul"
VALUED = r"""\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+)"""
LETTER = r"&(?:[a-z]{2,8}|#\d{1,7}|#x[0-9a-f]{1,6});"
HTML = re.compile(rf"<!doctype html|<!--|</?(?:{'|'.join(TAGS.split())})(?:{VALUED})*\s*/?>|{LETTER}", re.IGNORECASE)
UNSEEN = re.compile(r"(?is)<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)|</?[a-z!?][^<>]*>")


def count_words(
    texts: list[str],
    min_count: int = 5,
    stop_words: Any = "english",
    *,
    ngrams: int = 1,
    min_share: float = 0.0,
    max_share: float = 1.0,
) -> tuple[csr_array, list[str]]:
    """Count the words of each text.

    Parameters
    ----------
    texts : list of str
        The documents. Case is ignored; a word is a run of two or more letters.
    min_count : int, default=5
        Words that occur less often in all documents together are left out.
    stop_words : str, list of str or None, default="english"
        Words to leave out: a language of :func:`partwise.datasets.stop_words`, or the words.
    ngrams : int, default=1
        Longest run of words that is counted as one.
    min_share, max_share : float, default=0.0, 1.0
        Words that a smaller or larger share of the documents has are left out.

    Returns
    -------
    counts : scipy.sparse.csr_array of shape (n_texts, n_words)
        The counts.
    words : list of str
        The words, in alphabetical order.

    Examples
    --------
    >>> counts, words = count_words(["red fish", "blue fish"], min_count=1)
    >>> words, counts.toarray().tolist()
    (['blue', 'fish', 'red'], [[0, 1, 1], [1, 1, 0]])
    """
    min_count = check_integer("min_count", min_count)
    how: dict[str, Any] = {"ngram_range": (1, ngrams), "min_df": float(min_share), "max_df": float(max_share)}
    if isinstance(stop_words, str) and stop_words != "english":
        stop_words = words_of(stop_words)
    from sklearn.feature_extraction.text import CountVectorizer  # slow to import

    vectorizer = CountVectorizer(stop_words=stop_words, token_pattern=TOKEN, dtype=np.int32, **how)
    counts = csr_array(vectorizer.fit_transform(texts))
    words = vectorizer.get_feature_names_out()
    kept = np.flatnonzero(np.bincount(counts.indices, weights=counts.data, minlength=words.size) >= min_count)
    if kept.size == 0:
        raise InputError(f"min_count={min_count} leaves no word: give a smaller number.", parameter="min_count")
    return csr_array(counts[:, kept]), words[kept].tolist()


def plain(text: str) -> str:
    """What a reader sees of a text: without tags and comments, where it is HTML.

    Examples
    --------
    >>> plain("<p>red &amp; <b class='x'>blue</b></p>").split(), plain("a <b and c> d")
    (['red', '&', 'blue'], 'a <b and c> d')
    """
    return html.unescape(UNSEEN.sub(" ", text)) if HTML.search(text) else text


def weigh(counts: csr_array, weighting: str, slope: float = 1.0) -> csr_array:
    """Return counts as they are, or as logarithmic tf-idf of unit length.

    Parameters
    ----------
    counts : scipy.sparse.csr_array
        Counts, one document a row.
    weighting : {"counts", "tfidf"}
        "tfidf": (1 + log count) (1 + log((1 + n) / (1 + document frequency))), rows divided by their 2-norm.
    slope : float, default=1.0
        How much of the length of a document is divided out, 1 for all and 0 for nothing: a row is divided by
        ``(1 - slope) mean + slope length`` (the pivoted normalisation of Manning et al. 2008, Section 6.4.4).

    Examples
    --------
    >>> weigh(csr_array([[2, 0]]), "tfidf").toarray()
    array([[1., 0.]])
    """
    check_choice("weighting", weighting, ("counts", "tfidf"))
    if weighting == "counts":
        return counts
    slope = check_real("slope", slope)
    factors = inverse_frequencies(counts.shape[0], document_frequencies(counts))
    X: csr_array = tfidf_block(counts.astype(np.float64), factors)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    pivot = (1.0 - slope) * lengths.mean() + slope * lengths
    X.data /= np.repeat(np.where(pivot > 0.0, pivot, 1.0), np.diff(X.indptr))
    return X


def document_frequencies(block: Block) -> np.ndarray:
    """In how many rows each column is positive."""
    values = blocks.values(block) > 0
    if blocks.is_complete(block):
        return np.asarray(values.reshape(block.shape).sum(axis=0))
    return np.bincount(block.indices[values], minlength=block.shape[1])


def inverse_frequencies(n_documents: int, frequencies: np.ndarray) -> np.ndarray:
    """The factor of each word: 1 + log((1 + n) / (1 + document frequency))."""
    return np.asarray(np.log((n_documents + 1.0) / (frequencies + 1.0)) + 1.0)


def tfidf_block(block: Block, factors: np.ndarray) -> Block:
    """(1 + log count) times the factor of the word; rows keep their length."""
    counts = blocks.values(block)
    logs = np.log(counts, out=np.full(counts.shape, -1.0, counts.dtype), where=counts > 0) + 1.0
    columns = factors.astype(counts.dtype)
    if blocks.is_complete(block):
        return logs.reshape(block.shape) * columns
    return blocks.with_values(block, logs * columns[block.indices])
