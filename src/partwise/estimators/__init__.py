"""Thin scikit-learn classes over the algorithms."""

from partwise.estimators.classic import ANLS, HALS, MU

__all__ = ["ANLS", "HALS", "MU"]
