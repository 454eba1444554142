"""The package's own errors and warnings."""

from __future__ import annotations


class InputError(ValueError):
    """An argument or the data cannot be used; the message says which, where and what to do."""


class ReaderError(InputError):
    """A file cannot be read; the message names the file, the line where it is text, and what is wrong."""


class MissingDependencyError(ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""


class DataNotFoundError(FileNotFoundError):
    """A real data set is neither under ``PARTWISE_DATA`` nor at a public source; the message says where to put it."""


class DegenerateDataWarning(UserWarning):
    """The data has all-zero rows or columns, or fewer usable dimensions than components."""
