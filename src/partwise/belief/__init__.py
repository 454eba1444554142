"""How many parts there are, how sure to be of each, and how far each could move."""

from __future__ import annotations

from partwise.belief.bands import Bands, feasible_bands
from partwise.belief.consensus import Consensus, consensus
from partwise.belief.judging import Verdict, Verdicts, judge
from partwise.belief.rank import RankChoice, RankRow, choose_k
from partwise.belief.rank_halves import Halving

__all__ = [
    "Bands",
    "Consensus",
    "Halving",
    "RankChoice",
    "RankRow",
    "Verdict",
    "Verdicts",
    "choose_k",
    "consensus",
    "feasible_bands",
    "judge",
]
