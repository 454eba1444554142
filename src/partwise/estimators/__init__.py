"""Thin scikit-learn classes over the algorithms."""

from partwise.estimators.and_ import AND
from partwise.estimators.archetypes import Archetypes
from partwise.estimators.classic import ANLS, HALS
from partwise.estimators.clustered import TSVD, KMeans
from partwise.estimators.conservative import ConservativeNMF
from partwise.estimators.facets import Facets
from partwise.estimators.likelihood import Likelihood
from partwise.estimators.minvol import MinVol
from partwise.estimators.multiplicative import MU
from partwise.estimators.purification import Purification
from partwise.estimators.separable import SPA, XRAY, ConvexHull, EllipsoidalSPA, PreconditionedSPA, SeparableLP
from partwise.estimators.topics import AnchorTopics
from partwise.estimators.tsvdnmf import TSVDNMF

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
    "ConservativeNMF",
    "ConvexHull",
    "EllipsoidalSPA",
    "Facets",
    "KMeans",
    "Likelihood",
    "MinVol",
    "PreconditionedSPA",
    "Purification",
    "SeparableLP",
]
