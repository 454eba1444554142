"""TSVDNMF as published and ours, and the baselines of its tables."""

from __future__ import annotations

from partwise.lab.contenders.base import fitted
from partwise.lab.experiment import Contender

OWN = "weights are the anchors' own values, as in the paper"
REFIT = "weights by non-negative least squares"
# name, estimator and what it is called
SPAS = (
    ("spa-features", "SPA", "SPA on features (anchor words)"),
    ("pw-spa-features", "PreconditionedSPA", "PW-SPA on features"),
    ("er-spa-features", "EllipsoidalSPA", "ER-SPA on features"),
)

CONTENDERS: tuple[Contender, ...] = (
    Contender("tsvdnmf", "TSVDNMF with our defaults", fitted("TSVDNMF", weights=True)),
    Contender("tsvdnmf-refined", "TSVDNMF, refined by empirical Bayes", fitted("TSVDNMF", weights=True, refine=True)),
    Contender(
        "tsvdnmf-literal",
        "TSVDNMF with the constants that the paper prints",
        fitted("TSVDNMF", weights=True, literal=True),
        literal=True,
    ),
    Contender(
        "tsvdnmf-program",
        "TSVDNMF with the constants of its authors' program, which the paper does not print",
        fitted("TSVDNMF", weights=True, literal="program"),
        literal=True,
    ),
    *(
        Contender(name, f"{what}; {OWN}", fitted(estimator, anchored=True, axis="features"), literal=True)
        for name, estimator, what in SPAS
    ),
    *(
        Contender(f"{name}-refit", f"{what}; {REFIT}", fitted(estimator, axis="features"))
        for name, estimator, what in SPAS
    ),
    Contender(
        "xray-features",
        f"XRAY on features; {OWN}; data >= 0",
        fitted("XRAY", clip=True, anchored=True, axis="features"),
        literal=True,
    ),
    Contender(
        "gillis-lp",
        f"Gillis & Luce's LP, rho = 1, HiGHS; {OWN}",
        fitted("SeparableLP", anchored=True, axis="features"),
        literal=True,
    ),
    Contender("tsvd", "TSVD (Bansal et al. 2014)", fitted("TSVD", weights=True), literal=True),
    Contender("kmeans", "k-means, ten starts", fitted("KMeans", weights=True, labels=True), literal=True),
)
