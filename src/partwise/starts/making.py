"""Starting components: random, from the singular vectors, from pure records, given, or a perturbed truth."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.algorithms.hals import dense
from partwise.algorithms.signal import Signal, clear_rows
from partwise.algorithms.spa import spa
from partwise.exceptions import DegenerateDataWarning, InputError, Place, warn_user
from partwise.linalg.nnls import check_components
from partwise.linalg.svd import truncated_svd
from partwise.sources import Inspection, RowSource, blocks
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

INITS = ("pure", "nndsvd", "nndsvda", "nndsvdar", "random")
SMALL_RANDOM = 1e-2  # of a typical entry: what NNDSVDar puts in the place of zeros
FEW_PASSES = 5  # for singular vectors that are but a start
TINY_ROW = 1e-3  # rows below this times the mean row sum are noise as directions and are not picked as pure
COLLAPSED = 10.0  # times the condition of the records: their means, worse by more, have fallen together
NO_ROW = 1e-60  # below this even the square of a scaled row is in danger


def make_start(
    init: Any,
    source: RowSource,
    n_components: int,
    *,
    seen: Inspection,
    rng: np.random.Generator,
    nonnegative: bool = True,
    filled: bool = False,
) -> Array:
    """Starting components ``(n_components, n_features)`` from a name, an array or a fitted estimator.

    Parameters
    ----------
    init : str, array-like or fitted estimator
        ``"pure"`` (records picked by SPA), ``"nndsvd"``, ``"nndsvda"``, ``"nndsvdar"``, ``"random"``; ``"auto"`` is
        "nndsvda" where few entries are not zero, else "pure"; an array of components; or anything with
        ``components_``.
    source : RowSource
        The data.
    n_components : int
        Number of components.
    seen : Inspection
        What a first pass over the data found.
    rng : numpy.random.Generator
        Randomness.
    nonnegative : bool, default=True
        Refuse a given start with negative entries.
    filled : bool, default=False
        Whether entries of the rows are unknown and were filled in: "pure" and "auto" are then `filled_start`.

    Returns
    -------
    ndarray
        A new array.
    """
    if isinstance(init, str):
        if filled and init in ("auto", "pure"):
            return filled_start(source, n_components, seen=seen, rng=rng)
        if init == "auto":
            return automatic_start(source, n_components, seen=seen, rng=rng)
        if init == "pure":
            return pure_start(source, n_components, seen=seen, rng=rng)
        if init in ("nndsvd", "nndsvda", "nndsvdar"):
            return nndsvd_start(source, n_components, seen=seen, rng=rng, fill=init.removeprefix("nndsvd"))
        if init == "random":
            return random_start(source, n_components, seen=seen, rng=rng)
        raise InputError(
            f"{{parameter}} must be one of {', '.join(INITS)}, an array or a fitted estimator; got {init!r}",
            parameter="init",
            kind="unknown",
        )
    if hasattr(init, "fit") and not hasattr(init, "components_"):
        raise InputError(
            f"{{parameter}}: this {type(init).__name__} has no components_; fit it first", parameter="init"
        )
    H = check_components(getattr(init, "components_", init), source.shape[1], name="init").copy()
    if len(H) != n_components:
        raise InputError(
            f"{{parameter}} has {len(H)} components (rows) but {n_components} are wanted",
            parameter="init",
            kind="shape",
        )
    if nonnegative:
        check_nonnegative(H, "init")
    if not H.any():
        raise InputError(
            "{parameter} is zero everywhere, where no method gets away from; give components",
            parameter="init",
            kind="zero",
        )
    return H


def automatic_start(source: RowSource, k: int, *, seen: Inspection, rng: np.random.Generator) -> Array:
    """The start that leads to the better optima: records of sparse data share few features with others.

    On tf-idf of two corpora NNDSVDa ends at a lower error than pure records and in half the rounds (0.9769 against
    0.9771, 0.9316 against 0.9324, three seeds); where the data is topics under noise both find them.  Singular vectors
    need not be exact for it: a few passes lead to optima as good as many.  As many parts as records are the records.
    """
    n, m = source.shape
    if seen.n_negative or k >= min(n, m) or dense(seen.nonzero / max(1, n), m):
        return pure_start(source, k, seen=seen, rng=rng)
    return nndsvd_start(source, k, seen=seen, rng=rng, fill="a", passes=FEW_PASSES)


def filled_start(source: RowSource, k: int, *, seen: Inspection, rng: np.random.Generator) -> Array:
    """NNDSVDa, as a record that is partly filled in is no part, or at random where there are too many for it.

    From filled records 6 of 120 small tables of counts with a fifth of the entries unknown ended in minima of up to 2.8
    times the error of the others, and of sparse ones the multiplicative updates could not leave the zeros; pictures of
    MNIST took up to 307 rounds, from here up to 187.
    """
    if seen.n_negative or k >= min(source.shape):
        return random_start(source, k, seen=seen, rng=rng)
    return nndsvd_start(source, k, seen=seen, rng=rng, fill="a", passes=FEW_PASSES)


def check_nonnegative(start: Array, name: str) -> None:
    """Refuse a given start with negative entries."""
    negative = np.argwhere(start < 0.0)
    if len(negative):
        row, column = map(int, negative[0])
        raise InputError(
            f"{{parameter}} has {len(negative)} negative value(s), the first in {{place}}; it must be >= 0",
            parameter=name,
            kind="negative",
            place=Place(row, column),
        )


def random_start(source: RowSource, k: int, *, seen: Inspection, rng: np.random.Generator) -> Array:
    """Half-normal entries of the size that makes ``W H`` as large as the data when ``W`` is alike."""
    return np.asarray(_entry_size(seen, k) * np.abs(rng.standard_normal((k, source.shape[1]))))


def nndsvd_start(
    source: RowSource, k: int, *, seen: Inspection, rng: np.random.Generator, fill: str = "", passes: int = 12
) -> Array:
    """NNDSVD (Boutsidis & Gallopoulos 2008): the stronger of the two signed parts of each singular pair.

    The left vectors are never stored: only the norms of their two parts are needed, one reduce.  ``fill``
    replaces zeros: "a" (NNDSVDa) in the paper by the mean of the data, which is right only where that is near one,
    as entries of the components grow with the root of the data; so here by their own typical size.  "ar" (NNDSVDar)
    by random numbers up to a hundredth of it.
    """
    _, V = truncated_svd(source, k, rng=rng, max_passes=passes)
    positive, negative = source.reduce(partial(_part_norms, Vt=np.ascontiguousarray(V.T, source.dtype)))
    V_plus, V_minus = np.maximum(V, 0.0), np.maximum(-V, 0.0)
    weight_plus = np.sqrt(positive) * np.linalg.norm(V_plus, axis=1)
    weight_minus = np.sqrt(negative) * np.linalg.norm(V_minus, axis=1)
    plus = weight_plus >= weight_minus
    H = np.where(plus[:, None], V_plus, V_minus)
    norms = np.linalg.norm(H, axis=1)
    # X v = sigma u, so these weights already hold sigma |u+-| |v+-|
    H *= np.sqrt(np.maximum(weight_plus, weight_minus) / np.where(norms > 0.0, norms**2, 1.0))[:, None]
    if fill:
        zeros = H == 0.0
        H[zeros] = _entry_size(seen, k) * (1.0 if fill == "a" else SMALL_RANDOM * rng.random(int(zeros.sum())))
    return _revive(H, source, rng)


def pure_start(source: RowSource, k: int, *, seen: Inspection, rng: np.random.Generator) -> Array:
    """Records picked by SPA among directions: rows of non-negative data are scaled to sum one first.

    On raw rows SPA favours the large ones and misses parts that occur in small samples only (dark pixels,
    short documents).  Rows below a thousandth of the mean sum are left out, for their direction is mostly
    noise, unless the others have too few directions.
    """
    sums = np.asarray(source.map_rows(blocks.row_sums, width=None, dtype=np.float64))
    mean = seen.total / max(1, source.shape[0] - seen.zero_rows)
    for floor in (TINY_ROW * mean, NO_ROW * mean):
        scale = np.ones_like(sums) if seen.n_negative else _inverse_above(sums, floor)
        anchors = spa(source, k, row_scale=scale).anchors
        if len(anchors) == k or seen.n_negative or not ((sums > 0.0) & (scale == 0.0)).any():
            break
    if len(anchors) < k and seen.largest > 0.0:  # that all is zero has been told
        warn_user(
            DegenerateDataWarning(
                f"only {len(anchors)} of {k} pure records were found (the data has numerical rank "
                f"{len(anchors)}); the other starting components are random",
                kind="rank",
            )
        )
    H = random_start(source, k, seen=seen, rng=rng)
    if len(anchors):
        rows = blocks.to_dense(source.take(anchors)).astype(np.float64) * scale[anchors][:, None]
        # as large as the data's mean record, so that weights are of order one whatever the unit of the data
        H[: len(anchors)] = rows * (1.0 if seen.n_negative else seen.total / max(1, source.shape[0]))
    return H


def near_pure_start(signal: Signal, *, k: int, rng: np.random.Generator) -> Array:
    """Near-pure records in the coordinates of a signal, each the mean of all that noise cannot tell from it.

    SPA picks records among directions, and under noise it picks those that noise has moved out farthest; the mean of
    the records around one undoes that.  Records whose direction is mostly noise are not picked unless there are
    no others.

    Parameters
    ----------
    signal : Signal
        The data.
    k : int
        Number of components that were asked for, for the warning.
    rng : numpy.random.Generator
        Not used where SPA finds as many records as there are dimensions.

    Returns
    -------
    ndarray of shape (rank, rank)
        One record a row.
    """
    rank = signal.rank
    aligned = (signal.inverse_size, signal.row_noise)
    scale = np.asarray(signal.rows.map_rows(_clear_block, *aligned, width=None, dtype=np.float64))
    anchors = spa(signal.rows, rank, row_scale=scale).anchors
    if len(anchors) < rank:
        anchors = spa(signal.rows, rank, row_scale=signal.inverse_size).anchors
    if rank < k:
        warn_user(
            DegenerateDataWarning(
                f"only {rank} of {k} components can be told apart (the data has numerical rank {rank}); "
                "the others are zero",
                kind="rank",
            )
        )
    points = np.asarray(signal.rows.take(anchors), np.float64) * signal.inverse_size[anchors][:, None]
    noise = (signal.row_noise * signal.inverse_size)[anchors]
    near = partial(_near_block, points=points, noise=noise)
    sums, counts = signal.rows.reduce(near, signal.inverse_size, signal.row_noise, *signal.beside)
    means = np.where(counts[:, None] > 0, sums / np.where(counts > 0, counts, 1)[:, None], points)
    if np.linalg.cond(means) > COLLAPSED * np.linalg.cond(points):
        means = points  # noise cannot tell the records from one another; their means are all the same
    if len(means) < rank:  # records of too low a rank for their span: rounding
        means = np.vstack([means, rng.standard_normal((rank - len(means), rank)) * np.abs(means).max(initial=1.0)])
    return np.asarray(means)


def _clear_block(Y: Block, inverse_size: Array, row_noise: Array) -> Array:
    return np.where(clear_rows(Y, row_noise), inverse_size, 0.0)


def _near_block(
    Y: Block, inverse_size: Array, row_noise: Array, samples: Array | None = None, *, points: Array, noise: Array
) -> tuple[Array, Array]:
    """Sums and numbers of the directions within the noise of each point, each as often as its sample counts."""
    rank = points.shape[1]
    D = Y * inverse_size[:, None]
    squares = blocks.squared_norms(D)[:, None] + blocks.squared_norms(points) - 2.0 * (D @ points.T)
    spread = rank + 3.0 * np.sqrt(2.0 * rank)  # of a sum of so many squares
    near = squares <= spread * ((row_noise * inverse_size)[:, None] ** 2 + noise**2)
    counted = near.astype(np.float64) if samples is None else near * samples[:, None]
    return counted.T @ D, counted.sum(axis=0)


def _entry_size(seen: Inspection, k: int) -> float:
    """Typical entry of components whose weights are alike; any positive number for data without size."""
    return float(np.sqrt((abs(seen.mean) or 1.0) / k))


def _inverse_above(sums: Array, floor: float) -> Array:
    return np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > floor)


def _revive(H: Array, source: RowSource, rng: np.random.Generator) -> Array:
    """A component that came out zero (rank below k) would stay so for ever; make it a random record."""
    dead = np.flatnonzero(~(H > 0.0).any(axis=1))
    for j in dead:
        H[j] = np.abs(blocks.to_dense(source.take(rng.integers(source.shape[0], size=1)))[0])
        H[j] += np.finfo(float).eps * rng.random(H.shape[1])
    return H


def _part_norms(block: Block, Vt: Array) -> tuple[Array, Array]:
    U = blocks.dot(block, Vt).astype(np.float64)
    return (np.maximum(U, 0.0) ** 2).sum(axis=0), (np.minimum(U, 0.0) ** 2).sum(axis=0)
