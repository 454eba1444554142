"""A sample of weight two is one that is there twice, for every method; what is no number of copies is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.estimators.catalog import METHODS
from partwise.exceptions import DegenerateDataWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore")

ANY = ("hals", "anls", "likelihood", "mu", "and", "minibatch")
WHOLE = sorted(set(METHODS) - {*ANY})
N, K = 90, 3

RNG = np.random.default_rng(0)
PARTS = RNG.gamma(0.3, size=(K, 24))
X = RNG.dirichlet([0.3] * K, size=N) @ PARTS + 0.01 * RNG.random((N, 24))
WEIGHTS = RNG.integers(0, 4, N)


def model(name: str, **options: Any) -> Any:
    kind = METHODS[name].kind
    known = kind().get_params()
    quick = {"random_state": 0, "batch_size": 10**6 if name == "minibatch" else None, "starts": 4, "n_init": 2}
    quick["max_iter"] = 30
    return kind(K, **{key: value for key, value in quick.items() if key in known and value is not None}, **options)


def close(one: Any, other: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(one.components_, other.components_, rtol=0, atol=rtol * np.abs(other.components_).max())


@pytest.mark.parametrize("name", sorted({*ANY, *WHOLE} - {"parts"}))
def test_weights_are_copies(name: str) -> None:
    """Those left of the data are told by their own numbers, and weights come back for every sample."""
    once, copied = model(name), model(name)
    n = 24 if name == "separable-lp" else N  # SciPy 1.15 reads a program's result in a time that grows with its square
    W = np.asarray(once.fit_transform(X[:n], sample_weight=WEIGHTS[:n]))
    close(once, copied.fit(np.repeat(X[:n], WEIGHTS[:n], axis=0)))
    assert once.reconstruction_error_ == pytest.approx(copied.reconstruction_error_, rel=1e-9)
    np.testing.assert_allclose(W, once.transform(X[:n]), atol=1e-12)


@pytest.mark.parametrize("name", WHOLE)
def test_weights_that_are_no_copies_are_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=rf"sample_weight of {METHODS[name].estimator} must be whole numbers.*0\.5"):
        model(name).fit(X, sample_weight=np.where(np.arange(N) == 3, 0.5, 1.0))


@pytest.mark.parametrize("name", ANY)
def test_only_their_ratios_matter_to_a_sum_over_samples(name: str) -> None:
    close(model(name).fit(X, sample_weight=WEIGHTS / 7.0), model(name).fit(X, sample_weight=WEIGHTS), 1e-8)


@pytest.mark.parametrize("name", ["and", "minibatch", "facets", "conservative"])
@pytest.mark.parametrize("kind", ["sparse", "dask"])
def test_weights_on_every_source(name: str, kind: str) -> None:
    da = pytest.importorskip("dask.array")
    data = sp.csr_array(X) if kind == "sparse" else da.from_array(X, chunks=(40, -1))
    close(model(name).fit(data, sample_weight=WEIGHTS), model(name).fit(X, sample_weight=WEIGHTS), 1e-8)


def test_parts_of_weighted_samples_and_their_verdicts() -> None:
    """Noise, method and parts as of copies; halves are of samples, so that copies do not vouch for each other."""
    once = pw.Parts(K, random_state=0).fit(X, sample_weight=WEIGHTS)
    copied = pw.Parts(K, random_state=0).fit(np.repeat(X, WEIGHTS, axis=0))
    close(once, copied)
    assert (once.method_.name, once.noise_.kind) == (copied.method_.name, copied.noise_.kind)
    again = pw.judge(once, X, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(again.expected_error, once.verdicts_.expected_error)


def test_verdicts_do_not_rest_on_copies() -> None:
    """Of pure noise copies are found again in the other half; samples of weight eight are not."""
    noise = np.abs(np.random.default_rng(1).standard_normal((40, 12)))
    copies, weights = np.repeat(noise, 8, axis=0), np.full(40, 8)
    samples = pw.judge(pw.HALS(K).fit(noise, sample_weight=weights), noise, sample_weight=weights)
    assert samples.expected_error.min() > pw.judge(pw.HALS(K).fit(copies), copies).expected_error.max()


@pytest.mark.parametrize(
    "options",
    [{"thresholds": "adaptive"}, {"monitor": True}, {"thresholds": [0.2, 0.1]}, {"eta": 0.1}, {"init": "nndsvda"}],
    ids=str,
)
def test_weights_with_every_option_of_and(options: dict[str, Any]) -> None:
    close(model("and", **options).fit(X, sample_weight=WEIGHTS), model("and", **options).fit(np.repeat(X, WEIGHTS, 0)))


def test_thresholds_that_see_all_weights_need_copies() -> None:
    with pytest.raises(InputError, match="sample_weight of AND must be whole numbers"):
        model("and", thresholds="adaptive").fit(X, sample_weight=WEIGHTS / 7.0)


def test_gradient_steps_of_and_are_the_weighted_sum() -> None:
    """One stage of one step of the paper's eta, against the formula."""
    s, eta, H = RNG.random(N), 0.05, PARTS + 0.01
    found = pw.AND(K, init=H, thresholds=[0.1], steps=1, eta=eta, signs="keep").fit(X, sample_weight=s)
    W = X @ np.linalg.pinv(H)
    W[W < 0.1] = 0.0
    expected = H + eta * (s[:, None] * W).T @ (X - W @ H) / s.sum()
    np.testing.assert_allclose(found.components_, expected, rtol=1e-10)
    online = pw.AND(K, init=H, thresholds=[0.1], steps=1, eta=eta).partial_fit(X, sample_weight=s)
    np.testing.assert_allclose(online.components_, expected, rtol=1e-10)
    batches = pw.AND(K, init=H, thresholds=[0.1], steps=1, eta=eta, signs="keep", batch_size=N, random_state=0)
    np.testing.assert_allclose(batches.fit(X, sample_weight=s).components_, expected, rtol=1e-10)


