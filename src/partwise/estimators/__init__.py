"""Thin scikit-learn classes over the algorithms."""

from partwise.estimators.and_ import AND
from partwise.estimators.classic import ANLS, HALS, MU
from partwise.estimators.purification import Purification

__all__ = ["AND", "ANLS", "HALS", "MU", "Purification"]
