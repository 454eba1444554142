"""How much noise Purification stands, of which kind, with which inverse; its proof with infinitely many samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from partwise import datasets
from partwise.datasets.mixture import Mixture
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.contenders.purification import ACTIVE
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.purification import DOCUMENT
from partwise.lab.purification_theorems import LEVEL, PARTS, binary, noise_of, problem
from partwise.lab.values import NOTHING, along, exponent, quotient, straightness, told
from partwise.metrics import noise_tolerance

# features; samples: at 10,000 features each new sample is 160 MB
FEATURES: dict[str, tuple[int, ...]] = {"tiny": (40,), "quick": (60, 600), "full": (100, 1000, 10_000)}
SAMPLES = {"tiny": 200, "quick": 1200, "full": 2000}
TIMES = {"quick": (1, 2, 5), "full": (1, 2, 5, 10)}  # the noise of a sample over its signal, in l1
DENOISED = 0.9  # of what is allowed: the bound of the claims
N_PARTS = {"tiny": 4, "quick": 5, "full": 10}


def _unbiased(parts: str, m: int, times: float, size: Size, seed: int) -> Problem:
    shape = {"n_samples": SAMPLES[size], "n_features": m, "n_components": N_PARTS[size]}
    mixture, again = binary(seed, parts=parts, n_active=ACTIVE, **shape)
    bounds = noise_tolerance(mixture.components)
    note = f"{parts} parts, unbiased noise of {times:g} times the signal in l1; Theorem 2 with c = G = 1 allows "
    note += f"{bounds.theorem_2 * m / ACTIVE:.2g} times, m / (n |A†|) = {m / (N_PARTS[size] * bounds.inverse_norm):.2g}"
    return problem(mixture, seed, noise_of("unbiased", times * ACTIVE / m), again=again, note=note)


def _unbiased_cases(size: Size) -> Sequence[Case]:
    chosen = [("dense", 40, 1)] if size == "tiny" else product(PARTS, FEATURES[size], TIMES[size])
    return [
        Case(
            f"{parts} parts, {m} features, {times:g} x the signal",
            partial(_unbiased, parts, m, times, size),
            {"parts": parts, "m": m, "times": times, "n": N_PARTS[size], "panel": f"{parts} parts, {m} features"},
        )
        for parts, m, times in chosen
    ]


def _most(result: Reproduction, parts: str) -> Any:
    return max(result.table.where(parts=parts).distinct("m"), default=0)


def denoised(result: Reproduction, method: str, *, parts: str, times: float) -> float:
    """At the most features: the impurity over the 1/sqrt(n) fraction of the noise, or over the start's, the larger."""
    rows = result.table.where(method=method, parts=parts, times=times, m=_most(result, parts))
    error = rows.worst("impurity")
    return float(max(error * np.sqrt(rows.worst("n")) / (times * ACTIVE), error / LEVEL))


def border(result: Reproduction, method: str, *, parts: str) -> float:
    """The largest noise over the signal up to which, from the least on, all of it is denoised, at the most features."""
    last = 0.0
    for times in sorted(result.table.where(method=method, parts=parts).distinct("times")):
        if not denoised(result, method, parts=parts, times=times) <= DENOISED:
            break
        last = float(times)
    return last


def _no_average(result: Reproduction, method: str, claim: Claim) -> str:
    chosen = {key: claim.arguments[key] for key in ("parts", "times") if key in claim.arguments}
    at = chosen | {"m": _most(result, claim.arguments["parts"])}

    def shown(name: str, column: str) -> str:
        return told(result.table.worst(column, method=name, **at), ".2f")

    least, averaged = (
        result.table.worst("impurity", method=name, **at)
        for name in ("purification-theorem", "purification-theorem-pinv")
    )
    if least < 1.5 * averaged:
        return (
            f"The inverse is not what decides: the impurity is {least:.3f}, with the Moore-Penrose one {averaged:.3f}. "
            "What is left is the sampling error of the noise, which falls with the number of samples."
        )
    return (
        "A left inverse of least infinity norm is a basic solution of a linear program: a row of it has about n "
        "entries that are not zero, however many features there are, and it cannot average. At "
        f"{at['m']} features it leaves noise of {shown('purification-theorem', 'decoded_noise')} in weights of 0 or "
        f"1, the Moore-Penrose inverse {shown('purification-theorem-pinv', 'decoded_noise')}; the impurity is "
        f"{shown('purification-theorem', 'impurity')} and {shown('purification-theorem-pinv', 'impurity')}. For parts "
        "that are spread out n|A†| is above m and grows with it, so that Theorem 2's level is about the signal at "
        "most: it promises nothing beyond."
    )


