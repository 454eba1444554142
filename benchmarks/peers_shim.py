"""A pytest plugin: names that scikit-learn's and SciPy's own tests import stand for ours; messages are not compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.base import BaseEstimator
from sklearn.decomposition import _nmf

import partwise as pw
from partwise.algorithms.engine import Divergence
from partwise.sources import blocks, inspect, source_of
from partwise.starts import make_start

NAMES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


def beta_of(loss: float | str) -> float:
    """The number of a divergence."""
    return float(NAMES[loss] if isinstance(loss, str) else loss)


class NMF(BaseEstimator):  # type: ignore[misc]
    """scikit-learn's parameters, our estimators."""

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: Any = None,
        solver: str = "cd",
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        shuffle: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle

    def model(self, X: Any, W: Any = None, H: Any = None) -> Any:
        """The estimator that this one stands for."""
        beta = beta_of(self.beta_loss)
        if self.solver == "cd" and beta != 2.0:
            raise ValueError("coordinate descent minimises the squared error")
        k = None if self.n_components == "auto" else self.n_components
        if k is None and H is not None:
            k = len(H)
        init = self.init
        if init == "custom":
            for given in (W, H):
                if given is not None and given.dtype != X.dtype:
                    raise TypeError("a start should have the same dtype as X")
            init = (W, H)
        if init is None:
            init = "nndsvda" if (k or min(X.shape)) <= min(X.shape) else "random"
        alpha_H = self.alpha_W if self.alpha_H == "same" else self.alpha_H
        alphas = {"W": self.alpha_W, "H": alpha_H}
        nets = {f"l1_{f}": alpha * self.l1_ratio for f, alpha in alphas.items()}
        nets |= {f"l2_{f}": alpha * (1.0 - self.l1_ratio) for f, alpha in alphas.items()}
        more: dict[str, Any] = {"beta_loss": beta} if self.solver == "mu" else {}
        kind = pw.MU if self.solver == "mu" else pw.HALS
        how = {"tol": self.tol, "max_iter": self.max_iter, "random_state": self.random_state}
        return kind(k, init=init, **nets, **how, **more)

    def fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> NMF:
        """As scikit-learn's."""
        self.fit_transform(X, W=W, H=H)
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Any:
        """As scikit-learn's."""
        self.fitted_ = self.model(X, W, H)
        weights = self.fitted_.fit_transform(X)
        self.components_ = self.fitted_.components_
        self._n_components = self.n_components_ = len(self.components_)
        self.n_iter_ = self.fitted_.n_iter_
        self.reconstruction_err_ = np.sqrt(2.0 * beta_divergence(X, weights, self.components_, beta_of(self.beta_loss)))
        return weights

    def transform(self, X: Any) -> Any:
        """As scikit-learn's."""
        return self.fitted_.transform(X)

    def inverse_transform(self, W: Any) -> Any:
        """As scikit-learn's."""
        return self.fitted_.inverse_transform(W)

    def get_feature_names_out(self) -> list[str]:
        """As scikit-learn names them: our parts have names of their own."""
        return [f"nmf{i}" for i in range(self.n_components_)]


class MiniBatchNMF(NMF):
    """The same for mini-batches; a start is components alone, and fresh restarts are always."""

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: Any = None,
        batch_size: int = 1024,
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        max_iter: int = 200,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        forget_factor: float = 0.7,
        fresh_restarts: bool = False,
        fresh_restarts_max_iter: int = 30,
        transform_max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        how = {"alpha_W": alpha_W, "alpha_H": alpha_H, "l1_ratio": l1_ratio, "verbose": verbose}
        super().__init__(
            n_components,
            init=init,
            solver="mu",
            beta_loss=beta_loss,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            **how,
        )
        self.batch_size = batch_size
        self.max_no_improvement = max_no_improvement
        self.forget_factor = forget_factor
        self.fresh_restarts = fresh_restarts
        self.fresh_restarts_max_iter = fresh_restarts_max_iter
        self.transform_max_iter = transform_max_iter

    def model(self, X: Any, W: Any = None, H: Any = None) -> Any:
        """The estimator that this one stands for."""
        given = super().model(X, W, H).get_params(deep=False)
        given = {name: given[name] for name in given if name != "init_weights"}
        given["init"] = given["init"][1] if isinstance(given["init"], tuple) else given["init"]
        own = {name: getattr(self, name) for name in ("batch_size", "max_no_improvement", "forget_factor")}
        return pw.MiniBatchNMF(**given, **own)

    def partial_fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> MiniBatchNMF:
        """As scikit-learn's."""
        if not hasattr(self, "fitted_"):
            self.fitted_ = self.model(X, W, H)
        self.fitted_.partial_fit(X)
        self.components_, self.n_steps_ = self.fitted_.components_, self.fitted_.n_steps_
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Any:
        """As scikit-learn's."""
        found = super().fit_transform(X, W=W, H=H)
        self.n_steps_ = self.fitted_.n_steps_
        return found


