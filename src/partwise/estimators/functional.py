"""The functional form: both factors in, both factors out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.deviations import deviations, least_deviations
from partwise.algorithms.loop import History
from partwise.estimators.base import generator
from partwise.estimators.beta import LOSSES
from partwise.estimators.classic import ANLS, HALS
from partwise.estimators.likelihood import Likelihood
from partwise.estimators.multiplicative import MU
from partwise.estimators.observing import Told
from partwise.exceptions import InputError
from partwise.io.opening import open_source
from partwise.linalg.absolute import least_absolute
from partwise.linalg.nnls import check_components
from partwise.linalg.reweighed import named_loss
from partwise.metrics.residuals import squared_residual
from partwise.sources import RowSource, blocks, inspect
from partwise.sources.observed import Observed
from partwise.starts.making import check_nonnegative, make_start

METHODS: dict[str, Any] = {"hals": HALS, "anls": ANLS, "mu": MU, "likelihood": Likelihood}


@dataclass(frozen=True, eq=False)
class Factorized:
    """How a factorization went.

    Attributes
    ----------
    error : float
        ``|X - W H| / |X|``, over known entries and with the weights of the data; for "l1" of sums of magnitudes.
    n_iter : int
        Iterations done; 0 for given parts.
    converged : bool
        Whether it ended by itself.
    reason : str
        Why it ended.
    kkt : float
        Residual of the optimality conditions; NaN for given parts. For "l1" the largest duality gap of the weights.
    history : History or None
        One row an iteration.
    model : estimator
        Fitted, for `transform` and all else; None for "l1", whose weights are ``nnls(H, X, loss="l1")``.
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
    update_W: bool = True,
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
        Weights to start with, beside ``H``: then the updates begin at exactly this pair. Or weights to keep.
    H : array-like of shape (k, n_features), optional
        Parts to start with, or to keep.
    update_H : bool, default=True
        Whether parts are sought; else they stay as they are, and only weights are: exactly, for the squared error and
        the Kullback-Leibler divergence.
    update_W : bool, default=True
        Whether weights are sought; else they stay as they are (a design, known concentrations) and only parts are, as
        the weights of the transposed data, which is read into memory.
    loss : float, {"frobenius", "kullback-leibler", "itakura-saito", "l1"} or (str, float), default="frobenius"
        The beta-divergence, by name or number, ``("negative-binomial", dispersion)`` or ``("huber", delta)``; or the
        sum of absolute deviations, by linear programs in memory, from a random start and with `tol`, `max_iter` and
        `random_state` alone.
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
        Weights, the best ones for ``H``; where MU began with weights, those that its last update left.
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
    told = Told(mask, sample_weight, feature_weight, entry_weight)
    if isinstance(loss, str) and loss == "l1":
        others = {"method": method, "mask": mask, "sample_weight": sample_weight, "feature_weight": feature_weight}
        return _deviations(X, k, W, H, update_W, update_H, init, others | {"entry_weight": entry_weight}, **options)
    named = named_loss(loss, "loss")
    beta = _beta(loss) if named is None else np.nan
    kind = METHODS[_method(method, beta)]
    for name in sorted(options.keys() - kind._get_param_names()):
        if any(name in other._get_param_names() for other in METHODS.values()):
            raise InputError(f"{{parameter}} is nothing for {kind.__name__}, which this loss takes", parameter=name)
    given: dict[str, Any] = {"beta_loss": named or beta, **options} if kind is MU else dict(options)
    if not update_W:
        return _parts(kind, given, X, W, H, told, update_H)
    if H is None and (W is not None or not update_H):
        name = "W" if W is not None else "update_H"
        raise InputError(f"{{parameter}}{'' if name == 'W' else '=False'} needs H", parameter=name)
    start = init if H is None else np.asarray(H) if W is None else (np.asarray(W), np.asarray(H))
    if start is not None:
        given["init"] = start
    model = kind(k, **given)
    if not update_H:
        return _weights(model, X, H, W, told)
    how = {"mask": mask, "sample_weight": sample_weight, "feature_weight": feature_weight, "entry_weight": entry_weight}
    found = model.fit_transform(X, **how)
    error = model.reconstruction_error_
    if "weights_" in vars(model):  # for a loss that is not convex the best ones may be those of another minimum
        found = model.weights_
        source, observed = model._readable(X, told)
        error = _error(source, observed, found, model)
    facts = (error, model.n_iter_, model.converged_, model.stop_reason_, model.kkt_)
    return found, model.components_, Factorized(*facts, model.history_, model)


def _weights(model: Any, X: Any, H: Any, W: Any, told: Told) -> tuple[Any, npt.NDArray[Any], Factorized]:
    """Weights of given parts."""
    if W is not None:
        raise InputError("{parameter} is not used with update_H=False: weights are exact", parameter="W")
    if told.samples is not None:
        raise InputError("{parameter} changes no weights of given parts", parameter="sample_weight")
    source = _given(model, X, H)
    source, observed = model._readable(X, told)
    if observed.features is not None:
        model.feature_weight_ = observed.features
    found = model._decode(source, observed=observed)
    facts = (_error(source, observed, found, model), 0, True, "parts are given", np.nan, None, model)
    return source.deliver(found), model.components_, Factorized(*facts)


