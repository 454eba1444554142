"""Images: MNIST, and faces of Yale, Olivetti (ORL) and CBCL."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from partwise.datasets.checks import check_choice
from partwise.datasets.loaders.base import DataHome, Dataset, locate
from partwise.exceptions import DataNotFoundError, InputError

__all__ = ["load_cbcl", "load_mnist", "load_olivetti", "load_yale"]

MNIST_PARTS = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}


def load_mnist(subset: str = "train", *, data_home: DataHome = None, download: bool = False) -> Dataset:
    """Load MNIST, images of handwritten digits.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 images for training, the 10,000 for testing, or both in this order.
    data_home : path-like, optional
        The data folder; by default the environment variable ``PARTWISE_DATA``. Files are
        ``mnist/train-images-idx3-ubyte`` and so on, with or without ``.gz``.
    download : bool, default=False
        Where the files are missing, get the images from OpenML (``fetch_openml("mnist_784")``). Nothing
        is kept on disk.

    Returns
    -------
    Dataset
        ``X`` (n, 784) of uint8, ``labels`` 0 to 9, ``image_shape`` (28, 28).

    References
    ----------
    .. [1] Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to document
       recognition", Proceedings of the IEEE 86, 1998.

    Examples
    --------
    >>> from partwise.datasets import load_mnist
    >>> mnist = load_mnist("test")  # doctest: +SKIP
    >>> mnist.X.shape  # doctest: +SKIP
    (10000, 784)
    """
    check_choice("subset", subset, tuple(MNIST_PARTS))
    hint = " Or pass download=True to fetch it from OpenML (fetch_openml)."
    try:
        files = [
            (
                locate("load_mnist", "mnist", _idx_names(part, "images-idx3"), data_home, hint),
                locate("load_mnist", "mnist", _idx_names(part, "labels-idx1"), data_home, hint),
            )
            for part in MNIST_PARTS[subset]
        ]
    except DataNotFoundError:
        if not download:
            raise
        return _fetch_mnist(subset)
    X = np.concatenate([read_idx(images) for images, _ in files])
    labels = np.concatenate([read_idx(names) for _, names in files])
    return Dataset("mnist", X.reshape(len(X), -1), labels, image_shape=(28, 28))


def _idx_names(part: str, content: str) -> tuple[str, str]:
    return f"{part}-{content}-ubyte.gz", f"{part}-{content}-ubyte"


def read_idx(path: Path) -> np.ndarray:
    """Read an idx file of unsigned bytes, compressed or not.

    Parameters
    ----------
    path : pathlib.Path
        The file; a name that ends in ``.gz`` is decompressed.

    Returns
    -------
    ndarray of uint8
        With the shape that the header gives.
    """
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    # header: two zero bytes, 8 for unsigned bytes, number of axes, then each length as a big-endian int32
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise InputError(f"{path} is not an idx file of bytes: get it again.")
    start = 4 + 4 * data[3]
    shape = tuple(np.frombuffer(data[4:start], dtype=">i4").tolist())
    if len(data) != start + int(np.prod(shape)):
        raise InputError(f"{path} has {len(data)} bytes where its header announces {shape}: get it again.")
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)


def _fetch_mnist(subset: str) -> Dataset:
    """Get MNIST from OpenML, whose first 60,000 rows are the training images."""
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff", cache=False)
    rows = {"train": slice(60000), "test": slice(60000, None), "all": slice(None)}[subset]
    X, labels = bunch.data[rows].astype(np.uint8), bunch.target[rows].astype(np.uint8)
    return Dataset("mnist", X, labels, image_shape=(28, 28))


def load_yale(size: int = 32, *, data_home: DataHome = None) -> Dataset:
    """Load the Yale faces, 165 images of 15 people, as cropped by Deng Cai.

    Parameters
    ----------
    size : {32, 64}, default=32
        Side of the images. The order of the images of a person differs between the two.
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``yale/Yale_32x32.mat``.

    Returns
    -------
    Dataset
        ``X`` (165, size**2) of uint8, ``labels`` 1 to 15, ``image_shape``.

    Examples
    --------
    >>> from partwise.datasets import load_yale
    >>> load_yale(64).X.shape  # doctest: +SKIP
    (165, 4096)
    """
    check_choice("size", size, (32, 64))
    content = loadmat(locate("load_yale", "yale", f"Yale_{size}x{size}.mat", data_home))
    X = content["fea"] if size == 32 else content["fea"].T  # the larger file has images as columns
    return Dataset("yale", upright(X, (size, size)), content["gnd"].ravel().astype(int), image_shape=(size, size))


def load_olivetti(*, data_home: DataHome = None) -> Dataset:
    """Load the Olivetti (ORL, AT&T) faces, ten images of each of 40 people.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``olivetti_orl/olivettifaces.mat``.

    Returns
    -------
    Dataset
        ``X`` (400, 4096) of uint8, ``labels`` 0 to 39, ``image_shape`` (64, 64).

    Examples
    --------
    >>> from partwise.datasets import load_olivetti
    >>> load_olivetti().X.shape  # doctest: +SKIP
    (400, 4096)
    """
    content = loadmat(locate("load_olivetti", "olivetti_orl", "olivettifaces.mat", data_home))
    X = upright(content["faces"].T, (64, 64))
    return Dataset("olivetti", X, np.arange(400) // 10, image_shape=(64, 64))


def load_cbcl(*, data_home: DataHome = None) -> Dataset:
    """Load the CBCL faces, on which Lee and Seung showed that NMF finds parts [1]_.

    Parameters
    ----------
    data_home : path-like, optional
        The data folder, by default ``PARTWISE_DATA``; the file is ``cbcl/CBCL.mat``.

    Returns
    -------
    Dataset
        ``X`` (2429, 361) of uint8 and ``image_shape`` (19, 19); no labels.

    References
    ----------
    .. [1] D. Lee, S. Seung, "Learning the parts of objects by non-negative matrix factorization",
       Nature 401, 1999.

    Examples
    --------
    >>> from partwise.datasets import load_cbcl
    >>> load_cbcl().X.shape  # doctest: +SKIP
    (2429, 361)
    """
    content = loadmat(locate("load_cbcl", "cbcl", "CBCL.mat", data_home))
    return Dataset("cbcl", upright(content["X"].T, (19, 19)), image_shape=(19, 19))


def upright(X: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Turn rows that hold images column by column (Matlab) into rows that hold them row by row.

    Examples
    --------
    >>> upright(np.array([[1, 3, 2, 4]]), (2, 2))
    array([[1, 2, 3, 4]])
    """
    height, width = shape
    return np.ascontiguousarray(X.reshape(-1, width, height).transpose(0, 2, 1)).reshape(len(X), -1)
