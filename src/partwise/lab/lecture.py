"""What Hsu's lecture says, measured: multiplicative updates on faces, corners of convex hulls, topics from pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp

from partwise import datasets
from partwise.lab import figures
from partwise.lab.claim import Claim
from partwise.lab.experiment import Case, Experiment, Figure, Problem, Reproduction, Size
from partwise.lab.values import NOTHING, told

DOCUMENT = "Hsu, Non-negative matrix factorization, lecture of COMS 4772"

# --- faces ------------------------------------------------------------------------------------------------------

# faces, and components: all of them, and the 49 of Lee and Seung's figure
FACES = {"quick": (1000, 25), "full": (100_000, 49)}


def _faces(name: str, size: Size, seed: int) -> Problem:
    faces = datasets.load_cbcl() if name == "CBCL" else datasets.load_olivetti()
    most, k = FACES[size]
    X = np.asarray(faces.X[:most], float)
    X = X / max(X.max(), 1.0)
    h, w = faces.image_shape or (0, 0)
    return Problem(X, k, image_shape=faces.image_shape, note=f"{len(X)} faces of {h} x {w} pixels, k = {k}")


def _digit_faces(seed: int) -> Problem:
    mixture = datasets.make_digit_mixtures(n_samples=60, n_components=3, per_sample=2, random_state=seed)
    return Problem(mixture.X, 3, image_shape=mixture.image_shape, note="a toy")


def _face_cases(size: Size) -> Sequence[Case]:
    if size == "tiny":
        return [Case("toy", _digit_faces)]
    names = ("CBCL",) if size == "quick" else ("CBCL", "ORL")
    return [Case(name, partial(_faces, name, size)) for name in names]


def _more_zeros(result: Reproduction, method: str, *, than: Sequence[str]) -> float:
    """Zeros of a method, times those of others, in the case and for the other where that is least."""
    rows = [result.table.where(case=case) for case in result.table.distinct("case")]
    pairs = np.array([[one.mean("zeros", method=name) for name in (method, other)] for one in rows for other in than])
    if not len(pairs):
        return NOTHING
    own, others = pairs.T
    # where the others have none, any at all is infinitely more
    return float(np.min(np.where(others == 0.0, np.where(own > 0.0, np.inf, own), own / np.where(others, others, 1.0))))


FACES_EXPERIMENT = Experiment(
    name="lecture-faces",
    title="NMF of face images by multiplicative updates",
    document=DOCUMENT,
    about="Lee and Seung's updates on face images, beside HALS and the principal components. The lecture's "
    "figure shows that the components are parts of faces, which means here that many of their pixels are "
    "(nearly) zero.",
    cases=_face_cases,
    methods=("mu-random", "hals-random", "pca"),
    measures=("rise", "least", "zeros", "fit"),
    seeds={"quick": 1, "full": 1},
    keep=True,
    statistics={"more_zeros": _more_zeros},
    figures=(
        Figure("Components: dark where they are large", figures.pictures()),
        Figure("Objective against iterations", figures.way("n_iter", "objective", across="iterations")),
    ),
)

# --- convex hull ------------------------------------------------------------------------------------------------

# rows, features, components; and noise, of the size of a row: our own choice
HULLS = {"tiny": ((30, 12, 3),), "quick": ((40, 25, 4), (60, 40, 8)), "full": ((200, 100, 10), (400, 200, 40))}
HULL_NOISES = (0.0, 0.001, 0.01, 0.05)


def _separable(shape: tuple[int, int, int], noise: float, seed: int) -> Problem:
    n, m, k = shape
    mixture = datasets.make_separable(axis="samples", n_samples=n, n_features=m, n_components=k, random_state=seed)
    if noise:
        mixture = datasets.add_gaussian_noise(mixture, noise, random_state=seed)
    return Problem.of(mixture, note="every component is a row of its own")


def _hull_cases(size: Size) -> Sequence[Case]:
    return [
        Case(
            f"{shape[0]} rows, r = {shape[2]}, noise {noise:g}",
            partial(_separable, shape, noise),
            {"r": shape[2], "noise": noise, "shape": f"{shape[0]} rows, r = {shape[2]}"},
        )
        for shape in HULLS[size]
        for noise in HULL_NOISES[: 1 if size == "tiny" else None]
    ]


def _too_many(result: Reproduction, method: str) -> float:
    """Largest difference between the rows that remain and r, without noise."""
    rows = result.table.where(method=method, noise=0.0)
    return float(np.max(np.abs(rows.values("found") - rows.values("r")))) if len(rows) else NOTHING


SEPARABLE = Experiment(
    name="lecture-separable",
    title="Recovery under separability: the corners of the convex hull",
    document=DOCUMENT,
    about="Every row that is in the convex hull of the others is deleted; exactly the r rows of the second "
    "factor remain. With noise every row is a corner, so the method is told r and keeps the r farthest "
    "from the hull of the others; SPA and its relatives are there to compare with.",
    cases=_hull_cases,
    methods=("hull", "hull-any", "spa-samples", "pw-spa-samples", "xray-samples"),
    measures=("recovered", "part_error"),
    seeds={"quick": 2, "full": 5},
    statistics={"too_many": _too_many},
    figures=(
        Figure(
            "Error of the components against noise",
            figures.against("noise", "part_error", across="noise", panel="shape", logs="y"),
        ),
    ),
)

# --- topics -----------------------------------------------------------------------------------------------------

# words and topics; for documents of so many words, how many of them: factors of four, for an exponent
CORPORA: dict[str, tuple[int, int, dict[int, tuple[int, ...]]]] = {
    "tiny": (30, 3, {20: (400,)}),
    "quick": (150, 5, {2: (8000, 32_000, 128_000), 50: (1000, 4000, 16_000)}),
    "full": (500, 20, {2: (128_000, 512_000, 2_048_000), 100: (2000, 8000, 32_000)}),
}
ANCHOR = 0.05  # probability of a topic's anchor word: rarer ones need more documents


def corpus(n: int, m: int, k: int, tokens: int, seed: int, *, anchor: float = ANCHOR) -> Problem:
    """Documents of so many tokens, each topic with a word of its own."""
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.full(m, 0.2), size=k)
    H[:, :k] = 0.0
    H = (1.0 - anchor) * H / H.sum(axis=1, keepdims=True)
    H[np.arange(k), np.arange(k)] = anchor
    W = rng.dirichlet(np.full(k, 0.3), size=n)
    blocks = [sp.csr_array(rng.multinomial(tokens, W[i : i + 2000] @ H)) for i in range(0, n, 2000)]
    note = f"{n} documents of {tokens} words, {m} words in all, k = {k}, an anchor word of probability {anchor:g} each"
    return Problem(sp.vstack(blocks).tocsr().astype(float), k, truth=H, weights=W, note=note)


def _topic_cases(size: Size) -> Sequence[Case]:
    m, k, corpora = CORPORA[size]
    return [
        Case(
            f"{n} documents of {tokens} words",
            partial(corpus, n, m, k, tokens),
            {"documents": n, "length": "two" if tokens == 2 else "many", "tokens": f"{tokens} words each"},
        )
        for tokens, counts in corpora.items()
        for n in counts
    ]


def _rows_are_noise(result: Reproduction, method: str, claim: Claim) -> str:
    def errors(name: str) -> str:
        rows = result.table.where(method=name, length=claim.arguments["length"])
        means = [told(rows.mean("topic_l1", documents=n), ".2f") for n in rows.distinct("documents")]
        return ", ".join(means) or "not measured"

    if method == claim.ours:
        return f"The error is {errors(method)}; as published {errors('anchor-topics-published')}."
    return (
        "The row of a word has as many pairs as the word has documents, too few here: compared in all their "
        "dimensions rows are mostly noise, and the search picks the noisiest. On the leading eigenvectors of the "
        f"co-occurrence (ours) the error is {errors('anchor-topics')}; as published it is "
        f"{errors('anchor-topics-published')}."
    )


TOPICS = Experiment(
    name="lecture-topics",
    title="Topics from co-occurrence: how many documents for which error",
    document=DOCUMENT,
    about="Documents of two words and of many, from topics with an anchor word each. The words' co-occurrence "
    "is a sum over independent documents, so its error, and with it that of the topics, should fall with "
    "the root of their number.",
    cases=_topic_cases,
    methods=("anchor-topics-published", "anchor-topics"),
    measures=("pairs", "topic_l1"),
    seeds={"quick": 2, "full": 5},
    explanations={"rows_are_noise": _rows_are_noise},
    figures=(
        Figure(
            "Error of the topics against the number of documents",
            figures.against("documents", "topic_l1", across="documents", panel="tokens"),
        ),
        Figure(
            "Error of the co-occurrence, which is the same for all methods",
            figures.against("documents", "pairs", across="documents", panel="tokens"),
        ),
    ),
)

EXPERIMENTS = (FACES_EXPERIMENT, SEPARABLE, TOPICS)
