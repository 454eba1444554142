"""Scenes as a spectrometer sees them: smooth spectra, mixed in pixels, that vary from pixel to pixel."""

from __future__ import annotations

import numpy as np

from partwise.datasets.checks import RandomState, as_generator, check_choice, check_integer, check_real, check_share
from partwise.datasets.mixture import Mixture
from partwise.exceptions import InputError

__all__ = ["make_scene"]

TRIES = 500  # spectra that are drawn, at most, for one that is far enough from the others
MODES = (1.0, 0.5, 0.25)  # sizes of the ways in which a spectrum changes, relative to `shape`
LARGEST = 1.0  # of the logarithm of a change: a factor of e
BLOB = 14.0  # a side of the scene is so many times as long as its patches are wide
STEEP, UNEVEN = 4.0, 0.7  # of the fields that abundances are softmaxes of: how pure patches are, how unequal in size
STRANGE = (1.0, 0.5)  # sizes of the two spectra that outliers are mixed with


def make_scene(
    *,
    n_samples: int = 4000,
    n_features: int = 150,
    n_components: int = 4,
    abundances: str = "spatial",
    concentration: float = 0.3,
    purity: float = 1.0,
    rare: float | None = None,
    scale: float = 0.0,
    shape: float = 0.0,
    illumination: float = 0.0,
    snr: float | None = None,
    outliers: float = 0.0,
    dark: float | None = None,
    pair: float | None = None,
    min_angle: float = 8.0,
    random_state: RandomState = None,
) -> Mixture:
    """Make a scene: smooth spectra with absorption bands, mixed in pixels, each a little different in every pixel.

    The defaults are the linear mixing model itself, without noise. Spectral variability [1]_ is what real scenes have
    beyond it: `scale`, `illumination` and `shape`.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Number of pixels, bands and materials.
    abundances : {"spatial", "dirichlet"}, default="spatial"
        Patches with soft borders in a square, pixels in row-major order; or every pixel for itself.
    concentration : float, default=0.3
        Of the Dirichlet distribution.
    purity : float, default=1.0
        No material has a larger share in a pixel; at least 0.5.
    rare : float, optional
        The first material is the largest share of so many pixels (spatial), or so large a share of all (Dirichlet).
    scale : float, default=0.0
        The size of a material in a pixel is uniform on 1 - scale to 1 + scale.
    shape : float, default=0.0
        Standard deviation of the logarithm of a smooth change of a material's spectrum in a pixel.
    illumination : float, default=0.0
        The size of a pixel is uniform on 1 - illumination to 1 + illumination.
    snr : float, optional
        White noise of so many decibels; no noise by default. With noise, negative entries are set to 0.
    outliers : float, default=0.0
        Share of the pixels that are mixed with one of two strange spectra.
    dark : float, optional
        What one of the materials, at random, is multiplied by.
    pair : float, optional
        The second material is moved to so many degrees from the first.
    min_angle : float, default=8.0
        Degrees between any two materials, at least, before `pair`.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    Mixture
        ``weights`` are shares times sizes, ``noise`` is all that is not in ``weights @ components``, and ``labels``
        the material of the largest share. Compare components by angle (`partwise.metrics.spectral_angles`).

    References
    ----------
    .. [1] R. Borsoi et al., "Spectral variability in hyperspectral data unmixing: a comprehensive review", IEEE
       Geoscience and Remote Sensing Magazine 9(4), 2021.

    Examples
    --------
    >>> from partwise.datasets import make_scene
    >>> scene = make_scene(n_samples=400, n_features=50, scale=0.3, shape=0.05, snr=35, random_state=0)
    >>> scene
    Mixture(n_samples=400, n_features=50, n_components=4, noisy)
    >>> bool(scene.X.min() >= 0), sorted(set(scene.labels.tolist()))
    (True, [0, 1, 2, 3])
    """
    n, m = check_integer("n_samples", n_samples), check_integer("n_features", n_features, 8)
    k = check_integer("n_components", n_components, 2, m)
    check_choice("abundances", abundances, ("spatial", "dirichlet"))
    concentration = check_real("concentration", concentration, strict=True)
    scale, illumination, outliers = (
        check_share(name, value)
        for name, value in (("scale", scale), ("illumination", illumination), ("outliers", outliers))
    )
    shape, purity = check_real("shape", shape), check_share("purity", purity)
    if purity < 0.5:
        raise InputError(f"purity={purity!r} cannot be used: give a number between 0.5 and 1.", parameter="purity")
    rng = as_generator(random_state)
    H = _library(rng, k, m, check_real("min_angle", min_angle))
    if pair is not None:
        H[1] = _turned(H[0], H[1], check_real("pair", pair, strict=True))
    if dark is not None:
        H[rng.integers(k)] *= check_real("dark", dark, strict=True)
    few = None if rare is None else check_share("rare", rare)
    A = _patches(rng, n, k, few) if abundances == "spatial" else _independent(rng, n, k, concentration, few)
    A = _mixed(rng, A, purity)
    W = A * rng.uniform(1.0 - scale, 1.0 + scale, A.shape) * rng.uniform(1.0 - illumination, 1.0 + illumination, (n, 1))
    X = W @ H
    if shape:
        X += _changes(rng, W, H, shape)
    odd = rng.random(n) < outliers
    if odd.any():
        share, which = rng.random((odd.sum(), 1)), rng.integers(2, size=odd.sum())
        X[odd] = (1.0 - share) * X[odd] + share * (_library(rng, 2, m, min_angle) * np.array(STRANGE)[:, None])[which]
    if snr is not None:
        size = np.sqrt((X**2).mean() / 10.0 ** (check_real("snr", snr, -np.inf) / 10.0))
        X = np.maximum(X + size * rng.standard_normal(X.shape), 0.0)
    exact = not shape and snr is None and not odd.any()
    return Mixture(X, H, W, noise=None if exact else X - W @ H, labels=A.argmax(axis=1))


