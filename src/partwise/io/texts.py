"""A folder of texts as counts of words."""

from __future__ import annotations

from pathlib import Path

from partwise.datasets.text import read_texts
from partwise.door.guard import check_memory, of_file
from partwise.exceptions import InputError
from partwise.io.table import Table


def text_files(folder: Path) -> list[Path]:
    """The texts in a folder and below."""
    return [file for file in folder.rglob("*.txt") if file.is_file()]


def read_text_folder(path: Path, *, min_count: int = 1, encoding: str = "utf-8") -> Table:
    """Count the words of every ``.txt`` file in a folder and below.

    Parameters
    ----------
    path : pathlib.Path
        The folder.
    min_count : int, default=1
        Words that occur less often in all texts together are left out.
    encoding : str, default="utf-8"
        Of the texts.

    Returns
    -------
    Table
        Texts as rows, words as columns, with the names of both.
    """
    # words are counted in memory, which takes several times the text
    check_memory(path, 8.0 * sum(file.stat().st_size for file in text_files(path)))
    try:
        found = read_texts(path, min_count=min_count, encoding=encoding)
    except InputError as error:
        raise of_file(path, error) from error
    notes = ("words of two or more letters; English stop words are left out",)
    return Table(found.X, found.feature_names, found.sample_names, origin=str(path), format="texts", notes=notes)
