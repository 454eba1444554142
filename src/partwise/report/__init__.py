"""The report of a fitted model: numbers gathered in one pass over the data, then one page that needs nothing else."""

from partwise.report.writing import write_report

__all__ = ["write_report"]