def factorization(X: Any, W: Any = None, H: Any = None, n_components: Any = "auto", **options: Any) -> Any:
    """``non_negative_factorization``."""
    update_H, init = options.pop("update_H", True), options.get("init")
    if not update_H:
        if H.dtype != X.dtype:
            raise TypeError("H should have the same dtype as X")
        nmf = NMF(len(H), **{**options, "init": None})
        model = nmf.model(X)
        extra = {"loss": beta_of(nmf.beta_loss), "method": "mu"} if nmf.solver == "mu" else {}
        weights = pw.factorize(X, H=H, update_H=False, l1_W=model.l1_W, l2_W=model.l2_W, **extra)[0]
        return weights, H, 0
    nmf = NMF(n_components, **options)
    if init == "custom":
        given = nmf.model(X, W, H).get_params()
        how = {"loss": given.pop("beta_loss"), "method": "mu"} if nmf.solver == "mu" else {}
        start, k = given.pop("init"), given.pop("n_components")
        weights, parts, info = pw.factorize(X, k, W=start[0], H=start[1], **how, **given)
        return weights, parts, info.n_iter
    weights = nmf.fit_transform(X)
    return weights, nmf.components_, nmf.n_iter_


def beta_divergence(X: Any, W: Any, H: Any, beta: Any, square_root: bool = False) -> float:
    """``_beta_divergence``."""
    beta = beta_of(beta)
    block = blocks.concrete(X, np.float64)
    W, Ht = np.ascontiguousarray(W, np.float64), np.ascontiguousarray(np.asarray(H, np.float64).T)
    value = max(Divergence(beta).block_value(block, W, Ht), 0.0)
    return float(np.sqrt(2.0 * value)) if square_root else value


def initialize(X: Any, n_components: int, init: Any = None, random_state: Any = None) -> Any:
    """``_initialize_nmf``: components of a start of ours; weights are those of the transpose, or random, too."""
    if init != "random" and n_components > min(X.shape):
        raise ValueError("n_components <= min(n_samples, n_features)")
    rng, factors = np.random.default_rng(random_state), []
    for rows in (X,) if init == "random" else (X, X.T):
        source = source_of(np.ascontiguousarray(rows))
        seen = inspect(source)
        seen.check(allow_negative=False)
        factors.append(make_start(init or "nndsvda", source, n_components, seen=seen, rng=rng))
    if init == "random":
        return np.abs(rng.standard_normal((len(X), n_components))), factors[0]
    return np.ascontiguousarray(factors[1].T), factors[0]


def nnls(A: Any, b: Any, **options: Any) -> Any:
    """SciPy's ``nnls``."""
    A, b = np.asarray_chkfinite(A, float), np.asarray_chkfinite(b, float)
    if A.ndim != 2 or b.ndim not in (1, 2) or (b.ndim == 2 and b.shape[1] != 1) or len(A) != len(b):
        raise ValueError("shapes")
    x = pw.nnls(A.T, b.reshape(1, -1))[0]
    return x, float(np.linalg.norm(A @ x - b.ravel()))


def pytest_configure(config: pytest.Config) -> None:
    """Put our names in the place of theirs, and no message beside another one."""
    sklearn.decomposition.NMF = NMF
    sklearn.decomposition.MiniBatchNMF = MiniBatchNMF
    sklearn.decomposition.non_negative_factorization = factorization
    _nmf._beta_divergence = beta_divergence
    _nmf._initialize_nmf = initialize
    for name in ("raises", "warns"):
        setattr(pytest, name, unmatched(getattr(pytest, name)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """SciPy's name in its own tests alone: the library solves some problems with it."""
    for module in {getattr(item, "module", None) for item in items}:
        if module is not None and module.__name__.endswith("test_nnls"):
            module.nnls = nnls


def unmatched(check: Any) -> Any:
    """The same check, of any message."""

    def checked(*args: Any, match: Any = None, **more: Any) -> Any:
        return check(*args, **more)

    return checked