def _kept_by_features(result: Reproduction, method: str, claim: Claim) -> str:
    """What is left of a part, by the number of features, with both inverses."""
    chosen = {key: claim.arguments[key] for key in ("parts", "times")}
    own, averaged = (
        along(result.table.where(method=name, **chosen), "sigma", "m", style=".2f", label="{:g} features")
        for name in (method, "purification-theorem-pinv")
    )
    return f"Σ is {own}; with the Moore-Penrose inverse, which averages, {averaged}."


DENOISING = Experiment(
    name="purification-denoising",
    title="Unbiased noise of several times the signal, and which inverse averages it",
    document=DOCUMENT,
    about="Independent signs of 1 to 10 times the signal in l1, from ‖E‖₁ = 1/10, with new samples in every "
    "iteration. Theorem 2 needs m ≥ n|A†|, parts that are concentrated on few features: there the inverse of "
    "least infinity norm picks those, and the printed algorithm denoises. Parts that are spread over all "
    "features are denoised by an average over them, which is the Moore-Penrose inverse: noise of r times the "
    "signal is r/√m in a weight. Ours decodes by both at the start and takes the better. Asked is an impurity "
    "‖E‖₁ + ‖N‖₁ below the 1/√n fraction of the noise and below that of the start.",
    cases=_unbiased_cases,
    methods=("purification-theorem", "purification-theorem-pinv", "purification-fresh-ours"),
    measures=("impurity", "decoded_noise", "sigma", "E1", "N1"),
    seeds={"quick": 1, "full": 1},
    statistics={"denoised": denoised, "border": border},
    explanations={"no_average": _no_average, "kept_by_features": _kept_by_features},
    figures=(
        Figure(
            "Impurity against the noise over the signal",
            figures.against("times", "impurity", across="noise / signal", panel="panel"),
        ),
        Figure(
            "Noise in the decoded weights against the number of features, mean of all levels",
            figures.against("m", "decoded_noise", across="features", panel="parts"),
            "table",
        ),
    ),
)


# --- adversarial noise up to the signal -------------------------------------------------------------------------

AIMED = {"quick": (0.25, 0.5, 1.0), "full": (0.125, 0.25, 0.5, 1.0, 2.0)}


def _adversarial(parts: str, times: float, size: Size, seed: int) -> Problem:
    m, k = {"tiny": 40, "quick": 200, "full": 1000}[size], N_PARTS[size]
    mixture, again = binary(seed, parts=parts, n_active=ACTIVE, n_samples=SAMPLES[size], n_features=m, n_components=k)
    bounds = noise_tolerance(mixture.components)
    note = f"{parts} parts, adversarial noise of {times:g} times the signal in l1; Theorem 1 with c = G = 1 allows "
    note += f"{bounds.theorem_1 * m / ACTIVE:.2g} times"
    return problem(mixture, seed, noise_of("adversarial", times * ACTIVE / m), again=again, note=note)


def _adversarial_cases(size: Size) -> Sequence[Case]:
    chosen = [("concentrated", 0.5)] if size == "tiny" else product(PARTS, AIMED[size])
    return [
        Case(
            f"{parts} parts, {times:g} x the signal",
            partial(_adversarial, parts, times, size),
            {"parts": parts, "times": times},
        )
        for parts, times in chosen
    ]


def _of_samples(result: Reproduction, method: str, claim: Claim) -> str:
    """Both parts of the impurity: that of the noise grows with it, that of the samples does not."""
    rows = result.table.where(method=method, parts=claim.arguments["parts"])
    E = along(rows, "E1", "times", label="{:g} x the signal")
    power = exponent(result, method, **(dict(claim.arguments) | {"y": "N1"}))
    return (
        f"‖N‖₁ grows as the noise to the power of {told(power, '.2f')}; ‖E‖₁ is {E}: "
        "it is of the number of samples of an iteration, and what is left of the impurity where noise is small."
    )


ADVERSARIAL = Experiment(
    name="purification-adversarial",
    title="Adversarial noise up to the size of the signal",
    document=DOCUMENT,
    about="Every entry at the bound, with signs that pretend that present parts are absent, up to as large as the "
    "signal in l1. Theorem 1 concludes an error of the order of the noise in one data point where m ≥ n|A†| "
    "(concentrated parts); at c = 1 that is more than the start's, so what is asked is that the error grows "
    "in proportion to the noise.",
    cases=_adversarial_cases,
    methods=("purification-theorem", "purification-theorem-pinv", "purification"),
    measures=("impurity", "E1", "N1", "sigma", "amplification"),
    seeds={"quick": 1, "full": 2},
    explanations={"of_samples": _of_samples},
    figures=(
        Figure(
            "Impurity against the noise over the signal",
            figures.against("times", "impurity", across="noise / signal", panel="parts"),
        ),
    ),
)


# --- the proof, with infinitely many samples --------------------------------------------------------------------

NUMBERS = {"tiny": (4,), "quick": (6, 8, 10), "full": (6, 8, 10, 12, 14)}
C = 0.1  # of the noise, where there is some


def _all_subsets(n: int, c: float, size: Size, seed: int) -> Problem:
    """Every subset of the parts is a sample."""
    H = datasets.make_binary_mixtures(
        n_samples=1, n_features=8 * n, n_components=n, n_active=ACTIVE, random_state=seed
    ).components
    W = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    mixture = Mixture(W @ H, H, W)
    begin = mixture.start(LEVEL, random_state=seed)
    if c:
        mixture = datasets.add_adversarial_noise(mixture, noise_tolerance(H, c=c).theorem_1)
    noise = f"adversarial noise of c = {c:g}" if c else "no noise"
    return Problem.of(mixture, start=begin, note=f"all subsets of {n} parts, {noise}; start with ‖E‖ₛ = {LEVEL:g}")


def _proof_cases(size: Size) -> Sequence[Case]:
    return [
        Case(f"n = {n}, c = {c:g}", partial(_all_subsets, n, c, size), {"n": n, "c": c, "noise": f"c = {c:g}"})
        for c in (0.0, C)
        for n in NUMBERS[size]
    ]


def growth(result: Reproduction, method: str, *, column: str, c: float) -> float:
    """A column at the largest n over that at the least."""
    rows = result.table.where(method=method, c=c)
    numbers = rows.distinct("n")
    if len(numbers) < 2:
        return NOTHING
    return quotient(rows.worst(column, n=max(numbers)), rows.worst(column, n=min(numbers)))


def straight(result: Reproduction, method: str, *, c: float) -> float:
    """The least, over the cases, of the squared correlation of log |E|_1 with the iteration."""
    cases = [row["case"] for row in result.table.where(method=method, c=c)]
    found = [straightness(result, method, case=case, factor=2.0) for case in dict.fromkeys(cases)]
    return min(found, default=NOTHING)


def _noise_at_zero(result: Reproduction, method: str, claim: Claim) -> str:
    noisy = told(result.table.worst("lemma_3_noisy", method=method, c=C), ".2f")
    return (
        "The printed bound is zero where Z is, and there noise moves Ẽ by something of the order c/n²; with that term, "
        f"Ẽ ≤ K (|Z|/n + c/n²), the constant is {noisy}. (The lemma is called informal.)"
    )


def _few_parts(result: Reproduction, method: str, claim: Claim) -> str:
    rows = result.table.where(method=method, c=C)
    of = ", ".join(f"{told(rows.worst('largest_N', n=n), '.4f')} at n = {n}" for n in rows.distinct("n"))
    return f"The largest over the seeds: {of}. The proof is for n large enough; six parts are too few in some draws."


PROOF = Experiment(
    name="purification-proof",
    title="The proof line by line, with infinitely many samples",
    document=DOCUMENT,
    about="Expectations over all subsets of the parts, weighted by how likely they are, as the paper's analysis has "
    "them; η = l/6. The coupled potential a + βb, the three claims of the induction, the recurrences and the "
    "constants of Lemmas 3 to 5 are measured in every iteration. The recurrences imply the second claim for β "
    "in [175/23, 8] only, of the paper's (1, 8): 7.8 is taken.",
    cases=_proof_cases,
    methods=("purification-infinite",),
    measures=(
        "fall",
        "h",
        "largest_E",
        "largest_N",
        "least_sigma",
        "lemma_3_negative",
        "lemma_3_lower",
        "lemma_3_upper",
        "lemma_3_noisy",
        "lemma_4",
        "lemma_5",
        "E1",
    ),
    statistics={"growth": growth, "straight": straight},
    explanations={"noise_at_zero": _noise_at_zero, "few_parts": _few_parts},
    figures=(
        Figure("The coupled potential", figures.way("n_iter", "potential", across="iterations")),
        Figure(
            "Constant of Lemma 3 (2) from above, with a term for the noise",
            figures.against("n", "lemma_3_noisy", across="n", panel="noise", logs=""),
        ),
    ),
)

EXPERIMENTS = (DENOISING, ADVERSARIAL, PROOF)
