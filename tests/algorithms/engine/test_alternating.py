"""HALS, ANLS and MU for the squared error: slow references, and certificates against their definitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

import partwise as pw
from partwise.algorithms.anls import anls
from partwise.algorithms.engine import ElasticNet, Factor
from partwise.algorithms.engine.alternating import POSITIVE_START, Momentum
from partwise.algorithms.engine.rows import natural_residual, sweep_rows
from partwise.algorithms.engine.squared import ReferredError
from partwise.algorithms.hals import hals
from partwise.algorithms.mu import mu
from partwise.sources import source_of

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
W_PENALTY, H_PENALTY = ElasticNet(0.3, 0.2), ElasticNet(0.1, 0.5)
PENALTIES = pytest.mark.parametrize(
    ("W_penalty", "H_penalty"),
    [(ElasticNet(), ElasticNet()), (W_PENALTY, ElasticNet()), (ElasticNet(), H_PENALTY), (W_PENALTY, H_PENALTY)],
    ids=["plain", "W", "H", "both"],
)


def make_data(n: int = 25, m: int = 8, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.4, size=(n, k)) @ rng.gamma(0.4, size=(k, m)) + 0.1 * rng.random((n, m))
    return X * (rng.random(X.shape) < 0.8), rng.random((k, m)) + 0.05


X, H0 = make_data()


def solve_nnls(G: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Rows w >= 0 that minimise 1/2 w G w' - b w', by scipy on the Cholesky factor."""
    R = np.linalg.cholesky(G).T
    return np.array([nnls(R, b)[0] for b in np.linalg.solve(R.T, B.T).T])


# --- the three references: each updates W for min 1/2 w G w' - b w' + slope w', in a line or three -----------


def hals_reference(G: np.ndarray, B: np.ndarray, W: np.ndarray, slope: Any) -> np.ndarray:
    W, B = W.copy(), B - slope
    for j in range(len(G)):
        W[:, j] = np.maximum(0.0, W[:, j] - (W @ G[:, j] - B[:, j]) / G[j, j])
    return W


def anls_reference(G: np.ndarray, B: np.ndarray, W: np.ndarray, slope: Any) -> np.ndarray:
    return solve_nnls(G, B - slope)


def mu_reference(G: np.ndarray, B: np.ndarray, W: np.ndarray, slope: Any) -> np.ndarray:
    WG = W @ G + slope
    return W * B / np.where(WG > 0.0, WG, 1.0)


def size(H: np.ndarray) -> np.ndarray:
    """The root mean square of every component."""
    return np.sqrt((H**2).mean(axis=1))


def nets(W: np.ndarray, H: np.ndarray, mine: ElasticNet, other: ElasticNet) -> tuple[Any, np.ndarray]:
    """Slope and curvature for the rows of W; a penalty of one factor alone is per size of the other one."""
    if (mine.l1 or mine.l2) and not (other.l1 or other.l2):
        return mine.l1 * size(H), np.diag(mine.l2 * size(H) ** 2)
    if (other.l1 or other.l2) and not (mine.l1 or mine.l2):  # the gradient of l1 |H_j| size(W_j) is a multiple of W_j
        n = len(W)
        return 0.0, np.diag(other.l1 * H.sum(axis=1) / (n * size(W.T)) + other.l2 * (H**2).sum(axis=1) / n)
    return mine.l1, mine.l2 * np.eye(len(H))


def reference(
    update: Callable[..., np.ndarray], rounds: int, W_penalty: ElasticNet, H_penalty: ElasticNet, lift: float
) -> tuple[np.ndarray, np.ndarray]:
    H = np.maximum(H0, lift * H0.max())
    if lift:
        W = np.repeat(X.sum(axis=1, keepdims=True) / H.sum(), len(H), axis=1)
    else:
        H = H / size(H)[:, None] if W_penalty.l1 and not H_penalty.l1 else H
        W = solve_nnls(H @ H.T + W_penalty.l2 * np.eye(len(H)), X @ H.T - W_penalty.l1)
    for _ in range(rounds):
        slope, bend = nets(W, H, W_penalty, H_penalty)
        W = update(H @ H.T + bend, X @ H.T, W, slope)
        slope, bend = nets(H.T, W.T, H_penalty, W_penalty)
        H = update(W.T @ W + bend, X.T @ W, H.T, slope).T
    return W, H


