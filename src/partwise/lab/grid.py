"""Every method from a cold start on every generator and noise level: who recovers what, without being told anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from partwise import datasets
from partwise.datasets.mixture import Mixture
from partwise.lab import figures
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Size

# samples, features, components; the sizes are our own, nothing is published
SHAPES: dict[str, tuple[int, int, int]] = {"tiny": (150, 30, 3), "quick": (600, 100, 8), "full": (5000, 400, 30)}
NOISES = (0.0, 0.01, 0.1)  # of the size of a sample
PIXELS = {"quick": 2000, "full": 10_000}
SIGNATURES = {"quick": 8, "full": 20}

Make = Callable[..., Mixture]


def _images(*, n_samples: int, n_components: int, n_features: int, random_state: Any) -> Mixture:
    # images have as many pixels as they have
    return datasets.make_digit_mixtures(
        n_samples=n_samples, n_components=n_components, per_sample=min(4, n_components), random_state=random_state
    )


GENERATORS: dict[str, Make] = {
    "DIR": partial(datasets.make_topics, "dir"),
    "CTM": partial(datasets.make_topics, "ctm"),
    "CTM, correlated": partial(datasets.make_topics, "ctm", covariance=0.5, scale=4.0),
    "CTM, parts without zeros": partial(datasets.make_topics, "ctm", covariance=0.5, scale=4.0, feature_kind="dense"),
    "NEG": partial(datasets.make_topics, "neg"),
    "separable features": partial(datasets.make_separable, axis="features"),
    "separable samples": partial(datasets.make_separable, axis="samples"),
    "dominant": datasets.make_dominant,
    "binary": datasets.make_binary_mixtures,
    "digits": _images,
}


def _generated(name: str, noise: float, size: Size, seed: int) -> Problem:
    n, m, k = SHAPES[size]
    mixture = GENERATORS[name](n_samples=n, n_features=m, n_components=k, random_state=seed)
    if noise:
        mixture = datasets.add_gaussian_noise(mixture, noise, random_state=seed)
    return Problem.of(mixture, note=f"Gaussian noise of {noise:g} of a sample's size" if noise else "no noise")


def _jasper(size: Size, seed: int) -> Problem:
    scene = datasets.load_jasper_ridge()
    rows = np.sort(np.random.default_rng(seed).choice(len(scene.X), PIXELS[size], replace=False))
    assert scene.components is not None
    note = f"{len(rows)} of 10,000 pixels, 198 bands, k = 4: a real scene with reference spectra"
    return Problem(scene.X[rows], 4, truth=scene.components, note=note)


def _signatures(size: Size, seed: int) -> Problem:
    """Catalogues of mutations: Poisson counts of a few signatures each."""
    rng = np.random.default_rng(seed)
    known = datasets.load_cosmic().components
    assert known is not None
    k, n, _ = SIGNATURES[size], *SHAPES[size][:2]
    H = known[rng.choice(len(known), k, replace=False)]
    W = rng.gamma(1.0, 1000.0, size=(n, k)) * (rng.random((n, k)) < 3.0 / k)
    W[np.arange(n), rng.integers(k, size=n)] += 500.0
    mixture = Mixture(rng.poisson(W @ H).astype(float), H, W)
    return Problem.of(mixture, note="COSMIC signatures, Poisson counts")


def _cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("DIR", partial(_generated, "DIR", 0.0, size))]
    made = [
        Case(f"{name}, noise {noise:g}" if noise else name, partial(_generated, name, noise, size), {"noise": noise})
        for name in GENERATORS
        for noise in NOISES
    ]
    real = [Case("Jasper Ridge", partial(_jasper, size)), Case("signatures", partial(_signatures, size))]
    return [*made, *real]


GRID = Experiment(
    name="cold-start-grid",
    title="Who recovers what from a cold start",
    document="This library",
    about="Every method with its defaults and no start given, on every generator without and with noise, on a "
    "real hyperspectral scene and on simulated catalogues of mutational signatures. The error of a part "
    "is its distance from the matched one, up to scale, relative to its size: 0 is exact, 1 is nothing "
    "alike. Methods that need non-negative data get it with negative entries set to zero. A fit has a limit of "
    "processor time, 10 s at full size and 0.8 s in a quick run, which multiplicative updates reach most often.",
    cases=_cases,
    methods=(
        "facets",
        "facets-nonnegative",
        "purification-cold",
        "tsvdnmf",
        "hals-cold",
        "anls-cold",
        "mu-cold",
        "sklearn-nmf",
        "spa-samples",
        "pw-spa-samples",
        "xray-samples",
        "pw-spa-features-refit",
    ),
    measures=("angle", "part_error"),
    budget={"quick": 0.8, "full": 10.0},
    timed=True,
    figures=(
        Figure(
            "Mean relative error of the parts: dark is good, the best of each row has a frame",
            figures.heat("part_error"),
        ),
    ),
)

EXPERIMENTS = (GRID,)
