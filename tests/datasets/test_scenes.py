"""Generated scenes have what they were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import make_scene
from partwise.exceptions import InputError
from partwise.metrics import spectral_angles

SMALL = {"n_samples": 400, "n_features": 60, "random_state": 0}


def angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(spectral_angles(a[None], b[None])[0])


def test_the_model_itself_by_default():
    scene = make_scene(**SMALL)
    shares = scene.weights
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(scene.X, scene.signal)
    assert scene.noise is None
    assert scene.components.min() > 0.0
    assert shares.max() > 0.99, "there are pure pixels"
    pairs = [angle(a, b) for i, a in enumerate(scene.components) for b in scene.components[:i]]
    assert min(pairs) > 8.0


def test_reproducible():
    np.testing.assert_array_equal(make_scene(**SMALL, snr=30).X, make_scene(**SMALL, snr=30).X)


@pytest.mark.parametrize("abundances", ["spatial", "dirichlet"])
def test_no_pixel_is_purer_than_asked(abundances: str):
    shares = make_scene(**SMALL, abundances=abundances, purity=0.7).weights
    assert shares.max() == pytest.approx(0.7)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_rare_materials():
    patches = make_scene(**SMALL, rare=0.05)
    assert (patches.labels == 0).mean() == pytest.approx(0.05, abs=1 / 400)
    shares = make_scene(n_samples=20_000, n_features=60, abundances="dirichlet", rare=0.05, random_state=0).weights
    assert shares[:, 0].mean() == pytest.approx(0.05, abs=0.01)  # about ten standard errors


def test_sizes_vary_and_shapes_do():
    sizes = make_scene(**SMALL, scale=0.2, illumination=0.3).weights.sum(axis=1)
    assert 0.56 <= sizes.min() < 0.8
    assert 1.2 < sizes.max() <= 1.56
    one = make_scene(**SMALL, shape=0.1)
    pure = one.X[one.weights.max(axis=1) > 0.999]
    owner = one.components[one.labels[one.weights.max(axis=1) > 0.999]]
    away = np.array([angle(x, h) for x, h in zip(pure, owner, strict=True)])
    assert 1.0 < np.median(away) < 10.0
    np.testing.assert_allclose(one.X, one.signal + one.noise)


def test_noise_is_as_large_as_asked():
    scene = make_scene(**SMALL, snr=20)
    clean = make_scene(**SMALL)
    np.testing.assert_array_equal(scene.components, clean.components)
    ratio = (clean.X**2).mean() / (scene.noise**2).mean()
    assert 10.0 * np.log10(ratio) == pytest.approx(20.0, abs=0.5)
    assert scene.X.min() >= 0.0


def test_dark_and_close():
    assert np.ptp(np.log(make_scene(**SMALL, dark=0.1).components.mean(axis=1))) > 1.5
    scene = make_scene(**SMALL, pair=4.0)
    assert angle(scene.components[0], scene.components[1]) == pytest.approx(4.0)


def test_outliers_are_so_many():
    scene = make_scene(**SMALL, outliers=0.1)
    odd = np.linalg.norm(scene.noise, axis=1) > 1e-9
    assert 0.05 < odd.mean() < 0.15


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"purity": 0.3}, "purity"),
        ({"scale": 1.5}, "scale"),
        ({"abundances": "soil"}, "abundances"),
        ({"min_angle": 89.0}, "min_angle"),
        ({"pair": 89.0}, "pair"),
        ({"n_components": 1}, "n_components"),
        ({"rare": -0.1}, "rare"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_settings_are_named(given: dict[str, object], name: str):
    with pytest.raises(InputError, match=name):
        make_scene(**(SMALL | given))
