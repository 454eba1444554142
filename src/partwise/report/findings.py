"""What a reader should be warned of, found in the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwise.belief.telling import reason
from partwise.estimators.telling import COLOUR_TOLD
from partwise.report.facts import REDUNDANT, Agreement, Facts
from partwise.report.naming import Names
from partwise.report.rows import POOR
from partwise.report.wording import (
    NOT_SCATTERED,
    ONE_PART_EACH,
    between_halves,
    came_out_negative,
    coloured,
    count,
    enclosed,
    ending,
    explained,
    few_samples,
    filled_in,
    impure,
    listed,
    negative,
    none_of_them,
    number,
    percent,
    set_aside,
    toss,
    undetermined,
)

LITTLE = "Little is explained"
MOST = 0.5  # share of samples that is most of them
CLOSE = 0.02  # relative difference of two minima of Archetypes that other samples could turn around
NEGATIVE = 0.01  # of a part's largest value: entries below zero that are more than what methods leave by rounding
SOME = 0.01  # of the samples are like none of the parts of Archetypes: a part of so many could be missing
IMPURE = 0.05  # of what parts moved, the median: with pure samples it was below 0.03 on generated scenes, without above
# share of a part in the samples below which it is small; where parts are many, half of an equal share
SMALL, OF_EQUAL = 0.02, 0.5
SHOWN = 1e-4  # share of a part's squared size below zero, 1% of its length, below which it is not named

Finding = tuple[str, str]  # what it is in two or three words, and a sentence


def findings(facts: Facts, names: Names, given: Sequence[str | Warning] = ()) -> list[Finding]:
    """Warnings about the fit, the parts and the samples.

    Parameters
    ----------
    names : Names
        What samples are called.
    given : sequence of str or Warning
        Other warnings; those that are found here are known by their kinds, and not told twice.

    Returns
    -------
    list of (str, str)
        Heading and text of each; given ones have no heading.
    """
    found = [_not_converged(facts), _dead(facts), _redundant(facts), _little_explained(facts)]
    found += [_poor(facts, names), _zero_rows(facts, names), _zero_columns(facts), _disagreeing(facts)]
    found += [_rivalled(facts), _unlike(facts), _impure(facts), _pure(facts), _unsupported(facts)]
    found += [_negative(facts), _coloured(facts)]
    found += [_unscattered(facts), _odd(facts, names), _unknown(facts)]
    others = [("", str(one)) for one in given if isinstance(one, str) or not found_here(kind_of(one))]
    return [finding for finding in found if finding] + others


def kind_of(warning: Warning) -> str:
    """What a warning is about; how a fit ended is "stop/max_iter" or the like."""
    stop = getattr(warning, "stop", None)
    return f"stop/{stop.kind}" if stop is not None else str(getattr(warning, "kind", ""))


def found_here(kind: str) -> bool:
    """Whether a warning of this kind is told by the page itself."""
    return kind.startswith("stop/") or kind in ("negative-part", "coloured", "odd", "not-determined", "empty")


def _unknown(facts: Facts) -> Finding | None:
    return ("Unknown entries", filled_in(facts.unknown)) if facts.unknown else None


def grave(facts: Facts) -> list[Finding]:
    """What is wrong with parts themselves, to be read first: those that are negative, those that are not determined."""
    height = np.abs(facts.components).max(axis=1)
    lowest = facts.components.min(axis=1) / np.where(height > 0.0, height, 1.0)
    below = [(facts.part(int(i)), float(lowest[i])) for i in np.flatnonzero(lowest < -NEGATIVE)]
    found = [("Negative parts" if len(below) > 1 else "Negative part", negative(below))] if below else []
    place = {row.part: i for i, row in enumerate(facts.verdicts)}
    for i, row in enumerate(facts.verdicts):
        if row.verdict == "not determined":
            why = [reason(name, row.facts, lambda j: facts.part(place[j])) for name in row.reasons]
            found.append((f"{facts.part(i)} is not determined", undetermined(row.expected_error, row.interval, why)))
    return found


def _not_converged(facts: Facts) -> Finding | None:
    course = facts.course
    if course.converged is not False or not course.wanted:
        return None
    text = ending(course.stop, course.n_iter).removeprefix("It did not converge: ")
    text = text[:1].upper() + text[1:]
    if course.residual is not None and course.stop is not None and course.stop.kind == "max_iter":
        text += f" The {course.residual_name} was {number(course.residual)}; raise max_iter, or tol if that is enough."
    return "Not converged", text


def _dead(facts: Facts) -> Finding | None:
    dead = np.flatnonzero(facts.dead)
    if not len(dead):
        return None
    if len(dead) == 1:
        return "Dead part", f"{facts.part(int(dead[0]))} is zero or no sample uses it; fewer parts would do."
    return (
        "Dead parts",
        f"{listed([facts.part(int(i)) for i in dead])} are zero or no sample uses them; fewer parts would do.",
    )


def _redundant(facts: Facts) -> Finding | None:
    pairs = [f"{facts.part(i)} and {facts.part(j)} ({facts.similarity[i, j]:.3f})" for i, j in facts.redundant]
    if not pairs:
        return None
    text = f"{count(len(pairs), 'pair')} with a cosine above {REDUNDANT}: {'; '.join(pairs[:6])}"
    if len(pairs) > 6:
        text += f"; and {len(pairs) - 6:,} more"
    return "Redundant parts", text + ". A pair may be one part found twice, or two that are truly alike."


def _little_explained(facts: Facts) -> Finding | None:
    if facts.unexplained <= POOR:
        return None
    return (
        LITTLE,
        f"The parts explain {explained(facts.unexplained)} of the data's squared norm. Short texts and sparse counts "
        "are like that, and their parts can still be right; other data wants more parts or another scale.",
    )


def _poor(facts: Facts, names: Names) -> Finding | None:
    """Some samples; where it is most of them, :func:`_little_explained` has said so."""
    poor = facts.rows.poor
    if not poor or facts.unexplained > POOR:
        return None
    worst = [names.sample(int(i)) for i in facts.rows.worst.numbers[: min(poor, 4)]]
    share = poor / (facts.shape[0] - facts.rows.n_zero)
    text = f"f {count(poor, 'sample')} ({percent(share)}) less than half is explained: {listed(worst, 4, poor)}."
    if share > MOST:
        follows = " Bring samples to the same length if each is to count the same."
        return "A few large samples dominate", f"They make the error small, but o{text}{follows}"
    return "Samples badly explained", f"O{text}"


def _zero_rows(facts: Facts, names: Names) -> Finding | None:
    zero = facts.rows.n_zero
    if not zero:
        return None
    named = listed([names.sample(int(i)) for i in facts.rows.zero_rows], 6, zero)
    return (
        "Zero rows",
        f"{count(zero, 'sample is', 'samples are')} all zero and {'has' if zero == 1 else 'have'} no weights: {named}.",
    )


def _zero_columns(facts: Facts) -> Finding | None:
    zero = int(np.count_nonzero(~facts.rows.support))
    return ("Zero columns", f"{count(zero, 'feature is', 'features are')} zero in all samples.") if zero else None


def _disagreeing(facts: Facts) -> Finding | None:
    if facts.agreement is None or facts.agreement.agree.all():
        return None
    return "Halves disagree", halves_text(facts, facts.agreement)


def _rivalled(facts: Facts) -> Finding | None:
    if facts.support is None or not facts.support.rival < CLOSE:
        return None
    return "Other parts do as well", toss(facts.support.rival)


def _unlike(facts: Facts) -> Finding | None:
    if facts.support is None or not facts.support.unlike >= SOME:
        return None
    return "Samples like none of the parts", none_of_them(facts.support.unlike)


def _impure(facts: Facts) -> Finding | None:
    if facts.support is None or not (middle := float(np.median(facts.support.moved))) > IMPURE:
        return None
    return "Hardly any pure samples", (enclosed if facts.support.refined else impure)(middle)


def _pure(facts: Facts) -> Finding | None:
    return ("One part a sample", ONE_PART_EACH) if facts.support is not None and facts.support.pure else None


def _unsupported(facts: Facts) -> Finding | None:
    """Parts of little mass; of those of none :func:`_dead` tells."""
    if facts.support is None:
        return None
    mass = facts.support.mass
    small = np.flatnonzero((mass < min(SMALL, OF_EQUAL / len(mass))) & ~facts.dead)
    if not len(small):
        return None
    return "Parts of few samples", few_samples([(facts.part(int(i)), float(mass[i])) for i in small])


def _negative(facts: Facts) -> Finding | None:
    if facts.signs is None:
        return None
    worst = [(facts.part(int(i)), float(facts.signs.below[i])) for i in np.argsort(-facts.signs.below, kind="stable")]
    return "Parts were negative", came_out_negative([one for one in worst if one[1] > SHOWN], facts.signs.cost)


def _unscattered(facts: Facts) -> Finding | None:
    return ("Other parts may fit too", NOT_SCATTERED) if facts.scattering == "not scattered" else None


def _coloured(facts: Facts) -> Finding | None:
    return ("Noise is not white", coloured(facts.colour)) if facts.colour > COLOUR_TOLD else None


def _odd(facts: Facts, names: Names) -> Finding | None:
    if not len(facts.odd):
        return None
    return "Odd samples", set_aside([names.sample(int(i)) for i in facts.odd])


def halves_text(facts: Facts, found: Agreement) -> str:
    """What two halves of the samples say."""
    apart = [facts.part(int(i)) for i in np.flatnonzero(~found.agree)]
    return between_halves(found.first, found.last, found.rate, apart)
