"""Topics by anchor words as a scikit-learn estimator."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from partwise.algorithms.cooccurrence import Cooccurrence
from partwise.algorithms.counting import Weighting
from partwise.algorithms.rectified import rectify
from partwise.algorithms.topics import (
    Projection,
    Search,
    explain_block,
    find_anchors,
    recover,
    refine,
    topic_moments,
    word_rows,
)
from partwise.estimators.base import Factorization
from partwise.exceptions import DegenerateDataWarning, InputError, warn_user
from partwise.linalg.simplex import KL_TOL, Loss
from partwise.sources import Inspection, RowSource

ENOUGH_DOCUMENTS, SMALL_CORPUS = 50, 20  # in which an anchor occurs, by default; in a small corpus one document in 20


class AnchorTopics(Factorization):
    r"""Topics of documents from anchor words, which one topic alone has: provable, and without a start.

    A document mixes topics, :math:`x \sim \mathrm{Multinomial}(w H)`. Two words of a document co-occur with
    probabilities :math:`Q = H^\top R H`, :math:`R = \mathrm E[w^\top w]`, of which counts give an unbiased estimate.
    The row of a word in Q, divided by its sum, is a mixture of the rows of anchor words by the probabilities of topics
    given that word; Bayes' rule gives p(word | topic) [1]_ [2]_. The steps: anchors among the words of enough
    documents, each word's mixture by RecoverL2 or RecoverKL, Bayes; then, which is ours, a few steps of expectation
    maximisation, since the words' own co-occurrence leaves an error of sampling that the documents can make good.

    Parameters
    ----------
    n_components : int, optional
        Number of topics, at most the smaller of the numbers of documents and words, which is the default.
    min_documents : int, optional
        Anchors are sought among words in at least so many documents: the rows of rare words are noise. By default 50,
        or one document in 20 if there are less than 1000.
    search : {"spa", "fast-anchor-words", "hull"}, default="spa"
        How anchors are found: by SPA; by FastAnchorWords [2]_, which is SPA and a second round, in which each anchor
        in turn gives way to the word farthest from the span of the others; or as Hsu's lecture and [1]_ do, by
        deleting every word whose row of Q is in the convex hull of the others, nearest first until there are
        `n_components`; a linear program for most words.
    recover : {"l2", "kl"}, default="l2"
        What a word's mixture minimises: the squared distance, or the Kullback-Leibler divergence, for which Q is made
        and which takes minutes for thousands of words and a hundred topics.
    projection : {"spectral", "random"} or None, default="spectral"
        What the rows of Q are multiplied by before they are compared: its leading eigenvectors, one for each topic,
        which lose most of the noise (ours); 1000 random directions, which [2]_ offers for the search alone; nothing.
        Q itself is never formed for the first two.
    weighting : {"length", "equal"}, default="length"
        The say of a document in Q. By its length: a long document tells more, and any weighting by length leaves the
        topics as they are. "equal" is the published estimate.
    unbiased : bool, default=True
        Rows are counts of words drawn: pairs of a word with itself are left out, and with them documents of less than
        two words. (Numbers that are not whole are allowed; the sum of a row is its length.) ``False``: rows are exact
        frequencies, at any scale.
    rectify : bool, default=False
        Look for topics in the nearest matrix that `n_components` of them could have made, of that rank and without
        negative eigenvalues [3]_. For few or short documents, whose co-occurrence is far from that; it makes Q, dense.
    refine : int, default=5
        Steps of expectation maximisation, each a pass over the documents; 0 as published. There are none where
        documents have fewer words than there are topics, on average: the likeliest weights of such a document are
        mostly zero, whatever its topics, and lead away from them.
    feature_names : array-like of str, optional
        The words, such as ``CountVectorizer.get_feature_names_out()``, where `X` does not bring names itself.
    random_state : int, Generator or RandomState, optional
        Seed of the projection.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The topics, p(word | topic): rows sum to one.
    anchors_ : ndarray of shape (n_components,)
        The anchor word of each topic, as a column number.
    topic_prior_ : ndarray of shape (n_components,)
        p(topic): the share of all words.
    topic_covariance_ : ndarray of shape (n_components, n_components)
        The topic-topic matrix R of second moments, by least squares from ``Q = H' R H``. Its entries are probabilities
        of two words of a document having these topics, up to sampling errors, with which small ones can be negative.
    word_probabilities_ : ndarray of shape (n_features,)
        p(word), as the topics have it.
    document_frequencies_ : ndarray of shape (n_features,)
        Number of documents that have the word; dropped ones do not count.
    n_dropped_ : int
        Documents without a pair of words.
    min_documents_ : int
        The number that was used.
    certificate_ : MixtureCertificate
        Duality gap of every word's mixture of anchors.
    reconstruction_error_ : float
        ``|X - W H| / |X|``; word counts scatter about their expectation, so it is near 1 for short documents.
    n_components_ : int
        Number of topics: fewer than asked for where no more anchors can be told apart.
    n_features_in_ : int
        Number of words.

    Notes
    -----
    [2]_ as published is ``search="fast-anchor-words", projection=None, weighting="equal", refine=0``. Its authors solve
    RecoverL2 by exponentiated gradient until a duality gap is small; the optimum is the same, and exact here.

    `transform` gives the likeliest weights of each document, exactly. They sum to the number of its words (those that
    some topic has), so ``W @ components_`` are expected counts; divide by the sum for proportions.

    References
    ----------
    .. [1] S. Arora, R. Ge, A. Moitra, "Learning topic models - going beyond SVD", FOCS 2012.
    .. [2] S. Arora, R. Ge, Y. Halpern, D. Mimno, A. Moitra, D. Sontag, Y. Wu, M. Zhu, "A practical algorithm for topic
       modeling with provable guarantees", ICML 2013.
    .. [3] M. Lee, D. Bindel, D. Mimno, "Robust spectral inference for joint stochastic matrix factorization", NIPS
       2015.

    Examples
    --------
    >>> import partwise as pw
    >>> texts = ["cat dog", "dog cat cat", "sun moon", "moon sun sun", "dog cat", "moon sun"] * 5
    >>> data = pw.datasets.read_texts(texts, stop_words=None)
    >>> model = pw.AnchorTopics(2, feature_names=data.feature_names, random_state=0).fit(data.X)
    >>> sorted(sorted(words) for words in model.top_words(2))
    [['cat', 'dog'], ['moon', 'sun']]
    """

    _weighable: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Factorization._parameter_constraints,
        "min_documents": [Interval(Integral, 1, None, closed="left"), None],
        "search": [StrOptions({"spa", "fast-anchor-words", "hull"})],
        "recover": [StrOptions({"l2", "kl"})],
        "projection": [StrOptions({"spectral", "random"}), None],
        "weighting": [StrOptions({"length", "equal"})],
        "unbiased": ["boolean"],
        "rectify": ["boolean"],
        "refine": [Interval(Integral, 0, None, closed="left")],
        "feature_names": ["array-like", None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        min_documents: int | None = None,
        search: Search = "spa",
        recover: Loss = "l2",
        projection: Projection | None = "spectral",
        weighting: Weighting = "length",
        unbiased: bool = True,
        rectify: bool = False,
        refine: int = 5,
        feature_names: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.min_documents = min_documents
        self.search = search
        self.recover = recover
        self.projection = projection
        self.weighting = weighting
        self.unbiased = unbiased
        self.rectify = rectify
        self.refine = refine
        self.feature_names = feature_names
        self.random_state = random_state

    def top_words(self, n_words: int = 10, *, relevance: float = 0.4) -> list[list[Any]]:
        """The words that say what each topic is about.

        Parameters
        ----------
        n_words : int, default=10
            How many of each topic.
        relevance : float, default=0.4
            Words are ranked by ``relevance * log p(word | topic) + (1 - relevance) * log(p(word | topic) / p(word))``
            [1]_: at 1 the most frequent words of the topic, some of which every topic has; towards 0 its own, some of
            which are rare.

        Returns
        -------
        list of lists of str or int
            Names where they are known (`feature_names`, or those of the data frame in `fit`), else column numbers.
            Words that the topic does not have are left out.

        References
        ----------
        .. [1] C. Sievert, K. Shirley, "LDAvis: a method for visualizing and interpreting topics", ILLVI 2014.
        """
        check_is_fitted(self)
        if not isinstance(n_words, Integral) or isinstance(n_words, bool) or n_words < 1:
            raise InputError(f"n_words={n_words!r} cannot be used: give an integer of at least 1", parameter="n_words")
        if not isinstance(relevance, Real) or not 0.0 <= relevance <= 1.0:
            raise InputError(
                f"relevance={relevance!r} cannot be used: give a number from 0 to 1", parameter="relevance"
            )
        names = self._names()
        H, p = np.asarray(self.components_, np.float64), self.word_probabilities_
        score = np.where(H > 0.0, np.log(np.where(H > 0.0, H, 1.0)), -np.inf)
        score -= (1.0 - float(relevance)) * np.log(np.where(p > 0.0, p, 1.0))
        order = np.argsort(-score, axis=1, kind="stable")[:, :n_words]
        return [[names[j] for j in row if H[t, j] > 0.0] for t, row in enumerate(order)]

    def _names(self) -> Any:
        if self.feature_names is not None:
            return list(map(str, self.feature_names))
        return self.__dict__.get("feature_names_in_", range(self.n_features_in_))

    @property
    def _of_counts(self) -> bool:
        return True

    def _find(
        self, source: RowSource, k: int, seen: Inspection, rng: np.random.Generator, truth: Any, state: Any
    ) -> npt.NDArray[Any]:
        if self.feature_names is not None and len(self.feature_names) != source.shape[1]:
            raise InputError(
                f"{{parameter}} has {len(self.feature_names)} names for the {source.shape[1]} columns of the data",
                parameter="feature_names",
                kind="shape",
            )
        pairs = Cooccurrence.of(source, weighting=self.weighting, unbiased=self.unbiased)
        Q = rectify(pairs, k) if self.rectify else pairs
        kept = source.shape[0] - Q.n_dropped
        least = self.min_documents or min(ENOUGH_DOCUMENTS, max(1, kept // SMALL_CORPUS))
        rows = word_rows(Q, k, self.projection, rng)
        whole = rows if self.projection is None or self.search != "hull" else word_rows(Q, k, None, rng)
        anchors = self._anchors(whole, k, (Q.documents >= least) & (Q.probabilities > 0.0), int(least))
        if self.recover == "kl" and self.projection is not None:
            rows = word_rows(Q, k, None, rng)
        H, prior, certificate = recover(Q, rows, anchors, self.recover)
        steps = self.refine if Q.n_words >= k * kept else 0
        H, prior = refine(source, H, prior, Q.probabilities, steps)
        self.anchors_, self.certificate_, self.n_dropped_ = anchors, certificate, Q.n_dropped
        self.min_documents_, self.document_frequencies_ = int(least), Q.documents
        self.topic_prior_, self.topic_covariance_ = prior, topic_moments(Q, H)
        self.word_probabilities_ = prior @ H
        return H.astype(source.dtype, copy=False)

    def _anchors(self, rows: RowSource, k: int, candidates: npt.NDArray[np.bool_], least: int) -> npt.NDArray[np.int64]:
        if candidates.sum() < k:
            raise InputError(
                f"only {candidates.sum()} words occur in at least min_documents={least} documents, too few for {k} "
                "topics: lower one of the two",
                parameter="min_documents",
                kind="too-many-components",
            )
        anchors = find_anchors(rows, k, candidates, self.search)
        if len(anchors) < k:
            warn_user(
                DegenerateDataWarning(
                    f"only {len(anchors)} of {k} anchors could be told apart; there are so many topics", kind="rank"
                )
            )
        return anchors

    def _decoder(self, dtype: Any) -> Any:
        return partial(_decode_block, Ht=np.ascontiguousarray(self.components_.T, np.float64))


def _decode_block(block: Any, Ht: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    return explain_block(block, Ht, KL_TOL).astype(block.dtype, copy=False)
