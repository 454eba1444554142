"""Files in and out: readers of data, summaries of it, and the safe format of models."""

from partwise.io.atomic import write_atomically
from partwise.io.model import Document, model_info, read_document, write_document
from partwise.io.opening import open_source
from partwise.io.preparation import Preparation, prepare
from partwise.io.reading import read
from partwise.io.summary import summarize
from partwise.io.table import Table

__all__ = [
    "Document",
    "Preparation",
    "Table",
    "model_info",
    "open_source",
    "prepare",
    "read",
    "read_document",
    "summarize",
    "write_atomically",
    "write_document",
]
