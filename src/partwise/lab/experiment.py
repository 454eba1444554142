"""What an experiment is: data x methods x measures, and the claims that its table is held against."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from partwise.lab.measurements import Measurements

Size = Literal["tiny", "quick", "full"]

REPRODUCED, EXCEEDED, FAILED, UNKNOWN = "reproduced", "exceeded", "not reproduced", "not measured"
VERDICTS = (REPRODUCED, EXCEEDED, FAILED, UNKNOWN)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data for the methods, and what only the measures may look at.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        The data.
    k : int
        Number of components.
    truth, weights, signal : ndarray, optional
        The true components and weights, and the data without its noise.
    labels : ndarray, optional
        The class of each sample.
    start : ndarray of shape (k, n_features), optional
        The start that all methods of an experiment share.
    draw : callable, optional
        ``draw(n, rng)`` makes further samples.
    image_shape : (int, int), optional
        Where samples are images.
    held_out : ndarray or None
        Samples that were left out of ``X``, for which ``held_out_signal`` is the truth.
    held_out_signal : ndarray or None
        The held out samples without noise.
    note : str
        What the data is, for the page.
    """

    X: Any
    k: int
    truth: np.ndarray | None = None
    weights: np.ndarray | None = None
    signal: np.ndarray | None = None
    labels: np.ndarray | None = None
    start: np.ndarray | None = None
    draw: Callable[[int, np.random.Generator], Any] | None = None
    image_shape: tuple[int, int] | None = None
    held_out: np.ndarray | None = None
    held_out_signal: np.ndarray | None = None
    note: str = ""

    @classmethod
    def of(cls, mixture: Any, **more: Any) -> Problem:
        """The problem of a mixture with a known truth."""
        (n, m), k = mixture.X.shape, len(mixture.components)
        note = ", ".join(part for part in (f"{n} x {m}, k = {k}", more.pop("note", "")) if part)
        known = {"truth": mixture.components, "weights": mixture.weights, "signal": mixture.signal}
        return cls(mixture.X, k, **(known | more), note=note)