def _smooth(rng: np.random.Generator, m: int, width: float, size: int = 1) -> np.ndarray:
    """Gaussian curves of unit variance that change over so many bands; cut out of longer ones, which have no ends."""
    from scipy.ndimage import gaussian_filter1d  # a tenth of a second that no command needs

    end = 4 * int(width) + 4
    curves = gaussian_filter1d(rng.standard_normal((size, m + 2 * end)), width, axis=1)[:, end : end + m]
    return np.asarray(curves / np.maximum(curves.std(axis=1, keepdims=True), np.finfo(float).tiny))


def _library(rng: np.random.Generator, k: int, m: int, apart: float) -> np.ndarray:
    """Positive spectra: broad shapes with a few absorption bands, any two of them so many degrees apart."""
    found: list[np.ndarray] = []
    bands = np.arange(m)
    for _ in range(TRIES * k):
        s = np.exp(0.55 * _smooth(rng, m, m / 8)[0] + 0.25 * _smooth(rng, m, m / 20)[0])
        for _ in range(rng.integers(1, 5)):
            centre, width, depth = rng.uniform(0.0, m), m * rng.uniform(0.01, 0.06), rng.uniform(0.1, 0.6)
            s *= 1.0 - depth * np.exp(-0.5 * ((bands - centre) / width) ** 2)
        s *= rng.uniform(0.6, 1.4) / s.mean()
        if all(_degrees(s, other) > apart for other in found):
            found.append(s)
        if len(found) == k:
            return np.array(found)
    raise InputError(
        f"min_angle={apart:g}: no {k} smooth spectra are so far apart; give less, or fewer components.",
        parameter="min_angle",
    )


def _degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1.0, 1.0))))


def _turned(a: np.ndarray, b: np.ndarray, degrees: float) -> np.ndarray:
    """The vector as long as b that is so many degrees from a, towards b; spectra stay positive."""
    u = a / np.linalg.norm(a)
    v = b - (u @ b) * u
    turned = np.cos(np.radians(degrees)) * u + np.sin(np.radians(degrees)) * v / np.linalg.norm(v)
    if turned.min() < 0.0:
        raise InputError(f"pair={degrees:g} makes a spectrum negative: give fewer degrees.", parameter="pair")
    return np.asarray(turned * np.linalg.norm(b))


def _patches(rng: np.random.Generator, n: int, k: int, rare: float | None) -> np.ndarray:
    """Softmax of smooth random fields."""
    side = int(np.ceil(np.sqrt(n)))
    from scipy.ndimage import gaussian_filter

    fields = np.stack([gaussian_filter(rng.standard_normal((side, side)), side / BLOB, mode="wrap") for _ in range(k)])
    F = (fields / fields.std(axis=(1, 2), keepdims=True)).reshape(k, -1).T[:n] * STEEP + rng.normal(0.0, UNEVEN, k)
    if rare is not None:
        others = F[:, 1:].max(axis=1)
        F[:, 0] += np.quantile(others - F[:, 0], rare)  # of so many pixels it becomes the largest
    E = np.exp(F - F.max(axis=1, keepdims=True))
    return np.asarray(E / E.sum(axis=1, keepdims=True))


def _independent(rng: np.random.Generator, n: int, k: int, concentration: float, rare: float | None) -> np.ndarray:
    alpha = np.full(k, concentration)
    if rare is not None:
        alpha[0] = rare / max(1.0 - rare, np.finfo(float).eps) * alpha[1:].sum()
    return rng.dirichlet(alpha, n)


def _mixed(rng: np.random.Generator, A: np.ndarray, purity: float) -> np.ndarray:
    """The largest share of a pixel is given to the others, at random, until it is no larger than it may be."""
    n, k = A.shape
    largest = A.argmax(axis=1)
    others = rng.dirichlet(np.ones(k), n)
    others[np.arange(n), largest] = 0.0
    others /= np.maximum(others.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    top = A.max(axis=1, keepdims=True)
    moved = np.maximum(top - purity, 0.0) / top
    return np.asarray((1.0 - moved) * A + moved * others)


def _changes(rng: np.random.Generator, W: np.ndarray, H: np.ndarray, shape: float) -> np.ndarray:
    """What smooth relative changes of the spectra, with amplitudes of their own in every pixel, add to the pixels."""
    added = np.zeros((len(W), H.shape[1]))
    for weight, spectrum in zip(W.T, H, strict=True):
        modes = _smooth(rng, len(spectrum), len(spectrum) / 8, len(MODES))
        amounts = rng.standard_normal((len(W), len(MODES))) * shape * np.array(MODES)
        added += weight[:, None] * spectrum * np.expm1(np.clip(amounts @ modes, -LARGEST, LARGEST))
    return added
