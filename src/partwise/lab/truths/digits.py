"""Images of digits, several on top of each other."""

from __future__ import annotations

from functools import partial

from partwise import datasets
from partwise.lab.experiment import Problem, Size
from partwise.lab.truths.base import Truth

SHAPES = {"quick": (600, 10, 4), "full": (4000, 30, 8)}  # mixtures, images, images in a mixture
NOISE = 0.1  # of the size of a sample


def make(noise: float, size: Size, seed: int) -> Problem:
    """Mixtures, without and with noise; negative entries are set to 0."""
    n, k, several = SHAPES[size]
    mixture = datasets.make_digit_mixtures(n_samples=n, n_components=k, per_sample=several, random_state=seed)
    note = f"{several} of {k} images in a sample"
    if noise:
        mixture = datasets.add_gaussian_noise(mixture, noise, random_state=seed)
        return Problem(
            mixture.X.clip(min=0.0),
            k,
            truth=mixture.components,
            image_shape=mixture.image_shape,
            note=f"{n} x {mixture.X.shape[1]}, k = {k}, {note}, noise of {noise:g} of a sample",
        )
    return Problem.of(mixture, image_shape=mixture.image_shape, note=note)


TRUTHS = (
    Truth("digits", "images", partial(make, 0.0)),
    Truth("digits, noise", "images", partial(make, NOISE), "digits"),
)
