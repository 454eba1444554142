"""partwise: the true parts of non-negative mixtures.

The public names below are loaded when they are first used, so ``import partwise`` is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AND": "partwise.estimators",
    "ANLS": "partwise.estimators",
    "AnchorTopics": "partwise.estimators",
    "Archetypes": "partwise.estimators",
    "Bayes": "partwise.estimators",
    "ConservativeNMF": "partwise.estimators",
    "ConvexHull": "partwise.estimators",
    "Cooccurrence": "partwise.algorithms.cooccurrence",
    "CountParts": "partwise.estimators.count_parts",
    "EllipsoidalSPA": "partwise.estimators",
    "Facets": "partwise.estimators",
    "HALS": "partwise.estimators",
    "KMeans": "partwise.estimators",
    "Likelihood": "partwise.estimators",
    "MinVol": "partwise.estimators",
    "MiniBatchNMF": "partwise.estimators",
    "MU": "partwise.estimators",
    "Noise": "partwise.noise",
    "Parts": "partwise.parts",
    "PreconditionedSPA": "partwise.estimators",
    "Purification": "partwise.estimators",
    "RankChoice": "partwise.belief",
    "SPA": "partwise.estimators",
    "SeparableLP": "partwise.estimators",
    "TSVD": "partwise.estimators",
    "TSVDNMF": "partwise.estimators",
    "XRAY": "partwise.estimators",
    "annotate": "partwise.profiles.scverse",
    "choose_k": "partwise.belief",
    "consensus": "partwise.belief",
    "count_parts": "partwise.estimators.count_parts",
    "factorize": "partwise.estimators.functional",
    "feasible_bands": "partwise.belief",
    "judge": "partwise.belief",
    "left_inverse": "partwise.linalg.inverse",
    "load": "partwise.estimators.saving",
    "measure_noise": "partwise.noise",
    "nnls": "partwise.linalg.nnls",
    "open_source": "partwise.io",
    "read": "partwise.io",
    "save": "partwise.estimators.saving",
    "show_progress": "partwise.estimators.watching",
    "write_report": "partwise.report",
}
_MODULES = (
    "algorithms",
    "belief",
    "datasets",
    "estimators",
    "exceptions",
    "io",
    "linalg",
    "metrics",
    "noise",
    "parts",
    "plots",
    "profiles",
    "report",
    "sources",
    "starts",
)

__all__ = [
    "AND",
    "ANLS",
    "AnchorTopics",
    "Archetypes",
    "Bayes",
    "ConservativeNMF",
    "ConvexHull",
    "Cooccurrence",
    "CountParts",
    "EllipsoidalSPA",
    "Facets",
    "HALS",
    "KMeans",
    "Likelihood",
    "MinVol",
    "MiniBatchNMF",
    "MU",
    "Noise",
    "Parts",
    "PreconditionedSPA",
    "Purification",
    "RankChoice",
    "SPA",
    "SeparableLP",
    "TSVD",
    "TSVDNMF",
    "XRAY",
    "__version__",
    "annotate",
    "choose_k",
    "consensus",
    "count_parts",
    "factorize",
    "feasible_bands",
    "judge",
    "left_inverse",
    "load",
    "measure_noise",
    "nnls",
    "open_source",
    "read",
    "save",
    "show_progress",
    "write_report",
    *_MODULES,
]

if TYPE_CHECKING:
    from partwise.algorithms.cooccurrence import Cooccurrence
    from partwise.belief import RankChoice, choose_k, consensus, feasible_bands, judge
    from partwise.estimators import (
        AND,
        ANLS,
        HALS,
        MU,
        SPA,
        TSVD,
        TSVDNMF,
        XRAY,
        AnchorTopics,
        Archetypes,
        Bayes,
        ConservativeNMF,
        ConvexHull,
        EllipsoidalSPA,
        Facets,
        KMeans,
        Likelihood,
        MiniBatchNMF,
        MinVol,
        PreconditionedSPA,
        Purification,
        SeparableLP,
    )
    from partwise.estimators.count_parts import CountParts, count_parts
    from partwise.estimators.functional import factorize
    from partwise.estimators.saving import load, save
    from partwise.estimators.watching import show_progress
    from partwise.io import open_source, read
    from partwise.linalg import left_inverse, nnls
    from partwise.noise import Noise, measure_noise
    from partwise.parts import Parts
    from partwise.profiles.scverse import annotate
    from partwise.report import write_report


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"partwise.{name}")
    raise AttributeError(f"module 'partwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
