"""The parts of counts, such as mutational signatures: weigh, find them, and a short polish of the likelihood.

What is known beforehand is the noise: a count of mean mu has variance mu, or mu + phi mu^2.  So rows and columns can be
scaled until noise has variance one whatever the signal (biwhitening: Landa, Zhang & Kluger 2022); what stands above the
edge of noise then is the number of parts, and facets of the weighed cone are the parts.  The likelihood knows about the
noise of every single count, which scales of rows and columns do not, so going on with it helps at first; later it fits
the noise.  Counts can be thinned (Waldron: a Poisson count split by coin tosses is two independent ones), so where to
stop is read from counts that the polish has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.engine import Divergence, multiply
from partwise.algorithms.loop import Progress, run
from partwise.estimators.facets import Facets
from partwise.estimators.multiplicative import MU
from partwise.exceptions import InputError
from partwise.metrics.residuals import squared_residual
from partwise.noise import Noise, measure_noise
from partwise.outcomes import KKT
from partwise.sources import RowSource, blocks, inspect
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

KL = Divergence(1.0)  # Kullback and Leibler's: less the likelihood of Poisson counts
WARM = 30  # rounds of the weights before parts move
FLOOR = 3.0  # deviations below which a weight of Facets is none: signatures are absent from most samples
SMOOTH = 1e-5  # share of the mass of a part that is spread over all features: a zero would stay one for ever
SPREAD = 1e-3  # share of a sample's weights that is spread over all parts, for the same reason
HELD_OUT = 0.2  # share of the counts that the polish does not see
EVERY = 10  # iterations between two looks at them
PATIENCE = 3  # looks without a better one at which it ends
LONGEST = 500  # iterations of the polish at most: what it gains later is noise


@dataclass(frozen=True, eq=False)
class CountParts:
    """What :func:`count_parts` found.

    Attributes
    ----------
    model : MU
        Fitted, with rows of ``components_`` that sum to one: weights are numbers of counts, and all else that an
        estimator can do (transform, save, report) it does.
    k : int
        Number of parts.
    noise : Noise
        The measured noise.
    n_polish : int
        Iterations of the polish.
    held_out : ndarray
        Divergence of the held-out counts, for each, every ten iterations of the trial that decided so.
    odd_samples : ndarray of int
        Samples that were set aside when the parts were sought.
    """

    model: MU
    k: int
    noise: Noise
    n_polish: int
    held_out: Array
    odd_samples: Array

    @property
    def components(self) -> Array:
        """The parts, each with sum one."""
        return np.asarray(self.model.components_)


def count_parts(X: Any, k: int | None = None, *, random_state: int = 0) -> CountParts:
    """The parts of counts: mutational signatures, topics of words, programs of genes.

    Measures the noise, takes as many parts as there are directions above it, finds them with :class:`Facets` in the
    weighed space, and polishes them with the Kullback-Leibler divergence (:class:`MU`) for as many iterations as make
    counts that were held out more likely.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, path or source
        Counts, samples as rows.
    k : int, optional
        Number of parts; by default the number of singular values above the edge of the noise.
    random_state : int, default=0
        Seed of the counts that are held out, and of Facets.

    Returns
    -------
    CountParts
        With the fitted model in ``model``.

    Examples
    --------
    >>> import partwise as pw
    >>> data = pw.datasets.make_catalogues(4, 200, random_state=0)
    >>> found = pw.count_parts(data.X)
    >>> found.k
    4
    >>> bool(pw.metrics.match_components(found.components, data.components).cosines.min() > 0.98)
    True
    """
    model = MU(beta_loss="kullback-leibler", tol=0.0, random_state=random_state)
    source = model._open(X, reset=True)
    seen = inspect(source)
    seen.check(allow_negative=False)
    seen.warn()
    if source.reduce(_fraction, combine=max) > 0.0:
        raise InputError("{parameter} must hold counts, and has numbers that are not whole", parameter="X")
    noise = measure_noise(source)
    k = noise.k if k is None else k
    if k < 1:
        raise InputError("nothing in {parameter} stands above its noise: give k", parameter="X", kind="rank")
    start = Facets(k, floor=FLOOR, random_state=random_state).set_weighing(noise).fit(source)
    H, sizes = _smooth(start.components_), np.maximum(start.components_, 0.0).sum(axis=1)
    W = np.asarray(start.transform(source)) * sizes
    W += SPREAD * W.sum(axis=1, keepdims=True) / k
    n_polish, held_out = _polish_length(source, W, H, random_state)
    return CountParts(_polished(model, source, W, H, n_polish), k, noise, n_polish, held_out, start.odd_samples_)


def _polished(model: MU, source: RowSource, W: Array, H: Array, n_iter: int) -> MU:
    """The model with so many iterations behind it; its error is that of its own weights, which are not yet exact."""
    model.set_params(n_components=len(H), init=H, max_iter=max(1, n_iter))
    iterations = multiply(source, H, W0=_warm_weights(source, W, H), loss=KL)
    last: list[Progress] = []
    result = run(iterations, max_iter=max(1, n_iter), tol=0.0, measure=KKT, callbacks=[last.append])
    squared, norm = squared_residual(
        source, np.ascontiguousarray(result.components.T), W=source.place(last[-1].state["W"])
    )
    model.components_, model.n_components_ = _unit(result.components), len(H)
    model.n_iter_, model.stop_ = result.n_iter, result.stop
    model.history_, model.residual_ = result.history, result.residual
    model.reconstruction_error_ = float(np.sqrt(squared / norm)) if norm > 0.0 else 0.0
    return model


def _smooth(H: Array) -> Array:
    H = _unit(np.maximum(H, 0.0)) + SMOOTH
    return _unit(H)


def _unit(H: Array) -> Array:
    return np.asarray(H / np.maximum(H.sum(axis=1, keepdims=True), np.finfo(H.dtype).tiny))


def _polish_length(source: RowSource, W: Array, H: Array, seed: int) -> tuple[int, Array]:
    """How many iterations make held-out counts more likely, and what each ten of them did to their divergence."""
    firsts = source.place(np.arange(source.shape[0], dtype=np.float64))
    seen = source.derive(partial(_thinned, seed=seed, held_out=False), firsts)
    rest = source.derive(partial(_thinned, seed=seed, held_out=True), firsts)
    odds = HELD_OUT / (1.0 - HELD_OUT)
    values: list[float] = []
    for number, now in enumerate(multiply(seen, H, W0=_warm_weights(seen, (1.0 - HELD_OUT) * W, H), loss=KL)):
        if number % EVERY:
            continue
        weights, Ht = (
            rest.place(np.asarray(now.state["W"])),
            np.ascontiguousarray(odds * now.components.T, source.dtype),
        )
        values.append(float(rest.reduce(partial(KL.block_value, H=Ht), weights)))
        if len(values) > PATIENCE + int(np.argmin(values)) or number >= LONGEST:
            break
    return EVERY * int(np.argmin(values)), np.array(values)


def _warm_weights(source: RowSource, W: Array, H: Array) -> Array:
    """The weights for given parts, nearly settled: parts that move along with raw weights would lose their way."""
    Ht = np.ascontiguousarray(H.T, source.dtype)
    placed = source.place(np.ascontiguousarray(W, source.dtype))
    return np.asarray(source.deliver(source.map_rows(partial(_warm, H=Ht), placed, width=len(H))))


def _thinned(block: Block, firsts: Array, *, seed: int, held_out: bool) -> Block:
    """Each count split by tosses of a coin; the same ones whenever the block is asked for."""
    counts = blocks.values(block)
    rng = np.random.default_rng([seed, int(firsts[0]) if len(firsts) else 0])
    rest = rng.binomial(counts.astype(np.int64), HELD_OUT).astype(counts.dtype)
    return blocks.with_values(block, rest if held_out else counts - rest)


def _warm(block: Block, W: Array, *, H: Array) -> Array:
    for _ in range(WARM):
        negative, positive = KL.gradient_W(block, W, H)
        W = W * np.divide(negative, positive, out=np.zeros_like(W), where=positive > 0.0)
    return np.asarray(W)


def _fraction(block: Block) -> float:
    values = blocks.values(block)
    return float(np.abs(values - np.round(values)).max(initial=0.0))
