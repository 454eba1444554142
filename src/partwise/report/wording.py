"""Numbers and reasons in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.belief.judging import ROUGH
from partwise.belief.telling import off
from partwise.estimators.telling import reason
from partwise.metrics.conditions.induction import BETA
from partwise.outcomes import CHANGE, GAP, KKT, Stop

Array = npt.NDArray[Any]

# what is measured between two halves of the samples, by the column of the history
BETWEEN_HALVES = {
    "E_s": "|E|: how much of other parts is in each",
    "potential": f"Potential of the proof, a + {BETA:g} b",
    "decoding": "Difference of the weights that both decode",
    "alpha": "Threshold by the rule of AND's Theorem 4",
}
NOT_SCATTERED = (
    "The weights are not scattered enough for the parts to be unique by the known condition: a direction was found in "
    "which all samples leave room. Other parts may explain the data as well with no more volume."
)
ONE_PART_EACH = (
    "A single part explains each sample up to noise, as a topic does its texts. The parts are therefore the means of "
    "all samples that are next to them; which part is the largest tells of a sample, the others' shares tell little."
)
NOUN = r"\b(?:(?P<a>[Aa]) )?(?P<noun>[Pp]art|[Ss]ample)(?P<many>s?)\b"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def many(word: str) -> str:
    """The plural of what things of a field are called."""
    return {"spectrum": "spectra", "kind of mutation": "kinds of mutations"}.get(word, f"{word}s")


def in_field(text: str, words: tuple[str, str, str], names: Iterable[str] = ()) -> str:
    """A sentence about parts and samples in the words of a field; names, in which these may occur, are left alone.

    Examples
    --------
    >>> from partwise.report.wording import in_field
    >>> in_field("A part of few samples: part A.", ("endmember", "spectrum", "band"), ["part A"])
    'An endmember of few spectra: part A.'
    """
    nouns = {"part": words[0], "sample": words[1]}
    if all(noun == word for noun, word in nouns.items()):
        return text
    kept = sorted((name for name in names if re.search(NOUN, name) and name in text), key=len, reverse=True)

    def put(found: re.Match[str]) -> str:
        if found["name"]:
            return found["name"]
        noun = nouns[found["noun"].lower()]
        noun = many(noun) if found["many"] else noun
        if found["a"]:
            return f"{found['a']}{'n' if noun[0] in 'aeiou' else ''} {noun}"
        return noun[:1].upper() + noun[1:] if found["noun"][0].isupper() else noun

    return re.sub(f"(?P<name>{'|'.join(map(re.escape, kept)) or '(?!)'})|{NOUN}", put, text)


def percent(share: float) -> str:
    """A share with one decimal, and never 0 or 100 by rounding alone."""
    if 0.0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1.0:
        return ">99.9%"
    return f"{100.0 * share:.1f}%"


def explained(unexplained: float) -> str:
    """The share that is explained, with as many nines as there are, up to five."""
    if not unexplained < 0.001:
        return percent(max(0.0, 1.0 - unexplained))
    if unexplained < 1e-5:
        return ">99.999%" if unexplained > 1e-14 else "100%"
    decimals = next(d for d in range(2, 4) if d == 3 or unexplained * 10 ** (d + 2) >= 1.0)
    return f"{np.floor((1.0 - unexplained) * 10 ** (decimals + 2)) / 10**decimals:.{decimals}f}%"


def filled_in(unknown: float) -> str:
    """That entries are not known."""
    return (
        f"{percent(unknown)} of the entries of the data are not known. The parts were found without them; in pictures "
        "and statistics of samples on this page they have the values that the parts give them."
    )


def number(value: float) -> str:
    """Three figures; powers of ten where zeros would be many."""
    if value == 0.0 or value != value or abs(value) == float("inf"):
        return "0" if value == 0.0 else str(value)
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return times(mantissa, int(exponent))


def times(mantissa: str, exponent: int) -> str:
    """A number times a power of ten, on one line; the power alone where the number is 1."""
    mantissa = mantissa.removesuffix(".0")
    return power(exponent) if mantissa == "1" else f"{mantissa}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{power(exponent)}"


def power(exponent: int) -> str:
    """A power of ten."""
    return {0: "1", 1: "10", 2: "100", 3: "1,000"}.get(exponent, "10" + str(exponent).translate(SUPERSCRIPTS))


def count(things: int, one: str, many: str | None = None) -> str:
    """As many things, in words: "1 part", "2,000 parts"."""
    return f"{things:,} {one if things == 1 else many or one + 's'}"


def seconds(duration: float) -> str:
    """A duration."""
    if duration < 0.001:
        return "<1 ms"
    if duration < 0.1:
        return f"{1000.0 * duration:.0f} ms"
    if duration < 60.0:
        return f"{duration:.1f} s"
    minutes, rest = divmod(round(duration), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def listed(things: list[str], most: int = 6, total: int | None = None) -> str:
    """The first things, and how many more there are."""
    total = len(things) if total is None else total
    first = things[:most]
    rest = total - len(first)
    if rest:
        return f"{', '.join(first)} and {rest:,} more"
    return " and ".join(filter(None, [", ".join(first[:-1]), first[-1]]))


def ending(stop: Stop | None, n_iter: int | None, *, wanted: bool = True) -> str:
    """Why a fit stopped, as a sentence.

    Parameters
    ----------
    stop : Stop or None
        The estimator's ``stop_``; None for a method that does not iterate, or learns step by step.
    wanted : bool, default=True
        Whether convergence was asked for (a tolerance above 0).
    """
    if stop is None:
        direct = "The method computes its parts directly, without iterations."
        return direct if n_iter is None else "It was trained bit by bit, and can go on."
    iterations = count(n_iter or 0, "iteration")
    if stop.kind == "converged" and stop.measure == KKT and stop.before is None:
        level, tol = number(stop.value), number(stop.tolerance)
        return f"It converged: the residual of the optimality conditions fell to {level}, within the tolerance {tol}."
    if stop.kind == "converged" and stop.measure == CHANGE and stop.before is None:
        return f"It converged: the last step changed the components by only {number(stop.value)}."
    if stop.kind == "converged" and stop.measure == GAP and stop.before is None:
        if not stop.value > 0.0:
            return "It converged: no step lowers the objective any more."
        return f"It converged: no step could lower the objective by more than {number(stop.value)} of itself."
    if stop.kind == "max_iter" and not stop.cause:
        if not wanted:
            return f"It did the {iterations} that were asked for."
        return f"It did not converge: the limit of {iterations} came first."
    if stop.kind == "callback":
        return f"A callback stopped it after {iterations}."
    if stop.kind == "interrupted":
        return f"It was interrupted by the user after iteration {n_iter or 0}."
    if stop.kind == "done" and not stop.cause:
        return "It did all of its steps."
    how = "converged" if stop.converged else "did not converge" if wanted else "ended"
    return f"It {how}: {reason(stop)}."


def between_halves(first: float, last: float, rate: float, apart: list[str]) -> str:
    """What two halves of the samples, fitted each by itself, say of the fit.

    Parameters
    ----------
    first, last, rate : float
        Size of E between them at the start and at the end, and its factor of an iteration, NaN if it did not fall.
    apart : list of str
        The parts on which they do not agree.
    """
    verdict = f"do not agree on {listed(apart)}" if apart else "agree"
    begin = f"Two halves of the samples, each fitted by itself, {verdict}: "
    if np.isnan(last):
        return begin + "the parts of one depend on each other, and nothing can be said of E."
    if np.isnan(rate):
        return begin + f"|E| between them did not fall, from {number(first)} at the start to {number(last)}."
    return (
        begin + f"|E| between them fell from {number(first)} to {number(last)}, at a rate of {rate:.2g} an iteration."
    )


def halves_error(errors: Array) -> str:
    """What disagreeing halves say of the errors of the parts, and what they cannot say."""
    low, high = number(float(errors.min())), number(float(errors.max()))
    span = low if low == high else f"{low} to {high}"
    return (
        f"Samples and noise leave an error of about {span} in a part (the sine of an angle: half of what the halves "
        "differ by). What goes wrong in both halves in the same way does not show here."
    )


def weighed(kind: str) -> str:
    """In which space parts were found, and in which units all is told."""
    noise = {"poisson": "counting noise", "over-dispersed": "counting noise with some extra"}.get(kind, f"{kind} noise")
    return (
        f"Rows and columns were divided by the size of their noise ({noise}) while the parts were sought; parts, "
        "weights and errors are in the data's own units, the curves of the fit in those of the noise. "
    )


def set_aside(names: list[str]) -> str:
    """That samples had no say in the parts."""
    be, them = ("is unlike all others and was", "it") if len(names) == 1 else ("are unlike all others and were", "them")
    return (
        f"{listed(names, 10)} {be} set aside: a direction or a feature of the data rests on {them} alone, or there is "
        f"nothing in {them}. No part is made of such samples; their weights are those of the parts of the others."
    )


def toss(rival: float) -> str:
    """That another minimum of Archetypes is as good."""
    how = (
        f"nearly as well: its objective is larger by only {percent(rival)}"
        if rival > 0.0
        else ("as well or better, and makes samples less pure")
    )
    return (
        f"Another set of parts explains the data {how}. "
        "Which of the two is right the data hardly says; other samples, or another number of parts, may."
    )


def none_of_them(share: float) -> str:
    """That some samples are far from all parts of Archetypes."""
    return (
        f"{percent(share)} of the samples are at least five times as far from the span of the parts as the typical "
        "one. They are outliers, or a part that few samples have is missing: then two of the parts may be variants of "
        "one. Look at these samples, or ask for one part more."
    )


def impure(moved: float) -> str:
    """That the parts of Archetypes are biased towards the middle."""
    return (
        "Hardly any sample is pure: when fewer, more extreme samples were averaged the parts moved outwards, by "
        f"{percent(moved)} of the angle to their neighbour in the median. The true parts are likely to be farther out "
        "still."
    )


def came_out_negative(parts: list[tuple[str, float]], cost: float) -> str:
    """Which parts came out negative, with the shares of their squared size, and what fitting them anew cost, if so."""
    named = [f"{name} ({percent(share)})" for name, share in parts] or ["A part"]
    refitted = f"which {'raised' if cost > 0 else 'lowered'} the relative error by {number(abs(cost))}"
    outcome = (
        "They are kept as they are, as was asked."
        if math.isnan(cost)
        else f"All parts were fitted anew without negative entries, {refitted}."
    )
    return (
        f"{listed(named)} came out negative, though the data is not; in brackets, the share of the squared size. "
        f"Noise, or parts that vary from sample to sample, misled the method. {outcome} "
        "Do not trust them without a look; Archetypes is made for such data."
    )


def coloured(colour: float) -> str:
    """That the noise is not white, for methods that live by its size."""
    return (
        "What the parts leave over is not white noise: along its strongest direction it is "
        f"{colour:.1f} times as large as that would be. Parts vary from sample to sample, or one more is in the data. "
        "The method allows for it, but parts can be far off; hold them against those of Archetypes."
    )


def enclosed(moved: float) -> str:
    """That the parts of Archetypes are those of a simplex around the samples."""
    return (
        "Hardly any sample is pure: when fewer, more extreme samples were averaged the parts moved outwards, by "
        f"{percent(moved)} of the angle to their neighbour in the median. The parts are therefore the corners of the "
        "smallest simplex around the samples (MinVol), outside of all of them: no sample looks like one."
    )


def few_samples(parts: list[tuple[str, float]]) -> str:
    """Which parts rest on few samples, with their shares."""
    named = [f"{name} ({percent(share)})" for name, share in parts]
    rest = "rests" if len(parts) == 1 else "rest"
    return f"{listed(named)} {rest} on few samples; in brackets, the share in all of them."


def negative(parts: list[tuple[str, float]]) -> str:
    """Which parts have negative entries, with the lowest of them relative to the largest."""
    named = [f"{name} (down to −{percent(-lowest)} of its largest value)" for name, lowest in parts]
    verb, they = ("is", "it is not one") if len(parts) == 1 else ("are", "they are not such")
    return f"{listed(named)} {verb} negative. If the data is made of non-negative parts, {they}."


def undetermined(error: float, interval: tuple[float, float], why: list[str]) -> str:
    """That a part is not to be believed, how wrong it may be, and why."""
    if error <= ROUGH:  # something else speaks against it than what halves make of it
        begin = f"Fits of halves of the samples agree on it within {off(error)}, but that proves nothing here"
        return "; ".join([begin, *why]) + "."
    low, high = interval
    begin = f"It is expected to be off by {off(error)} of its size, between {off(low)} and {off(high)}"
    return "; ".join([begin, *why]) + "."


def verdict(word: str, error: float) -> str:
    """What is said of a part on its card."""
    return word if word == "given" else f"{word}, off by about {off(error)}"


def believed(verdicts: list[str], part: str = "part", samples: str = "samples") -> str:
    """How many parts are to be believed, in the words of the field; nothing if nobody was asked."""
    sought = [one for one in verdicts if one != "given"]
    if not sought:
        return ""
    beside = f", beside {len(verdicts) - len(sought):,} given" if len(sought) < len(verdicts) else ""
    again, roughly = sought.count("found again"), sought.count("roughly")
    lost = len(sought) - again - roughly
    if again == len(sought):
        which = f"The {part} is" if again == 1 else f"All {count(again, part)} are"
        return f"{which} found again in halves of the {samples}{beside}."
    told = [f"{again:,} found again", *([f"{roughly:,} roughly"] if roughly else [])]
    told += [f"{lost:,} not determined"] if lost else []
    return f"Of {count(len(sought), part)}{beside}, in halves of the {samples}: {', '.join(told)}."
