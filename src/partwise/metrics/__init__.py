"""Measures: recovery of known components, quantities of the theorems, agreement with classes, coherence, residuals."""

from partwise.metrics.association import association
from partwise.metrics.clustering import clustering_accuracy, nmi
from partwise.metrics.coherence import topic_coherence
from partwise.metrics.conditions.constants import DominantConstants, Identifiability, identifiability
from partwise.metrics.conditions.correlation import CorrelationConditions, correlation_conditions
from partwise.metrics.conditions.decay import DecayOrder, decay_order
from partwise.metrics.conditions.descent import (
    DecodingErrors,
    decoding_errors,
    decoding_threshold,
    noise_error_bound,
    spectral_error,
    update_bound,
)
from partwise.metrics.conditions.dominant import DominantConditions, dominant_conditions
from partwise.metrics.conditions.features import DominantFeatures, dominant_features
from partwise.metrics.conditions.independence import Independence, independence
from partwise.metrics.conditions.induction import Induction, ProofMeasures, induction
from partwise.metrics.conditions.levels import NoiseLevels, heavy_noise_levels
from partwise.metrics.conditions.moments import MomentConstants, moment_constants
from partwise.metrics.conditions.noise import HeavyNoise, heavy_noise
from partwise.metrics.conditions.normalization import normalize_factors
from partwise.metrics.conditions.records import RecordSets, dominant_weights, pure_records
from partwise.metrics.conditions.start import Initialization, RecoveryMeasures, initialization, recovery_measures
from partwise.metrics.conditions.tolerance import NoiseTolerance, noise_tolerance
from partwise.metrics.conditions.uniqueness import Uniqueness, uniqueness
from partwise.metrics.conditions.update import LemmaConstants, decoding_parts, lemma_constants, update_parts
from partwise.metrics.modes import DipTest, dip_test
from partwise.metrics.recovery import (
    Match,
    component_stability,
    match_components,
    spectral_angles,
    stability,
    total_correlation_error,
)
from partwise.metrics.residuals import l1_residual, relative_error
from partwise.metrics.scattering import Scattering, scattering
from partwise.metrics.specificity import relevance, specificity

__all__ = [
    "CorrelationConditions",
    "DecayOrder",
    "DecodingErrors",
    "DipTest",
    "DominantConditions",
    "DominantConstants",
    "DominantFeatures",
    "HeavyNoise",
    "Identifiability",
    "Independence",
    "Induction",
    "Initialization",
    "LemmaConstants",
    "Match",
    "MomentConstants",
    "NoiseLevels",
    "NoiseTolerance",
    "ProofMeasures",
    "RecordSets",
    "RecoveryMeasures",
    "Scattering",
    "Uniqueness",
    "association",
    "clustering_accuracy",
    "component_stability",
    "correlation_conditions",
    "decay_order",
    "decoding_errors",
    "decoding_parts",
    "decoding_threshold",
    "dip_test",
    "dominant_conditions",
    "dominant_features",
    "dominant_weights",
    "heavy_noise",
    "heavy_noise_levels",
    "identifiability",
    "independence",
    "induction",
    "initialization",
    "l1_residual",
    "lemma_constants",
    "match_components",
    "moment_constants",
    "nmi",
    "noise_error_bound",
    "noise_tolerance",
    "normalize_factors",
    "pure_records",
    "recovery_measures",
    "relative_error",
    "relevance",
    "scattering",
    "specificity",
    "spectral_angles",
    "spectral_error",
    "stability",
    "topic_coherence",
    "total_correlation_error",
    "uniqueness",
    "update_bound",
    "update_parts",
]
