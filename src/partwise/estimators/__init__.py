"""Thin scikit-learn classes over the algorithms; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

HOMES = {
    "AND": "and_",
    "ANLS": "classic",
    "AnchorTopics": "topics",
    "Archetypes": "archetypes",
    "Bayes": "bayes",
    "ConservativeNMF": "conservative",
    "ConvexHull": "separable",
    "EllipsoidalSPA": "separable",
    "Facets": "facets",
    "HALS": "classic",
    "KMeans": "clustered",
    "Likelihood": "likelihood",
    "MU": "multiplicative",
    "MinVol": "minvol",
    "MiniBatchNMF": "minibatch",
    "Parts": "partwise.parts.estimator",  # above: it is made of all others and of what is believed of them
    "PreconditionedSPA": "separable",
    "Purification": "purification",
    "SPA": "separable",
    "SeparableLP": "separable",
    "TSVD": "clustered",
    "TSVDNMF": "tsvdnmf",
    "XRAY": "separable",
}

__all__ = [
    "AND",
    "ANLS",
    "HALS",
    "MU",
    "SPA",
    "TSVD",
    "TSVDNMF",
    "XRAY",
    "AnchorTopics",
    "Archetypes",
    "Bayes",
    "ConservativeNMF",
    "ConvexHull",
    "EllipsoidalSPA",
    "Facets",
    "KMeans",
    "Likelihood",
    "MinVol",
    "MiniBatchNMF",
    "Parts",
    "PreconditionedSPA",
    "Purification",
    "SeparableLP",
]

if TYPE_CHECKING:
    from partwise.estimators.and_ import AND
    from partwise.estimators.archetypes import Archetypes
    from partwise.estimators.bayes import Bayes
    from partwise.estimators.classic import ANLS, HALS
    from partwise.estimators.clustered import TSVD, KMeans
    from partwise.estimators.conservative import ConservativeNMF
    from partwise.estimators.facets import Facets
    from partwise.estimators.likelihood import Likelihood
    from partwise.estimators.minibatch import MiniBatchNMF
    from partwise.estimators.minvol import MinVol
    from partwise.estimators.multiplicative import MU
    from partwise.estimators.purification import Purification
    from partwise.estimators.separable import SPA, XRAY, ConvexHull, EllipsoidalSPA, PreconditionedSPA, SeparableLP
    from partwise.estimators.topics import AnchorTopics
    from partwise.estimators.tsvdnmf import TSVDNMF


def home_of(name: str) -> str:
    """The module of an estimator."""
    home = HOMES[name]
    return home if "." in home else f"{__name__}.{home}"


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(home_of(name)), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
