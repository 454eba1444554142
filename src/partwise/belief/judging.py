"""Which parts of a fit to believe, from what is found again in halves of the samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from partwise.algorithms.bayes import BOTH_SIGNS, negative_signal
from partwise.belief import telling
from partwise.belief.exact import Exact
from partwise.belief.opening import opened
from partwise.belief.search import spread_features
from partwise.belief.span import Span, span_of
from partwise.belief.span_incomplete import span_of_incomplete
from partwise.belief.tolerance import Tolerant
from partwise.estimators.observing import check_weights, missing_in, that_count
from partwise.estimators.showing import table_html
from partwise.estimators.telling import COLOUR_TOLD
from partwise.exceptions import InputError
from partwise.linalg.incomplete import Parts, decode_incomplete
from partwise.linalg.nnls import nnls
from partwise.metrics import match_components
from partwise.outcomes import ended
from partwise.sources import GeneratedSource, RowSource, inspect
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.passes import single_blas_thread

Array = npt.NDArray[Any]

FEATURES = 4  # along which a part is pushed, to see how far it can move alone
SPLITS = 2  # of the samples into halves: four fits
GOOD, ROUGH = 0.1, 0.3  # expected errors up to which a part is found again, and roughly found
# True errors over expected ones, on generated families: a tenth is below the first and a tenth above the second
# (benchmarks/judge.py).
LOW, HIGH = 0.5, 1.6
ANYWHERE = 1.0 / np.sqrt(3.0)  # of the way to the end of a range: the mean square of what may be anywhere within
ALWAYS = 0.02  # share of a sample, below which a part is absent from it; above in all of 50 samples and more,
SELDOM = 0.02  # but for this share of the samples, which noise may have hidden it from
EXCHANGED = 0.1  # share of a part that halves put into another one
DROWNED = 0.5  # relative error by noise alone, from which a part is below the noise
NEGATIVE = 0.01  # of its largest value: entries below zero that are no rounding, and not by noise
ONE_SAMPLE = 0.5  # share of a single sample in the squares of a part's weights
ELSEWHERE = 0.5  # error of a part that is another one
CAME_OUT = 0.01  # share of its squared size below zero, before a part was fitted anew without negative entries


@dataclass(frozen=True)
class Verdict:
    """What is said of one part.

    Attributes
    ----------
    part : int
        Which row of ``components_``.
    expected_error : float
        The sine of the angle to the true part that is to be expected: the length of what is wrong in a part of length
        one. Zero for a part that was given.
    interval : tuple of float
        Where 8 of 10 true errors were, on generated data.
    verdict : {"found again", "roughly", "not determined", "given"}
        By the expected error, and by what is wrong with the part itself; a ``fixed`` part is no finding, but given.
    facts : dict
        What is known: ``least_share`` (in nearly all samples), ``partner`` and ``exchange`` (the part that it is most
        mixed with in fits of halves, and how much), ``noise`` (relative error by noise alone), ``room`` (how far it can
        move alone with everything as well explained, as a sine), ``lowest`` (relative to its largest value),
        ``largest_sample`` (in the squares of its weights), ``own_start`` and ``other_start`` (errors in halves fitted
        from the same and from another random state), ``below_zero`` and ``colour`` (what the method itself says: how
        much of the part was negative before that was mended, and by how much the noise is from white, where it lives
        by white noise; else 0 and 1).
    reasons : tuple of str
        Which of these facts speak against it, by name; `Verdict.words` has them as sentences.
    """

    part: int
    expected_error: float
    interval: tuple[float, float]
    verdict: str
    facts: dict[str, float]
    reasons: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The reasons as sentences."""
        return [telling.reason(name, self.facts) for name in self.reasons]

    def __str__(self) -> str:
        """One line."""
        return telling.verdict_line(self)


@dataclass(frozen=True)
class Verdicts:
    """A row a part, as `judge` gives it; a sequence of `Verdict`.

    Attributes
    ----------
    rows : tuple of Verdict
        In the order of ``components_``.
    fits : int
        How many fits of halves they rest on.
    """

    rows: tuple[Verdict, ...]
    fits: int

    def __len__(self) -> int:
        """Number of parts."""
        return len(self.rows)

    def __getitem__(self, part: int) -> Verdict:
        """That of one part."""
        return self.rows[part]

    def __iter__(self) -> Iterator[Verdict]:
        """One after the other."""
        return iter(self.rows)

    @property
    def expected_error(self) -> Array:
        """Expected errors of all parts."""
        return np.array([row.expected_error for row in self.rows])

    def __str__(self) -> str:
        """A line a part."""
        return "\n".join(map(str, self.rows))

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = [telling.verdict_cells(row) for row in self.rows]
        return table_html(["part", "verdict", "off by about", "from", "to", "why"], rows)


