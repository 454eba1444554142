"""Images as bags of visual words: what the TSVDNMF paper made of the Yale faces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from partwise.datasets.checks import RandomState, as_generator, check_integer
from partwise.exceptions import InputError

__all__ = ["count_visual_words"]

ORIENTATIONS, CELLS = 8, 4  # Lowe's: 4 x 4 cells of 8 orientations are the 128 numbers of SIFT
LARGEST = 0.2  # Lowe's bound on an entry of a descriptor, against glare


def count_visual_words(
    images: Any, *, n_words: int = 4096, cell: int = 3, step: int = 2, random_state: RandomState = None
) -> csr_array:
    """Count visual words: local histograms of gradients, quantised by k-means.

    A descriptor is that of SIFT [1]_ on a regular grid, without the search for interest points: 4 x 4 cells with
    histograms of 8 orientations, weighted by the length of the gradient, of unit length, bounded and of unit length
    again. All descriptors of all images are clustered, and an image is how often each cluster occurs in it.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width)
        Grey images.
    n_words : int, default=4096
        Size of the vocabulary.
    cell : int, default=3
        Side of a cell in pixels; a patch has four times this side.
    step : int, default=2
        Distance of neighbouring patches in pixels.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        Makes the result reproducible.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_images, n_words)
        Counts; each row sums to the number of patches.

    References
    ----------
    .. [1] D. Lowe, "Distinctive image features from scale-invariant keypoints", IJCV 60, 2004, Section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.datasets import count_visual_words
    >>> images = np.random.default_rng(0).random((5, 20, 20))
    >>> counts = count_visual_words(images, n_words=10, random_state=0)
    >>> counts.shape, counts.sum(axis=1).tolist()
    ((5, 10), [25, 25, 25, 25, 25])
    """
    from sklearn.cluster import MiniBatchKMeans  # slow to import

    images = np.asarray(images, np.float64)
    n_words, cell, step = check_integer("n_words", n_words), check_integer("cell", cell), check_integer("step", step)
    if images.ndim != 3:
        raise InputError(
            f"images must have shape (n_images, height, width), got {images.shape}: reshape them.", parameter="images"
        )
    if min(images.shape[1:]) < CELLS * cell:
        raise InputError(
            f"cell={cell} makes patches of {CELLS * cell} pixels, images have {images.shape[1:]}: give less.",
            parameter="cell",
        )
    D = _descriptors(images, cell, step)
    n, p, width = D.shape
    if n * p < n_words:
        raise InputError(
            f"n_words={n_words} is more than the {n * p} patches of all images: give less.", parameter="n_words"
        )
    seed = int(as_generator(random_state).integers(2**31))
    clusters = MiniBatchKMeans(n_words, batch_size=8192, n_init=1, max_iter=30, init="random", random_state=seed)
    words = clusters.fit_predict(D.reshape(-1, width))
    return csr_array((np.ones(n * p, np.int64), (np.repeat(np.arange(n), p), words)), shape=(n, n_words))


def _descriptors(images: NDArray[np.float64], cell: int, step: int) -> NDArray[np.float64]:
    """Descriptors (n, patches, 128) of the patches of all images."""
    dy, dx = np.gradient(images, axis=(1, 2))
    angle = (np.arctan2(dy, dx) % (2.0 * np.pi)) / (2.0 * np.pi) * ORIENTATIONS
    lower = np.floor(angle)
    share, lower = angle - lower, lower.astype(np.int64) % ORIENTATIONS
    length = np.hypot(dx, dy)
    maps = np.zeros((*images.shape, ORIENTATIONS))
    np.put_along_axis(maps, lower[..., None], (length * (1.0 - share))[..., None], axis=3)
    upper = ((lower + 1) % ORIENTATIONS)[..., None]
    np.put_along_axis(maps, upper, (length * share)[..., None], axis=3)
    # sums over rectangles from a table of sums from the corner
    table = np.pad(maps.cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0), (0, 0)))
    cells = table[:, cell:, cell:] - table[:, :-cell, cell:] - table[:, cell:, :-cell] + table[:, :-cell, :-cell]
    rows, columns = (range(0, size - CELLS * cell + 1, step) for size in images.shape[1:])
    patches = [
        cells[:, a : a + CELLS * cell : cell, b : b + CELLS * cell : cell].reshape(len(images), -1)
        for a in rows
        for b in columns
    ]
    D = np.stack(patches, axis=1)
    return _unit(np.minimum(_unit(D), LARGEST))


def _unit(D: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = D / np.maximum(np.linalg.norm(D, axis=2, keepdims=True), 1e-12)
    return result
