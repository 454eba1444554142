"""How sure to be of each part, and how far each could move."""

from __future__ import annotations

from partwise.belief.bands import Bands, feasible_bands
from partwise.belief.judging import Verdict, Verdicts, judge

__all__ = ["Bands", "Verdict", "Verdicts", "feasible_bands", "judge"]
