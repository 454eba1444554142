"""Where real data is, and what a loader returns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from partwise.exceptions import DataNotFoundError

__all__ = ["ENVIRONMENT_VARIABLE", "Dataset", "locate"]

ENVIRONMENT_VARIABLE = "PARTWISE_DATA"

DataHome = str | PathLike[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A real data set; what it does not have is None.

    Parameters
    ----------
    name : str
        What it is called.
    X : ndarray or scipy.sparse.csr_array of shape (n_samples, n_features) or None
        The data, one sample a row.
    labels : ndarray of shape (n_samples,) or None
        The class of each sample, a number or a name.
    components : ndarray of shape (n_components, n_features) or None
        Reference components, one a row.
    weights : ndarray of shape (n_samples, n_components) or None
        Reference weights.
    feature_names, sample_names, component_names : list of str or None
        Names of the columns of ``X``, of its rows and of the rows of ``components``.
    image_shape : tuple of int or None
        Where samples are images, ``x.reshape(image_shape)`` shows one upright.
    scene_shape : tuple of int or None
        Where samples are the pixels of one scene, ``weights[:, l].reshape(scene_shape)`` shows a map.
    texts : list of str or None
        The documents that ``X`` counts.

    Examples
    --------
    >>> from partwise.datasets import Dataset
    >>> Dataset("empty")
    Dataset('empty')
    """

    name: str
    X: Any = None
    labels: np.ndarray | None = None
    components: np.ndarray | None = None
    weights: np.ndarray | None = None
    feature_names: list[str] | None = None
    sample_names: list[str] | None = None
    component_names: list[str] | None = None
    image_shape: tuple[int, int] | None = None
    scene_shape: tuple[int, int] | None = None
    texts: list[str] | None = None

    def __repr__(self) -> str:
        parts = [repr(self.name)]
        if self.X is not None:
            parts.append(f"n_samples={self.X.shape[0]}, n_features={self.X.shape[1]}")
        if self.labels is not None:
            parts.append(f"n_classes={np.unique(self.labels).size}")
        if self.components is not None:
            parts.append(f"n_components={self.components.shape[0]}")
        return f"Dataset({', '.join(parts)})"


def locate(loader: str, folder: str, names: str | tuple[str, ...], data_home: DataHome, hint: str = "") -> Path:
    """Return the path of a data file, the first of ``names`` that exists.

    Parameters
    ----------
    loader : str
        The function that asks, for the message.
    folder : str
        Folder of the data set inside the data folder.
    names : str or tuple of str
        The file, under one or several names.
    data_home : path-like or None
        The data folder; None takes the environment variable ``PARTWISE_DATA``.
    hint : str, optional
        What else can be done, for the message.

    Returns
    -------
    pathlib.Path
        An existing file.

    Raises
    ------
    DataNotFoundError
        With the file looked for and what to do.
    """
    names = (names,) if isinstance(names, str) else names
    home = os.environ.get(ENVIRONMENT_VARIABLE) if data_home is None else data_home
    wanted = f"{folder}/{names[0]}"
    if home is None or not os.fspath(home):
        raise DataNotFoundError(
            f"{loader} needs the file {wanted}, and no data folder is known: set the environment variable "
            f"{ENVIRONMENT_VARIABLE} to the folder that contains {folder}/, or pass data_home.{hint}"
        )
    for name in names:
        path = Path(home) / folder / name
        if path.is_file():
            return path
    raise DataNotFoundError(
        f"{loader} looked for {Path(home) / folder / names[0]} and found no such file: put it there, or "
        f"point the environment variable {ENVIRONMENT_VARIABLE} (or data_home) at the folder that contains "
        f"{wanted}.{hint}"
    )
