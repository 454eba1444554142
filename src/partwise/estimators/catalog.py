"""The methods by their short names, and what each assumes, guarantees and costs, in a line: the only such table."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

import partwise.estimators as home
from partwise.exceptions import InputError

AUTO = "auto"


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    name : str
        What the program calls it.
    estimator : str
        Name of its class.
    assumes : str
        What must hold of the data.
    guarantees : str
        What is then certain of the answer.
    costs : str
        Passes over the data, or what else decides its time.
    aliases : tuple of str
        Other names.
    measure : str
        What the objective of an iteration is: "squares" (half the squared residual), or a name to show it by.
    """

    name: str
    estimator: str
    assumes: str
    guarantees: str
    costs: str
    aliases: tuple[str, ...] = ()
    measure: str = "objective"

    @property
    def kind(self) -> Any:
        """The class."""
        return getattr(home, self.estimator)

    @property
    def summary(self) -> str:
        """The first line of the class's documentation, read in its source: to import the class may take seconds."""
        module = home.home_of(self.estimator)
        spec = find_spec(module)
        source = getattr(spec and spec.loader, "get_source", lambda module: None)(module)
        if source is None:  # installed without sources
            return (self.kind.__doc__ or "").partition("\n")[0]
        classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
        found = next(node for node in classes if node.name == self.estimator)
        return (ast.get_docstring(found) or "").partition("\n")[0]


