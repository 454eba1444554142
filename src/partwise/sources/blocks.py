"""What can be done with a block, dense or CSR.  Above ``sources`` nobody asks which it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.lib.stride_tricks import as_strided

from partwise.kernels._vectors import LINE_BYTES
from partwise.kernels.cluster import csr_group_sums, dense_group_sums
from partwise.kernels.holes import put_known
from partwise.kernels.scan import count_flaws, csr_support, dense_support, scan_values
from partwise.kernels.sparse import csr_dot, csr_sampled_dot, csr_tdot
from partwise.sources.protocol import Block

Array = npt.NDArray[Any]

TINY = float(np.finfo(np.float64).tiny)


def is_sparse(block: Block) -> bool:
    """Whether only some entries are stored."""
    return bool(sp.issparse(block))


def plain(array: Any, dtype: npt.DTypeLike | None = None) -> Array:
    """An ndarray in C order and aligned: for anything else products may take another path to other bits."""
    return np.require(array, dtype, ["C", "A", "E"])


def concrete(matrix: Any, dtype: npt.DTypeLike) -> Block:
    """A block of any dense or sparse matrix, which is not modified: in C order, or CSR without duplicates."""
    if not is_sparse(matrix):
        return plain(matrix, dtype)
    matrix = sp.csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix.astype(dtype, copy=False)


def aligned(x: Any) -> Any:
    """The same arrays, CSR matrices, tuples, lists or dicts, aligned; off a network they need not be."""
    if isinstance(x, np.ndarray):
        return np.require(x, requirements="A")
    if is_sparse(x):
        return sp.csr_array(tuple(map(aligned, (x.data, x.indices, x.indptr))), shape=x.shape)
    if type(x) in (tuple, list):
        return type(x)(map(aligned, x))
    return {name: aligned(value) for name, value in x.items()} if type(x) is dict else x


def dot(block: Block, M: Array) -> Array:
    """``block @ M`` for a small dense ``M``."""
    if not is_sparse(block):
        # for BLAS in double precision few columns are better many rows
        narrow = 8 <= M.shape[1] <= 24 and block.dtype == M.dtype == np.float64
        return np.ascontiguousarray((np.ascontiguousarray(M.T) @ block.T).T) if narrow else np.asarray(block @ M)
    width, dtype = M.shape[1], np.result_type(block.dtype, M.dtype)
    M = _with_hidden(in_lines(M, dtype))
    out = _lines(block.shape[0], M.shape[1], dtype)
    csr_dot(block.indptr, block.indices, block.data, M, out)
    return np.ascontiguousarray(out[:, :width])


def transposed(block: Block) -> Block:
    """Features as rows, a copy."""
    return sp.csr_array(block.T) if is_sparse(block) else np.ascontiguousarray(block.T)


def tdot(block: Block, W: Array) -> Array:
    """``block.T @ W`` for a row-aligned ``W``."""
    if not is_sparse(block):  # the other way round BLAS takes up to twice as long
        return np.ascontiguousarray((W.T @ block).T)
    width, dtype = W.shape[1], np.result_type(block.dtype, W.dtype)
    W = _with_hidden(in_lines(W, dtype))
    out = _lines(block.shape[1], W.shape[1], dtype)
    columns = getattr(block, "columns", None)
    if columns is not None:
        csr_dot(columns.indptr, columns.indices, columns.data, W, out)
    else:
        out[:] = 0.0
        csr_tdot(block.indptr, block.indices, block.data, W, out)
    return np.ascontiguousarray(out[:, :width])


def in_lines(M: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """``M`` with rows that are whole cache lines, the columns beyond it hidden; as it is if it has them already.

    Products of sparse blocks need it so: a matrix that many blocks are multiplied with had better be made so once.
    """
    dtype = np.dtype(M.dtype if dtype is None else dtype)
    stride = _whole_lines(M.shape[1], dtype)
    if M.dtype == dtype and M.strides == (stride * dtype.itemsize, dtype.itemsize) and not M.ctypes.data % LINE_BYTES:
        return M
    out = _lines(M.shape[0], stride, dtype)
    out[:, : M.shape[1]] = M
    out[:, M.shape[1] :] = 0.0
    return out[:, : M.shape[1]]


def _with_hidden(M: Array) -> Array:
    """Rows of :func:`in_lines` as they are stored."""
    stride = _whole_lines(M.shape[1], M.dtype)
    return M if stride == M.shape[1] else as_strided(M, (len(M), stride), M.strides)


def _whole_lines(width: int, dtype: np.dtype[Any]) -> int:
    """So many entries that rows are whole cache lines, or half a one: what is fetched is used, and is a vector."""
    line = LINE_BYTES // dtype.itemsize
    if 4 * width <= line:
        return width
    return line // 2 if 2 * width <= line else -(-width // line) * line


def _lines(n_rows: int, width: int, dtype: np.dtype[Any]) -> Array:
    """An array that begins with a cache line."""
    size = n_rows * width * dtype.itemsize
    raw = np.empty(size + LINE_BYTES, np.uint8)
    first = -raw.ctypes.data % LINE_BYTES
    return raw[first : first + size].view(dtype).reshape(n_rows, width)


def with_columns(block: Block) -> Block:
    """A sparse block with its columns beside it, in a transposed copy, which :func:`tdot` then uses; same bits."""
    kept: Any = sp.csr_array((block.data, block.indices, block.indptr), shape=block.shape)
    kept.columns = sp.csr_array(block.T.tocsr())
    return kept


def single(block: Block) -> Block:
    """The block in single precision; the places of sparse entries are shared."""
    if not is_sparse(block):
        return block.astype(np.float32)
    return with_values(block, block.data.astype(np.float32))


def values(block: Block) -> Array:
    """The stored entries as a vector: all of a dense block, the non-zeros of a sparse one."""
    return np.asarray(block.data if is_sparse(block) else np.ravel(block))


def triple(block: Block) -> tuple[Array, Array, Array]:
    """Row pointers, columns and stored entries, of a dense block too: for kernels that look at entries one by one."""
    if is_sparse(block):
        return block.indptr, block.indices, block.data
    n, m = block.shape
    return np.arange(n + 1) * m, np.tile(np.arange(m, dtype=np.int32), n), np.ravel(block)


def counts(block: Block) -> Block:
    """The non-zero entries as CSR in double precision with short indices, whatever the block is: one kind for all."""
    short = is_sparse(block) and block.indices.dtype == block.indptr.dtype == np.int32
    kept = block if short and block.dtype == np.float64 else sp.csr_array(block, dtype=np.float64)
    least = kept.data.min(initial=1.0)
    if not least >= TINY:  # the ratio of a subnormal number to another one has no logarithm
        kept = kept.copy()
        kept.data[kept.data < TINY] = 0.0
        kept.eliminate_zeros()
    if not kept.indices.dtype == kept.indptr.dtype == np.int32:
        kept = sp.csr_array((kept.data, kept.indices.astype(np.int32), kept.indptr.astype(np.int32)), shape=kept.shape)
    return kept


def with_values(block: Block, new: Array) -> Block:
    """A block with the same pattern and other stored entries."""
    if is_sparse(block):
        return sp.csr_array((new, block.indices, block.indptr), shape=block.shape)
    return new.reshape(block.shape)


def product_at(block: Block, W: Array, Ht: Array) -> Array:
    """``W @ Ht.T`` at the stored entries of the block, as a vector beside :func:`values`."""
    if not is_sparse(block):
        return np.ravel(W @ Ht.T)
    out = np.empty(block.nnz, np.result_type(W.dtype, Ht.dtype))
    csr_sampled_dot(block.indptr, block.indices, np.ascontiguousarray(W), np.ascontiguousarray(Ht), out)
    return out


def row_chunks(block: Block, limit: int = 4 << 20) -> Iterator[tuple[int, int]]:
    """Cut a block so that a dense array of a chunk's shape stays near ``limit`` bytes."""
    rows = max(1, limit // (8 * max(1, block.shape[1])))
    for a in range(0, block.shape[0], rows):
        yield a, min(a + rows, block.shape[0])


def row_parts(block: Block, rows: int = 1024) -> Iterator[tuple[slice, Block]]:
    """A few rows of the block at a time, so that what is computed from them stays small and in cache."""
    if block.shape[0] <= rows:
        yield slice(0, block.shape[0]), block
        return
    for a in range(0, block.shape[0], rows):
        part = slice(a, min(a + rows, block.shape[0]))
        yield part, row_views(block, part.start, part.stop)


def row_views(block: Block, a: int, b: int) -> Block:
    """Some neighbouring rows as views: slicing a sparse matrix itself would copy its entries."""
    if not is_sparse(block):
        return block[a:b]
    first, last = block.indptr[a], block.indptr[b]
    entries = block.data[first:last], block.indices[first:last], block.indptr[a : b + 1] - first
    return sp.csr_array(entries, shape=(b - a, block.shape[1]))


def residual_dot(block: Block, W: Array, M: Array) -> tuple[Array, Array]:
    """``R M`` and the norms of the rows of the residual ``R = block - W M'`` itself, by chunks of rows."""
    out = np.empty(W.shape, np.float64)
    lengths = np.empty(len(W), np.float64)
    for a, b in row_chunks(block):
        R = to_dense(block[a:b]) - W[a:b] @ M.T
        out[a:b] = R @ M
        lengths[a:b] = norms(R)
    return out, lengths


def is_complete(block: Block) -> bool:
    """Whether every entry is stored, so that :func:`values` leaves nothing out."""
    return not is_sparse(block)


def to_dense(block: Block) -> Array:
    """The block as an ndarray."""
    return np.asarray(block.toarray() if is_sparse(block) else block)


def squared_norms(block: Block) -> Array:
    """The squared 2-norm of every row, in double precision."""
    if is_sparse(block):
        return _csr_row_sums(block, np.asarray(block.data, np.float64) ** 2)
    if block.dtype == np.float64:
        return np.asarray(np.vecdot(block, block))
    return np.asarray(np.einsum("ij,ij->i", block, block, dtype=np.float64))


def norms(block: Block) -> Array:
    """The 2-norm of every row, also where its square is too large or too small for a double."""
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_norms(block)
    found = np.sqrt(squares)
    odd = np.flatnonzero((squares < 1e-280) | np.isposinf(squares))
    if len(odd) and block.shape[1]:
        part = block[odd]
        largest = abs(part).max(axis=1)
        largest = np.asarray(largest.toarray() if is_sparse(largest) else largest, np.float64).ravel()
        scale = np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)
        lengths = np.diff(part.indptr) if is_sparse(part) else block.shape[1]
        shrunk = with_values(part, values(part) / np.repeat(scale, lengths))
        found[odd] = scale * np.sqrt(squared_norms(shrunk))
    return found


