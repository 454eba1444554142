"""What a model found, written into an AnnData as scverse's tools do."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from partwise.estimators.amounts import find_amounts, shares_of
from partwise.exceptions import InputError
from partwise.io.objects import known
from partwise.metrics.association import association, exclusive


def annotate(adata: Any, model: Any, *, key: str = "partwise") -> Any:
    """Write usages, loadings, specificities and what was done into an AnnData.

    ``obsm["X_" + key]`` has the usage of every part by every cell (rows sum to one, or are zero for a cell that uses no
    part, which a warning names), which ``scanpy.pp.neighbors`` and
    ``scanpy.pl.embedding`` take as they take ``X_pca``; ``varm[key]`` the loadings of the genes,
    ``varm[key + "_score"]`` their `partwise.metrics.association` (cNMF's score), ``varm[key + "_specificity"]`` that
    score times the share of the gene that is the part's; ``obs[key]`` the part that a cell uses most, if any;
    ``uns[key]`` the names of the parts, the method, its parameters and its error. Genes that the model does not know
    have NaN.

    Parameters
    ----------
    adata : AnnData
        The cells; changed in place (a view becomes a copy, as whenever one is written to).
    model : estimator
        Fitted on the same genes, or some of them: matched by name.
    key : str, default="partwise"
        What the entries are called.

    Returns
    -------
    AnnData
        The same object.
    """
    if not all(hasattr(adata, name) for name in ("obsm", "varm", "uns", "var_names")):
        raise InputError("{parameter} must be an AnnData", parameter="adata", kind="format")
    import pandas as pd  # which AnnData is made with

    genes = getattr(model, "feature_names_in_", None)
    components = np.asarray(model.components_, np.float64)
    H = np.maximum(components, 0.0)
    if genes is None and H.shape[1] != adata.n_vars:
        raise InputError(
            f"the model has {H.shape[1]} features without names, and {{parameter}} {adata.n_vars} genes",
            parameter="adata",
            kind="features",
        )
    there = list(map(str, adata.var_names))
    rows = list(range(len(there))) if genes is None else _places(there, list(map(str, genes)))
    whole = rows == list(range(len(there)))
    table = replace(known(adata if whole else adata[:, rows]), back=None)  # weights as an array
    W = np.asarray(model.transform(table), np.float64)
    names = list(model.part_names_)
    shares = shares_of(W, find_amounts(W, H.sum(axis=1)))
    used = np.isfinite(shares).all(axis=1)
    shares = np.nan_to_num(shares)
    score = association(table.source(), shares)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*view", UserWarning)  # that a view becomes a copy
        for name, values in {"": components, "_score": score, "_specificity": exclusive(score, H)}.items():
            full = np.full((len(there), len(H)), np.nan)
            full[rows] = values.T
            adata.varm[key + name] = full
        adata.obsm[f"X_{key}"] = shares
        # plain objects: anndata cannot write the strings of pandas 3
        most = np.where(used, shares.argmax(axis=1), -1)
        adata.obs[key] = pd.Categorical.from_codes(most, pd.Index(names, dtype=object))
        adata.uns[key] = {
            "names": np.array(names, dtype=object),
            "method": type(model).__name__,
            "params": {one: _plain(value) for one, value in model.get_params(deep=False).items() if one != "callbacks"},
            "reconstruction_error": float(getattr(model, "reconstruction_error_", np.nan)),
        }
    return adata


def _places(there: list[str], wanted: list[str]) -> list[int]:
    """Where each gene of a model is among those that there are."""
    if there == wanted:
        return list(range(len(there)))
    places = {name: i for i, name in enumerate(there)}
    missing = [name for name in wanted if name not in places]
    asked = set(wanted)
    twice = [name for name, count in Counter(there).items() if count > 1 and name in asked]
    if missing or twice:
        what = (
            f"lacks {len(missing)} of the model's genes, such as {missing[0]!r}"
            if missing
            else f"has the gene {twice[0]!r} twice: call var_names_make_unique() before the fit"
        )
        raise InputError(f"{{parameter}} {what}", parameter="adata", kind="features")
    return [places[name] for name in wanted]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else str(value)
