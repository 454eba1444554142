from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_catalogues
from partwise.datasets.catalogues import VARIANTS
from partwise.exceptions import InputError


@pytest.mark.parametrize("variant", VARIANTS)
def test_counts_of_known_signatures(variant: str) -> None:
    data = make_catalogues(8, 200, variant=variant, random_state=1)
    assert data.X.shape == (200, 96)
    assert not np.any(data.X % 1.0)
    np.testing.assert_allclose(data.components.sum(axis=1), 1.0)
    active = (data.weights > 0.0).sum(axis=1)
    assert active.min() >= 3
    assert ((data.weights > 0.0).sum(axis=0) >= 8).all()
    depth = data.X.sum(axis=1)
    # Poisson totals, five deviations; "noise" adds a tenth of each mean
    np.testing.assert_allclose(depth, data.weights.sum(axis=1), rtol=0.1, atol=5.0 * np.sqrt(depth.max()))
    assert (np.median(depth) < 1000.0) == (variant == "low")
    assert (active.mean() > 6.0) == (variant == "dense")
    if variant == "ubiquitous":
        assert (data.weights[:, :2] > 0.0).all()
    again = make_catalogues(8, 200, variant=variant, random_state=1)
    np.testing.assert_array_equal(again.X, data.X)


def test_extra_dispersion() -> None:
    data = make_catalogues(5, 400, variant="noise", random_state=0)
    means = data.signal
    large = means > 200.0
    excess = ((data.X - means) ** 2 - means)[large].mean() / (means[large] ** 2).mean()
    assert 0.007 < excess < 0.013  # one over the shape of the gamma law


def test_given_signatures_and_refusals() -> None:
    H = np.random.default_rng(0).random((4, 10))
    data = make_catalogues(components=H, n_samples=30, random_state=0)
    np.testing.assert_allclose(data.components, H / H.sum(axis=1, keepdims=True))
    with pytest.raises(InputError, match="at least 3 signatures"):
        make_catalogues(2, 30)
    with pytest.raises(InputError, match="non-negative"):
        make_catalogues(components=-H)
