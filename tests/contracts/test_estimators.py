"""Every estimator against every promise: scikit-learn's checks, then ours, then what bad input gets.

A new estimator joins ``METHODS``; tests that do not apply to it are left out by what its entry says.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

import partwise as pw
from partwise.estimators.penalised import Penalised
from partwise.exceptions import DegenerateDataWarning, InputError

# scikit-learn 1.6 cannot be tested beside array-api-compat without it; SciPy, which is here already, does not see it
with pytest.MonkeyPatch.context() as patch:
    patch.setenv("SCIPY_ARRAY_API", "1")
    from sklearn.utils.estimator_checks import parametrize_with_checks

INITS = ("pure", "nndsvd", "nndsvda", "random")


@dataclass(frozen=True)
class Method:
    """One estimator, and how well it must do."""

    name: str
    make: Callable[..., Any]
    recovery: dict[str, Any] = field(default_factory=dict)  # parameters with which it recovers Laurberg's parts,
    recovery_error: float = 1e-8  # to this
    inits: tuple[str, ...] = INITS
    monotone: bool = True
    same: float = 1e-9  # relative difference that mere rounding may make after a few iterations
    alone: float = 1e-9  # the same for the weights of samples decoded in other company
    single: float = 2e-3  # relative difference of float32 from float64
    signed: bool = False  # takes and gives negative components
    residual: str = "KKT residual"  # what falls below tol,
    reason: str = "KKT residual"  # how the reason to stop there begins,
    settles: float = 2e-2  # and how far it surely falls
    ends: bool = False  # may end by itself whatever tol is
    iterates: bool = True  # has a start, a loop and a history
    online: bool = False  # learns sample by sample, so their order counts; starts at random
    clusters: bool = False  # starts at random records, and warns of what it did off its path: often, on small data

    def few(self, iterations: int = 6, **params: Any) -> Any:
        """A model that does so many iterations without complaint; of what it does not take nothing is said."""
        wanted = {"n_components": 3, "max_iter": iterations, "tol": 0.0, "random_state": 0, **params}
        known = wanted if self.iterates else self.make().get_params()
        return self.make(**{name: value for name, value in wanted.items() if name in known})


def at_once(name: str, make: Callable[..., Any], *, signed: bool = False, **more: Any) -> Method:
    """A method without a start and iterations, for a model that Laurberg's data is not of."""
    return Method(
        name, make, recovery_error=np.inf, inits=("none",), monotone=False, signed=signed, iterates=False, **more
    )


# data that is no mixture at all: what comes out negative is told, and that is tested elsewhere (test_signs.py)
pytestmark = pytest.mark.filterwarnings("ignore:(Facets|AND|MinVol).*came out negative")

METHODS = [
    Method(
        "facets",
        pw.Facets,
        {"tol": 1e-12},
        inits=("pure",),
        monotone=False,
        signed=True,
        residual="change of the components",
        reason="components changed by",
        settles=np.inf,
        ends=True,
    ),
    Method(
        "and",
        pw.AND,
        {"tol": 1e-12},
        1e-6,
        inits=("pure",),
        monotone=False,
        signed=True,
        residual="change of the components",
        reason="components changed by",
    ),
    Method(
        "purification",
        pw.Purification,
        recovery_error=np.inf,  # the weights of Laurberg's samples are far from independent
        inits=("pure",),
        monotone=False,
        signed=True,
        residual="fixed-point residual",
        reason="",
        settles=np.inf,
        ends=True,
    ),
    Method(
        "minvol",
        pw.MinVol,
        recovery_error=np.inf,  # six samples are no cloud to put a simplex around
        inits=("pure",),
        monotone=False,  # from stage to stage; within one it is
        reason="",
        settles=np.inf,
    ),
    Method(
        "bayes",
        pw.Bayes,
        recovery_error=np.inf,  # there is no noise to average over
        residual="change of the components",
        reason="components changed by",
        settles=np.inf,
        signed=True,
        ends=True,
    ),
    Method("hals", pw.HALS, {"tol": 1e-11, "max_iter": 2000}),
    Method("hals-plain", lambda **p: pw.HALS(**{"extrapolate": False, **p}), {"tol": 1e-11, "max_iter": 2000}),
    Method("anls", pw.ANLS, {"tol": 1e-11, "max_iter": 2000}),
    # multiplicative updates reach zeros as 1/t
    Method("mu", pw.MU, {"tol": 0.0, "max_iter": 700}, 1e-2),
    Method(
        "mu-kl",
        lambda **p: pw.MU(**{"beta_loss": "kullback-leibler", **p}),
        {"tol": 0.0, "max_iter": 500},
        1e-2,
        same=1e-6,
    ),
    Method("likelihood", pw.Likelihood, {"tol": 1e-11, "max_iter": 2000}, single=5e-3),
    Method(
        "minibatch",
        lambda **p: pw.MiniBatchNMF(**{"batch_size": 16, "max_no_improvement": None, **p}),
        {"forget_factor": 0.0, "tol": 1e-12, "max_iter": 2000},
        1e-6,
        monotone=False,
        online=True,
        residual="change of the components",
        reason="components changed by",
    ),
    Method(
        "minibatch-kl",
        lambda **p: pw.MiniBatchNMF(**{"batch_size": 16, "beta_loss": 1, "max_no_improvement": None, **p}),
        recovery_error=np.inf,  # as 1/t
        monotone=False,
        online=True,
        same=1e-6,
        residual="change of the components",
        reason="components changed by",
        single=5e-3,
    ),
    at_once("tsvdnmf", pw.TSVDNMF, signed=True, clusters=True),
    at_once("tsvdnmf-refined", lambda **p: pw.TSVDNMF(**{"refine": True, **p}), signed=True, clusters=True),
    at_once("tsvd", pw.TSVD, signed=True, clusters=True),
    at_once("kmeans", pw.KMeans, signed=True, clusters=True),
    at_once("archetypes", lambda **p: pw.Archetypes(**{"starts": 2, **p}), signed=True, clusters=True),
    # what it chooses by itself is slower, and is among scikit-learn's checks below and in tests/parts
    at_once("parts", lambda **p: pw.Parts(**{"method": "facets", "judge": False, **p}), signed=True, clusters=True),
    at_once("spa", pw.SPA, signed=True),
    at_once("pw-spa", pw.PreconditionedSPA, signed=True),
    at_once("er-spa", lambda **p: pw.EllipsoidalSPA(**{"axis": "features", **p}), signed=True),
    at_once("xray", pw.XRAY),
    at_once("separable-lp", lambda **p: pw.SeparableLP(**{"axis": "features", **p}), signed=True),
    at_once("convex-hull", lambda **p: pw.ConvexHull(**{"axis": "features", **p})),
    at_once("anchor-topics", lambda **p: pw.AnchorTopics(**{"unbiased": False, **p})),
    at_once("conservative", lambda **p: pw.ConservativeNMF(**{"relaxation": 0.3, "max_passes": 2, **p}), online=True),
]


