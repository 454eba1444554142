"""Tables of the documentation that are made of results, between marks of the pages they stand on."""

from __future__ import annotations

from collections.abc import Iterable


def insert(page: str, name: str, text: str) -> str:
    """A page with what stands between the marks of a name made anew; as it is where there are no marks.

    Parameters
    ----------
    page : str
        The page, in Markdown.
    text : str
        The table; nothing leaves the place empty.
    """
    begin, end = marks(name)
    if begin not in page or end not in page:
        return page
    before, _, rest = page.partition(begin)
    # a table of Markdown needs an empty line on either side
    return before + begin + (f"\n{text}\n" if text else "") + end + rest.partition(end)[2]


def marks(name: str) -> tuple[str, str]:
    """The lines between which the table of an experiment stands.

    Returns
    -------
    begin, end : str
        Comments of Markdown.
    """
    return f"<!-- {name}: made by `partwise lab document`, change nothing in here -->\n", f"<!-- end of {name} -->\n"


def row(cells: Iterable[str]) -> str:
    """A line of a table.

    Returns
    -------
    str
        Markdown.
    """
    return f"| {' | '.join(cells)} |"