def objective(W: np.ndarray, H: np.ndarray, W_penalty: ElasticNet, H_penalty: ElasticNet) -> float:
    W_size = size(H) if not (H_penalty.l1 or H_penalty.l2) else 1.0
    H_size = size(W.T) if not (W_penalty.l1 or W_penalty.l2) else 1.0
    V, F = W * W_size, (H.T * H_size).T
    value = 0.5 * ((X - W @ H) ** 2).sum()
    value += W_penalty.l1 * V.sum() + 0.5 * W_penalty.l2 * (V**2).sum()
    return float(value + H_penalty.l1 * F.sum() + 0.5 * H_penalty.l2 * (F**2).sum())


ALGORITHMS = {
    "hals": (lambda *args, **kw: hals(*args, sweeps=1, extrapolate=False, **kw), hals_reference, 0.0),
    "anls": (anls, anls_reference, 0.0),
    "mu": (mu, mu_reference, POSITIVE_START),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@FORMS
@PENALTIES
def test_iterations_are_the_reference(name: str, form: Any, W_penalty: ElasticNet, H_penalty: ElasticNet) -> None:
    algorithm, update, lift = ALGORITHMS[name]
    iterations = algorithm(
        source_of(form(X), block_rows=10),
        H0,
        squared_norm=float(np.vdot(X, X)),
        on_W=Factor((W_penalty,)),
        on_H=Factor((H_penalty,)),
    )
    for rounds, progress in enumerate(islice(iterations, 4)):
        W, H = reference(update, rounds, W_penalty, H_penalty, lift)
        np.testing.assert_allclose(progress.components, H, rtol=1e-8, atol=1e-10)
        assert progress.objective == pytest.approx(objective(W, H, W_penalty, H_penalty), rel=1e-9)


@FORMS
def test_several_sweeps_come_nearer_to_the_exact_step(form: Any) -> None:
    source, norm = source_of(form(X)), float(np.vdot(X, X))

    def after(rounds: int, iterations: Any) -> float:
        return next(islice(iterations, rounds, None)).objective

    one = after(3, hals(source, H0, squared_norm=norm, sweeps=1, extrapolate=False))
    many = after(3, hals(source, H0, squared_norm=norm, sweeps=200, shrink=0.0, extrapolate=False))
    exact = after(3, anls(source, H0, squared_norm=norm))
    assert many < one
    assert many == pytest.approx(exact, rel=1e-6)


# --- the residual of the optimality conditions --------------------------------------------------------------


def residual_of(
    W: np.ndarray, H: np.ndarray, W_penalty: ElasticNet, H_penalty: ElasticNet, data: np.ndarray = X
) -> float:
    """The natural residual of both factors from gradients of the definition, relative to the data's norm."""
    R = W @ H - data
    gW = R @ H.T + W_penalty.l1 + W_penalty.l2 * W
    gH = W.T @ R + H_penalty.l1 + H_penalty.l2 * H
    sH = np.sqrt((H**2).sum(axis=1) + W_penalty.l2)
    sW = np.sqrt((W**2).sum(axis=0) + H_penalty.l2)[:, None]
    parts = np.concatenate([np.minimum(W * sH, gW / sH).ravel(), np.minimum(H * sW, gH / sW).ravel()])
    return float(np.linalg.norm(parts) / np.linalg.norm(data))


def test_natural_residual_by_hand() -> None:
    G = np.array([[4.0, 0.0], [0.0, 1.0]])
    B = np.array([[8.0, -3.0], [4.0, 1.0]])
    # row 0 is optimal: w = b/G, a positive gradient at zero; row 1: g = (4, -1), so the parts are 2 and -1
    assert natural_residual(G, B[:1], np.array([[2.0, 0.0]])) == 0.0
    assert natural_residual(G, B[1:], np.array([[2.0, 0.0]])) == 5.0
    assert natural_residual(np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1))) == 0.0  # a null component: no say
    # unless it has a price: what it costs is what is missed, for both updates
    priced = np.zeros((1, 1)), np.full((1, 1), -2.0), np.full((1, 1), 3.0)
    assert natural_residual(*priced) == pytest.approx(6.0)
    assert sweep_rows(*priced, sweeps=1, shrink=0.1) == pytest.approx(6.0)
    assert priced[2] == 0.0


