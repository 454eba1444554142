"""Left inverses of least norm against HiGHS, with the certificate checked by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from partwise.exceptions import InputError
from partwise.linalg import InverseCertificate, inverse, left_inverse


def certified(H: Any, **options: Any) -> tuple[np.ndarray, InverseCertificate]:
    P, certificate = left_inverse(H, return_certificate=True, **options)
    return P, certificate


def least_norms(H: np.ndarray) -> np.ndarray:
    """Norms of the shortest columns, by HiGHS, a column at a time."""
    k, m = H.shape
    both = np.hstack([H, -H])
    return np.array([scipy.optimize.linprog(np.ones(2 * m), A_eq=both, b_eq=e).fun for e in np.eye(k)])


def assert_proved(H: np.ndarray, P: np.ndarray, certificate: InverseCertificate, tol: float = 1e-8) -> None:
    """Right inverse of H, dual points feasible, their values within ``tol`` of the norms: all from the arrays."""
    k, m = H.shape
    assert P.shape == (m, k)
    norms = np.abs(P).sum(axis=0)
    residual = np.abs(H @ P - np.eye(k)) / np.outer(np.abs(H).max(axis=1), norms)
    assert residual.max() < 1e-13
    assert certificate.feasibility == pytest.approx(residual.max(), abs=1e-15)
    # rounding of a product with y, which may be long
    rounding = k * 2.0**-52 * (np.abs(H.T) @ np.abs(certificate.dual)).max()
    assert np.abs(H.T @ certificate.dual).max() <= 1.0 + rounding
    bounds = np.diag(certificate.dual)
    np.testing.assert_array_equal(certificate.lower_bounds, bounds)
    assert np.abs(norms - bounds).max() <= tol * norms.max()
    np.testing.assert_allclose(certificate.gaps, np.abs(norms - bounds) / norms, rtol=0, atol=1e-15)
    assert certificate.gap == certificate.gaps.max() <= tol
    assert certificate.norm == pytest.approx(norms.max(), rel=1e-15)


def conditioned(k: int, m: int, condition: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((k, k)))[0]
    V = np.linalg.qr(rng.standard_normal((m, k)))[0]
    return (U * np.geomspace(1.0, 1.0 / condition, k)) @ V.T


# --- random problems ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["random", "standard_normal"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 30), (2, 3), (5, 5), (6, 40), (12, 30), (20, 21), (25, 150)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_as_short_as_those_of_highs(seed: int, shape: tuple[int, int], kind: str):
    H = getattr(np.random.default_rng(seed), kind)(shape)
    P, certificate = certified(H)
    assert_proved(H, P, certificate, tol=1e-10)
    np.testing.assert_allclose(np.abs(P).sum(axis=0), least_norms(H), rtol=1e-8)


@pytest.mark.parametrize("shape", [(50, 500), (30, 3000)], ids=str)
@pytest.mark.parametrize("kind", ["random", "standard_normal"])
def test_large(kind: str, shape: tuple[int, int]):
    H = getattr(np.random.default_rng(0), kind)(shape)
    assert_proved(H, *certified(H), tol=1e-11)


def test_columns_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch):
    H = np.random.default_rng(0).random((20, 100))
    monkeypatch.setenv("PARTWISE_NUM_THREADS", "3")
    P = left_inverse(H)
    monkeypatch.setenv("PARTWISE_NUM_THREADS", "1")
    np.testing.assert_array_equal(left_inverse(H), P)


# --- degenerate and badly conditioned ones -------------------------------------------------------------------


def _binary(density: float) -> np.ndarray:
    return (np.random.default_rng(1).random((20, 120)) < density).astype(float)


_some = np.random.default_rng(2).random((8, 25))
DEGENERATE = {
    "identity": np.eye(15),
    "one": np.array([[-3.0]]),
    "repeated identity": np.hstack([np.eye(12)] * 4),
    "identity of both signs and zeros": np.hstack([np.eye(12), -np.eye(12), np.zeros((12, 5))]),
    "repeated columns": np.repeat(_some, 3, axis=1),
    "columns of both signs": np.hstack([_some, -_some, _some]),
    "zero columns": np.hstack([np.zeros((8, 10)), _some, np.zeros((8, 10))]),
    "orthogonal rows": scipy.linalg.hadamard(32)[:16].astype(float),
    "sparse binary": _binary(0.2),
    "dense binary": _binary(0.5),
    "small integers": np.random.default_rng(3).integers(0, 3, (15, 100)).astype(float),
    "all signs": np.array(np.meshgrid(*[[-1.0, 1.0]] * 7)).reshape(7, -1),
    "all subsets": np.array(np.meshgrid(*[[0.0, 1.0]] * 7)).reshape(7, -1),
    "intervals": np.array([[float(a <= i < b) for a in range(12) for b in range(a + 1, 13)] for i in range(12)]),
    "triangle": np.triu(np.ones((20, 20))),
    "pure features": np.hstack([np.eye(10), np.random.default_rng(4).dirichlet(np.ones(10), 80).T]),
    "columns of all scales": np.random.default_rng(5).random((10, 60)) * np.geomspace(1e-6, 1e6, 60),
}


@pytest.mark.parametrize("H", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_degenerate(H: np.ndarray):
    P, certificate = certified(H)
    assert_proved(H, P, certificate)
    np.testing.assert_allclose(np.abs(P).sum(axis=0), least_norms(H), rtol=1e-8)


@pytest.mark.parametrize("shape", [(30, 30), (30, 300)], ids=str)
def test_condition_of_a_million(shape: tuple[int, int]):
    H = conditioned(*shape, 1e6)
    assert_proved(H, *certified(H))


def test_square_is_the_inverse():
    H = np.random.default_rng(0).standard_normal((25, 25))
    np.testing.assert_allclose(left_inverse(H), np.linalg.inv(H), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_scale_of_rows_is_divided_out_exactly(norm: str):
    H = np.random.default_rng(0).random((6, 30))
    exponents = np.array([-400, -60, 0, 3, 90, 400])
    P, certificate = certified(H, norm=norm)
    Q, scaled = certified(np.ldexp(H, exponents[:, None]), norm=norm)
    np.testing.assert_array_equal(Q, np.ldexp(P, -exponents))
    np.testing.assert_array_equal(scaled.dual, np.ldexp(certificate.dual, -exponents[:, None]))
    assert scaled.feasibility == certificate.feasibility


def test_rows_of_all_scales():
    H = np.random.default_rng(0).random((12, 60)) * np.geomspace(1e-12, 1e12, 12)[:, None]
    assert_proved(H, *certified(H))


@pytest.mark.parametrize("pivots", [0, 3])
def test_highs_takes_over(monkeypatch: pytest.MonkeyPatch, pivots: int):
    descend = inverse.descend
    monkeypatch.setattr(inverse, "descend", lambda Q, c, basis, B, limit: descend(Q, c, basis, B, pivots))
    H = np.random.default_rng(0).random((8, 50))
    assert_proved(H, *certified(H))


# --- the other norm -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("H", [_some, np.eye(4), conditioned(20, 60, 1e6)], ids=["random", "identity", "cond 1e6"])
def test_euclidean_is_the_pseudoinverse(H: np.ndarray):
    P, certificate = certified(H, norm="2")
    expected = np.linalg.pinv(H)
    np.testing.assert_allclose(P, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    lengths = np.linalg.norm(P, axis=0)
    assert np.linalg.norm(H.T @ certificate.dual, axis=0).max() <= 1.0 + 1e-9
    assert np.abs(np.diag(certificate.dual) / lengths - 1.0).max() <= certificate.gap + 1e-15 <= 1e-8
    assert certificate.norm == pytest.approx(lengths.max())


# --- input and output ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_single_precision(norm: str):
    H = np.random.default_rng(0).random((8, 40)).astype(np.float32)
    P, certificate = certified(H, norm=norm)
    double, expected = certified(H.astype(np.float64), norm=norm)
    assert P.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_array_equal(P, double.astype(np.float32))
    np.testing.assert_array_equal(certificate.gaps, expected.gaps)
    assert expected.feasibility < 1e-14 < certificate.feasibility < 1e-6


@pytest.mark.parametrize("convert", [np.asfortranarray, sp.csr_array, np.ndarray.tolist], ids=["F", "sparse", "list"])
def test_other_containers(convert: Any):
    np.testing.assert_array_equal(left_inverse(convert(_some)), left_inverse(_some))


def test_input_is_left_alone():
    H = _some.copy()
    H.setflags(write=False)
    left_inverse(H)
    np.testing.assert_array_equal(H, _some)


def test_gap_above_tol_is_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .* > tol=1e-20 .*condition number") as caught:
        _, certificate = certified(_some, tol=1e-20)
    assert f"{certificate.gap:.3g}" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_nearly_singular_is_warned_of_or_proved():
    with pytest.warns(ConvergenceWarning, match="condition number"):
        left_inverse(conditioned(20, 60, 1e11))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        left_inverse(conditioned(20, 60, 1e11), tol=1e-3)


def _dependent() -> np.ndarray:
    H = np.random.default_rng(0).random((9, 40)) * np.geomspace(1e-5, 1e5, 9)[:, None]
    H[7] = 1e4 * H[2] - 0.5 * H[5]
    return H


def _with(row: int, column: int, value: float) -> np.ndarray:
    H = _some.copy()
    H[row, column] = value
    return H


WRONG = {
    "dependent": (_dependent(), "components 2, 5 and 7 of H are linearly dependent.*rank 8"),
    "repeated": (np.vstack([_some, 3.0 * _some[4]]), "components 4 and 8 of H are linearly dependent"),
    "all equal": (np.ones((20, 30)), r"components \d+ and \d+ of H are linearly dependent.*rank 1\b"),
    "many": (np.vstack([np.eye(14, 40), np.eye(14, 40).sum(axis=0)]), "8, 9 and 5 more of H are linearly dependent"),
    "zero row": (np.vstack([_some, np.zeros(25)]), "component 8 of H is zero"),
    "zero rows": (np.vstack([np.zeros(25), _some, np.zeros(25)]), "components 0 and 9 of H are zero"),
    "too many rows": (_some.T, "25 components but only 8 features"),
    "NaN": (_with(3, 7, np.nan), "row 3, column 7"),
    "infinity": (_with(0, 24, -np.inf), "row 0, column 24"),
    "vector": (_some[0], "must have shape"),
    "number": (1.0, "must have shape"),
    "empty": (np.empty((0, 4)), "at least one row"),
    "no features": (np.empty((2, 0)), "2 components but only 0 features"),
    "ragged": ([[1.0, 2.0], [1.0]], "matrix of real numbers"),
    "text": ([["a", "b"]], "matrix of real numbers"),
    "subnormal": (np.vstack([np.eye(1, 4), np.full((1, 4), 1e-320) * [0, 1, 1, 1]]), "component 1 leaves the range"),
    "subnormal single": (np.array([[1e-39, 1e-39]], np.float32), "component 0 leaves the range of float32"),
}


@pytest.mark.parametrize(("H", "message"), WRONG.values(), ids=WRONG.keys())
def test_unusable_components(H: Any, message: str):
    with pytest.raises(InputError, match=message):
        left_inverse(H)


@pytest.mark.parametrize(
    ("options", "message"), [({"norm": "1"}, "'inf' or '2'"), ({"tol": 0.0}, "positive"), ({"tol": np.nan}, "positive")]
)
def test_unusable_options(options: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        left_inverse(_some, **options)