def methods(wanted: Callable[[Method], bool] = lambda method: True) -> Any:
    """Run a test of the methods that it is about; for the others there is no cell."""
    return pytest.mark.parametrize("method", [one for one in METHODS if wanted(one)], ids=lambda method: method.name)


def starts(wanted: Callable[[Method], bool] = lambda method: True) -> Any:
    """Run a test of the methods that it is about, from each of their starts."""
    cells = [pytest.param(one, init, id=f"{one.name}-{init}") for one in METHODS if wanted(one) for init in one.inits]
    return pytest.mark.parametrize(("method", "init"), cells)


def crossed(name: str, values: Sequence[Any]) -> Any:
    """Run a test of every method from its first start with each value, from its others with two: each start has all."""
    cells = [
        pytest.param(one, init, value, id=f"{one.name}-{init}-{value}")
        for at, one in enumerate(METHODS)
        for init in one.inits
        for number, value in enumerate(values)
        if init == one.inits[0] or number in (2 * at % len(values), (2 * at + 1) % len(values))
    ]
    return pytest.mark.parametrize(("method", "init", name), cells)


every_method, every_start = methods(), starts()
every_iterative = methods(lambda method: method.iterates)

ROWS, FEATURES = 40, 9


def make_data() -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.gamma(0.5, size=(ROWS, 3)) @ rng.gamma(0.5, size=(3, FEATURES)) + 0.05 * rng.random((ROWS, FEATURES))
    return X * (rng.random(X.shape) < 0.8)


X = make_data()
H0 = np.random.default_rng(4).random((3, FEATURES)) + 0.1
COUNTS = np.random.default_rng(5).integers(0, 4, (ROWS, FEATURES))


FORMATS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "blocks": lambda X: pw.open_source(X, block_rows=9),
}


