"""What many starts agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import partwise as pw
from partwise.belief.consensus import agreed
from partwise.exceptions import InputError


def test_parts_that_all_starts_find_are_stable_and_a_lone_one_is_left_out():
    rng = np.random.default_rng(0)
    truth = np.eye(3, 30) + 0.05
    starts = [truth[rng.permutation(3)] * rng.uniform(1, 9, (3, 1)) + 0.001 * rng.random((3, 30)) for _ in range(10)]
    starts[0][1] = np.eye(1, 30, 20)  # one fit found something else
    start, stability, found, kept = agreed(starts, 3)
    assert pw.metrics.match_components(start, truth).cosines.min() > 0.999
    assert stability.min() > 0.999
    assert sorted(found.tolist()) == [0.9, 1.0, 1.0]
    assert kept == pytest.approx(29 / 30)
    np.testing.assert_allclose(np.linalg.norm(start, axis=1), 1.0)


def test_consensus_is_a_start_and_not_worse_than_most():
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.gamma(0.3, 5.0, (150, 6)) @ rng.dirichlet([0.1] * 40, 6) * 3.0)
    X = X[X.any(axis=1)][:, X.any(axis=0)]
    estimator = pw.Likelihood(6, tol=1e-4)
    found = pw.consensus(estimator, X, n_starts=8)
    assert found.model.converged_
    assert found.model.history_["objective"][-1] <= np.median(found.objectives) * (1 + 1e-6)
    again = pw.consensus(estimator, X, n_starts=8)
    np.testing.assert_array_equal(found.model.components_, again.model.components_)
    assert not hasattr(estimator, "components_")


def test_fixed_parts_are_not_clustered():
    data = pw.datasets.make_topics(n_samples=150, n_features=30, n_components=3, random_state=0)
    found = pw.consensus(pw.HALS(3, fixed=data.components[:1], tol=1e-3), data.X, n_starts=3)
    assert found.start.shape == (2, 30)
    np.testing.assert_array_equal(found.model.components_[0], data.components[0])


@pytest.mark.parametrize(
    ("estimator", "options", "said"),
    [
        (pw.HALS(3), {"n_starts": 2}, "n_starts must be at least 3, got 2"),
        (pw.SPA(3), {}, "needs n_components, and a start"),
    ],
    ids=["few", "no-start"],
)
def test_what_cannot_be_is_refused(estimator, options, said):
    with pytest.raises(pw.exceptions.InputError, match=said):
        pw.consensus(estimator, np.ones((5, 5)), **options)


def test_fixed_parts_alone_leave_nothing_to_agree_on():
    H = np.eye(3, 30) + 0.05
    with pytest.raises(InputError, match="all 3 parts fixed"):
        pw.consensus(pw.HALS(3, fixed=H), np.ones((20, 30)), n_starts=3)
    with pytest.raises(InputError, match="beside fixed parts"):
        pw.HALS(3, fixed=H[:1], init=(np.ones((20, 3)), H)).fit(np.ones((20, 30)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("work", ["consensus", "judge"])
def test_ctrl_c_in_one_of_several_fits_is_handed_on(work: str, monkeypatch: pytest.MonkeyPatch):
    X = np.random.default_rng(0).gamma(0.5, size=(60, 3)) @ np.random.default_rng(1).gamma(0.5, size=(3, 12))
    model = pw.HALS(3, max_iter=20, random_state=0).fit(X)
    proper, fits = pw.HALS._begin, []

    def broken(self: Any, *given: Any) -> Any:
        fits.append(1)
        for number, progress in enumerate(proper(self, *given)):
            if number == 2 and len(fits) == 2:
                raise KeyboardInterrupt
            yield progress

    monkeypatch.setattr(pw.HALS, "_begin", broken)
    with pytest.raises(KeyboardInterrupt):
        pw.judge(model, X) if work == "judge" else pw.consensus(pw.HALS(3), X, n_starts=4)
    assert len(fits) == 2
