"""The engine of the alternating methods: a loss, penalties and a constraint for each factor, and two solvers.

``alternating.py`` is for losses that are quadratic in each factor and asks for Gram matrix and product
(``squared.py``); ``multiplicative.py`` is for all others and asks for both parts of the gradient (``divergence.py``).
Both see a factor as rows: those of ``W`` are samples, and those of ``H'`` are features.  What a method adds is how it
updates rows (``rows.py``).
"""

from partwise.algorithms.engine.alternating import alternate
from partwise.algorithms.engine.bounds import AtMostOne, Bounds
from partwise.algorithms.engine.constraints import Fixed, Free, NonNegative, Simplex
from partwise.algorithms.engine.divergence import Divergence
from partwise.algorithms.engine.factor import PLAIN, Factor
from partwise.algorithms.engine.multiplicative import multiply
from partwise.algorithms.engine.pair import Pair
from partwise.algorithms.engine.penalties import PENALTIES, ElasticNet, Penalty, Volume
from partwise.algorithms.engine.shapes import Sparse, Unimodal
from partwise.algorithms.engine.squared import squared_error
from partwise.sources.observed import COMPLETE, Observed

__all__ = [
    "COMPLETE",
    "PENALTIES",
    "PLAIN",
    "AtMostOne",
    "Bounds",
    "Divergence",
    "ElasticNet",
    "Factor",
    "Fixed",
    "Free",
    "NonNegative",
    "Observed",
    "Pair",
    "Penalty",
    "Simplex",
    "Sparse",
    "Unimodal",
    "Volume",
    "alternate",
    "multiply",
    "squared_error",
]
