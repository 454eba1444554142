"""Linear programs by HiGHS, with residuals that are computed here, and a limit on their size."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.linalg.certificate import Certificate

Array = npt.NDArray[Any]

FEASIBILITY = 1e-9  # that HiGHS is asked for; its default of 1e-7 is coarse where noise is small
ENTRY_BYTES = 250  # that a non-zero of the constraints takes at the peak, in SciPy and in HiGHS together (measured)
MEMORY_SHARE = 0.5  # of the machine's memory that a problem may take: the data, and others, are there too
TIGHTEST = 1e-10  # that HiGHS takes
MANY_VARIABLES = 50  # from which interior points (with crossover) are faster than the simplex method, about
UNKNOWN_MEMORY = 8 << 30  # where the machine does not tell: that of a small laptop


class UnsolvedError(RuntimeError):
    """HiGHS ended without a solution: out of time, or in numerical trouble."""


@dataclass(frozen=True)
class LPCertificate(Certificate):
    """How far a solution is from feasible and from optimal, from the numbers themselves.

    Attributes
    ----------
    primal : float
        Largest violation of a constraint or of a bound.
    dual : float
        Largest violation of a constraint of the dual problem.
    gap : float
        Difference of the primal and the dual objective, relative to the primal one if that is above 1.
    """

    primal: float
    dual: float
    gap: float


def solve_lp(
    c: Array,
    A_eq: Any,
    b_eq: Array,
    *,
    A_ub: Any = None,
    b_ub: Array | None = None,
    upper: Array | None = None,
    time_limit: float | None = None,
) -> tuple[Array, LPCertificate]:
    """Minimise ``c x`` over ``0 <= x <= upper``, ``A_eq x = b_eq``, ``A_ub x <= b_ub``.

    Parameters
    ----------
    c : ndarray of shape (n_variables,)
        Costs.
    upper : ndarray of shape (n_variables,), optional
        Upper bounds, infinite by default.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    x : ndarray of shape (n_variables,)
        The solution, within its bounds.
    certificate : LPCertificate
        Its residuals.

    Raises
    ------
    UnsolvedError
        If HiGHS has no solution, for example because time ran out.
    """
    from scipy.optimize import linprog  # slow to import

    upper = np.full(len(c), np.inf) if upper is None else upper
    options: dict[str, Any] = {
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
        **({} if time_limit is None else {"time_limit": time_limit}),
    }
    bounds: Any = np.column_stack([np.zeros(len(c)), upper])
    settings: Any = {"method": "highs-ds", "options": options}
    found = linprog(c, A_ub, b_ub, A_eq, b_eq, bounds=bounds, **settings)
    if found.x is None:
        raise UnsolvedError(str(found.message))
    x = np.clip(found.x, 0.0, upper)
    y = found.eqlin.marginals
    primal, reduced, bound = np.abs(A_eq @ x - b_eq).max(initial=0.0), c - A_eq.T @ y, b_eq @ y
    if A_ub is not None and b_ub is not None:
        z = np.minimum(found.ineqlin.marginals, 0.0)
        primal = max(primal, (A_ub @ x - b_ub).max(initial=0.0))
        reduced, bound = reduced - A_ub.T @ z, bound + b_ub @ z
    # a negative reduced cost is paid at the upper bound, where there is one
    negative = np.minimum(reduced, 0.0)
    bounded = np.isfinite(upper)
    bound += negative[bounded] @ upper[bounded]
    objective = float(c @ x)
    gap = abs(objective - bound) / max(1.0, abs(objective))
    return x, LPCertificate(float(primal), float(-negative[~bounded].min(initial=0.0)), float(gap))


def maximise(
    c: Array, A_ub: Any, b_ub: Array, lower: Array, upper: Array, *, A_eq: Any = None, b_eq: Array | None = None
) -> Array | None:
    """The largest ``c x`` over ``lower <= x <= upper``, ``A_ub x <= b_ub``, ``A_eq x = b_eq``, for those who check it.

    Parameters
    ----------
    c : ndarray of shape (n_variables,)
        Gains.
    lower, upper : ndarray of shape (n_variables,)
        Bounds.

    Returns
    -------
    ndarray of shape (n_variables,) or None
        Where it is; None if HiGHS found no solution.
    """
    from scipy.optimize import linprog  # slow to import

    settings: Any = {
        "method": "highs-ds" if len(c) < MANY_VARIABLES else "highs-ipm",
        "options": {"primal_feasibility_tolerance": TIGHTEST, "dual_feasibility_tolerance": TIGHTEST},
    }
    bounds: Any = np.column_stack([lower, upper])
    found = linprog(-c, A_ub, b_ub, A_eq, b_eq, bounds=bounds, **settings)
    return None if found.x is None else np.asarray(found.x)


def check_lp_size(entries: float, problem: str, advice: str) -> None:
    """Refuse a problem with more non-zeros than memory holds."""
    limit = MEMORY_SHARE * _machine_memory() / ENTRY_BYTES
    if entries > limit:
        raise InputError(
            f"{problem} makes a linear program with about {entries:.2g} non-zeros, and the memory of this machine is "
            f"good for {limit:.2g}; {advice}"
        )


def _machine_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not on every system
        return float(UNKNOWN_MEMORY)
