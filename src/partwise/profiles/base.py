"""What a profile of a field is made of, and what it shows: tables and pictures as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.estimators.amounts import find_amounts
from partwise.estimators.weights import holed
from partwise.io.table import Table
from partwise.sources import blocks

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Settings:
    """What only the user knows.

    Parameters
    ----------
    map_shape : tuple of int or None
        Rows and columns of the map whose pixels are the samples.
    reference : Table or None
        Known parts, one a row: a library of spectra, the signatures of COSMIC.
    """

    map_shape: tuple[int, int] | None = None
    reference: Table | None = None


@dataclass(frozen=True)
class Found:
    """A fit and its data.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : Table
        The data as the profile has shaped it.
    weights : ndarray of shape (n_samples, n_components)
        Weights of the samples.
    settings : Settings
        What the user has told.
    """

    model: Any
    table: Table
    weights: Any
    settings: Settings = field(default_factory=Settings)

    @property
    def components(self) -> Array:
        """The parts, none below zero."""
        return np.maximum(np.asarray(self.model.components_, np.float64), 0.0)

    @property
    def names(self) -> list[str]:
        """What the parts are called."""
        return list(self.model.part_names_)

    @property
    def features(self) -> list[str]:
        """What the features are called."""
        return self.table.feature_names or [f"feature_{j}" for j in range(self.components.shape[1])]

    @property
    def samples(self) -> list[str]:
        """What the samples are called."""
        return self.table.sample_names or [f"row {i}" for i in range(self.table.X.shape[0])]

    def all_weights(self) -> Array:
        """The weights in memory."""
        return np.asarray(self.weights[:], np.float64)

    def amounts(self) -> Array:
        """Weights times the sizes of parts: counts, or whatever the data is measured in."""
        return np.asarray(self.all_weights() * self.components.sum(axis=1))

    def shares(self) -> Array:
        """How much of each sample is of each part: rows sum to one, or to zero where nothing is."""
        W = self.all_weights()
        amounts = W * find_amounts(W, self.components.sum(axis=1))
        totals = amounts.sum(axis=1, keepdims=True)
        return np.asarray(amounts / np.where(totals > 0.0, totals, 1.0))

    def residual(self) -> tuple[Array, Array]:
        """What the parts leave: root mean squares over known entries, by feature and by sample."""
        source = self.model.preparation_.apply(self.table.source(), check=False)
        source, holes = holed(self.model, source)
        H, n = np.asarray(self.model.components_, np.float64), source.shape[0]
        by_feature, by_sample, counts = np.zeros(H.shape[1]), np.zeros(n), np.zeros(H.shape[1])
        for first in range(0, n, 1024):
            rows = range(first, min(first + 1024, n))
            block = source.take(rows)
            known = np.asarray(blocks.to_dense(blocks.known(block)), bool) if holes else np.ones(block.shape, bool)
            values = np.asarray(blocks.to_dense(blocks.zeroed(block)), np.float64)
            left = known * (values - np.asarray(self.weights[rows.start : rows.stop], np.float64) @ H) ** 2
            by_feature += left.sum(axis=0)
            counts += known.sum(axis=0)
            by_sample[rows.start : rows.stop] = left.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return np.sqrt(by_feature / np.maximum(counts, 1.0)), np.sqrt(by_sample)


@dataclass(frozen=True)
class Output:
    """A table to be written: the name of its file, its columns, and its rows of text and numbers."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Maps:
    """Pictures of where something is, in one scale each."""

    title: str
    names: Sequence[str]
    images: Array  # (n, height, width)
    note: str = ""


@dataclass(frozen=True)
class Lines:
    """Curves over one axis."""

    title: str
    x: Array
    names: Sequence[str]
    y: Array  # (n, len(x))
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    labels: Sequence[str] | None = None  # of places on the axis that are no numbers


@dataclass(frozen=True)
class Bars:
    """Bars in groups of colours, one chart a part."""

    title: str
    names: Sequence[str]
    values: Array  # (n, n_bars)
    labels: Sequence[str]
    groups: Sequence[tuple[str, str, int]]  # title, colour, how many bars
    x_label: str = ""
    y_label: str = ""
    note: str = ""


@dataclass(frozen=True)
class Listing:
    """A table to be read."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


Panel = Maps | Lines | Bars | Listing


def as_it_is(table: Table, settings: Settings) -> Table:
    """The table."""
    return table


def no_scores(found: Found) -> Array | None:
    """Features are ranked by their size."""
    return None


def no_names(found: Found) -> list[str] | None:
    """Parts are numbered."""
    return None


@dataclass(frozen=True)
class Profile:
    """One field.

    Parameters
    ----------
    name : str
        What ``--as`` takes.
    title : str
        What it is about, in a few words.
    part, sample, feature : str
        What a part, a sample and a feature are called there.
    looks : callable
        Why a table is obviously of this field, or None.
    outputs : callable
        Tables that are written beside those of every fit.
    panels : callable
        Pictures of the report.
    method : str
        Short name of the method.
    options : mapping
        Its parameters, where they differ from the defaults.
    preprocess : str
        The preparation.
    formats : mapping of str to str
        Ends of names, and what such files are read as in this field.
    shaped : callable
        The table with samples as rows, in the field's own order.
    scores : callable
        What features are ranked by on the cards, or None for their size.
    called : callable
        Names of the parts that are known, or None.
    """

    name: str
    title: str
    part: str
    sample: str
    feature: str
    looks: Callable[[Table], str | None]
    outputs: Callable[[Found], list[Output]]
    panels: Callable[[Found], list[Panel]]
    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    preprocess: str = "none"
    formats: Mapping[str, str] = field(default_factory=dict)
    shaped: Callable[[Table, Settings], Table] = as_it_is
    scores: Callable[[Found], Array | None] = no_scores
    called: Callable[[Found], list[str] | None] = no_names

    def name_parts(self, found: Found) -> list[str]:
        """Names of the parts: known ones, or the field's word with a number."""
        return self.called(found) or [f"{self.part} {j + 1}" for j in range(len(found.components))]


def cosines(A: Array, B: Array) -> Array:
    """Cosines of the rows of A with those of B; 0 where one is zero."""
    a, b = np.linalg.norm(A, axis=1, keepdims=True), np.linalg.norm(B, axis=1, keepdims=True)
    return np.asarray(np.clip((A / np.where(a > 0, a, 1.0)) @ (B / np.where(b > 0, b, 1.0)).T, -1.0, 1.0))


def figure(value: float) -> float:
    """A number for a table: six digits are enough."""
    return float(f"{value:.6g}")
