"""The report of a model as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partwise.belief import Bands, Verdicts
from partwise.estimators.weights import completed
from partwise.exceptions import InputError
from partwise.io import Table, open_source, read, write_atomically
from partwise.plots.pages import templates
from partwise.profiles import Panel
from partwise.report.facts import gather
from partwise.report.naming import Names, check_names, view_of
from partwise.report.page import TEMPLATES, render
from partwise.sources import RowSource
from partwise.sources.blocks import is_sparse
from partwise.sources.chunked import ScratchRows


def write_report(
    path: str | PathLike[str],
    model: Any,
    data: Any,
    *,
    weights: Any = None,
    feature_names: Sequence[Any] | None = None,
    sample_names: Sequence[Any] | None = None,
    image_shape: tuple[int, int] | None = None,
    title: str = "",
    about: Mapping[str, str] | None = None,
    command: str = "",
    warnings: Sequence[str | Warning] = (),
    verdicts: Verdicts | None = None,
    bands: Bands | None = None,
    panels: Sequence[Panel] = (),
    scores: Any = None,
    words: tuple[str, str, str] = ("part", "sample", "feature"),
) -> Path:
    """Write what a fitted model found as one HTML page that needs nothing else, and no network.

    The page says how well the data is explained and how the fit ended, warns of parts that are dead or redundant and
    of samples that are badly explained, and shows every part, the samples that show it best, the similarity between
    parts and a map of the weights. Parts are drawn as images if the shape of images is known; as spectra if there are
    at least 20 features that have no names, or numbers in order as names ("400 nm" too); else as bars of the largest
    features.

    Parameters
    ----------
    path : path-like
        The file to write; an earlier one is replaced at once or, if anything fails, left as it is.
    model : estimator
        Any fitted estimator of partwise.
    data : array-like, sparse matrix, data frame, path, Dask collection, source or Table
        The data, samples as rows; the model prepares it as that of its fit. It is passed over once. A path or a
        `partwise.io.Table` brings names and the shape of images along.
    weights : array of shape (n_samples, n_components), optional
        Weights of the samples; by default ``model.transform`` computes them block by block.
    feature_names, sample_names : sequence, optional
        What columns and rows are called; by default what the data or the model says.
    image_shape : tuple of int, optional
        Rows and columns, where samples are images.
    title : str
        The headline; by default made of the numbers.
    about : mapping of str to str, optional
        Further facts for the head of the page, such as where the data is from.
    command : str
        The command that repeats the run.
    warnings : sequence of str or Warning
        What the reader should be told besides what is found.
    verdicts : Verdicts, optional
        What `partwise.judge` says of the model: parts that are not determined are told first, in red.
    bands : Bands, optional
        What `partwise.feasible_bands` found: drawn around parts that are shown as spectra.

    panels : sequence of Panel
        Pictures and tables of a field, as its profile makes them; they come before the parts.
    scores : array of shape (n_components, n_features), optional
        What features are ranked by where parts are drawn as bars; by default their size.
    words : (str, str, str)
        What a part, a sample and a feature are called.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile, partwise as pw
    >>> data = pw.datasets.make_topics(n_samples=100, n_features=30, n_components=4, random_state=0)
    >>> model = pw.SPA(4).fit(data.X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pw.write_report(pathlib.Path(folder) / "report.html", model, data.X)
    ...     file.name, "4 parts of 100 samples" in file.read_text(encoding="utf-8")
    ('report.html', True)
    """
    check_is_fitted(model)
    if len(words) != 3 or not all(isinstance(word, str) and word.strip() for word in words):
        raise InputError(f"{{parameter}} must be three words, none of them empty, got {words!r}", parameter="words")
    templates(TEMPLATES)  # what is missing is told before the pass over the data
    source, table = _opened(data)
    n, m = source.shape
    H = model.components_
    if m != H.shape[1]:
        raise InputError(f"data has {m} features, but the components have {H.shape[1]}", parameter="data")
    model._check_features(m, table.feature_names, reset=False)  # columns in another order would be other features
    features = feature_names if feature_names is not None else table.feature_names
    if features is None:
        features = getattr(model, "feature_names_in_", None)
    names = Names(
        check_names(features, m, "feature_names"),
        check_names(sample_names if sample_names is not None else table.sample_names, n, "sample_names"),
    )
    view = view_of(names.features, m, image_shape if image_shape is not None else table.image_shape)
    source = model.preparation_.apply(source)
    _check_parts(len(H), verdicts=verdicts, bands=None if bands is None else bands.parts)
    weights = _checked(weights, (n, len(H)))
    source, unknown = completed(model, source, weights)
    facts = gather(model, source, weights, unknown=unknown, verdicts=verdicts, bands=bands, scores=scores)
    page = render(
        facts,
        source,
        names,
        view,
        title=title,
        about=about,
        command=command,
        warnings=warnings,
        panels=panels,
        words=words,
    )
    target = Path(path)
    write_atomically(target, lambda file: file.write(page.encode("utf-8", "replace")))
    return target


def _check_parts(k: int, **given: Any) -> None:
    for name, rows in given.items():
        if rows is not None and len(rows) != k:
            raise InputError(
                f"{{parameter}} has {len(rows)} parts, but the model has {k}: they are of another one",
                parameter=name,
                kind="shape",
            )


def _opened(data: Any) -> tuple[RowSource, Table]:
    """The rows, and a table that says what they are called."""
    if isinstance(data, (str, PathLike)):
        data = read(data)
    if isinstance(data, Table):
        return data.source(), data
    source = open_source(data)
    return source, Table(source, feature_names=source.feature_names, sample_names=source.sample_names)


def _checked(weights: Any, shape: tuple[int, int]) -> Any:
    if weights is None:
        return None
    if is_sparse(weights):
        weights = weights.toarray()
    kept = hasattr(weights, "__dask_graph__") or isinstance(weights, ScratchRows)  # with workers, or on disk
    rows = weights if kept else np.asarray(weights)
    if tuple(rows.shape) != shape:
        raise InputError(f"weights must have shape {shape}, got {tuple(rows.shape)}", parameter="weights")
    return rows