@pytest.mark.parametrize("beta_loss", ["frobenius", "kullback-leibler", "itakura-saito"])
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_batches_of_weighted_samples(beta_loss: str, shuffle: bool) -> None:
    """Equal weights make batches of copies, in order; whatever the order, weights stay with their samples."""
    how = {"beta_loss": beta_loss, "max_iter": 3, "random_state": 0, "max_no_improvement": None, "tol": 0.0}
    if shuffle:
        rows = np.where(WEIGHTS[:, None] > 0, X, X[::-1])  # what does not count may be anything
        first, second = (
            pw.MiniBatchNMF(K, batch_size=20, shuffle=True, init=PARTS, **how).fit(data, sample_weight=WEIGHTS)
            for data in (X, rows)
        )
        close(first, second)
    else:
        once = pw.MiniBatchNMF(K, batch_size=20, **how).fit(X, sample_weight=np.full(N, 2.0))
        close(once, pw.MiniBatchNMF(K, batch_size=40, **how).fit(np.repeat(X, 2, axis=0)))


@pytest.mark.parametrize("penalty", [{}, {"l1_W": 0.01, "l2_H": 0.01}, {"l1_H": 0.01}, {"missing": "nan"}], ids=str)
def test_a_weighted_batch_of_a_stream(penalty: dict[str, Any]) -> None:
    data = np.where(RNG.random(X.shape) < 0.1, np.nan, X) if "missing" in penalty else X
    once, copied = (pw.MiniBatchNMF(K, init=PARTS, batch_size=500, **penalty) for _ in range(2))
    for start in (0, 45):
        half, weights = data[start : start + 45], WEIGHTS[start : start + 45]
        once.partial_fit(half, sample_weight=weights)
        copied.partial_fit(np.repeat(half, weights, axis=0))
    close(once, copied)


