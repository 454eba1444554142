"""How far the product of the factors is from the data, without cancellation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from partwise.exceptions import InputError
from partwise.sources import RowSource, blocks, source_of
from partwise.sources.observed import COMPLETE, Observed
from partwise.sources.protocol import Block, Rows

Array = npt.NDArray[Any]

# Below this relative squared error the expanded form |X|^2 - 2<X,WH> + |WH|^2 has lost half of its digits.
CANCELLATION = 1e-8


def relative_error(
    X: Any,
    W: npt.ArrayLike,
    H: npt.ArrayLike,
    *,
    mask: Any = None,
    sample_weight: Any = None,
    feature_weight: Any = None,
) -> float:
    """``|X - W H| / |X|`` in the Frobenius norm.

    Dense data: from the residual itself, a few rows at a time.  Sparse data: from sums over the stored
    entries and small Gram matrices, unless the error is so small that this would cancel; then from the
    residual too.

    Parameters
    ----------
    X : array-like, sparse matrix, path, Dask collection or source, of shape (n_samples, n_features)
        The data.
    W : array-like of shape (n_samples, n_components)
        Weights.
    H : array-like of shape (n_components, n_features)
        Components.
    mask : array-like, sparse matrix or source of shape (n_samples, n_features), optional
        The error over the entries where it is true, or a weight for each: what ``X`` holds elsewhere, NaN included, is
        left out. Entries that are held out are ``~mask``.
    sample_weight, feature_weight : array-like, optional
        How often each sample, and each feature, counts.

    Returns
    -------
    float
        0 for an exact factorization, 1 for a zero one. If ``X`` is zero: 0 if ``W H`` is zero too, else
        infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.metrics import relative_error
    >>> W, H = np.array([[1.0], [2.0]]), np.array([[3.0, 4.0]])
    >>> relative_error(W @ H, W, H), relative_error(W @ H, 0 * W, H)
    (0.0, 1.0)
    """
    source = source_of(X)
    weights = W if not isinstance(W, (list, tuple)) else np.asarray(W)
    components = np.asarray(H)
    _check_factors(source.shape, np.shape(weights), components.shape)
    vectors = [None if v is None else np.asarray(v, np.float64) for v in (sample_weight, feature_weight)]
    observed = Observed(samples=vectors[0], features=vectors[1], entries=mask)
    squared, norm = squared_residual(source, np.ascontiguousarray(components.T), W=weights, observed=observed)
    if norm == 0.0:
        return 0.0 if squared == 0.0 else float("inf")
    return float(np.sqrt(squared / norm))


def l1_residual(truth_product: npt.ArrayLike, W: npt.ArrayLike, H: npt.ArrayLike) -> float:
    """``1 - |P - W H|_sum / |P|_sum`` with the true noiseless product P: 1 is perfect, 0 is ``W H = 0``.

    The measure of Gillis & Luce (2014) and of Table 2 in Bhattacharyya et al. (2016), section 5.2.

    Parameters
    ----------
    truth_product : array-like of shape (n_samples, n_features)
        The product of the true factors, without noise.
    W : array-like of shape (n_samples, n_components)
        Weights found.
    H : array-like of shape (n_components, n_features)
        Components found.

    Returns
    -------
    float
        At most 1; negative if ``W H`` is worse than nothing.

    Examples
    --------
    >>> from partwise.metrics import l1_residual
    >>> l1_residual([[1.0, 1.0], [0.0, 2.0]], [[1.0], [1.0]], [[0.0, 2.0]])
    0.5
    """
    P, weights, components = np.asarray(truth_product, float), np.asarray(W, float), np.asarray(H, float)
    if P.ndim != 2:
        raise InputError(f"truth_product must have two dimensions, got shape {P.shape}", parameter="truth_product")
    _check_factors(P.shape, weights.shape, components.shape)
    size = float(np.abs(P).sum())
    if size == 0.0:
        raise InputError("truth_product is all zero; the residual is relative to it", parameter="truth_product")
    return float(1.0 - np.abs(P - weights @ components).sum() / size)


def squared_residual(
    source: RowSource,
    Ht: Array,
    *,
    W: Rows | None = None,
    decode: Callable[..., Array] | None = None,
    observed: Observed = COMPLETE,
) -> tuple[float, float]:
    """``|X - W H|^2`` and ``|X|^2``; with ``decode`` the weights are made block by block and not kept.

    Over what is known, with the weights of samples, features and entries.
    """
    return residual_sums(source, Ht, W=W, decode=decode, observed=observed)[:2]


def residual_sums(
    source: RowSource,
    Ht: Array,
    *,
    W: Rows | None = None,
    decode: Callable[..., Array] | None = None,
    observed: Observed = COMPLETE,
) -> tuple[float, float, float]:
    """What `squared_residual` gives, and the sum of the squares of all that is known, whatever counts how much."""
    if not observed.plain:
        counted = partial(_counted_block, Ht=Ht, observed=observed, decode=None if W is not None else decode)
        squared, norm, known = source.reduce(counted, *(() if W is None else (W,)), *observed.beside(source))
        return float(squared), float(norm), float(known)
    fn: Callable[..., Any] = _residual_block if W is not None else partial(_decoded_block, decode=decode)
    rows = () if W is None else (W,)
    squared, norm, WtW = source.reduce(partial(fn, Ht=Ht, exact=False), *rows)
    squared += float(np.vdot(WtW, Ht.T.astype(np.float64) @ Ht))
    # WtW is zero where the residual itself was summed, of dense blocks
    if squared <= CANCELLATION * norm and WtW.any():
        squared = source.reduce(partial(fn, Ht=Ht, exact=True), *rows)[0]
    return float(squared), float(norm), float(norm)


def _counted_block(
    block: Block, *aligned: Block, Ht: Array, observed: Observed, decode: Any
) -> tuple[float, float, float]:
    """Sums over known entries of ``s_i v_j M_ij`` times the squares of the residual and of the data, and of these."""
    beside = aligned if decode is not None else aligned[1:]
    samples, entries = observed.split(beside)
    given = () if entries is None else (entries,)
    W = aligned[0] if decode is None else decode(block, *given).astype(block.dtype, copy=False)
    total = np.zeros(2)
    known = float(blocks.squared_norms(blocks.zeroed(block)).sum())
    for a, b in blocks.row_chunks(block):
        part = block[a:b]
        M = blocks.to_dense(blocks.known(part)) if observed.holes else np.ones(part.shape, part.dtype)
        M = M if entries is None else M * blocks.to_dense(entries[a:b])
        M = M if observed.features is None else M * observed.features
        M = M if samples is None else M * samples[a:b, None]
        x = blocks.to_dense(blocks.zeroed(part))
        R = x - W[a:b] @ Ht.T
        total += [np.einsum("ij,ij,ij->", M, Y, Y, dtype=np.float64) for Y in (R, x)]
    return float(total[0]), float(total[1]), known


def _decoded_block(block: Block, *, decode: Callable[[Block], Array] | None, Ht: Array, exact: bool) -> Any:
    assert decode is not None
    return _residual_block(block, decode(block).astype(block.dtype, copy=False), Ht=Ht, exact=exact)


def _residual_block(block: Block, W: Array, *, Ht: Array, exact: bool) -> tuple[float, float, Array]:
    """|X - WH|^2, less the |WH|^2 that is left to the caller; |X|^2; the W'W that gives that part."""
    k = W.shape[1]
    norm = float(blocks.squared_norms(block).sum())
    if exact or blocks.is_complete(block):
        total = 0.0
        for a, b in blocks.row_chunks(block):
            R = blocks.to_dense(block[a:b]) - W[a:b] @ Ht.T
            total += float(np.vdot(R, R))
        return total, norm, np.zeros((k, k))
    cross = float(np.vdot(blocks.dot(block, Ht.astype(np.float64, copy=False)), W))
    return norm - 2.0 * cross, norm, W.T.astype(np.float64) @ W


def _check_factors(X: tuple[int, ...], W: tuple[int, ...], H: tuple[int, ...]) -> None:
    if len(W) != 2 or len(H) != 2 or W[0] != X[0] or H[1] != X[1] or W[1] != H[0]:
        raise InputError(f"W {W} times H {H} does not give the shape {tuple(X)} of the data")
