"""Bags of visual words."""

from __future__ import annotations

import numpy as np
import pytest

from partwise.datasets import count_visual_words
from partwise.datasets.visual import _descriptors
from partwise.exceptions import InputError

IMAGES = np.random.default_rng(0).random((6, 20, 24))


def test_every_patch_is_a_word():
    counts = count_visual_words(IMAGES, n_words=12, cell=3, step=2, random_state=0)
    assert counts.shape == (6, 12)
    assert counts.sum(axis=1).tolist() == [5 * 7] * 6


def test_a_descriptor_is_the_histogram_of_its_gradients():
    image = IMAGES[0]
    found = _descriptors(IMAGES, 3, 2)[0, 8]  # second row of patches, second in it
    dy, dx = np.gradient(image)
    expected = np.zeros((4, 4, 8))
    for i in range(12):
        for j in range(12):
            y, x = 2 + i, 2 + j
            angle = (np.arctan2(dy[y, x], dx[y, x]) % (2 * np.pi)) / (2 * np.pi) * 8
            low = int(angle)
            length = np.hypot(dx[y, x], dy[y, x])
            expected[i // 3, j // 3, low % 8] += length * (1 - (angle - low))
            expected[i // 3, j // 3, (low + 1) % 8] += length * (angle - low)
    expected = np.minimum(expected.ravel() / np.linalg.norm(expected), 0.2)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), rtol=1e-10, atol=1e-12)


def test_brightness_and_contrast_do_not_matter():
    plain = count_visual_words(IMAGES, n_words=8, random_state=0)
    other = count_visual_words(3.0 * IMAGES + 7.0, n_words=8, random_state=0)
    assert (plain != other).nnz == 0


@pytest.mark.parametrize(
    ("images", "params", "message"),
    [
        (IMAGES[0], {}, "images must have shape"),
        (IMAGES, {"cell": 6}, "patches of 24 pixels"),
        (IMAGES, {"n_words": 4096}, "more than the 210 patches"),
    ],
    ids=["one-image", "large-cell", "many-words"],
)
def test_what_cannot_be(images, params, message):
    with pytest.raises(InputError, match=message):
        count_visual_words(images, **params)