@pytest.mark.parametrize("name", ["hals", "anls"])
@pytest.mark.parametrize("extrapolate", [False, True], ids=["plain", "extrapolated"])
def test_residual_vanishes_at_a_stationary_point(name: str, extrapolate: bool) -> None:
    data = pw.datasets.make_laurberg(0.3)
    source, norm = source_of(data.X), float(np.vdot(data.X, data.X))
    if name == "hals":
        iterations = hals(source, data.components, squared_norm=norm, extrapolate=extrapolate)
    else:
        iterations = anls(source, data.components, squared_norm=norm)
    for progress in islice(iterations, 1, 4):
        assert progress.residual < 1e-14
        np.testing.assert_allclose(progress.components, data.components, atol=1e-13)


@pytest.mark.parametrize("make", [pw.HALS, pw.ANLS, pw.MU], ids=lambda make: make.__name__)
@pytest.mark.parametrize("penalised", [False, True], ids=["plain", "penalised"])
def test_a_residual_below_tol_is_one(make: Any, penalised: bool) -> None:
    tol = 1e-3 if make is pw.MU else 1e-6
    sizes = {"l1_W": 1e-3, "l2_W": 2e-3, "l1_H": 5e-4, "l2_H": 1e-3} if penalised else {}
    model = make(3, init=H0, tol=tol, max_iter=20000, **sizes)
    W = model.fit_transform(X)
    assert model.converged_
    assert model.kkt_ <= tol
    n, m = X.shape
    W_penalty = ElasticNet(m * model.l1_W, m * model.l2_W)
    H_penalty = ElasticNet(n * model.l1_H, n * model.l2_H)
    assert residual_of(W, model.components_, W_penalty, H_penalty) <= 5 * tol


# --- extrapolation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@FORMS
def test_extrapolation_never_raises_the_objective(seed: int, form: Any) -> None:
    X, H = make_data(60, 20, 6, seed)
    norm = float(np.vdot(X, X))
    best = np.inf
    for progress in islice(hals(source_of(form(X), block_rows=17), H, squared_norm=norm), 120):
        assert progress.objective <= best + 1e-13 * norm
        best = min(best, progress.objective)
        # the recorded value is that of a feasible pair: exact weights can only be better
        W = pw.nnls(progress.components, X)
        assert 0.5 * ((X - W @ progress.components) ** 2).sum() <= progress.objective * (1 + 1e-9) + 1e-13 * norm


def test_extrapolation_is_worth_it() -> None:
    X, H = make_data(200, 40, 8, 1)
    source, norm = source_of(X), float(np.vdot(X, X))
    fast, plain = (
        next(islice(hals(source, H, squared_norm=norm, extrapolate=extrapolate), 60, None)).objective
        for extrapolate in (True, False)
    )
    assert fast < plain


def test_momentum_grows_and_backs_off() -> None:
    momentum = Momentum()
    assert momentum.beta == 0.0
    for _ in range(300):
        before = momentum.beta
        momentum.accept()
        assert before < momentum.beta < 1.0
    momentum.reject()
    assert 0.9 < momentum.beta < before


