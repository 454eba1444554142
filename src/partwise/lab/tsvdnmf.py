"""Tables 1 to 3 and the leave-one-out experiment of the TSVDNMF paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from partwise import datasets
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.values import NOTHING, quotient, told

DOCUMENT = "Bhattacharyya, Goyal, Kannan, Pani (2016), Non-negative matrix factorization under heavy noise"

# --- Table 2 and leave-one-out: synthetic data under heavy noise ------------------------------------------------

COLUMNS = tuple(
    (kind, noise, level)
    for noise, levels in (("gaussian", (0.5, 1, 2)), ("multinomial", (10, 60, 100)))
    for kind in ("separable", "dominant")
    for level in levels
)
SPAS = ("spa-features", "er-spa-features", "pw-spa-features")
BASELINES = (*SPAS, "gillis-lp")
TABLE3_METHODS = ("tsvdnmf", *SPAS)
CHANGED = (
    "Ours (tsvdnmf) differs in two constants: ε0 is a share of the records of a component, by their density, in place "
    "of 0.04 for all data, and a component is the mean of at least eight records, where ε0 n/4 is one in Table 2; "
    "negative entries of components are set to zero."
)
SYNTHETIC = {"n_samples": 100, "n_features": 100, "n_components": 10}  # the paper's
TINY = {"n_samples": 40, "n_features": 30, "n_components": 3}


def _column(kind: str, noise: str, level: float) -> str:
    sign = "β" if noise == "gaussian" else "m"
    return f"{kind}, {noise} {sign} = {level:g}"


NAMES = tuple(_column(*column) for column in COLUMNS)


def heavy(index: int, shape: Mapping[str, int], seed: int) -> Any:
    """A data set of a column of Table 2."""
    kind, noise, level = COLUMNS[index]
    rng = np.random.default_rng([seed, index])
    make: Any = datasets.make_separable if kind == "separable" else datasets.make_dominant
    clean = make(**shape, random_state=rng)
    if noise == "gaussian":
        return datasets.add_gaussian_noise(clean, level, random_state=rng)
    return datasets.add_multinomial_noise(clean, int(level), random_state=rng)


def _table2(index: int, shape: Mapping[str, int], seed: int) -> Problem:
    return Problem.of(heavy(index, shape, seed))


def _table2_cases(size: Size) -> Sequence[Case]:
    shape, count = (TINY, 1) if size == "tiny" else (SYNTHETIC, len(COLUMNS))
    return [
        Case(NAMES[i], partial(_table2, i, shape), dict(zip(("kind", "noise", "level"), COLUMNS[i], strict=True)))
        for i in range(count)
    ]


def _gain(result: Reproduction, method: str, *, column: str) -> float:
    """Mean over the columns of the relative gain over the mean of the baselines that were run, in per cent."""
    gains = []
    for name in NAMES:
        others = [result.table.mean(column, case=name, method=other) for other in BASELINES]
        known = [other for other in others if np.isfinite(other)]
        # a relative gain over next to nothing, or less, says nothing
        if known and np.mean(known) > 0.1:
            gains.append(result.table.mean(column, case=name, method=method) / np.mean(known) - 1.0)
    return 100.0 * float(np.mean(gains)) if gains else NOTHING


def _best_elsewhere(result: Reproduction, method: str) -> float:
    """Number of columns, other than the first, in which the method is ahead of all baselines."""
    ahead = 0
    for name in NAMES[1:]:
        others = [result.table.mean("score", case=name, method=other) for other in BASELINES]
        known = [other for other in others if np.isfinite(other)]
        own = result.table.mean("score", case=name, method=method)
        if not known or np.isnan(own):
            return NOTHING
        ahead += own >= max(known)
    return float(ahead)


def _ahead_in(result: Reproduction, method: str, *, column: str, of: str) -> float:
    """Number of columns in which the method scores more than another."""
    pairs = [[result.table.mean(column, case=name, method=one) for one in (method, of)] for name in NAMES]
    return NOTHING if np.isnan(pairs).any() else float(sum(ours > other for ours, other in pairs))


def _mean_record(result: Reproduction, method: str, claim: Claim) -> str:
    """The scores of the mean record beside the published ones."""
    published = result.experiment.published("score")["tsvdnmf"]
    scores = {name: result.table.mean("score", case=name, method="trivial-constant") for name in NAMES}
    listed = ", ".join(f"{scores[name]:.3f} ({published[name]:.3f})" for name in NAMES)
    return (
        "One record, the mean, with non-negative weights has less noise than any ten components: its scores, and the "
        f"published ones of TSVDNMF, column by column: {listed}. The measure is of the fit to the signal, not of "
        "components."
    )


def _better_lp(result: Reproduction, method: str, claim: Claim) -> str:
    case = claim.arguments["case"]
    lp, spa = (result.table.mean("score", case=case, method=name) for name in ("gillis-lp", "spa-features"))
    published = result.experiment.published("score")
    return (
        "The linear program is told a level of noise, which the paper does not give; ours is estimated from the "
        f"data. The LP and SPA on the same data: {lp:.3f} and {told(spa, '.3f')}; in the paper "
        f"{published['gillis-lp'][case]:.3f} and {published['spa-features'][case]:.3f}."
    )


TABLE2_EXPERIMENT = Experiment(
    name="tsvdnmf-table2",
    title="Table 2: recovery of the factorization under heavy noise",
    document=DOCUMENT,
    about="100 records of 100 features, ten components; separable and dominant data, Gaussian noise of the size"
    " β of the signal and multinomial noise of m draws a record. Separable methods pick features, whose "
    "values are the weights, and find the components by non-negative least squares; the others find the "
    "weights so. The score is one minus the l1 residual against the noiseless data.",
    cases=_table2_cases,
    methods=(
        "tsvdnmf",
        "tsvdnmf-refined",
        "tsvdnmf-literal",
        "spa-features",
        "er-spa-features",
        "pw-spa-features",
        "gillis-lp",
        "xray-features",
        "kmeans",
        "tsvd",
        "true-components",
    ),
    slow=("gillis-lp",),
    measures=("part_error", "score"),
    seeds={"quick": 5, "full": 10},
    statistics={"gain": _gain, "best_elsewhere": _best_elsewhere, "ahead_in": _ahead_in},
    explanations={"better_lp": _better_lp, "mean_record": _mean_record},
    changed=CHANGED,
    figures=(
        Figure("Ours beside the published numbers", figures.beside("score"), "table"),
        Figure("Scores; the mark is the published number", figures.bars("score")),
    ),
)


def _left_out(index: int, shape: Mapping[str, int], seed: int) -> Problem:
    """The seed also says which record is left out."""
    mixture = heavy(index, shape, seed // shape["n_samples"])
    out = seed % shape["n_samples"]
    rest = np.arange(shape["n_samples"]) != out
    note = f"{rest.sum()} x {shape['n_features']}, k = {shape['n_components']}, one record left out"
    return Problem(
        mixture.X[rest],
        shape["n_components"],
        truth=mixture.components,
        weights=mixture.weights[rest],
        signal=mixture.signal[rest],
        held_out=mixture.X[[out]],
        held_out_signal=mixture.signal[[out]],
        note=note,
    )


def _left_out_cases(size: Size) -> Sequence[Case]:
    shape, count = (TINY, 1) if size == "tiny" else (SYNTHETIC, len(COLUMNS))
    return [Case(NAMES[i], partial(_left_out, i, shape)) for i in range(count)]


LEAVE_ONE_OUT = Experiment(
    name="tsvdnmf-leave-one-out",
    title="Leave one record out: components from the others, tested on the one",
    document=DOCUMENT,
    about="The supplement's experiment, of which the paper gives the average gain alone. Here components are "
    "found without one record, which is then explained by them: the score is one minus the l1 residual of"
    " its noiseless values. A seed is a record left out.",
    cases=_left_out_cases,
    methods=(
        "tsvdnmf",
        "tsvdnmf-refined",
        "tsvdnmf-literal",
        "spa-features",
        "er-spa-features",
        "pw-spa-features",
        "gillis-lp",
        "true-components",
    ),
    slow=("gillis-lp",),
    measures=("held_out",),
    seeds={"quick": 10, "full": 100},
    statistics={"gain": _gain},
    figures=(Figure("Scores of the record left out", figures.bars("held_out")),),
)

# --- Tables 1 and 3: texts and faces ----------------------------------------------------------------------------

CLASSES = {"reuters10": 10, "reuters48": 48, "newsgroups": 20, "tdt2": 30, "yale": 15}
# posts and broadcasts differ in length by orders of magnitude: most of it is divided out, where the paper keeps it
SLOPES = {"newsgroups": 0.75, "tdt2": 0.75}
QUICK_RECORDS = 8000  # all of reuters10
WORDS, QUICK_WORDS = 4096, 512  # of faces
# what the paper may have meant by tf-idf, "not normalised in any form"
OTHERS = ("plain tf-idf", "counts", "logarithmic tf-idf", "unit length")


@cache
def _counted(name: str, words: int) -> tuple[Any, np.ndarray]:
    """Counts of words, and classes; Yale has no SIFT files any more, so its words are made."""
    if name == "yale":
        faces = datasets.load_yale(64)
        assert faces.labels is not None
        images = faces.X.reshape(-1, 64, 64)
        return datasets.count_visual_words(images, n_words=words, random_state=0), faces.labels
    if name == "newsgroups":
        found = datasets.load_newsgroups()
    elif name == "tdt2":
        found = datasets.load_tdt2()
    else:
        found = datasets.load_reuters(CLASSES[name])
    assert found.labels is not None
    return found.X, found.labels


def records(name: str, words: int = WORDS, prepared: str = "") -> tuple[Any, np.ndarray]:
    """Records as logarithmic tf-idf with the slope of the data set, or as one of `OTHERS`; and their classes."""
    from sklearn.feature_extraction.text import TfidfTransformer

    from partwise.datasets.loaders.text import weigh

    counts, labels = _counted(name, words)
    if prepared == "counts":
        return counts.astype(float), labels
    if prepared == "plain tf-idf":
        return sp.csr_array(TfidfTransformer(norm=None).fit_transform(counts)), labels
    slope = {"": SLOPES.get(name, 0.0), "logarithmic tf-idf": 0.0, "unit length": 1.0}[prepared]
    return weigh(counts, "tfidf", slope), labels


def _classes(name: str, most: int | None, prepared: str, seed: int) -> Problem:
    words = WORDS if most is None or name != "yale" else QUICK_WORDS
    X, labels = records(name, words, prepared)
    if most is not None and X.shape[0] > most:
        rows = np.sort(np.random.default_rng(0).choice(X.shape[0], most, replace=False))
        X, labels = X[rows], labels[rows]
        X = X[:, np.flatnonzero(np.asarray(X.sum(axis=0)).ravel() > 0)]
    slope = f", {SLOPES[name]} of the length divided out" if name in SLOPES else ""
    what = prepared or f"logarithmic tf-idf{slope}"
    what = f"dense descriptors as {words:,} visual words, {what}" if name == "yale" else what
    return Problem(X, CLASSES[name], labels=labels, note=f"{X.shape[0]} x {X.shape[1]}, k = {CLASSES[name]}, {what}")


def _toy_classes(seed: int) -> Problem:
    mixture = datasets.make_dominant(**TINY, random_state=seed)
    return Problem(mixture.X, 3, labels=mixture.labels, note="a toy")


def _class_cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", _toy_classes)]
    if size == "full":
        published = [Case(name, partial(_classes, name, None, "")) for name in CLASSES]
        return published + [_otherwise(name, prepared) for name in CLASSES for prepared in _others(name)]
    # fewer visual words are other data: under another name, so that no published number is held against them
    names = {"reuters10": "reuters10", f"yale, {QUICK_WORDS} words": "yale"}
    return [Case(shown, partial(_classes, name, QUICK_RECORDS, "")) for shown, name in names.items()]


def _others(name: str) -> list[str]:
    """Other preparations than the one that the published numbers are held against."""
    return [prepared for prepared in OTHERS if name in SLOPES or prepared != "logarithmic tf-idf"]


EVIDENCE = (*TABLE3_METHODS, "spa-features-refit", "er-spa-features-refit", "pw-spa-features-refit")


def _otherwise(name: str, prepared: str) -> Case:
    return Case(f"{name}, {prepared}", partial(_classes, name, None, prepared), evidence=EVIDENCE)


def _prepared(result: Reproduction, method: str, claim: Claim) -> str:
    """What other preparations of the data give, and another reading of the method: the paper's files are not public."""
    case, column = claim.arguments["case"], claim.arguments["column"]
    ours = result.table.mean(column, case=case, method=method)
    others = {what: result.table.mean(column, case=f"{case}, {what}", method=method) for what in OTHERS}
    known = {what: value for what, value in others.items() if np.isfinite(value)}
    texts = []
    if known:
        listed = ", ".join(f"{value:.3g} ({what})" for what, value in known.items())
        if min(ours, *known.values()) <= claim.bound <= max(ours, *known.values()):
            texts.append(f"The paper's files are not public, and their preparation decides: {listed}.")
        else:
            texts.append(f"The paper's files are not public; other preparations do not give it either: {listed}.")
    refit = method.removesuffix("-refit")
    other, what = (
        (refit, "the anchors' own values as weights") if refit != method else (f"{method}-refit", "refitted weights")
    )
    own = result.table.mean(column, case=case, method=other)
    return " ".join([*texts, f"With {what} it is {own:.3g}."] if np.isfinite(own) else texts)


