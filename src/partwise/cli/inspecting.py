"""``partwise inspect``: what a saved model is, or what a file of data holds and how noisy it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partwise.cli.console import Failure, Voice, plain, told
from partwise.cli.models import model_path, open_model
from partwise.cli.options import grouped
from partwise.cli.reading import Reading
from partwise.cli.results import MODEL
from partwise.cli.wording import told_of

HIDDEN = ("n_components_", "n_features_in_")  # told in the first line


@grouped
def inspect(
    reading: Reading,
    path: Annotated[
        Path, typer.Argument(metavar="MODEL|DATA", help="A model file, the folder of a fit, or a file of data.")
    ],
    top: Annotated[int, typer.Option(min=1, help="Features shown of each part of a model.")] = 8,
    k: Annotated[
        int | None,
        typer.Option("-k", "--components", min=1, help="Parts of data: all that lies outside them is noise."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Say what a model is, or what data holds and what its noise looks like.

    Of a model: parameters, quality of the fit, origin, parts. Nothing in the
    file is executed. The share of a part is the sum of what it adds to all
    samples, relative to that of all parts; it is known for models that
    partwise fit has written.

    Of data: shape, range, missing numbers, empty rows and columns, and the
    kind of its noise.
    """
    voice = Voice(as_json=as_json, quiet=False)
    with voice.failing():
        if path.exists() and not path.is_dir() and path.suffix != Path(MODEL).suffix:
            _data(path, reading, k, voice)
            return
        known = describe(path, top)
        if as_json:
            voice.result(plain(known))
            return
        prepared = "" if known["preprocess"] == "none" else f", prepared by {known['preprocess']}"
        prepared += "" if known["weighing"] == "none" else f", weighed ({known['weighing']})"
        voice.say(f"{known['estimator']}: {known['n_components']} parts of {known['n_features']:,} features{prepared}")
        for title in ("parameters", "fit", "provenance"):
            _section(voice, title, known[title])
        for note in known["notes"]:
            voice.say(f"note: {note}")
        _parts(voice, known["parts"])


def _data(path: Path, reading: Reading, k: int | None, voice: Voice) -> None:
    """Tell what is in a file of data."""
    from partwise import sources
    from partwise.io import summarize
    from partwise.noise import name_noise

    with told(2):
        table = reading.read(str(path))
        if 0 in table.X.shape:
            raise Failure(f"{path}: there is no number in it (shape {table.X.shape})", 2)
        source = table.source()
        seen = sources.inspect(source)
        if k is not None and k > min(source.shape):
            n, m = source.shape
            raise Failure(f"-k {k} is too many for {n:,} samples of {m:,} features: at most {min(n, m)}", 2)
        voice.say(summarize(table, source))
        with told_of(str(path), table):
            noise = name_noise(source, k)
    voice.say(f"{'noise':<13}{noise}")
    voice.result(
        {
            "file": str(path),
            "shape": list(seen.shape),
            "dtype": str(seen.dtype),
            "nonzero": seen.nonzero,
            "negative": seen.n_negative,
            "zero_rows": seen.zero_rows,
            "zero_columns": seen.zero_columns,
            "noise": plain(noise.facts() | {"sentence": str(noise)}),
        }
    )


def describe(path: Path, top: int = 8) -> dict[str, Any]:
    """What there is to say about a model."""
    from partwise.io import model_info

    fitted, place = open_model(path), model_path(path)
    with told(2):
        info = model_info(place)
    return {
        "file": str(place),
        "estimator": info["estimator"],
        "n_components": len(fitted.components_),
        "n_features": int(fitted.n_features_in_),
        "dtype": str(fitted.components_.dtype),
        "preprocess": fitted.preparation_.kind,
        "weighing": "none" if fitted.weighing_.column_scale is None else fitted.weighing_.kind,
        "parameters": {name: _short(value) for name, value in info["parameters"].items() if name != "callbacks"},
        "fit": _facts(fitted),
        "provenance": info["provenance"],
        "notes": info["notes"],
        "parts": _described(fitted, top),
    }


def _facts(model: Any) -> dict[str, Any]:
    """Everything fitted that is one number or word."""
    import numpy as np

    found = {}
    ended = {name: getattr(model, name) for name in ("converged_", "stop_reason_") if hasattr(model, name)}
    for name, value in sorted((vars(model) | ended).items()):
        if name.endswith("_") and name not in HIDDEN and isinstance(value, (bool, int, float, str, np.generic)):
            found[name.rstrip("_")] = value.item() if isinstance(value, np.generic) else value
    return found


def _described(model: Any, top: int) -> list[dict[str, Any]]:
    import numpy as np

    H = np.asarray(model.components_)
    names = getattr(model, "feature_names_in_", None)
    shares = getattr(model, "part_shares_", None)
    parts = []
    for j in range(len(H)):
        best = [i for i in np.argsort(-np.abs(H[j]), kind="stable")[:top].tolist() if H[j, i]]
        features = [{"name": str(names[i]) if names is not None else f"feature_{i}", "value": H[j, i]} for i in best]
        share = None if shares is None else float(shares[j])
        parts.append({"name": model.part_names_[j], "share": share, "features": features})
    return parts


def _section(voice: Voice, title: str, values: dict[str, Any]) -> None:
    voice.say()
    voice.say(title, style="bold")
    for name, value in values.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {_text(one)}" for key, one in value.items())
        voice.say(f"  {name:<22}{_text(value)}")


def _parts(voice: Voice, parts: list[dict[str, Any]]) -> None:
    voice.say()
    voice.say("parts", style="bold")
    for part in parts:
        share = "" if part["share"] is None else f"{100.0 * part['share']:5.1f}%  "
        features = ", ".join(one["name"] + (" (negative)" if one["value"] < 0 else "") for one in part["features"])
        voice.say(f"  {part['name']:<14}{share}{features or '(zero)'}")


def _short(value: Any) -> Any:
    """Arrays by their shape."""
    return f"array of shape {tuple(value.shape)}" if hasattr(value, "shape") and value.shape else value


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
