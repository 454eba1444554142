"""Spectra and images of spectra: abundances, their maps, what is left, a library beside them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from partwise.exceptions import InputError
from partwise.io.headers import in_order, is_scale
from partwise.io.table import Table
from partwise.profiles.base import Array, Found, Lines, Listing, Maps, Output, Panel, Profile, Settings, cosines, figure
from partwise.profiles.reference import aligned_reference

FEWEST = 20  # features from which on ordered numbers above columns are an axis
SHOWN = 3
# what is measured along an axis, by its unit
QUANTITIES = {"nm": "wavelength", "um": "wavelength", "µm": "wavelength", "cm-1": "wavenumber", "1/cm": "wavenumber"}
QUANTITIES |= {"ev": "energy", "kev": "energy", "hz": "frequency", "ppm": "chemical shift"}


def looks(table: Table) -> str | None:
    """Whether samples are pixels of a map, or features numbers in order."""
    if table.map_shape is not None:
        return "samples are the pixels of a map"
    if table.format in ("ENVI", "signals"):
        return f"it is a file of spectra ({table.format})"
    names = table.feature_names or []
    if len(names) >= FEWEST and is_scale(names):
        return f"features go from {names[0]} to {names[-1]} in order"
    return None


def shaped(table: Table, settings: Settings) -> Table:
    """A row a spectrum; cubes (rows x columns x bands) and tables of bands x pixels are turned."""
    wanted = settings.map_shape
    if table.image_shape is not None and table.map_shape is None and not table.on_disk:
        cube = (table.X.shape[0], *table.image_shape)
        if wanted in (None, cube[:2]):
            X = np.asarray(table.X).reshape(cube[0] * cube[1], cube[2])
            note = f"a cube of {' x '.join(map(str, cube))}: a row a pixel"
            return replace(table, X=X, image_shape=None, map_shape=cube[:2], notes=(*table.notes, note))
    rows, columns = table.sample_names or [], table.feature_names or []
    n, m = table.X.shape
    turned = len(rows) >= FEWEST and is_scale(rows) and not is_scale(columns)
    pixels = None if wanted is None else wanted[0] * wanted[1]
    if turned or (pixels is not None and n != pixels == m):
        why = "columns are the pixels of the map" if not turned else "rows are in order, as wavelengths are"
        table = table.transposed()
        table = replace(table, notes=(*table.notes, f"turned: {why}"))
    if wanted is None:
        return table
    if table.X.shape[0] != pixels:
        raise InputError(
            f"{{parameter}} {wanted[0]}x{wanted[1]} has {pixels} pixels, and there are {table.X.shape[0]:,} samples of "
            f"{table.X.shape[1]:,} features",
            parameter="map_shape",
            kind="shape",
        )
    return replace(table, map_shape=wanted, image_shape=None)


def _order(table: Table) -> str:
    """In which order the pixels of a map lie: MATLAB's run down the columns."""
    return "F" if table.format == "MATLAB" and not any("cube" in note for note in table.notes) else "C"


def _images(found: Found, columns: Array) -> Array:
    shape = found.table.map_shape
    assert shape is not None
    return np.stack([column.reshape(shape, order=_order(found.table)) for column in columns.T])


def _axis(found: Found) -> tuple[Array, str]:
    """Places of the features, and their unit."""
    names = found.table.feature_names
    if names is None or not in_order(names):
        return np.arange(found.components.shape[1], dtype=float), "number of the band"
    numbers = [re.match(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(.*)", name) for name in names]
    values = np.array([float(one[1]) for one in numbers if one is not None])
    unit = numbers[0][2].strip() if numbers[0] is not None else ""
    quantity = QUANTITIES.get(unit.lower())
    return values, f"{quantity}, {unit}" if quantity else unit or "band"


def outputs(found: Found) -> list[Output]:
    """Abundances that sum to one, what is left by band, and the library's best matches by angle."""
    by_feature, by_sample = found.residual()
    abundances = found.shares()
    made = [
        Output(
            "abundances.csv",
            ["sample", *found.names, "rms_residual"],
            [
                [name, *map(figure, row), figure(left)]
                for name, row, left in zip(found.samples, abundances, by_sample, strict=True)
            ],
        ),
        Output(
            "residual_spectrum.csv",
            ["feature", "rms_residual"],
            [[name, figure(value)] for name, value in zip(found.features, by_feature, strict=True)],
        ),
    ]
    if found.settings.reference is not None:
        rows = [
            [part, rank + 1, name, figure(angle)]
            for part, best in _matches(found)
            for rank, (name, angle) in enumerate(best)
        ]
        made.append(Output("library.csv", ["part", "rank", "known", "angle_degrees"], rows))
    return made


def _matches(found: Found) -> list[tuple[str, list[tuple[str, float]]]]:
    """The known spectra at the smallest angles to each part."""
    assert found.settings.reference is not None
    names, known = aligned_reference(found.settings.reference, found.table.feature_names, found.components.shape[1])
    angles = np.degrees(np.arccos(cosines(found.components, known)))
    best = [np.argsort(row, kind="stable")[:SHOWN] for row in angles]
    return [(part, [(names[i], float(angles[j, i])) for i in best[j]]) for j, part in enumerate(found.names)]


def panels(found: Found) -> list[Panel]:
    """All spectra in one picture, maps of abundances, what is left."""
    x, unit = _axis(found)
    H = found.components
    scaled = H / np.maximum(H.max(axis=1, keepdims=True), 1e-300)
    by_feature, by_sample = found.residual()
    made: list[Panel] = [Lines("All spectra", x, found.names, scaled, unit, "share of its largest value")]
    if found.table.map_shape is not None and len(found.table.map_shape) == 2:
        abundances = np.column_stack([found.shares(), by_sample])
        note = "Shares of each pixel, from 0 to 1; the last picture is the root mean square of what is left."
        made.append(Maps("Abundance maps", [*found.names, "residual"], _images(found, abundances), note))
    made.append(Lines("What is left, by band", x, ["residual"], by_feature[None, :], unit, "root mean square"))
    if found.settings.reference is not None:
        rows = [[part, ", ".join(f"{name} ({angle:.1f}°)" for name, angle in best)] for part, best in _matches(found)]
        made.append(Listing("Library", ["endmember", "closest known spectra (angle)"], rows))
    return made


PROFILE = Profile(
    name="spectra",
    title="spectra and images of spectra",
    part="Endmember",
    sample="spectrum",
    feature="band",
    looks=looks,
    outputs=outputs,
    panels=panels,
    method="archetypes",
    shaped=shaped,
)
