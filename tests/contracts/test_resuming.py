"""A fit that is broken off and gone on with from its state ends with the same bits as one without a break.

A new iterative method joins ``METHODS``: a class, parameters with which it does a few iterations, and data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError
from partwise.sources import GeneratedSource

RNG = np.random.default_rng(5)
K = 4
H = RNG.random((K, 23)) * (RNG.random((K, 23)) < 0.6)
W = RNG.random((157, K)) * (RNG.random((157, K)) < 0.4)
EXACT, NOISY = W @ H, W @ H + 0.02 * RNG.standard_normal((157, 23))
BINARY = pw.datasets.make_binary_mixtures(n_samples=157, n_features=23, n_components=K, random_state=0)
START = BINARY.warm_start(0.05, random_state=0)
PURIFICATION = {"init": START, "max_iter": 60}

X = RNG.gamma(0.4, size=(97, 4)) @ RNG.gamma(0.4, size=(4, 23)) + 0.05 * RNG.random((97, 23))
X *= RNG.random(X.shape) < 0.8
FEW = {"max_iter": 12, "tol": 0.0}
PENALTIES = {"l1_W": 1e-3, "l2_W": 1e-3, "l1_H": 1e-3, "l2_H": 1e-3}

Setting = tuple[type, dict[str, Any], np.ndarray]
ALTERNATING: dict[str, Setting] = {
    "hals": (pw.HALS, FEW, X),
    "hals-random": (pw.HALS, FEW | {"init": "random"}, X),
    "hals-plain": (pw.HALS, FEW | {"extrapolate": False, "sweeps": 1}, X),
    "hals-penalties": (pw.HALS, FEW | PENALTIES, X),
    "hals-holes": (pw.HALS, FEW | {"missing": "zeros"}, X),
    "anls": (pw.ANLS, FEW, X),
    "mu": (pw.MU, FEW, X),
    "mu-kl": (pw.MU, FEW | {"beta_loss": "kullback-leibler"}, X),
    "mu-penalties": (pw.MU, FEW | {"beta_loss": 1.5, **PENALTIES}, X),
}
ALTERNATING |= {
    "likelihood": (pw.Likelihood, {"max_iter": 40, "tol": 0.0}, X),  # beyond its multiplicative rounds
    "likelihood-penalties": (pw.Likelihood, {"max_iter": 40, "tol": 0.0, **PENALTIES}, X),
}
# data that is no mixture at all: what comes out negative is told, and that is tested elsewhere (test_signs.py)
pytestmark = pytest.mark.filterwarnings("ignore:(Facets|AND).*came out negative")

METHODS: dict[str, Setting] = {
    **ALTERNATING,
    "facets": (pw.Facets, {"floor": 0.0, "init": "random"}, EXACT),
    "facets-noise": (pw.Facets, {}, NOISY),
    "facets-finish": (pw.Facets, {"nonnegative": True, "max_iter": 30}, NOISY),
    "and": (pw.AND, {"max_iter": 12}, EXACT),
    "and-outside": (pw.AND, {"max_iter": 8, "init": "random"}, EXACT),
    "and-floor": (pw.AND, {"floor": 2.0}, NOISY),
    "and-adaptive": (pw.AND, {"thresholds": "adaptive", "steps": "exact", "max_iter": 12}, NOISY),
    "and-theorem": (pw.AND, {"thresholds": "theorem", "max_iter": 8}, NOISY),
    "and-eta": (pw.AND, {"batch_size": 10, "steps": 7, "eta": 0.01, "max_iter": 6}, NOISY),
    "and-sequence": (pw.AND, {"thresholds": [0.1, 0.05, 0.02, 0.01], "max_iter": 4}, NOISY),
    "and-batches": (pw.AND, {"batch_size": 30, "steps": 7, "max_iter": 8}, NOISY),
    "purification": (pw.Purification, PURIFICATION | {"tol": 1e-2, "max_iter": 12}, BINARY.X),
    "purification-balanced": (pw.Purification, PURIFICATION | {"balance": True, "tol": 1e-2, "max_iter": 12}, BINARY.X),
    "purification-batches": (pw.Purification, PURIFICATION | {"batch_size": 40, "tol": 3e-2, "max_iter": 62}, BINARY.X),
    "purification-published": (pw.Purification, PURIFICATION | {"finish": None, "max_iter": 8}, BINARY.X),
    "and-monitored": (pw.AND, {"max_iter": 8, "floor": 2.0, "monitor": True}, NOISY),
    "and-batches-monitored": (pw.AND, {"batch_size": 30, "steps": 7, "max_iter": 6, "monitor": True}, NOISY),
    "purification-monitored": (
        pw.Purification,
        PURIFICATION | {"tol": 1e-2, "max_iter": 12, "monitor": True},
        BINARY.X,
    ),
    "minvol": (pw.MinVol, {"max_iter": 14, "weight": 1e-4}, np.abs(NOISY)),
    "archetypes": (pw.Archetypes, {"starts": 1, "max_iter": 12, "tol": 0.0, "trim": 0.2}, X),
    "bayes": (pw.Bayes, {"max_iter": 9, "tol": 1e-6}, np.abs(NOISY)),
    "tsvdnmf": (pw.TSVDNMF, {"refine": True, "max_iter": 9, "tol": 1e-4}, np.abs(NOISY)),
    "minibatch": (pw.MiniBatchNMF, FEW | {"batch_size": 30}, X),
    "minibatch-kl": (pw.MiniBatchNMF, FEW | {"batch_size": 30, "beta_loss": 1, "shuffle": True}, X),
    "minibatch-idle": (pw.MiniBatchNMF, {"batch_size": 30, "max_no_improvement": 12, "tol": 0.0}, X),
    "conservative": (pw.ConservativeNMF, {"batch_size": 50, "max_passes": 3}, np.abs(NOISY)),
    "conservative-shuffled": (pw.ConservativeNMF, {"batch_size": 50, "max_passes": 3, "shuffle": True}, np.abs(NOISY)),
    "conservative-tol": (pw.ConservativeNMF, {"batch_size": 50, "max_passes": 9, "tol": 0.3}, np.abs(NOISY)),
}


def folder(X: np.ndarray, tmp: Path) -> Path:
    for number, a in enumerate(range(0, len(X), 40)):
        np.save(tmp / f"part-{number}.npy", X[a : a + 40])
    return tmp


def memmap(X: np.ndarray, tmp: Path) -> np.ndarray:
    np.save(tmp / "X.npy", X)
    return np.load(tmp / "X.npy", mmap_mode="r")


SOURCES: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "dense": lambda X, tmp: X,
    "csr": lambda X, tmp: sp.csr_array(X),
    "memmap": memmap,
    "folder": folder,
    "dask": lambda X, tmp: da.from_array(X, chunks=(40, -1)),
}


def make(name: str, **more: Any) -> Any:
    kind, options, _ = METHODS[name]
    return kind(K, **{"random_state": 0, **options, **more})


def states(model: Any, data: Any, **more: Any) -> tuple[Any, dict[int, dict[str, np.ndarray]]]:
    """A whole fit, and the states of all its iterations, as a file would keep them."""
    kept: dict[int, dict[str, np.ndarray]] = {}

    def keep(progress: Any) -> None:
        kept[progress.n_iter] = {name: np.array(value, order="K") for name, value in progress.state.items()}

    return model.set_params(callbacks=[keep]).fit(data, **more), kept


def same(found: Any, whole: Any) -> None:
    np.testing.assert_array_equal(found.components_, whole.components_)
    assert found.components_.dtype == whole.components_.dtype
    assert (found.n_iter_, found.stop_) == (whole.n_iter_, whole.stop_)
    assert found.reconstruction_error_ == whole.reconstruction_error_
    assert list(found.history_) == list(whole.history_)
    for column in set(whole.history_) - {"time"}:
        np.testing.assert_array_equal(found.history_[column], whole.history_[column], err_msg=column)
    skipped = {"history_", "stop_", "preparation_", "weighing_", "dominant_features_", "pure_records_", "halves_"}
    for name in {name for name in vars(whole) if name.endswith("_")} - skipped:
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), np.asarray(getattr(whole, name)), err_msg=name)
    for name, value in vars(whole.halves_).items() if hasattr(whole, "halves_") else ():
        np.testing.assert_array_equal(getattr(found.halves_, name), value, err_msg=name)


def ends_and_seams(kept: dict[int, dict[str, np.ndarray]]) -> list[int]:
    """Every state of a short fit; of a long one the first and last ones, those around a new stage, and every tenth."""
    if len(kept) <= 20:
        return list(kept)
    stages = [set(state) for state in kept.values()]
    near = {at for at in range(1, len(stages)) if stages[at] != stages[at - 1]}
    near |= {at - 1 for at in near} | {at + 1 for at in near} | {0, 1, 2, len(kept) - 2, len(kept) - 1}
    return [at for number, at in enumerate(kept) if number in near or number % 10 == 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_from_every_state(name: str, tmp_path: Path) -> None:
    """The first one, those on both sides of a seam and the last one too; through a file."""
    data = METHODS[name][2]
    whole, kept = states(make(name), data)
    assert len(kept) == len(whole.history_["n_iter"]) >= 4
    for at in ends_and_seams(kept):
        np.savez(tmp_path / f"{at}.npz", **kept[at])
        with np.load(tmp_path / f"{at}.npz") as given:
            same(make(name).fit(data, state=given), whole)
    same(make(name).fit(data, state=kept[1]), whole)
    truth = np.ones((K, 23))
    measured, kept = states(make(name), data, truth=truth)
    same(make(name).fit(data, truth=truth, state=kept[2]), measured)


# every source, and both types of numbers in memory and in files; dense float64 is what `test_from_every_state` has
PLACES = [
    ("dense", np.float32),
    ("csr", np.float64),
    ("memmap", np.float32),
    ("folder", np.float64),
    ("dask", np.float32),
]
OWN_PASSES = {"mu-kl", "facets-finish", "and-batches", "purification-batches", "minibatch-kl"}
# other settings of a method, which reads the rows by the same passes
VARIANTS = [name for name in METHODS if "-" in name and name not in OWN_PASSES]


def placed() -> Iterator[Any]:
    """Every method in every place, each of its variants in one of them."""
    for name in METHODS:
        at = VARIANTS.index(name) % len(PLACES) if name in VARIANTS else None
        for source, dtype in PLACES if at is None else PLACES[at : at + 1]:
            yield pytest.param(name, source, dtype, id=f"{name}-{source}-{dtype.__name__}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "source", "dtype"), list(placed()))
def test_on_every_source(name: str, source: str, dtype: Any, tmp_path: Path) -> None:
    data = SOURCES[source](METHODS[name][2].astype(dtype), tmp_path)
    whole, kept = states(make(name), data)
    for at in {1, 3, len(kept) - 2} & set(kept):
        before = {key: value.copy() for key, value in kept[at].items()}
        same(make(name).fit(data, state=kept[at]), whole)
        for key, value in before.items():  # what is given is not written to
            np.testing.assert_array_equal(kept[at][key], value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["facets-finish", "purification", "purification-batches"])
def test_a_second_break(name: str) -> None:
    """What a fit that was gone on with leaves is as good as what an unbroken one leaves."""
    data = METHODS[name][2]
    whole, kept = states(make(name), data)
    for at in [at for at in ends_and_seams(kept) if at < whole.n_iter_ - 1]:
        _, again = states(make(name), data, state=kept[at])
        same(make(name).fit(data, state=again[at + 1]), whole)


@pytest.mark.filterwarnings("ignore")
def test_seams_are_crossed() -> None:
    """The settings above do have two stages."""
    for name, prefix in {
        "facets-finish": "finish.W",
        "purification": "polish.H",
        "purification-batches": "polish.H",
    }.items():
        _, kept = states(make(name), METHODS[name][2])
        there = [prefix in state for state in kept.values()]
        assert there == sorted(there)
        assert 2 <= sum(there) < len(there)
    _, kept = states(make("facets-noise"), NOISY)
    assert [bool(state.get("refitted", 0)) for state in kept.values()][-2:] == [False, True]


@pytest.mark.filterwarnings("ignore")
def test_samples_that_are_drawn() -> None:
    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        return (rng.random((n, K)) < 0.3).astype(float) @ BINARY.components

    def source() -> GeneratedSource:
        return GeneratedSource(draw, 300, random_state=1)

    def model() -> Any:
        return pw.Purification(K, init=START, max_iter=40, tol=1e-3, random_state=2)

    whole, kept = states(model(), source())
    for at in range(0, whole.n_iter_ + 1, 3):
        same(model().fit(source(), state=kept[at]), whole)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [pw.AND, pw.Facets], ids=lambda kind: kind.__name__)
def test_data_without_a_signal(kind: Any) -> None:
    whole, kept = states(kind(2), np.zeros((9, 5)))
    same(kind(2).fit(np.zeros((9, 5)), state=kept[0]), whole)


@pytest.mark.parametrize("name", ALTERNATING)
def test_to_a_tolerance(name: str) -> None:
    """From every state to the end that the tolerance makes, the first and the last one too."""
    limits = {"tol": 3 * make(name).fit(X).history_["residual"][-1], "max_iter": 1000}
    whole, kept = states(make(name, **limits), X)
    assert whole.stop_.kind == "converged"
    for state in kept.values():
        same(make(name, **limits).fit(X, state=state), whole)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*ALTERNATING, "and", "and-batches", "and-adaptive", "facets-finish", "tsvdnmf"])
def test_the_limit_may_be_raised(name: str) -> None:
    """What came to its limit goes on from its last state."""
    data = METHODS[name][2]
    _, kept = states(make(name, max_iter=6), data)
    same(make(name).fit(data, state=kept[6]), make(name).fit(data))


@pytest.mark.parametrize("name", ALTERNATING)
def test_other_data_is_refused(name: str) -> None:
    _, kept = states(make(name, max_iter=6), X)
    with pytest.raises(InputError, match="n_samples 97, not 96"):
        make(name).fit(X[:-1], state=kept[6])