def _texts(result: Reproduction) -> list[str]:
    return [name for name in result.table.distinct("case") if name in CLASSES and name != "yale"]


def _ahead(result: Reproduction, method: str) -> float:
    """The relative gain in NMI over the best separable method, as per cent, averaged over the texts."""
    gains = []
    for case in _texts(result):
        others = [result.table.mean("nmi", case=case, method=name) for name in SPAS]
        # unknown if one of them is: it may be the best
        gains.append(quotient(result.table.mean("nmi", case=case, method=method), float(np.max(others))) - 1.0)
    return 100.0 * float(np.mean(gains)) if gains else NOTHING


def _stronger(result: Reproduction, method: str, claim: Claim) -> str:
    """How good the separable methods are here and in the paper; what the gain is over the paper's own."""
    published, found, gains = result.experiment.published("nmi"), [], []
    for case in _texts(result):
        theirs = max(published[name][case] for name in SPAS)
        best = float(np.max([result.table.mean("nmi", case=case, method=name) for name in SPAS]))
        found.append(f"{case} {told(best, '.3f')} (paper {theirs:.3f})")
        gains.append(result.table.mean("nmi", case=case, method=method) / theirs - 1.0)
    return (
        f"NMI of the best separable method, here and in the paper: {', '.join(found)}. Over the paper's own, "
        f"{method} gains {100.0 * np.mean(gains):.0f}%."
    )


