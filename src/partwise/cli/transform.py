"""``partwise transform``: the weights of new data for the parts that a model has found."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partwise.cli.console import Failure, errors, told
from partwise.cli.files import make_folder
from partwise.cli.models import is_model, open_model
from partwise.cli.options import Saying, grouped
from partwise.cli.reading import Reading, names_note
from partwise.cli.results import FORMATS
from partwise.cli.wording import suspected, told_of

if TYPE_CHECKING:
    from partwise.io import Table
    from partwise.sources import RowSource

WORDS = ("texts", "documents")
SUFFIXES = tuple(f".{kind}" for kind in FORMATS)


@grouped
def transform(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, or the folder of a fit.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="What partwise fit takes.")],
    reading: Reading,
    saying: Saying,
    out: Annotated[
        Path, typer.Option("--output", "-o", help=f"File for the weights, which ends in {', '.join(SUFFIXES)}.")
    ] = Path("weights.csv"),
    ignore_extra: Annotated[
        bool, typer.Option("--ignore-extra", help="Drop features that the model does not know.")
    ] = False,
    fill_missing: Annotated[
        bool, typer.Option("--fill-missing", help="Take features that DATA lacks for 0 (words, for example).")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of -o if it exists.")] = False,
) -> None:
    """Write the weights of new data for the parts of a model.

    The data is prepared as it was for the fit (tf-idf and the like). Features
    are matched by name where both have names, and may come in any order;
    without names their number must agree. What the fit left out (--varying,
    --columns, --drop), or the modality that it took, need not be told again.

    Exit codes: 0 done, 1 failed, 2 wrong usage or data that cannot be used,
    130 interrupted.
    """
    from partwise.runs.progress import bar, reading_step, step

    voice = saying.voice
    with voice.failing():
        if out.suffix.lower() not in SUFFIXES or out.is_dir():
            raise Failure(f"-o {out}: give a file that ends in {', '.join(SUFFIXES)}", 2)
        if out.exists() and Path(data).exists() and out.samefile(data):
            raise Failure(f"-o {out} is DATA, which would be lost: give another file", 2)
        if out.exists() and not overwrite:
            raise Failure(f"-o {out} exists already: --overwrite replaces it", 2)
        if is_model(Path(data)) and not is_model(model):
            raise Failure(f"MODEL comes before DATA: partwise transform {data} {model}", 2)
        fitted = open_model(model)
        make_folder(out.parent)
        with bar(errors(), hidden=saying.quiet) as progress:
            with reading_step(progress, data):
                kept = _kept(model)
                table = _read(_as_fitted(reading, kept, fitted, data), kept, data)
                table, turned = _as_told(table, fitted, reading.transpose)
                words = table.format in WORDS  # those that the model does not know are none of its features
                left_out = any(name in kept for name in ("varying", "columns", "drop"))  # as in the fit
                ignore_extra, fill_missing = ignore_extra or words or left_out, fill_missing or words
                source = _matched(fitted, table, data, ignore_extra=ignore_extra, fill_missing=fill_missing)
            with step(progress, "Weights"):
                weights, error = _weights(fitted, source, data, table)
            with step(progress, "Writing"):
                _write(out, weights, fitted.part_names_, table)
        n, k = weights.shape
        voice.warn([*names_note(table), *turned, *_unnamed(fitted, table), *_suspected(fitted, table, source)])
        voice.say(f"Weights of {n:,} samples for {k} parts, relative error {error:.4g}: {out}")
        voice.result(
            {"status": "complete", "weights": str(out), "shape": [n, k], "error": error, "model": str(model)}
            | {"data": data}
        )


def _kept(path: Path) -> dict[str, Any]:
    """How the data of the fit was read, if the folder of the model tells."""
    from partwise.exceptions import InputError
    from partwise.runs import MANIFEST, read_manifest

    folder = path if path.is_dir() else path.parent
    if (folder / MANIFEST).is_file():
        with suppress(InputError, OSError):
            return dict(read_manifest(folder, {"job": dict}, of="partwise fit")["job"].get("reading", {}))
    return {}


def _as_fitted(reading: Reading, kept: dict[str, Any], model: Any, data: str) -> Reading:
    """How new texts and modalities are read: as those of the fit, of which its folder and the model's words tell."""
    if kept.get("modality") and reading.modality is None and data.lower().endswith(".h5mu"):
        reading = replace(reading, modality=kept["modality"])
    if set(reading.given()) - {"modality"}:
        return reading
    names = getattr(model, "feature_names_in_", ())
    wanted: dict[str, Any] = {name: kept[name] for name in ("format", "text", "encoding") if name in kept}
    if wanted.get("format") == "documents" and Path(data).is_dir():
        wanted = {name: value for name, value in wanted.items() if name == "encoding"}
    elif wanted.get("format") != "documents" and not Path(data).is_dir():
        return reading
    longest = max((str(name).count(" ") + 1 for name in names), default=1)
    with_texts = wanted.get("format") == "documents" or (Path(data).is_dir() and "ngrams" in kept)
    if longest > 1 and with_texts:
        wanted["ngrams"] = longest
    return replace(reading, **wanted)


