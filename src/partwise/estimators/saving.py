"""Models as files: which classes and attributes a file may name, and what else is checked before one is believed."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

import partwise.estimators as home
from partwise.algorithms.loop import History
from partwise.algorithms.monitor import Halves
from partwise.algorithms.separability import Separability
from partwise.door.guard import fail
from partwise.estimators.base import SETTINGS, Ended, Factorization, is_pair
from partwise.estimators.weighing import Weighing
from partwise.exceptions import InputError, ReaderError
from partwise.io.model import Document, Record, read_document, write_document
from partwise.io.opening import open_source
from partwise.io.preparation import Preparation
from partwise.io.versions import library_versions
from partwise.linalg.lp import LPCertificate
from partwise.linalg.simplex import MixtureCertificate
from partwise.noise import Noise
from partwise.outcomes import Stop
from partwise.sources import RowSource, blocks

RECORDS = {
    kind.__name__: kind
    for kind in (Halves, LPCertificate, MixtureCertificate, Noise, Preparation, Separability, Stop, Weighing)
}
# what is said of models stands above them: named here, and imported when a file has it
ABOVE = {
    "Chosen": "partwise.parts.methods",
    "RankChoice": "partwise.belief.rank",
    "RankRow": "partwise.belief.rank",
    "Verdict": "partwise.belief.judging",
    "Verdicts": "partwise.belief.judging",
}
MODEL = "Model"  # an estimator within another one
LEARNT = ("preparation_", "weighing_")  # that models without them have from their class
ATTRIBUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")
NUMBERS = ("residual_", "reconstruction_error_", "error_", "n_samples_seen_", "n_skipped_")
SAME_SHAPE = ("detectors_",)  # attributes shaped as the components
ONE_EACH = ("mass_", "moved_", "below_zero_")  # one number a component


def save(model: Factorization, path: str | PathLike[str], *, data: Any = None) -> None:
    """Write a model to a file, from which :func:`load` makes it again bit by bit.

    The file is safetensors with JSON in its header; nothing in it can be executed. An earlier file of that name is
    replaced at once or, if anything fails, left as it is.

    Parameters
    ----------
    model : estimator
        Any estimator of partwise, fitted or not. Callbacks are left out; a fitted estimator as ``init`` is replaced by
        its components.
    path : path-like
        The file, such as ``model.safetensors``.
    data : array-like, sparse matrix, data frame, path, source or dict, optional
        The data it was fitted to; its hash, or what `fingerprint` said of it before, is then part of the file.

    Examples
    --------
    >>> import numpy as np, partwise as pw, tempfile, pathlib
    >>> X = np.random.default_rng(0).random((20, 5))
    >>> model = pw.SPA(3).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pw.save(model, pathlib.Path(folder) / "model.safetensors")
    ...     again = pw.load(pathlib.Path(folder) / "model.safetensors")
    >>> np.array_equal(model.transform(X), again.transform(X))
    True
    """
    name = type(model).__name__
    if type(model) is not _classes().get(name):
        raise InputError(f"model must be an estimator of partwise, got {type(model).__name__}", parameter="model")
    model._validate_params()
    notes: list[str] = []
    parameters, fitted = _taken_apart(model, notes)
    write_document(Document(name, parameters, fitted, _provenance(model, data), notes), path)


def _taken_apart(model: Factorization, notes: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and fitted attributes, as a file has them; what it cannot have is noted."""
    parameters = {key: _parameter(key, value, notes) for key, value in model.get_params(deep=False).items()}
    if model.preparation != "none":
        parameters["preparation"] = model.preparation
    if "weighing" in vars(model):
        parameters["weighing"] = _packed(model.weighing)
    fitted = {}
    for key, value in sorted(vars(model).items()):  # the same model, the same file
        if key == "_learner":
            fitted[key] = Record("Learner", value.state())
        elif ATTRIBUTE.fullmatch(key):
            fitted[key] = _packed(value)
        elif key not in parameters and key not in SETTINGS:
            notes.append(f"{key} is not saved")
    return parameters, fitted


