"""Likelihood as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from partwise.algorithms.engine import Divergence, Pair, multiply
from partwise.algorithms.likelihood import likelihood
from partwise.algorithms.loop import Progress, State
from partwise.estimators.known import Known
from partwise.sources import Inspection, RowSource, blocks
from partwise.sources.observed import COMPLETE


class Likelihood(Known):
    """Non-negative parts of counts: the Poisson likelihood, by coordinate descent.

    Minimises the generalised Kullback-Leibler divergence of ``X`` from ``W H``, which is what
    :class:`MU` with ``beta_loss="kullback-leibler"`` minimises, plus the penalties of :class:`HALS`. It gets there in a
    fraction of the time: 30 multiplicative rounds, then sweeps over the coordinates of all samples and of all features,
    with extrapolation. The first rounds are multiplicative because steps as long as those of the sweeps sometimes
    end in a worse optimum when they begin at a start that is far away.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "nndsvdar", "random"}, array, pair of arrays or estimator, default="pure"
        Where to start: a name, components, a fitted estimator, or weights and components ``(W, H)``.
        "pure" is "nndsvda" where entries are unknown: filled samples are no parts.
        Multiplicative rounds could never leave zeros, so they are lifted to a small positive value.

    Attributes
    ----------
    reconstruction_error_ : float
        ``|X - W H| / |X|`` in the Frobenius norm with the exact (most likely) weights of the final components.

    Notes
    -----
    Computed in double precision, on the entries that are not zero, of which it makes a copy with the features as rows
    and, unless the data is a sparse matrix in memory, another with the samples: 12 bytes an entry for each. Data with
    more than 2^26 of them (1.6 GB for both copies) stays where it is, and features then have one multiplicative step an
    iteration in the place of sweeps: slower, by a rule that looks at the data alone, so that results do not depend on
    the machine or on where the rows live. With holes, weights of samples, features or entries, a penalty of one
    factor alone, or weights to start with, all iterations are multiplicative.

    References
    ----------
    Hsieh & Dhillon (2011), section 4; Lin & Boutros (2020); Ang & Gillis (2019); Lee & Seung (2001).

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> X = np.random.default_rng(0).poisson(3.0, (50, 20))
    >>> model = pw.Likelihood(4).fit(X)
    >>> model.converged_, model.kkt_ <= 1e-5
    (True, True)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        l1_W: float = 0.0,
        l2_W: float = 0.0,
        l1_H: float = 0.0,
        l2_H: float = 0.0,
        fixed: Any = None,
        missing: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
        callbacks: Any = (),
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            l1_W=l1_W,
            l2_W=l2_W,
            l1_H=l1_H,
            l2_H=l2_H,
            missing=missing,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.fixed = fixed

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        on_W, on_H = self._on_W(), self._on_H(source.shape[0])
        self._check_penalties(on_H, None if self.fixed is None else "fixed")
        observed = self._observed
        W0 = self._start_weights(source.shape[0], len(H0))
        slow = W0 is not None or bool(Pair(on_W, on_H, *observed.lengths(source.shape)).alone)
        if observed.samples is not None and not (slow or self.l2_W) and replace(observed, samples=None).plain:
            # s D(x | w H) = D(s x | s w H): a sample that counts twice is one that is twice as large
            source, observed = source.derive(blocks.scale_rows, *observed.beside(source)), COMPLETE
        if slow or not observed.plain:
            # the kernels have one sum of the components for all samples, and one size of the penalties for all parts
            loss = Divergence(1.0, observed)
            return multiply(source, H0, W0=W0, loss=loss, on_W=on_W, on_H=on_H, state=state)
        return likelihood(
            source,
            H0,
            nonzero=seen.nonzero,
            on_W=on_W,
            on_H=on_H,
            tol=self.tol,
            state=state,
        )

    @property
    def _divergence(self) -> float:
        return 1.0
