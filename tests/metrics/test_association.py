"""Features that go with a part from sample to sample."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import InputError
from partwise.metrics import association
from partwise.metrics.association import exclusive

RNG = np.random.default_rng(0)
U = RNG.dirichlet([0.3] * 3, 80)
X = RNG.poisson(200.0 * U @ RNG.dirichlet([0.2] * 25, 3)) + 1


def test_the_scores_are_those_of_least_squares_on_scaled_features():
    share = X / X.sum(axis=1, keepdims=True)
    Z = (share - share.mean(axis=0)) / share.std(axis=0)
    expected = np.linalg.lstsq(U, Z, rcond=None)[0]
    np.testing.assert_allclose(association(X, U), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(association(sp.csr_array(X), U), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(association(pw.open_source(X, block_rows=7), U), expected, rtol=1e-8, atol=1e-10)


def test_what_does_not_vary_scores_zero_and_a_marker_leads_whatever_its_size():
    rare = np.column_stack([np.full(80, 50), 300 * U[:, 0] + 700, 3 * U[:, 1]])
    rest = 2000 - rare.sum(axis=1, keepdims=True)
    found = association(np.hstack([rare, rest]), U)
    assert not found[:, 0].any()
    assert found[1].argmax() == 2


def test_shares_of_other_samples_are_refused():
    with pytest.raises(pw.exceptions.InputError, match="shares must have 80 rows, one a sample"):
        association(X, U[:-1])


@pytest.mark.parametrize("bad", ["X", "shares"])
def test_nan_is_refused_with_its_place(bad: str):
    given = {"X": np.ones((6, 4)), "shares": np.ones((6, 2))}
    given[bad][2, 1] = np.nan
    with pytest.raises(InputError, match="row 2, column 1") as caught:
        association(**given)
    assert (caught.value.parameter, caught.value.kind) == (bad, "not-finite")


def test_of_features_that_go_with_a_part_alike_the_one_that_is_its_own_leads():
    scores = np.array([[3.0, 2.0, -1.0], [3.0, -1.0, -2.0]])
    components = np.array([[30.0, 10.0, 60.0], [3.0, 0.0, 7.0]])  # sizes of parts do not count
    np.testing.assert_allclose(exclusive(scores, components), [[1.5, 2.0, 0.0], [1.5, 0.0, 0.0]])
    np.testing.assert_array_equal(exclusive(scores[:1], components[:1]), np.maximum(scores[:1], 0.0))
    np.testing.assert_array_equal(exclusive(scores, np.zeros((2, 3))), np.zeros((2, 3)))
