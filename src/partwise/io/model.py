"""The file of a model: arrays as safetensors, everything else as JSON in the header of the same file. No pickle.

In the JSON are ``schema`` (a number), ``estimator`` (a name), ``parameters``, ``fitted``, ``provenance`` and ``notes``.
Values that JSON does not have are objects that begin with their kind: ``{"array": "t3"}``, ``{"float": "nan"}``.
One file, so one rename replaces a model as a whole; any reader of safetensors opens it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save as to_safetensors

from partwise.door.guard import fail, reading
from partwise.exceptions import InputError
from partwise.io.atomic import write_atomically

Array = npt.NDArray[Any]

SCHEMA = 1
KEY = "partwise"
# what safetensors has
NUMBERS = {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16"} | {
    "float32",
    "float64",
}
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Record:
    """An object as its kind and its parts; the layer above knows the kinds."""

    kind: str
    parts: dict[str, Any]


@dataclass(frozen=True)
class Document:
    """What the file of a model holds, before it becomes an estimator.

    Attributes
    ----------
    estimator : str
        Name of its class.
    parameters : dict
        Parameters of its constructor.
    fitted : dict
        What ``fit`` set.
    provenance : dict
        Versions, seed, hash of the data.
    notes : list of str
        What could not be saved.
    """

    estimator: str
    parameters: dict[str, Any]
    fitted: dict[str, Any]
    provenance: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_document(document: Document, path: str | PathLike[str]) -> None:
    """Write the file of a model; what was there is replaced at once, or stays.

    Parameters
    ----------
    document : Document
        What to write.
    path : path-like
        The file.
    """
    tensors: dict[str, Array] = {}
    content = {
        "schema": SCHEMA,
        "estimator": document.estimator,
        "parameters": {name: encode(value, tensors, name) for name, value in document.parameters.items()},
        "fitted": {name: encode(value, tensors, name) for name, value in document.fitted.items()},
        "provenance": document.provenance,
        "notes": document.notes,
    }
    # an empty file of tensors is none for some readers
    tensors = tensors or {"empty": np.zeros(0)}
    data = to_safetensors(tensors, {KEY: json.dumps(content, allow_nan=False)})
    write_atomically(Path(path), lambda file: file.write(data))


def read_document(path: str | PathLike[str]) -> Document:
    """Read the file of a model; nothing in it is executed.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Document
        Its content.

    Raises
    ------
    ReaderError
        If it is damaged, of a newer schema, or no model at all.
    """
    place = Path(path)
    if not place.is_file():
        raise fail(place, "there is no such file")
    with reading(place, "model"), safe_open(str(place), framework="np") as file:
        metadata = file.metadata() or {}
        if KEY not in metadata:
            raise fail(place, "holds tensors, but no model of partwise")
        content = json.loads(metadata[KEY], parse_constant=_refuse_constant)
        _check(place, content)
        tensors = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118 - no mapping
        values = {
            part: {name: decode(node, tensors) for name, node in content[part].items()}
            for part in ("parameters", "fitted")
        }
    return Document(
        content["estimator"], values["parameters"], values["fitted"], content["provenance"], content["notes"]
    )


def model_info(path: str | PathLike[str]) -> dict[str, Any]:
    """Say what a saved model is, without making it.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    dict
        ``estimator``, ``parameters``, ``provenance`` (versions, seed, hash of the data) and ``notes``.
    """
    document = read_document(path)
    return {
        "estimator": document.estimator,
        "parameters": document.parameters,
        "provenance": document.provenance,
        "notes": document.notes,
    }


def _check(path: Path, content: Any) -> None:
    """The schema first: of a newer one nothing else is understood."""
    if not isinstance(content, dict) or type(content.get("schema")) is not int:
        raise fail(path, "has no number of its schema")
    if content["schema"] > SCHEMA:
        raise fail(
            path, f"has schema {content['schema']}, and this version reads up to {SCHEMA}; install a newer partwise"
        )
    kinds = {"estimator": str, "parameters": dict, "fitted": dict, "provenance": dict, "notes": list}
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            raise fail(path, f"{name} is missing or of another type")


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def encode(value: Any, tensors: dict[str, Array], name: str) -> Any:
    """A value as JSON, its arrays put into ``tensors``; ``name`` is for the message."""
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.generic):
        return {"scalar": _store(np.asarray(value), tensors, name)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, tensors, name)
    if isinstance(value, Record):
        parts = {part: encode(one, tensors, f"{name}.{part}") for part, one in value.parts.items()}
        return {"record": [value.kind, parts]}
    if isinstance(value, (list, tuple)):
        items = [encode(one, tensors, f"{name}[{i}]") for i, one in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else {"list": items}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode(one, tensors, f"{name}[{key!r}]") for key, one in value.items()}}
    raise InputError(f"{name}: a {type(value).__name__} cannot be saved", parameter=name)


def _encode_array(value: Array, tensors: dict[str, Array], name: str) -> Any:
    if value.dtype.kind in "OU":
        if value.ndim != 1 or not all(isinstance(one, str) for one in value):
            raise InputError(f"{name}: an array of {value.dtype} cannot be saved", parameter=name)
        return {"strings": [str(one) for one in value], "object": value.dtype.kind == "O"}
    if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
        # the order of the memory decides the last bits of products
        return {"array": _store(value.T, tensors, name), "transposed": True}
    return {"array": _store(value, tensors, name)}


def _store(value: Array, tensors: dict[str, Array], name: str) -> str:
    if value.dtype.name not in NUMBERS:
        raise InputError(f"{name}: an array of {value.dtype} cannot be saved", parameter=name)
    key = f"t{len(tensors)}"
    tensors[key] = np.array(value, value.dtype.newbyteorder("="), order="C")
    return key


def decode(node: Any, tensors: Mapping[str, Array]) -> Any:
    """The value that :func:`encode` wrote."""
    if not isinstance(node, dict):
        if isinstance(node, list):
            raise ValueError("a bare list")
        return node
    kind = next(iter(node), None)
    content: Any = node.get(kind)
    if kind == "float":
        return NOT_FINITE[content]
    if kind == "scalar":
        return tensors[content][()]
    if kind == "array":
        array = tensors[content]
        return array.T if node.get("transposed") is True else array
    if kind == "strings":
        if not all(isinstance(one, str) for one in content):
            raise ValueError("strings that are none")
        return np.array(content, dtype=object if node.get("object") is True else str)
    return _decode_group(kind, content, tensors)


def _decode_group(kind: str | None, content: Any, tensors: Mapping[str, Array]) -> Any:
    if kind == "list":
        return [decode(one, tensors) for one in content]
    if kind == "tuple":
        return tuple(decode(one, tensors) for one in content)
    if kind == "dict":
        return {str(key): decode(one, tensors) for key, one in content.items()}
    if kind == "record":
        name, parts = content
        return Record(str(name), {str(key): decode(one, tensors) for key, one in parts.items()})
    raise ValueError(f"a value of unknown kind {str(kind)[:40]!r}")
