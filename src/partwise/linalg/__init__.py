"""Solvers with certificates."""

from partwise.linalg.nnls import NNLSCertificate, nnls

__all__ = ["NNLSCertificate", "nnls"]
