"""What estimators of a beta-divergence share: which one, what data it is defined for, weights for given components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from partwise.algorithms.engine import Divergence
from partwise.algorithms.engine.entries import loss_of
from partwise.algorithms.engine.multiplicative import decode_rows
from partwise.algorithms.loop import Ending, Progress, Stages
from partwise.estimators.penalised import Penalised
from partwise.exceptions import InputError
from partwise.linalg.incomplete import Parts
from partwise.linalg.reweighed import Loss, decode_reweighed, named_loss
from partwise.sources import Inspection
from partwise.sources.observed import COMPLETE, Observed

LOSSES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


class BetaLoss(Penalised):
    """A divergence by name or number, in the parameter ``beta_loss``."""

    beta_loss: Any
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Penalised._parameter_constraints,
        "beta_loss": [StrOptions(set(LOSSES)), Interval(Real, None, None, closed="neither"), tuple, list],
    }

    @property
    def _named(self) -> Loss | None:
        """The loss, if it has a name and a number of its own."""
        return named_loss(self.beta_loss, "beta_loss")

    def _loss(self, observed: Observed) -> Divergence:
        return super()._loss(observed) if self._named is None else loss_of(self._named, observed)

    @property
    def _beta(self) -> float:
        if self._named is not None:
            return 2.0 if self._named[0] == "huber" else 1.0
        beta = float(LOSSES[self.beta_loss] if isinstance(self.beta_loss, str) else self.beta_loss)
        # near 0 and 1 the general formula divides rounding errors by beta (beta - 1); the limit is nearer the truth
        return float(round(beta)) if abs(beta - round(beta)) < 1e-6 else beta

    def _check_data(self, seen: Inspection, *, squares: bool = True) -> None:
        super()._check_data(seen, squares=squares)
        self._check_range(seen)
        known = seen.shape[0] * seen.shape[1] if not self._observed.holes else self._observed.known(seen.shape)
        zeros = known - seen.nonzero
        if self._beta <= 0.0 and zeros:
            raise InputError(
                f"beta_loss={self.beta_loss!r} needs {{parameter}} > 0 everywhere, but {{parameter}} holds {zeros} "
                "zero(s): the divergence is infinite; use beta_loss > 0 or add a small constant to {parameter}",
                parameter="X",
                kind="zero",
            )

    def _check_range(self, seen: Inspection) -> None:
        """Refuse entries whose powers leave the range of their type, summed over a row or column."""
        if self._beta == 2.0 or not seen.largest:  # squares are looked at anyway
            return
        limits = np.finfo(seen.dtype)
        low, high = np.log(1e3 * float(limits.tiny)), np.log(1e-3 * float(limits.max) / max(seen.shape))
        logs = [power * np.log(seen.largest) for power in Divergence(self._beta).powers()]
        if not all(low < value < high for value in logs):
            raise self._out_of_range(f"entries up to {seen.largest:.3g}", str(seen.dtype))

    def _out_of_range(self, what: str, dtype: str) -> InputError:
        return InputError(
            f"{{parameter}} has {what}, whose powers for beta_loss={self.beta_loss!r} leave the range of {dtype}; "
            "multiply {parameter} by a constant first",
            parameter="X",
            kind="out-of-range",
        )

    def _finite(self, iterations: Iterator[Progress], dtype: str) -> Stages:
        """The iterations, as long as their objective is a number."""
        ending = Ending(iterations)
        for progress in ending:
            if not np.isfinite(progress.objective):
                raise self._out_of_range("entries of very different sizes", dtype)
            yield progress
        return ending.stop

    def transform(self, X: Any, *, mask: Any = None, entry_weight: Any = None) -> Any:
        """Weights of ``X`` for the components found, each sample by itself.

        For ``beta_loss="frobenius"``, ``"kullback-leibler"`` and ``("huber", delta)`` they are exact, and for
        ``("negative-binomial", dispersion)`` stationary. For any other, and for the last two beside weights of entries
        or ``missing="zeros"``, they are those at which the multiplicative updates come to rest, or are after 2000 of
        them: approximate where parts are nearly equal, and without a certificate.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, path, Dask collection or source
            Samples as rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_components)
            Non-negative weights.
        """
        return super().transform(X, mask=mask, entry_weight=entry_weight)

    @property
    def _divergence(self) -> float:
        return self._beta

    def _decoder_of(self, H: Any, dtype: Any) -> Any:
        if self._named is not None:
            return partial(self._reweighed(H), complete=True)
        if self._beta in (1.0, 2.0):
            return super()._decoder_of(H, dtype)
        return self._rows_decoder(H, dtype, COMPLETE)

    def _incomplete_decoder_of(self, H: Any, dtype: Any, observed: Observed) -> Any:
        if self._named is not None:
            if observed.entries is not None or self.missing == "zeros":
                return self._rows_decoder(H, dtype, observed)
            return self._reweighed(H)
        exact = self._beta == 2.0 or (self._beta == 1.0 and observed.entries is None)
        return super()._incomplete_decoder_of(H, dtype, observed) if exact else self._rows_decoder(H, dtype, observed)

    def _reweighed(self, H: Any) -> Any:
        parts = Parts(
            np.asarray(H, np.float64), **self._on_W().elastic, features=self._features, counts=self._beta == 1.0
        )
        assert self._named is not None
        return partial(decode_reweighed, parts=parts, loss=self._named)

    def _rows_decoder(self, H: Any, dtype: Any, observed: Observed) -> Any:
        """Multiplicative updates of every row by itself."""
        counted = replace(observed, samples=None, features=self._features)
        Ht = np.ascontiguousarray(H.T, dtype)
        return partial(decode_rows, H=Ht, loss=self._loss(counted), on_W=self._on_W())
