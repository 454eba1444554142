"""``partwise methods``: what there is."""

from __future__ import annotations

import inspect


def methods() -> None:
    """List the methods, each with a line that says what it is."""
    from rich.table import Table

    from partwise import estimators
    from partwise.cli.console import output

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name in estimators.__all__:
        table.add_row(name, summary(getattr(estimators, name)))
    output().print(table)


def summary(estimator: type) -> str:
    """The first line of the estimator's documentation."""
    return (inspect.getdoc(estimator) or "").partition("\n")[0]
