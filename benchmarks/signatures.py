"""Catalogues of COSMIC signatures: the number of parts and the parts, from a cold start."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, chosen, problem, race
from .report import Target, finish, show

SCENARIOS = {"A5": (5, 200), "B10": (10, 300), "C15": (15, 500), "D20": (20, 700), "E30": (30, 1000)}
VARIANTS = ("base", "ubiquitous", "dense", "low", "noise")
ARTEFACTS = {"SBS27", "SBS43", "SBS95"} | {f"SBS{i}" for i in range(45, 61)}  # of sequencing, as COSMIC says
FLAT = ("SBS3", "SBS40a", "SBS8")  # those that resemble each other most: one or two are in every scenario
SAME = 0.9  # cosine at which a signature is found


def pick(k: int, seed: int) -> np.ndarray:
    """Signatures of COSMIC: the two of age, one or two flat ones, and others."""
    import partwise as pw

    cosmic = pw.datasets.load_cosmic()
    rng = np.random.default_rng(seed)
    must = ["SBS1", "SBS5", *rng.choice(FLAT, 1 if k <= 10 else 2, replace=False)]
    assert cosmic.component_names is not None
    others = [name for name in cosmic.component_names if name not in (*must, *FLAT) and name not in ARTEFACTS]
    names = must + list(rng.choice(others, k - len(must), replace=False))
    return np.array([cosmic.components[cosmic.component_names.index(name)] for name in names])


def run_ours(data: Arrays, params: dict[str, Any]) -> Outcome:
    """Number and parts."""
    import partwise as pw

    pw.count_parts(pw.datasets.make_catalogues(4, 60, random_state=0).X)  # compiles
    begin = time.process_time()
    found = pw.count_parts(data["X"])
    seconds = time.process_time() - begin
    return seconds, {"H": found.components}, {"k": found.k, "phi": found.noise.phi, "polish": found.n_polish}


def run_theirs(data: Arrays, params: dict[str, Any]) -> Outcome:
    """scikit-learn's with Kullback and Leibler's divergence, given the right number."""
    from sklearn.decomposition import NMF

    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NMF(params["k"], beta_loss="kullback-leibler", solver="mu", init="nndsvda", max_iter=500).fit(data["X"])
    return time.process_time() - begin, {"H": model.components_}, {"k": params["k"], "phi": 0.0, "polish": 0}


CONTENDERS = {
    "partwise": Contender(run_ours, {"partwise": "partwise"}, note="count_parts, defaults"),
    "sklearn": Contender(run_theirs, {"sklearn": "scikit-learn"}, note="NMF, Kullback-Leibler, given k"),
}


def f1(found: np.ndarray, truth: np.ndarray) -> float:
    """Of signatures that are found at a cosine of 0.9."""
    from scipy.optimize import linear_sum_assignment

    A, B = (H / np.maximum(np.linalg.norm(H, axis=1, keepdims=True), 1e-300) for H in (found, truth))
    cosines = A @ B.T
    i, j = linear_sum_assignment(-cosines)
    return float(2.0 * (cosines[i, j] >= SAME).sum() / (len(found) + len(truth)))


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw

    count = options.seeds or (3 if options.size == "full" else 1)
    variants = VARIANTS if options.size == "full" else VARIANTS[:1]
    once = Namespace(**(vars(options) | {"repeat": 1}))
    results, lines, right, scores, times = [], [], [], [], []
    for variant in variants:
        for name, (k, n) in SCENARIOS.items():
            for seed in range(options.seed, options.seed + count):
                H = pick(k, seed)
                data = pw.datasets.make_catalogues(components=H, n_samples=n, variant=variant, random_state=seed)

                def verify(arrays: dict[str, Any], facts: dict[str, Any], H: Any = H) -> dict[str, Any]:
                    return {**facts, "F1": f1(arrays["H"], H)}

                with problem({"X": data.X}) as folder:
                    rows = race("signatures", chosen(CONTENDERS, options), folder, {"k": k}, verify, once)
                results.append({"variant": variant, "scenario": name, "seed": seed, "rows": rows})
                lines += [
                    [variant, name, seed, who, row.facts["k"], f"{row.facts['F1']:.3f}", f"{row.median:.2f}"]
                    for who, row in rows.items()
                    if row.facts
                ]
                if variant == "base":
                    right.append(rows["partwise"].facts.get("k") == k)
                    scores.append(rows["partwise"].facts.get("F1", 0.0))
                    times.append(rows["partwise"].median)
    show("Signatures", ["variant", "scenario", "seed", "method", "k", "F1", "processor seconds"], lines)
    targets = [
        Target(f"right number, of {len(right)}", float(np.sum(right)), float(np.floor(14 / 15 * len(right)))),
        Target("F1, mean of the base scenarios", float(np.mean(scores)), 0.98),
        Target("processor seconds, the slowest", float(np.max(times)), 1.0, at_most=True),
    ]
    finish("signatures", results, targets, options)
