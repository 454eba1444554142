"""Which method is right for a matrix: a few facts decide, and evidence where it can be computed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from partwise.algorithms.bayes import BOTH_SIGNS, negative_signal
from partwise.algorithms.hals import hals, suggested_sweeps
from partwise.algorithms.loop import run
from partwise.belief.span_incomplete import span_of_incomplete
from partwise.estimators import HALS, Archetypes, Bayes, Facets, Likelihood, PreconditionedSPA
from partwise.estimators.base import Factorization
from partwise.estimators.catalog import Method
from partwise.estimators.imputing import Imputing
from partwise.estimators.observing import missing_in
from partwise.estimators.telling import warn_odd
from partwise.estimators.weighing import paying
from partwise.exceptions import InputError, warn_user
from partwise.linalg.nnls import Gram, decode_block
from partwise.metrics import match_components
from partwise.metrics.residuals import residual_sums
from partwise.noise import Noise
from partwise.noise.deciding import DOUBT
from partwise.noise.model import COUNTS, INDEPENDENT
from partwise.outcomes import ended
from partwise.parts.telling import method_sentence
from partwise.sources import Inspection, RowSource, blocks, inspect
from partwise.sources.observed import Observed
from partwise.sources.protocol import Block, copied

# weighed, such noise is (nearly) white, and evidence can be computed: a few entries far off do not spoil it
AVERAGED = ("none", *INDEPENDENT, "heavy-tailed")
# Colour of what k parts leave over from which parts are taken to vary from sample to sample: 2.4 to 3.9 on scenes and
# RNA, 1.6 where neighbouring features have noise in common (lag-one correlation 0.7), which does little harm.
VARIES = 2.0
# Share of zeros that tells: of weights, from which on parts are absent from some samples; of parts, from which on they
# are sparse. Among generated families the first was 0.01 at most where nothing is ever absent and 0.05 at least
# elsewhere, the second 0.3 at least where parts are sparse and 0.25 at most elsewhere.
ABSENT, SPARSE = 0.03, 0.3
# In standard errors: parts that are farther away from those of a start are others; nearer than one they are the same.
WANDERED, SAME = 3.0, 1.0
# Share of the noise of whole numbers that grows with the mean: all in counts, none in rounded readings.
GROWING = 0.5
CHANCE = 3.0  # standard deviations of what parts leave that are chance
NEAREST, ROUNDS = 1e-6, 1000  # the residual of a fit that starts at parts that were found, and its rounds at most
FLOOR = 1e-9  # of a part, shared by its features: multiplicative rounds cannot leave zeros


@dataclass(frozen=True)
class Chosen:
    """The method that was taken, and why.

    Attributes
    ----------
    name : str
        Its short name.
    reason : str
        What decided, by name; ``str()`` has it as a sentence.
    noise : str
        Kind of the noise that was measured.
    facts : dict
        The numbers that decided.
    tried : dict
        What was tried, by name, with the evidence of an entry where that decided.
    """

    name: str
    reason: str
    noise: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)
    tried: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """A sentence."""
        return method_sentence(self)


def find_parts(
    source: RowSource,
    k: int,
    seen: Inspection,
    noise: Noise,
    *,
    method: Method | None = None,
    weighing: Any = "auto",
    seed: Any = None,
    copies: Any = None,
) -> tuple[Factorization, Chosen]:
    """The fitted estimator that such data asks for, and why.

    Parameters
    ----------
    source : RowSource
        The data, prepared.
    seen : Inspection
        What a first look at it found.
    weighing : {"auto", "noise", None} or Noise, default="auto"
        What the user says of weighing; "auto" divides by the noise where that pays.
    seed : int, Generator or RandomState, optional
        For what is drawn.
    copies : ndarray of int, optional
        How often each sample of the user's is there: warnings name these, and that some are empty has been told.

    Returns
    -------
    estimator : Factorization
        Fitted.
    chosen : Chosen
        The method, and why.
    """
    how = paying(noise, source, k) if isinstance(weighing, str) and weighing == "auto" else weighing
    search = _Search(source, k, how, seed, copies, noise)
    if method is not None:
        return search.named(method), Chosen(method.name, "asked", noise.kind)
    if seen.squared_norm == 0.0:
        return search.last(Facets), Chosen("facets", "nothing", noise.kind)
    facts = {"colour": float(noise.colour)}
    if seen.n_negative:
        facts["negative"] = negative_signal(source, k, squared_norm=seen.squared_norm)
        if facts["negative"] > BOTH_SIGNS:
            return search.last(Facets), Chosen("facets", "signed", noise.kind, facts)
    if noise.kind == "none" and not seen.n_negative:
        return search.last(Facets, nonnegative=True), Chosen("facets", "exact", noise.kind, facts)
    nearly = noise.kind == "coloured" and noise.colour < VARIES
    # sizes of no simple kind, but a spectrum of independent noise: its chance is above .2 where readings are cut off at
    # zero, and below 1e-14 on texts, whose parts vary
    if noise.kind in AVERAGED or nearly or (noise.kind == "unclear" and noise.chance > DOUBT):
        return search.averaged(noise.kind, facts)
    reason = "unclear" if noise.kind == "unclear" and noise.colour < VARIES else "varies"
    return search.last(Archetypes), Chosen("archetypes", reason, noise.kind, facts)


def find_incomplete(
    source: RowSource,
    k: int,
    observed: Observed,
    *,
    method: Method | None = None,
    seed: Any = None,
    copies: Any = None,
) -> tuple[Factorization, Chosen]:
    """The fitted estimator for data with unknown entries, and why.

    Parameters
    ----------
    source : RowSource
        Rows with holes.
    observed : Observed
        How many entries are unknown.
    seed : int, Generator or RandomState, optional
        For what is drawn.
    copies : ndarray of int, optional
        How often each sample of the user's is there.

    Returns
    -------
    estimator : Factorization
        Fitted.
    chosen : Chosen
        The method, and why.
    """
    search, missing = _Search(source, k, None, seed, copies), missing_in(source)
    if method is not None:
        if not takes_holes(method.kind):
            raise InputError(
                f"{{parameter}}: {method.estimator} takes no data with unknown entries; HALS, ANLS, MU, Likelihood and "
                "MiniBatchNMF do",
                parameter="method",
            )
        return search.last(method.kind, missing=missing), Chosen(method.name, "asked")
    facts = {"unknown": observed.unknown}
    if not source.reduce(_broken_block):  # whole numbers, which an instrument may have rounded
        found = search.fit(HALS, missing=missing)
        facts["growing"] = _growing(source, found.components_, observed)
        if facts["growing"] > GROWING:
            return search.last(Likelihood, missing=missing), Chosen("likelihood", "known-counts", facts=facts)
        return search.end(found), Chosen("hals", "known", facts=facts)
    return search.last(HALS, missing=missing), Chosen("hals", "known", facts=facts)


def takes_holes(kind: Any) -> bool:
    """Whether a method takes data with unknown entries."""
    return issubclass(kind, Imputing)


def _growing(source: RowSource, H: Any, observed: Observed) -> float:
    """The share of the noise at the mean entry that grows with the mean; none where that is not told."""
    try:
        variance = span_of_incomplete(source, H, known=observed.known(source.shape)).variance
    except InputError:
        return 0.0
    if variance is None:
        return 0.0
    grown = variance.slope * float(np.maximum(variance.rows.mean(axis=0) @ variance.columns.mean(axis=0), 0.0))
    return grown / max(variance.floor + grown, np.finfo(float).tiny)


def _broken_block(block: Block) -> int:
    """How many known entries are no whole numbers."""
    x = blocks.values(blocks.zeroed(block))
    return int(np.count_nonzero(x != np.round(x)))


class _Search:
    """Fits of one matrix; what the last one warned of is told when it is taken."""

    def __init__(
        self, source: RowSource, k: int, how: Any, seed: Any, copies: Any = None, noise: Noise | None = None
    ) -> None:
        self.source, self.k, self.how, self.seed, self.copies = source, k, how, seed, copies
        self.noise = how if isinstance(how, Noise) else noise
        self.tried: dict[str, float] = {}
        self.start, self.facets = "", None
        self.warned: dict[int, list[Any]] = {}

    def fit(self, kind: Any, **options: Any) -> Any:
        """A fit on the way: one that Ctrl-C has ended is not gone on from."""
        return ended(self._fit(kind, **options))

    def last(self, kind: Any, **options: Any) -> Factorization:
        """The fit that is taken, whatever comes of it: what it had when Ctrl-C ended it is kept."""
        return self.end(self._fit(kind, **options))

    def _fit(self, kind: Any, *, weigh: bool = True, **options: Any) -> Any:
        """Fit one method to the data, weighed."""
        model = (
            kind(self.k, random_state=self.seed, **options)
            if "random_state" in _names(kind)
            else kind(self.k, **options)
        )
        if weigh and model._weighable:
            model.set_weighing(self.how)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(self.source)
        self.warned[id(model)] = list(caught)
        return model

    def end(self, model: Factorization) -> Factorization:
        """Take a model, with what it warned of."""
        for warning in self.warned.get(id(model), ()):
            told: Any = warning.message
            kind = None if self.copies is None else getattr(told, "kind", None)
            if kind == "odd":
                warn_odd(np.unique(copied(self.copies)[told.odd]), type(model).__name__)
            elif kind != "empty":
                warn_user(told)
        return model

    def named(self, method: Method) -> Factorization:
        """What was asked for; Bayes and Likelihood from the parts that they have when they are chosen."""
        if method.kind is Bayes:
            return self.end(self._bayes())
        if method.kind is Likelihood:
            return self.end(self._likely(self._bayes()))
        if method.kind is Facets:
            return self.end(self._facets())
        return self.last(method.kind)

    def averaged(self, kind: str, facts: dict[str, float]) -> tuple[Factorization, Chosen]:
        """Parts averaged over what independent noise leaves open; or fitted, where that finds the same parts."""
        found = self._bayes()
        facts |= {"absent": float(found.absent_.mean()), "sparse": float(found.zeros_.mean())}
        if self.start == "facets" and facts["sparse"] < SPARSE:
            # nothing but weights tells where parts end, so the prior of the parts must not
            facts["moved"] = _moved(found, self._facets())
            if facts["moved"] > WANDERED and facts["absent"] > ABSENT:
                return self.end(self._facets()), Chosen("facets", "wandered", kind, facts, self.tried)
        if kind in COUNTS:
            likely = self._likely(found)
            facts["moved"] = _moved(found, likely)
            if facts["moved"] <= SAME:
                return self.end(likely), Chosen("likelihood", "counts", kind, facts, self.tried)
        return self.end(found), Chosen("bayes", "evidence", kind, facts, self.tried)

    def _bayes(self) -> Any:
        """From the parts of facets, which weights tell; if nothing is ever absent, of anchors, which features tell."""
        found = {}
        anchors = partial(self.fit, PreconditionedSPA, axis="features")
        for name, start in (("facets", self._facets), ("pw-spa", anchors)):
            try:
                H = np.maximum(start().components_, 0.0)
            except InputError:  # more parts than such a start can have
                continue
            if H.any():
                found[name] = self._settled(self.fit(Bayes, init=H))
                if name == "facets" and found[name].absent_.mean() > ABSENT:
                    break
        if not found:
            found["pure"] = self.fit(Bayes)
        self.tried = {name: float(model.evidence_) for name, model in found.items()}
        best = max(found, key=lambda name: self.tried[name])
        first = next(iter(found))
        self.start = best if found[best].zeros_.mean() > SPARSE else first
        return found[self.start]

    def _settled(self, found: Any) -> Any:
        """Averaged again from the nearest fit, if that is no less likely and leaves less than chance allows.

        Averages hardly move where noise is small, wherever that is: they are as sure of each weight, beside the others,
        as the noise is small.  What parts leave, in units of the noise, and the number of positive weights add up to
        the same for all that are as good (Zou, Hastie & Tibshirani 2007, on degrees of freedom), give or take the
        deviation of a sum of as many squares as parts have entries.
        """
        if self.noise is None or self.noise.kind not in (*INDEPENDENT, "unclear"):
            return found
        rows = self.source if found.weighing_.column_scale is None else self.noise.scale(self.source)
        if self.facets is not None and len(self.facets.odd_samples_):  # a fit would make parts of these
            rows = rows.choose(~np.isin(np.arange(rows.shape[0]), self.facets.odd_samples_))
        fitted = _nearest_fit(rows, found.weighing_.weighed(np.maximum(found.components_, 0.0)))
        again = self.fit(Bayes, init=found.weighing_.unweighed(fitted))
        if again.evidence_ < found.evidence_:
            return found
        (left, free), (less, fewer) = (_left(rows, one) for one in (found, again))
        variance = less / max(1, rows.shape[0] * rows.shape[1] - fewer - int(np.count_nonzero(fitted)))
        chance = np.sqrt(2.0 * (fitted.size + abs(free - fewer)))
        return again if left - less > variance * (CHANCE * chance + fewer - free) else found

    def _facets(self) -> Any:
        if self.facets is None:
            self.facets = self.fit(Facets)
        return self.facets

    def _likely(self, found: Any) -> Any:
        """The Poisson likelihood, from parts that are found; rows keep their sizes, for that is what counts are."""
        H = np.asarray(found.components_, np.float64)
        H = H / np.maximum(H.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return self.fit(Likelihood, weigh=False, init=H + FLOOR / H.shape[1])


def _moved(found: Any, other: Factorization) -> float:
    """How far other parts are from those of Bayes, in their standard errors: root mean square over parts."""
    weighed = found.weighing_.weighed
    H, deviations = (weighed(np.asarray(one, np.float64)) for one in (found.components_, found.deviations_))
    away = match_components(weighed(np.asarray(other.components_, np.float64)), H).errors
    error = np.linalg.norm(deviations, axis=1) / np.maximum(np.linalg.norm(H, axis=1), np.finfo(float).tiny)
    return float(np.sqrt(np.mean(np.square(away)) / max(np.mean(np.square(error)), np.finfo(float).tiny)))


def _nearest_fit(rows: RowSource, H: Any) -> Any:
    """The parts of least squares to which these lead."""
    seen = inspect(rows)
    sweeps = suggested_sweeps(seen.nonzero / max(1, rows.shape[0]), *H.T.shape)
    tol = max(NEAREST, 64.0 * float(np.finfo(rows.dtype).eps))  # rounding leaves so much
    rounds = hals(rows, H, squared_norm=seen.squared_norm, nonzero=seen.nonzero, sweeps=sweeps, tol=tol)
    return ended(run(rounds, max_iter=ROUNDS, tol=tol)).components


def _left(rows: RowSource, model: Any) -> tuple[float, int]:
    """The squares that parts leave with their best weights, and how many of these are positive."""
    H = model.weighing_.weighed(np.maximum(model.components_, 0.0))
    W = rows.map_rows(partial(decode_block, gram=Gram.of(H, rows.dtype)), width=len(H))
    positive = rows.reduce(_positive_block, W)
    return residual_sums(rows, np.ascontiguousarray(H.T, rows.dtype), W=W)[0], int(positive)


def _positive_block(block: Block, W: Any) -> int:
    return int(np.count_nonzero(W > 0.0))


def _names(kind: Any) -> Any:
    return kind().get_params(deep=False)
