"""How many parts there are, how sure that is, and what each further one adds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from partwise.algorithms.oddness import odd_samples
from partwise.belief import rank_rule as rule
from partwise.belief import rank_telling
from partwise.belief.rank_entries import by_entries, entry_errors
from partwise.belief.rank_halves import SMALLEST_HALF, SPLITS, Halving, Points, points_of
from partwise.belief.rank_spectrum import Leading, held_out, leading
from partwise.estimators.observing import MISSING, observe
from partwise.estimators.observing import Told as Observing
from partwise.exceptions import InputError
from partwise.io.opening import open_source
from partwise.noise import Noise, measure_noise
from partwise.noise.deciding import EXACT
from partwise.noise.model import INDEPENDENT
from partwise.noise.spectrum import CAP
from partwise.sources import GeneratedSource, RowSource, marks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]
Told = Callable[[Halving, int, int], object]

MARGIN = 0.05  # of the shorter side below the most that a spectrum can count
AROUND = 1  # numbers of parts to both sides of a decided one that halves are asked about, for the table
FIRST = 8  # numbers of parts that halves are asked about at least, where the spectrum does not decide,
BEHIND = rule.NEAR  # and behind the last of which all parts were found again
MORE = 5  # further splits where it is decided that there is no more, and twice as many where these do not tell
FURTHER = 1.25  # times as many parts as before, and two splits, where parts are to be taken and nothing decides
SHOWN = 12  # numbers of parts in the table, where neither spectrum nor halves have an end
MOST = 30  # the largest number of parts that halves are asked about, by default
FACTS = (
    *("k", "low", "high", "guess", "taken", "verdict", "basis", "weakest", "misfit", "spectral"),
    *("n_samples", "duplicates", "odd_samples"),
)


@dataclass(frozen=True)
class RankRow:
    """One number of parts.

    Attributes
    ----------
    k : int
        The number.
    explained : float
        Share of the squares of the scaled data that as many directions explain; parts cannot explain more.
    held_out : float
        Mean squared error of entries that were left out, over their mean square (bi-cross-validation of the scaled
        data); NaN where it was not measured.
    least, median : float
        Cosines between the partners of two halves of the samples: the least of all splits, and the median; NaN where
        halves were not fitted.
    again : float
        How many of the parts are found again (a cosine of 0.9), on the average of the splits; NaN where not known.
    strength : float
        Of the k-th direction, where 1 is the least that independent noise lets one see.
    seconds : float
        Time of the fits of halves.
    """

    k: int
    explained: float
    held_out: float
    least: float
    median: float
    again: float
    strength: float
    seconds: float


@dataclass(frozen=True, eq=False)
class RankChoice:
    """How many parts, how sure, and why; ``str()`` of it is a sentence.

    Attributes
    ----------
    k : int or None
        The number of parts; None if it cannot be told.
    low, high : int, int or None
        Between these it lies; None: no upper limit is known.
    verdict : {"exact", "decided", "between", "undecided"}
        ``exact``: the data has no noise, and k is its rank. ``decided``: k parts stand well above independent noise.
        ``between``: k is the best guess, and the truth is not far. ``undecided``: `low` parts are there, and no more
        can be said.
    basis : {"rank", "spectrum", "cliff", "rest", "halves", "entries", "nothing"}
        What k rests on: the rank, directions above independent noise, a cliff in their strengths, that so many leave
        next to nothing, what is found again in halves of the samples, or how well entries are predicted that were left
        out, of data with holes.
    noise : Noise or None
        What was measured of the noise; None of incomplete data, where nothing was.
    weakest : float
        Strength of the weakest part that was counted, 1 being the least that can be seen beside independent noise.
    misfit : float
        How far what is left is from independent noise (see :class:`partwise.Noise`); 1.3 to 3 where it is.
    spectral : int
        Directions that stand above independent noise: of real data more than parts.
    table : tuple of RankRow
        One row for every number of parts that was looked at.
    n_samples : int
        Samples that are there, and differ.
    duplicates : int
        Samples that are copies of others, and were left out.
    guess : int or None
        How many directions leave next to nothing, or stand above independent noise, where halves do not find all of so
        many parts again.
    odd_samples : tuple of int
        Samples that are unlike all others, with their copies: they were left out, and with them there are up to `high`
        parts.
    """

    k: int | None
    low: int
    high: int | None
    verdict: str
    basis: str
    noise: Noise | None
    weakest: float
    misfit: float
    spectral: int
    table: tuple[RankRow, ...]
    n_samples: int
    duplicates: int
    guess: int | None = None
    odd_samples: tuple[int, ...] = ()

    def __str__(self) -> str:
        return rank_telling.sentence(self)

    @property
    def taken(self) -> int:
        """The number of parts to take where one has to be taken.

        It is `k`, or `guess`: a part too many does less harm to the others than one too few. Where there is neither,
        it is the number of which most are found again in halves of the samples, those that are not taken off, or `low`.
        """
        if self.k is not None:
            return max(self.k, 1)
        if self.guess is not None:
            return self.guess
        return rule.to_take({row.k: row.again for row in self.table if row.again == row.again}, max(self.low, 1))

    def facts(self) -> dict[str, Any]:
        """Numbers and words by name, for a manifest.

        Returns
        -------
        dict
            All but the scales of the noise; the table as a list of dictionaries.
        """
        known = {name: getattr(self, name) for name in FACTS}
        noise = None if self.noise is None else self.noise.facts()
        return known | {"noise": noise, "table": [vars(row) for row in self.table]}

    def plot(self) -> Figure:
        """Draw the table: what each number of parts explains and predicts, and what is found again.

        Returns
        -------
        matplotlib.figure.Figure
            With `low` to `high` shaded.
        """
        from partwise.plots.rank import rank_figure

        names = [one.name for one in fields(RankRow)]
        columns = {name: np.array([getattr(row, name) for row in self.table], float) for name in names}
        return rank_figure(columns, self.k, self.low, self.high, str(self))


def choose_k(
    X: Any,
    *,
    most: int | None = None,
    halves: bool | str | None = None,
    random_state: int = 0,
    known: Mapping[tuple[int, int], Halving] | None = None,
    callback: Told | None = None,
    missing: str | None = None,
    mask: Any = None,
) -> RankChoice:
    """How many parts a table has, or that this cannot be told.

    Without noise it is the rank. Beside independent noise it is the number of singular values above its edge, once
    rows and columns are scaled until the noise has one size [1]_, if the weakest of them is strong. On real data
    directions above independent noise are more than parts, and the samples are asked: up to the true number all parts
    are found again in two halves of them, one more is not.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, path, Dask collection or source of shape (n_samples, n_features)
        The data. Samples that are copies of others are left out.
    most : int, optional
        The largest number of parts that halves are asked about; by default 30, or an eighth of the samples.
    halves : bool, "needed" or "further", optional
        Whether halves of the samples are fitted; by default they are, but of incomplete data, where they cannot be
        asked for. Without them a number is given only where the noise decides it; where
        they are "needed" they are fitted only if it does not, and not for the table alone. "further": where nothing
        decides, they are asked about more and more parts until fewer are found again, for
        :attr:`partwise.RankChoice.taken`.
    random_state : int, default=0
        Which samples make a half, and which are looked at if there are many.
    known : mapping, optional
        Splits that an earlier run has finished, by number of parts and split.
    callback : callable, optional
        Called with every finished :class:`partwise.belief.Halving`, how many are finished, and how many are planned.
    missing : {"nan", "zeros"}, optional
        What stands for an unknown entry, as in :class:`partwise.HALS`. Noise and halves are then not looked at: the
        number is that with which :class:`partwise.HALS` predicts entries best that were left out (``basis``
        "entries").
    mask : array-like, sparse matrix, path or source of shape (n_samples, n_features), optional
        True, or not zero, where an entry is known.

    Returns
    -------
    RankChoice
        With ``k``, ``low``, ``high``, ``verdict`` and a table; ``plot()`` draws it.

    References
    ----------
    .. [1] B. Landa, T. Zhang, Y. Kluger, "Biwhitening reveals the rank of a count matrix", SIAM J. Math. Data Sci. 4,
       2022.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> means = 20 * rng.gamma(0.5, size=(300, 4)) @ rng.gamma(0.5, size=(4, 80))
    >>> choice = pw.choose_k(rng.poisson(means))
    >>> choice.k, choice.low, choice.high, choice.verdict
    (4, 4, 4, 'decided')
    """
    source = open_source(X)
    if missing not in (None, *MISSING):
        raise InputError(f"{{parameter}} must be None, 'nan' or 'zeros', got {missing!r}", parameter="missing")
    source, observed, seen = observe(source, missing, Observing(mask=mask))
    seen.check(allow_negative=not observed.holes)
    if most is not None and (not isinstance(most, Integral) or isinstance(most, bool) or most < 1):
        raise InputError(f"{{parameter}} must be a whole number from 1 on, got {most!r}", parameter="most")
    if isinstance(source, GeneratedSource):
        raise InputError(
            "{parameter}: a GeneratedSource draws other samples in every pass, which cannot be halved; give a sample",
            parameter="X",
        )
    if not (
        halves is None or isinstance(halves, bool) or (isinstance(halves, str) and halves in ("needed", "further"))
    ):
        raise InputError(
            f"{{parameter}} must be true, false, 'needed' or 'further', got {halves!r}", parameter="halves"
        )
    if observed.holes and halves:
        raise InputError(
            "{parameter} cannot be asked for where entries are unknown: entries that are left out decide there; leave "
            "it out",
            parameter="halves",
        )
    if observed.holes:
        return _of_entries(source, most, random_state)
    source, copies, duplicates = _distinct(source, random_state)
    search = _Search(source, duplicates, most, random_state, dict(known or {}), callback)
    return search.without_odd(copies).decide(True if halves is None else halves)


class _Search:
    """The state of one choice: the scaled data, what its spectrum says, and the splits that were fitted."""

    def __init__(
        self,
        source: RowSource,
        duplicates: int,
        most: int | None,
        seed: int,
        known: dict[tuple[int, int], Halving],
        callback: Told | None,
    ) -> None:
        self.duplicates, self.asked, self.seed, self.known, self.callback = duplicates, most, seed, known, callback
        self.source = source
        self.odd: tuple[int, ...] = ()
        self.with_odd = 0  # parts that there would be with these
        self.n, self.m = source.shape
        self.noise = measure_noise(source, random_state=seed)
        scaled = self.noise.kind in INDEPENDENT
        self.scaled = self.noise.scale(source) if self.noise.kind != "none" else source
        # scales of noise that is not independent are no better than none: features are as the data has them
        self.seen = self.scaled if scaled else source
        self.spectrum = leading(self.scaled, np.random.default_rng(seed), noisy=self.noise.kind != "none")
        limit = min(MOST if most is None else int(most), self.n // 8, self.m)
        self.most = max(limit, 1)
        self.halved: dict[int, list[Halving]] = {}
        self.points: Points | None = None
        self.planned = self.finished = 0

    def without_odd(self, copies: Copies) -> _Search:
        """The same without samples that are unlike all others, if each of these counts as a part or hides some.

        Beside noise, that is: without any each direction is one. Samples that are copies of them are odd, too.
        """
        seen = self._seen(self.spectrum.count())
        answer = None if self.noise.kind == "none" else rule.by_spectrum(seen)
        odd = np.zeros(0, np.int64) if answer is None or answer.k is None else odd_samples(self.scaled, answer.k)
        if answer is None or answer.k is None or not len(odd):
            return self
        rest = np.ones(self.n, bool)
        rest[odd] = False
        search = _Search(self.source.choose(rest), self.duplicates, self.asked, self.seed, self.known, self.callback)
        after = rule.by_spectrum(search._seen(search.spectrum.count()))
        if answer.basis != "rest" and after is not None and (after.k or 0) >= answer.k:
            return self
        of_strength = rule.by_strength(seen)
        search.odd = copies.of(odd)
        search.with_odd = max(answer.k, 0 if of_strength is None else of_strength.k or 0)
        return search

    def decide(self, halves: bool | str) -> RankChoice:
        spectrum, k = self.spectrum, self.spectrum.count()
        if self.noise.kind == "none":
            rank = spectrum.rank(EXACT)
            if rank <= max(1.0, CAP * min(self.n, self.m)):
                return self._choice(rule.Answer(rank, rank, rank, "exact", "rank"), rank)
        seen = self._seen(k)
        answer = rule.by_spectrum(seen)
        enough = self.n >= 2 * SMALLEST_HALF
        if answer is not None and answer.k is not None:
            if halves and enough and answer.verdict != "decided" and 1 < answer.k <= self.most:
                return self._choice(self._confirmed(answer, seen), k)
            if halves in (True, "further") and enough:
                numbers = range(max(2, answer.k - AROUND), min(answer.k + AROUND, self.most) + 1)
                self.planned = SPLITS * len(numbers)
                self._ask(numbers)
            return self._choice(rule.unasked(answer), k)
        if not seen.capped:  # parts that can be told apart have directions
            self.most = min(self.most, k + BEHIND)
        if halves and enough:
            self._climb(max(FIRST, seen.cliff + BEHIND))
        answer = rule.by_halves(seen, self._agreements())
        if halves == "further" and answer.k is None and self.halved and not rule.peaks(answer.low, self._agreements()):
            self._go_further()
        return self._choice(answer, k)

    def _go_further(self) -> None:
        """More and more parts, as long as more of them are found again."""
        for k in sorted(self.halved):
            self._ask(range(k, k + 1), 2)
        k, best, since = max(self.halved), 0.0, 0
        while k < self.most and since < 2:
            k = min(int(np.ceil(FURTHER * k)), self.most)
            self._ask(range(k, k + 1), 2)
            more = float(np.mean([2 * one.again - k for one in self.halved[k]]))
            best, since = max(best, more), 0 if more > best else since + 1

    def _confirmed(self, answer: rule.Answer, seen: rule.Seen) -> rule.Answer:
        """A number that the spectrum is not sure of, as halves see it: where parts vary, it has more directions."""
        assert answer.k is not None
        little = answer.basis == "rest"
        of_strength = rule.by_strength(seen) if little else None
        # a single direction behind is a part: those that vary have more, and halves find these again sometimes
        single = of_strength if of_strength is not None and of_strength.k == answer.k + 1 else None
        if single is not None and self._found_again(single):
            return single
        if self._found_again(answer):
            if single is not None:
                return rule.rare(single)
            if little and answer.k < self.most:
                self._ask_gradually(answer.k + 1)
                return rule.one_more(answer, self._agreements())
            return answer
        self.planned = self.finished + SPLITS * answer.k
        self._ask(range(answer.k, answer.k + 1))
        for k in range(2, answer.k):
            self._ask_gradually(k)
        self._confirm()
        return rule.unconfirmed(answer, self.noise.kind, self._agreements())

    def _found_again(self, answer: rule.Answer) -> bool:
        assert answer.k is not None
        if not 1 < answer.k <= self.most:
            return False
        self.planned = self.finished + SPLITS
        self._ask_gradually(answer.k)
        return not rule.contradicted(answer, self._agreements())

    def _ask_gradually(self, k: int) -> None:
        self._ask(range(k, k + 1), 1)
        if self.halved[k][0].least >= rule.AGAIN:  # else further splits cannot tell that all are found again
            self._ask(range(k, k + 1))

    def _seen(self, k: int) -> rule.Seen:
        spectrum = self.spectrum
        last = min(k + 3, spectrum.most + 1, len(spectrum.values))
        return rule.Seen(
            strengths=np.array([spectrum.strength(r) for r in range(1, last + 1)]),
            count=k,
            capped=k >= (CAP - MARGIN) * min(self.n, self.m) or k >= spectrum.most,
            variance=spectrum.variance(k),
            kind=self.noise.kind,
            chance=self.noise.chance,
            sampled=self.noise.k,
            left=np.array([1.0 - spectrum.explained(r) for r in range(min(k, spectrum.most) + 1)]),
        )

    def _climb(self, first: int) -> None:
        """Fit halves for one number of parts after the other, until some were not found again."""
        k = 1
        while k < self.most and (k < first or k < rule.last_found(self._agreements()) + BEHIND):
            k += 1
            last = max(first, rule.last_found(self._agreements()) + BEHIND)
            self.planned = SPLITS * (min(last, self.most) - 1) + 2 * MORE
            self._ask_gradually(k)
        self._confirm()

    def _confirm(self) -> None:
        """More splits of the last number whose parts are found again, and of the next; even more where that is open."""
        last = 0
        while last != rule.last_found(self._agreements()) > 1:
            last = rule.last_found(self._agreements())
            self._ask(range(last, min(last + 1, self.most) + 1), SPLITS + MORE)
        if last and rule.is_open(last, self._agreements()):
            self._ask(range(last + 1, last + 2), 2 * (SPLITS + MORE))

    def _ask(self, numbers: range, splits: int = SPLITS) -> None:
        """Fit halves for these numbers of parts."""
        for k in numbers:
            if self.points is None or self.points.most < k:
                self.points = points_of(self.seen, min(max(FIRST, 2 * k), self.most), np.random.default_rng(self.seed))
            done = self.halved.setdefault(k, [])
            done.extend(self._halving(k, split) for split in range(len(done), splits))

    def _agreements(self) -> dict[int, rule.Agreement]:
        return {
            k: rule.Agreement(
                tuple(one.least for one in found),
                tuple(one.again for one in found),
                tuple(float(np.mean(one.cosines)) for one in found),
            )
            for k, found in self.halved.items()
        }

    def _halving(self, k: int, split: int) -> Halving:
        if (k, split) in self.known:
            self.finished += 1
            return self.known[k, split]
        assert self.points is not None
        begin = time.perf_counter()
        cosines = self.points.cosines(k, split, self.seed)
        found = Halving(k, split, cosines, time.perf_counter() - begin)
        self.finished += 1
        if self.callback is not None:
            self.callback(found, self.finished, max(self.planned, self.finished))
        return found

    def _choice(self, answer: rule.Answer, spectral: int) -> RankChoice:
        spectrum, answer = self.spectrum, rule.beside_odd(answer, self.with_odd)
        return RankChoice(
            k=answer.k,
            low=answer.low,
            high=answer.high,
            verdict=answer.verdict,
            basis=answer.basis,
            noise=self.noise,
            weakest=np.inf if answer.verdict == "exact" else spectrum.strength(answer.k or spectral),
            misfit=self.noise.misfit,
            spectral=spectral,
            table=self._table(max([answer.k or max(min(spectral, SHOWN), answer.low), *self.halved]) + 2),
            n_samples=self.n,
            duplicates=self.duplicates,
            guess=answer.guess,
            odd_samples=self.odd,
        )

    def _table(self, last: int) -> tuple[RankRow, ...]:
        spectrum = self.spectrum
        last = min(last, len(spectrum.values))
        errors: Any = held_out(self.scaled, last, np.random.default_rng(self.seed)) if min(self.n, self.m) > 3 else []
        return tuple(self._row(k, spectrum, errors) for k in range(1, last + 1))

    def _row(self, k: int, spectrum: Leading, errors: Any) -> RankRow:
        found = self.halved.get(k, [])
        cosines = np.concatenate([one.cosines for one in found]) if found else np.array([np.nan])
        return RankRow(
            k=k,
            explained=spectrum.explained(k),
            held_out=float(errors[k]) if k < len(errors) else np.nan,
            least=float(cosines.min()),
            median=float(np.median(cosines)),
            again=float(np.mean([one.again for one in found])) if found else np.nan,
            strength=spectrum.strength(k),
            seconds=float(sum(one.seconds for one in found)),
        )


def _of_entries(source: RowSource, most: int | None, seed: int) -> RankChoice:
    """The choice for data with holes: of noise and spectrum nothing is known."""
    n, m = source.shape
    largest = max(1, min(MOST if most is None else int(most), n // 2, m // 2))
    errors = entry_errors(source, largest, seed)
    answer = by_entries(errors, largest)
    rows = tuple(
        RankRow(k, np.nan, float(error), np.nan, np.nan, np.nan, np.nan, 0.0)
        for k, error in enumerate(errors.mean(axis=1), 1)
    )
    return RankChoice(
        *(answer.k, answer.low, answer.high, answer.verdict, answer.basis, None, np.nan, np.nan, 0, rows, n, 0)
    )


def _distinct(source: RowSource, seed: int) -> tuple[RowSource, Copies, int]:
    """Without samples that are copies of others, or empty: a copy in the other half would be found again.

    Also of which of all samples those that are kept stand for, and how many copies there are.
    """
    keys = marks.keys(np.random.default_rng(seed), source.shape[1])
    found = np.asarray(source.map_rows(partial(marks.of_rows, keys=keys), width=None, dtype=np.uint64))
    kept = np.zeros(len(found), bool)
    kept[np.unique(found, return_index=True)[1]] = True
    duplicates = int((~kept & (found != 0)).sum())
    kept &= found != 0
    if kept.all() or not kept.any():
        return source, Copies(found, np.arange(len(kept))), 0
    return source.choose(kept), Copies(found, np.flatnonzero(kept)), duplicates


class Copies(NamedTuple):
    """Which samples are the same: their marks, and the numbers of those that were kept."""

    marks: Array
    kept: Array

    def of(self, some: Array) -> tuple[int, ...]:
        """The numbers in the user's data of some that were kept, and of all that are copies of these."""
        return tuple(map(int, np.flatnonzero(np.isin(self.marks, self.marks[self.kept[some]]))))
