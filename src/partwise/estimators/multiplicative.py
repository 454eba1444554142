"""MU as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from partwise.algorithms.loop import Progress, State
from partwise.algorithms.mu import mu
from partwise.estimators.base import is_pair
from partwise.estimators.beta import BetaLoss
from partwise.exceptions import InputError
from partwise.sources import Inspection, RowSource


class MU(BetaLoss):
    """Multiplicative updates for the squared error, the Kullback-Leibler or any beta-divergence.

    Minimises ``D_beta(X | W H)`` (for 2: ``1/2 |X - W H|^2``) plus the penalties of :class:`HALS`.

    Parameters
    ----------
    init : {"pure", "nndsvd", "nndsvda", "nndsvdar", "random"}, array, pair of arrays or estimator, default="pure"
        Where to start: a name, components, a fitted estimator, or weights and components ``(W, H)``.
        "pure" is "nndsvda" where entries are unknown: filled samples are no parts.
        "pure" is "random" for ``("huber", delta)``: the outermost samples may be those that are far off.
        Zeros could never be left, so those of components without weights are lifted to a small positive value.
    init_weights : array-like of shape (n_samples, n_components), optional
        Weights to start with, beside components given as `init`: the updates then begin at exactly this pair, zeros
        included. By default weights are those that fit given components best, lifted like them, and equal beside
        components that a name stands for.
    beta_loss : float, {"frobenius", "kullback-leibler", "itakura-saito"} or (str, float), default="frobenius"
        The divergence; the names stand for 2, 1 and 0. For 0 and below the data must be positive. Also
        ``("negative-binomial", dispersion)``, for counts of mean y and variance ``y + dispersion y^2``, and ``("huber",
        delta)``, for residuals that count as squares up to delta and as lines beyond.

    Attributes
    ----------
    reconstruction_error_ : float
        ``|X - W H| / |X|`` in the Frobenius norm, whatever the divergence, with the weights of ``transform``.
    weights_ : ndarray or Dask array of shape (n_samples, n_components)
        The weights that the last update left, where weights to start with were given; those of ``transform`` are
        optimal for ``components_``, and no iterate.

    References
    ----------
    Lee & Seung (2001); Févotte & Idier (2011).

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> X = np.random.default_rng(0).poisson(3.0, (50, 20))
    >>> model = pw.MU(4, beta_loss="kullback-leibler", tol=1e-2).fit(X)
    >>> bool(np.all(np.diff(model.history_["objective"]) <= 0))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BetaLoss._parameter_constraints,
        "init_weights": ["array-like", None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "pure",
        init_weights: Any = None,
        beta_loss: Any = "frobenius",
        l1_W: float = 0.0,
        l2_W: float = 0.0,
        l1_H: float = 0.0,
        l2_H: float = 0.0,
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
        self.init_weights = init_weights
        self.beta_loss = beta_loss

    def _iterations(self, source: RowSource, H0: Any, seen: Inspection, state: State | None) -> Iterator[Progress]:
        self.__dict__.pop("weights_", None)  # of another start
        if self._keeps and state is not None:
            self.weights_ = state["W"]  # should nothing be left to do
        iterations = mu(
            source,
            H0,
            squared_norm=seen.squared_norm,
            weights=self._observed,
            W0=self._start_weights(source.shape[0], len(H0)),
            decode=None if isinstance(self.init, str) else self._start_decoder(H0, source.dtype),
            beta=self._beta,
            named=self._named,
            on_W=self._on_W(),
            on_H=self._on_H(source.shape[0]),
            state=state,
        )
        iterations = self._finite(iterations, str(source.dtype))
        return self._keeping_weights(iterations) if self._keeps else iterations

    @property
    def _init(self) -> Any:
        named = self._named
        robust = named is not None and named[0] == "huber"
        return "random" if robust and isinstance(self.init, str) and self.init == "pure" else super()._init

    @property
    def _keeps(self) -> bool:
        """Whether the weights of the last update are kept: where they were begun with."""
        return self.init_weights is not None or is_pair(self.init)

    def _start_decoder(self, H0: Any, dtype: Any) -> Any:
        """Given components begin with the weights that fit them: a fit that is begun again goes on where it ended."""
        observed = self._observed
        if observed.holes or observed.entries is not None:
            return self._incomplete_decoder_of(H0, dtype, observed)
        return self._decoder_of(H0, dtype)

    def _start_weights(self, n: int, k: int) -> Any:
        if self.init_weights is None:
            return super()._start_weights(n, k)
        if isinstance(self.init, str) or is_pair(self.init):
            raise InputError(
                "{parameter} is one half of a start; give the components too, as init, which is "
                f"{str(self.init)[:40]!r}",
                parameter="init_weights",
            )
        return self._checked_weights(self.init_weights, n, k, "init_weights")

    def _keeping_weights(self, iterations: Iterator[Progress]) -> Iterator[Progress]:
        for progress in iterations:
            self.weights_ = progress.state["W"]
            yield progress