def _read(reading: Reading, kept: dict[str, Any], data: str) -> Table:
    """DATA, without the columns that the fit left out where it has them."""
    if reading.drop is None and kept.get("drop"):
        return replace(reading, drop=kept["drop"]).read(data, there=False)
    return reading.read(data)


def _suspected(model: Any, table: Table, source: RowSource) -> list[str]:
    """What is surely a mistake in the new data."""
    from partwise.io import Table as Seen
    from partwise.io.suspicions import suspicions

    names = getattr(model, "feature_names_in_", None)
    seen = Seen(None, None if names is None else list(map(str, names)), table.sample_names)
    found = suspicions(seen, source, preparation=getattr(model, "preparation", "none"), sure=True)
    return [f"{text[:1].upper()}{text[1:]}." for text in map(suspected, found)]


def _as_told(table: Table, model: Any, transpose: bool) -> tuple[Table, list[str]]:
    """Samples as rows: the names of the features say which way round a table is, as --as signatures takes it."""
    wanted = set(getattr(model, "feature_names_in_", ()))
    columns, rows = set(table.feature_names or ()), set(table.sample_names or ())
    if transpose or not wanted or not columns or wanted & columns or not wanted <= rows:
        return table, []
    return table.transposed(), ["Samples are taken from columns: rows have the names of the model's features."]


def _unnamed(model: Any, table: Table) -> list[str]:
    """That features are taken by their places, where the data or the model alone has names."""
    named = getattr(model, "feature_names_in_", None)
    if (named is None) == (table.feature_names is None):
        return []
    without, has = ("the data has", "the model") if named is not None else ("the model has", "the data")
    return [f"Features are taken in their order: {without} no names of them, and {has} has."]


def _matched(model: Any, table: Table, data: str, *, ignore_extra: bool, fill_missing: bool) -> RowSource:
    """The rows with the model's features."""
    from partwise.exceptions import InputError
    from partwise.io.matching import match_features

    source, wanted = table.source(), getattr(model, "feature_names_in_", None)
    turned = table.X.shape[0] == model.n_features_in_ != table.X.shape[1]
    hint = "; its rows are as many as the model's features: is it to be read with --transpose?" if turned else ""
    with told_of(data, table):
        if wanted is not None and table.feature_names is not None:
            source = match_features(
                source, table.feature_names, list(wanted), ignore_extra=ignore_extra, fill_missing=fill_missing
            )
        elif source.shape[1] != model.n_features_in_:
            raise InputError(f"it has {source.shape[1]:,} features, and the model {model.n_features_in_:,}{hint}")
        return source


def _weights(model: Any, source: RowSource, data: str, table: Table) -> tuple[Any, float]:
    from partwise.estimators.weights import relative_error, stored_weights

    with told_of(data, table), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = stored_weights(model, source)
        return weights, relative_error(model, source, weights)


def _write(out: Path, weights: Any, parts: list[str], table: Table) -> None:
    from partwise.io.writing import write_table

    try:
        with told():
            write_table(out, weights, parts, names=table.sample_names)
    except Failure as failure:
        raise Failure(f"cannot write {out}: {failure.message}") from failure