@single_blas_thread()  # the same bits inside a fit, as `Parts` judges, and outside
def judge(model: Any, X: Any, *, random_state: int = 0, sample_weight: Any = None, mask: Any = None) -> Verdicts:
    """Say of every part of a fit how wrong it may be, and why.

    The samples are halved twice, and the model is fitted anew to each half. Errors of two halves are independent
    as far as samples and noise decide, twice as large in variance as that of the whole fit, which shares half
    of each: so the angle between a part and what a half makes of it is as large as its own error. What goes wrong in
    all halves in the same way does not show in these angles. Some of it shows in how far each part can move alone with
    everything as well explained (see `feasible_bands`): the true part may be anywhere on that way, and the mean square
    of this is added; too many parts do not show.

    Parameters
    ----------
    model : estimator
        A fitted estimator of partwise.
    X : array-like, sparse matrix, data frame, path, Dask collection or source
        The data that it was fitted to. Weights, ``n_components`` numbers a sample, are held in memory.
    random_state : int, default=0
        For the halves.
    sample_weight : array-like of shape (n_samples,), optional
        As in the fit. A sample is in one half, with its weight: copies of it do not vouch for each other.
    mask : array-like, sparse matrix, path or source of shape (n_samples, n_features), optional
        As in the fit, where some entries are unknown; what ``missing`` of the model says of them is known.

    Returns
    -------
    Verdicts
        One row a part.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_topics(n_samples=400, n_features=40, n_components=3, random_state=0)
    >>> verdicts = pw.judge(pw.AND(3).fit(data.X), data.X)
    >>> [row.verdict for row in verdicts]
    ['found again', 'found again', 'found again']
    """
    if not hasattr(model, "fit"):
        raise InputError(
            "{parameter} must be a fitted estimator, since it is fitted again to halves of the samples; got "
            f"{type(model).__name__}",
            parameter="model",
        )
    source, H, observed = opened(X, model, mask=mask)
    inner = getattr(model, "estimator_", model)
    again = model._again() if hasattr(model, "_again") else model
    if again is not model:
        odd = getattr(model, "odd_samples_", np.zeros(0, np.int64))
        if len(odd) and odd[-1] >= source.shape[0]:
            raise InputError(
                f"{{parameter}} has {source.shape[0]} samples, and number {odd[-1]} was set aside in the fit; give the "
                "data that the model was fitted to",
                parameter="X",
                kind="shape",
            )
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, source.shape[0])
        sample_weight = without(odd, sample_weight, source.shape[0])
    return judged(H, inner, again, source, random_state=random_state, sample_weight=sample_weight, observed=observed)


def judged(
    H: Array,
    model: Any,
    again: Any,
    source: RowSource,
    *,
    random_state: int = 0,
    sample_weight: Any = None,
    observed: Observed = COMPLETE,
) -> Verdicts:
    """What `judge` says, of parts and of what finds them again.

    Parameters
    ----------
    H : ndarray of shape (n_components, n_features)
        The parts.
    model : estimator
        The fitted one: what it says of its own fit.
    again : estimator
        What is fitted to halves; it need not be fitted.
    source : RowSource
        The data, prepared.
    sample_weight : array-like of shape (n_samples,), optional
        How often each sample counts.
    observed : Observed
        Whether the rows have holes, and how many.

    Returns
    -------
    Verdicts
        One row a part.
    """
    H = np.asarray(H, np.float64)
    if observed.holes:
        again = _of_holes(again, source)
    if sample_weight is not None:
        source, sample_weight = that_count(source, check_weights(sample_weight, source.shape[0]))
    _check_halves(source, len(H))
    rng = np.random.default_rng(random_state)
    told = {"sample_weight": sample_weight, "feature_weight": getattr(model, "feature_weight_", None)}
    found = [_fitted(again, source, chosen, other, **told) for chosen, other in _halves(source, rng)]
    errors = np.array([_errors(H, parts) for parts in found])
    facts = _facts(source, H, errors, found, rng, observed)
    below, colour = getattr(model, "below_zero_", np.zeros(len(H))), float(getattr(model, "colour_", 1.0))
    for fact, share in zip(facts, below, strict=True):
        fact |= {"below_zero": float(share), "colour": colour}
    given = int(getattr(model, "_n_fixed", 0))  # the first ones
    rows = [Verdict(i, 0.0, (0.0, 0.0), "given", facts[i], ()) for i in range(given)]
    rows += [_verdict(i, errors[:, i], facts[i]) for i in range(given, len(H))]
    return Verdicts(tuple(rows), len(found))


