"""Solvers with certificates."""

from partwise.linalg.absolute import AbsoluteCertificate, least_absolute
from partwise.linalg.ellipsoid import Ellipsoid, enclosing_ellipsoid
from partwise.linalg.inverse import InverseCertificate, left_inverse
from partwise.linalg.nnls import NNLSCertificate, nnls
from partwise.linalg.poisson import PoissonCertificate, poisson_weights
from partwise.linalg.simplex import MixtureCertificate, mixture_weights
from partwise.linalg.svd import truncated_svd

__all__ = [
    "AbsoluteCertificate",
    "Ellipsoid",
    "InverseCertificate",
    "MixtureCertificate",
    "NNLSCertificate",
    "PoissonCertificate",
    "enclosing_ellipsoid",
    "least_absolute",
    "left_inverse",
    "mixture_weights",
    "nnls",
    "poisson_weights",
    "truncated_svd",
]
