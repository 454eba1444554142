"""From a spectrum and from halves of the samples to a number of parts, and how sure it is; nothing is computed here.

Beside independent noise that was scaled to one, directions above its edge are parts, and the strong ones are certain.
Noise that is not what it was taken for (correlated, of heavy tails, of logarithms of counts) lifts some of its own
directions above that edge, one after the other without an end; parts stand out from these by a cliff in the strengths.
Parts that vary from sample to sample, and parts that a logarithm has bent, have further directions of their own, all of
them strong; where the last part takes away most of what those before it leave, and leaves next to nothing, these are
what is behind it. On real data there is often no such end, and what is found again in halves of the samples is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from partwise.noise.model import INDEPENDENT

Array = npt.NDArray[Any]

STRONG, WEAK = 4.0, 2.0  # strength of the weakest part counted, where 1 can just be seen: from STRONG on it is certain
LEFT = (0.9, 1.1)  # variance of what is left of all data, within which the scales, read from a sample, are right
DROP, CONFIRMED = 2.0, 1.35  # times as strong as the next is the last part, at a cliff of the strengths; with a witness
STEEP = 3.0  # the same, of a cliff that decides
SHARP = 3.0  # in logarithms a cliff is so many times the largest of the steps behind it
BEHIND = 10  # steps that are looked at: at the very end of a spectrum there is another edge
FLAT = 0.1  # a step in logarithms that is as good as none
DOUBTFUL = 1.5  # strength below which a last direction, so many times weaker than the one before, is not counted
DOUBT = 1e-3  # chance below which a sample without its far entries is not independent
AGAIN = 0.9  # cosine from which a part is found again
FOUND = 0.95  # least cosine with which all parts are found again, where not every split finds them
CLIFF = 4.0  # times as far apart are the worst partners of one part more
HALF, BY_CHANCE = 0.5, 0.05  # chance by which so few splits find parts again that every second one finds
FURTHER, NEAR = 1, 3  # so many parts more than at the cliff may be found again, of up to so many more
BACK = 1.2  # times as near as just behind a cliff partners are not to come again: what is before it are groups of parts
# What is left falls to one over so much with the last part, and to no more than this share of all. Chosen on generated
# families and scenes and brca21.
MOST_OF, LITTLE = 2.5, 0.03


@dataclass(frozen=True)
class Seen:
    """What the spectrum of the scaled data says.

    Attributes
    ----------
    strengths : ndarray
        Of the leading directions; 1 is the least that can be seen.
    count : int
        Directions above the edge of independent noise.
    capped : bool
        Whether there are so many that there is no noise beside them.
    variance : float
        Of what they leave.
    kind : str
        Of the noise, as a sample of the data shows it.
    chance : float
        How often independent noise fits this sample no better.
    sampled : int
        Dimensions of the signal in that sample.
    left : ndarray
        Share of the squares that 0, 1, 2, ... directions leave.
    """

    strengths: Array
    count: int
    capped: bool
    variance: float
    kind: str
    chance: float
    sampled: int
    left: Array

    @property
    def fits(self) -> bool:
        """Whether what is left is independent noise of the size that was measured."""
        low, high = LEFT
        return self.kind in INDEPENDENT and low <= self.variance <= high and not self.capped

    @property
    def steps(self) -> Array:
        """By how much each direction is stronger than the next, in logarithms, as far as can be seen."""
        logs = np.log(np.clip(self.strengths[: self.count + 2], 1.0, np.finfo(np.float64).max))
        return np.asarray(logs[:-1] - logs[1:])

    @property
    def cliff(self) -> int:
        """The number of directions behind which strengths fall off, 0 if they do so nowhere.

        The first direction of non-negative data is its mean, and stronger than all others. A cliff that is where the
        noise of a sample says that the signal ends need not be high.
        """
        steps = self.steps
        if len(steps) < 2:
            return 0
        k = 2 + int(np.argmax(steps[1:]))
        if self.capped and k >= self.count:  # the end of the table itself: there is no noise behind to stand out from
            return 0
        least = np.log(CONFIRMED if k == self.sampled else DROP)
        return k if steps[k - 1] >= max(least, SHARP * float(steps[k : k + max(k, BEHIND)].max(initial=FLAT))) else 0

    @property
    def wholes(self) -> list[int]:
        """The numbers of directions that are nearly all there is: the last of them takes most of the rest away."""
        falls = self.left[1:-1] / np.maximum(self.left[2:], np.finfo(np.float64).tiny)  # the first is the mean
        return [2 + int(end) for end in np.flatnonzero((falls >= MOST_OF) & (self.left[2:] <= LITTLE))]


@dataclass(frozen=True)
class Answer:
    """A number of parts, between which it lies, how sure it is, and what that rests on; or a guess at it."""

    k: int | None
    low: int
    high: int | None
    verdict: str
    basis: str
    guess: int | None = None


def by_spectrum(seen: Seen) -> Answer | None:
    """What the spectrum decides by itself; None if samples have to be asked."""
    answer, wholes = by_strength(seen), seen.wholes
    k, least = max(wholes, default=0), min(wholes, default=0)
    if answer is not None and answer.verdict == "decided":
        # beside noise that is not what it seems, what is behind a number that is nearly all there is may be what varies
        # within a part, however strong it is; a single direction is a part, for those that vary have several
        varied = answer.basis == "cliff" and 0 < least < answer.low - 1
        return replace(answer, low=max(least - 1, 1), high=None, verdict="undecided") if varied else answer
    if answer is not None and (answer.k or 0) <= k:
        return answer
    return Answer(k, max(k - 1, 1), None, "undecided", "rest") if k else answer


def by_strength(seen: Seen) -> Answer | None:
    """What the strengths decide, whatever is left behind them."""
    cliff, steps = seen.cliff, seen.steps
    if cliff and cliff == seen.sampled:  # two ways to the same number: all data, and what a sample's noise is like
        steep = steps[cliff - 1] >= np.log(STEEP) and seen.strengths[cliff - 1] >= STRONG
        if not (seen.fits and seen.count == cliff):
            return Answer(cliff, cliff, cliff, "decided", "cliff") if steep else _between(cliff, "cliff")
    if seen.kind == "heavy-tailed" and seen.chance >= DOUBT and 0 < seen.sampled <= len(seen.strengths):
        return _between(seen.sampled, "spectrum")
    k = _counted(seen)
    if not seen.fits or k == 0:
        return None
    weakest = float(seen.strengths[k - 1])
    before = max([r for r in range(2, k) if steps[r - 1] >= np.log(STEEP)], default=0)
    if weakest >= STRONG and not before:
        return Answer(k, k, k, "decided", "spectrum")
    if weakest >= WEAK and 0 < before < k - 1:  # so far behind the others there may be noise that is not what it seems
        return Answer(k, before, None, "undecided", "spectrum")
    if weakest >= WEAK or (not cliff and seen.count == seen.sampled):
        return _between(k, "spectrum")
    return _between(cliff, "cliff") if cliff else None


def _counted(seen: Seen) -> int:
    """Directions above noise, without the last ones that just rise above it far behind the others."""
    k = seen.count
    while k > 1 and seen.strengths[k - 1] < DOUBTFUL and seen.strengths[k - 2] >= DOUBTFUL * seen.strengths[k - 1]:
        k -= 1
    return k


@dataclass(frozen=True)
class Agreement:
    """How well halves of the samples agree on one number of parts, a value for each split.

    Attributes
    ----------
    least : tuple of float
        Cosine between the partners that agree least.
    again : tuple of int
        How many parts are found again.
    mean : tuple of float
        Cosine between partners, on the average.
    """

    least: tuple[float, ...]
    again: tuple[int, ...]
    mean: tuple[float, ...]

    @property
    def worst(self) -> float:
        """The cosine of the worst split."""
        return min(self.least)

    @property
    def usual(self) -> float:
        """That of three in four splits."""
        return float(np.quantile(self.least, 0.25))

    @property
    def apart(self) -> float:
        """How far partners are from each other, on the average of splits and parts."""
        return 1.0 - float(np.mean(self.mean))

    @property
    def found(self) -> bool:
        """Whether all parts are found again: in every split, or well in three of four."""
        return self.worst >= AGAIN or self.usual >= FOUND

    @property
    def chance(self) -> float:
        """How often no more splits would find all parts again, if every second one did so."""
        return float(bdtr(sum(least >= AGAIN for least in self.least), len(self.least), HALF))


def by_halves(seen: Seen, found: Mapping[int, Agreement]) -> Answer:
    """What is found again, and where that ends.

    Parameters
    ----------
    found : mapping of int to Agreement
        What halves say, by number of parts.

    Returns
    -------
    Answer
        Possibly without a number.
    """
    cliff = seen.cliff
    last = last_found(found)
    most = max(seen.count, 1)  # of samples with hardly any noise beside a bend whatever is asked for is found again
    # in every split, so that chance does not count
    low = min(max([k for k, one in found.items() if one.worst >= FOUND], default=1), most)
    if 1 < last <= most and last >= cliff and seen.kind != "coloured":
        if last == cliff and ends(last, found):
            return Answer(last, low, last + 1, "between", "halves")
        if ends(last, found) or peaks(last, found):
            return Answer(last, low, None, "undecided", "halves")
    if cliff and last <= cliff and not comes_back(cliff, found) and not surpassed(cliff, found):
        return Answer(cliff, min(low, cliff), None, "undecided", "cliff")
    return Answer(None, low, None, "undecided", "halves" if found else "nothing")


def contradicted(answer: Answer, found: Mapping[int, Agreement]) -> bool:
    """Whether halves do not find again as many parts as a spectrum counts."""
    return answer.k is not None and answer.k in found and not found[answer.k].found


def unconfirmed(answer: Answer, kind: str, found: Mapping[int, Agreement]) -> Answer:
    """What is left of a spectrum's answer where halves contradict it: directions, of which what varies has many."""
    low = min(answer.low, max([k for k, one in found.items() if one.worst >= FOUND], default=1))
    last = last_found(found)
    if answer.basis == "spectrum" and answer.k == last + 1:
        return rare(replace(answer, low=low))
    if kind != "coloured" and peaks(last, found):
        return Answer(last, low, None, "undecided", "halves")
    if answer.basis != "rest" and answer.k is not None and surpassed(answer.k, found):
        return Answer(None, low, None, "undecided", "halves")
    guess = answer.k if answer.basis == "rest" else None
    return replace(unasked(answer), low=low, high=None, verdict="undecided", guess=guess)