def load(path: str | PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator
        With the parameters and fitted attributes it was saved with.

    Raises
    ------
    ReaderError
        If the file is damaged, of a newer schema, names a class that is none of partwise's estimators, or holds what
        such an estimator cannot have.
    """
    document = read_document(path)
    kind = _classes().get(document.estimator)
    if kind is None:
        raise fail(str(path), f"holds a {document.estimator[:60]!r}, which is no estimator of this version of partwise")
    unknown = sorted(set(document.parameters) - {*kind._get_param_names(), *SETTINGS})
    if unknown:
        raise fail(str(path), f"{document.estimator} has no parameter {unknown[0][:60]!r}")
    try:
        model = _put_together(kind, document.parameters, document.fitted)
    except ReaderError:
        raise
    except Exception as error:  # a hostile file can hold anything
        raise fail(str(path), f"is no model ({str(error)[:200]})") from error
    return model


def _put_together(kind: Any, parameters: Mapping[str, Any], fitted: Mapping[str, Any]) -> Any:
    """The model of parameters and fitted attributes."""
    given = dict(parameters)
    preparation, weighing = given.pop("preparation", None), given.pop("weighing", None)
    model = kind(**given)
    model._validate_params()
    if preparation is not None:
        model.set_preparation(preparation)
    if "weighing" in parameters:
        model.set_weighing(_unpacked(weighing))
    _restore(model, fitted)
    return model


def _classes() -> dict[str, type[Factorization]]:
    return {name: kind for name in home.__all__ if isinstance(kind := getattr(home, name), type)}


def _parameter(name: str, value: Any, notes: list[str]) -> Any:
    if name == "callbacks":
        if len(value):
            notes.append("callbacks are not saved")
        return ()
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        notes.append(f"{name} was a {type(value).__name__}, whose state is not saved")
        return None
    if hasattr(value, "components_"):
        notes.append(f"{name} was a fitted {type(value).__name__}; its components are saved")
        return np.asarray(value.components_)
    if is_pair(value):
        notes.append(f"{name} was weights and components; the components are saved")
        return np.asarray(value[1])
    if hasattr(value, "fit"):
        raise InputError(f"{name}: an estimator that is not fitted cannot be saved", parameter=name)
    if hasattr(value, "to_numpy") or hasattr(value, "compute"):
        return np.asarray(value)
    return value


def _packed(value: Any) -> Any:
    """Objects as records, Dask arrays in memory."""
    if isinstance(value, History):
        return Record("History", {name: value[name] for name in value})
    name = type(value).__name__
    if is_dataclass(value) and (name in RECORDS or name in ABOVE):
        return Record(name, {part.name: _packed(getattr(value, part.name)) for part in fields(value)})
    if isinstance(value, Factorization):
        parameters, fitted = _taken_apart(value, [])
        return Record(MODEL, {"estimator": name, "parameters": parameters, "fitted": fitted})
    if isinstance(value, tuple):
        return tuple(map(_packed, value))
    return np.asarray(value) if hasattr(value, "__dask_graph__") else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_unpacked, value))
    if not isinstance(value, Record):
        return value
    if value.kind == MODEL:
        return _put_together(_classes()[value.parts["estimator"]], value.parts["parameters"], value.parts["fitted"])
    parts = {name: _unpacked(part) for name, part in value.parts.items()}
    if value.kind == "History":
        if len({len(column) for column in parts.values()}) > 1:
            raise ValueError("columns of the history have several lengths")
        if not all(isinstance(column, np.ndarray) and column.dtype.kind in "fiub" for column in parts.values()):
            raise ValueError("columns of the history are no numbers")
        return History(parts)
    if value.kind in ABOVE:
        return getattr(import_module(ABOVE[value.kind]), value.kind)(**parts)
    return RECORDS[value.kind](**parts)


def _restore(model: Any, fitted: Mapping[str, Any]) -> None:
    for name, value in fitted.items():
        if name == "_learner":
            continue
        taken = hasattr(type(model), name) and name not in LEARNT
        if not ATTRIBUTE.fullmatch(name) or taken or name.startswith("_"):
            raise ValueError(f"{name[:60]!r} is no fitted attribute")
        setattr(model, name, _unpacked(value))
    if fitted:
        _check_fitted(model)
        getattr(model, "_check_restored", lambda: None)()
    if "_learner" in fitted:
        _restore_learner(model, fitted["_learner"].parts)


def _check_fitted(model: Any) -> None:
    """What compiled loops take for granted."""
    H = model.components_
    if not (isinstance(H, np.ndarray) and H.ndim == 2 and H.dtype in (np.float32, np.float64) and H.size):
        raise ValueError("its components are no matrix of numbers")
    if not np.isfinite(H).all():
        raise ValueError("its components are not finite")
    for name, size in (("n_components_", len(H)), ("n_features_in_", H.shape[1])):
        given = getattr(model, name)
        if type(given) is not int or given != size:
            raise ValueError(f"{name} is {given!r}, and the components have shape {H.shape}")
    _check_names(model, H)
    if isinstance(model, Ended) and not isinstance(vars(model).get("stop_"), Stop | None):
        raise ValueError("its stop_ is no Stop")
    if not isinstance(vars(model).get("history_", {}), Mapping) or type(vars(model).get("n_iter_", 0)) is not int:
        raise ValueError("its history_ is no table, or n_iter_ no number")
    if model.preparation != "none" and "preparation_" not in vars(model):
        raise ValueError("what its preparation has learnt is not there")
    known = model.preparation_
    if not isinstance(known, Preparation) or (known.weights is not None and known.weights.shape != (H.shape[1],)):
        raise ValueError("its preparation is for other data")
    _check_weighing(model, H)
    for name in SAME_SHAPE:
        other = getattr(model, name, H)
        if not isinstance(other, np.ndarray) or other.shape != H.shape or other.dtype.kind != "f":
            raise ValueError(f"{name} and the components differ in shape")
    _check_support(model, H)


def _check_names(model: Any, H: np.ndarray) -> None:
    names, labels = vars(model).get("feature_names_in_"), vars(model).get("part_labels_")
    if names is not None and np.shape(names) != (H.shape[1],):
        raise ValueError(f"it has {np.shape(names)} names for {H.shape[1]} features")
    if labels is not None and (np.shape(labels) != (len(H),) or not all(isinstance(name, str) for name in labels)):
        raise ValueError(f"it has {np.shape(labels)} names for {len(H)} parts")


def _check_weighing(model: Any, H: np.ndarray) -> None:
    """What transform and a report read of it."""
    known = model.weighing_
    if not isinstance(known, Weighing) or (known.column_scale is not None and len(known.column_scale) != H.shape[1]):
        raise ValueError("its weighing is for other data")
    odd = vars(model).get("odd_samples_", np.zeros(0, int))
    if not isinstance(odd, np.ndarray) or odd.ndim != 1 or odd.dtype.kind != "i":
        raise ValueError("its odd_samples_ are no numbers of samples")


def _check_support(model: Any, H: np.ndarray) -> None:
    """What a report reads of how far a method trusts its parts."""
    for name in NUMBERS:
        number = vars(model).get(name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float))):
            raise ValueError(f"{name} is no number")
    for name in ONE_EACH:
        numbers = vars(model).get(name, np.zeros(len(H)))
        if not isinstance(numbers, np.ndarray) or numbers.shape != H.shape[:1] or numbers.dtype.kind != "f":
            raise ValueError(f"{name} is not one number a component")
    for name in ("rival_", "unlike_", "constrained_cost_", "colour_", "reach_"):
        if not isinstance(vars(model).get(name, 0.0), float):
            raise ValueError(f"its {name} is no number")


def _restore_learner(model: Any, state: Mapping[str, Any]) -> None:
    learner = model._new_learner(*model.components_.shape, model.components_.dtype, np.random.default_rng(0))
    learner.restore(dict(state))
    model._learner = learner


def _provenance(model: Any, data: Any) -> dict[str, Any]:
    seed = getattr(model, "random_state", None)
    return {
        "python": platform.python_version(),
        "versions": library_versions(),
        "seed": int(seed) if isinstance(seed, (int, np.integer)) else None,
        "data": data if data is None or isinstance(data, dict) else fingerprint(open_source(data)),
    }


def fingerprint(source: RowSource) -> dict[str, Any]:
    """Hash of the rows in their order, whatever blocks they come in; sparse and dense rows have hashes of their own."""
    values, places, lengths = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for block in source.batches(4096):
        values.update(np.ascontiguousarray(blocks.values(block)).data)
        if blocks.is_sparse(block):
            places.update(np.ascontiguousarray(block.indices, np.int64).data)
            lengths.update(np.diff(block.indptr).astype(np.int64).data)
    every = hashlib.sha256(values.digest() + places.digest() + lengths.digest())
    return {"sha256": every.hexdigest(), "shape": list(source.shape), "dtype": str(source.dtype)}
