"""``partwise inspect``: what a saved model is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partwise.cli.console import Voice, plain, told
from partwise.cli.models import model_path, open_model
from partwise.cli.results import part_names

HIDDEN = ("n_components_", "n_features_in_")  # told in the first line


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, or the folder of a fit.")],
    top: Annotated[int, typer.Option(min=1, help="Features shown of each part.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Say what a model is: parameters, quality of the fit, origin, parts.

    Nothing in the file is executed. The share of a part is the sum of what it
    adds to all samples, relative to that of all parts; it is known for models
    that partwise fit has written.
    """
    voice = Voice(as_json=as_json, quiet=False)
    with voice.failing():
        known = describe(model, top)
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
    order = range(len(H)) if shares is None else np.argsort(-np.asarray(shares), kind="stable").tolist()
    parts = []
    for j in order:
        best = [i for i in np.argsort(-np.abs(H[j]), kind="stable")[:top].tolist() if H[j, i]]
        features = [{"name": str(names[i]) if names is not None else f"feature_{i}", "value": H[j, i]} for i in best]
        share = None if shares is None else float(shares[j])
        parts.append({"name": part_names(len(H))[j], "share": share, "features": features})
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