@dataclass(frozen=True)
class Case:
    """One data set: a name, a function of the seed that makes it, and columns that say where it stands.

    A case that is there as evidence, and not published itself, is run once, by the methods named in `evidence`.
    """

    name: str
    make: Callable[[int], Problem]
    at: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """What a method returns: components; weights, labels, anchors or detectors where it has its own; its way there.

    Weights are the values of anchor features, if there are any, else those of non-negative least squares.
    """

    components: np.ndarray
    weights: Any = None
    labels: np.ndarray | None = None
    anchors: np.ndarray | None = None
    detectors: np.ndarray | None = None
    curve: Sequence[Mapping[str, float]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contender:
    """A method under its name: ``run(problem, seed, budget)`` with a limit in seconds or None; what it is, in words."""

    name: str
    note: str
    run: Callable[[Problem, int, float | None], Found]


@dataclass(frozen=True)
class Measure:
    """A number of what was found: which way is better ("" if neither), and how it is printed."""

    name: str
    label: str
    better: Literal["higher", "lower", ""]
    of: Callable[[Problem, Found], float]
    style: str = ".3g"


@dataclass(frozen=True)
class Figure:
    """A figure as a function of a result: panels by their titles, each small enough for a phone."""

    caption: str
    draw: Callable[[Reproduction], Mapping[str, Any]]


@dataclass(frozen=True)
class Claim:
    """A sentence of a document with a number, and how ours is held against it.

    Parameters
    ----------
    text : str
        What is claimed.
    value : callable
        Our number, of a :class:`Reproduction`; NaN where it was not measured.
    published : float
        The published number, or the bound that the words of `says` amount to.
    better : {"higher", "lower", "equal"}
        Which way is better.
    tolerance : float, default=0
        How far short of the published number still reproduces it, and how far beyond exceeds it.
    where : str
        Where in the document.
    says : str
        The published words where there is no number; such a claim is reproduced or not, never exceeded.
    log : bool, default=False
        Compare logarithms; `tolerance` is then a number of decades.
    ours : bool, default=False
        The claim is this library's, not the document's.
    style : str
        Format of numbers.
    why : callable or str
        What explains a number that falls short, with the evidence: a function of the :class:`Reproduction`,
        which has the measured numbers in it.

    Examples
    --------
    >>> claim = Claim("twice two", lambda result: 4.1, 4.0, "higher", tolerance=0.2)
    >>> claim.judge(None).name
    'reproduced'
    """

    text: str
    value: Callable[[Any], float]
    published: float
    better: Literal["higher", "lower", "equal"] = "higher"
    tolerance: float = 0.0
    where: str = ""
    says: str = ""
    log: bool = False
    ours: bool = False
    style: str = ".3g"
    why: Callable[[Any], str] | str = ""

    def judge(self, result: Any) -> Verdict:
        """Hold our number against the published one.

        Parameters
        ----------
        result : Reproduction
            What was measured.

        Returns
        -------
        Verdict
            With our number and the deviation.
        """
        value = float(self.value(result))
        if np.isnan(value):
            return Verdict(self, UNKNOWN, value)
        name = self._outcome(value)
        return Verdict(self, name, value, self._explanation(result) if name == FAILED else "")

    def _explanation(self, result: Any) -> str:
        return self.why if isinstance(self.why, str) else self.why(result)

    def _outcome(self, value: float) -> str:
        pair = (max(value, 1e-300), max(self.published, 1e-300)) if self.log else (value, self.published)
        gain = float(np.subtract(*(np.log10(pair) if self.log else pair)))
        if self.better == "equal":
            return REPRODUCED if abs(gain) <= self.tolerance else FAILED
        gain = -gain if self.better == "lower" else gain
        if not gain >= -self.tolerance - 1e-12:
            return FAILED
        return EXCEEDED if gain > self.tolerance and not self.says else REPRODUCED

    @property
    def stated(self) -> str:
        """What is published, as it is printed."""
        return self.says or format(self.published, self.style)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim, and what explains it if it is not the published one."""

    claim: Claim
    name: str
    value: float
    why: str = ""

    @property
    def shown(self) -> str:
        """Our number, as it is printed."""
        return "–" if np.isnan(self.value) else format(self.value, self.claim.style)

    @property
    def deviation(self) -> str:
        """How far ours is from the published number: a difference, or a factor where logarithms are compared."""
        if np.isnan(self.value):
            return ""
        claim = self.claim
        if claim.says:
            bound = {"higher": "≥", "lower": "≤", "equal": "="}[claim.better]
            about = f" ± {claim.tolerance:g}" if claim.better == "equal" else ""
            return f"asked: {bound} {claim.published:.3g}{about}"
        if claim.log:
            return f"x {self.value / claim.published:.2g}" if claim.published else ""
        return f"{self.value - claim.published:+{claim.style.lstrip('+')}}"

    def row(self, experiment: str) -> dict[str, Any]:
        """The verdict as a row of a table."""
        claim = self.claim
        words = {"experiment": experiment, "claim": claim.text, "where": claim.where, "published": claim.stated}
        numbers = {"value": self.value, "bound": claim.published, "deviation": self.deviation}
        return words | numbers | {"verdict": self.name, "ours": claim.ours, "explanation": self.why}


@dataclass(frozen=True)
class Experiment:
    """A published experiment: cases x methods x measures, its claims and its figures.

    Parameters
    ----------
    name, title, document, about : str
        What it is called, its title, the document it is from, and a paragraph on what is done.
    cases : callable
        The data sets of a size ("tiny", "quick" or "full", the published size).
    methods : tuple of str
        Names in :data:`partwise.lab.contenders.CONTENDERS`.
    measures : tuple of str
        Names in :data:`partwise.lab.measures.MEASURES`.
    claims : tuple of Claim
        What the table is held against.
    figures : tuple of Figure
        Functions of the result.
    seeds : mapping of size to int
        Repetitions.
    budget : mapping of size to seconds
        Limit of one fit, where the method can be stopped.
    slow : tuple of str
        Methods that only ``--full`` runs, unless they are asked for by name.
    keep : bool
        Components are kept beside the tables, for pictures and for comparing seeds.
    timed : bool
        Times are compared, so every method is compiled by a tiny problem first.
    """

    name: str
    title: str
    document: str
    about: str
    cases: Callable[[Size], Sequence[Case]]
    methods: tuple[str, ...]
    measures: tuple[str, ...]
    claims: tuple[Claim, ...] = ()
    figures: tuple[Figure, ...] = ()
    seeds: Mapping[str, int] = field(default_factory=lambda: {"quick": 1, "full": 5})
    budget: Mapping[str, float] = field(default_factory=dict)
    slow: tuple[str, ...] = ()
    keep: bool = False
    timed: bool = False

    def methods_for(self, size: Size) -> tuple[str, ...]:
        """Methods that run if none are named."""
        return tuple(name for name in self.methods if size == "full" or name not in self.slow)


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What was measured: a row a cell, the ways there, and the manifest of the run.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    table : Measurements
        One row for each case, method and seed.
    curves : Measurements
        Rows of the histories: case, method, seed, iteration, time, error.
    manifest : mapping
        Versions, seeds, machine, threads, duration.
    folder : Path, optional
        Where it is kept.
    """

    experiment: Experiment
    table: Measurements
    curves: Measurements
    manifest: Mapping[str, Any]
    folder: Path | None = None

    def verdicts(self) -> list[Verdict]:
        """One verdict for each claim."""
        return [claim.judge(self) for claim in self.experiment.claims]

    def kept(self, case: str, what: str, seed: int) -> np.ndarray | None:
        """The components of a method, its detectors, or a few samples, where they were kept."""
        path = self.folder / kept_as(case, what, seed) if self.folder else None
        return np.load(path) if path is not None and path.exists() else None

    def curve(self, column: str, **equal: Any) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of one curve."""
        rows = self.curves.where(**equal)
        return rows.values("time"), rows.values(column)


SAMPLES = "samples"  # kept beside what the methods found


def detectors_of(method: str) -> str:
    """The name under which the detectors of a method are kept."""
    return f"{method} detectors"


def kept_as(case: str, what: str, seed: int) -> Path:
    """Where the components of a cell are, in the folder of its result."""
    plain = re.sub(r"[^A-Za-z0-9.=-]+", "-", f"{case}--{what}--{seed}")
    return Path("components") / f"{plain}.npy"


def cells(cases: Sequence[Case], seeds: Sequence[int], methods: Sequence[str]) -> Iterator[tuple[Case, int, str]]:
    """All cells, so ordered that a data set is made once for all methods."""
    for case in cases:
        for seed in seeds[:1] if case.evidence else seeds:
            for method in methods:
                if not case.evidence or method in case.evidence:
                    yield case, seed, method