@FORMS
@pytest.mark.parametrize("blocked", [20, 1000])
def test_light_rounds_end_where_exact_ones_do(form: Any, blocked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds in single precision come first and certify nothing; the optimum, in double precision, is the same."""
    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 1)
    rounds, seen = hals(source_of(form(X), block_rows=blocked), H0, squared_norm=float(np.vdot(X, X)), nonzero=400), []
    for progress in islice(rounds, 3000):
        seen.append((progress.state["W"].dtype, progress.certified))
        assert progress.components.dtype == np.float64
        if progress.certified and progress.residual <= 1e-9:
            break
    types = [kind for kind, _ in seen]
    switch = types.index(np.float64)
    assert switch > 5
    assert set(types[:switch]) == {np.dtype(np.float32)}
    assert set(types[switch:]) == {np.dtype(np.float64)}
    assert not any(certified for _, certified in seen[1:switch])
    W = pw.nnls(progress.components, X)
    assert residual_of(W, progress.components, ElasticNet(), ElasticNet()) <= 1e-8


def test_rounds_within_leading_directions_belong_to_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide dense data: the first pass then begins near the optimum, and ends there with the same certificate."""
    rng = np.random.default_rng(1)
    data = rng.gamma(0.3, size=(400, 5)) @ rng.gamma(0.3, size=(5, 120)) + 0.3 * rng.random((400, 120))
    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 1)
    narrow = pw.HALS(5, random_state=0).fit(data)
    monkeypatch.setattr("partwise.algorithms.hals.NARROW_WORTH", 100)
    plain = pw.HALS(5, random_state=0).fit(data)
    assert (narrow.converged_, plain.converged_) == (True, True)
    assert narrow.history_["certified"][-1] == 1.0
    first, last = narrow.history_["objective"][[0, -1]]
    # in single precision objectives, differences of large numbers, are good to some 1e-5 of themselves
    assert 0.9999 * last <= first < 1.001 * last < plain.history_["objective"][0]
    W = pw.nnls(narrow.components_, data)
    assert residual_of(W, narrow.components_, ElasticNet(), ElasticNet(), data) <= 2e-5


def near_low_rank() -> np.ndarray:
    rng = np.random.default_rng(2)
    spectra = np.abs(np.cumsum(rng.standard_normal((4, 150)), axis=1)) + 0.5
    return np.maximum(rng.dirichlet(np.ones(4), 500) @ spectra + 0.02 * rng.standard_normal((500, 150)), 0.0)


def test_narrow_rows_with_a_reference_have_value_and_gradients_of_the_whole_data_there() -> None:
    data = near_low_rank()
    rng = np.random.default_rng(0)
    W1, H1 = rng.random((500, 3)), rng.random((3, 150))
    V = np.linalg.svd(data, full_matrices=False)[2][:6].T
    R = data - data @ V @ V.T
    loss = ReferredError(float(np.vdot(data, data)), V, R.T @ W1, float(np.vdot(R, W1 @ H1)))

    def seen(W: np.ndarray, H: np.ndarray) -> tuple[Any, Any, float]:
        rows = R @ H1.T
        B = loss.row_problem(data @ V, H.T, loss.shared(H.T), rows)[1]
        G, C = loss.totalled(loss.statistics(data @ V, W, rows))
        return B, C, loss.value(H.T, G, C, loss.offset(data @ V, W, rows))

    B, C, value = seen(W1, H1)
    np.testing.assert_allclose(B, data @ H1.T, rtol=1e-12)
    np.testing.assert_allclose(C, data.T @ W1, rtol=1e-12)
    np.testing.assert_allclose(value, 0.5 * np.sum((data - W1 @ H1) ** 2), rtol=1e-12)
    W, H = W1 + rng.random(W1.shape), H1 + rng.random(H1.shape)
    neglected = float(np.vdot(R, (W - W1) @ (H - H1)))
    np.testing.assert_allclose(seen(W, H)[2] - neglected, 0.5 * np.sum((data - W @ H) ** 2), rtol=1e-12)


