"""scikit-learn: coordinate descent, Kullback-Leibler by multiplicative updates, and clusters."""

from __future__ import annotations

from typing import Any

from partwise.lab.peers.base import Factors, peer


def frobenius(X: Any, k: int, seed: int) -> Factors:
    """NMF as it comes."""
    from sklearn.decomposition import NMF

    model = NMF(k, random_state=seed)
    return model.fit_transform(X), model.components_


def kullback_leibler(X: Any, k: int, seed: int) -> Factors:
    """NMF with the divergence of counts; the solver that can do it, and a start without zeros, which it needs."""
    from sklearn.decomposition import NMF

    model = NMF(k, beta_loss="kullback-leibler", solver="mu", init="nndsvda", random_state=seed)
    return model.fit_transform(X), model.components_


def lda(X: Any, k: int, seed: int) -> Factors:
    """LDA as it comes, online variational Bayes on counts."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(k, random_state=seed)
    return model.fit_transform(X), model.components_


CONTENDERS = (
    peer("sklearn-frobenius", "scikit-learn's NMF, defaults", frobenius, needs="sklearn"),
    peer(
        "sklearn-kl",
        "scikit-learn's NMF, Kullback-Leibler, otherwise defaults",
        kullback_leibler,
        needs="sklearn",
    ),
    peer("sklearn-lda", "scikit-learn's LDA, defaults, on counts", lda, needs="sklearn", kinds=("texts",), counts=True),
)
