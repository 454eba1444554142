"""All penalties: a new one is a class in a file of its own here, and a line below.

Its fields are the parameters of estimators, less the letter of the factor: ``l1`` is ``l1_W`` and ``l1_H``.
"""

from partwise.algorithms.engine.penalties.base import Penalty
from partwise.algorithms.engine.penalties.elastic_net import ElasticNet
from partwise.algorithms.engine.penalties.smooth import Smooth
from partwise.algorithms.engine.penalties.volume import Volume

PENALTIES: tuple[type[Penalty], ...] = (ElasticNet, Smooth, Volume)

__all__ = ["PENALTIES", "ElasticNet", "Penalty", "Smooth", "Volume"]
