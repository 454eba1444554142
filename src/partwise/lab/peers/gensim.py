"""gensim: topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise.lab.peers.base import Factors, peer


def _topics(model: Any, corpus: Any, k: int, n: int) -> Factors:
    W = np.zeros((n, k))
    for i, pairs in enumerate(model[corpus]):
        for topic, share in pairs:
            W[i, topic] = share
    return W, np.asarray(model.get_topics())


def nmf(X: Any, k: int, seed: int) -> Factors:
    """Online NMF, defaults, on tf-idf."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models.nmf import Nmf

    corpus = Sparse2Corpus(sp.csr_matrix(X), documents_columns=False)
    names = {i: str(i) for i in range(X.shape[1])}
    return _topics(Nmf(corpus, k, id2word=names, random_state=seed), corpus, k, X.shape[0])


def lda(X: Any, k: int, seed: int) -> Factors:
    """LDA, defaults, on counts."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = Sparse2Corpus(sp.csr_matrix(X), documents_columns=False)
    names = {i: str(i) for i in range(X.shape[1])}
    return _topics(LdaModel(corpus, k, id2word=names, random_state=seed), corpus, k, X.shape[0])


CONTENDERS = (
    peer("gensim-nmf", "gensim's Nmf, defaults, on tf-idf", nmf, needs="gensim", kinds=("texts",)),
    peer("gensim-lda", "gensim's LdaModel, defaults, on counts", lda, needs="gensim", kinds=("texts",), counts=True),
)
