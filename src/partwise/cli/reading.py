"""The options that say how DATA is read, the same for every command that reads."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from partwise.cli.console import as_text, told

if TYPE_CHECKING:
    from partwise.io import Table

PANEL = "Reading"
DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
KINDS = (
    "10x, delimited, documents, docword, envi, h5ad, idx, images, mat, mtx, npy, npz, parquet, parts, signals, "
    "tables, texts, xlsx, zarr"
)
MIB = 1 << 20


def _option(*names: str, **how: Any) -> Any:
    return typer.Option(*names, rich_help_panel=PANEL, **how)


@dataclass(frozen=True)
class Reading:
    """How DATA is read; None is the reader's own choice."""

    format: Annotated[
        str | None,
        _option("--format", help=f"One of {KINDS}; by default the content tells."),
    ] = None
    transpose: Annotated[bool, _option("--transpose", help="Samples are columns in the file.")] = False
    delimiter: Annotated[
        str | None,
        _option("--delimiter", help="Between the cells of text: a character, tab or space."),
    ] = None
    header: Annotated[
        bool | None,
        _option("--header/--no-header", help="Whether the first line of text has names."),
    ] = None
    row_names: Annotated[
        bool | None,
        _option("--row-names/--no-row-names", help="Whether the first column of text has names."),
    ] = None
    decimal: Annotated[
        str | None,
        _option("--decimal", help="What stands before decimals in text: . or ,"),
    ] = None
    encoding: Annotated[str | None, _option("--encoding", help="Of text; UTF-8 by default.")] = None
    variable: Annotated[
        str | None,
        _option("--variable", help="Which matrix of a .mat, .npz or zarr file, or sheet, if there are several."),
    ] = None
    layer: Annotated[
        str | None,
        _option("--layer", help="Which matrix of an .h5ad or .h5mu file: a layer, or raw; X by default."),
    ] = None
    modality: Annotated[
        str | None,
        _option("--modality", help="Which modality of an .h5mu file, such as rna, if there are several."),
    ] = None
    vocabulary: Annotated[
        str | None,
        _option("--vocabulary", help="Words of a docword file; vocab... beside it by default."),
    ] = None
    min_count: Annotated[
        int | None,
        _option("--min-count", min=1, help="Leave out words that a folder of texts has less often."),
    ] = None
    text: Annotated[
        str | None, _option("--text", metavar="COLUMN", help="Column of texts, of a table or of JSON lines.")
    ] = None
    date: Annotated[str | None, _option("--date", metavar="COLUMN", help="Column of dates of texts.")] = None
    stop_words: Annotated[
        str | None,
        _option(
            "--stop-words",
            help="Words to leave out: english, german, french ..., none, or a file of words.",
        ),
    ] = None
    ngrams: Annotated[
        int | None, _option("--ngrams", min=1, max=5, help="Longest run of words that counts as one.")
    ] = None
    min_share: Annotated[
        float | None, _option("--min-share", min=0.0, max=1.0, help="Leave out words that fewer of the texts have.")
    ] = None
    max_share: Annotated[
        float | None, _option("--max-share", min=0.0, max=1.0, help="Leave out words that more of the texts have.")
    ] = None
    duplicates: Annotated[
        str | None,
        _option("--duplicates", help="Names that occur twice: error, or number them."),
    ] = None
    feature_names: Annotated[
        str | None,
        _option("--feature-names", help="File with a name a line, for data without them."),
    ] = None
    sample_names: Annotated[
        str | None,
        _option("--sample-names", help="File with a name a line, for data without them."),
    ] = None
    columns: Annotated[
        str | None,
        _option("--columns", metavar="NAMES", help="Only these features: names with commas between; * stands for any."),
    ] = None
    drop: Annotated[
        str | None,
        _option("--drop", metavar="NAMES", help="Leave these features out, or columns of text; as --columns."),
    ] = None
    varying: Annotated[
        int | None,
        _option(
            "--varying", min=1, metavar="N", help="Only the N features that vary most for their mean, as for genes."
        ),
    ] = None
    quiet_names: Annotated[
        bool,
        _option("--quiet-names", help="Make names plain text that are formulas to a spreadsheet, or steer a terminal."),
    ] = False
    in_memory: Annotated[
        int | None,
        _option("--in-memory", min=0, metavar="MIB", help="More than this stays on disk; 256 by default."),
    ] = None

    @classmethod
    def of_json(cls, values: Any) -> Reading:
        """From a manifest; TypeError where that has something else in place of an option."""
        for name, kind in get_type_hints(cls).items():
            if name in values and not isinstance(values[name], kind):
                raise TypeError(f"{name} is {values[name]!r}")
        return cls(**values)

    def given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}

    def read(self, path: str, *, there: bool = True) -> Table:
        """Read DATA, or fail with what is wrong with it: features to drop that must be ``there`` and are not."""
        from partwise.cli.picking import STANDARD, read_stream, selected
        from partwise.io.reading import table_of
        from partwise.io.selecting import patterns, without

        options = {name: value for name, value in self.given().items() if name not in SPECIAL}
        if self.delimiter:
            options["delimiter"] = DELIMITERS.get(self.delimiter, self.delimiter)
        drop = patterns(self.drop or "")
        options |= {"drop": () if self.feature_names else drop, "there": there}
        if self.in_memory is not None:
            options["in_memory"] = self.in_memory * MIB
        with told(2):
            table = read_stream(options) if path == STANDARD else table_of(path, **options)
            table = without(replace(table, **self._names(table)), drop if self.feature_names else (), there=there)
            return selected(table, self.columns, self.varying)

    def _names(self, table: Table) -> dict[str, Any]:
        from partwise.io.matrix_market import read_names
        from partwise.io.writing import quiet_name

        found: dict[str, Any] = {"feature_names": table.feature_names, "sample_names": table.sample_names}
        for name, file, axis in (("feature_names", self.feature_names, 1), ("sample_names", self.sample_names, 0)):
            if file:
                found[name] = read_names(Path(file), table.X.shape[axis], duplicates=self.duplicates or "error")
        plain = quiet_name if self.quiet_names else as_text
        return {name: names and [plain(as_text(one)) for one in names] for name, names in found.items()}


SPECIAL = ("delimiter", "in_memory", "feature_names", "sample_names", "quiet_names", "columns", "drop", "varying")


def names_note(table: Table) -> list[str]:
    """What is to be told of names that are more than text to the programs that will show the results."""
    from partwise.io.writing import live_names

    live = [name for names in (table.feature_names, table.sample_names) for name in live_names(names or [])]
    if not live:
        return []
    count = f"{len(live):,} name{'s' * (len(live) != 1)}"
    return [
        f"{count}, such as {live[0][:40]!r}, are formulas to a spreadsheet or steer a terminal; the results hold them "
        "as they are, and --quiet-names makes them plain text."
    ]


def flags(reading: Reading) -> list[str]:
    """The options that would read the same way."""
    words = []
    for name, value in reading.given().items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is False:
            words.append(f"--no-{name.replace('_', '-')}")
        else:
            words += [flag, str(value)]
    return words
