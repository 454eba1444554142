"""Hyperspectral scenes."""

from __future__ import annotations

import numpy as np
from scipy.io import loadmat

from partwise.datasets.loaders.base import DataHome, Dataset, locate

__all__ = ["load_jasper_ridge"]


def load_jasper_ridge(*, data_home: DataHome = None) -> Dataset:
    """Load the Jasper Ridge scene, 100 x 100 pixels in 198 bands, with reference endmembers.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``jasper_ridge/Jasper.mat``.

    Returns
    -------
    Dataset
        ``X`` (10000, 198), pixels as rows in row-major order (``scene_shape`` (100, 100)), ``components``
        (4, 198), spectra of tree, water, soil and road, and ``weights`` (10000, 4), abundances that sum to
        one.

    Notes
    -----
    Components are reflectances and ``X`` is not: ``X`` is about ``5367 * weights @ components``, with a
    relative error of 0.16. Compare components by angle (`partwise.metrics.spectral_angles`).

    References
    ----------
    .. [1] F. Zhu, Y. Wang, B. Fan, S. Xiang, G. Meng, C. Pan, "Spectral unmixing via data-guided sparsity",
       IEEE Transactions on Image Processing 23, 2014.

    Examples
    --------
    >>> from partwise.datasets import load_jasper_ridge
    >>> load_jasper_ridge().X.shape  # doctest: +SKIP
    (10000, 198)
    """
    content = loadmat(locate("load_jasper_ridge", "jasper_ridge", "Jasper.mat", data_home))
    # pixels are stored column by column
    order = np.arange(10000).reshape(100, 100, order="F").ravel()
    return Dataset(
        "jasper_ridge",
        content["Y"].T[order].astype(float),
        components=content["GT"].astype(float),
        weights=content["A"].T[order].astype(float),
        component_names=["tree", "water", "soil", "road"],
        scene_shape=(100, 100),
    )
