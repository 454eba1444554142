"""Measures: recovery of known components, quantities of the theorems, agreement with classes, coherence, residuals."""

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
from partwise.metrics.theory import (
    CorrelationConditions,
    DecayOrder,
    Initialization,
    MomentConstants,
    NoiseTolerance,
    RecoveryMeasures,
    correlation_conditions,
    decay_order,
    initialization,
    moment_constants,
    noise_tolerance,
    recovery_measures,
)

__all__ = [
    "CorrelationConditions",
    "DecayOrder",
    "Initialization",
    "Match",
    "MomentConstants",
    "NoiseTolerance",
    "RecoveryMeasures",
    "clustering_accuracy",
    "correlation_conditions",
    "decay_order",
    "initialization",
    "l1_residual",
    "match_components",
    "moment_constants",
    "nmi",
    "noise_tolerance",
    "recovery_measures",
    "relative_error",
    "spectral_angles",
    "stability",
    "topic_coherence",
    "total_correlation_error",
]
