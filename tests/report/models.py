"""Models with known components, and a small example whose numbers are computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

import partwise as pw

# Two parts of 1-norms 2 and 6; X = W H. Masses: 3 * 2 = 6 and 4 / 3 * 6 = 8; in sample 2 they are 2 and 6.
H = np.array([[0.0, 1.0, 1.0], [6.0, 0.0, 0.0]])
W = np.array([[0.0, 1 / 3], [2.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
X = W @ H


def with_components(components: Any) -> pw.SPA:
    """A fitted estimator with these components; its weights are least squares."""
    model = pw.SPA(len(components))
    model.components_ = np.asarray(components)
    model.n_components_, model.n_features_in_ = model.components_.shape
    return model


def mixtures(n: int, m: int, k: int, seed: int = 0, *, signed: bool = False) -> tuple[Any, Any]:
    """A model and data that it explains up to some noise."""
    rng = np.random.default_rng(seed)
    components = rng.random((k, m)) ** 4 - (0.3 if signed else 0.0)
    weights = rng.dirichlet(np.full(k, 0.3), size=n)
    return with_components(components), weights @ components + 0.01 * rng.random((n, m))
