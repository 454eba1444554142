"""Solvers with certificates."""

from partwise.linalg.ellipsoid import Ellipsoid, enclosing_ellipsoid
from partwise.linalg.inverse import InverseCertificate, left_inverse
from partwise.linalg.nnls import NNLSCertificate, nnls
from partwise.linalg.simplex import MixtureCertificate, mixture_weights
from partwise.linalg.svd import truncated_svd

__all__ = [
    "Ellipsoid",
    "InverseCertificate",
    "MixtureCertificate",
    "NNLSCertificate",
    "enclosing_ellipsoid",
    "left_inverse",
    "mixture_weights",
    "nnls",
    "truncated_svd",
]