def row_sums(block: Block) -> Array:
    """The sum of every row, in double precision."""
    if is_sparse(block):  # SciPy's own sum adds in the type of the data, whatever dtype is asked for
        return _csr_row_sums(block, np.asarray(block.data, np.float64))
    return np.asarray(block.sum(axis=1, dtype=np.float64))


def _csr_row_sums(block: Block, entries: Array) -> Array:
    sums = np.add.reduceat(np.append(entries, 0.0), block.indptr[:-1])
    return np.asarray(np.where(np.diff(block.indptr) > 0, sums, 0.0))


def column_moments(block: Block) -> tuple[Array, Array]:
    """Sums of the columns, and of their squares."""
    one = np.ones((block.shape[0], 1))
    squares = with_values(block, values(block) ** 2) if is_sparse(block) else block**2
    sums, squared = (np.asarray(tdot(part, one), np.float64)[:, 0] for part in (block, squares))
    return sums, squared


def group_sums(block: Block, groups: Array, n_groups: int) -> Array:
    """The sum of the rows of every group, in double precision; rows of a negative group are left out."""
    sums = np.zeros((n_groups, block.shape[1]))
    if is_sparse(block):
        csr_group_sums(block.indptr, block.indices, block.data, groups, sums)
    else:
        dense_group_sums(block, groups, sums)
    return sums


