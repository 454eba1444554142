"""ENVI: a header of text beside a file of numbers, a spectrum a pixel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.door.guard import check_memory, fail, reading
from partwise.io.table import Table

Array = npt.NDArray[Any]

TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
SUFFIXES = ("", ".img", ".dat", ".raw", ".bin", ".bsq", ".bil", ".bip", ".sli")
ORDERS = {"bsq": (1, 2, 0), "bil": (0, 2, 1), "bip": (0, 1, 2)}  # to lines x samples x bands
UNITS = {"nanometers": "nm", "nanometres": "nm", "micrometers": "µm", "micrometres": "µm", "wavenumber": "cm-1"}
LONGEST = 1 << 24  # bytes of a header: names of many spectra


def is_envi(first: bytes) -> bool:
    """Whether a file that begins so is a header of ENVI."""
    return first.startswith(b"ENVI") and first[4:5] in (b"\r", b"\n", b" ")


def read_envi(path: Path) -> Table:
    """Read the pixels of an ENVI image, or the spectra of an ENVI library, by its header.

    Parameters
    ----------
    path : pathlib.Path
        The header (``.hdr``); the file of numbers is beside it.

    Returns
    -------
    Table
        A row a pixel with ``map_shape``, wavelengths as names; bands that the header calls bad (bbl) are left out.
    """
    with reading(path, "header of ENVI"):
        fields = _fields(path.read_bytes()[:LONGEST].decode("latin-1"))
        lines, samples, bands = (_whole(path, fields, name) for name in ("lines", "samples", "bands"))
        order = fields.get("interleave", "bsq").lower()
        kind = TYPES.get(_whole(path, fields, "data type"))
        if kind is None or order not in ORDERS:
            raise fail(path, f"its data type {fields.get('data type')} or interleave {order!r} is not known here")
        dtype = np.dtype(kind).newbyteorder(">" if fields.get("byte order", "0") == "1" else "<")
        data, offset = _beside(path), int(fields.get("header offset", "0"))
        need = lines * samples * bands * dtype.itemsize
        if data.stat().st_size < offset + need:
            raise fail(data, f"has {data.stat().st_size} bytes, and its header declares {offset + need}")
        check_memory(data, 3.0 * need)
        with data.open("rb") as file:
            file.seek(offset)
            raw = np.frombuffer(file.read(need), dtype)
        library = "spectral library" in fields.get("file type", "").lower()
        X, shape = _pixels(raw, (lines, samples, bands), order, library)
        names, notes = _bands(fields, X.shape[1])
        good = _good(fields, X.shape[1])
    if not good.all():
        notes.append(f"{int((~good).sum())} bad bands left out")
        X, names = (
            np.ascontiguousarray(X[:, good]),
            names and [name for name, one in zip(names, good, strict=True) if one],
        )
    spectra = _listed(fields.get("spectra names", "")) if library else []
    return Table(
        X,
        names,
        spectra if len(spectra) == len(X) else None,
        map_shape=shape,
        origin=str(path),
        format="ENVI",
        notes=tuple(notes),
    )


def _pixels(raw: Array, sizes: tuple[int, int, int], order: str, library: bool) -> tuple[Array, tuple[int, int] | None]:
    """Spectra as rows in the machine's order of bytes."""
    lines, samples, bands = sizes
    native = raw.dtype.newbyteorder("=")
    if library:  # a spectrum a line, its bands along it
        return raw.reshape(lines * bands, samples).astype(native), None
    stored = {"bsq": (bands, lines, samples), "bil": (lines, bands, samples), "bip": (lines, samples, bands)}[order]
    cube = raw.reshape(stored).transpose(ORDERS[order])
    return np.ascontiguousarray(cube.reshape(lines * samples, bands), native), (lines, samples)


def _fields(text: str) -> dict[str, str]:
    found = re.findall(r"^\s*([^=\n{}]+?)\s*=\s*(\{[^}]*\}|[^\n]*)", text, re.MULTILINE)
    return {name.lower(): value.strip().strip("{}").strip() for name, value in found}


def _listed(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split(",") if part.strip()]


def _whole(path: Path, fields: dict[str, str], name: str) -> int:
    text = fields.get(name, "")
    if not text.isdigit() or int(text) < 1:
        raise fail(path, f"its {name!r} is {text or 'missing'}, and must be a whole number above 0")
    return int(text)


def _beside(path: Path) -> Path:
    names = [path.with_suffix(suffix) for suffix in SUFFIXES]
    if path.suffix.lower() == ".hdr" and path.stem != path.with_suffix("").stem:  # image.img.hdr
        names.insert(0, path.with_suffix(""))
    names += [name.with_suffix(name.suffix.upper()) for name in names if name.suffix]
    found = next((name for name in names if name.is_file() and name != path), None)
    if found is None:
        tried = ", ".join(dict.fromkeys(name.name for name in names[:4]))
        raise fail(path, f"is a header, and the file of numbers is not beside it ({tried}, ...)", kind="missing-file")
    return found


def _bands(fields: dict[str, str], count: int) -> tuple[list[str] | None, list[str]]:
    notes = ["a row a pixel"] if "spectral library" not in fields.get("file type", "").lower() else ["a row a spectrum"]
    unit = UNITS.get(fields.get("wavelength units", "").lower(), "")
    for key in ("wavelength", "band names"):
        listed = _listed(fields.get(key, ""))
        if len(listed) == count and len(set(listed)) == count:
            return [f"{name} {unit}".strip() if key == "wavelength" else name for name in listed], notes
    return None, notes


def _good(fields: dict[str, str], count: int) -> npt.NDArray[np.bool_]:
    listed = _listed(fields.get("bbl", ""))
    return np.array([float(one) != 0.0 for one in listed]) if len(listed) == count else np.ones(count, bool)
