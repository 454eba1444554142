"""Likelihood: non-negative factors of counts by coordinate descent on the Poisson likelihood.

Hsieh & Dhillon (2011), "Fast coordinate descent methods with variable selection for non-negative matrix
factorization", section 4 (coordinate steps for the Kullback-Leibler divergence); Lin & Boutros (2020),
"Optimization and expansion of non-negative matrix factorization" (sequential steps on sparse counts); Ang & Gillis
(2019), "Accelerating NMF by extrapolation"; Lee & Seung (2001) (the multiplicative rounds at the beginning).
"""

from __future__ import annotations

from partwise.algorithms.engine.poisson import maximise as likelihood

__all__ = ["likelihood"]
