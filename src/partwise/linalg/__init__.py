"""Solvers with certificates."""

from partwise.linalg.nnls import NNLSCertificate, nnls
from partwise.linalg.svd import truncated_svd

__all__ = ["NNLSCertificate", "nnls", "truncated_svd"]
