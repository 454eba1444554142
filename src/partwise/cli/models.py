"""A model that is named on the command line: its file, or the folder of a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partwise.cli.console import Failure, told
from partwise.cli.results import MODEL


def is_model(path: Path) -> bool:
    """Whether a file or folder is called as models are."""
    return (path / MODEL).is_file() or (path.is_file() and path.suffix == Path(MODEL).suffix)


def model_path(path: Path) -> Path:
    """The file of the model."""
    from partwise.runs import CHECKPOINT

    if not path.exists():
        raise Failure(f"{path}: there is no such file or folder", 2)
    if not path.is_dir():
        return path
    if (path / MODEL).is_file():
        return path / MODEL
    hint = "; its fit was not finished (--resume goes on)" if (path / CHECKPOINT).is_file() else ""
    raise Failure(f"{path} holds no {MODEL}{hint}", 2)


def open_model(path: Path) -> Any:
    """The fitted model."""
    from partwise.estimators.saving import load

    place = model_path(path)
    with told(2):
        model = load(place)
    if not hasattr(model, "components_"):
        raise Failure(f"{place} holds a {type(model).__name__} that is not fitted", 2)
    return model
