"""What the rows of a factor may be: against general solvers, and through the methods."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

import partwise as pw
from partwise.algorithms.anls import anls
from partwise.algorithms.engine import Factor, Fixed, Free, NonNegative, Simplex
from partwise.algorithms.engine.rows import solve_rows
from partwise.algorithms.hals import hals
from partwise.algorithms.mu import mu
from partwise.exceptions import InputError
from partwise.sources import source_of

RNG = np.random.default_rng(6)
X = RNG.gamma(0.5, size=(40, 3)) @ RNG.gamma(0.5, size=(3, 12)) + 0.1 * RNG.random((40, 12))
H0 = RNG.random((3, 12)) + 0.05
NORM = float(np.vdot(X, X))
TOL = 1e-5
METHODS = {"hals": partial(hals, tol=TOL), "hals-plain": partial(hals, extrapolate=False), "anls": anls}
EVERY_METHOD = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)


def row_problem(dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (H0 @ H0.T).astype(dtype), (X @ H0.T).astype(dtype), np.full((40, 3), 1.0 / 3.0, dtype)


@DTYPES
@pytest.mark.parametrize(
    "constraint", [NonNegative(), Free(), Simplex(), Fixed((1,)), Fixed((0, 2), Free())], ids=lambda c: c.name
)
def test_the_solution_is_feasible_and_stays(constraint: Any, dtype: Any) -> None:
    G, B, F = row_problem(dtype)
    first = constraint.apply(solve_rows, G, B, F)
    assert F.dtype == dtype
    projected = F.copy()
    constraint.project(projected)
    np.testing.assert_allclose(projected, F, atol=1e-6 if dtype == np.float32 else 1e-12)
    again = constraint.apply(solve_rows, G, B, F.copy())
    assert first > 1e-3
    assert again < (1e-8 if dtype == np.float32 else 1e-18) * NORM


@DTYPES
def test_free_rows_are_least_squares(dtype: Any) -> None:
    G, B, F = row_problem(dtype)
    Free().apply(solve_rows, G, B, F)
    np.testing.assert_allclose(
        F, np.linalg.lstsq(H0.T, X.T)[0].T, rtol=1e-3 if dtype == np.float32 else 1e-9, atol=1e-3
    )


def test_rows_on_the_simplex_are_mixtures() -> None:
    G, B, F = row_problem(np.float64)
    Simplex().apply(solve_rows, G, B, F)
    np.testing.assert_allclose(F, pw.linalg.mixture_weights(H0, X), atol=1e-9)


def test_projection_on_the_simplex() -> None:
    F = RNG.standard_normal((50, 4))
    P = F.copy()
    Simplex().project(P)
    assert P.min() >= 0.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    # F - P is a constant where P > 0, and not above it elsewhere
    shift = ((F - P) * (P > 0)).sum(axis=1) / (P > 0).sum(axis=1)
    assert np.abs((F - P - shift[:, None]) * (P > 0)).max() < 1e-12
    assert (shift[:, None] + 1e-12 >= F - P).all()


@EVERY_METHOD
def test_fixed_components_stay_and_the_others_fit_what_is_left(method: Any) -> None:
    asked = Factor(constraint=Fixed((0, 2)))
    for progress in islice(method(source_of(X), H0, squared_norm=NORM, on_H=asked), 5000):
        np.testing.assert_array_equal(progress.components[[0, 2]], H0[[0, 2]])
        if progress.certified and progress.residual <= TOL:
            break
    H = progress.components
    W = pw.nnls(H, X)
    rest = X - W[:, [0, 2]] @ H0[[0, 2]]
    expected = [nnls(W[:, [1]], column)[0][0] for column in rest.T]
    np.testing.assert_allclose(H[1], expected, rtol=1e-3, atol=1e-4)


def test_all_components_may_be_fixed() -> None:
    asked = Factor(constraint=Fixed((0, 1, 2)))
    for progress in islice(anls(source_of(X), H0, squared_norm=NORM, on_H=asked), 3):
        np.testing.assert_array_equal(progress.components, H0)
    assert progress.residual < 1e-12


@pytest.mark.parametrize("beta", [1.0, 1.5, 2.0])
def test_fixed_components_of_divergences(beta: float) -> None:
    H = H0.copy()
    H[1, 3] = 0.0  # and zeros stay zeros
    asked = Factor(constraint=Fixed((1,)))
    objective = []
    for progress in islice(mu(source_of(X), H, squared_norm=NORM, beta=beta, on_H=asked), 50):
        np.testing.assert_array_equal(progress.components[1], H[1])
        objective.append(progress.objective)
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()
    assert not np.array_equal(progress.components[0], H[0])


@EVERY_METHOD
def test_semi_nonnegative_factorization(method: Any) -> None:
    """Signed data and components, weights that are not negative: the components are least squares of the weights."""
    truth = RNG.standard_normal((3, 12))
    S = RNG.gamma(0.5, size=(40, 3)) @ truth + 0.1 * RNG.standard_normal((40, 12))
    norm = float(np.vdot(S, S))
    asked = Factor(constraint=Free())
    last = np.inf
    start = truth + 0.3 * RNG.standard_normal((3, 12))
    for progress in islice(method(source_of(S), start, squared_norm=norm, on_H=asked), 3000):
        assert progress.objective <= last + 1e-13 * norm
        last = progress.objective
        if progress.certified and progress.residual <= TOL:
            break
    W = pw.nnls(progress.components, S)
    np.testing.assert_allclose(progress.components, np.linalg.lstsq(W, S)[0], atol=1e-2)
    assert progress.components.min() < 0.0


@EVERY_METHOD
def test_mixtures(method: Any) -> None:
    """Weights on the simplex: the objective falls to where weights and components are each the best for the other."""
    asked, last = Factor(constraint=Simplex()), np.inf
    for progress in islice(method(source_of(X), H0, squared_norm=NORM, on_W=asked), 3000):
        assert progress.objective <= last + 1e-13 * NORM
        last = progress.objective
        if progress.certified and progress.residual <= TOL:
            break
    W = pw.linalg.mixture_weights(progress.components, X)
    assert progress.objective == pytest.approx(0.5 * ((X - W @ progress.components) ** 2).sum(), rel=1e-4)
    gradient = W.T @ (W @ progress.components - X)
    assert np.abs(np.minimum(progress.components, gradient)).max() < 1e-3


@pytest.mark.parametrize(
    ("method", "factor", "constraint"),
    [
        (mu, "W", Free()),
        (mu, "H", Free()),
        (mu, "W", Simplex()),
        (mu, "H", Fixed((0,), Free())),
        (hals, "H", Simplex()),
        (anls, "H", Simplex()),
        (hals, "W", Fixed((0,))),
        (anls, "H", Fixed((0,), Simplex())),
    ],
    ids=lambda value: getattr(value, "__name__", getattr(value, "name", value)),
)
def test_what_makes_no_sense_is_refused_by_name(method: Any, factor: str, constraint: Any) -> None:
    name = f"{constraint.name}_{factor}"
    with pytest.raises(InputError, match=f"{name} is nothing for {method.__name__.upper()}") as refused:
        method(source_of(X), H0, squared_norm=NORM, **{f"on_{factor}": Factor(constraint=constraint)})
    assert refused.value.parameter == name