def scale_rows(block: Block, factors: Array) -> Block:
    """Every row multiplied by its factor."""
    if is_sparse(block):
        return with_values(block, block.data * np.repeat(factors, np.diff(block.indptr)).astype(block.dtype))
    return block * factors[:, None].astype(block.dtype)


def scale_columns(block: Block, factors: Array) -> Block:
    """Every column multiplied by its factor."""
    if is_sparse(block):
        return with_values(block, block.data * factors[block.indices].astype(block.dtype))
    return block * factors.astype(block.dtype)


def multiply(block: Block, weights: Block) -> Block:
    """Entry by entry; where a weight is zero, or not stored, so is the product, whatever the block holds there."""
    if is_sparse(block) and is_sparse(weights):  # SciPy's own product keeps NaN where there is no weight
        here, there = _flat_places(block), _flat_places(weights)
        common, i, j = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        rows, columns = np.divmod(common, max(1, block.shape[1]))
        ends = np.searchsorted(rows, np.arange(block.shape[0] + 1))
        return sp.csr_array((_products(block.data[i], weights.data[j]), columns, ends), shape=block.shape)
    if is_sparse(block):
        return with_values(block, _products(block.data, np.ravel(weights)[_flat_places(block)]))
    if is_sparse(weights):
        return with_values(weights, _products(np.ravel(block)[_flat_places(weights)], weights.data))
    return _products(block, weights)


