"""Which words occur together: probabilities of pairs of words, from documents.

Hsu, lecture notes on non-negative matrix factorization (COMS 4772), slide 9 (Arora, Ge & Moitra 2012): ``M[w, w']`` is
the number of documents whose first token is w and whose second is w'; given the documents' mixtures of topics,
documents are independent and ``E(M) = V Y Y' V'``.  Words of a document are exchangeable, so all its pairs are as good
as the first one: their mean has the same expectation and varies less (Arora, Ge, Halpern et al. 2013).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from partwise.algorithms.concentration import Deviation, separations
from partwise.algorithms.counting import Counting, Weighting, count_block, dot_block, matrix_block, row_sums_block
from partwise.exceptions import InputError, Place
from partwise.io.opening import open_source
from partwise.sources import RowSource, blocks, inspect
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AnchorCertainty:
    """Whether the topics of anchor words can be told apart, and how many documents it takes.

    Attributes
    ----------
    certain : ndarray of bool
        The expected row of the word is not in the cone of those of the other anchors: with the confidence asked for,
        its topic is no mixture of theirs.
    separations : ndarray
        By how much, in the spectral norm, the rows of the anchors must be wrong for that not to be so.
    deviation : float
        By how much they are wrong at most.
    documents : ndarray
        Documents, of the same kind, from which on the topic is certain if the separation is what it is now.
    """

    certain: npt.NDArray[np.bool_]
    separations: Array
    deviation: float
    documents: Array


class Cooccurrence(ABC):
    """Probabilities of ordered pairs of words, made by :meth:`of` (counts) or :meth:`of_tokens` (documents in order).

    The rows of words are what topics are found in: those of anchor words, which one topic alone has, are the corners
    of the hull of all, such as ``ConvexHull(k).fit(pairs.matrix())`` finds.

    Attributes
    ----------
    probabilities : ndarray of shape (n_words,)
        The sums of its rows: how often the first word of a pair is this one.
    n_documents : int
        Documents with a pair of words.

    References
    ----------
    .. [1] D. Hsu, "Non-negative matrix factorization", lecture of COMS 4772, slide 9.
    .. [2] S. Arora, R. Ge, A. Moitra, "Learning topic models - going beyond SVD", FOCS 2012.

    Examples
    --------
    >>> import partwise as pw
    >>> pairs = pw.Cooccurrence.of_tokens([[0, 1, 1], [0, 1], [2, 2]])
    >>> (pairs.n_documents * pairs.matrix()).toarray()
    array([[0., 2., 0.],
           [0., 0., 0.],
           [0., 0., 1.]])
    >>> (12 * pw.Cooccurrence.of([[2, 1, 0], [1, 1, 0]]).matrix()).toarray().round(12)
    array([[2., 5., 0.],
           [5., 0., 0.],
           [0., 0., 0.]])
    """

    probabilities: Array
    n_documents: int

    @staticmethod
    def of(X: Any, *, weighting: Weighting = "equal", unbiased: bool = True) -> AllPairs:
        """All pairs of different words of each document.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Counts of words (columns) in documents (rows).
        weighting : {"equal", "length"}, default="equal"
            The say of a document.
        unbiased : bool, default=True
            Rows are counts of words drawn, and a word is no pair with itself. ``False``: rows are exact frequencies.

        Returns
        -------
        Cooccurrence
            As an operator on the documents.
        """
        if weighting not in get_args(Weighting):
            raise InputError(f"{{parameter}}={weighting!r} is neither 'equal' nor 'length'", parameter="weighting")
        source = open_source(X)
        inspect(source).check(allow_negative=False, squares=False)
        return AllPairs.of_source(source, Counting(weighting, unbiased))

    @staticmethod
    def of_tokens(documents: Any, n_words: int | None = None) -> FirstPairs:
        """The first and the second token of each document, as on the slide.

        Parameters
        ----------
        documents : iterable of sequences of int
            The tokens of each document in order, as numbers of words; an array or data frame of two columns will do.
            Documents of less than two are dropped.
        n_words : int, optional
            Number of words; by default the largest number of one, and one.

        Returns
        -------
        Cooccurrence
            ``n_documents * matrix()`` is the slide's M.
        """
        return FirstPairs.of_documents(documents, n_words)

    @abstractmethod
    def matrix(self) -> sp.csr_array:
        """The probabilities, as sparse as they are.

        Returns
        -------
        csr_array of shape (n_words, n_words)
            It sums to one.
        """

    @abstractmethod
    def _row_sums(self, chosen: npt.NDArray[np.bool_]) -> Array:
        """Sums of the rows of ``sum S S'``, of chosen words, and of ``sum S' S``, for independent matrices S."""

    def _scale(self) -> float:
        """The largest sum of the entries of such a matrix."""
        return 1.0

    def conditional(self, Z: Any) -> Any:
        """Rows divided by the probability of their word; zero for words that have no pair.

        Parameters
        ----------
        Z : array or sparse array of shape (n_words, ...)
            Such as ``matrix()``.

        Returns
        -------
        array or sparse array
            Of the same shape.
        """
        p = self.probabilities
        return blocks.scale_rows(Z, np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0))

    def deviation(self, confidence: float = 0.95, words: Any = None) -> float:
        r"""By how much the matrix is off in the spectral norm, :math:`\|M - \mathrm E(M)\|_2 / n`, at most.

        By the matrix Bernstein inequality [1]_, with a bound of the variance that is taken from the data as well: it
        holds with this confidence for any independent documents, given their mixtures of topics.

        Parameters
        ----------
        confidence : float, default=0.95
            Between 0 and 1.
        words : array-like of int, optional
            The rows of these words alone.

        Returns
        -------
        float
            The bound.

        References
        ----------
        .. [1] J. A. Tropp, "User-friendly tail bounds for sums of random matrices", Theorem 1.6, 2012.

        Examples
        --------
        >>> import numpy as np, partwise as pw
        >>> tokens = np.random.default_rng(0).integers(0, 10, (40_000, 2))  # every pair has probability 0.01
        >>> pairs = pw.Cooccurrence.of_tokens(tokens)
        >>> error = np.linalg.norm(pairs.matrix().toarray() - 0.01, 2)
        >>> bool(error < pairs.deviation() < 6 * error)
        True
        """
        return self._deviation(confidence, words).bound

    def certainty(self, anchors: Any, confidence: float = 0.95) -> AnchorCertainty:
        """Which of the anchors' topics are certainly none of the others' mixtures, and how many documents that takes.

        Parameters
        ----------
        anchors : array-like of int
            Numbers of words, such as ``AnchorTopics.anchors_``.
        confidence : float, default=0.95
            That all that is called certain is so. The anchors were picked on the same documents as a rule: then it is
            that of picking them so.

        Returns
        -------
        AnchorCertainty
            For each anchor.

        Examples
        --------
        >>> import numpy as np, partwise as pw
        >>> rng = np.random.default_rng(0)
        >>> topic = rng.integers(2, size=20_000)  # of a document: words 0 and 1, or words 2 and 3
        >>> pairs = pw.Cooccurrence.of_tokens(2 * topic[:, None] + rng.integers(2, size=(20_000, 2)))
        >>> pairs.certainty([0, 2]).certain
        array([ True,  True])
        >>> pairs.certainty([0, 1]).certain
        array([False, False])
        """
        chosen = self._words(anchors, "anchors")
        deviation = self._deviation(confidence, chosen)
        apart = separations(self.matrix()[chosen].toarray())
        return AnchorCertainty(apart > deviation.bound, apart, deviation.bound, np.ceil(deviation.needed(apart)))

    def _deviation(self, confidence: float, words: Any) -> Deviation:
        if not 0.0 < confidence < 1.0:
            raise InputError(f"{{parameter}}={confidence!r} must be between 0 and 1", parameter="confidence")
        m = len(self.probabilities)
        chosen = np.ones(m, bool)
        if words is not None:
            chosen = np.zeros(m, bool)
            chosen[self._words(words, "words")] = True
        return Deviation.of(self._row_sums(chosen), self.n_documents, confidence, self._scale())

    def _words(self, numbers: Any, name: str) -> Index:
        words, m = np.asarray(numbers), len(self.probabilities)
        if words.ndim != 1 or not len(words) or words.dtype.kind not in "iu" or words.min() < 0 or words.max() >= m:
            raise InputError(f"{{parameter}} must be numbers of words, from 0 to {m - 1}", parameter=name)
        if len(np.unique(words)) < len(words):
            raise InputError("{parameter} has a word twice", parameter=name)
        return words.astype(np.int64)


@dataclass(frozen=True)
class FirstPairs(Cooccurrence):
    """The first and second tokens themselves."""

    first: Index
    second: Index
    n_words: int
    n_dropped: int

    @classmethod
    def of_documents(cls, documents: Any, n_words: int | None) -> FirstPairs:
        """See :meth:`Cooccurrence.of_tokens`."""
        pairs, numbers, dropped = _first_two(documents)
        for d, j in np.argwhere(pairs < 0)[:1]:
            raise InputError(
                "{parameter} has a negative number of a word in {place}",
                parameter="documents",
                kind="negative",
                place=Place(int(numbers[d]), int(j)),
            )
        most = int(pairs.max()) + 1
        if n_words is not None and not (isinstance(n_words, Integral) and most <= n_words):
            raise InputError(
                f"{{parameter}}={n_words!r} must be a whole number above all words, the largest of which is {most - 1}",
                parameter="n_words",
            )
        return cls(pairs[:, 0], pairs[:, 1], most if n_words is None else int(n_words), dropped)

    @property
    def n_documents(self) -> int:  # type: ignore[override]
        """See :class:`Cooccurrence`."""
        return len(self.first)

    @property
    def probabilities(self) -> Array:  # type: ignore[override]
        """See :class:`Cooccurrence`."""
        return np.bincount(self.first, minlength=self.n_words) / self.n_documents

    def matrix(self) -> sp.csr_array:
        """See :class:`Cooccurrence`."""
        counts = sp.coo_array((np.ones(self.n_documents), (self.first, self.second)), (self.n_words, self.n_words))
        return sp.csr_array(sp.csr_array(counts) / self.n_documents)

    def _row_sums(self, chosen: npt.NDArray[np.bool_]) -> Array:
        mine = chosen[self.first]  # S has a single one: S S' and S' S have one, on the diagonal
        first, second = (np.bincount(token[mine], minlength=self.n_words) for token in (self.first, self.second))
        return np.concatenate([first[chosen], second]).astype(np.float64)


def _first_two(documents: Any) -> tuple[Index, Index, int]:
    """The first two tokens of documents that have them, the places of these documents, how many have not."""
    if hasattr(documents, "to_numpy"):  # a data frame, which is a sequence of its columns
        documents = documents.to_numpy()
    if isinstance(documents, np.ndarray) and documents.ndim == 2 and documents.shape[1] >= 2:
        numbers, pairs = np.arange(len(documents)), documents[:, :2]
    else:
        documents = list(documents)
        if not all(hasattr(document, "__len__") for document in documents):
            raise InputError("{parameter} must be documents, each with its words", parameter="documents", kind="shape")
        numbers = np.array([d for d, document in enumerate(documents) if len(document) >= 2], np.int64)
        pairs = np.asarray([documents[d][:2] for d in numbers])
    if pairs.ndim != 2 or not len(pairs):
        raise InputError("{parameter} has no document of at least two words", parameter="documents", kind="empty")
    if pairs.dtype.kind not in "iu":
        raise InputError("{parameter} must hold numbers of words, as integers", parameter="documents", kind="not-real")
    return pairs.astype(np.int64), numbers, len(documents) - len(pairs)


@dataclass(frozen=True)
class AllPairs(Cooccurrence):
    """The mean over all pairs of words of a document, ``Q``, as an operator on the documents.

    Attributes
    ----------
    documents : ndarray of shape (n_words,)
        Number of documents that have the word, dropped ones left out.
    n_dropped : int
        Documents with no pair of words.
    n_words : float
        Words of all the other documents; infinite where rows are exact frequencies.
    """

    source: RowSource
    counting: Counting
    probabilities: Array
    documents: Index
    n_dropped: int
    n_words: float
    total: float
    selves: Array  # pairs of a word with itself to be taken away, as many as times it occurs

    @classmethod
    def of_source(cls, source: RowSource, counting: Counting) -> AllPairs:
        """Look at the documents once."""
        total, dropped, n_words, sums, documents, selves = source.reduce(partial(count_block, counting=counting))
        if not total > 0.0:
            least = "two words" if counting.unbiased else "one word"
            raise InputError(
                f"{{parameter}} has no document of at least {least} (n_features={source.shape[1]}): topics are in what "
                "occurs together",
                parameter="X",
                kind="empty",
            )
        n_words = n_words if counting.unbiased else np.inf
        p = np.maximum(sums - selves, 0.0) / total
        return cls(source, counting, p, documents, dropped, n_words, total, selves)

    def dot(self, M: Array) -> Array:
        """``Q M``, in one pass."""
        product = self.source.reduce(partial(dot_block, M=np.ascontiguousarray(M), counting=self.counting))
        return np.asarray((product - self.selves[:, None] * M) / self.total)

    def matrix(self) -> sp.csr_array:
        """``Q`` itself, as sparse as it is."""
        Q = sp.csr_array(self.source.reduce(partial(matrix_block, counting=self.counting)))
        diagonal = Q.diagonal()
        left = diagonal - self.selves
        left[left <= 1e-12 * diagonal] = 0.0  # the two sums differ by rounding
        Q = sp.csr_array(Q + sp.diags_array(left - diagonal))
        Q.eliminate_zeros()
        return sp.csr_array(Q / self.total)

    @property
    def n_documents(self) -> int:  # type: ignore[override]
        """See :class:`Cooccurrence`."""
        return self.source.shape[0] - self.n_dropped

    def _row_sums(self, chosen: npt.NDArray[np.bool_]) -> Array:
        if self.counting.weighting != "equal" or not self.counting.unbiased:
            raise InputError(
                "the error of co-occurrence is bounded where documents have the same say and rows are counts: use "
                "weighting='equal', unbiased=True",
                parameter="weighting",
            )
        if not self.source.reduce(_whole_block, combine=min):
            raise InputError(
                "the error of co-occurrence is bounded where rows are counts, and {parameter} has other numbers",
                parameter="X",
            )
        sums = self.source.reduce(partial(row_sums_block, chosen=chosen.astype(np.float64), counting=self.counting))
        return np.concatenate([sums[0][chosen], sums[1]])

    def _scale(self) -> float:
        lengths = np.asarray(self.source.map_rows(blocks.row_sums, width=None, dtype=np.float64))
        return float(1.0 / (lengths[lengths >= 2.0].min() // 2))


def _whole_block(block: Block) -> bool:
    x = blocks.values(block)
    return bool(np.all(x == np.floor(x)))
