"""Texts with classes: classes of the largest weight by Archetypes and others, over five seeds, and coherent topics."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from typing import Any

import numpy as np

from .harness import Arrays, Contender, Outcome, Row, chosen, problem, race
from .report import Target, finish, show

# number of classes; NMI and accuracy to be reached
CORPORA: dict[str, tuple[int, tuple[float, float]]] = {
    "bbc": (5, (0.83, 0.94)),
    "reuters10": (10, (0.55, 0.50)),
    "tdt2": (30, (0.74, 0.60)),
    "newsgroups": (20, (0.60, 0.62)),
}
WORDS = 10  # of a topic
# how words of a topic are ranked: by their share in it, or by what they say of it alone, as a report has its own words
RANKINGS = {"largest": "of the largest words", "own": "of its own words"}


def load(name: str) -> Any:
    """Counts and classes."""
    from partwise import datasets

    makers = {
        "bbc": datasets.load_bbc,
        "reuters10": lambda: datasets.load_reuters(10),
        "tdt2": lambda: datasets.load_tdt2(drop_empty=True),
        "newsgroups": datasets.load_newsgroups,
    }
    return makers[name]()


def contender(name: str, note: str, *, counts: bool = False) -> Contender:
    """One of our estimators with its defaults: the classes of all texts and the words of all topics, for some seeds."""

    def run(data: Arrays, params: dict[str, Any]) -> Outcome:
        import partwise as pw

        X = data["counts" if counts else "X"]
        begin, found = time.process_time(), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in params["seeds"]:
                model = getattr(pw, name)(params["k"])
                if "random_state" in model.get_params():
                    model.set_params(random_state=seed)
                classes, H = np.asarray(model.fit_transform(X)).argmax(axis=1), np.maximum(model.components_, 0.0)
                found.append((classes, first(H), first(pw.metrics.specificity(H))))
        arrays = dict(zip(("classes", *RANKINGS), map(np.array, zip(*found, strict=True)), strict=True))
        return (time.process_time() - begin) / len(found), arrays, {}

    return Contender(run, {"partwise": "partwise"}, note=note)


def first(scores: np.ndarray) -> np.ndarray:
    """The words that score most."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :WORDS]


CONTENDERS = {
    "partwise": contender("Archetypes", "Archetypes, defaults"),
    "anchor-topics": contender("AnchorTopics", "AnchorTopics on counts, defaults", counts=True),
    "kmeans": contender("KMeans", "KMeans, defaults"),
    "tsvdnmf": contender("TSVDNMF", "TSVDNMF, defaults"),
    "hals": contender("HALS", "HALS, defaults"),
}


def main(options: Any) -> None:
    """Run the case."""
    import partwise as pw
    from partwise.datasets.loaders.text import weigh

    names = list(CORPORA) if options.size == "full" else ["bbc"]
    seeds = list(range(options.seed, options.seed + (options.seeds or (5 if options.size == "full" else 2))))
    parts, targets, lines = [], [], []
    for name in names:
        found = load(name)
        counts, labels, (k, asked) = found.X.astype(np.float64), found.labels, CORPORA[name]

        def verify(
            arrays: dict[str, Any], facts: dict[str, Any], labels: Any = labels, counts: Any = counts
        ) -> dict[str, Any]:
            nmi, ac = np.array(
                [(pw.metrics.nmi(labels, c), pw.metrics.clustering_accuracy(labels, c)) for c in arrays["classes"]]
            ).T
            coherent = {
                key: float(np.mean([pw.metrics.topic_coherence(list(words), counts).mean() for words in arrays[key]]))
                for key in RANKINGS
            }
            spread = {"nmi_sd": float(nmi.std()), "ac_sd": float(ac.std())}
            return {"nmi": float(nmi.mean()), "ac": float(ac.mean()), **coherent, **spread}

        with problem({"X": weigh(found.X, "tfidf"), "counts": counts}) as folder:
            once = Namespace(**(vars(options) | {"repeat": 1}))
            rows = race("texts", chosen(CONTENDERS, options), folder, {"k": k, "seeds": seeds}, verify, once)
        lines += [line(name, which, row) for which, row in rows.items() if row.facts]
        ours, anchors = (rows[which].facts if which in rows else {} for which in ("partwise", "anchor-topics"))
        targets += [
            Target(f"{name}: {what}", ours.get(key, np.nan), bound)
            for (what, key), bound in zip({"NMI": "nmi", "accuracy": "ac"}.items(), asked, strict=True)
        ]
        for key, what in RANKINGS.items() if anchors else ():
            gain = ours.get(key, np.nan) - anchors[key]
            targets.append(Target(f"{name}: NPMI {what} above AnchorTopics", gain, 0.0))
        parts.append({"data": name, "shape": counts.shape, "rows": rows})
    show(
        f"texts, means of {len(seeds)} seeds and their deviations",
        ["data", "method", "NMI", "accuracy", *(f"NPMI {what}" for what in RANKINGS.values()), "processor seconds"],
        lines,
    )
    finish("texts", parts, targets, options)


def line(name: str, which: str, row: Row) -> list[str]:
    """A row of the table."""
    facts = row.facts
    cells = [f"{facts[key]:.3f} ± {facts[f'{key}_sd']:.3f}" for key in ("nmi", "ac")]
    return [name, which, *cells, *(f"{facts[key]:.3f}" for key in RANKINGS), f"{row.median:.1f}"]