_METHODS = (
    Method(
        "parts",
        "Parts",
        "nothing: it looks at the data first, and says what it found",
        "those of the method that it takes; a verdict on every part, from fits of halves of the samples",
        "two to four fits of one method, and four of halves",
    ),
    Method(
        "facets",
        "Facets",
        "every part is absent from some samples (3 k of them); weights may be correlated, parts signed, data noisy",
        "the true parts up to the noise where facets are told from it; no bound for your own data",
        "an SVD, then a pass over projected data for each of usually 10 to 50 stages",
    ),
    Method(
        "archetypes",
        "Archetypes",
        "each part is nearly alone in some samples; parts may vary from sample to sample, some samples may be odd",
        "a stationary point (relative gap); the best of 32 starts, with how close the next one came",
        "two SVDs; then at most 20,000 samples in 3 k dimensions, in memory, however large the data",
        measure="mean distance",
    ),
    Method(
        "minvol",
        "MinVol",
        "weights scattered enough in the simplex, no sample need be pure; samples of any size, noise of one size",
        "a stationary point of fit and volume (KKT residual), weighed by the measured noise; whether parts are unique",
        "an SVD; then some hundred passes over projected data, each a small program for every sample",
        ("min-vol",),
        measure="fit and volume",
    ),
    Method(
        "bayes",
        "Bayes",
        "independent noise, of one size once data is weighed; parts and weights as sparse or dense as they are",
        "the evidence never falls; which end depends on the start, and that of the larger evidence is to be believed",
        "one pass an iteration, some tens of them",
        ("empirical-bayes",),
        measure="minus the evidence",
    ),
    Method(
        "hals",
        "HALS",
        "nothing but data >= 0; samples that are nearly pure make its start a good one",
        "a stationary point of the squared error, to tol (KKT residual); which one depends on the start",
        "one pass an iteration, hundreds of them; the fastest general method here",
        measure="squares",
    ),
    Method(
        "anls",
        "ANLS",
        "as hals",
        "as hals; every half-step is solved exactly",
        "one pass an iteration, each about twice as dear as one of hals; dear with many parts",
        measure="squares",
    ),
    Method(
        "likelihood",
        "Likelihood",
        "counts, or data >= 0 whose errors grow with their size",
        "a stationary point of the Poisson likelihood, to tol (KKT residual); which one depends on the start",
        "one pass an iteration, about a hundred of them; the fast one of mu's for this loss",
        ("kl", "poisson"),
        measure="divergence",
    ),
    Method(
        "mu",
        "MU",
        "data >= 0 (> 0 for Itakura-Saito); counts or spectra whose errors grow with their size",
        "the divergence never rises; stationary to tol if it gets there, which is slow",
        "one or two passes an iteration, thousands of them",
        measure="divergence",
    ),
    Method(
        "and",
        "AND",
        "as facets, and a start that is near; weights of order one, no noise to speak of (or floor=2)",
        "the true parts, from such a start (Li & Liang 2017, as published)",
        "an SVD, then a pass for each of some hundred stages",
        measure="squares",
    ),
    Method(
        "purification",
        "Purification",
        "weights independent of each other, three or so of many present in a sample, a start near the truth",
        "the true parts under adversarial or large unbiased noise (Li, Liang & Risteski 2016)",
        "one pass an iteration and a small linear program for each part, tens to hundreds of them",
        measure="fixed-point residual",
    ),
    Method(
        "tsvdnmf",
        "TSVDNMF",
        "each sample has a dominant part, each part some nearly pure samples; noise averages out over samples",
        "parts near the truth under noise as large as the data (Bhattacharyya et al. 2016)",
        "an SVD and k-means on thresholded data: some tens of passes",
    ),
    Method(
        "tsvd",
        "TSVD",
        "as tsvdnmf, with catchwords: words far more frequent in one topic than in all others",
        "topics near the truth (Bansal et al. 2014); here to compare with",
        "as tsvdnmf, without the pruning",
    ),
    Method(
        "kmeans",
        "KMeans",
        "samples in clusters, one part each",
        "none: a local optimum of k-means, the best of several starts; here to compare with",
        "a pass for each of some tens of iterations",
    ),
    Method(
        "spa",
        "SPA",
        "separable data: every part is itself a sample (or has a feature of its own, axis=features)",
        "the anchors up to an error bound that is computed for your data, where its assumption holds",
        "k passes; the fastest",
    ),
    Method(
        "pw-spa",
        "PreconditionedSPA",
        "as spa; parts may be nearly dependent",
        "as spa, under more noise; the bound shown is that of spa",
        "an SVD, then k cheap passes",
        ("preconditioned-spa",),
    ),
    Method(
        "er-spa",
        "EllipsoidalSPA",
        "as spa; points inside the hull may be outliers of it",
        "as spa, under more noise; the bound shown is that of spa",
        "an SVD and the smallest ellipsoid around the points",
        ("ellipsoidal-spa",),
    ),
    Method(
        "xray",
        "XRAY",
        "separable data >= 0 whose points may differ in size by orders",
        "exact anchors without noise; no bound with it",
        "two passes and an exact refit for each part",
    ),
    Method(
        "separable-lp",
        "SeparableLP",
        "separable data with noise, a few hundred points",
        "the optimum of a linear program, with its duality gap (Gillis & Luce 2014)",
        "n^2 variables: minutes for 500 points, refused where it would not fit memory",
        ("gillis-lp",),
    ),
    Method(
        "hull",
        "ConvexHull",
        "separable data; no noise to speak of",
        "every anchor is a corner of the hull, to tol (Arora et al. 2012)",
        "a linear program for each point that may be a corner; up to thousands of points",
        ("convex-hull",),
    ),
    Method(
        "topics",
        "AnchorTopics",
        "counts of words; every topic has a word of its own that is not rare",
        "topics that approach the truth with the number of documents; a duality gap for every word (Arora et al. 2013)",
        "a few passes and a small program for each word; no start, no iteration to wait for",
        ("anchor-topics",),
    ),
    Method(
        "minibatch",
        "MiniBatchNMF",
        "data >= 0, more of it than one cares to see often, or a stream; samples in no particular order",
        "none proved for few passes; weights of every batch are exact, and memory does not grow with the data",
        "one to ten passes, each sample once in each; the fastest to a fair answer on many samples",
        ("mini-batch", "minibatch-nmf", "online"),
        measure="cost of the samples",
    ),
    Method(
        "conservative",
        "ConservativeNMF",
        "samples that come one by one, many of them; exact mixtures for w near 1, small w for real data",
        "none proved; each sample is recovered by the smallest change; memory does not grow with the data",
        "max_passes passes, each sample once in each",
        ("conservative-nmf",),
        measure="error of a sample",
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}


def find_method(name: str) -> Method:
    """The method of a short name, an alias or the name of a class.

    Parameters
    ----------
    name : str
        In any case of letters.
    """
    wanted = name.strip().lower().replace("_", "-")
    known = {key.lower(): one for one in _METHODS for key in (one.name, one.estimator, *one.aliases)}
    if wanted in known:
        return known[wanted]
    if wanted == AUTO:
        return METHODS["parts"]
    near = get_close_matches(wanted, known, n=1)
    hint = f"did you mean {known[near[0]].name}? " if near else ""
    if wanted in ("nmf", "mf", "sklearn", "cd"):
        hint = "every method here is one of NMF: hals is what scikit-learn calls NMF(solver='cd'), mu its solver='mu'; "
    known_ones = ", ".join(METHODS)
    raise InputError(
        f"{{parameter}}: there is no method {name!r}; {hint}the methods are {known_ones}",
        parameter="method",
        kind="unknown",
    )
