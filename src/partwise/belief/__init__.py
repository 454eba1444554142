"""How many parts there are, how sure to be of each, and how far each could move."""

from __future__ import annotations

from partwise.belief.bands import Bands, feasible_bands
from partwise.belief.judging import Verdict, Verdicts, judge
from partwise.belief.rank import RankChoice, RankRow, choose_k
from partwise.belief.rank_halves import Halving

__all__ = [
    "Bands",
    "Halving",
    "RankChoice",
    "RankRow",
    "Verdict",
    "Verdicts",
    "choose_k",
    "feasible_bands",
    "judge",
]
