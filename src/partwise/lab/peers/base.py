"""A method of another library as a contender: cold, with its defaults, told k; timed until it has both factors."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from partwise.lab.experiment import Contender, Found, Problem

Factors = tuple[Any, np.ndarray]


def peer(
    name: str,
    note: str,
    solve: Callable[[Any, int, int], Factors],
    *,
    needs: str,
    kinds: tuple[str, ...] = (),
    counts: bool = False,
    dense: bool = False,
    most: int | None = None,
) -> Contender:
    """A contender of a function.

    Parameters
    ----------
    name, note : str
        What it is called, and what it is.
    solve : callable
        ``solve(X, k, seed)``: weights, or None for those of non-negative least squares, and components.
    needs : str
        The module without which it is not installed.
    kinds : tuple of str
        Kinds of data that it is made for; all by default.
    counts : bool, default=False
        Of texts it is given counts.
    dense : bool, default=False
        It cannot do with sparse data.
    most : int, optional
        Entries of the data, zeros included, beyond which it is not run.

    Returns
    -------
    Contender
        For `CONTENDERS` of a file of this folder.
    """

    def run(problem: Problem, seed: int, budget: float | None) -> Found:
        X = problem.counts if counts and problem.counts is not None else problem.X
        if most is not None and X.shape[0] * X.shape[1] > most:
            raise ValueError(f"not run: more than {most:,} entries")
        X = cast(Any, X).toarray() if dense and sp.issparse(X) else X
        X = X if sp.issparse(X) else np.maximum(X, 0.0)
        state = np.random.get_state()  # noqa: NPY002 - some libraries have no seed but this one
        np.random.seed(seed)  # noqa: NPY002
        begin, work = time.perf_counter(), time.process_time()
        try:
            with quiet():
                W, H = solve(X, problem.k, seed)
        finally:
            np.random.set_state(state)  # noqa: NPY002
        facts = {"seconds": time.perf_counter() - begin, "processor_seconds": time.process_time() - work}
        return Found(np.asarray(H, float), weights=None if W is None else np.asarray(W, float), facts=facts)

    return Contender(name, note, run, needs=needs, kinds=kinds)


@contextlib.contextmanager
def quiet() -> Any:
    """What a library prints is not ours to show."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield
