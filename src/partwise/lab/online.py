"""Conservative online learning: digits out of mixtures, MNIST's errors, and whether random starts agree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import combinations

import numpy as np

from partwise import datasets, metrics
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.values import NOTHING, quotient, spread, told

DOCUMENT = "Elser, Online non-negative matrix factorization (conservative learning)"
FEATURES = (50, 100, 200)  # the document's f


def _digits(size: Size, seed: int) -> Problem:
    if size == "full":
        mixture = datasets.make_digit_mixtures("mnist", random_state=seed)
    else:
        n, k, per = (2500, 16, 2) if size == "quick" else (100, 4, 2)
        mixture = datasets.make_digit_mixtures(n_samples=n, n_components=k, per_sample=per, random_state=seed)
    return Problem.of(mixture, image_shape=mixture.image_shape, note="mixtures of digit images")


def _digit_cases(size: Size) -> Sequence[Case]:
    return [Case("mixtures of digits", partial(_digits, size))]


def _last_error(result: Reproduction, method: str) -> float:
    """The average error of the last batch, of the first seed."""
    errors = result.curves.where(method=method, seed=0).values("objective")
    return float(errors[-1]) if len(errors) else NOTHING


def _times_worse(result: Reproduction, method: str, *, than: str) -> float:
    """Error of the images by another rule, times that of the method; 0 where that is hardly below the start's."""
    own, other, start = (result.table.mean("part_error", method=name) for name in (method, than, "trivial-start"))
    return 0.0 if own > 0.5 * start else quotient(other, own)


def _printed_order(result: Reproduction, method: str, claim: Claim) -> str:
    printed, derived = (told(_last_error(result, name), ".2g") for name in ("conservative-printed", "conservative-w1"))
    return (
        "Read literally, step 9 takes D from step 8, and the code's change is larger by w |η|² y, which is never "
        f"negative: codes outgrow the decoder again and again, and the average error sticks at {printed}. With the D "
        f"before step 8, as in equation (6), which is the default here, it falls to {derived}."
    )


SYNTHETIC = Experiment(
    name="online-synthetic",
    title="Digits recovered from mixtures of digits, one sample at a time",
    document=DOCUMENT,
    about="64 MNIST images, 10,000 mixtures of eight of them with uniform coefficients (fewer and smaller "
    "digits in a quick run), passed over again and again in the same order. The document's rule takes w ="
    " 1; ours takes five conjugate gradient steps a sample in place of one. The summary of the rule can be read so "
    "that step 9 takes the decoder of step 8; equation (6), which it comes from, has the one before. Both are run.",
    cases=_digit_cases,
    methods=(
        "true-components",
        "conservative-w1",
        "conservative-w0.01",
        "conservative-w100",
        "conservative-printed",
        "conservative-cg",
        "hals-random",
    ),
    measures=("part_error", "recovered", "inverse", "random_share"),
    seeds={"quick": 1, "full": 2},
    budget={"tiny": 0.1, "quick": 12.0, "full": 600.0},
    timed=True,
    keep=True,
    statistics={"times_worse": _times_worse},
    explanations={"printed_order": _printed_order},
    figures=(
        Figure("Average error against samples", figures.way("samples", "objective", across="samples")),
        Figure("The generating images, ten samples, and the features found", figures.pictures(64)),
    ),
)


@cache
def _mnist() -> np.ndarray:
    X = np.asarray(datasets.load_mnist().X, float)
    result: np.ndarray = X / np.linalg.norm(X, axis=1, keepdims=True)
    return result


def images(k: int, most: int | None, seed: int) -> Problem:
    X = _mnist()[:most]
    return Problem(X, k, image_shape=(28, 28), note=f"{len(X)} MNIST images of unit length, k = {k}")


def toy(seed: int) -> Problem:
    mixture = datasets.make_digit_mixtures(n_samples=100, n_components=4, per_sample=2, random_state=0)
    X = mixture.X / np.linalg.norm(mixture.X, axis=1, keepdims=True)
    return Problem(X, 4, image_shape=mixture.image_shape, note="a toy")


def _mnist_cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", toy)]
    if size == "quick":
        return [Case("f = 50", partial(images, 50, 5000))]
    return [Case(f"f = {k}", partial(images, k, None)) for k in FEATURES]


def _first_pass(result: Reproduction, method: str, *, case: str) -> float:
    """The average error at the end of the first pass with w = 1, over that of the method."""
    both = [result.curves.where(case=case, method=name, seed=0) for name in ("conservative-unit", method)]
    samples = [rows.values("samples") for rows in both]
    # ten passes in all; errors are means over the samples before, so that the start has none
    one = max((places[-1] for places in samples if len(places)), default=0.0) / 10.0
    after = [np.flatnonzero(places >= max(one, 1.0)) for places in samples]
    if not all(map(len, after)):
        return NOTHING
    return quotient(*(float(rows.values("objective")[at[0]]) for rows, at in zip(both, after, strict=True)))


def _one_mode(result: Reproduction, method: str, claim: Claim) -> str:
    def share(column: str) -> str:
        return told(result.table.mean(column, method=method), ".0%")

    return (
        f"Hartigan's dip test finds more than one mode in {share('bimodal')} of the components (zeros included), in "
        f"{share('bimodal_positive')} of their positive codes (the more codes, the slighter a second mode may be); "
        f"{share('fixed')} are bimodal with positive codes that vary less about their mean than uniform ones from "
        "zero on (0.58). Magnitudes are not fixed: the median variation is "
        f"{told(result.table.mean('variation', method=method), '.2f')}."
    )


def _large_w_is_slow(result: Reproduction, method: str, claim: Claim) -> str:
    """The larger w is, the later learning begins: after one pass, and after all."""
    case = str(claim.arguments["case"])

    def way(name: str) -> str:
        curve = result.curves.where(case=case, method=name, seed=0)
        if not len(curve):
            return "not measured"
        samples, errors = curve.values("samples"), curve.values("objective")
        first = int(np.searchsorted(samples, samples[-1] / 10.0))
        return f"{told(errors[first], '.2f')} after a pass, {told(errors[-1], '.2f')} after all"

    return (
        f"The mean error of an image, {case}: w = 1e-5 {way('conservative')}; w = 0.01, relaxed over time, "
        f"{way('conservative-averaged')}; w = 1 {way('conservative-unit')}. The larger w, and the more features, the "
        "later learning begins; steps that become smaller meanwhile then end it before its time. What averages away "
        "the noise of the last samples with 50 features is the wrong choice with 200."
    )


MNIST = Experiment(
    name="online-mnist",
    title="Reconstruction errors on MNIST",
    document=DOCUMENT,
    about="Ten passes over the images, each of unit length. The published figures are read as root mean squares"
    " a pixel, |Δ|/√784, averaged over the last pass while learning. A quick run has 5,000 images of "
    "60,000.",
    cases=_mnist_cases,
    methods=("conservative", "conservative-unit", "conservative-averaged", "hals-cold"),
    measures=("pixel", "running"),
    seeds={"quick": 1, "full": 1},
    budget={"quick": 25.0, "full": 1800.0},
    timed=True,
    keep=True,
    statistics={"first_pass": _first_pass},
    explanations={"one_mode": _one_mode, "large_w_is_slow": _large_w_is_slow},
    figures=(
        Figure("Average error against samples", figures.way("samples", "objective", across="samples")),
        Figure("Features, with the contrast of the document's Figure 4", figures.pictures(100, exponent=0.2)),
        Figure("Detectors", figures.receptive_fields(100)),
    ),
)


def _agreement_cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", toy)]
    return [Case("MNIST", partial(images, 20, 3000) if size == "quick" else partial(images, 100, None))]


def starts_of(result: Reproduction, method: str, case: str | None = None) -> list[np.ndarray]:
    """The components of every seed, of one case or all."""
    rows = result.table.where(method=method, **({} if case is None else {"case": case}))
    kept = [result.kept(row["case"], method, row["seed"]) for row in rows]
    return [components for components in kept if components is not None]


def _agreement(result: Reproduction, method: str) -> float:
    """Mean cosine of the matched components of every two seeds."""
    starts = starts_of(result, method)
    return float(metrics.stability(starts)) if len(starts) > 1 else NOTHING


def _agreement_gain(result: Reproduction, method: str, *, over: str) -> float:
    return _agreement(result, method) - _agreement(result, over)


def _who_agrees(result: Reproduction, method: str, claim: Claim) -> str:
    pairs = combinations(starts_of(result, method), 2)
    cosines = np.concatenate([metrics.match_components(one, other).cosines for one, other in pairs])
    others = [
        f"{name} {told(_agreement(result, name), '.2f')}"
        for name in ("hals-random", "sklearn-minibatch", "conservative")
    ]
    return (
        f"{np.mean(cosines > 0.9):.0%} of the features agree with a cosine above 0.9, half with more than "
        f"{np.median(cosines):.2f}; means: {', '.join(others)}. The errors of the starts differ by a factor of "
        f"{told(spread(result, 'conservative', column='running'), '.3f')}: other features do as well. The document has "
        "no number."
    )


REPRODUCIBILITY = Experiment(
    name="online-reproducibility",
    title="Do random starts lead to the same features?",
    document=DOCUMENT,
    about="Components of several random starts, matched to each other: the mean cosine is 1 where all agree. "
    "The document says that a quick survey supports reproducibility and has no number; beside it are the "
    "same figures for batch HALS and scikit-learn's MiniBatchNMF.",
    cases=_agreement_cases,
    methods=("conservative", "conservative-averaged", "hals-random", "sklearn-minibatch"),
    measures=("pixel", "running"),
    seeds={"quick": 3, "full": 5},
    keep=True,
    statistics={"agreement": _agreement, "agreement_gain": _agreement_gain},
    explanations={"who_agrees": _who_agrees},
    figures=(Figure("Features of the first start", figures.pictures(20)),),
)

EXPERIMENTS = (SYNTHETIC, MNIST, REPRODUCIBILITY)