def test_weights_of_a_stream_belong_to_its_batches() -> None:
    with pytest.raises(InputError, match="sample_weight is for a batch"):
        pw.MiniBatchNMF(K).partial_fit(iter([X]), sample_weight=WEIGHTS)
    once, copied = pw.ConservativeNMF(K, random_state=0), pw.ConservativeNMF(K, random_state=0)
    close(once.partial_fit(X, sample_weight=WEIGHTS), copied.partial_fit(np.repeat(X, WEIGHTS, axis=0)))


def test_samples_are_told_by_their_own_numbers() -> None:
    odd = X.copy()
    odd[7] = 50.0 * RNG.random(24)
    once = pw.Facets(K, random_state=0).fit(odd, sample_weight=np.full(N, 2))
    assert once.odd_samples_.max(initial=-1) < N
    labels = pw.KMeans(K, random_state=0).fit(X, sample_weight=WEIGHTS).labels_
    np.testing.assert_array_equal(labels < 0, WEIGHTS == 0)
    copied = pw.KMeans(K, random_state=0).fit(np.repeat(X, WEIGHTS, axis=0)).labels_
    np.testing.assert_array_equal(np.repeat(labels, WEIGHTS), copied)
    anchors = pw.SPA(K).fit(X, sample_weight=WEIGHTS)
    assert (WEIGHTS[anchors.anchors_] > 0).all()
    np.testing.assert_array_equal(anchors.components_, X[anchors.anchors_])
    np.testing.assert_array_equal(anchors.separability_.anchors, anchors.anchors_)
    records = pw.TSVD(K, random_state=0).fit(X, sample_weight=WEIGHTS).pure_records_
    assert all(len(set(rows)) == len(rows) and rows.max(initial=0) < N for rows in records)


@pytest.mark.parametrize("method", ["facets", "auto"])
def test_parts_tells_of_samples_by_their_own_numbers(method: str) -> None:
    odd = X.copy()
    odd[7], odd[11] = 50.0 * np.random.default_rng(3).random(24), 0.0
    with pytest.warns(DegenerateDataWarning) as caught:
        pw.Parts(K, method=method, random_state=0, judge=False).fit(odd, sample_weight=np.full(N, 2))
    told = {warning.message.kind: str(warning.message) for warning in caught if hasattr(warning.message, "kind")}
    assert "1 all-zero row(s): 11;" in told["empty"]
    if method == "facets":
        assert "sample 7 is unlike" in told["odd"]


def test_judge_refuses_weights_that_the_method_does() -> None:
    """Halves that refuse them are no halves in which parts are not found."""
    with pytest.raises(InputError, match="sample_weight of SPA must be whole numbers"):
        pw.judge(pw.SPA(K).fit(X), X, sample_weight=np.full(N, 0.5))


def test_a_part_does_not_begin_with_a_sample_that_does_not_count() -> None:
    rows, weights = np.zeros((20, 12)), np.ones(20)
    rows[:, :6] = RNG.random((20, 6))
    rows[4], weights[4] = 100.0 * (np.arange(12) >= 6), 0.0
    start = np.vstack([np.repeat([1.0, 0.0], 6), np.zeros(12)])
    found = pw.MiniBatchNMF(2, init=start).partial_fit(rows, sample_weight=weights)
    assert found.components_.any(axis=1).all()
    close(found, pw.MiniBatchNMF(2, init=start).partial_fit(np.delete(rows, 4, axis=0)))


def test_the_start_of_batches_is_told_by_the_first_that_counts() -> None:
    how = {"batch_size": 30, "init": PARTS, "max_iter": 2}
    late, alone = (
        pw.MiniBatchNMF(K, **how).fit(X, sample_weight=np.arange(N) >= 30),
        pw.MiniBatchNMF(K, **how).fit(X[30:]),
    )
    assert late.history_["objective"][0] == pytest.approx(alone.history_["objective"][0])


def test_more_copies_than_there_is_room_for_are_refused_on_disk_too(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    for data in (X, tmp_path / "x.npy"):
        for weight in (1e15, 1e300):
            with pytest.raises(InputError, match="not enough memory"):
                pw.SPA(K).fit(data, sample_weight=np.full(N, weight))