@functools.cache
def fitted(name: str, iterations: int = 6, init: str | None = None, form: str = "dense") -> tuple[Any, np.ndarray]:
    """A model of ``X`` and its weights, made once: what many cells compare with, and none changes."""
    (method,) = [one for one in METHODS if one.name == name]
    model = method.few(iterations, **({} if init is None else {"init": H0 if init == "H0" else init}))
    return model, model.fit_transform(FORMATS[form](X))


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    """Equal relative to the largest entry: what is zero in one may be rounding in the other."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=tolerance * np.abs(expected).max())


def fingerprint(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        parts = [array.data, array.indices, array.indptr] if sp.issparse(array) else [array]
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


# --- scikit-learn's own checks ------------------------------------------------------------------------------

SKLEARN = [
    pw.Purification(max_iter=30, tol=1e-3),
    pw.Facets(max_iter=30, tol=1e-3),
    pw.AND(max_iter=30, tol=1e-3),
    pw.MinVol(max_iter=30),
    # with more parts than the data has dimensions, as by default in some checks, rounding decides among many optima
    pw.HALS(2, max_iter=30, tol=1e-3),
    pw.ANLS(2, max_iter=20, tol=1e-3),
    pw.MU(max_iter=20, tol=1e-2),
    pw.MU(beta_loss="kullback-leibler", max_iter=20, tol=1e-2),
    pw.Likelihood(max_iter=40, tol=1e-3),
    pw.TSVDNMF(),
    pw.TSVDNMF(refine=True),
    pw.TSVD(),
    pw.KMeans(),
    pw.Archetypes(starts=2, max_iter=20, tol=1e-2),
    pw.Bayes(max_iter=30, tol=1e-2),
    pw.Parts(judge=False),
    pw.SPA(),
    pw.SPA(axis="features", normalize=True),
    pw.PreconditionedSPA(),
    pw.EllipsoidalSPA(),
    pw.XRAY(),
    pw.SeparableLP(axis="features"),
    pw.ConvexHull(axis="features"),
    pw.AnchorTopics(),
    pw.AnchorTopics(unbiased=False),
    pw.ConservativeNMF(),
    pw.MiniBatchNMF(max_iter=20, tol=1e-2),
    pw.MiniBatchNMF(beta_loss="kullback-leibler", max_iter=20, tol=1e-2),
]


ALIGNED = {"check_dataframe_column_names_consistency": "columns in another order are put right by name, not refused"}
# these draw among samples or learn one after the other, and the check shuffles: test_sample_weight.py has them in order
ORDERED = ("Archetypes", "Bayes", "ConservativeNMF", "KMeans", "PreconditionedSPA", "Purification", "TSVDNMF")
SHUFFLED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the order of samples counts" for kind in ("dense", "sparse")
}


def not_met(estimator: Any) -> dict[str, str]:
    return ALIGNED | (SHUFFLED if type(estimator).__name__ in ORDERED else {})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(SKLEARN, expected_failed_checks=not_met)
def test_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# --- what it finds ------------------------------------------------------------------------------------------


@starts(lambda method: np.isfinite(method.recovery_error))
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_recovers_a_factorization_that_is_unique(method: Method, init: str, alpha: float) -> None:
    data = pw.datasets.make_laurberg(alpha)
    model = method.make(n_components=3, init=init, random_state=1, **method.recovery)
    W = model.fit_transform(data.X)
    match = pw.metrics.match_components(model.components_, data.components)
    assert sorted(match.permutation) == [0, 1, 2]
    assert match.errors.max() <= method.recovery_error
    weights = W[:, match.permutation] / match.scales
    assert_close(weights, data.weights, 10 * method.recovery_error)
    assert model.reconstruction_error_ <= 10 * method.recovery_error


@starts(lambda method: method.monotone)
def test_objective_never_rises(method: Method, init: str) -> None:
    objective = method.few(60, init=init).fit(X).history_["objective"]
    assert np.diff(objective).max() <= 1e-13 * np.vdot(X, X)
    assert objective[-1] < objective[0]


@every_method
def test_non_negative_and_of_the_right_shape(method: Method) -> None:
    model = method.few()
    W = model.fit_transform(X)
    assert W.shape == (ROWS, 3)
    assert model.components_.shape == (3, FEATURES)
    assert (W >= 0).all()
    # MinVol leaves signs free within the noise
    least = -model.noise_ if method.name == "minvol" else 0.0
    assert method.signed or (model.components_ >= least).all()
    assert (model.n_components_, model.n_features_in_) == (3, FEATURES)
    assert not method.iterates or model.n_iter_ == 6
    assert model.reconstruction_error_ == pytest.approx(np.linalg.norm(X - W @ model.components_) / np.linalg.norm(X))


@methods(lambda method: method.name != "parts")  # which chooses the number
def test_n_components_is_by_default_as_many_as_can_be(method: Method) -> None:
    assert method.few(1, n_components=None).fit(X[:5]).n_components_ == 5
    assert method.few(1, n_components=None).fit(X).n_components_ == FEATURES


# --- invariances --------------------------------------------------------------------------------------------


@starts(
    lambda method: not (method.clusters or method.online)
)  # k-means starts at random records, a stream has an order
def test_order_of_rows_does_not_matter(method: Method, init: str) -> None:
    order = np.random.default_rng(0).permutation(ROWS)
    model, W = fitted(method.name, init=init)
    other = method.few(init=init)
    W_other = other.fit_transform(X[order])
    assert_close(other.components_, model.components_, method.same)
    assert_close(W_other, W[order], max(method.same, method.alone))


@crossed("c", [1e-150, 1e-3, 7.0, 1e150])
def test_unit_of_the_data_does_not_matter(method: Method, init: str, c: float) -> None:
    model, W_model = fitted(method.name, init=init)
    other = method.few(init=init)
    product = model.inverse_transform(W_model)
    W = other.fit_transform(c * X)
    assert_close(other.inverse_transform(W) / c, product, max(method.same, method.alone))
    assert other.reconstruction_error_ == pytest.approx(model.reconstruction_error_, rel=1e-6)
    np.testing.assert_array_equal(other.transform(c * X), W)


@every_method
@pytest.mark.parametrize(("c", "kind"), [(1e-200, np.float64), (1e200, np.float64), (1e25, np.float32)])
def test_data_that_cannot_be_squared_is_refused(method: Method, c: float, kind: Any) -> None:
    with pytest.raises(InputError, match=r"X has entries up to .*multiply X by a constant"):
        method.few().fit(np.asarray(X * c, kind))


@every_method
@pytest.mark.parametrize(("rows", "form"), [(1, "dense"), (7, "csr"), (16, "dense"), (39, "csr")])
def test_partition_does_not_matter(method: Method, rows: int, form: str) -> None:
    model, W = fitted(method.name, form=form)
    other = method.few()
    W_other = other.fit_transform(pw.open_source(FORMATS[form](X), block_rows=rows))
    assert_close(other.components_, model.components_, 1e-10)
    assert_close(W_other, W, max(1e-10, method.alone))
    if method.iterates:
        np.testing.assert_allclose(other.history_["objective"], model.history_["objective"], rtol=1e-9)


def as_memmap(X: np.ndarray, tmp: Path) -> Any:
    np.save(tmp / "X.npy", X)
    return np.load(tmp / "X.npy", mmap_mode="r")


def as_path(X: np.ndarray, tmp: Path) -> Any:
    np.save(tmp / "X.npy", X)
    return tmp / "X.npy"


def as_folder(X: np.ndarray, tmp: Path) -> Any:
    np.save(tmp / "part-1.npy", X[:25])
    np.save(tmp / "part-2.npy", X[25:])
    return str(tmp)


def as_polars(X: np.ndarray, tmp: Path) -> Any:
    return pl.DataFrame({f"f{j}": X[:, j] for j in range(X.shape[1])})


FORMS: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "list": lambda X, tmp: X.tolist(),
    "fortran": lambda X, tmp: np.asfortranarray(X),
    "strided": lambda X, tmp: np.repeat(X, 2, axis=0)[::2],
    "read-only": lambda X, tmp: np.frombuffer(X.tobytes()).reshape(X.shape),
    "csr-array": lambda X, tmp: sp.csr_array(X),
    "csr-matrix": lambda X, tmp: sp.csr_matrix(X),
    "csc-array": lambda X, tmp: sp.csc_array(X),
    "coo-array": lambda X, tmp: sp.coo_array(X),
    "polars": as_polars,
    "pandas": lambda X, tmp: pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]),
    "memmap": as_memmap,
    "path": as_path,
    "folder": as_folder,
    "source": lambda X, tmp: pw.open_source(X),
    "dask": lambda X, tmp: da.from_array(X, chunks=(11, 4)),
    "delayed-csr": lambda X, tmp: [dask.delayed(sp.csr_array(part), traverse=False) for part in (X[:9], X[9:])],
}


# what methods can tell apart: rows in memory, dense (written to or not) and sparse, in files, and on Dask;
KINDS = ("source", "read-only", "csr-array", "folder", "dask", "delayed-csr")
# the other forms have become one of these before a method sees them, as four methods show
SOME = ("facets", "hals", "tsvdnmf", "spa")


@pytest.mark.parametrize(
    ("method", "form"),
    [
        pytest.param(method, form, id=f"{form}-{method.name}")
        for form in FORMS
        for method in METHODS
        if form in KINDS or method.name in SOME
    ],
)
def test_where_the_rows_live_does_not_matter(method: Method, form: str, tmp_path: Path) -> None:
    model, W = fitted(method.name, 4)
    other = method.few(4)
    with dask.config.set(scheduler="synchronous"):
        data = FORMS[form](X, tmp_path)
        W_other = other.fit_transform(data)
        assert isinstance(W_other, da.Array if form in ("dask", "delayed-csr") else np.ndarray)
        again = np.asarray(other.transform(data))
        W_other = np.asarray(W_other)
    assert_close(other.components_, model.components_, 1e-10)
    assert_close(W_other, W, max(1e-10, method.alone))
    np.testing.assert_array_equal(again, W_other)
    assert other.n_features_in_ == FEATURES


@every_method
@pytest.mark.parametrize("form", FORMATS)
def test_single_precision_stays(method: Method, form: str) -> None:
    model, W = fitted(method.name, init="H0")
    single = method.few(init=H0)
    W_single = single.fit_transform(FORMATS[form](X.astype(np.float32)))
    assert single.components_.dtype == W_single.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.transform(X).dtype == np.float64
    assert_close(single.components_, model.components_, method.single)
    assert_close(W_single, W, method.single)
    assert single.reconstruction_error_ == pytest.approx(model.reconstruction_error_, rel=1e-3)


@functools.cache
def counted(name: str, form: str, binary: bool) -> tuple[Any, np.ndarray]:
    """A model of counts, or of whether there are any, in float64; made once."""
    (method,) = [one for one in METHODS if one.name == name]
    model = method.few()
    return model, model.fit_transform(FORMATS[form]((COUNTS > 0 if binary else COUNTS).astype(np.float64)))


INTEGERS = [np.int64, np.int8, np.uint8, np.uint16, np.float16, np.bool_]


@every_method
@pytest.mark.parametrize(
    ("kind", "form"),
    # each in one form: all become float64 at the door; scipy.sparse has no float16
    [(kind, ("dense", "csr")[number % 2]) for number, kind in enumerate(INTEGERS)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_integers_and_booleans_are_their_float64(method: Method, kind: Any, form: str) -> None:
    model, W = counted(method.name, form, kind is np.bool_)
    other = method.few()
    W_other = other.fit_transform(FORMATS[form](COUNTS.astype(kind)))
    assert W_other.dtype == other.components_.dtype == np.float64
    np.testing.assert_array_equal(other.components_, model.components_)
    np.testing.assert_array_equal(W_other, W)


@every_method
def test_transform_gives_the_weights_of_fit_transform(method: Method) -> None:
    model = method.few()
    W = model.fit_transform(X)
    np.testing.assert_array_equal(model.transform(X), W)
    np.testing.assert_array_equal(method.few().fit(X).transform(X), W)
    assert_close(model.transform(X[7:12]), W[7:12], method.alone)
    assert_close(model.transform(sp.csr_array(X)), W, method.alone)


@every_method
def test_inputs_are_not_modified(method: Method) -> None:
    unsorted = sp.csr_array(X)
    for a, b in zip(unsorted.indptr[:-1], unsorted.indptr[1:], strict=True):  # entries of a row in falling order
        unsorted.indices[a:b] = unsorted.indices[a:b][::-1].copy()
        unsorted.data[a:b] = unsorted.data[a:b][::-1].copy()
    unsorted.has_sorted_indices = False
    for data in (X.copy(), COUNTS.copy(), sp.csr_array(X), unsorted):
        init = H0.copy()
        before = fingerprint(data, init)
        model = method.few(init=init)
        model.fit_transform(data)
        model.transform(data)
        model.inverse_transform(np.ones((2, 3)))
        assert fingerprint(data, init) == before
        assert not method.iterates or model.init is init
        assert not np.shares_memory(model.components_, init)


# --- randomness and threads ---------------------------------------------------------------------------------


@every_iterative
def test_random_state_reproduces_every_bit(method: Method) -> None:
    def components(seed: Any) -> np.ndarray:
        return np.asarray(method.few(init="random", random_state=seed).fit(X).components_)

    np.testing.assert_array_equal(components(7), components(7))
    np.testing.assert_array_equal(components(np.random.default_rng(7)), components(7))
    np.testing.assert_array_equal(components(np.random.RandomState(7)), components(np.random.RandomState(7)))
    assert not np.array_equal(components(7), components(8))
    assert np.isfinite(components(None)).all()


@every_start
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_number_of_threads_changes_no_bit(
    method: Method, init: str, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("PARTWISE_NUM_THREADS", threads)
        model = method.few(3, init=init)
        W = model.fit_transform(pw.open_source(form(X), block_rows=6))
        found.append((model.components_, W, *([model.history_["objective"]] if method.iterates else [])))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


# --- stopping -----------------------------------------------------------------------------------------------


@every_iterative
def test_too_few_iterations_are_told(method: Method) -> None:
    model = method.make(n_components=3, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=rf"stopped at max_iter=1 with a {method.residual} of .* > tol=1e-09"):
        model.fit(X)
    assert model.converged_ is False
    assert (model.n_iter_, model.stop_reason_) == (1, "max_iter=1 reached")


def where_it_warns(call: Callable[[], Any]) -> set[tuple[str, str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    kinds = (ConvergenceWarning, DegenerateDataWarning, RuntimeWarning)
    return {(str(warning.message), warning.filename) for warning in told if isinstance(warning.message, kinds)}


@every_method
@pytest.mark.parametrize("call", ["fit", "fit_transform", "pipeline"])
def test_warnings_point_at_the_line_of_the_user(method: Method, call: str) -> None:
    """Of too few iterations, of empty rows and columns and of a low rank, whichever of them it is told of."""
    model = method.few(1, n_components=4, tol=1e-12)
    if call == "pipeline":
        model, call = make_pipeline(model), "fit"
    spoilt = np.column_stack([X[:, :2], np.zeros(len(X)), X[:, :2], X[:, :2].sum(axis=1)])
    spoilt[5] = 0.0
    told = set().union(*(where_it_warns(lambda data=data: getattr(clone(model), call)(data)) for data in (X, spoilt)))
    assert {filename for _, filename in told} == {__file__}


@pytest.mark.parametrize(
    ("model", "category"),
    [
        (pw.SeparableLP(3, time_limit=1e-9), ConvergenceWarning),
        (pw.Facets(3, nonnegative=True), DegenerateDataWarning),
        (pw.AND(3, eta=1e9), ConvergenceWarning),
        (pw.AND(3, max_iter=1), ConvergenceWarning),
        (pw.Purification(3, max_iter=1), ConvergenceWarning),
        (pw.AND(3, max_iter=1, monitor=True), ConvergenceWarning),
    ],
    ids=["lp", "signs", "diverged", "and", "purification", "monitored"],
)
def test_rarer_warnings_too(model: Any, category: type[Warning]) -> None:
    data = -X if isinstance(model, pw.Facets) else X
    with pytest.warns(category) as told:
        model.fit_transform(data)
    assert {warning.filename for warning in told} == {__file__}


@every_iterative
def test_convergence_is_told(method: Method) -> None:
    model = method.make(n_components=3, max_iter=2000, tol=2e-2).fit(X)
    assert model.converged_ is True
    assert model.stop_reason_.startswith(method.reason)
    assert model.residual_ == model.history_["residual"][-1] <= method.settles
    assert 1 <= model.n_iter_ < 2000


@every_iterative
def test_interrupting_keeps_the_best_so_far(method: Method) -> None:
    seen = []

    def interrupt(progress: Any) -> None:
        seen.append(progress)
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    model = method.few(50, tol=1e-9, callbacks=[interrupt])
    with pytest.warns(
        RuntimeWarning, match="interrupted by the user after iteration 3; the best components so far are kept"
    ):
        W = model.fit_transform(X)
    assert (model.n_iter_, model.converged_) == (3, False)
    assert "interrupted" in model.stop_reason_
    np.testing.assert_array_equal(model.components_, seen[-1].components)
    assert model.history_["n_iter"].tolist() == [0, 1, 2, 3]
    if method.monotone:
        assert model.history_["objective"][-1] == model.history_["objective"].min()
    np.testing.assert_array_equal(model.transform(X), W)
    whole = method.few(3).fit(X)
    if not getattr(whole, "below_zero_", np.zeros(1)).any():  # or it was fitted anew, as one broken off is not
        np.testing.assert_array_equal(whole.components_, model.components_)


@every_iterative
def test_a_callback_sees_every_iteration_and_can_stop(method: Method) -> None:
    seen: list[Any] = []

    def stop(progress: Any) -> bool:
        seen.append(progress)
        return len(seen) == 4

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = method.few(3, tol=1e-9, callbacks=[stop, lambda progress: None]).fit(X)
    assert [progress.n_iter for progress in seen] == [0, 1, 2, 3]
    assert (model.n_iter_, model.converged_, model.stop_reason_) == (3, False, "stopped by a callback")
    np.testing.assert_array_equal(model.components_, seen[-1].components)


@every_iterative
def test_an_error_in_a_callback_is_not_swallowed(method: Method) -> None:
    def fail(progress: Any) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        method.few(callbacks=(fail,)).fit(X)


# --- the record ---------------------------------------------------------------------------------------------


@every_iterative
def test_history_is_a_table(method: Method) -> None:
    history = method.few().fit(X).history_
    assert {"n_iter", "time", "objective", "residual"} <= set(history)
    assert "error" not in history
    assert history["n_iter"].tolist() == list(range(7))
    assert history.n_rows == 7
    assert (np.diff(history["time"]) >= 0).all()
    assert np.isfinite(history["objective"]).all()
    assert np.isfinite(history["residual"][1:]).all()
    frame = history.to_native()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == list(history)
    assert frame["objective"].to_list() == history["objective"].tolist()
    assert isinstance(history.to_native("pandas"), pd.DataFrame)


@every_iterative
@pytest.mark.filterwarnings("ignore:Purification. stopped")
def test_truth_is_measured_in_the_history(method: Method) -> None:
    data = pw.datasets.make_laurberg(0.3)
    model = method.few(20).fit(data.X, truth=data.components)
    errors = model.history_["error"]
    assert len(errors) == 21 or method.ends
    expected = pw.metrics.total_correlation_error(model.components_, data.components)
    assert errors[-1] == pytest.approx(expected, rel=0.0, abs=1e-14)  # some sum it in another order
    assert errors[-1] < errors[0] or not np.isfinite(method.recovery_error)
    W = method.few(20).fit_transform(data.X, truth=data.components)
    np.testing.assert_array_equal(W, model.transform(data.X))
    with pytest.raises(InputError, match="truth has 5 features"):
        method.few().fit(data.X, truth=data.components[:, :5])


# --- scikit-learn's manners ---------------------------------------------------------------------------------


@every_method
def test_pickle_clone_and_parameters(method: Method) -> None:
    model = method.few(init=H0)
    W = model.fit_transform(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(X), W)
    if method.iterates:
        np.testing.assert_array_equal(copy.history_["objective"], model.history_["objective"])
    fresh = clone(model)
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    assert fresh.get_params().keys() == model.get_params().keys()
    np.testing.assert_array_equal(fresh.fit_transform(X), W)
    fresh.set_params(n_components=2, **({"init": "pure", "max_iter": 2} if method.iterates else {}))
    assert fresh.fit(X).components_.shape == (2, FEATURES)
    with pytest.raises(ValueError, match="Invalid parameter"):
        fresh.set_params(nonsense=1)


@every_method
def test_names_of_features_in_and_out(method: Method) -> None:
    frame = as_polars(X, Path())
    model = method.few().fit(frame)
    assert model.feature_names_in_.tolist() == frame.columns
    assert model.get_feature_names_out().tolist() == ["Part 1", "Part 2", "Part 3"]
    np.testing.assert_array_equal(model.transform(frame[:, ::-1]), model.transform(frame))  # by name
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename({"f0": "other"}))
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")
    model.fit(frame)
    model.fit(pw.open_source(X))
    assert not hasattr(model, "feature_names_in_")


@every_method
@pytest.mark.parametrize(("library", "kind"), [("polars", pl.DataFrame), ("pandas", pd.DataFrame)])
def test_set_output(method: Method, library: str, kind: type) -> None:
    model = method.few().set_output(transform=library)
    frame = model.fit_transform(X)
    assert isinstance(frame, kind)
    assert list(frame.columns) == list(model.get_feature_names_out())
    assert isinstance(model.transform(X), kind)
    assert_close(model.inverse_transform(frame), frame.to_numpy() @ model.components_, 1e-15)


@every_method
def test_inverse_transform(method: Method) -> None:
    model = method.few()
    W = model.fit_transform(X)
    np.testing.assert_array_equal(model.inverse_transform(W), W @ model.components_)
    np.testing.assert_array_equal(model.inverse_transform(W.tolist()), W @ model.components_)
    assert_close(model.inverse_transform(sp.csr_array(W)), W @ model.components_, 1e-14)
    lazy = model.inverse_transform(da.from_array(W, chunks=(10, 3)))
    assert isinstance(lazy, da.Array)
    assert_close(lazy.compute(scheduler="synchronous"), W @ model.components_, 1e-14)
    for bad in (W[:, :2], W[0], np.ones((2, 2, 3))):
        with pytest.raises(InputError, match=r"X must have shape \(n_samples, 3\)"):
            model.inverse_transform(bad)


@every_method
def test_other_number_of_features(method: Method, tmp_path: Path) -> None:
    model = method.few().fit(X)
    narrow = np.ascontiguousarray(X[:, :5])
    for bad in (narrow, sp.csr_array(narrow), as_path(narrow, tmp_path), pw.open_source(narrow)):
        with pytest.raises(ValueError, match=f"X has 5 features, but {type(model).__name__} is expecting 9 features"):
            model.transform(bad)


@every_method
def test_not_fitted(method: Method) -> None:
    for call in ("transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(method.few(), call)(X)


# --- starts -------------------------------------------------------------------------------------------------


@every_iterative
def test_start_from_components_or_from_a_fitted_model(method: Method) -> None:
    first = method.few(8).fit(X)
    by_array = method.few(1, init=first.components_).fit(X)
    by_model = method.few(1, init=first).fit(X)
    np.testing.assert_array_equal(by_model.components_, by_array.components_)
    by_list = method.few(1, init=first.components_.tolist()).fit(X)
    np.testing.assert_array_equal(by_list.components_, by_array.components_)


BAD_INITS: dict[str, tuple[Any, str]] = {
    "rows": (H0[:2], r"init has 2 components \(rows\) but 3 are wanted"),
    "columns": (H0[:, :4], r"init has 4 features \(columns\) but the data has 9"),
    "vector": (H0[0], "init must have shape"),
    "negative": (
        H0 - 10.0 * (np.arange(3) == 1)[:, None],
        r"init has 9 negative value\(s\), the first in row 1, column 0",
    ),
    "nan": (np.where(np.arange(FEATURES) == 4, np.nan, H0), r"init contains 3 NaN .* row 0, column 4"),
    "strings": ([["a"] * FEATURES] * 3, "init must be a matrix of real numbers"),
    "name": ("pur", "'init' parameter"),
    "number": (3, "'init' parameter"),
    "none": (None, "'init' parameter"),
    "not-fitted": (pw.HALS(3), "init: this HALS has no components_; fit it first"),
}


@pytest.mark.parametrize(
    ("method", "bad"),
    [
        pytest.param(method, bad, id=f"{method.name}-{bad}")
        for method in METHODS
        for bad in BAD_INITS
        # MinVol takes its own, which are free of signs within the noise
        if method.iterates and not (bad == "negative" and (method.signed or method.name == "minvol"))
    ],
)
def test_bad_starts(method: Method, bad: str) -> None:
    init, message = BAD_INITS[bad]
    with pytest.raises(ValueError, match=message):
        method.few(init=init).fit(X)


# --- bad parameters -----------------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "n_components": [0, -1, 2.5, "three", FEATURES + 1],
    "max_iter": [0, -1, 1.5],
    "tol": [-1e-3, "small", float("nan")],
    "random_state": ["seed", -1],
    "callbacks": [print, None],
}


def bad_parameters(method: Method) -> list[tuple[str, Any]]:
    """Of the parameters that it has; penalties make any number of components one."""
    model = method.few()
    cells = [(name, value) for name, values in BAD_PARAMETERS.items() for value in values if name in model.get_params()]
    return [cell for cell in cells if cell != ("n_components", FEATURES + 1) or not isinstance(model, Penalised)]


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        pytest.param(method, name, value, id=f"{method.name}-{name}={getattr(value, '__name__', value)}")
        for method in METHODS
        for name, value in bad_parameters(method)
    ],
)
def test_bad_parameters(method: Method, name: str, value: Any) -> None:
    model = method.few(**{name: value})
    with pytest.raises(ValueError, match=name):
        model.fit(X)
    assert not hasattr(model, "components_")


@methods(lambda method: not isinstance(method.few(), Penalised))  # which take as many as one likes
def test_more_components_than_samples(method: Method) -> None:
    model = method.few()
    with pytest.raises(InputError, match=r"n_components=3 must lie in 1\.\.2, the smaller of n_samples=2"):
        model.fit(X[:2])


# --- bad data -----------------------------------------------------------------------------------------------


def spoilt(value: float) -> np.ndarray:
    bad = X.copy()
    bad[4, 2] = bad[6, 0] = bad[30, 8] = value
    return bad


IN_BLOCKS = functools.partial(pw.open_source, block_rows=3)


@every_method
@pytest.mark.parametrize(
    ("value", "form"),
    [(np.nan, np.asarray), (np.inf, sp.csr_array), (-np.inf, IN_BLOCKS)],
    ids=["nan-dense", "inf-csr", "-inf-blocks"],
)
def test_not_finite(method: Method, form: Any, value: float) -> None:
    message = r"X contains 3 NaN or infinity value\(s\), the first in row 4, column 2"
    with pytest.raises(InputError, match=message):
        method.few().fit(form(spoilt(value)))
    model, _ = fitted(method.name)
    with pytest.raises(InputError, match=message):
        model.transform(form(spoilt(value)))


@methods(lambda method: method.few().__sklearn_tags__().input_tags.positive_only)
@pytest.mark.parametrize(
    ("value", "form"),
    [(-1e-300, np.asarray), (-1e-300, sp.csr_array), (-5.0, IN_BLOCKS)],
    ids=["dense", "csr", "blocks"],
)
def test_negative(method: Method, form: Any, value: float) -> None:
    model, _ = fitted(method.name)
    message = r"Negative values in data passed to X: 3, the first in row 4, column 2"
    for call in (method.few().fit, method.few().fit_transform, model.transform):
        with pytest.raises(InputError, match=message):
            call(form(spoilt(value)))


BAD_DATA: dict[str, Any] = {
    "1-d": X[0],
    "3-d": X[None],
    "no-rows": X[:0],
    "no-columns": X[:, :0],
    "sparse-no-rows": sp.csr_array((0, FEATURES)),
    "sparse-no-columns": sp.csr_array((ROWS, 0)),
    "source-no-rows": pw.open_source(X[:0]),
    "source-no-columns": pw.open_source(X[:, :0]),
    "complex": X + 0j,
    "sparse-complex": sp.csr_array(X + 0j),
    "strings": np.full((ROWS, FEATURES), "a"),
    "objects": np.full((ROWS, FEATURES), object()),
    "string-frame": pl.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3]}),
    "none": None,
    "number": 3.0,
    "no-such-path": "nowhere/X.npy",
}


@every_method
@pytest.mark.parametrize("bad", BAD_DATA)
def test_data_that_cannot_be_used(method: Method, bad: str) -> None:
    model = method.few(n_components=1)
    # ValueError, or TypeError where scikit-learn's own checks ask for it
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(BAD_DATA[bad])
    assert len(str(caught.value)) > 10
    assert not hasattr(model, "components_")


@every_method
def test_a_fit_that_fails_leaves_the_model_as_it_was(method: Method) -> None:
    model = method.few().fit(as_polars(X, Path()))
    W = model.transform(as_polars(X, Path()))
    bad = spoilt(np.nan)[:, :5]
    with pytest.raises(InputError):
        model.fit(bad)
    assert model.n_features_in_ == FEATURES
    assert len(model.feature_names_in_) == FEATURES
    np.testing.assert_array_equal(model.transform(as_polars(X, Path())), W)


# --- data that is hardly data -------------------------------------------------------------------------------


@every_start
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_empty_rows_and_columns_are_listed_and_get_zeros(method: Method, init: str, form: Any) -> None:
    data = X.copy()
    data[[2, 7, 11]] = 0.0
    data[:, [0, 5]] = 0.0
    model = method.few(5, init=init)
    with pytest.warns(DegenerateDataWarning) as told:
        W = model.fit_transform(form(data))
    # of data that is no mixture AND may have to tell of signs besides
    (warning,) = [one for one in told if "came out negative" not in str(one.message)]
    assert "3 all-zero row(s): 2, 7, 11 and 2 all-zero column(s): 0, 5" in str(warning.message)
    assert not W[[2, 7, 11]].any()
    assert (W.sum(axis=1) > 0).sum() >= ROWS - 6
    np.testing.assert_allclose(model.components_[:, [0, 5]], 0.0, atol=1e-15 * model.components_.max())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.transform(form(data)), W)


def assert_sound(method: Method, model: Any, W: np.ndarray) -> None:
    assert np.isfinite(W).all()
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.reconstruction_error_)
    assert not method.iterates or not np.isnan(model.history_["objective"]).any()


@every_start
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_nothing_but_zeros(method: Method, init: str, form: Any) -> None:
    model = method.few(init=init)
    if method.name == "anchor-topics":
        with pytest.warns(DegenerateDataWarning), pytest.raises(InputError, match="no document of at least"):
            model.fit(form(np.zeros((6, 5))))
        return
    with pytest.warns(DegenerateDataWarning, match=r"6 all-zero row\(s\): 0, 1, 2, 3, 4, 5 and 5 all-zero column"):
        W = model.fit_transform(form(np.zeros((6, 5))))
    assert_sound(method, model, W)
    assert not W.any()
    assert model.reconstruction_error_ == 0.0


DEGENERATE = {
    "constant": np.full((8, 5), 2.5),
    "rank-1": np.outer(np.arange(1.0, 9.0), np.arange(1.0, 6.0)),
    "rank-2": np.outer(np.arange(1.0, 9.0), np.arange(1.0, 6.0)) + np.outer(np.ones(8), np.arange(5.0, 0.0, -1.0)),
    "duplicated-rows": np.tile(X[:3], (5, 1)),
    "duplicated-columns": np.tile(X[:, :3], (1, 4)),
    "one-entry": np.eye(5) * (np.arange(5) == 2) + 1e-9,
    "identity": np.eye(4),
    "wide": X[:3],
    "square": X[:3, :3] + 0.1,
    "many-scales": X * 10.0 ** np.random.default_rng(0).integers(-12, 12, (ROWS, 1)),
}


@pytest.mark.filterwarnings("ignore::partwise.exceptions.DegenerateDataWarning")
@crossed("kind", list(DEGENERATE))
def test_degenerate_data_is_fitted(method: Method, init: str, kind: str) -> None:
    model = method.few(30, init=init)
    W = model.fit_transform(DEGENERATE[kind])
    assert_sound(method, model, W)
    assert model.reconstruction_error_ <= 1.0
    if kind in ("constant", "rank-1"):
        assert model.reconstruction_error_ <= 1e-4


@methods(lambda method: not (method.clusters or method.online))  # more clusters than dimensions; a stream may go on
@pytest.mark.filterwarnings("ignore:Purification. stopped")
def test_rank_below_k_is_told_by_the_pure_start(method: Method) -> None:
    with pytest.warns(DegenerateDataWarning, match="only 2 of 3 (pure records|components|anchors)"):
        method.few(2, init="pure").fit(DEGENERATE["rank-2"])


@every_method
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1)], ids=str)
def test_one_sample_or_one_feature(method: Method, shape: tuple[int, int]) -> None:
    data = np.arange(1.0, 1.0 + shape[0] * shape[1]).reshape(shape)
    model = method.few(20, n_components=1)
    assert_close(model.inverse_transform(model.fit_transform(data)), data, 1e-6)