def test_data_within_few_directions_takes_few_passes_and_goes_on_from_any_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = near_low_rank()
    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 1)
    states: list[Any] = []
    keep = [lambda progress: states.append({name: np.array(of) for name, of in progress.state.items()})]
    model = pw.HALS(4, random_state=0, tol=1e-7, callbacks=keep).fit(data)
    assert model.converged_
    assert residual_of(pw.nnls(model.components_, data), model.components_, ElasticNet(), ElasticNet(), data) <= 1e-6
    near = ["pair" in state for state in states]
    assert 2 <= sum(near) < len(near)
    for state in states[: sum(near)]:
        again = pw.HALS(4, random_state=0, tol=1e-7).fit(data, state=state)
        np.testing.assert_array_equal(again.components_, model.components_)
    other = pw.HALS(4, random_state=0, tol=1e-5, extrapolate=False, max_iter=5000).fit(data, state=states[1])
    assert other.converged_
    assert (np.diff(other.history_["objective"]) <= 1e-12 * np.vdot(data, data)).all()
    monkeypatch.setattr("partwise.algorithms.hals.REFERRED_REST", 0.0)
    plain = pw.HALS(4, random_state=0, tol=1e-7, max_iter=2000).fit(data)
    assert model.n_iter_ < plain.n_iter_ / 4
    assert model.history_["objective"][-1] <= plain.history_["objective"][-1] * (1 + 1e-6)


def test_a_fit_cut_short_says_that_its_residual_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 1)
    with pytest.warns(ConvergenceWarning):
        model = pw.HALS(len(H0), init=H0, max_iter=3).fit(X)
    assert model.history_["certified"][-1] == 0.0


@pytest.mark.parametrize("scale", [1e-100, 1e-15, 1e18, 1e100])
def test_light_rounds_are_for_sizes_that_single_precision_has(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of larger numbers overflow there, those of smaller ones vanish: at 1e-100 all of the data did."""
    monkeypatch.setattr("partwise.algorithms.hals.LIGHT_WORK", 1)
    model = pw.HALS(len(H0), init=H0 * scale, tol=1e-8, max_iter=3000).fit(X * scale)
    plain = pw.HALS(len(H0), init=H0, tol=1e-8, max_iter=3000).fit(X)
    assert model.converged_
    np.testing.assert_allclose(model.reconstruction_error_, plain.reconstruction_error_, rtol=1e-6)


def test_a_component_of_zeros_does_no_harm() -> None:
    H = H0.copy()
    H[1] = 0.0
    for iterations in (
        hals(source_of(X), H, squared_norm=float(np.vdot(X, X))),
        anls(source_of(X), H, squared_norm=float(np.vdot(X, X))),
    ):
        progress = next(islice(iterations, 3, None))
        assert np.isfinite(progress.components).all()
        assert np.isfinite(progress.residual)


@pytest.mark.parametrize("method", [pw.HALS, pw.ANLS])
@pytest.mark.parametrize("penalty", ["l1_W", "l2_W", "l1_H", "l2_H"])
def test_a_component_of_zeros_beside_a_penalty_in_single_precision(method: Any, penalty: str) -> None:
    """It stays so, as in double precision: the curvature that keeps it there is finite."""
    H = H0.copy()
    H[1] = 0.0
    found, expected = (method(len(H), init=H, max_iter=5000, **{penalty: 0.01}).fit(X.astype(t)) for t in "fd")
    assert not found.components_[1].any()
    np.testing.assert_allclose(found.history_["objective"][-1], expected.history_["objective"][-1], rtol=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("l1", [0.2, 0.5])
@pytest.mark.parametrize("told", [{}, {"entry_weight": np.ones((60, 20))}], ids=["one Gram", "a Gram a row"])
def test_what_only_costs_is_zero(l1: float, told: dict[str, Any]) -> None:
    """Penalties that empty one factor leave nothing of the other: it was kept, and counted as converged."""
    data = np.random.default_rng(0).random((60, 20))
    model = pw.HALS(3, l1_W=l1, l1_H=l1, random_state=0).fit(data, **told)
    assert (model.stop_.kind, model.components_.any()) == ("degenerate", False)
    np.testing.assert_allclose(model.history_["objective"][-1], 0.5 * np.vdot(data, data))
    falls = np.flatnonzero(np.diff(model.history_["objective"]) < 0.0) + 1
    assert model.history_["residual"][falls].all()  # a round that changes something does not begin at an optimum
