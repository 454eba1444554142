"""What an experiment is: data x methods x measures, and the claims that its table is held against."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from partwise.door.numpy_files import read_array
from partwise.lab.claim import Change, Claim, Explanation, Judgement, Statistic
from partwise.lab.measurements import Measurements
from partwise.lab.register import FOLDER, load_changes, load_claims

Size = Literal["tiny", "quick", "full"]
TRIVIALS = ("trivial-start", "trivial-zero", "trivial-constant")


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
    counts : sparse array, optional
        Of texts, the counts of words that ``X`` was made of, for methods that want these.
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
    counts: Any = None
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

    A case that is there as evidence, and not published itself, is run once, by the methods named in `evidence`; those
    named in `skip` are not run, because the case is nothing to them. Where `measures` are named, it has no others.
    ``picture(problem, found)`` is what is kept of a method to be drawn, instead of its components, and of the truth,
    which is given as None.
    """

    name: str
    make: Callable[[int], Problem]
    at: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    picture: Callable[[Problem, Found | None], np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """What a method returns: components; weights, labels, anchors or detectors where it has its own; its way there.

    Weights are the values of anchor features, if there are any, else those of non-negative least squares. Proportions
    are made when somebody asks for them.
    """

    components: np.ndarray
    weights: Any = None
    labels: np.ndarray | None = None
    anchors: np.ndarray | None = None
    detectors: np.ndarray | None = None
    proportions: Callable[[], Any] | None = None
    curve: Sequence[Mapping[str, float]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contender:
    """A method under its name: ``run(problem, seed, budget)``, the last None if there is no limit; and a note on it.

    It is `literal` if constants, starts, weights and preparation are the published ones, and nothing is ours. What
    `needs` another library (a module's name) is left out, and told, where that is not installed; what is made for some
    `kinds` of data sets with a truth only is not run on the others.
    """

    name: str
    note: str
    run: Callable[[Problem, int, float | None], Found]
    literal: bool = False
    needs: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether what it needs is there: a module, or a part of one where another library has the same name."""
        try:
            return not self.needs or find_spec(self.needs) is not None
        except ModuleNotFoundError:  # the package of a part
            return False


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
    """A figure as a function of a result: panels by their titles, each small enough for a phone.

    One that is `documented` is shown in the documentation too, where what it is drawn of, table or curves, is kept.
    """

    caption: str
    draw: Callable[[Reproduction], Mapping[str, Any]]
    documented: Literal["", "table", "curves"] = ""


@dataclass(frozen=True)
class Experiment:
    """A published experiment: cases x methods x measures, and its figures; its claims are in the register.

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
    statistics : mapping of str to callable
        What its claims name besides the statistics of :mod:`partwise.lab.values`: ``f(result, method, **arguments)``.
    explanations : mapping of str to callable
        What its claims name to explain a miss: ``f(result, method, claim)``, a text with numbers of the same run.
    changed : str
        What ours does that is not published, where the literal method does not reproduce its own numbers.
    figures : tuple of Figure
        Functions of the result.
    seeds : mapping of size to int
        Repetitions.
    budget : mapping of size to seconds
        Limit of one fit in seconds of the processor, where the method can be stopped.
    slow : tuple of str
        Methods that only ``--full`` runs, unless they are asked for by name.
    keep : bool
        Components are kept beside the tables, for pictures and for comparing seeds.
    timed : bool
        Times are compared or limited, so every method is compiled by a tiny problem first.
    trivials : tuple of str
        What is no method, and is run beside the others: a claim that it meets says nothing.
    register : Path, optional
        The file of its claims; ``lab/claims/<name>.toml`` by default.
    """

    name: str
    title: str
    document: str
    about: str
    cases: Callable[[Size], Sequence[Case]]
    methods: tuple[str, ...]
    measures: tuple[str, ...]
    statistics: Mapping[str, Statistic] = field(default_factory=dict)
    explanations: Mapping[str, Explanation] = field(default_factory=dict)
    changed: str = ""
    figures: tuple[Figure, ...] = ()
    seeds: Mapping[str, int] = field(default_factory=lambda: {"quick": 1, "full": 3})
    budget: Mapping[str, float] = field(default_factory=dict)
    slow: tuple[str, ...] = ()
    keep: bool = False
    timed: bool = False
    trivials: tuple[str, ...] = TRIVIALS
    register: Path | None = None

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the table is held against."""
        return load_claims(self._file, self.statistics, self.explanations)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What was changed after a result had been seen, and is not of one claim."""
        return load_changes(self._file)

    @property
    def _file(self) -> Path:
        return self.register or FOLDER / f"{self.name}.toml"

    def methods_for(self, size: Size) -> tuple[str, ...]:
        """Methods that run if none are named, whether or not they are installed, and what is none."""
        return (*(name for name in self.methods if size == "full" or name not in self.slow), *self.trivials)

    def published(self, column: str) -> dict[str, dict[str, float]]:
        """The published numbers of a column by method and case, as its claims have them."""
        found: dict[str, dict[str, float]] = {}
        for claim in self.claims:
            for method, more in ((claim.ours, {}), (claim.literal, claim.literal_arguments)):
                where = dict(claim.arguments) | dict(more)
                if method and claim.published and where.get("column") == column and "case" in where:
                    found.setdefault(method, {})[where["case"]] = claim.bound
        return found


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

    def verdicts(self) -> list[Judgement]:
        """For each claim the verdicts of the literal method and of ours."""
        return list(self._verdicts)

    @cached_property
    def _verdicts(self) -> list[Judgement]:
        return [claim.judge(self, self.experiment.trivials) for claim in self.experiment.claims]

    def by_seed(self) -> Iterator[Reproduction]:
        """The same with the rows of one seed, for each seed."""
        for seed in self.table.distinct("seed"):
            yield replace(self, table=self.table.where(seed=seed), curves=self.curves.where(seed=seed))

    def kept(self, case: str, what: str, seed: int) -> np.ndarray | None:
        """The components of a method, its detectors, its picture, or a few samples, where they were kept."""
        path = self.folder / kept_as(case, what, seed) if self.folder else None
        return read_array(path) if path is not None and path.exists() else None

    def curve(self, column: str, **equal: Any) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of one curve."""
        rows = self.curves.where(**equal)
        return rows.values("time"), rows.values(column)


SAMPLES, TRUTH = "samples", "truth"  # kept beside what the methods found


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
                if method not in case.skip and (not case.evidence or method in case.evidence):
                    yield case, seed, method
