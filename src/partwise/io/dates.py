"""Dates as people write them, with the year first as they can be sorted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

YEAR_FIRST = re.compile(r"\d{4}(?!\d)")
SHORT = re.compile(r"(?<=^\d{4}[-/.])\d(?!\d)|(?<=^\d{4}[-/.]\d\d[-/.])\d(?!\d)")  # months and days of one digit
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
        As many; of those that had the year first months and days of one digit have two.

    Examples
    --------
    >>> from partwise.io.dates import year_first
    >>> year_first(["31.12.2024", "", "1.2.2024"])
    ['2024-12-31', '', '2024-02-01']
    >>> year_first(["1/31/2024", "2/1/2024"])
    ['2024-01-31', '2024-02-01']
    >>> year_first(["2024-9-1", "2024-10-31", "2024"])
    ['2024-09-01', '2024-10-31', '2024']
    >>> year_first(["1/2/2024"]) is None  # January or February
    True
    """
    told = [date.strip() for date in dates]
    if all(not date or YEAR_FIRST.match(date) for date in told):
        return [SHORT.sub(_two, SHORT.sub(_two, date)) for date in told]
    plain = [" ".join(CLOCK.sub("", date).replace(",", " ").split()) for date in told]
    ways = {tuple(found) for form in WRITTEN if (found := _read(plain, form)) is not None}
    return list(ways.pop()) if len(ways) == 1 else None


def _two(digit: re.Match[str]) -> str:
    return f"0{digit[0]}"


def _read(dates: Sequence[str], form: str) -> list[str] | None:
    shown = "%Y-%m-%d" if "%d" in form else "%Y-%m"
    try:
        return [date and datetime.strptime(date, form).strftime(shown) for date in dates]
    except ValueError:
        return None