def without(odd: npt.NDArray[np.int64], counts: Any, n: int) -> Any:
    """How often each sample counts, where some were set aside; as given if none were, or all that count."""
    if not len(odd):
        return counts
    kept = np.ones(n, np.int64) if counts is None else np.array(counts)
    kept[odd] = 0
    return kept if kept.any() else counts


def _check_halves(source: RowSource, k: int) -> None:
    if isinstance(source, GeneratedSource):
        raise InputError(
            "{parameter}: a GeneratedSource draws other samples in every pass, which cannot be halved; give a sample",
            parameter="X",
        )
    if source.shape[0] // 2 < max(k, 2):
        raise InputError(
            f"{{parameter}} has {source.shape[0]} samples; a half must have at least as many as there are parts ({k}), "
            "and two",
            parameter="X",
            kind="too-many-components",
        )


def _halves(source: RowSource, rng: np.random.Generator) -> Iterator[tuple[npt.NDArray[np.bool_], bool]]:
    """The samples of both halves of each split, and whether another random state is to be used."""
    n = source.shape[0]
    for split in range(SPLITS):
        first = np.zeros(n, bool)
        first[rng.permutation(n)[: n // 2]] = True
        for chosen in (first, ~first):
            yield chosen, split > 0


def _fitted(
    model: Any,
    source: RowSource,
    half: npt.NDArray[np.bool_],
    other: bool,
    *,
    sample_weight: Array | None,
    feature_weight: Array | None,
) -> Array | None:
    """The parts of a half; None if it cannot be fitted."""
    again = clone(model)
    if getattr(model, "preparation", "none") != "none":
        again.set_preparation("none")  # the rows are prepared, with what all samples taught
    settings = again.get_params(deep=False)
    changed: dict[str, Any] = {"callbacks": ()} if "callbacks" in settings else {}
    if other and isinstance(settings.get("random_state", ""), (int, np.integer, type(None))):
        changed["random_state"] = 1 + (settings["random_state"] or 0)
    again.set_params(**changed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer samples: what they do to parts is what is asked
        try:
            told = {} if sample_weight is None else {"sample_weight": sample_weight[half]}
            told |= {} if feature_weight is None else {"feature_weight": feature_weight}
            return np.asarray(ended(again.fit(source.choose(half), **told)).components_, np.float64)
        except InputError as error:
            if error.parameter == "sample_weight":  # no half takes them
                raise
            return None


def _errors(H: Array, found: Array | None) -> Array:
    """Sines of the angles between parts and what was found of them; 1 where nothing was."""
    if found is None or not found.any():
        return np.ones(len(H))
    return np.asarray(match_components(found, H).errors)


def _of_holes(model: Any, source: RowSource) -> Any:
    """What is fitted to halves of rows with holes, which are NaN in dense blocks and what sparse ones do not store."""
    if "missing" not in model.get_params(deep=False):
        raise InputError(
            f"{{parameter}}: {type(model).__name__} takes no data with unknown entries, so its parts are not judged",
            parameter="mask",
            kind="not-judged",
        )
    return clone(model).set_params(missing=missing_in(source))


def _facts(
    source: RowSource,
    H: Array,
    errors: Array,
    found: list[Array | None],
    rng: np.random.Generator,
    observed: Observed,
) -> list[dict[str, float]]:
    k = len(H)
    if observed.holes:
        W = np.asarray(source.map_rows(partial(decode_incomplete, parts=Parts(H)), width=k))
    else:
        W = np.asarray(nnls(H, source))
    mass = W * np.abs(H).sum(axis=1)
    share = mass[mass.any(axis=1)] / mass[mass.any(axis=1)].sum(axis=1, keepdims=True)
    least = np.quantile(share, SELDOM, axis=0) if len(share) else np.zeros(k)
    squares = np.square(W)
    alone = squares.max(axis=0) / np.maximum(squares.sum(axis=0), np.finfo(float).tiny)
    height = np.abs(H).max(axis=1)
    lowest = H.min(axis=1) / np.where(height > 0.0, height, 1.0)
    mixed = _mixed(H, found)
    noise, room = _within_span(source, H, rng, observed)
    if _signed(source, H):  # nothing is held at zero: neither are parts wrong for being negative, nor is that a bound
        lowest, room = np.zeros(k), np.zeros(k)
    return [
        {
            "least_share": float(least[i]),
            "partner": float(np.argmax(mixed[i])),
            "exchange": float(mixed[i].max()),
            "noise": float(noise[i]),
            "room": float(room[i]),
            "lowest": float(lowest[i]),
            "largest_sample": float(alone[i]),
            "own_start": float(_mean(errors[:2, i])),
            "other_start": float(_mean(errors[2:, i])),
        }
        for i in range(k)
    ]


def _signed(source: RowSource, H: Array) -> bool:
    """Whether parts may be negative: those of data that is, by more than noise."""
    seen = inspect(source)
    if not seen.n_negative or not (H < 0.0).any():
        return False
    return negative_signal(source, len(H), squared_norm=seen.squared_norm) > BOTH_SIGNS


def _mixed(H: Array, found: list[Array | None]) -> Array:
    """How much of part j is in what halves make of part i, in lengths of part i: root mean square."""
    k = len(H)
    lengths = np.maximum(np.linalg.norm(H, axis=1), np.finfo(float).tiny)
    inverse = np.linalg.pinv(H)
    total, count = np.zeros((k, k)), 0
    for parts in found:
        if parts is not None and parts.any():
            T = match_components(parts, H).aligned(parts) @ inverse
            total += np.square(T * lengths / lengths[:, None])
            count += 1
    result: Array = np.sqrt(total / max(1, count)) * ~np.eye(k, dtype=bool)
    return result


def _within_span(source: RowSource, H: Array, rng: np.random.Generator, observed: Observed) -> tuple[Array, Array]:
    """Relative errors of the parts by noise alone, and how far each can move alone."""
    k = len(H)
    try:
        if observed.holes:
            span = span_of_incomplete(source, np.abs(H), known=observed.known(source.shape))
        else:
            span = span_of(source, np.abs(H), None, rng)
    except InputError:
        return np.full(k, np.inf), np.ones(k)
    if span.variance is None:
        return np.zeros(k), _rooms(span, Exact(span))
    conditions = Tolerant(span)
    noise = np.linalg.norm(conditions.errors(), axis=1) / np.linalg.norm(span.parts, axis=1)
    return noise, _rooms(span, conditions)


def _rooms(span: Span, conditions: Exact | Tolerant) -> Array:
    """Sines of the angles by which parts can move alone, along a few features: root mean square."""
    shapes = span.shapes
    if span.k == 1:  # of sum one there is no other
        return np.zeros(1)
    conditions.base()  # a fit that is more negative than noise explains is off by the way to one that is not
    rooms = np.zeros(span.k)
    for i in range(span.k):
        moved = [
            conditions.alone(i, sign * shapes[:, f] / np.abs(shapes[:, f]).max())[i] @ shapes
            for f in spread_features(shapes, FEATURES)
            for sign in (1.0, -1.0)
        ]
        rooms[i] = _mean(match_each(np.array(moved), shapes[i]))
    return rooms


def match_each(parts: Array, part: Array) -> Array:
    """Sines of the angles between each of some parts and one."""
    along = parts @ part / (part @ part)
    result: Array = np.linalg.norm(parts - along[:, None] * part, axis=1) / np.linalg.norm(parts, axis=1)
    return result


def _mean(errors: Array) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def _verdict(part: int, errors: Array, facts: dict[str, float]) -> Verdict:
    # two causes: what samples and noise decide, and what the data does not decide at all
    expected = min(1.0, float(np.hypot(_mean(errors), ANYWHERE * facts["room"])))
    reasons = []
    if facts["lowest"] < -NEGATIVE - 3.0 * min(facts["noise"], 1.0):
        reasons.append("negative")
    if facts["noise"] > DROWNED:
        reasons.append("noise")
    if facts["largest_sample"] > ONE_SAMPLE:
        reasons.append("one-sample")
    if facts["own_start"] < ROUGH and facts["other_start"] > ELSEWHERE:
        reasons.append("start")
    if facts["exchange"] > EXCHANGED:
        reasons.append("confounded")
    if facts["room"] > GOOD:
        reasons.append("room")
    if facts["least_share"] > ALWAYS:
        reasons.append("always-there")
    if facts["below_zero"] > CAME_OUT:
        reasons.append("came-out-negative")
    if facts["colour"] > COLOUR_TOLD:
        reasons.append("colour")
    wrong = {"negative", "noise", "one-sample", "came-out-negative", "colour"} & set(reasons)
    verdict = "found again" if expected <= GOOD else "roughly" if expected <= ROUGH else "not determined"
    interval = (LOW * expected, min(1.0, HIGH * expected))
    return Verdict(part, expected, interval, "not determined" if wrong else verdict, facts, tuple(reasons))
