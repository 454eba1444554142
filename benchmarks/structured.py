"""Damage by structure: headers, members, indices and JSON nodes are changed and the file is whole again around them."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from typing import Any

import numpy as np

SIZES = [0, 1, -1, 7, 2**15, 2**31 - 1, 2**31, 2**40, 2**63 - 1, -(2**63)]
TYPES = ["<f8", "<f4", ">f8", "<i8", "|u1", "|b1", "<c16", "<U3", "|V8", "<M8[s]", "|O", "<f2"]
NODES: list[Any] = [None, -1, 0, 3, 2**63, 0.5, "x", "", [], {}, [1, 2], {"a": 1}, True, "nan", [[]], "0" * 300]


def change(name: str, data: bytes, rng: np.random.Generator) -> bytes | None:
    """The file with one thing changed in its structure; None where this module knows of none."""
    try:
        if data[:6] == b"\x93NUMPY":
            return _npy(data, rng)
        if data[:4] == b"PK\x03\x04":
            return _npz(data, rng)
        if "safetensors" in name:
            return _safetensors(data, rng)
    except (ValueError, zipfile.BadZipFile, KeyError, struct.error):
        return None
    return None


def _pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def _npy(data: bytes, rng: np.random.Generator) -> bytes:
    """Another shape, type or order in the header, the numbers as they were."""
    file = io.BytesIO(data)
    np.lib.format.read_magic(file)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    rest = file.read()
    what = int(rng.integers(4))
    sizes = list(shape)
    if what == 0 and sizes:
        sizes[int(rng.integers(len(sizes)))] = _pick(rng, SIZES)
    elif what == 1:
        sizes = [_pick(rng, SIZES) for _ in range(int(rng.integers(5)))]
    header = {
        "descr": _pick(rng, TYPES) if what == 2 else dtype.str,
        "fortran_order": not fortran if what == 3 else fortran,
        "shape": tuple(sizes),
    }
    text = (repr(header) + " " * 64)[: 64 * (len(repr(header)) // 64 + 1) - 11].encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + rest


def _npz(data: bytes, rng: np.random.Generator) -> bytes:
    """A member left out, doubled, with another header, or indices that point elsewhere."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = _pick(rng, sorted(members))
    if not name.endswith(".npy"):
        return _text_member(members, name, rng)
    what = int(rng.integers(4))
    if what == 0:
        members.pop(name)
    elif what == 1:
        members[name] = _npy(members[name], rng)
    elif what == 2:
        members[name] = members[_pick(rng, sorted(members))]
    else:
        array = np.lib.format.read_array(io.BytesIO(members[name]), allow_pickle=False).copy()
        if array.size and array.dtype.kind in "iuf":
            value = _pick(rng, SIZES)
            info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
            array.flat[int(rng.integers(array.size))] = value if info is None else np.clip(value, info.min, info.max)
        elif array.dtype.kind in "SU":
            array = np.array(_pick(rng, ["csr", "csc", "coo", "bsr", "dia", "", "x" * 50]))
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        members[name] = file.getvalue()
    return _packed(members, rng)


def _packed(members: dict[str, bytes], rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", _pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for key, content in members.items():
            archive.writestr(key, content)
    return file.getvalue()


def _text_member(members: dict[str, bytes], name: str, rng: np.random.Generator) -> bytes:
    """A member left out, cut, or with another word in the place of one of its words."""
    what, data = int(rng.integers(4)), members[name]
    if what == 0:
        members.pop(name)
    elif what == 1:
        members[name] = data[: int(rng.integers(len(data) + 1))]
    else:
        words = re.findall(rb"[\w.]+", data) or [b""]
        old, new = _pick(rng, words), _pick(rng, [*words, *(str(size).encode() for size in SIZES), b"", b"1e400"])
        members[name] = data.replace(old, new, int(rng.integers(1, 3))) if old else data
    return _packed(members, rng)


def _safetensors(data: bytes, rng: np.random.Generator) -> bytes:
    """A node of the JSON in the header changed, or one of the JSON that is text in it."""
    (length,) = struct.unpack("<Q", data[:8])
    head, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    about = head.get("__metadata__", {})
    texts = [key for key, value in about.items() if value[:1] in "{["]
    if texts and rng.random() < 0.8:
        key = _pick(rng, texts)
        about[key] = json.dumps(_node(json.loads(about[key]), rng))
    else:
        head = _node(head, rng)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + rest


def _node(tree: Any, rng: np.random.Generator) -> Any:
    """The tree with one of its nodes left out or replaced."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(tree)
    if not places:
        return _pick(rng, NODES)
    node, key = _pick(rng, places)
    if rng.random() < 0.25:
        del node[key]
    else:
        node[key] = _pick(rng, NODES)
    return tree
