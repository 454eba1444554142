"""Measures: recovery of known components, agreement with classes, coherence of topics, residuals."""

from partwise.metrics.clustering import clustering_accuracy, nmi
from partwise.metrics.coherence import topic_coherence
from partwise.metrics.recovery import (
    Match,
    match_components,
    spectral_angles,
    stability,
    total_correlation_error,
)
from partwise.metrics.residuals import l1_residual, relative_error

__all__ = [
    "Match",
    "clustering_accuracy",
    "l1_residual",
    "match_components",
    "nmi",
    "relative_error",
    "spectral_angles",
    "stability",
    "topic_coherence",
    "total_correlation_error",
]
