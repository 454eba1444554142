"""A sentence of a document, the number that stands for it, and what became of it: as published, and by ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from partwise.lab.experiment import Reproduction

REPRODUCED, EXCEEDED, FAILED, UNKNOWN = "reproduced", "exceeded", "not reproduced", "not measured"
VERDICTS = (REPRODUCED, EXCEEDED, FAILED, UNKNOWN)
GOOD = (REPRODUCED, EXCEEDED)
SIDES = ("literal", "ours")
SIGNS = {"higher": "≥", "lower": "≤", "equal": "="}
SPREAD = "spread"
# a mean that differs from another of the same distribution by more than 3 standard errors of the difference: 1 in 370
STANDARD_ERRORS = 3.0

Statistic = Callable[..., float]  # f(result, method, **arguments); NaN: not measured
Explanation = Callable[..., str]  # f(result, method, claim): why a number falls short, with numbers of the same run


@dataclass(frozen=True)
class Change:
    """A bound, a setting or a claim that was changed after a result had been seen."""

    on: date
    was: str
    now: str
    why: str

    def __str__(self) -> str:
        return f"{self.on}: was {self.was}; is {self.now}. {self.why[:1].upper()}{self.why[1:]}."


@dataclass(frozen=True)
class Claim:
    """A sentence of a document with a number, and how measured ones are held against it.

    Claims are written in ``lab/claims/<experiment>.toml`` (see :mod:`partwise.lab.register`), a file whose history is
    the register of who set which bound when.

    Parameters
    ----------
    id : str
        Unique in its experiment.
    text : str
        What is claimed.
    statistic : callable
        The number, ``f(result, method, **arguments)``; NaN where it was not measured.
    bound : float
        The published number, or the bound that the words amount to.
    sentence, where : str
        The document's own words and where they stand; without words the claim is this library's own.
    arguments, literal_arguments : mapping
        Keyword arguments of the statistic; what is different for the literal method.
    literal, ours : str
        The contender that is the published thing itself, and our contender for the same; either may be missing.
    better : {"higher", "lower", "equal"}
        Which way is better.
    published : bool, default=False
        `bound` is a number that the document prints, which can be exceeded; words are met or not.
    tolerance : float or "spread", default=0
        How far short of the number still reproduces it, and how far beyond exceeds it. "spread": three standard
        errors of the difference between our mean and the published one, from the seeds of the same run.
    runs : int
        Repetitions behind the published number, for "spread".
    log : bool, default=False
        Compare logarithms; `tolerance` is then a number of decades.
    style : str
        Format of numbers.
    set_by : {"document", "partwise"}
        Whether the document states the number, or words were made a bound here.
    set_on : date, optional
        When.
    trivial : str
        Why a start, a constant or zeros may meet the claim; empty if they must not, which a test sees to.
    why : callable, optional
        What explains a number that falls short.
    changed : tuple of Change
        Bounds that were changed after a result.
    telling : bool, default=False
        The number that the documentation tells of its experiment.
    named : str
        What the register calls the statistic.

    Examples
    --------
    >>> claim = Claim("two", "twice two", lambda result, method: 4.1, 4.0, ours="ours", tolerance=0.2)
    >>> claim.judge(None).ours.name
    'reproduced'
    """

    id: str
    text: str
    statistic: Statistic
    bound: float
    sentence: str = ""
    where: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    literal_arguments: Mapping[str, Any] = field(default_factory=dict)
    literal: str = ""
    ours: str = ""
    better: Literal["higher", "lower", "equal"] = "higher"
    published: bool = False
    tolerance: float | Literal["spread"] = 0.0
    runs: int = 0
    log: bool = False
    style: str = ".3g"
    set_by: Literal["document", "partwise"] = "partwise"
    set_on: date | None = None
    trivial: str = ""
    why: Explanation | None = None
    changed: tuple[Change, ...] = ()
    telling: bool = False
    named: str = ""

    def judge(self, result: Any, trivials: Sequence[str] = ()) -> Judgement:
        """Hold what was measured against the bound, for the literal method and for ours.

        Parameters
        ----------
        result : Reproduction
            What was measured.
        trivials : sequence of str
            What is no method, and should not meet the claim.

        Returns
        -------
        Judgement
            A verdict for each contender that the claim names.
        """
        sides = {side: self._verdict(result, side, getattr(self, side)) for side in SIDES if getattr(self, side)}
        return Judgement(self, **sides, met_by=tuple(name for name in trivials if self._met(result, name)))

    def measure(self, result: Any, method: str, side: str = "ours") -> float:
        """The statistic for a method.

        Parameters
        ----------
        result : Reproduction
            What was measured.
        method : str
            A contender.
        side : {"literal", "ours"}
            Whose arguments are taken.

        Returns
        -------
        float
            NaN if it was not measured.
        """
        more = self.literal_arguments if side == "literal" else {}
        return float(self.statistic(result, method, **(dict(self.arguments) | dict(more))))

    def outcome(self, value: float, tolerance: float | None = None) -> str:
        """The verdict on a number.

        Parameters
        ----------
        value : float
            What was measured.
        tolerance : float, optional
            The claim's own by default.

        Returns
        -------
        str
            One of `VERDICTS`.
        """
        allowed = float(self.tolerance if tolerance is None else tolerance)
        if np.isnan(value) or np.isnan(allowed):
            return UNKNOWN
        pair = (max(value, 1e-300), max(self.bound, 1e-300)) if self.log else (value, self.bound)
        gain = float(np.subtract(*(np.log10(pair) if self.log else pair)))
        if self.better == "equal":
            return REPRODUCED if abs(gain) <= allowed + 1e-12 else FAILED
        gain = -gain if self.better == "lower" else gain
        if not gain >= -allowed - 1e-12:
            return FAILED
        return EXCEEDED if gain > allowed and self.published else REPRODUCED

    def _verdict(self, result: Any, side: str, method: str) -> Verdict:
        value = self.measure(result, method, side)
        tolerance = self._spread(result, side, method) if self.tolerance == SPREAD else float(self.tolerance)
        name = self.outcome(value, tolerance)
        own = method in (self.literal, self.ours)
        why = self.why(result, method, self) if name == FAILED and self.why and own else ""
        return Verdict(self, method, name, value, tolerance, why)

    def _met(self, result: Any, method: str) -> bool:
        """Whether a method meets the claim on either side."""
        return any(self._verdict(result, side, method).good for side in SIDES if getattr(self, side))

    def _spread(self, result: Reproduction, side: str, method: str) -> float:
        """Both means are of independent data sets; the variance of one is estimated from ours."""
        values = np.array([self.measure(one, method, side) for one in result.by_seed()])
        values = values[np.isfinite(values)]
        if len(values) < 2:
            return float("nan")
        return STANDARD_ERRORS * float(values.std(ddof=1)) * float(np.sqrt(1.0 / len(values) + 1.0 / self.runs))

    @property
    def question(self) -> str:
        """All that decides its verdicts, in one line: who changes it has changed the claim."""
        literal = f", literally {_listed(self.literal_arguments)}" if self.literal_arguments else ""
        what = f"{self.named}({_listed(self.arguments)}{literal}) of {self.literal or '-'}, {self.ours or '-'}"
        bound = f"{self.better}, {'published' if self.published else 'bound'} {self.bound!r}"
        runs = f" of {self.runs} runs" if self.tolerance == SPREAD else ""
        return f"{what}: {bound}, tolerance {self.tolerance!r}{runs}{', logarithms' if self.log else ''}"

    @property
    def own(self) -> bool:
        """Whether no document says it."""
        return not self.sentence

    @property
    def stated(self) -> str:
        """The number that is asked for, as it is printed."""
        sign = "" if self.published else f"{SIGNS[self.better]} "
        about = ""
        if self.better == "equal" and self.tolerance not in (0.0, SPREAD):
            about = f", up to a factor of {10.0 ** float(self.tolerance):.2g}" if self.log else f" ± {self.tolerance:g}"
        return f"{sign}{format(self.bound, self.style)}{about}"


def _listed(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={arguments[name]!r}" for name in sorted(arguments))


@dataclass(frozen=True)
class Verdict:
    """What became of a claim with one method, and what explains it if it falls short."""

    claim: Claim
    method: str
    name: str
    value: float
    tolerance: float = 0.0
    why: str = ""

    @property
    def good(self) -> bool:
        """Whether the claim holds."""
        return self.name in GOOD

    @property
    def shown(self) -> str:
        """The number, as it is printed."""
        return "–" if np.isnan(self.value) else format(self.value, self.claim.style)

    @property
    def deviation(self) -> str:
        """How far from a published number: a difference, or a factor where logarithms are compared; what is allowed."""
        claim = self.claim
        if np.isnan(self.value) or not claim.published:
            return ""
        if claim.log:
            return f"x {self.value / claim.bound:.2g}" if claim.bound else ""
        allowed = "" if np.isnan(self.tolerance) else f" (± {self.tolerance:.2g})"
        return f"{self.value - claim.bound:+{claim.style.lstrip('+')}}{allowed}"


@dataclass(frozen=True)
class Judgement:
    """The verdicts on a claim: of the published thing itself, and of ours; what is no method and meets it too."""

    claim: Claim
    literal: Verdict | None = None
    ours: Verdict | None = None
    met_by: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the claim says nothing: what is no method meets it, and no reason is given why it may."""
        return bool(self.met_by) and not self.claim.trivial

    @property
    def sides(self) -> dict[str, Verdict]:
        """The verdicts that there are, by side."""
        both = {"literal": self.literal, "ours": self.ours}
        return {side: verdict for side, verdict in both.items() if verdict is not None}

    @property
    def explanations(self) -> list[str]:
        """What explains what falls short, each once."""
        return list(dict.fromkeys(verdict.why for verdict in self.sides.values() if verdict.why))

    def row(self, experiment: str) -> dict[str, Any]:
        """The judgement as a row of a table."""
        claim = self.claim
        row: dict[str, Any] = {"experiment": experiment, "id": claim.id, "claim": claim.text, "where": claim.where}
        row |= {"asked": claim.stated, "published": claim.published}
        for side in SIDES:
            verdict = self.sides.get(side)
            row |= {
                side: verdict.method if verdict else "",
                f"{side}_value": verdict.value if verdict else float("nan"),
                f"{side}_verdict": verdict.name if verdict else "",
            }
        changed = " ".join(map(str, claim.changed))
        row["met_by"] = " ".join(self.met_by)
        words = {"explanation": " ".join(self.explanations), "sentence": claim.sentence}
        return row | words | {"set_by": claim.set_by, "set_on": str(claim.set_on or ""), "changed": changed}
