"""What kind of noise a table has, from one look at it, and its scales from a few passes over all of it."""

from __future__ import annotations

from numbers import Integral
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from partwise.exceptions import InputError
from partwise.io.opening import open_source
from partwise.noise.clipping import clipped
from partwise.noise.deciding import Finding, exact, find
from partwise.noise.extending import all_scales
from partwise.noise.model import Noise, NoiseKind
from partwise.noise.sampling import Sample, distinct, draw
from partwise.sources import RowSource, inspect

# what was seen of a source is remembered while it lives, as its inspection is: a fit, its manifest and its report ask
_KNOWN: WeakKeyDictionary[RowSource, dict[tuple[int | None, int], NoiseKind]] = WeakKeyDictionary()


def measure_noise(X: Any, k: int | None = None, *, random_state: int = 0) -> Noise:
    """What kind of noise a table has, and the scales of rows and columns that make it one.

    A signal of a few dimensions and independent noise, its rows and columns divided by the right scales, has the
    singular values of white noise beside those of the signal: the law of Marchenko and Pastur [1]_. The simplest kind
    whose scales lead there is named. Scales of counts are known from the counts (biwhitening [2]_), all others are
    found from what regressions [3]_, then the signal, leave.

    Parameters
    ----------
    X : array-like, sparse matrix, path, Dask array or source of shape (n_samples, n_features)
        Anything that :func:`partwise.open_source` takes. Negative entries are welcome.
    k : int, optional
        Dimensions of the signal; what lies outside them is noise. By default those that stand above noise.
    random_state : int, default=0
        Which rows and columns are looked at, if there are many.

    Returns
    -------
    Noise
        Its kind, scales, agreement with the law of Marchenko and Pastur; ``str()`` of it is a sentence.

    References
    ----------
    .. [1] V. A. Marchenko, L. A. Pastur, "Distribution of eigenvalues for some sets of random matrices", Math. USSR
       Sbornik 1, 1967.
    .. [2] B. Landa, T. Zhang, Y. Kluger, "Biwhitening reveals the rank of a count matrix", SIAM J. Math. Data Sci. 4,
       2022.
    .. [3] R. E. Roger, J. F. Arnold, "Reliably estimating the noise in AVIRIS hyperspectral images", Int. J. Remote
       Sensing 17, 1996.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> rng = np.random.default_rng(0)
    >>> means = 20 * rng.random((200, 4)) @ rng.random((4, 100))
    >>> noise = pw.measure_noise(rng.poisson(means))
    >>> noise.kind, noise.k
    ('poisson', 4)
    >>> print(noise)
    the noise in this table looks like counting noise
    """
    source = open_source(X)
    known = _KNOWN.setdefault(source, {})
    found = known.get((k, random_state))
    if not isinstance(found, Noise):
        finding, sample = _looked(source, k, random_state)
        row_scale, column_scale = all_scales(source, sample, finding)
        found = Noise(**_facts(source, finding, sample).facts(), row_scale=row_scale, column_scale=column_scale)
        known[k, random_state] = found
    return found


def name_noise(X: Any, k: int | None = None, *, random_state: int = 0) -> NoiseKind:
    """What :func:`partwise.measure_noise` says, but for the scales: one pass over the data.

    Parameters
    ----------
    X : array-like, sparse matrix, path, Dask array or source of shape (n_samples, n_features)
        The data.
    k : int, optional
        Dimensions of the signal.
    random_state : int, default=0
        Which rows and columns are looked at.

    Returns
    -------
    NoiseKind
        The kind.
    """
    source = open_source(X)
    known = _KNOWN.setdefault(source, {})
    if (k, random_state) not in known:
        known[k, random_state] = _facts(source, *_looked(source, k, random_state))
    return known[k, random_state]


def _looked(source: RowSource, k: int | None, seed: int) -> tuple[Finding, Sample]:
    inspect(source).check(allow_negative=True)
    most = min(source.shape)
    if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or not 0 <= k <= most):
        raise InputError(f"{{parameter}} must be a whole number from 0 to {most}, got {k!r}", parameter="k")
    k = None if k is None else int(k)
    rng = np.random.default_rng(seed)
    sample = draw(source, rng, k)
    found = exact(sample.X)
    if found is not None:
        return found, sample
    sample = distinct(sample, rng)
    return find(sample.X, sample.part, k), sample


def _facts(source: RowSource, finding: Finding, sample: Sample) -> NoiseKind:
    ends = clipped(source, sample)
    spectrum, k = finding.state.spectrum, finding.state.k
    none = finding.kind == "none"
    return NoiseKind(
        kind=finding.kind,
        phi=finding.phi,
        colour=1.0 if none else spectrum.colour(k),
        direction=finding.direction,
        misfit=0.0 if none else spectrum.misfit(k),
        chance=1.0 if none else spectrum.chance(k),
        tails=finding.tails,
        k=k,
        looked_at=(len(sample.rows), len(sample.columns)),
        clipped=ends.entries,
        ceiling=ends.ceiling,
        clipped_features=ends.features,
    )
