"""Dates as people write them, with the year first as they can be sorted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

YEAR_FIRST = re.compile(r"\d{4}(?!\d)")
# of one of these all dates are; day and month may change places, which the dates themselves must tell
WRITTEN: tuple[str, ...] = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
WRITTEN += ("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d %Y", "%B %d %Y", "%b %Y", "%B %Y", "%Y%m%d")
CLOCK = re.compile(r"[T ]\d{1,2}:\d{2}.*$")


def year_first(dates: Sequence[str]) -> list[str] | None:
    """The dates with the year first, empty ones as they are; None where they may be read in two ways, or in none.

    Parameters
    ----------
    dates : sequence of str
        As they stand in a file.

    Returns
    -------
    list of str or None
        As many; those that had the year first are unchanged.

    Examples
    --------
    >>> from partwise.io.dates import year_first
    >>> year_first(["31.12.2024", "", "1.2.2024"])
    ['2024-12-31', '', '2024-02-01']
    >>> year_first(["1/31/2024", "2/1/2024"])
    ['2024-01-31', '2024-02-01']
    >>> year_first(["1/2/2024"]) is None  # January or February
    True
    """
    told = [date.strip() for date in dates]
    if all(not date or YEAR_FIRST.match(date) for date in told):
        return list(dates)
    plain = [" ".join(CLOCK.sub("", date).replace(",", " ").split()) for date in told]
    ways = {tuple(found) for form in WRITTEN if (found := _read(plain, form)) is not None}
    return list(ways.pop()) if len(ways) == 1 else None


def _read(dates: Sequence[str], form: str) -> list[str] | None:
    shown = "%Y-%m-%d" if "%d" in form else "%Y-%m"
    try:
        return [date and datetime.strptime(date, form).strftime(shown) for date in dates]
    except ValueError:
        return None
