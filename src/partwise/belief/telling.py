"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from partwise.belief.tolerance import CHANCE
from partwise.estimators.naming import default_name

if TYPE_CHECKING:
    from partwise.belief.bands import Bands
    from partwise.belief.judging import Verdict

EXCHANGED = 0.05  # share of a part that comes from another one, worth a word


def off(error: float) -> str:
    """An error (the sine of an angle: the length of what is wrong in a part of length one) in per cent."""
    return "100%" if error >= 0.995 else f"{100.0 * error:.2g}%"


def bands_sentence(bands: Bands) -> str:
    """What was found, and how much of it is proved."""
    noisy = any(bands.noise)
    if bands.verdict == "misfit":
        what = f"a score of {bands.misfit:.1f}" if noisy else f"{bands.misfit:.1g} of a sample or feature"
        found = (
            "the model does not fit: within its parts' span no factorization near it is non-negative "
            f"({'within the noise, ' if noisy else ''}what is negative has {what}), or the data has more dimensions"
        )
    elif bands.verdict == "rigid":
        found = (
            f"proved rigid: no path of factorizations leads farther than {bands.bound:.1g} away (locally; no other "
            "solution was found from other starts)"
        )
    elif bands.verdict == "still":
        found = "no movement found, which is no proof that there is none"
    else:
        i = int(np.argmax(bands.shift))
        partners = np.flatnonzero(bands.exchange[i] > EXCHANGED)
        named = f", by exchange with {', '.join(default_name(int(j)) for j in partners)}" if len(partners) else ""
        found = f"parts move: {default_name(i)} by up to {100.0 * bands.shift[i]:.2g}% of its mass{named}"
    if noisy and bands.verdict == "moves" and bands.misfit > CHANCE:
        found += f"; the fit itself is more negative than noise explains (a score of {bands.misfit:.1f})"
    if len(bands.others):
        count = len(bands.others)
        found += f"; {count} other solution{'s' * (count > 1)} found that no straight path leads to"
    if not bands.whole:
        found += "; each part was moved by itself, all together can move farther"
    if bands.done < 1.0:
        why = "interrupted" if bands.stop.kind == "interrupted" else "out of time"
        found += f"; {why} after {100.0 * bands.done:.0f}% of the search"
    return found


def reason(name: str, facts: dict[str, float], called: Callable[[int], str] = default_name) -> str:
    """A fact that speaks against a part, as words."""
    sentences = {
        "negative": f"it is negative: down to {facts['lowest']:.0%} of its largest value",
        "came-out-negative": f"it came out negative ({facts['below_zero']:.1%} of its squared size), though the data "
        "is not, and was fitted anew without negative entries",
        "colour": "the method lives by white noise, and what its parts leave over is not white but "
        f"{facts['colour']:.1f} times as large along one direction: then it is wrong in all halves alike",
        "noise": f"it is below the noise, by which alone it may be off by {off(facts['noise'])}",
        "one-sample": f"one sample makes it: {facts['largest_sample']:.0%} of the squares of its weights",
        "start": f"it is found only from this start: off by {off(facts['own_start'])} from the same random state, "
        f"{off(facts['other_start'])} from another",
        "confounded": f"it is confounded with {called(int(facts['partner']))}: {facts['exchange']:.0%} of its length "
        "are exchanged in halves of the samples",
        "room": f"the data would be explained as well if {off(facts['room'])} of it were something else",
        "always-there": "there is hardly a sample where it is absent: its share is "
        f"{facts['least_share']:.0%} or more in nearly all",
    }
    return sentences[name]


def verdict_cells(row: Verdict) -> list[str]:
    """A part, its verdict, its error with an interval, and the reasons, as cells of a table."""
    errors = ["", "", ""] if row.verdict == "given" else [off(error) for error in (row.expected_error, *row.interval)]
    return [default_name(row.part), row.verdict, *errors, "; ".join(reason(name, row.facts) for name in row.reasons)]


def verdict_line(row: Verdict, called: Callable[[int], str] = default_name) -> str:
    """A part, its verdict, its error and the reasons."""
    if row.verdict == "given":
        return f"{called(row.part)}: given"
    low, high = row.interval
    about = f"off by about {off(row.expected_error)} ({off(low)} to {off(high)})"
    if row.verdict == "not determined" and row.expected_error <= 0.3:  # something else speaks against it
        about = f"though halves of the samples agree within {off(row.expected_error)}"
    line = f"{called(row.part)}: {row.verdict}, {about}"
    return "; ".join([line, *(reason(name, row.facts, called) for name in row.reasons)])
