"""Linear programs: certificates against problems that can be solved by hand, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.exceptions import InputError
from partwise.linalg import lp
from partwise.linalg.lp import UnsolvedError, check_lp_size, maximise, solve_lp


def test_a_problem_solved_by_hand() -> None:
    """Least x + 2y + 3z with x + y + z = 2, x <= 1, y <= 0.5: x and y at their bounds."""
    x, certificate = solve_lp(
        np.array([1.0, 2.0, 3.0]),
        sp.csr_array(np.ones((1, 3))),
        np.array([2.0]),
        A_ub=sp.csr_array(np.array([[0.0, 1.0, 0.0]])),
        b_ub=np.array([0.5]),
        upper=np.array([1.0, np.inf, np.inf]),
    )
    np.testing.assert_allclose(x, [1.0, 0.5, 0.5], atol=1e-12)
    assert max(certificate.primal, certificate.dual, certificate.gap) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_residuals_are_small_where_a_random_problem_is_solved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, x0 = rng.standard_normal((8, 20)), rng.random(20)
    G = rng.standard_normal((6, 20))
    x, certificate = solve_lp(
        rng.random(20), sp.csr_array(A), A @ x0, A_ub=sp.csr_array(G), b_ub=G @ x0 + 0.1, upper=np.full(20, 2.0)
    )
    assert (x >= 0.0).all()
    assert (x <= 2.0).all()
    assert max(certificate.primal, certificate.dual, certificate.gap) < 1e-8


def test_no_solution_is_told() -> None:
    with pytest.raises(UnsolvedError, match="infeasible"):
        solve_lp(np.ones(1), sp.csr_array(np.ones((1, 1))), np.array([-1.0]))


def test_too_large_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lp, "_machine_memory", lambda: 1e6)
    check_lp_size(1e3, "it", "do less")
    with pytest.raises(InputError, match=r"it makes a linear program with about 1e\+05 non-zeros.*; do less"):
        check_lp_size(1e5, "it", "do less")


def test_memory_of_a_machine_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lp._machine_memory() > 1e8
    monkeypatch.delattr(lp.os, "sysconf")
    assert lp._machine_memory() == lp.UNKNOWN_MEMORY


def test_largest_value_over_a_box_cut_by_a_plane() -> None:
    A, b = np.array([[1.0, 1.0]]), np.array([1.0])
    x = maximise(np.array([2.0, 1.0]), A, b, np.array([-1.0, -1.0]), np.array([0.5, 3.0]))
    np.testing.assert_allclose(x, [0.5, 0.5], atol=1e-9)
    none = maximise(np.ones(2), A, np.array([-5.0]), np.array([-1.0, -1.0]), np.array([0.5, 3.0]))
    assert none is None