def one_more(answer: Answer, found: Mapping[int, Agreement]) -> Answer:
    """A number that little is left by, where one part more is found again: it may be one, or a part that varies."""
    assert answer.k is not None
    more = answer.k + 1
    return replace(answer, k=None, guess=more) if more in found and found[more].found else answer


def rare(answer: Answer) -> Answer:
    """What is left of a spectrum's answer whose last part alone is not found again.

    Halves do not see parts of few samples, and parts that vary have more directions.
    """
    return replace(answer, k=None, high=None, verdict="undecided", guess=answer.k)


def beside_odd(answer: Answer, count: int) -> Answer:
    """What is told where odd samples were left out: with them there are so many parts, and these may be some."""
    if answer.k is None or answer.high is None or answer.k >= count:
        return answer
    return replace(answer, high=max(answer.high, count), verdict="between")


def unasked(answer: Answer) -> Answer:
    """What is left of it where halves are not asked: the last of the directions may be no part."""
    return replace(answer, k=None) if answer.basis == "rest" else answer


def last_found(found: Mapping[int, Agreement]) -> int:
    """The largest number of parts that are all found again."""
    return max([k for k, one in found.items() if one.found], default=1)


def is_open(last: int, found: Mapping[int, Agreement]) -> bool:
    """Whether more splits may tell that one part more is not found again."""
    return last + 1 in found and BY_CHANCE < found[last + 1].chance < HALF


