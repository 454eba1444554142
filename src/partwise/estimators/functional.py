"""The functional form: both factors in, both factors out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.loop import History
from partwise.estimators.beta import LOSSES
from partwise.estimators.classic import ANLS, HALS
from partwise.estimators.likelihood import Likelihood
from partwise.estimators.multiplicative import MU
from partwise.estimators.observing import Told
from partwise.exceptions import InputError
from partwise.linalg.nnls import check_components
from partwise.linalg.reweighed import named_loss
from partwise.metrics.residuals import squared_residual
from partwise.starts.making import check_nonnegative

METHODS = {"hals": HALS, "anls": ANLS, "mu": MU, "likelihood": Likelihood}


@dataclass(frozen=True, eq=False)
class Factorized:
    """How a factorization went.

    Attributes
    ----------
    error : float
        ``|X - W H| / |X|``, over known entries and with the weights of the data.
    n_iter : int
        Iterations done; 0 for given parts.
    converged : bool
        Whether it ended by itself.
    reason : str
        Why it ended.
    kkt : float
        Residual of the optimality conditions; NaN for given parts.
    history : History or None
        One row an iteration.
    model : estimator
        Fitted, for `transform` and all else.
    """

    error: float
    n_iter: int
    converged: bool
    reason: str
    kkt: float
    history: History | None
    model: Any


def factorize(
    X: Any,
    k: int | None = None,
    *,
    W: npt.ArrayLike | None = None,
    H: npt.ArrayLike | None = None,
    update_H: bool = True,
    loss: float | str | tuple[str, float] = "frobenius",
    method: str | None = None,
    init: Any = None,
    mask: Any = None,
    sample_weight: Any = None,
    feature_weight: Any = None,
    entry_weight: Any = None,
    **options: Any,
) -> tuple[Any, npt.NDArray[Any], Factorized]:
    """Factors ``W`` and ``H`` of ``X``, from starts for one, both or none, or weights for given parts.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame, path, Dask collection or source
        Samples as rows.
    k : int, optional
        Number of parts; by default those of ``H``, or the smaller of the numbers of samples and features.
    W : array-like of shape (n_samples, k), optional
        Weights to start with, beside ``H``: then the updates begin at exactly this pair.
    H : array-like of shape (k, n_features), optional
        Parts to start with, or to keep.
    update_H : bool, default=True
        Whether parts are sought; else they stay as they are, and only weights are: exactly, for the squared error and
        the Kullback-Leibler divergence.
    loss : float, {"frobenius", "kullback-leibler", "itakura-saito"} or (str, float), default="frobenius"
        The beta-divergence, by name or number, ``("negative-binomial", dispersion)`` or ``("huber", delta)``.
    method : {"hals", "anls", "mu", "likelihood"}, optional
        By default HALS for the squared error, Likelihood for Kullback-Leibler, MU for any other.
    init : str or fitted estimator, optional
        Where to start if ``H`` is not given.
    mask, sample_weight, feature_weight, entry_weight : array-like, optional
        What is known and how much it counts; see `HALS.fit`.
    **options
        Any further parameter of the estimator: `l1_W`, `tol`, `max_iter`, `random_state`, `missing`, `fixed`.

    Returns
    -------
    W : ndarray or Dask array of shape (n_samples, k)
        Weights, the best ones for ``H``.
    H : ndarray of shape (k, n_features)
        Parts.
    info : Factorized
        How it went.

    Examples
    --------
    >>> import numpy as np, partwise as pw
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 3.0, 2.0])
    >>> W, H, info = pw.factorize(X, 1)
    >>> bool(np.allclose(W @ H, X)), info.converged
    (True, True)
    >>> W, H, info = pw.factorize(X, H=[[1.0, 3.0, 2.0]], update_H=False, loss="kullback-leibler")
    >>> W.ravel().round(6)
    array([1., 2., 3.])
    """
    named = named_loss(loss, "loss")
    beta = _beta(loss) if named is None else np.nan
    kind = METHODS[_method(method, beta)]
    given: dict[str, Any] = {"beta_loss": named or beta, **options} if kind is MU else dict(options)
    if H is None and (W is not None or not update_H):
        name = "W" if W is not None else "update_H"
        raise InputError(f"{{parameter}}{'' if name == 'W' else '=False'} needs H", parameter=name)
    start = init if H is None else np.asarray(H) if W is None else (np.asarray(W), np.asarray(H))
    if start is not None:
        given["init"] = start
    model = kind(k, **given)
    told = {"mask": mask, "sample_weight": sample_weight, "feature_weight": feature_weight}
    if not update_H:
        return _weights(model, X, H, W, told, entry_weight)
    found = model.fit_transform(X, **told, entry_weight=entry_weight)
    facts = (model.reconstruction_error_, model.n_iter_, model.converged_, model.stop_reason_, model.kkt_)
    return found, model.components_, Factorized(*facts, model.history_, model)


def _weights(
    model: Any, X: Any, H: Any, W: Any, told: dict[str, Any], entry_weight: Any
) -> tuple[Any, npt.NDArray[Any], Factorized]:
    """Weights of given parts."""
    if W is not None:
        raise InputError("{parameter} is not used with update_H=False: weights are exact", parameter="W")
    if told["sample_weight"] is not None:
        raise InputError("{parameter} changes no weights of given parts", parameter="sample_weight")
    model._validate_params()
    source = model._rows_of(X, reset=True)
    model.components_ = check_components(H, source.shape[1], name="H").astype(source.dtype)
    check_nonnegative(model.components_, "H")
    source, observed = model._readable(X, Told(told["mask"], None, told["feature_weight"], entry_weight))
    if observed.features is not None:
        model.feature_weight_ = observed.features
    found = model._decode(source, observed=observed)
    Ht = np.ascontiguousarray(model.components_.T)
    squared, norm = squared_residual(source, Ht, W=found, observed=observed)
    error = float(np.sqrt(squared / norm)) if norm > 0.0 else 0.0
    return source.deliver(found), model.components_, Factorized(error, 0, True, "parts are given", np.nan, None, model)


def _beta(loss: Any) -> float:
    if isinstance(loss, str) and loss not in LOSSES:
        names = ", ".join(LOSSES)
        raise InputError(f"{{parameter}} must be a number or one of {names}, got {loss!r}", parameter="loss")
    return float(LOSSES[loss] if isinstance(loss, str) else loss)


def _method(method: str | None, beta: float) -> str:
    losses = {"hals": (2.0,), "anls": (2.0,), "likelihood": (1.0,)}
    if method is None:
        return {2.0: "hals", 1.0: "likelihood"}.get(beta, "mu")
    if method not in METHODS:
        raise InputError(f"{{parameter}} must be one of {', '.join(METHODS)}, got {method!r}", parameter="method")
    if beta not in losses.get(method, (beta,)):
        raise InputError(f"{{parameter}}={method!r} does not minimise this loss", parameter="method")
    return method
