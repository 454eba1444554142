"""A fit that is broken off and gone on with from its state ends with the same bits as one without a break.

A new iterative method joins ``METHODS``: a class, and parameters with which it does at least ten iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError

RNG = np.random.default_rng(4)
X = RNG.gamma(0.4, size=(97, 4)) @ RNG.gamma(0.4, size=(4, 23)) + 0.05 * RNG.random((97, 23))
X *= RNG.random(X.shape) < 0.8

PENALTIES = {"l1_W": 1e-3, "l2_W": 1e-3, "l1_H": 1e-3, "l2_H": 1e-3}
METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    "hals": (pw.HALS, {}),
    "hals-random": (pw.HALS, {"init": "random"}),
    "hals-plain": (pw.HALS, {"extrapolate": False, "sweeps": 1}),
    "hals-penalties": (pw.HALS, PENALTIES),
    "anls": (pw.ANLS, {}),
    "mu": (pw.MU, {}),
    "mu-kl": (pw.MU, {"beta_loss": "kullback-leibler"}),
    "mu-penalties": (pw.MU, {"beta_loss": 1.5, **PENALTIES}),
}


def folder(X: np.ndarray, tmp: Path) -> Path:
    for number, a in enumerate(range(0, len(X), 20)):
        np.save(tmp / f"part-{number}.npy", X[a : a + 20])
    return tmp


def memmap(X: np.ndarray, tmp: Path) -> np.ndarray:
    np.save(tmp / "X.npy", X)
    return np.load(tmp / "X.npy", mmap_mode="r")


SOURCES: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "dense": lambda X, tmp: X,
    "csr": lambda X, tmp: sp.csr_array(X),
    "memmap": memmap,
    "folder": folder,
    "dask": lambda X, tmp: da.from_array(X, chunks=(20, -1)),
}


def make(name: str, **more: Any) -> Any:
    kind, options = METHODS[name]
    return kind(4, **{"max_iter": 12, "tol": 0.0, "random_state": 0, **options, **more})


def saved(path: Path, state: Any) -> None:
    """As a program would: every array and number in one file."""
    np.savez(path, **{name: np.asarray(value) for name, value in state.items()})


def states(name: str, data: Any, tmp: Path, wanted: tuple[int, ...] = (), **more: Any) -> Any:
    """A whole fit that leaves the states of some iterations, or of all, on its way."""

    def keep(progress: Any) -> None:
        if not wanted or progress.n_iter in wanted:
            saved(tmp / f"{progress.n_iter}.npz", progress.state)

    return make(name, callbacks=[keep], **more).fit(data)


def same(found: Any, whole: Any) -> None:
    np.testing.assert_array_equal(found.components_, whole.components_)
    assert found.components_.dtype == whole.components_.dtype
    assert (found.n_iter_, found.stop_) == (whole.n_iter_, whole.stop_)
    assert found.reconstruction_error_ == whole.reconstruction_error_
    assert list(found.history_) == list(whole.history_)
    for column in set(whole.history_) - {"time"}:
        np.testing.assert_array_equal(found.history_[column], whole.history_[column], err_msg=column)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", METHODS)
def test_the_same_bits(name: str, source: str, dtype: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = SOURCES[source](X.astype(dtype), tmp_path / "data")
    whole = states(name, data, tmp_path, (1, 3, 7))
    assert whole.n_iter_ >= 10
    for at in (1, 3, 7):
        with np.load(tmp_path / f"{at}.npz") as state:
            given = dict(state)
        before = {key: value.copy() for key, value in given.items()}
        same(make(name).fit(data, state=given), whole)
        for key, value in before.items():  # what is given is not written to
            np.testing.assert_array_equal(given[key], value)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_end(name: str, tmp_path: Path) -> None:
    """From every state to the end that the tolerance makes, the first and the last one too."""
    tol = 3 * states(name, X, tmp_path).history_["residual"][-1]
    whole = states(name, X, tmp_path, tol=tol, max_iter=1000)
    assert whole.stop_.kind == "converged"
    for at in range(whole.n_iter_ + 1):
        with np.load(tmp_path / f"{at}.npz") as state:
            same(make(name, tol=tol, max_iter=1000).fit(X, state=state), whole)


@pytest.mark.parametrize("name", METHODS)
def test_the_truth_is_measured_on(name: str, tmp_path: Path) -> None:
    truth = RNG.random((4, X.shape[1]))
    whole = make(name, callbacks=[lambda now: saved(tmp_path / f"{now.n_iter}.npz", now.state)]).fit(X, truth=truth)
    with np.load(tmp_path / "5.npz") as state:
        same(make(name).fit(X, truth=truth, state=state), whole)


@pytest.mark.parametrize("name", METHODS)
def test_the_limit_may_be_raised(name: str, tmp_path: Path) -> None:
    """What came to its limit goes on from its last state."""
    states(name, X, tmp_path, max_iter=6)
    with np.load(tmp_path / "6.npz") as state:
        same(make(name).fit(X, state=state), make(name).fit(X))


@pytest.mark.parametrize("name", METHODS)
def test_other_data_is_refused(name: str, tmp_path: Path) -> None:
    states(name, X, tmp_path, max_iter=6)
    with np.load(tmp_path / "6.npz") as state, pytest.raises(InputError, match="of 96 rows"):
        make(name).fit(X[:-1], state=state)
