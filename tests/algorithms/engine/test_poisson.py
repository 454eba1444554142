"""Coordinate descent on the Poisson likelihood: stationary points, both rules for features, states, threads."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import kl_div

import partwise as pw
from partwise.algorithms.engine import Bounds, ElasticNet, Factor, Fixed
from partwise.algorithms.likelihood import likelihood
from partwise.algorithms.mu import mu
from partwise.exceptions import InputError
from partwise.sources import copies, source_of

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(RNG.gamma(0.4, size=(60, 4)) @ RNG.gamma(0.4, size=(4, 25)) * 4.0).astype(float)
COUNTS = COUNTS[COUNTS.any(axis=1)][:, COUNTS.any(axis=0)]
H0 = RNG.random((4, COUNTS.shape[1])) + 0.05
NONZERO = int(np.count_nonzero(COUNTS))
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
RULES = pytest.mark.parametrize("both", [True, False], ids=["both-ways", "rows-only"])
PENALTIES = pytest.mark.parametrize(
    "penalty", [ElasticNet(), ElasticNet(0.3, 0.0), ElasticNet(0.1, 0.4)], ids=["plain", "l1", "both"]
)


@pytest.fixture
def rule(both: bool, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not both:
        monkeypatch.setattr(copies, "MOST_COPIED", 0)
    return both


def quotient(Y: np.ndarray) -> np.ndarray:
    """Counts over what is said of them; nothing where there are none."""
    return np.divide(COUNTS, Y, out=np.zeros_like(Y), where=COUNTS > 0.0)


def rounds(count: int, form: Any = sp.csr_array, penalty: ElasticNet | None = None, **how: Any) -> list[Any]:
    factor = Factor(() if penalty is None else (penalty,))
    source = source_of(form(COUNTS), block_rows=17)
    return list(islice(likelihood(source, H0, nonzero=NONZERO, on_W=factor, on_H=factor, **how), count))


@FORMS
@RULES
@PENALTIES
def test_objective_is_the_divergence_and_never_rises(form: Any, both: bool, rule: bool, penalty: ElasticNet) -> None:
    found = rounds(80, form, penalty)
    for progress in found[::13]:
        W, H = np.asarray(progress.state["W"]), progress.state["H"].T
        value = kl_div(COUNTS, W @ H).sum() + penalty.value(W) + penalty.value(H.T)
        assert progress.objective == pytest.approx(value, rel=1e-10)
    objective = np.array([progress.objective for progress in found])
    assert (np.diff(objective) <= 1e-12 * objective[:-1]).all()


@PENALTIES
def test_it_ends_at_a_stationary_point(penalty: ElasticNet) -> None:
    """The residual is that of the definition: both gradients at the pair that an uncertified round leaves behind."""
    for progress in islice(
        likelihood(source_of(COUNTS), H0, nonzero=NONZERO, on_W=Factor((penalty,)), on_H=Factor((penalty,)), tol=1e-9),
        1,
        3000,
    ):
        if progress.certified and progress.residual <= 1e-9:
            break
    W, H = progress.state["W"], progress.state["H"].T
    ratio = quotient(W @ H)
    for factor, positive, negative in (
        (W, H.sum(axis=1) + penalty.l1 + penalty.l2 * W, ratio @ H.T),
        (H.T, W.sum(axis=0) + penalty.l1 + penalty.l2 * H.T, ratio.T @ W),
    ):
        missed = np.abs(np.minimum(factor * positive, (positive - negative) * factor.mean(axis=0))).sum()
        assert missed <= 1e-8 * (factor * positive).sum()


def test_the_first_rounds_are_multiplicative() -> None:
    ours = rounds(31)
    theirs = islice(mu(source_of(sp.csr_array(COUNTS)), H0, squared_norm=1.0, beta=1.0), 31)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.components, other.components, rtol=1e-8)
        assert one.objective == pytest.approx(other.objective, rel=1e-10)


@RULES
def test_it_is_at_or_below_many_multiplicative_rounds(both: bool, rule: bool) -> None:
    *_, last = islice(mu(source_of(sp.csr_array(COUNTS)), H0, squared_norm=1.0, beta=1.0), 1000)
    assert rounds(130 if both else 600)[-1].objective <= last.objective * (1 + 1e-6)


@FORMS
@RULES
def test_threads_and_sources_give_the_same_bits(
    form: Any, both: bool, rule: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for threads in ("1", "2", "8"):
        monkeypatch.setenv("PARTWISE_NUM_THREADS", threads)
        found.append(rounds(45, form)[-1])
    for other in found[1:]:
        np.testing.assert_array_equal(other.components, found[0].components)
        assert (other.objective, other.residual) == (found[0].objective, found[0].residual)


@RULES
@pytest.mark.parametrize("after", [0, 12, 30, 38])
def test_a_state_goes_on_to_the_same_bits(both: bool, rule: bool, after: int) -> None:
    whole = rounds(45)[-1]
    state = {name: np.array(value) for name, value in rounds(after + 1)[-1].state.items()}
    again = rounds(44 - after, state=state)[-1]
    np.testing.assert_array_equal(again.components, whole.components)
    assert (again.objective, again.residual) == (whole.objective, whole.residual)


def test_what_its_steps_do_not_know_is_refused() -> None:
    source = source_of(COUNTS)
    bounds = Bounds(np.zeros((H0.shape[1], 1)), np.ones((H0.shape[1], 1)))
    with pytest.raises(InputError, match="bounds_H is nothing for Likelihood"):
        next(likelihood(source, H0, nonzero=NONZERO, on_H=Factor(constraint=Fixed((0,), bounds))))


@pytest.mark.parametrize("copied", [True, False], ids=["copied", "where-it-is"])
def test_fixed_components_stay_to_the_bit_and_the_objective_falls(
    copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not copied:
        monkeypatch.setattr("partwise.algorithms.engine.poisson.both_ways", lambda *_: None)
    on_H = Factor(constraint=Fixed((0, 1)))
    found = list(islice(likelihood(source_of(COUNTS), H0, nonzero=NONZERO, on_H=on_H), 60))
    for one in found:
        np.testing.assert_array_equal(one.components[:2], H0[:2])
    assert all(b.objective <= a.objective * (1 + 1e-12) for a, b in pairwise(found))
    assert not np.array_equal(found[-1].components[2:], H0[2:])
    assert found[-1].residual < 0.1 * found[2].residual


def test_float32_data_is_computed_in_double_precision() -> None:
    """Counts are the same numbers in both types: so are the iterations, and only what is given back is rounded."""
    double = pw.Likelihood(4, init=H0, tol=1e-6).fit(COUNTS)
    single = pw.Likelihood(4, init=H0, tol=1e-6).fit(COUNTS.astype(np.float32))
    assert single.components_.dtype == np.float32
    np.testing.assert_array_equal(single.components_, double.components_.astype(np.float32))
    np.testing.assert_array_equal(single.history_["objective"], double.history_["objective"])


def test_known_parts_of_counts_come_back() -> None:
    data = pw.datasets.make_topics("dir", n_samples=600, n_features=80, n_components=5, random_state=0)
    counts = np.random.default_rng(0).poisson(200 * data.X / data.X.sum(axis=1, keepdims=True))
    seen = counts.any(axis=0)
    model = pw.Likelihood(5).fit(counts[:, seen])
    assert model.converged_
    assert pw.metrics.match_components(model.components_, data.components[:, seen]).errors.max() < 0.03


@FORMS
@pytest.mark.parametrize(
    "make", [pw.Likelihood, lambda k: pw.MU(k, beta_loss="kullback-leibler", max_iter=50, tol=0.0)], ids=["cd", "mu"]
)
def test_transform_is_exact(form: Any, make: Any) -> None:
    model = make(4).fit(form(COUNTS))
    W, certificate = pw.linalg.poisson_weights(model.components_, form(COUNTS), return_certificate=True)
    np.testing.assert_array_equal(model.transform(form(COUNTS)), W)
    assert certificate.largest <= 1e-12
    H = model.components_
    gradient = 1.0 - (quotient(W @ H) @ H.T) / H.sum(axis=1)
    assert np.where(W > 0.0, np.abs(gradient), -gradient).max() <= 1e-10


def test_weights_refuse_what_has_no_likelihood() -> None:
    with pytest.raises(InputError, match=r"H must not be negative: 1 value\(s\) are, the first in row 0, column 2"):
        pw.linalg.poisson_weights([[1.0, 0.0, -1.0]], np.ones((2, 3)))
    with pytest.raises(InputError, match="Negative values in data passed to X"):
        pw.linalg.poisson_weights([[1.0, 0.0, 1.0]], -np.ones((2, 3)))
