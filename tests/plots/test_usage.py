"""Cells in a plane, by the use of programs."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import partwise as pw


def cells(**obsm: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(obsm=obsm, uns={"partwise": {"names": ["T", "B"]}})


def test_a_picture_for_each_program():
    shares = np.random.default_rng(0).dirichlet([1.0, 1.0], 30)
    axes = pw.plots.plot_usage(cells(X_partwise=shares, X_umap=np.random.default_rng(1).random((30, 2))))
    assert [ax.get_title() for ax in axes] == ["T", "B"]
    drawn = axes[1].collections[0]
    np.testing.assert_allclose(np.sort(shares[:, 1]), drawn.get_array())
    assert axes[0].get_xlabel() == "umap 1"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(pw.exceptions.InputError, match=r"no obsm\['X_partwise'\]: partwise.annotate writes it"):
        pw.plots.plot_usage(cells())
    with pytest.raises(pw.exceptions.InputError, match=r"no obsm\['X_tsne'\]"):
        pw.plots.plot_usage(cells(X_partwise=np.ones((3, 2))), basis="tsne")
    monkeypatch.setitem(sys.modules, "scanpy", None)
    with pytest.raises(pw.exceptions.MissingDependencyError, match="needs scanpy: pip install scanpy"):
        pw.plots.plot_usage(cells(X_partwise=np.ones((3, 2))))


def test_scanpy_makes_a_umap_of_the_usages(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def neighbors(adata, **how):
        asked.append(how)

    def umap(adata, **how):
        asked.append(how)
        adata.obsm["X_umap"] = np.random.default_rng(0).random((3, 2))

    made = SimpleNamespace(pp=SimpleNamespace(neighbors=neighbors), tl=SimpleNamespace(umap=umap))
    monkeypatch.setitem(sys.modules, "scanpy", made)
    assert len(pw.plots.plot_usage(cells(X_partwise=np.eye(3, 2)))) == 2
    assert asked == [{"use_rep": "X_partwise", "key_added": "partwise"}, {"neighbors_key": "partwise"}]