def _products(values: Array, factors: Array) -> Array:
    return np.multiply(values, factors, out=np.zeros_like(values), where=factors != 0)


def _flat_places(block: Block) -> Array:
    """Where in the rows laid end to end the stored entries of a sparse block are."""
    rows = np.repeat(np.arange(block.shape[0], dtype=np.int64), np.diff(block.indptr))
    return np.asarray(rows * block.shape[1] + block.indices)


def known(block: Block) -> Block:
    """One where an entry of a block with holes is known: a number in a dense block, stored in a sparse one."""
    if is_sparse(block):
        return with_values(block, np.ones_like(block.data))
    return (~np.isnan(block)).astype(block.dtype)


def ones(block: Block) -> Array:
    """Ones for all entries of a block."""
    return np.ones(block.shape, block.dtype)


def zeroed(block: Block) -> Block:
    """A block with holes, with zeros in these."""
    if is_sparse(block):
        return with_values(block, np.nan_to_num(block.data, nan=0.0, posinf=np.inf, neginf=-np.inf))
    return np.where(np.isnan(block), block.dtype.type(0.0), block)


def columns_of(block: Block) -> Array:
    """The column of every stored entry, beside :func:`values`."""
    return np.asarray(block.indices if is_sparse(block) else np.tile(np.arange(block.shape[1]), block.shape[0]))


def rows_of(block: Block) -> Array:
    """The row of every stored entry, beside :func:`values`."""
    each = np.diff(block.indptr) if is_sparse(block) else block.shape[1]
    return np.repeat(np.arange(block.shape[0]), each)


def completed(block: Block, W: Array, Ht: Array) -> Array:
    """A block with holes, with ``W @ Ht.T`` in these; dense."""
    full = np.asarray(W @ Ht.T, block.dtype)
    if is_sparse(block):
        full.reshape(-1)[_flat_places(block)] = block.data
    else:
        put_known(block, full)
    return full


def zeros_are_holes(block: Block) -> Block:
    """The block with holes where it is zero; of a sparse one what is not stored is a hole, a stored zero is none."""
    return block if is_sparse(block) else np.where(block == 0.0, block.dtype.type(np.nan), block)


def holed(block: Block, mask: Block) -> Block:
    """The block with holes where the mask is zero or not stored: sparse if the mask is, else dense."""
    if is_sparse(mask):
        mask = mask.copy()
        mask.eliminate_zeros()
        dense = np.ravel(to_dense(block))
        return with_values(mask, dense[_flat_places(mask)].astype(block.dtype))
    return np.where(np.asarray(mask) != 0, to_dense(block), block.dtype.type(np.nan))


def take_columns(block: Block, columns: npt.NDArray[np.int64]) -> Block:
    """Some columns in another order; a negative number stands for a column of zeros."""
    known = np.flatnonzero(columns >= 0)
    if is_sparse(block):
        ones = np.ones(len(known), block.dtype)
        pick = sp.csr_array((ones, (columns[known], known)), shape=(block.shape[1], len(columns)))
        taken = sp.csr_array(block @ pick)
        taken.sort_indices()
        return taken
    out = np.zeros((block.shape[0], len(columns)), block.dtype)
    out[:, known] = block[:, columns[known]]
    return out


def scan(block: Block) -> tuple[int, int, float, float, float]:
    """First non-finite and first negative position (-1: none), largest magnitude, sum, sum of squares."""
    bad, negative, largest, total, squares = scan_values(values(block))
    return _flat(block, bad), _flat(block, negative), largest, total, squares


def flaws(block: Block) -> tuple[int, int]:
    """How many entries are not finite, and how many are negative."""
    return count_flaws(values(block))


def support(block: Block) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which rows and which columns hold anything but zero."""
    rows = np.zeros(block.shape[0], bool)
    columns = np.zeros(block.shape[1], bool)
    if is_sparse(block):
        csr_support(block.indptr, block.indices, block.data, rows, columns)
    else:
        dense_support(block, rows, columns)
    return rows, columns


def stack(parts: list[Block]) -> Block:
    """Blocks under one another."""
    if len(parts) == 1:
        return parts[0]
    if is_sparse(parts[0]):
        return sp.csr_array(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _flat(block: Block, position: int) -> int:
    if position < 0 or not is_sparse(block):
        return position
    row = int(np.searchsorted(block.indptr, position, side="right")) - 1
    return row * int(block.shape[1]) + int(block.indices[position])
