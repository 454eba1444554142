"""Counts: the number of parts and the parts, from a cold start, with a polish that ends by counts it has not seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import partwise as pw
from partwise.exceptions import DegenerateDataWarning, InputError

DATA = pw.datasets.make_catalogues(5, 200, random_state=0)


@pytest.fixture(scope="module")
def found() -> pw.CountParts:
    return pw.count_parts(DATA.X)


def worst(found: pw.CountParts, data: pw.datasets.Mixture) -> float:
    return float(pw.metrics.match_components(found.components, data.components).cosines.min())


def test_number_and_parts(found: pw.CountParts) -> None:
    assert found.k == 5
    assert found.noise.kind == "poisson"
    assert worst(found, DATA) > 0.98
    np.testing.assert_allclose(found.components.sum(axis=1), 1.0, rtol=1e-12)
    assert not len(found.odd_samples)


def test_the_polish_ends_where_held_out_counts_are_likeliest(found: pw.CountParts) -> None:
    assert found.n_polish == 10 * int(np.argmin(found.held_out))
    assert len(found.held_out) <= found.n_polish // 10 + 4


def test_the_model_is_a_model(tmp_path: Path, found: pw.CountParts) -> None:
    W = found.model.transform(DATA.X)
    # weights are numbers of counts: Kullback and Leibler's keep the totals of the samples
    np.testing.assert_allclose(W.sum(axis=1), DATA.X.sum(axis=1), rtol=1e-4)
    pw.save(found.model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(pw.load(tmp_path / "model.safetensors").transform(DATA.X), W)


def test_sparse_counts_and_a_given_number(found: pw.CountParts) -> None:
    sparse = pw.count_parts(sp.csr_array(DATA.X), 5)
    np.testing.assert_allclose(sparse.components, found.components, rtol=1e-3, atol=1e-6)


def test_what_are_no_counts() -> None:
    with pytest.raises(InputError, match="must hold counts"):
        pw.count_parts(DATA.X / 3.0)
    with pytest.raises(InputError, match="Negative"):
        pw.count_parts(-DATA.X)
    with pytest.warns(DegenerateDataWarning), pytest.raises(InputError, match="nothing in X stands above its noise"):
        pw.count_parts(np.zeros((30, 20)))
