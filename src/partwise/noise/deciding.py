"""Which kind of noise a small matrix has: the simplest that its spectrum agrees with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigvalsh, svd, svdvals

from partwise.noise import counts
from partwise.noise.scales import FAR, NORMAL_MEDIAN, Whitened, robust_scales, whiten
from partwise.noise.spectrum import CAP, GRAM_EPS, Spectrum, edge
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

EXACT = 1e-6  # relative norm outside the signal below which there is no noise
END = 10.0  # times the next is the last singular value of an exact table of more than a few parts, or many more
SMALLEST = 10  # rows and columns below which a spectrum says nothing
DOUBT = 1e-3  # chance below which a spectrum does not agree with a kind
DOUBT_COUNTS = 1e-4  # the same of counts: few of them have long tails, and spectra that are less rigid
NEARLY = 0.05  # of the singular values of counts may be off: real features have dispersions of their own
FEW = 0.15  # of the shorter side: where more directions stand above noise, some of them may be noise
DIFFER = 0.15  # standard deviation of the logarithm of scales below which they are one: hardly worth a weight
ODD = 0.02  # share at either end that is not asked: a few odd samples do not make a kind
ALONE = 0.9  # of a direction that one feature has, at least: it is that feature's own
HANDFUL = 5.0  # samples: in fewer it is they that are odd
SURE = 4.0  # standard errors by which scales must differ more than their estimates do
COLOURED = 1.5  # colour above this: what lies outside the given dimensions is not independent
CERTAIN = 1e-9  # chance below which a spectrum is not that of independent entries, whatever their correlations
COLOURED_AT_ALL = 1.1  # below this there is no direction outside that independent noise would not have
GAP = 1.25  # a singular value so many times the next is the last of the signal, where noise is coloured
CLEARLY = 4.0  # times as far from independence is one side, if only that one depends
HEAVY = 1e-3  # share of entries beyond six robust deviations
FAR_ONES = 5  # and how many there must be
SPARSE = 0.3  # share of zeros above which robust deviations are those of the zeros
FEW_EXTRA = (0.9, 1.06)  # variance left by biwhitening within which counts are Poisson's,
HIDDEN = 2.0  # and that of so many parts that hide just below the edge of noise


@dataclass(frozen=True)
class Finding:
    """What a sample shows."""

    kind: str
    state: Whitened
    phi: float = 0.0
    direction: str = ""
    tails: float = 0.0
    unit: counts.Unit | None = None


def find(X: Array, rows: Block, k: int | None) -> Finding:
    """What the noise of a small matrix is like.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Without constant rows or columns; not of a few parts exactly (see `exact`).
    rows : block of n rows
        The same rows, columns that are not looked at included.
    k : int or None
        Dimensions of the signal.

    Returns
    -------
    Finding
        Kind and scales.
    """
    q = min(X.shape)
    if q < SMALLEST or (k or 0) > CAP * q:  # too little beside the signal
        return Finding("unclear", whiten(X, min(k or 0, q - 1), rows=False, columns=False))
    unit = counts.unit_of(X, rows)
    counted = None if unit is None else _as_counts(X, unit, k)
    # whole numbers need not be counts: an instrument rounds
    sure = None if counted is None or unit is None else counts.are_counts(X, unit, counted.state)
    if sure is False:
        counted = None
    if sure and counted is not None and counted.kind == "poisson":
        return counted
    found = _independent(X, k)
    if counted is None:
        return found
    if counted.kind == "unclear":
        # counts that no kind fits are mostly sparse: scales by their counts are better than by robust deviations
        return counted if found.kind == "unclear" else found
    if sure:
        return counted
    if found.kind in ("white", "rows", "columns") and found.state.k < counted.state.k:
        return found  # a simpler kind that has fewer dimensions to explain
    return replace(counted, kind="unclear", phi=0.0)


def exact(X: Array) -> Finding | None:
    """A table that a few parts explain to the last digits, or one of nothing; None if there is more."""
    n, m = X.shape
    # rows and columns of zeros, which most are in a part of a very sparse table, are explained by anything
    filled = min(np.count_nonzero(X.any(axis=axis)) for axis in (0, 1))
    small = X if n <= m else X.T
    squares = eigvalsh(small @ small.T, check_finite=False) if X.size else np.zeros(1)
    if np.mean(squares > GRAM_EPS * squares[-1]) > CAP:
        return None
    s = svdvals(X, check_finite=False) if X.size else np.zeros(0)
    size = max(float(np.linalg.norm(s)), np.finfo(np.float64).tiny)
    rank = int((np.sqrt(np.cumsum((s**2)[::-1])[::-1]) / size > EXACT).sum())
    if rank > max(1.0, CAP * filled) or (len(s) and rank >= len(s)):
        return None
    if rank > FEW * filled and s[rank - 1] < END * s[rank]:  # so many, and no end: noise through a lens has them
        return None
    if rank and not _explains_most(X, rank):
        return None
    nothing = Spectrum(s, np.zeros((n, len(s))), np.zeros((len(s), m)))
    return Finding("none", Whitened(np.ones(n), np.ones(m), X, nothing, rank))


def _explains_most(X: Array, rank: int) -> bool:
    """Whether the leading directions explain rows one by one: beside a huge entry all else is small, but there."""
    V = svd(X, full_matrices=False, check_finite=False)[2][:rank]
    lengths = np.linalg.norm(X, axis=1)
    there = lengths > 0.0
    left = np.linalg.norm(X[there] - (X[there] @ V.T) @ V, axis=1)
    return bool(np.median(left / lengths[there]) <= np.sqrt(EXACT))


def _agrees(state: Whitened, doubt: float = DOUBT) -> bool:
    return state.k < int(CAP * min(state.Y.shape)) and state.spectrum.chance(state.k) >= doubt


def _nearly(state: Whitened) -> bool:
    """Whether the spectrum is close enough to its law for most purposes, though not by chance."""
    beside = min(state.Y.shape) - state.k
    return bool(state.k <= FEW * min(state.Y.shape) and state.spectrum.misfit(state.k) <= NEARLY * beside)


def _as_counts(X: Array, unit: counts.Unit, k: int | None) -> Finding | None:
    """Counting noise; unclear if there is more of it than ``phi`` explains, None if less or of one size."""
    state = counts.biwhiten(X, unit, 0.0, k)
    size = counts.left(state)
    low, high = FEW_EXTRA
    if size < low:
        return None
    phi = 0.0
    if size > high + HIDDEN * edge(*X.shape) / X.size:
        phi, state = counts.with_dispersion(X, unit, k, state)
    means = counts.from_means(X, unit, phi, k, state)
    # single counts follow a dispersion that differs between features, means the noise of small tables
    best = max((state, means), key=lambda s: s.spectrum.chance(s.k))
    fits = (k is None or best.spectrum.colour(best.k) < COLOURED) and (_agrees(best, DOUBT_COUNTS) or _nearly(best))
    kind = "over-dispersed" if phi else "poisson"
    return Finding(kind if fits else "unclear", best if fits else state, phi=phi, unit=unit)


def _independent(X: Array, k: int | None) -> Finding:
    state = whiten(X, k)
    if k is None and state.k >= int(CAP * min(X.shape)):  # all stand above what is left
        return _dependent(X, k, state)
    tails = tail_share(state.residual)
    if tails > max(HEAVY, FAR_ONES / X.size):
        return _far_off(X, state, tails)
    colour = state.spectrum.colour(state.k)
    if _agrees(state) and (colour < COLOURED if k is not None else not _without_end(state)):
        n, m = X.shape
        rows = _differ(state.row_scale, m - state.k)
        columns = _differ(state.column_scale, n - state.k)
        simple = state if rows and columns else whiten(X, k, rows=rows, columns=columns)
        if not columns and (simple.k > state.k or not _agrees(simple)) and _loud(simple):
            # a direction that a feature has to itself is none of the signal if scales take it away
            scaled = whiten(X, k, rows=rows)
            if _agrees(scaled) and (scaled.k < simple.k or not _agrees(simple)):
                simple, columns = scaled, True
        if _agrees(simple) and not (k is None and _shared(X, simple)):
            kind = "rows and columns" if rows and columns else "rows" if rows else "columns" if columns else "white"
            return Finding(kind, simple, tails=tails)
    return _dependent(X, k, state)


def _loud(state: Whitened) -> bool:
    """Whether a feature has a direction of the signal all but to itself, in more than a handful of the samples."""
    k = max(state.k, state.spectrum.count())  # of a signal of given size it takes the place
    left, right = state.spectrum.left[:, :k], state.spectrum.right[:k]
    own = right[:, (right * right).sum(axis=0) > ALONE]
    scores = left @ (own / np.linalg.norm(own, axis=0))
    return bool((1.0 / np.maximum((scores**4).sum(axis=0), np.finfo(np.float64).tiny) > HANDFUL).any())


def _without_end(state: Whitened) -> bool:
    """Whether what stands above noise is much, and runs into it without a gap: coloured noise does."""
    s, k = state.spectrum.values, state.k
    return bool(k > FEW * len(s) and s[k - 1] < GAP * s[k])


def _shared(X: Array, state: Whitened) -> bool:
    """Whether so many directions stand above noise that some may be noise, and the last of them are those of groups."""
    return state.k > FEW * min(X.shape) and bool(dependence(whiten(X, _last_gap(state)).residual))


def _last_gap(state: Whitened) -> int:
    """Where the signal ends if what stands above white noise may be coloured noise: with the last gap."""
    s = state.spectrum.values[: int(FEW * len(state.spectrum.values)) + 2]
    gaps = np.flatnonzero(s[:-1] > GAP * s[1:])
    return int(gaps[-1]) + 1 if len(gaps) else 0


def _far_off(X: Array, state: Whitened, tails: float) -> Finding:
    """A few entries far off, unless deviations are those of zeros and all others seem far off."""
    if np.mean(X == 0.0) > SPARSE:
        return Finding("unclear", state, tails=tails)
    return Finding("heavy-tailed", robust_scales(state), tails=tails)


def _dependent(X: Array, k: int | None, state: Whitened) -> Finding:
    """Noise that no scales make white: coloured, if correlations or the first direction outside say so."""
    if k is None:
        state = whiten(X, _last_gap(state))
    tails = tail_share(state.residual)
    if tails > max(HEAVY, FAR_ONES / X.size):
        return _far_off(X, state, tails)
    direction = dependence(state.residual)
    # scales make independent noise white, so what is certainly not white depends, unless most of it is zeros
    certain = state.spectrum.chance(state.k) < CERTAIN and np.mean(X == 0.0) < SPARSE
    if (direction or certain) and state.spectrum.colour(state.k) >= COLOURED_AT_ALL:
        return Finding("coloured", state, direction=direction, tails=tails)
    return Finding("unclear", state, tails=tails)


def _differ(scales: Array, freedom: int) -> bool:
    """Whether scales differ by more than their estimates would, and by enough to matter; a few odd ones do not."""
    logs = np.sort(np.log(scales))
    odd = int(np.ceil(ODD * len(logs)))
    found, chance = float(np.var(logs[odd:-odd])), 0.5 / max(freedom, 1)
    return found > chance * (1.0 + SURE * np.sqrt(2.0 / len(scales))) and found - chance > DIFFER**2


def tail_share(R: Array) -> float:
    """Share of the entries beyond six robust standard deviations."""
    size = np.abs(R)
    return float(np.mean(size > FAR * NORMAL_MEDIAN * np.median(size)))


def dependence(R: Array) -> str:
    """Along which side entries depend on one another: the one whose correlations are not all of one size."""
    features, samples = _excess(R), _excess(R.T)
    if max(features, samples) < 1.0:
        return ""
    if max(features, samples) < CLEARLY * min(features, samples):
        return "both"
    return "features" if features > samples else "samples"


def _excess(R: Array) -> float:
    """Excess kurtosis of the correlations between columns, in standard errors."""
    Z = R / np.sqrt(np.maximum((R * R).sum(axis=0), np.finfo(np.float64).tiny))
    C = (Z.T @ Z)[np.triu_indices(R.shape[1], 1)]
    squares = C * C
    excess = (squares**2).mean() / max(squares.mean() ** 2, np.finfo(np.float64).tiny) - 3.0
    return float(excess / np.sqrt(24.0 / len(C)) / 4.0)