def ends(last: int, found: Mapping[int, Agreement]) -> bool:
    """Whether parts are found again up to a number, and one more, or many more, are not."""
    if last + 1 not in found:
        return False
    here, next_ = found[last], found[last + 1]
    falls = 1.0 - next_.usual >= CLIFF * (1.0 - here.usual) and next_.chance <= BY_CHANCE
    behind = [min(one.again) for k, one in found.items() if last < k <= last + NEAR]
    return falls and max(behind) <= last + FURTHER and not comes_back(last, found)


def comes_back(k: int, found: Mapping[int, Agreement]) -> bool:
    """Whether halves agree better again behind one part more: what these parts are is groups of parts."""
    nearest = min([one.apart for more, one in found.items() if more > k + 1], default=np.inf)
    return k + 1 in found and BACK * nearest <= found[k + 1].apart


def peaks(k: int, found: Mapping[int, Agreement]) -> bool:
    """Whether halves agree far better on a number of parts than on one less and on every larger one.

    Groups of parts, which are found again too, are seldom like that: if two of them are joined halves still agree, and
    of more parts more are found again.
    """
    if not {k - 1, k, k + 1} <= set(found):
        return False
    if max(min(one.again) for more, one in found.items() if more > k) > k + FURTHER:
        return False
    return min(one.apart for other, one in found.items() if other >= k - 1 and other != k) >= CLIFF * found[k].apart


def surpassed(k: int, found: Mapping[int, Agreement]) -> bool:
    """Whether halves find all of fewer parts again, and agree far better on these."""
    return k in found and any(one.found and CLIFF * one.apart <= found[k].apart for j, one in found.items() if j < k)


def to_take(again: Mapping[int, float], low: int) -> int:
    """The number of parts of which most are found again, those that are not taken off.

    Parameters
    ----------
    again : mapping of int to float
        How many parts are found again, by number of parts.
    low : int
        What is sure.

    Returns
    -------
    int
        At least `low`.

    Examples
    --------
    >>> to_take({2: 2.0, 3: 1.2, 5: 4.0, 6: 3.1}, 2)
    5
    """
    return max([low, *(k for k in again if k > low)], key=lambda k: 2.0 * again.get(k, k) - k)


def _between(k: int, basis: str) -> Answer:
    return Answer(k, max(k - 1, 1), int(np.ceil(1.25 * k)) + 1, "between", basis)