def _parts(
    kind: Any, given: dict[str, Any], X: Any, W: Any, H: Any, told: Told, update_H: bool
) -> tuple[Any, npt.NDArray[Any], Factorized]:
    """Parts for given weights: the weights of the transposed data, whose parts the given weights are."""
    if W is None:
        raise InputError("{parameter}=False needs W", parameter="update_W")
    if H is not None or not update_H:
        message = "{parameter} is not used with update_W=False: parts are exact"
        raise InputError(message, parameter="H" if H is not None else "update_H")
    if told.features is not None:
        raise InputError("{parameter} changes no parts of given weights", parameter="feature_weight")
    about = ("l1_W", "l2_W", "smooth_H", "volume_H", "unimodal_H", "sparseness_H", "fixed", "bounds", "closure")
    for name in about:
        if not (given.get(name) is None or (np.isscalar(given[name]) and not given[name])):
            raise InputError("{parameter} is not for parts of given weights", parameter=name)
    model = kind(**given)
    model._validate_params()
    model._rows_of(X, reset=True)
    # refuses, by their names, what the transposed ones would have other names for
    n = model._readable(X, told)[0].shape[0]
    if np.ndim(W) != 2 or len(W) != n:
        message = f"{{parameter}} must have shape ({n}, components); got {np.shape(W)}"
        raise InputError(message, parameter="W", kind="shape")
    rows = check_components(W, np.shape(W)[1], name="W")
    check_nonnegative(rows, "W")
    swapped = {name.replace("_H", "_W"): value for name, value in given.items() if name not in about}
    turned = Told(_turned(told.mask), None, told.samples, _turned(told.entries))
    found, _, info = _weights(kind(**swapped), _turned(X), rows.T, None, turned)
    _given(model, X, found.T)
    return rows, model.components_, replace(info, reason="weights are given", model=model)


def _deviations(
    X: Any,
    k: int | None,
    W: Any,
    H: Any,
    update_W: bool,
    update_H: bool,
    init: Any,
    others: dict[str, Any],
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    random_state: Any = None,
    **unknown: Any,
) -> tuple[Any, npt.NDArray[Any], Factorized]:
    """Both factors, or one of them, by least absolute deviations."""
    for name in [name for name, value in others.items() if value is not None] + list(unknown):
        raise InputError("{parameter} is nothing for loss='l1'", parameter=name)
    if (W is None) == (not update_W) or (H is None and not update_H) or not (update_W or update_H):
        message = "{parameter}: loss='l1' takes W with update_W=False alone, and update_H=False with H"
        raise InputError(message, parameter="W" if (W is None) == (not update_W) else "H")
    source = open_source(X)
    seen = inspect(source)
    seen.check(allow_negative=False, squares=False)
    rows = source.take(np.arange(source.shape[0]))
    sums: tuple[float, ...]
    if not update_W:
        W = check_components(W, np.shape(W)[-1], name="W")
        found, proof = least_absolute(W.T, blocks.transposed(rows), return_certificate=True)
        H, sums, facts = found.T, (deviations(rows, W, found.T),), (True, "weights are given", proof.largest)
    elif not update_H:
        H = check_components(H, source.shape[1], name="H")
        W, proof = least_absolute(H, rows, return_certificate=True)
        sums, facts = (deviations(rows, W, H),), (True, "parts are given", proof.largest)
    else:
        k = (min(source.shape) if H is None else len(H)) if k is None else k
        start = "random" if init is None and H is None else init if H is None else H
        H0 = make_start(start, source, k, seen=seen, rng=generator(random_state))
        done = least_deviations(rows, H0, max_iter=max_iter, tol=tol)
        W, H, sums = done.W, done.H, done.sums
        reason = (
            f"a round lowered the deviations by no more than {tol:g} of them" if done.settled else "max_iter reached"
        )
        facts = (done.settled, reason, done.gap)
    size = float(np.abs(blocks.values(rows)).sum())
    error = sums[-1] / size if size > 0.0 else 0.0
    return W, np.asarray(H), Factorized(error, len(sums) - 1, *facts, None, None)


def _turned(X: Any) -> Any:
    """The transpose, in memory."""
    if X is None:
        return None
    source = open_source(X)
    return blocks.transposed(source.take(np.arange(source.shape[0])))


def _given(model: Any, X: Any, H: Any) -> RowSource:
    """Put parts into a model that was not fitted."""
    model._validate_params()
    source: RowSource = model._rows_of(X, reset=True)
    model.components_ = check_components(H, source.shape[1], name="H").astype(source.dtype)
    check_nonnegative(model.components_, "H")
    return source


def _error(source: RowSource, observed: Observed, W: Any, model: Any) -> float:
    """``|X - W H| / |X|``, of what is known and as it counts."""
    squared, norm = squared_residual(source, np.ascontiguousarray(model.components_.T), W=W, observed=observed)
    return float(np.sqrt(squared / norm)) if norm > 0.0 else 0.0


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
