"""What a model found, written into an AnnData as scverse's tools do."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.estimators.amounts import find_amounts, shares_of
from partwise.exceptions import InputError
from partwise.io import open_source
from partwise.metrics.association import association, lead


def annotate(adata: Any, model: Any, *, key: str = "partwise") -> Any:
    """Write usages, loadings, specificities and what was done into an AnnData.

    ``obsm["X_" + key]`` has the usage of every part by every cell (rows sum to one), which ``scanpy.pp.neighbors`` and
    ``scanpy.pl.embedding`` take as they take ``X_pca``; ``varm[key]`` the loadings of the genes,
    ``varm[key + "_score"]`` their `partwise.metrics.association` (cNMF's score), ``varm[key + "_specificity"]`` by how
    much it is above that in every other part; ``obs[key]`` the part that a cell uses most;
    ``uns[key]`` the names of the parts, the method, its parameters and its error. Genes that the model does not know
    have NaN.

    Parameters
    ----------
    adata : AnnData
        The cells; changed in place.
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
    H = np.maximum(np.asarray(model.components_, np.float64), 0.0)
    if genes is None and H.shape[1] != adata.n_vars:
        raise InputError(
            f"the model has {H.shape[1]} features without names, and {{parameter}} {adata.n_vars} genes",
            parameter="adata",
            kind="features",
        )
    known = list(map(str, adata.var_names)) if genes is None else list(map(str, genes))
    places = {name: i for i, name in enumerate(map(str, adata.var_names))}
    missing = [name for name in known if name not in places]
    if missing:
        raise InputError(
            f"{{parameter}} lacks {len(missing)} of the model's genes, such as {missing[0]!r}",
            parameter="adata",
            kind="features",
        )
    rows = [places[name] for name in known]
    cells = adata if rows == list(range(adata.n_vars)) else adata[:, rows]
    W = np.asarray(model.transform(cells), np.float64)
    names = list(model.part_names_)
    shares = np.nan_to_num(shares_of(W, find_amounts(W, H.sum(axis=1))))
    score = association(open_source(cells), shares)
    scores = {"": H, "_score": score, "_specificity": lead(score)}
    for name, values in scores.items():
        full = np.full((adata.n_vars, len(H)), np.nan)
        full[rows] = values.T
        adata.varm[key + name] = full
    adata.obsm[f"X_{key}"] = shares
    # plain objects: anndata cannot write the strings of pandas 3
    adata.obs[key] = pd.Categorical.from_codes(shares.argmax(axis=1), pd.Index(names, dtype=object))
    adata.uns[key] = {
        "names": np.array(names, dtype=object),
        "method": type(model).__name__,
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items() if name != "callbacks"},
        "reconstruction_error": float(getattr(model, "reconstruction_error_", np.nan)),
    }
    return adata


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else str(value)