TABLE1_EXPERIMENT = Experiment(
    name="tsvdnmf-table1",
    title="Table 1: do real records have a dominant part, and are some nearly pure?",
    document=DOCUMENT,
    about="Weights of texts and faces by PW-SPA, refitted by non-negative least squares (the paper does not say"
    " how; the anchors' own values, which reproduce its Table 2, are far more often nearly pure). A "
    "record has a dominant weight if one has at least 0.4 of the sum and all others at most 0.3; it is "
    "nearly pure if one has at least 0.95. Texts and faces have been prepared anew, because the paper's "
    "files are not public: its numbers depend on that.",
    cases=_class_cases,
    methods=("pw-spa-features-refit", "pw-spa-features", "tsvdnmf"),
    measures=("pure", "dominant"),
    seeds={"quick": 1, "full": 1},
    explanations={"prepared": _prepared},
    changed="Ours refits the weights of the anchors by non-negative least squares; the paper says that B is found so, "
    "and the weights of its separable methods are the anchors' own values.",
    figures=(
        Figure(
            "Records with a dominant weight",
            figures.bars("dominant"),
        ),
    ),
)

TABLE3_EXPERIMENT = Experiment(
    name="tsvdnmf-table3",
    title="Table 3: clusters of texts and faces against their classes",
    document=DOCUMENT,
    about="A record's cluster is its largest weight (k-means has its own labels). Weights of separable methods "
    "are the anchors' own values, the reading that reproduces Table 2; the other, refitted by non-negative "
    "least squares, which is nearer to Table 1, is there too, and better. Texts and faces have been "
    "prepared anew, because the paper's files are not public; k-means, TSVD and XRAY, whose numbers are "
    "in its supplement alone, are run too.",
    cases=_class_cases,
    methods=(
        "tsvdnmf",
        "tsvdnmf-literal",
        "spa-features",
        "er-spa-features",
        "pw-spa-features",
        "spa-features-refit",
        "er-spa-features-refit",
        "pw-spa-features-refit",
        "xray-features",
        "kmeans",
        "tsvd",
    ),
    measures=("ac", "nmi"),
    seeds={"quick": 1, "full": 5},
    statistics={"ahead": _ahead},
    explanations={"prepared": _prepared, "stronger": _stronger},
    changed=CHANGED
    + " Of posts and broadcasts, 0.75 of the length is divided out, where the paper does not normalise.",
    figures=(
        Figure("NMI; the mark is the published number", figures.bars("nmi")),
        Figure("Accuracy; the mark is the published number", figures.bars("ac")),
    ),
)

EXPERIMENTS = (TABLE1_EXPERIMENT, TABLE2_EXPERIMENT, TABLE3_EXPERIMENT, LEAVE_ONE_OUT)
